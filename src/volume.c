#include "volume.h"

#include <math.h>
#include <stdint.h>

#include "alloc.h"
#include "size.h"

static const struct {
    const char *name;
    size_t size;
} types[VF_TYPE_COUNT] = {
    [VF_U8] = {"uint8", 1},   [VF_I8] = {"int8", 1},   [VF_U16] = {"uint16", 2},  [VF_I16] = {"int16", 2},
    [VF_U32] = {"uint32", 4}, [VF_I32] = {"int32", 4}, [VF_F32] = {"float32", 4}, [VF_F64] = {"float64", 8},
};

size_t vf_type_size(enum vf_type type)
{
    return types[type].size;
}

const char *vf_type_name(enum vf_type type)
{
    return types[type].name;
}

bool vf_type_is_float(enum vf_type type)
{
    return type == VF_F32 || type == VF_F64;
}

double vf_type_least(enum vf_type type)
{
    const bool is_signed = type == VF_I8 || type == VF_I16 || type == VF_I32;
    return is_signed ? -ldexp(0.5, 8 * (int)vf_type_size(type)) : 0;
}

double vf_type_most(enum vf_type type)
{
    return vf_type_least(type) + (ldexp(1, 8 * (int)vf_type_size(type)) - 1);
}

bool vf_type_holds(enum vf_type type, double value)
{
    return value >= vf_type_least(type) && value <= vf_type_most(type) && value == rint(value);
}

bool vf_volume_bytes(enum vf_type type, const struct vf_shape *shape, size_t *bytes)
{
    *bytes = vf_type_size(type);
    const size_t extent[] = {shape->nx, shape->ny, shape->nz, shape->nc, shape->nt};
    for (int axis = 0; axis < 5; axis++)
        if (extent[axis] > INT32_MAX || !vf_size_mul(*bytes, extent[axis], bytes))
            return false;
    return *bytes <= PTRDIFF_MAX;
}

enum vf_status vf_volume_alloc(struct vf_volume *volume, enum vf_type type, const struct vf_shape *shape,
                               const char *what, struct vf_error *error)
{
    size_t bytes;
    *volume = (struct vf_volume){.type = type, .shape = *shape};
    if (!vf_volume_bytes(type, shape, &bytes))
        return vf_fail(
            error, VF_FAILED,
            "%s: %zu x %zu x %zu voxels in %zu channels at %zu time points are too large to address", what,
            shape->nx, shape->ny, shape->nz, shape->nc, shape->nt);
    volume->data = vf_alloc(bytes, 1, what, error);
    return volume->data == NULL ? VF_FAILED : VF_OK;
}

void vf_volume_free(struct vf_volume *volume)
{
    vf_free(volume->data);
    volume->data = NULL;
}

void *vf_volume_plane(const struct vf_volume *volume, size_t t, size_t c, size_t z)
{
    const struct vf_shape *s = &volume->shape;
    size_t plane = (t * s->nc + c) * s->nz + z;
    return (char *)volume->data + plane * s->nx * s->ny * vf_type_size(volume->type);
}
