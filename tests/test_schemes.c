/* row-stream gives the reference's bits: every filter, boundary, awkward shape, type, tile, thread count and
 * vector level, from the registry. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu_rows.h"
#include "pipeline.h"
#include "sanitized.h"

/* Every filter, which `registry` checks, with every parameter that changes what is computed. */
static const char *const chains[] = {
    "gaussian:sigma=1.3x0.7x0.9",
    "gaussian:sigma=0",
    "gaussian:sigma=0x2.2x0:truncate=2",
    "median",
    "median:radius=2",
    "gradient",
    "gradient:sigma=0.6",
    "gradient:output=y",
    "gradient:method=sobel",
    "gradient:method=scharr:output=components",
    "gradient:method=gaussian:output=x",
    "gradient:method=gaussian:sigma=0.8",
    "laplacian",
    "laplacian:sigma=0.7x0.4x0.6",
    "dog:sigma=0.6:sigma2=1x0.7x1.2",
    "dog:sigma=0:sigma2=0.8",
    "unsharp:sigma=0.8:amount=1.7",
    "unsharp:sigma=1x0x0",
    "mean:radius=2x1x3",
    "mean:radius=0x2x0",
    "structure-tensor:sigma=0.5:rho=0.7",
    "structure-tensor:sigma=0:rho=0:output=eigenvalues",
    "structure-tensor:sigma=0.5:rho=0.7:output=coherence",
    "structure-tensor:sigma=0.5:rho=0.7:output=orientation",
    "hessian:sigma=0",
    "hessian:sigma=0.6",
    "hessian:sigma=0.5:output=components",
    "hessian:sigma=0:output=lambda2,gaussian:sigma=0.6",
    "perona-malik:iterations=3",
    "perona-malik:k=2sd:iterations=2:conductance=quadratic:dt=0.1",
    "perona-malik:k=0:iterations=1",
    "eed:iterations=2",
    "eed:iterations=2:rho=0.8:k=p50",
    "eed:iterations=1:k=9,gaussian:sigma=0.8",
    "eed:iterations=1:mode=line:rho=0.6:k=20",
    "ced:iterations=2:rho=0.9",
    "and:iterations=2:rho=0.7:sigma=0.5",
    "srad:iterations=3",
    "gaussian:sigma=0.4,srad:iterations=2:lambda=1,gradient:output=x",
    "convolve:tests/weights/5x3.txt",
    "gaussian:sigma=0.6,convolve:tests/weights/11x11.txt:flip=no,gradient",
    "convolve:tests/weights/5x3-holes.txt",
    "gaussian:sigma=0.6,gradient:output=components,gaussian:sigma=0.4",
    "perona-malik:iterations=2:k=5,eed:iterations=2:sigma=0.5,gradient",
    "gaussian:sigma=0,ced:rho=0.5:iterations=1,perona-malik:iterations=2",
};
enum { CHAINS = sizeof chains / sizeof chains[0] };

static const enum vf_boundary boundaries[] = {VF_NEAREST, VF_REFLECT, VF_MIRROR, VF_CONSTANT, VF_WRAP};

/* Sizes 1, 2, and about a halo, twice a halo and a tile. */
static const ptrdiff_t volumes[][3] = {{1, 1, 2},  {2, 1, 3},    {1, 5, 2},  {3, 2, 2},
                                       {7, 6, 5},  {16, 3, 4},   {9, 17, 3}, {5, 4, 17},
                                       {33, 8, 7}, {15, 11, 10}, {48, 5, 4}};
static const ptrdiff_t images[][3] = {{1, 1, 1},  {2, 1, 1},  {1, 3, 1},   {5, 2, 1},   {7, 8, 1}, {17, 1, 1},
                                      {1, 20, 1}, {31, 9, 1}, {16, 33, 1}, {70, 40, 1}, {32, 7, 1}};

