/* What libtiff does not write, put into the file behind it, and what it does not tell.
 *
 * A stack as ImageJ writes and reads it: planes that follow each other, uncompressed, behind the first
 * directory; the others come last, and beyond 4 GiB, which offsets cannot say, there are none. BigTIFF would
 * be the standard's way, and ImageJ does not read it. libtiff writes the directories; where the data are is
 * put into them afterwards.
 *
 * Pages in another order than they come in: each directory says which is the next, wherever they lie. */
#include <errno.h>
#include <unistd.h>

#include "byte_order.h"
#include "io_tiff.h"

enum { ENTRY = 12, BIG_ENTRY = 20, DATA_ALIGNMENT = 16 };

/* How offsets are stored. */
struct links {
    int fd, bytes; /* of an offset: 4, in BigTIFF 8 */
    bool big_endian;
};

static bool read_number(const struct links *links, uint64_t at, int bytes, uint64_t *number)
{
    unsigned char stored[8];
    if (!vf_read_at(links->fd, stored, (size_t)bytes, at))
        return false;
    *number = vf_number_of_bytes(stored, bytes, links->big_endian);
    return true;
}

/* Where the directory at `at` says which is the next. */
static bool find_link(const struct links *links, uint64_t at, uint64_t *link)
{
    const bool big = links->bytes == 8;
    uint64_t entries;
    if (!read_number(links, at, big ? 8 : 2, &entries))
        return false;
    *link = at + (big ? 8 + entries * BIG_ENTRY : 2 + entries * ENTRY);
    return true;
}

bool vf_tiff_stored_number(int fd, bool big_endian, bool big, uint64_t at, uint16_t tag, uint64_t *number)
{
    static const int size[] = {[TIFF_BYTE] = 1, [TIFF_SHORT] = 2, [TIFF_LONG] = 4};
    enum { MOST_ENTRIES = 1 << 16 };
    const struct links links = {fd, big ? 8 : 4, big_endian};
    uint64_t entries, found = 0, type;
    if (!read_number(&links, at, big ? 8 : 2, &entries) || entries > MOST_ENTRIES)
        return false;
    at += big ? 8 : 2;
    for (; entries > 0 && read_number(&links, at, 2, &found) && found != tag; entries--)
        at += big ? BIG_ENTRY : ENTRY;
    return entries > 0 && found == tag && read_number(&links, at + 2, 2, &type) &&
           type < sizeof size / sizeof *size && size[type] > 0 &&
           read_number(&links, at + (big ? 12 : 8), size[type], number);
}

static bool write_link(const struct links *links, uint64_t link, uint64_t target)
{
    unsigned char stored[8];
    vf_number_to_bytes(target, stored, links->bytes, links->big_endian);
    return vf_write_at(links->fd, stored, (size_t)links->bytes, link);
}

/* Follows the chain: where each directory is goes to at[place[i]]. */
static bool follow_links(const struct links *links, const size_t *place, size_t count, uint64_t *at)
{
    uint64_t link = (uint64_t)links->bytes;
    for (size_t i = 0; i < count; i++)
        if (!read_number(links, link, links->bytes, &at[place[i]]) || !find_link(links, at[place[i]], &link))
            return false;
    return true;
}

/* Sets one number of a directory, whatever type it has there. */
static bool set_number(const struct links *links, unsigned char *entry, size_t count, uint16_t tag,
                       uint64_t value)
{
    const bool big = links->bytes == 8;
    while (count > 0 && vf_number_of_bytes(entry, 2, links->big_endian) != tag) {
        entry += big ? BIG_ENTRY : ENTRY;
        count--;
    }
    if (count == 0)
        return false;
    vf_number_to_bytes(big ? TIFF_LONG8 : TIFF_LONG, entry + 2, 2, links->big_endian);
    vf_number_to_bytes(1, entry + 4, links->bytes, links->big_endian);
    vf_number_to_bytes(value, entry + 4 + links->bytes, links->bytes, links->big_endian);
    return true;
}

/* In the directory at `at`, whose entries end where its link is. */
static bool place_plane(const struct links *links, uint64_t at, uint64_t link, uint64_t start, uint64_t bytes)
{
    const bool big = links->bytes == 8;
    unsigned char entries[100 * BIG_ENTRY];
    at += big ? 8 : 2;
    const size_t size = (size_t)(link - at), count = size / (big ? BIG_ENTRY : ENTRY);
    if (size > sizeof entries) {
        errno = EINVAL;
        return false;
    }
    if (!vf_read_at(links->fd, entries, size, at))
        return false;
    if (!set_number(links, entries, count, TIFFTAG_STRIPOFFSETS, start) ||
        !set_number(links, entries, count, TIFFTAG_STRIPBYTECOUNTS, bytes)) {
        errno = EINVAL;
        return false;
    }
    return vf_write_at(links->fd, entries, size, at);
}

bool vf_tiff_place_planes(int fd, bool big_endian, bool big, size_t count, uint64_t start,
                          uint64_t page_bytes)
{
    const struct links links = {fd, big ? 8 : 4, big_endian};
    uint64_t link = (uint64_t)links.bytes, at;
    for (size_t i = 0; i < count; i++)
        if (!read_number(&links, link, links.bytes, &at) || !find_link(&links, at, &link) ||
            !place_plane(&links, at, link, start + i * page_bytes, page_bytes))
            return false;
    return true;
}

bool vf_tiff_begin_planes(TIFF *tif, int fd, bool big_endian, bool big, uint64_t page_bytes, uint64_t *start)
{
    if (!TIFFWriteCheck(tif, 0, "writing") || !TIFFWriteDirectory(tif) || !TIFFFlush(tif))
        return false;
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0)
        return false;
    *start = ((uint64_t)end + DATA_ALIGNMENT - 1) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    return vf_tiff_place_planes(fd, big_endian, big, 1, *start, page_bytes);
}

bool vf_tiff_relink(int fd, bool big_endian, bool big, const size_t *place, size_t count, uint64_t *at)
{
    const struct links links = {fd, big ? 8 : 4, big_endian};
    uint64_t link = (uint64_t)links.bytes;
    if (!follow_links(&links, place, count, at))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!write_link(&links, link, at[i]) || !find_link(&links, at[i], &link))
            return false;
    return write_link(&links, link, 0);
}
