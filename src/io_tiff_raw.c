/* A stack over 4 GiB as ImageJ writes and reads it: a TIFF of one directory whose planes follow each other,
 * uncompressed, beyond what its offsets can say. BigTIFF would be the standard's way, and ImageJ does not
 * read it. libtiff writes the directory; where the data are is put into it afterwards. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "io_tiff.h"

enum { ENTRY = 12, DATA_ALIGNMENT = 16 };

static uint32_t number_at(const unsigned char *bytes, int size, bool big_endian)
{
    uint32_t number = 0;
    for (int i = 0; i < size; i++)
        number |= (uint32_t)bytes[i] << 8 * (big_endian ? size - 1 - i : i);
    return number;
}

static void put_number(unsigned char *bytes, int size, bool big_endian, uint32_t number)
{
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number >> 8 * (big_endian ? size - 1 - i : i));
}

/* Sets one number of the directory, whatever type it has there. */
static bool patch(int fd, bool big_endian, uint16_t tag, uint32_t value)
{
    unsigned char head[8], count[2], entry[ENTRY];
    if (!vf_read_at(fd, head, sizeof head, 0))
        return false;
    uint64_t at = number_at(head + 4, 4, big_endian);
    if (!vf_read_at(fd, count, sizeof count, at))
        return false;
    at += sizeof count;
    for (uint32_t i = 0; i < number_at(count, 2, big_endian); i++, at += ENTRY) {
        if (!vf_read_at(fd, entry, sizeof entry, at))
            return false;
        if (number_at(entry, 2, big_endian) != tag)
            continue;
        put_number(entry + 2, 2, big_endian, TIFF_LONG);
        put_number(entry + 4, 4, big_endian, 1);
        put_number(entry + 8, 4, big_endian, value);
        return vf_write_at(fd, entry, sizeof entry, at);
    }
    errno = EINVAL;
    return false;
}

void vf_tiff_swap(void *data, size_t count, size_t size)
{
    if (size == 2)
        TIFFSwabArrayOfShort(data, (tmsize_t)count);
    else if (size == 4)
        TIFFSwabArrayOfLong(data, (tmsize_t)count);
    else if (size == 8)
        TIFFSwabArrayOfLong8(data, (tmsize_t)count);
}

bool vf_tiff_begin_raw(TIFF *tif, int fd, bool big_endian, uint32_t page_bytes, uint64_t *start)
{
    if (!TIFFWriteCheck(tif, 0, "writing") || !TIFFWriteDirectory(tif) || !TIFFFlush(tif))
        return false;
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0)
        return false;
    *start = ((uint64_t)end + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    return patch(fd, big_endian, TIFFTAG_STRIPOFFSETS, (uint32_t)*start) &&
           patch(fd, big_endian, TIFFTAG_STRIPBYTECOUNTS, page_bytes);
}