/* Chains with a stage that they may be cut before: lines along z, of one field and of several, a body. */
static const struct {
    const char *chain, *cut;
} cuts[] = {
    {"gaussian:sigma=1.3x0.7x0.9", "GZ"},
    {"dog:sigma=0.6:sigma2=1x0.7x1.2", "WX"},
    {"unsharp:sigma=0.8:amount=1.7", "USM"},
    {"structure-tensor:sigma=0.5:rho=0.7", "RZ"},
    {"structure-tensor:sigma=0.5:rho=0.7:output=coherence", "RX"},
    {"hessian:sigma=0.6", "HESS"},
    {"eed:iterations=2", "ST"},
    {"eed:iterations=2:rho=0.8:k=p50", "RY"},
    {"ced:iterations=2:rho=0.9", "RZ"},
    {"and:iterations=2:rho=0.7:sigma=0.5", "RZ"},
    {"and:iterations=2:rho=0.7:sigma=0.5", "PDE"},
    {"perona-malik:iterations=2:k=5,eed:iterations=2:sigma=0.5,gradient", "CROSS"},
};

/* Forced tiles and threads; the first is the plan's own. */
static const struct {
    const char *scheme;
    int threads;
} schedules[] = {{NULL, 1},
                 {NULL, 3},
                 {"row-stream:tile=1x1x1", 2},
                 {"row-stream:tile=3x2x2", 3},
                 {"row-stream:tile=15x4x5", 2},
                 {"row-stream:tile=16x16x3", 1},
                 {"row-stream:tile=1000x3x1000", 2}};
enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

static void expect_bits(struct pipeline p, const struct vf_volume *in, const struct vf_volume *expected,
                        const char *scheme, int threads)
{
    p.scheme = scheme;
    p.threads = threads;
    struct vf_volume out = pipeline_run(&p, in, NULL);
    const size_t size = volume_size(expected), element = vf_type_size(out.type);
    size_t at = 0;
    while (at < size && ((const char *)out.data)[at] == ((const char *)expected->data)[at])
        at++;
    cr_assert_eq(at, size, "%s, %tdx%tdx%td, boundary %d, %s, %s, %d threads: element %zu differs", p.chain,
                 p.nx, p.ny, p.nz, (int)p.boundary, vf_type_name(p.type),
                 scheme == NULL ? "the plan's own" : scheme, threads, at / element);
    vf_volume_free(&out);
}

/* Under sanitizers one schedule a case, in turn, so that every chain, shape and boundary meets each of them.
 */
enum { STRIDE = UNDER_SANITIZERS ? SCHEDULES : 1, CUT_STRIDE = UNDER_SANITIZERS ? 7 : 1 };

static void expect_same(struct pipeline p, const struct vf_volume *in, const struct vf_volume *expected,
                        int stride)
{
    static int turn;
    for (int s = turn++ % stride; s < SCHEDULES; s += stride)
        expect_bits(p, in, expected, schedules[s].scheme, schedules[s].threads);
}

static void compare_by(int stride, struct pipeline p, unsigned seed)
{
    struct vf_volume in = pipeline_input(&p, seed);
    p.scheme = "reference";
    struct vf_volume expected = pipeline_run(&p, &in, NULL);
    expect_same(p, &in, &expected, stride);
    vf_volume_free(&in);
    vf_volume_free(&expected);
}

static void compare(struct pipeline p, unsigned seed)
{
    compare_by(STRIDE, p, seed);
}

/* One schedule, the next one each time. */
static void compare_in_turn(struct pipeline p, unsigned seed)
{
    compare_by(SCHEDULES, p, seed);
}

static void compare_shapes(enum vf_boundary boundary, const ptrdiff_t (*shapes)[3], size_t count,
                           bool precise)
{
    for (int c = 0; c < CHAINS; c++)
        for (size_t s = 0; s < count; s++) {
            if (UNDER_SANITIZERS && (c + (int)s + (int)boundary) % 4 != 0)
                continue;
            struct pipeline p = {.chain = chains[c],
                                 .nx = shapes[s][0],
                                 .ny = shapes[s][1],
                                 .nz = shapes[s][2],
                                 .type = precise ? VF_F64 : VF_F32,
                                 .boundary = boundary,
                                 .constant = 7.5,
                                 .aspect = {1, 1.5, 2},
                                 .precise = precise,
                                 .result_type = precise ? VF_F64 : VF_F32};
            compare(p, (unsigned)(c + (int)s));
        }
}

