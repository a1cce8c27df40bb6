/* A slab is a range of planes: computed from the planes that it reaches, it writes its own planes and no
 * other. */
#include <criterion/criterion.h>
#include <string.h>

#include "pipeline.h"

static void expect_slab(const struct pipeline *p, struct vf_plan *plan, const struct vf_volume *in,
                        const struct vf_volume *expected, ptrdiff_t from, ptrdiff_t to, ptrdiff_t reach,
                        int cut)
{
    struct vf_flow flow;
    struct vf_error error;
    struct vf_volume out;
    void *source[64] = {0}, *sink[64];
    const size_t plane = (size_t)(p->nx * p->ny) * sizeof(float);
    cr_assert_eq(vf_volume_alloc(&out, VF_F32, &in->shape, "slab", &error), VF_OK);
    memset(out.data, 0x5a, volume_size(&out));
    for (ptrdiff_t z = 0; z < p->nz; z++) {
        sink[z] = vf_volume_plane(&out, 0, 0, (size_t)z);
        if (z >= from - reach && z < to + reach)
            source[z] = vf_volume_plane(in, 0, 0, (size_t)z);
    }
    const struct vf_array to_array = {.type = VF_F32, .plane = sink},
                          from_array = {.type = p->type, .plane = source};
    const struct vf_sink stored = {.array = &to_array};
    /* All pieces as one run, however the plan would cut them. */
    const struct vf_run whole = {.piece_end = plan->piece_count};
    cr_assert_eq(vf_plan_flow(plan, &whole, NULL, &flow, &error), VF_OK);
    const struct vf_job job = {.flow = &flow,
                               .nx = p->nx,
                               .ny = p->ny,
                               .nz = p->nz,
                               .batch = 1,
                               .z_begin = from,
                               .z_end = to,
                               .source = &from_array,
                               .sink = &stored,
                               .tiling = {{6, 5, 3}, cut, 3, {5, 6, 2}},
                               .threads = 2};
    cr_assert_eq(plan->scheme->run(&job, &error), VF_OK, "%s", error.text);
    for (ptrdiff_t z = 0; z < p->nz; z++)
        if (z >= from && z < to)
            cr_assert_eq(memcmp(sink[z], vf_volume_plane(expected, 0, 0, (size_t)z), plane), 0,
                         "plane %td of %td..%td", z, from, to);
        else
            for (size_t i = 0; i < plane; i++)
                cr_assert_eq(((unsigned char *)sink[z])[i], 0x5a, "plane %td was written", z);
    vf_flow_close(&flow);
    vf_volume_free(&out);
}

static void compare_slabs(const char *chain_text, ptrdiff_t reach)
{
    static const enum vf_boundary boundaries[] = {VF_NEAREST, VF_REFLECT, VF_MIRROR, VF_CONSTANT};
    for (size_t b = 0; b < COUNT(boundaries); b++) { /* wrap reaches the other end */
        struct pipeline p = {.chain = chain_text,
                             .nx = 17,
                             .ny = 9,
                             .nz = 20,
                             .type = VF_I16,
                             .boundary = boundaries[b],
                             .constant = 9,
                             .result_type = VF_F32,
                             .scheme = "reference"};
        struct vf_volume in = pipeline_input(&p, 3);
        struct vf_volume expected = pipeline_run(&p, &in, NULL);
        struct last_flow last;
        struct vf_plan_request request = {.context = {.dim = 3, .boundary = p.boundary, .aspect = {1, 1, 1}},
                                          .constant = p.constant,
                                          .nx = p.nx,
                                          .ny = p.ny,
                                          .nz = p.nz,
                                          .batch = 1,
                                          .threads = 2};
        last_flow_open(&last, chain_text, request);
        for (ptrdiff_t from = 0; from < p.nz; from += 4)
            for (ptrdiff_t to = from + 1; to <= p.nz; to += 5)
                for (int cut = 0; cut < 8; cut += 4)
                    expect_slab(&p, &last.plan, &in, &expected, from, to, reach, cut);
        last_flow_close(&last);
        vf_volume_free(&in);
        vf_volume_free(&expected);
    }
}

Test(slabs, planes_of_their_own)
{
    compare_slabs("gaussian:sigma=0.5,perona-malik:k=20:iterations=2,gradient", 2 + 2 + 1);
    compare_slabs("gaussian:sigma=0.5,eed:k=20:iterations=1:sigma=0.5,gradient", 2 + 4 + 1);
}
