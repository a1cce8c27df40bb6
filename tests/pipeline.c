#include "pipeline.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu_rows.h"
#include "tables/ref_input.h"

size_t volume_size(const struct vf_volume *volume)
{
    size_t bytes = 0;
    cr_assert(vf_volume_bytes(volume->type, &volume->shape, &bytes));
    return bytes;
}

size_t volume_elements(const struct vf_volume *volume)
{
    return volume_size(volume) / vf_type_size(volume->type);
}

double volume_get(const struct vf_volume *volume, size_t i)
{
    return volume->type == VF_F64 ? ((const double *)volume->data)[i]
                                  : (double)((const float *)volume->data)[i];
}

void volume_set(const struct vf_volume *volume, size_t i, double value)
{
    if (volume->type == VF_F64)
        ((double *)volume->data)[i] = value;
    else
        ((float *)volume->data)[i] = (float)value;
}

void expect_all_filters(const char *const *chains, size_t count)
{
    for (size_t f = 0; vf_filters[f] != NULL; f++) {
        bool covered = false;
        for (size_t c = 0; c < count; c++)
            covered = covered || vf_filter_by_name(chains[c], strcspn(chains[c], ":,")) == vf_filters[f];
        cr_assert(covered, "no chain tests %s: add one to `chains`", vf_filters[f]->name);
    }
}

enum vf_boundary boundary_named(const char *name)
{
    for (int b = 0; b < VF_BOUNDARY_COUNT; b++)
        if (strcmp(vf_boundary_name[b], name) == 0)
            return (enum vf_boundary)b;
    cr_assert(false, "no boundary is called %s", name);
    return VF_BOUNDARY_COUNT;
}

void pipeline_expect_usage(const struct pipeline *p, const char *text)
{
    struct vf_volume in = pipeline_input(p, 0), out = {0};
    struct vf_error error = {.text = ""};
    const enum vf_status status = pipeline_try(p, &in, &out, NULL, &error);
    cr_expect_eq(status, text == NULL ? VF_OK : VF_USAGE, "%s: %s", p->chain, error.text);
    cr_expect(text == NULL || strstr(error.text, text) != NULL, "%s: '%s' has no '%s'", p->chain, error.text,
              text);
    vf_volume_free(&in);
    vf_volume_free(&out);
}

void pipeline_expect_channel(const struct pipeline *p, size_t channel, const char *one)
{
    struct pipeline alone = *p;
    alone.chain = one;
    struct vf_volume in = pipeline_input(p, 0);
    struct vf_volume all = pipeline_run(p, &in, NULL), only = pipeline_run(&alone, &in, NULL);
    cr_assert_eq(only.shape.nc, 1);
    cr_expect_eq(memcmp((const char *)all.data + channel * volume_size(&only), only.data, volume_size(&only)),
                 0, "%s", one);
    vf_volume_free(&in);
    vf_volume_free(&all);
    vf_volume_free(&only);
}

struct pipeline pipeline_reference(const char *chain, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz, bool precise)
{
    return (struct pipeline){.chain = chain,
                             .nx = nx,
                             .ny = ny,
                             .nz = nz,
                             .type = precise ? VF_F64 : VF_F32,
                             .constant = 31,
                             .aspect = {1, 1, 1},
                             .precise = precise,
                             .scheme = "reference",
                             .result_type = precise ? VF_F64 : VF_F32};
}

const char *filter_alone(const struct vf_filter *filter, char text[64])
{
    const bool needs_file = filter->param_count > 0 && filter->params[0].kind == VF_PARAM_WEIGHTS;
    snprintf(text, 64, "%s%s", filter->name, needs_file ? ":tests/weights/5x3.txt" : "");
    return text;
}

static void put(struct vf_volume *volume, size_t i, double value)
{
    switch (volume->type) {
    case VF_U8:
        ((uint8_t *)volume->data)[i] = (uint8_t)value;
        break;
    case VF_I8:
        ((int8_t *)volume->data)[i] = (int8_t)(value - 100);
        break;
    case VF_U16:
        ((uint16_t *)volume->data)[i] = (uint16_t)(value * 250);
        break;
    case VF_I16:
        ((int16_t *)volume->data)[i] = (int16_t)(value * 250 - 30000);
        break;
    case VF_U32:
        ((uint32_t *)volume->data)[i] = (uint32_t)(value * 16000000);
        break;
    case VF_I32:
        ((int32_t *)volume->data)[i] = (int32_t)(value * 16000000 - 2e9);
        break;
    case VF_F32:
        ((float *)volume->data)[i] = (float)(value * 1.1 - 20);
        break;
    default:
        ((double *)volume->data)[i] = value * 1.1 - 20;
    }
}