/* Two sweeps, by one plane, by a few and by all, in tiles of a cell and more; time points one by one, and
 * NaNs between the sweeps. */
static void compare_cuts(enum vf_boundary boundary, bool precise)
{
    static int turn;
    static const char *const tiles[] = {"1x1x1", "3x2x2", "1000x4x5"};
    static const int blocks[] = {1, 3, 1000};
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++)
        for (size_t s = c % CUT_STRIDE; s < sizeof volumes / sizeof volumes[0]; s += CUT_STRIDE) {
            struct pipeline p = {.chain = cuts[c].chain,
                                 .nx = volumes[s][0],
                                 .ny = volumes[s][1],
                                 .nz = volumes[s][2],
                                 .nt = s % 4 == 3 ? 2 : 1,
                                 .type = precise ? VF_F64 : VF_F32,
                                 .has_nans = s % 4 == 1,
                                 .boundary = boundary,
                                 .constant = 7.5,
                                 .aspect = {1, 1.5, 2},
                                 .precise = precise,
                                 .result_type = precise ? VF_F64 : VF_F32,
                                 .scheme = "reference"};
            struct vf_volume in = pipeline_input(&p, (unsigned)(c + s));
            struct vf_volume expected = pipeline_run(&p, &in, NULL);
            const int t = turn++;
            char scheme[64];
            snprintf(scheme, sizeof scheme, "row-stream:tile=%s:cut=%s/%d", tiles[t % 3], cuts[c].cut,
                     blocks[t / 3 % 3]);
            expect_bits(p, &in, &expected, scheme, 1 + t % 2);
            vf_volume_free(&in);
            vf_volume_free(&expected);
        }
}

/* Runs take turns with the result's own memory where it is of the compute type; else it is not theirs. */
Test(schemes, runs_in_the_result)
{
    static const char *const many[] = {
        "perona-malik:iterations=40", "eed:iterations=6:k=20", "eed:iterations=5",
        "gaussian,eed:iterations=2,perona-malik:iterations=20", "and:iterations=4"};
    for (size_t c = 0; c < sizeof many / sizeof many[0]; c++) {
        struct pipeline p = {.chain = many[c],
                             .nx = 40,
                             .ny = 21,
                             .nz = 12,
                             .threads = 2,
                             .type = VF_F32,
                             .boundary = VF_NEAREST,
                             .aspect = {1, 1, 1},
                             .result_type = VF_F32};
        struct vf_volume in = pipeline_input(&p, (unsigned)c), shared = pipeline_run(&p, &in, NULL);
        p.result_type = VF_F64;
        struct vf_volume apart = pipeline_run(&p, &in, NULL);
        for (ptrdiff_t i = 0; i < p.nx * p.ny * p.nz; i++)
            cr_assert_eq((double)((const float *)shared.data)[i], ((const double *)apart.data)[i],
                         "%s: voxel %td", p.chain, i);
        vf_volume_free(&in);
        vf_volume_free(&shared);
        vf_volume_free(&apart);
    }
}

