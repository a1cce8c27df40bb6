/* A volume in memory: planes of one element type, every channel in planes of its own. */
#ifndef VF_VOLUME_H
#define VF_VOLUME_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

/* Others are read from files and written as one of these. A new one has its lines in volume.c,
 * kernel_source.c, cli_options.c (--dtype), work_plan.c (what is computed in double),
 * kernels/precompile/precompile.c, kernels/cpu_rows.c, kernels/cpu_reference.c, kernels/device.h or
 * device_small.h (vf_put), mrc.c and the formats' io_*.c; if rows of it may be filtered as they are
 * (vf_row_cell), in kernels/cpu_row_layout.c, cpu_rows_choose.c and the Makefile's types too. The tests go
 * through all of them. */
enum vf_type { VF_U8, VF_I8, VF_U16, VF_I16, VF_U32, VF_I32, VF_F32, VF_F64, VF_TYPE_COUNT };

/* Bytes of one element; "uint8", "int16", "float32" ... */
size_t vf_type_size(enum vf_type type);
const char *vf_type_name(enum vf_type type);
bool vf_type_is_float(enum vf_type type);
/* The bounds of an integer type, and whether a value is one of it. */
double vf_type_least(enum vf_type type);
double vf_type_most(enum vf_type type);
bool vf_type_holds(enum vf_type type, double value);

/* Elements along each axis; nc channels of nt time points of nz planes of ny rows of nx. All >= 1 and <=
 * INT32_MAX. */
struct vf_shape {
    size_t nx, ny, nz, nc, nt;
};

struct vf_volume {
    enum vf_type type;
    struct vf_shape shape;
    void *data; /* owned; [nt][nc][nz][ny][nx], native byte order, no padding */
};

/* Bytes of a volume; false when the product overflows. */
bool vf_volume_bytes(enum vf_type type, const struct vf_shape *shape, size_t *bytes);

/* Allocates volume->data, whose content is undefined. `what` names the volume in the message ("input",
 * "result"). On failure nothing is held. */
enum vf_status vf_volume_alloc(struct vf_volume *volume, enum vf_type type, const struct vf_shape *shape,
                               const char *what, struct vf_error *error);
void vf_volume_free(struct vf_volume *volume);

/* The first element of plane z of channel c at time t. */
void *vf_volume_plane(const struct vf_volume *volume, size_t t, size_t c, size_t z);

#endif