struct vf_volume pipeline_input(const struct pipeline *p, unsigned seed)
{
    struct vf_volume in;
    struct vf_error error;
    const struct vf_shape shape = {(size_t)p->nx, (size_t)p->ny, (size_t)p->nz, 1,
                                   p->nt > 0 ? (size_t)p->nt : 1};
    cr_assert_eq(vf_volume_alloc(&in, p->type, &shape, "input", &error), VF_OK, "%s", error.text);
    const size_t count = volume_elements(&in);
    uint32_t state = 2463534242u + 7919u * seed;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        /* Flat patches as well as noise: equal neighbours and zero gradients take paths of their own. */
        const size_t x = i % shape.nx, y = i / shape.nx % shape.ny, z = i / shape.nx / shape.ny;
        const double level = (x / 5 + y / 4 + z / 3) % 3 == 0 ? 40 : 160;
        put(&in, i, x % 7 < 3 ? level : level + (double)(state % 1000) * 0.04);
        if (p->has_nans && state % 512 == 0)
            ((uint32_t *)in.data)[i] = (state & 0x400000u) != 0 ? 0x7fc00000u | (state & 0x803fffffu)
                                                                : 0x7f800000u | (state & 0x80000000u);
    }
    return in;
}

bool next_vector_level(int *level)
{
    static const char *const names[] = {"baseline", "v3", "v4"};
    while (++*level < (int)COUNT(names)) {
        setenv("VOLFILTER_ISA", names[*level], 1);
        if (strcmp(vf_rows_level(), names[*level]) == 0)
            return true;
    }
    return false;
}

static void count_voxels(void *context, size_t voxels)
{
    size_t *count = context;
#pragma omp atomic
    *count += voxels;
}

enum vf_status pipeline_try(const struct pipeline *p, const struct vf_volume *in, struct vf_volume *out,
                            double *value, struct vf_error *error)
{
    struct vf_chain chain = {0};
    struct vf_plan plan = {0};
    struct vf_plan_request request = {.chain = &chain,
                                      .constant = p->constant,
                                      .nx = p->nx,
                                      .ny = p->ny,
                                      .nz = p->slices ? 1 : p->nz,
                                      .batch = (p->nt > 0 ? p->nt : 1) * (p->slices ? p->nz : 1),
                                      .threads = p->threads > 0 ? p->threads : 1,
                                      .gpu = p->cuda != NULL ? &p->cuda->gpu : NULL,
                                      .source_type = p->type,
                                      .result_type = p->result_type,
                                      .scheme = p->scheme};
    request.context.dim = p->slices || p->nz == 1 ? 2 : 3;
    request.context.boundary = p->boundary;
    request.context.is_double = p->precise;
    for (int axis = 0; axis < 3; axis++) {
        request.context.aspect[axis] = p->aspect[axis] > 0 ? p->aspect[axis] : 1;
        request.context.spacing[axis] = request.context.aspect[axis];
        request.context.spacing_known[axis] = true;
    }
    snprintf(request.context.unit, sizeof request.context.unit, "um");
    enum vf_status status;
    VF_TRY(vf_chain_append(&chain, p->chain, error));
    VF_TRY(vf_plan_open(&plan, &request, error));
    struct vf_shape shape = in->shape;
    shape.nc *= (size_t)plan.output_count;
    VF_TRY(vf_volume_alloc(out, p->result_type, &shape, "result", error));
    memset(out->data, 0xa5, volume_size(out));
    double values[1024];
    cr_assert(vf_plan_value_count(&plan) <= 1024);
    const struct vf_execution execution = {.plan = &plan,
                                           .spare_bytes = SIZE_MAX,
                                           .cuda = p->cuda,
                                           .in = in,
                                           .out = out,
                                           .channels = 1,
                                           .progress = p->progress != NULL ? count_voxels : NULL,
                                           .progress_context = p->progress,
                                           .value = values};
    VF_TRY(vf_execute(&execution, error));
    if (value != NULL)
        memcpy(value, values, VF_MAX_GLOBALS * sizeof *value);
out:
    vf_plan_close(&plan);
    vf_chain_free(&chain);
    return status;
}

struct vf_volume pipeline_run(const struct pipeline *p, const struct vf_volume *in, double *value)
{
    struct vf_volume out = {0};
    struct vf_error error = {.text = ""};
    enum vf_status status = pipeline_try(p, in, &out, value, &error);
    cr_assert_eq(status, VF_OK, "%s: %s", p->chain, error.text);
    return out;
}

struct vf_volume pipeline_run_ref_input(const struct pipeline *p)
{
    struct vf_volume in = pipeline_input(p, 0);
    for (size_t i = 0; i < volume_elements(&in); i++)
        volume_set(&in, i, (double)ref_input(i));
    struct vf_volume out = pipeline_run(p, &in, NULL);
    vf_volume_free(&in);
    return out;
}

double volume_error(const struct vf_volume *volume, size_t first, const int *at, const double *expected,
                    size_t count)
{
    double most = 0;
    for (size_t j = 0; j < count; j++) {
        const double error = fabs(volume_get(volume, first + (at != NULL ? (size_t)at[j] : j)) - expected[j]);
        most = isnan(error) ? INFINITY : fmax(most, error);
    }
    return most;
}

void last_flow_open(struct last_flow *p, const char *chain, struct vf_plan_request request)
{
    struct vf_error error;
    *p = (struct last_flow){.chain = {0}};
    request.chain = &p->chain;
    cr_assert_eq(vf_chain_append(&p->chain, chain, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_plan_open(&p->plan, &request, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_plan_flow(&p->plan, &p->plan.run[p->plan.run_count - 1], NULL, &p->flow, &error), VF_OK,
                 "%s", error.text);
}

void last_flow_close(struct last_flow *p)
{
    vf_flow_close(&p->flow);
    vf_plan_close(&p->plan);
    vf_chain_free(&p->chain);
}
