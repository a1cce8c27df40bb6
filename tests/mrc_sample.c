#include "mrc_sample.h"

#include <string.h>

#include "half.h"
#include "io_samples.h"

static void put(unsigned char *to, const struct mrc_sample *s, const void *value, size_t size)
{
    for (size_t i = 0; i < size; i++) /* the machines that run this are little-endian */
        to[i] = ((const unsigned char *)value)[s->big_endian ? size - 1 - i : i];
}

void mrc_put_int(unsigned char *file, const struct mrc_sample *s, int at, int32_t value)
{
    put(file + at, s, &value, 4);
}

void mrc_put_float(unsigned char *file, const struct mrc_sample *s, int at, float value)
{
    put(file + at, s, &value, 4);
}

double mrc_sample_value(const struct mrc_sample *s, int i)
{
    const bool is_unsigned = s->mode == 6 || (s->mode == 0 && s->imod);
    return i * 37 % COUNT - (is_unsigned ? 0 : 50);
}

static void put_element(unsigned char *to, const struct mrc_sample *s, int i)
{
    const double value = mrc_sample_value(s, i);
    const int8_t byte = (int8_t)value;
    const int16_t word = (int16_t)value;
    const float real = (float)value;
    const uint16_t half = vf_half_from_float(real);
    if (s->mode == 0)
        memcpy(to, &byte, 1);
    else if (s->mode == 2)
        put(to, s, &real, 4);
    else
        put(to, s, s->mode == 12 ? (const void *)&half : &word, 2);
}

void mrc_sample_write(const char *path, const struct mrc_sample *s)
{
    static unsigned char file[1024 + EXTENDED + COUNT * 4];
    const size_t size = s->mode == 0 ? 1 : s->mode == 2 ? 4 : 2;
    const int n[3] = {s->nx ? s->nx : NX, s->ny ? s->ny : NY, s->nz ? s->nz : NZ};
    memset(file, 0, sizeof file);
    for (int i = 0; i < 3; i++) {
        mrc_put_int(file, s, 4 * i, n[i]);
        mrc_put_int(file, s, 28 + 4 * i, i == 2 && s->interval_z ? s->interval_z : n[i]);
        mrc_put_float(file, s, 40 + 4 * i, 5 * (float)(i == 2 && s->interval_z ? s->interval_z : n[i]));
        mrc_put_int(file, s, 64 + 4 * i, s->axis[0] ? s->axis[i] : i + 1);
    }
    mrc_put_int(file, s, 12, s->mode);
    mrc_put_float(file, s, 76, s->least);
    mrc_put_float(file, s, 80, s->most);
    mrc_put_int(file, s, 88, s->space_group);
    mrc_put_int(file, s, 92, EXTENDED);
    memcpy(file + 104, "SERI", 4);
    mrc_put_int(file, s, 152, s->imod ? 1146047817 : 0);
    mrc_put_int(file, s, 156, s->imod_flags);
    mrc_put_float(file, s, 196, 12.5f); /* origin */
    memcpy(file + 208, "MAP ", 4);
    if (!s->no_stamp)
        memcpy(file + 212, s->big_endian != s->wrong_stamp ? "\x11\x11" : "\x44\x44", 2);
    mrc_put_int(file, s, 220, 1);
    memcpy(file + 224, "made by a test", 14);
    memcpy(file + 1024, "the extended header, 24.", EXTENDED);
    for (int i = 0; i < COUNT; i++)
        put_element(file + 1024 + EXTENDED + (size_t)i * size, s, i);
    sample_put(path, file, 1024 + EXTENDED + COUNT * size - s->missing);
}
