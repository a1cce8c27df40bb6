/* hessian: scipy's second differences, quadratic forms, which have them exactly, and signs that are known. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "tables/ref_hessian.h"

/* ---- tables ---- */

static struct vf_volume run_table(const struct ref_hessian_case *t, const char *chain, bool precise)
{
    struct pipeline p = pipeline_reference(chain, t->nx, t->ny, t->nz, precise);
    p.boundary = boundary_named(t->boundary);
    p.constant = t->constant;
    memcpy(p.aspect, t->h, sizeof p.aspect);
    return pipeline_run_ref_input(&p);
}

/* Compares all channels with the table's columns from `first` on. */
static void compare_columns(const struct ref_hessian_case *t, const struct vf_volume *out, int channels,
                            int first, double tolerance)
{
    const size_t voxels = (size_t)t->nx * (size_t)t->ny * (size_t)t->nz;
    cr_assert_eq(out->shape.nc, (size_t)channels);
    for (int c = 0; c < channels; c++)
        for (int j = 0; j < t->count; j++) {
            const double got = volume_get(out, (size_t)c * voxels + (size_t)t->at[j]);
            const double expected = t->expected[(first + c) * t->count + j];
            cr_expect(fabs(got - expected) <= tolerance, "%s, %dx%dx%d, column %d, voxel %d: %.9g, not %.9g",
                      t->boundary, t->nx, t->ny, t->nz, first + c, t->at[j], got, expected);
        }
}

Test(hessian, scipy)
{
    for (size_t i = 0; i < COUNT(REF_HESSIAN); i++)
        for (int precise = 0; precise < 2; precise++) {
            const struct ref_hessian_case *t = &REF_HESSIAN[i];
            const int dim = t->nz > 1 ? 3 : 2, components = dim * (dim + 1) / 2;
            /* Smoothed values are up to 150, and differences of four of them are taken. */
            const double tolerance = precise ? 1e-12 : 1e-4;
            struct vf_volume out = run_table(t, "hessian:output=components", precise != 0);
            compare_columns(t, &out, components, 0, tolerance);
            vf_volume_free(&out);
            out = run_table(t, "hessian", precise != 0);
            compare_columns(t, &out, dim, components, tolerance);
            vf_volume_free(&out);
        }
}

/* ---- known derivatives ---- */

/* Whether a voxel's neighbours are all inside the grid. */
static bool is_inner(const struct pipeline *p, ptrdiff_t x, ptrdiff_t y, ptrdiff_t z)
{
    return x > 0 && x < p->nx - 1 && y > 0 && y < p->ny - 1 && (p->nz == 1 || (z > 0 && z < p->nz - 1));
}

/* The matrix of a quadratic form of the voxel's place, in x-voxels, is found exactly, whatever the voxel's
 * sides, and so are its eigenvalues where it is diagonal. */
static void expect_form(const double matrix[6], const double h[3], ptrdiff_t nz)
{
    struct pipeline p = pipeline_reference("hessian:sigma=0:output=components", 7, 6, nz, true);
    memcpy(p.aspect, h, sizeof p.aspect);
    struct vf_volume in = pipeline_input(&p, 0);
    const size_t voxels = volume_elements(&in);
    const bool flat = nz == 1;
    for (size_t i = 0; i < voxels; i++) {
        const double x = (double)(i % 7) * h[0], y = (double)(i / 7 % 6) * h[1],
                     z = flat ? 0 : (double)(i / 42) * h[2];
        volume_set(&in, i,
                   0.5 * (matrix[0] * x * x + matrix[3] * y * y + matrix[5] * z * z) + matrix[1] * x * y +
                       matrix[2] * x * z + matrix[4] * y * z + 3 * x - 2 * y + z + 11);
    }
    struct vf_volume out = pipeline_run(&p, &in, NULL);
    for (size_t i = 0; i < voxels; i++)
        for (size_t c = 0; c < out.shape.nc && is_inner(&p, i % 7, i / 7 % 6, i / 42); c++) {
            const double expected = matrix[flat && c == 2 ? 3 : c];
            cr_expect_eq(volume_get(&out, c * voxels + i), expected, "component %zu at %zu: %g, not %g", c, i,
                         volume_get(&out, c * voxels + i), expected);
        }
    vf_volume_free(&in);
    vf_volume_free(&out);
}

Test(hessian, quadratic_forms)
{
    static const double matrices[][6] = {
        {2, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, -3, 0}, {4, 1, -2, -6, 8, 2}};
    static const double sides[][3] = {{1, 1, 1}, {1, 0.5, 2}};
    for (size_t m = 0; m < COUNT(matrices); m++)
        for (size_t s = 0; s < COUNT(sides); s++) {
            expect_form(matrices[m], sides[s], 1);
            expect_form(matrices[m], sides[s], 5);
        }
}

