/* MRC files made byte by byte. */
#ifndef VF_MRC_SAMPLE_H
#define VF_MRC_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NX = 5, NY = 4, NZ = 6, COUNT = NX * NY * NZ, EXTENDED = 24 };

/* What differs from a float32 volume of 0.5 nm voxels. */
struct mrc_sample {
    int mode;
    bool big_endian;
    int space_group, interval_z;
    int nx, ny, nz;
    int axis[3];
    bool imod, no_stamp, wrong_stamp;
    int imod_flags;
    float least, most; /* as the header says */
    size_t missing;    /* bytes cut off at the end */
};

/* Puts a number into a file's bytes, at byte `at`, in the sample's order. */
void mrc_put_int(unsigned char *file, const struct mrc_sample *s, int at, int32_t value);
void mrc_put_float(unsigned char *file, const struct mrc_sample *s, int at, float value);

/* Element i: what every mode holds, -50 to 69, or 0 to 119. */
double mrc_sample_value(const struct mrc_sample *s, int i);

void mrc_sample_write(const char *path, const struct mrc_sample *s);

#endif