#define SHAPES(name, boundary)                                                        \
    Test(schemes, volumes_##name)                                                     \
    {                                                                                 \
        compare_shapes(boundary, volumes, sizeof volumes / sizeof volumes[0], false); \
    }                                                                                 \
    Test(schemes, images_##name)                                                      \
    {                                                                                 \
        compare_shapes(boundary, images, sizeof images / sizeof images[0], false);    \
    }                                                                                 \
    Test(schemes, double_##name)                                                      \
    {                                                                                 \
        compare_shapes(boundary, volumes + 4, 4, true);                               \
        compare_shapes(boundary, images + 6, 3, true);                                \
    }
SHAPES(nearest, VF_NEAREST)
SHAPES(reflect, VF_REFLECT)
SHAPES(mirror, VF_MIRROR)
SHAPES(constant, VF_CONSTANT)
SHAPES(wrap, VF_WRAP)

/* No run is cut under `wrap`: check_cut of plan.c refuses it. */
#define CUTS(name, boundary)                            \
    Test(schemes, cuts_##name)                          \
    {                                                   \
        compare_cuts(boundary, boundary == VF_REFLECT); \
    }
CUTS(nearest, VF_NEAREST)
CUTS(reflect, VF_REFLECT)
CUTS(mirror, VF_MIRROR)
CUTS(constant, VF_CONSTANT)

Test(schemes, registry)
{
    expect_all_filters(chains, CHAINS);
    for (size_t i = 0; vf_cpu_schemes[i] != NULL; i++) {
        const char *name = vf_cpu_schemes[i]->name;
        bool covered = vf_cpu_schemes[i] == &vf_cpu_reference;
        for (int s = 0; s < SCHEDULES; s++) {
            const char *scheme = schedules[s].scheme != NULL ? schedules[s].scheme : "";
            const size_t length = strcspn(scheme, ":");
            covered = covered || (length == strlen(name) && memcmp(scheme, name, length) == 0);
        }
        cr_assert(covered, "no schedule tests %s: add one to `schedules`", name);
    }
}

Test(schemes, types)
{
    for (int c = 0; c < CHAINS; c++)
        for (int type = 0; type < VF_TYPE_COUNT; type++) {
            if (left_out())
                continue;
            struct pipeline p = {.chain = chains[c],
                                 .nx = 19,
                                 .ny = 7,
                                 .nz = 6,
                                 .type = (enum vf_type)type,
                                 .boundary = boundaries[c % 5],
                                 .constant = -3,
                                 .precise = type == VF_U32 || type == VF_I32 || type == VF_F64,
                                 .result_type = (enum vf_type)type};
            compare_in_turn(p, (unsigned)c);
            p.precise = false;
            p.nz = 1;
            compare_in_turn(p, (unsigned)c);
        }
}

/* Halos around the tile, the grid and twice over: radius 8 against extents about it. */
Test(schemes, wide_halo)
{
    static const char *const caches[] = {"1048576,33554432", "2097152,33554432,slow"};
    for (int c = 0; c < 2; c++) {
        cr_assert_eq(setenv("VOLFILTER_CPU_CACHES", caches[c], 1), 0);
        for (ptrdiff_t n = 7; n <= 18; n += n == 9 ? 6 : 1)
            for (int b = 0; b < 5; b++) {
                if (left_out())
                    continue;
                struct pipeline p = {.chain = "gaussian:sigma=2",
                                     .nx = n,
                                     .ny = n + 1,
                                     .nz = n - 1,
                                     .type = VF_F32,
                                     .boundary = boundaries[b],
                                     .constant = 11,
                                     .result_type = VF_F32};
                compare(p, (unsigned)n);
                p.nz = 1;
                compare(p, (unsigned)n);
                p.chain = "gaussian:sigma=9:truncate=3";
                compare(p, (unsigned)n);
            }
    }
}

/* Lines so wide that sums across the stream take the most planes at once, also for a body, in rows of several
 * vectors and a part of one. */
Test(schemes, wide_lines)
{
    static const char *const wide[] = {"gaussian:sigma=4", "gaussian:sigma=9x0x0",
                                       "gradient:method=gaussian:sigma=4",
                                       "structure-tensor:sigma=0.5:rho=4:output=coherence"};
    static const char *const schemes[] = {NULL, "row-stream:tile=70x5x20", "row-stream:tile=200x4x35"};
    for (int level = -1; next_vector_level(&level);) {
        for (int c = 0; c < 4; c++)
            for (int precise = 0; precise < 2; precise++) {
                if (left_out())
                    continue;
                struct pipeline p = {.chain = wide[c],
                                     .nx = 203,
                                     .ny = 6,
                                     .nz = 37,
                                     .type = precise ? VF_F64 : VF_U8,
                                     .boundary = boundaries[(c + level) % 5],
                                     .precise = precise != 0,
                                     .result_type = precise ? VF_F64 : VF_F32};
                struct vf_volume in = pipeline_input(&p, (unsigned)c);
                p.scheme = "reference";
                struct vf_volume expected = pipeline_run(&p, &in, NULL);
                for (int s = 0; s < 3; s++)
                    expect_bits(p, &in, &expected, schemes[s], 2);
                vf_volume_free(&in);
                vf_volume_free(&expected);
            }
    }
}

/* Tables of several planes, of which some rows are read by all results that are made at once, some by a few,
 * and some by none; and of one weight, which is not at the centre. */
Test(schemes, planes_of_weights)
{
    static const char *const deep[] = {
        "convolve:tests/weights/3x3x3.txt",
        "convolve:tests/weights/5x5x5.txt:flip=no",
        "convolve:tests/weights/5x3x7-holes.txt",
        "convolve:tests/weights/5x5x5.txt,convolve:tests/weights/5x3x7-holes.txt:flip=no",
        "convolve:tests/weights/5x5x3-gaps.txt",
        "convolve:tests/weights/one-x.txt",
        "convolve:tests/weights/one-y.txt",
        "convolve:tests/weights/one-z.txt"};
    static const ptrdiff_t sizes[][3] = {{9, 17, 3}, {70, 12, 5}, {33, 8, 13}};
    for (int level = -1; next_vector_level(&level);) {
        for (size_t c = 0; c < sizeof deep / sizeof *deep; c++)
            for (int b = 0; b < 5; b++)
                for (int s = 0; s < 3; s++) {
                    const bool precise = (b + s) % 2;
                    struct pipeline p = {.chain = deep[c],
                                         .nx = sizes[s][0],
                                         .ny = sizes[s][1],
                                         .nz = sizes[s][2],
                                         .type = precise ? VF_F64 : VF_F32,
                                         .has_nans = !precise,
                                         .boundary = boundaries[b],
                                         .constant = -2,
                                         .precise = precise,
                                         .result_type = precise ? VF_F64 : VF_F32};
                    compare(p, (unsigned)(c + s));
                }
    }
}

/* Time points and slices are images of one batch; global values are shared. */
Test(schemes, batches)
{
    for (int c = 0; c < CHAINS; c++)
        for (int slices = 0; slices < 2; slices++) {
            struct pipeline p = {.chain = chains[c],
                                 .nx = 13,
                                 .ny = 9,
                                 .nz = 5,
                                 .nt = 3,
                                 .type = VF_U16,
                                 .boundary = boundaries[c % 5],
                                 .slices = slices != 0,
                                 .result_type = VF_F32};
            compare(p, (unsigned)c);
        }
}

/* What stands among ordinary values: NaN spreads over its neighbourhood, alike everywhere, and is always
 * stored as the same NaN, or as 0; infinities meet, the greatest number overflows, zeros have signs. Also
 * where rows of sums are made in the result itself, which takes a width that is aligned. */
Test(schemes, not_a_number)
{
    static const enum vf_type results[] = {VF_F32, VF_F32, VF_I16, VF_F64};
    const float odd[][2] = {{-__builtin_nanf("0x123"), INFINITY},
                            {INFINITY, -INFINITY},
                            {-INFINITY, FLT_MAX},
                            {-0.0f, 0x1p-149f},
                            {__builtin_nanf("0x321"), -0.0f}};
    enum { ODD = sizeof odd / sizeof odd[0] };
    for (int c = 0; c < CHAINS; c++)
        for (int r = 0; r < 4; r++)
            for (int o = 0; o < ODD; o++) {
                if (left_out())
                    continue;
                struct pipeline p = {.chain = chains[c],
                                     .nx = r == 0 ? 32 : 21,
                                     .ny = 8,
                                     .nz = (c + o) % 2 ? 7 : 1,
                                     .type = VF_F32,
                                     .boundary = boundaries[(c + o) % 5],
                                     .result_type = results[r]};
                struct vf_volume in = pipeline_input(&p, 5);
                ((float *)in.data)[9] = odd[o][0];
                ((float *)in.data)[100] = odd[o][1];
                p.scheme = "reference";
                struct vf_volume expected = pipeline_run(&p, &in, NULL);
                expect_same(p, &in, &expected, SCHEDULES);
                vf_volume_free(&in);
                vf_volume_free(&expected);
            }
}

/* Results of more than 16 MiB are stored past the caches: whole rows as they are made where they are aligned,
 * by strips on some processors where rows that are made side by side are alike (VF_ROWS_ALIKE), other rows
 * and types from their rings. */
Test(schemes, large_results)
{
    static const struct {
        const char *chain;
        ptrdiff_t nx, ny, nz;
        enum vf_type type;
    } cases[] = {{"gaussian:sigma=0.5", 2048, 2056, 1, VF_F32}, /* alike */
                 {"gaussian:sigma=0.5", 2064, 2048, 1, VF_F32},
                 {"hessian:sigma=0", 1456, 1536, 1, VF_F32}, /* alike */
                 {"hessian:sigma=0:output=components", 96, 90, 82, VF_F32},
                 {"convolve:tests/weights/5x3.txt", 2048, 2056, 1, VF_F32}, /* alike */
                 {"gaussian:sigma=0.5", 2049, 2050, 1, VF_F32},
                 {"structure-tensor:sigma=0:rho=0.4", 128, 64, 86, VF_F32}, /* alike */
                 {"gaussian:sigma=0.4", 3001, 2900, 1, VF_U16},
                 {"gaussian:sigma=0.3", 1456, 1456, 1, VF_F64},
                 {"gradient", 2064, 2048, 1, VF_F32},
                 {"perona-malik:k=20:iterations=1", 176, 160, 160, VF_F32},
                 {"eed:k=20:iterations=1", 176, 160, 160, VF_F32}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += UNDER_SANITIZERS ? 3 : 1) {
        struct pipeline p = {.chain = cases[i].chain,
                             .nx = cases[i].nx,
                             .ny = cases[i].ny,
                             .nz = cases[i].nz,
                             .type = VF_F32,
                             .boundary = boundaries[i % 5],
                             .precise = cases[i].type == VF_F64,
                             .result_type = cases[i].type};
        struct vf_volume in = pipeline_input(&p, 5);
        ((float *)in.data)[5000] = -__builtin_nanf("0x123");
        p.scheme = "reference";
        struct vf_volume expected = pipeline_run(&p, &in, NULL);
        expect_bits(p, &in, &expected, NULL, 3);
        vf_volume_free(&in);
        vf_volume_free(&expected);
    }
}

/* Rows of more than one block of a body that takes them in steps. */
Test(schemes, long_rows)
{
    static const char *const in_steps[] = {"eed:iterations=1:k=9", "ced:iterations=1",
                                           "structure-tensor:sigma=0:rho=0.4:output=coherence"};
    for (size_t c = 0; c < sizeof in_steps / sizeof *in_steps; c++)
        for (int precise = 0; precise < 2; precise++) {
            const struct pipeline p = {.chain = in_steps[c],
                                       .nx = 531,
                                       .ny = 3,
                                       .nz = 3,
                                       .type = VF_F32,
                                       .boundary = VF_REFLECT,
                                       .precise = precise != 0,
                                       .result_type = precise ? VF_F64 : VF_F32};
            compare(p, (unsigned)c);
        }
}

/* Every vector level that this processor runs. */
Test(schemes, levels)
{
    for (int level = -1; next_vector_level(&level);) {
        for (int c = 0; c < CHAINS; c++)
            for (int precise = 0; precise < 2; precise++)
                for (ptrdiff_t nz = 1; nz <= 5; nz += 4) {
                    if (left_out())
                        continue;
                    struct pipeline p = {.chain = chains[c],
                                         .nx = 37,
                                         .ny = 6,
                                         .nz = nz,
                                         .type = precise ? VF_F64 : VF_U16,
                                         .boundary = boundaries[(c + 1) % 5],
                                         .precise = precise != 0,
                                         .aspect = {1, 0.7, 3},
                                         .result_type = precise ? VF_F64 : VF_U16};
                    compare_in_turn(p, (unsigned)c);
                    /* Rows that may go to the result as they are. */
                    p.nx = 48;
                    p.result_type = precise ? VF_F64 : VF_F32;
                    compare_in_turn(p, (unsigned)c);
                }
    }
}

/* What is stored as integers, at every vector level, in whole vectors and a part of one: halves, bounds, what
 * is beyond them, NaN. gaussian.rounding tells what they are. */
Test(schemes, stored_integers)
{
    const double given[] = {0.5,       1.5,  -0.5,     -1.5,         127.5,       -128.5,
                            255.5,     -0.0, 32767.5,  65535.5,      -32768.5,    INFINITY,
                            -INFINITY, NAN,  -NAN,     1e30,         -1e30,       2147483648.0,
                            -3e9,      5e9,  0x1p-149, 4294967040.0, 2147483520.0};
    enum { GIVEN = sizeof given / sizeof given[0], CELLS = 150 };
    for (int level = -1; next_vector_level(&level);) {
        for (enum vf_type type = VF_U8; type <= VF_I32; type++)
            for (int precise = 0; precise < 2; precise++) {
                struct pipeline p = {.chain = "gaussian:sigma=0",
                                     .nx = CELLS,
                                     .ny = 1,
                                     .nz = 1,
                                     .type = precise ? VF_F64 : VF_F32,
                                     .precise = precise != 0,
                                     .result_type = type};
                struct vf_volume in = pipeline_input(&p, 0);
                for (size_t i = 0; i < CELLS; i++)
                    volume_set(&in, i, given[i % GIVEN]);
                p.scheme = "reference";
                struct vf_volume expected = pipeline_run(&p, &in, NULL);
                expect_bits(p, &in, &expected, "row-stream", 1);
                vf_volume_free(&in);
                vf_volume_free(&expected);
            }
    }
}

/* Medians of integers, of all their values, whose rows may stay integers, at every vector level; a constant
 * that is one of them or none; rows of a vector's width, and of one less and one more. */
Test(schemes, whole_numbers)
{
    static const char *const medians[] = {"median", "median:radius=2", "median,median:radius=2",
                                          "median,gaussian:sigma=0.5", "median:radius=3"};
    static const ptrdiff_t shapes[][3] = {{64, 6, 5}, {63, 5, 1}, {65, 3, 4}, {128, 7, 1},
                                          {1, 9, 3},  {33, 1, 1}, {31, 4, 7}, {2100, 3, 1}};
    static const double constants[] = {7, 0.5, -3, 255, 256, -32768, NAN};
    unsigned turn = 0;
    for (int level = -1; next_vector_level(&level);) {
        for (enum vf_type type = VF_U8; type <= VF_I16; type++)
            for (int c = 0; c < 5; c++)
                for (int s = 0; s < 8; s++, turn++) {
                    if (left_out())
                        continue;
                    const bool is_image = shapes[s][2] == 1;
                    struct pipeline p = {.chain = medians[c == 4 && !is_image ? 0 : c],
                                         .nx = shapes[s][0],
                                         .ny = shapes[s][1],
                                         .nz = shapes[s][2],
                                         .type = type,
                                         .boundary = boundaries[turn % 5],
                                         .constant = constants[turn % 7],
                                         .result_type =
                                             turn % 3 ? type : (enum vf_type)(turn / 3 % VF_TYPE_COUNT),
                                         .scheme = "reference"};
                    struct vf_volume in = pipeline_input(&p, turn);
                    uint32_t state = turn;
                    for (size_t i = 0; i < volume_size(&in); i++) {
                        state = state * 1664525u + 1013904223u;
                        ((unsigned char *)in.data)[i] = (unsigned char)(state >> 24);
                    }
                    struct vf_volume expected = pipeline_run(&p, &in, NULL);
                    expect_same(p, &in, &expected, SCHEDULES);
                    vf_volume_free(&in);
                    vf_volume_free(&expected);
                }
    }
}