/* At the middle of a bright ball, of a rod and of a sheet, and of their negatives. */
Test(hessian, signs)
{
    for (int directions = 1; directions <= 3; directions++)
        for (int sign = -1; sign <= 1; sign += 2) {
            struct pipeline p = pipeline_reference("hessian:sigma=1", 13, 13, 13, false);
            struct vf_volume in = pipeline_input(&p, 0);
            for (int i = 0; i < 2197; i++) {
                const int at[3] = {i % 13 - 6, i / 13 % 13 - 6, i / 169 - 6};
                int square = 0;
                for (int axis = 0; axis < directions; axis++)
                    square += at[axis] * at[axis];
                volume_set(&in, (size_t)i, sign * 100 * exp(-square / 8.0));
            }
            struct vf_volume out = pipeline_run(&p, &in, NULL);
            for (int k = 0; k < 3; k++) {
                const double value = volume_get(&out, (size_t)k * 2197 + 1098);
                /* Bright: the last ones are below 0; dark: the first ones are above. */
                const bool curved = sign > 0 ? k >= 3 - directions : k < directions;
                cr_expect(curved ? sign * value < -1 : fabs(value) < 1e-4,
                          "%d directions, sign %d: lambda%d is %g", directions, sign, k + 1, value);
            }
            vf_volume_free(&in);
            vf_volume_free(&out);
        }
}

/* Exactly nothing where nothing changes, smoothed or not; a constant that is smoothed may differ from that
 * outside by a rounding. */
Test(hessian, constant)
{
    static const char *const chains[] = {"hessian:sigma=0", "hessian", "hessian:sigma=0:output=components",
                                         "hessian:output=components"};
    for (size_t c = 0; c < COUNT(chains); c++)
        for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
            for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
                if (boundary == VF_CONSTANT && strstr(chains[c], "sigma=0") == NULL)
                    continue;
                struct pipeline p = pipeline_reference(chains[c], 6, 5, nz, false);
                p.boundary = (enum vf_boundary)boundary;
                p.constant = 64;
                struct vf_volume in = pipeline_input(&p, 0);
                for (size_t i = 0; i < volume_elements(&in); i++)
                    volume_set(&in, i, 64);
                struct vf_volume out = pipeline_run(&p, &in, NULL);
                for (size_t i = 0; i < volume_elements(&out); i++)
                    cr_expect_eq(volume_get(&out, i), 0, "%s: %g", p.chain, volume_get(&out, i));
                vf_volume_free(&in);
                vf_volume_free(&out);
            }
}

/* It reaches what reads it: the voxel's faces and edges, not its corners. */
Test(hessian, not_a_number)
{
    for (ptrdiff_t nz = 1; nz <= 7; nz += 6) {
        struct pipeline p = pipeline_reference("hessian:sigma=0", 7, 7, nz, false);
        struct vf_volume in = pipeline_input(&p, 0);
        const int middle = (int)nz / 2;
        volume_set(&in, (size_t)(middle * 49 + 3 * 7 + 3), NAN);
        struct vf_volume out = pipeline_run(&p, &in, NULL);
        for (size_t i = 0; i < volume_elements(&out); i++) {
            const int at = (int)(i % volume_elements(&in)), x = abs(at % 7 - 3), y = abs(at / 7 % 7 - 3),
                      z = abs(at / 49 - middle);
            const bool reached = x <= 1 && y <= 1 && z <= 1 && x + y + z <= 2;
            cr_expect_eq(isnan(volume_get(&out, i)), reached, "voxel %d: %g", at, volume_get(&out, i));
        }
        vf_volume_free(&in);
        vf_volume_free(&out);
    }
}

Test(hessian, one_eigenvalue)
{
    static const char *const one[] = {"hessian:output=lambda1", "hessian:output=lambda2",
                                      "hessian:output=lambda3"};
    for (int dim = 2; dim <= 3; dim++)
        for (int k = 0; k < dim; k++) {
            const struct pipeline p = {.chain = "hessian",
                                       .nx = 37,
                                       .ny = 18,
                                       .nz = dim == 2 ? 1 : 9,
                                       .type = VF_U8,
                                       .result_type = VF_F32};
            pipeline_expect_channel(&p, (size_t)k, one[k]);
        }
    const struct pipeline flat = {
        .chain = one[2], .nx = 5, .ny = 5, .nz = 1, .type = VF_U8, .result_type = VF_F32};
    pipeline_expect_usage(&flat, "hessian: output=lambda3 needs a stack");
}
