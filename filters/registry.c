/* The tables of filters and stencils, from their .def files. */
#include <string.h>

#include "filters/filter.h"

#define VF_FILTER_DEF(name) extern const struct vf_filter vf_filter_##name;
#include "filters.def"
#undef VF_FILTER_DEF

const struct vf_filter *const vf_filters[] = {
#define VF_FILTER_DEF(name) &vf_filter_##name,
#include "filters.def"
#undef VF_FILTER_DEF
    NULL,
};

const struct vf_filter *vf_filter_by_name(const char *name, size_t length)
{
    for (size_t i = 0; vf_filters[i] != NULL; i++)
        if (strlen(vf_filters[i]->name) == length && memcmp(vf_filters[i]->name, name, length) == 0)
            return vf_filters[i];
    return NULL;
}

const struct vf_filter *vf_filter_with_param(const char *name, size_t length)
{
    for (const struct vf_filter *const *filter = vf_filters; *filter != NULL; filter++)
        for (int i = 0; i < (*filter)->param_count; i++) {
            const char *param = (*filter)->params[i].name;
            if (strlen(param) == length && memcmp(param, name, length) == 0)
                return *filter;
        }
    return NULL;
}

static const struct vf_stencil stencils[VF_STENCIL_COUNT] = {
    [VF_STENCIL_LINEAR] = {.name = "linear"},
    [VF_STENCIL_EXTERNAL] = {.name = "external"},
#define VF_STENCIL_DEF(stencil, in2, in3, out2, out3, centre2, centre3, star2, star3, axial2, axial3, z, y, \
                       x, operations, of_shared, divides, says)                                             \
    [VF_STENCIL_##stencil] = {.name = #stencil,                                                             \
                              .inputs = {in2, in3},                                                         \
                              .outputs = {out2, out3},                                                      \
                              .centre_inputs = {centre2, centre3},                                          \
                              .star_inputs = {star2, star3},                                                \
                              .axial_inputs = {axial2, axial3},                                             \
                              .reach = {z, y, x},                                                           \
                              .cost = operations,                                                           \
                              .shared_cost = of_shared,                                                     \
                              .has_branches = divides,                                                      \
                              .word = VF_WORD_##says},
#include "stencils.def"
#undef VF_STENCIL_DEF
};

const struct vf_stencil *vf_stencil(enum vf_stencil_id id)
{
    return &stencils[id];
}

const struct vf_stencil *vf_stage_stencil(const struct vf_stage *stage)
{
    return stage->stencil == VF_STENCIL_EXTERNAL ? stage->external : vf_stencil(stage->stencil);
}

void vf_stage_halo(const struct vf_stage *stage, int dim, int k, int halo[3])
{
    const struct vf_stencil *stencil = vf_stage_stencil(stage);
    const bool is_centre = k < stencil->centre_inputs[dim - 2], is_axial = k < stencil->axial_inputs[dim - 2];
    for (int axis = 0; axis < 3; axis++) {
        halo[axis] = stage->stencil == VF_STENCIL_LINEAR ? stage->taps->halo[axis] : stencil->reach[axis];
        if (is_centre || (dim == 2 && axis == 0) || (is_axial && axis != 2 - k % dim))
            halo[axis] = 0;
    }
}

int vf_line_axis(const struct vf_stage *stage)
{
    const struct vf_taps *taps = stage->taps;
    int axis = -1;
    if (stage->stencil != VF_STENCIL_LINEAR)
        return -1;
    for (int i = 0; i < 3; i++)
        if (taps->halo[i] > 0)
            axis = axis < 0 ? i : 3;
    return axis >= 0 && axis < 3 && taps->count == 2 * taps->halo[axis] + 1 ? axis : -1;
}
