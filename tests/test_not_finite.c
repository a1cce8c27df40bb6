/* Values that are no numbers: what they reach is none either, and nothing else depends on them. */
#include <criterion/criterion.h>
#include <math.h>

#include "pipeline.h"

enum { NX = 41, NY = 37 };

static const size_t depth[] = {1, 5};

/* The voxel in the middle of `nz` planes. */
static size_t middle(size_t nz)
{
    return (nz / 2 * NY + NY / 2) * NX + NX / 2;
}

static struct vf_volume filtered(const char *chain, size_t nz, bool by_reference, double value)
{
    struct pipeline p = pipeline_reference(chain, NX, NY, (ptrdiff_t)nz, false);
    struct vf_volume in = pipeline_input(&p, 3);
    if (!by_reference)
        p.scheme = NULL;
    volume_set(&in, middle(nz), value);
    const struct vf_volume out = pipeline_run(&p, &in, NULL);
    vf_volume_free(&in);
    return out;
}

/* Whatever else of the image's range stands in the place of a NaN, voxels that it does not reach are the
 * same, but where each depends on the mean of all (srad). */
static void expect_nan_where_it_reaches(const char *chain, size_t nz, bool by_reference)
{
    const size_t voxels = nz * NY * NX;
    size_t numbers = 0;
    struct vf_volume out = filtered(chain, nz, by_reference, NAN),
                     low = filtered(chain, nz, by_reference, 60),
                     high = filtered(chain, nz, by_reference, 120);
    const bool is_local = strncmp(chain, "srad", 4) != 0;
    cr_expect(isnan(volume_get(&out, middle(nz))), "%s, %zu planes", chain, nz);
    for (size_t i = 0; i < voxels; i++) {
        const double value = volume_get(&out, i);
        numbers += !isnan(value);
        cr_expect(isnan(value) || !is_local ||
                      (value == volume_get(&low, i) && value == volume_get(&high, i)),
                  "%s, %zu planes: voxel %zu: %g with the NaN, %g and %g with 60 and 120 in its place", chain,
                  nz, i, value, volume_get(&low, i), volume_get(&high, i));
    }
    cr_expect(numbers > voxels / 4, "%s, %zu planes: %zu numbers are left", chain, nz, numbers);
    vf_volume_free(&out);
    vf_volume_free(&low);
    vf_volume_free(&high);
}

Test(not_finite, nan_reaches_all_that_depends_on_it)
{
    static const char *const chains[] = {"gaussian",
                                         "mean:radius=2",
                                         "unsharp",
                                         "median",
                                         "gradient:sigma=1",
                                         "laplacian",
                                         "dog",
                                         "structure-tensor:output=coherence",
                                         "hessian",
                                         "perona-malik:k=20:iterations=2",
                                         "eed:k=20:iterations=1",
                                         "ced:sigma=1:rho=2:iterations=1",
                                         "and:k=20:threshold=10:iterations=1",
                                         "and:k=20:threshold=1e6:iterations=1",
                                         "srad:iterations=2",
                                         "convolve:tests/weights/5x3.txt"};
    expect_all_filters(chains, sizeof chains / sizeof *chains);
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (int which = 0; which < 4; which++)
            expect_nan_where_it_reaches(chains[c], depth[which / 2], which % 2 == 0);
}

/* Global values are of what is finite, so infinities count as little as NaN. */
Test(not_finite, infinities_do_not_count)
{
    static const char *const chains[] = {"srad:iterations=2", "perona-malik:iterations=1",
                                         "eed:iterations=1"};
    static const double values[] = {INFINITY, -INFINITY};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (int v = 0; v < 2; v++) {
            struct vf_volume expected = filtered(chains[c], 1, false, NAN),
                             out = filtered(chains[c], 1, false, values[v]);
            for (size_t i = 0; i < NX; i++)
                cr_expect_eq(volume_get(&out, i), volume_get(&expected, i), "%s: %g: voxel %zu: %g, not %g",
                             chains[c], values[v], i, volume_get(&out, i), volume_get(&expected, i));
            vf_volume_free(&expected);
            vf_volume_free(&out);
        }
}
