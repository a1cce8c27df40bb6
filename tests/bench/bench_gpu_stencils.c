#include "bench_gpu_stencils.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "nvrtc.h"

/* tests/bench/stencils/, as kernels/embed.sh makes it. */
extern const struct vf_text_header bench_texts[];
extern const int bench_text_count;

/* ---- weights ---- */

/* How far along the one axis that an offset lies on; -1 off the axes. */
static int on_axis(int dz, int dy, int dx)
{
    const int far = abs(dz) + abs(dy) + abs(dx);
    return abs(dz) == far || abs(dy) == far || abs(dx) == far ? far : -1;
}

static double in_star(int dz, int dy, int dx, double weight)
{
    return on_axis(dz, dy, dx) >= 0 ? weight : 0;
}

static double mean_5(int dz, int dy, int dx)
{
    return in_star(dz, dy, dx, 1.0 / 5);
}

static double mean_7(int dz, int dy, int dx)
{
    return in_star(dz, dy, dx, 1.0 / 7);
}

static double mean_9(int dz, int dy, int dx)
{
    return in_star(dz, dy, dx, 1.0 / 9);
}

static double mean_13(int dz, int dy, int dx)
{
    return in_star(dz, dy, dx, 1.0 / 13);
}

static double sum(int dz, int dy, int dx)
{
    return in_star(dz, dy, dx, 1);
}

static double j2d5pt(int dz, int dy, int dx)
{
    const double weight = dy < 0 ? 5 : dy > 0 ? 5 : dx == 0 ? 15 : 12;
    return in_star(dz, dy, dx, weight / 118);
}

static double j2d9pt(int dz, int dy, int dx)
{
    static const double weight[3][3] = {{7, 5, 9}, {12, 15, 12}, {9, 5, 7}};
    (void)dz;
    return weight[dy + 1][dx + 1] / 118;
}

static double poisson_19(int dz, int dy, int dx)
{
    const int far = abs(dz) + abs(dy) + abs(dx);
    static const double weight[] = {0.75, 0.25 / 12, 0.25 / 24, 0};
    return weight[far];
}

static double j3d7pt(int dz, int dy, int dx)
{
    if (on_axis(dz, dy, dx) == 0)
        return -1.67;
    const double weight = dx > 0   ? .161
                          : dx < 0 ? .162
                          : dy > 0 ? .163
                          : dy < 0 ? .164
                          : dz > 0 ? .165
                                   : .166;
    return in_star(dz, dy, dx, weight);
}

static double j3d13pt(int dz, int dy, int dx)
{
    return in_star(dz, dy, dx, on_axis(dz, dy, dx) == 0 ? -0.996 : 0.083);
}

static double plane_of_j3d(int dy, int dx)
{
    static const double weight[3][3] = {{.51, .71, .91}, {1.21, 1.51, 1.21}, {.91, .71, .51}};
    return weight[dy + 1][dx + 1];
}

static double j3d17pt(int dz, int dy, int dx)
{
    if (dz == 0)
        return plane_of_j3d(dy, dx) / 159;
    return dy != 0 && dx != 0 ? (dz < 0 ? 0.50 : 0.52) / 159 : 0;
}

static double j3d27pt(int dz, int dy, int dx)
{
    return (plane_of_j3d(dy, dx) + 0.01 * dz) / 159;
}

/* Of a Gaussian with 4 sigma = `radius`. */
static double gauss(int offset, int radius)
{
    double all = 0;
    for (int i = -radius; i <= radius; i++)
        all += exp(-8.0 * i * i / (radius * radius));
    return exp(-8.0 * offset * offset / (radius * radius)) / all;
}

static double gauss_1(int dz, int dy, int dx)
{
    return gauss(dz + dy + dx, 1);
}

static double gauss_4(int dz, int dy, int dx)
{
    return gauss(dz + dy + dx, 4);
}

static double gauss_16(int dz, int dy, int dx)
{
    return gauss(dz + dy + dx, 16);
}

/* Differences of high order: one weight a distance, their sum 1. */
static double distances(int dz, int dy, int dx, int radius)
{
    const int far = on_axis(dz, dy, dx);
    return far < 0 ? 0 : far == 0 ? 0.5 : 1.0 / (6 * radius * (far + 1.0));
}

static double fdd5(int dz, int dy, int dx)
{
    return distances(dz, dy, dx, 5);
}

static double fdd7(int dz, int dy, int dx)
{
    return distances(dz, dy, dx, 7);
}

/* ---- parameters ---- */

static void gaussian_params(struct bench_grid grid, double *param)
{
    (void)grid;
    static const double weight[] = {2, 4, 5, 9, 12, 15};
    for (int i = 0; i < 6; i++)
        param[i] = weight[i] / 159;
}

static void srad_params(struct bench_grid grid, double *param)
{
    (void)grid;
    const double q0_squared = 0.05; /* of the speckle, taken once */
    param[0] = q0_squared * (1 + q0_squared);
    param[1] = 0.25 * 0.5;
    param[2] = q0_squared * q0_squared;
}

/* Rodinia's chip. */
#define CHIP 0.016
#define CHIP_THICK 0.0005
#define CONDUCTIVITY 100.0
#define CAPACITY (0.5 * 1.75e6)
#define TIME_STEP (0.001 / (3.0e6 / (CAPACITY * CHIP_THICK)))

static void hotspot2d_params(struct bench_grid grid, double *param)
{
    const double width = CHIP / (double)grid.nx, height = CHIP / (double)grid.ny;
    param[0] = TIME_STEP / (CAPACITY * CHIP_THICK * width * height);
    param[1] = 2 * CONDUCTIVITY * CHIP_THICK * height / width;
    param[2] = 2 * CONDUCTIVITY * CHIP_THICK * width / height;
    param[3] = CONDUCTIVITY * height * width / CHIP_THICK;
}

static void hotspot3d_params(struct bench_grid grid, double *param)
{
    const double dx = CHIP / (double)grid.ny, dy = CHIP / (double)grid.nx;
    const double step = TIME_STEP / (CAPACITY * CHIP_THICK * dx * dy);
    param[1] = step * 2 * CONDUCTIVITY * CHIP_THICK * dx / dy;
    param[2] = step * 2 * CONDUCTIVITY * CHIP_THICK * dy / dx;
    param[3] = step * CONDUCTIVITY * dx * dy / (CHIP_THICK / (double)grid.nz);
    param[4] = step;
    param[0] = 1 - (2 * param[1] + 2 * param[2] + 3 * param[3]);
}

/* ---- the table ---- */

#define ODD_2D .grid = {{4095, 4095, 1}, {8191, 8191, 1}, {16383, 16383, 1}}, .main_grid = 1
#define SQUARE .grid = {{8192, 8192, 1}}
#define BOTH_2D .grid = {{4095, 4095, 1}, {8191, 8191, 1}, {8192, 8192, 1}, {16383, 16383, 1}}, .main_grid = 2
#define ODD_3D .grid = {{255, 255, 255}, {511, 511, 511}, {1023, 1023, 511}}, .main_grid = 1
#define CUBE .grid = {{512, 512, 512}}
/* A tomogram's: tiles end beyond its rows. */
#define TOMOGRAM .grid = {{928, 960, 300}}
#define CUBES .grid = {{256, 256, 256}, {512, 512, 512}}, .main_grid = 1

#define WEIGHTS(function, z, y, x)                                 \
    {                                                              \
        .name = "STEP", .weight = (function), .reach = { z, y, x } \
    }
#define BODY(word)                           \
    {                                        \
        .name = "STEP", .body = BENCH_##word \
    }

#define FLOATS .type = VF_F32, .low = 0, .high = 255
/* A linear stencil of one array. */
#define WEIGHTED(word, d, function, z, y, x, count)                                                  \
    .name = (word), .dim = (d), .state = 1, .stage_count = 1, .stage = {WEIGHTS(function, z, y, x)}, \
    .steps = (count)
#define LINEAR(word, d, function, z, y, x, count) WEIGHTED(word, d, function, z, y, x, count), FLOATS

#define ALONG(axis, radius, z, y, x)                                                                         \
    {                                                                                                        \
        LINEAR("g" axis "-r" #radius, 3, gauss_##radius, (z) * (radius), (y) * (radius), (x) * (radius), 1), \
            CUBES, .one_pass = true                                                                          \
    }
#define CHAIN(word, d, text) .name = (word), .chain = (text), .dim = (d), .steps = 1, .one_pass = true
#define FILTER(word, d, text) CHAIN(word, d, text), FLOATS

const struct bench_item bench_items[] = {
    {LINEAR("jacobi2d-5p", 2, mean_5, 0, 1, 1, 5), ODD_2D},
    {LINEAR("jacobi2d-9p", 2, mean_9, 0, 2, 2, 5), ODD_2D},
    {LINEAR("j2d5pt", 2, j2d5pt, 0, 1, 1, 4), SQUARE},
    {LINEAR("j2d9pt", 2, j2d9pt, 0, 1, 1, 4), SQUARE},
    {.name = "gol-9pt",
     .note = "birth at 3 neighbours, survival at 2 to 3, both piecewise linear",
     .dim = 2,
     .type = VF_F32,
     .low = 0,
     .high = 1,
     .state = 1,
     .stage_count = 1,
     .stage = {BODY(gol_9pt)},
     .steps = 4,
     SQUARE},
    {.name = "gaussian2d-25p",
     .note = "weights / 159 on every grid; cells that a row weighs alike are added first",
     .dim = 2,
     FLOATS,
     .state = 1,
     .stage_count = 1,
     .stage = {BODY(gaussian2d_25p)},
     .params = gaussian_params,
     .steps = 4,
     BOTH_2D},
    {.name = "gradient2d-5p",
     .dim = 2,
     FLOATS,
     .state = 1,
     .stage_count = 1,
     .stage = {BODY(gradient2d_5p)},
     .steps = 4,
     BOTH_2D},
    {.name = "srad-v2",
     .note = "q0^2 taken once; a step is both stencils",
     .dim = 2,
     .type = VF_F32,
     .low = 1,
     .high = 2.718,
     .state = 1,
     .stage_count = 2,
     .stage = {{.name = "COEF", .body = BENCH_srad_coefficient},
               {.name = "UPDATE", .body = BENCH_srad_update, .input = {0, 1}}},
     .params = srad_params,
     .steps = 10,
     .grid = {{2047, 2047, 1}, {4095, 4095, 1}, {8191, 8191, 1}},
     .main_grid = 2},
    {.name = "hotspot2d",
     .dim = 2,
     .type = VF_F32,
     .low = 323,
     .high = 341,
     .state = 1,
     .fixed = 1,
     .stage_count = 1,
     .stage = {{.name = "STEP", .body = BENCH_hotspot2d, .input = {1, 0}}},
     .params = hotspot2d_params,
     .steps = 5,
     ODD_2D},
    {.name = "heat3d",
     .note = "second differences as written, not one weighted sum",
     .dim = 3,
     FLOATS,
     .state = 1,
     .stage_count = 1,
     .stage = {BODY(heat3d)},
     .steps = 5,
     ODD_3D},
    {.name = "hotspot3d",
     .dim = 3,
     .type = VF_F32,
     .low = 323,
     .high = 341,
     .state = 1,
     .fixed = 1,
     .stage_count = 1,
     .stage = {{.name = "STEP", .body = BENCH_hotspot3d, .input = {1, 0}}},
     .params = hotspot3d_params,
     .steps = 5,
     ODD_3D},
    {LINEAR("poisson3d-19p", 3, poisson_19, 1, 1, 1, 5), ODD_3D, .note = "0.75, faces 1/48, edges 1/96"},
    {LINEAR("jacobi3d-7p", 3, mean_7, 1, 1, 1, 5), ODD_3D},
    {LINEAR("jacobi3d-13p", 3, mean_13, 2, 2, 2, 5), ODD_3D},
    {LINEAR("j3d7pt", 3, j3d7pt, 1, 1, 1, 4), CUBE},
    {LINEAR("j3d13pt", 3, j3d13pt, 2, 2, 2, 4), CUBE},
    {LINEAR("j3d17pt", 3, j3d17pt, 1, 1, 1, 4), CUBE},
    {LINEAR("j3d27pt", 3, j3d27pt, 1, 1, 1, 4), CUBE},
    {.name = "curl3d",
     .note = "one step is the forward curl and the backward curl of it",
     .dim = 3,
     FLOATS,
     .state = 3,
     .stage_count = 2,
     .stage = {{.name = "FORWARD", .body = BENCH_curl_forward, .input = {0, 1, 2}},
               {.name = "BACK", .body = BENCH_curl_backward, .input = {3, 4, 5}}},
     .steps = 1,
     .one_pass = true,
     .grid = {{450, 450, 450}}},
    ALONG("x", 1, 0, 0, 1),
    ALONG("y", 1, 0, 1, 0),
    ALONG("z", 1, 1, 0, 0),
    ALONG("x", 4, 0, 0, 1),
    ALONG("y", 4, 0, 1, 0),
    ALONG("z", 4, 1, 0, 0),
    ALONG("x", 16, 0, 0, 1),
    ALONG("y", 16, 0, 1, 0),
    ALONG("z", 16, 1, 0, 0),
    {.name = "st",
     .dim = 3,
     FLOATS,
     .state = 1,
     .stage_count = 1,
     .stage = {{.name = "ST", .listed = VF_STENCIL_structure_tensor}},
     .steps = 1,
     .one_pass = true,
     CUBES},
    {LINEAR("fdd5", 3, fdd5, 5, 5, 5, 1), CUBES, .one_pass = true},
    {LINEAR("fdd7", 3, fdd7, 7, 7, 7, 1), CUBES, .one_pass = true},
    {WEIGHTED("type-f64", 3, sum, 1, 1, 1, 1), .type = VF_F64, .low = 0, .high = 255,
     .grid = {{255, 255, 255}}, .one_pass = true},
    {WEIGHTED("type-i8", 3, sum, 1, 1, 1, 1), .type = VF_I8, .low = -18, .high = 18,
     .grid = {{255, 255, 255}}, .one_pass = true},
    {FILTER("eed", 3, "eed:sigma=1:rho=0:iterations=1"), CUBES,
     .note = "the stages GX GY GZ ST DT CROSS PDE"},
    {FILTER("eed-r2", 3, "eed:sigma=1:rho=2:iterations=1"), CUBE},
    {FILTER("ced", 3, "ced:sigma=0.5:rho=4:iterations=1"), CUBE},
    {FILTER("and", 3, "and:sigma=1:rho=2:iterations=1"), CUBES},
    {FILTER("gaussian-s1", 3, "gaussian:sigma=1"), CUBE},
    {FILTER("gaussian-s2", 3, "gaussian:sigma=2"), CUBE},
    {FILTER("gaussian-s4", 3, "gaussian:sigma=4"), CUBE},
    {FILTER("gaussian-s8", 3, "gaussian:sigma=8"), CUBE},
    {FILTER("gaussian-s16", 3, "gaussian:sigma=16"), CUBE},
    {FILTER("median-r1", 3, "median"), CUBE},
    {FILTER("median-r2", 3, "median:radius=2"), CUBE},
    {CHAIN("median-r1-u16", 3, "median"), .type = VF_U16, .low = 0, .high = 65535, .keeps_type = true, CUBE},
    {CHAIN("median-r2-u16", 3, "median:radius=2"), .type = VF_U16, .low = 0, .high = 65535,
     .keeps_type = true, CUBE},
    {FILTER("gradient", 3, "gradient"), CUBE},
    {FILTER("laplacian", 3, "laplacian"), CUBE},
    {FILTER("mean-r1", 3, "mean:radius=1"), CUBE},
    {FILTER("mean-r4", 3, "mean:radius=4"), CUBE},
    {FILTER("unsharp-s1", 3, "unsharp:sigma=1"), CUBE},
    {FILTER("dog-s1", 3, "dog:sigma=1"), CUBE},
    {FILTER("gaussian-gradient-s1", 3, "gradient:method=gaussian:sigma=1"), CUBE},
    {FILTER("tensor-s1-r2", 3, "structure-tensor:sigma=1:rho=2"), CUBE},
    {FILTER("coherence-s1-r2", 3, "structure-tensor:sigma=1:rho=2:output=coherence"), CUBE},
    {FILTER("hessian", 3, "hessian:sigma=0"), CUBE},
    {FILTER("hessian-s1", 3, "hessian:sigma=1"), CUBE},
    {FILTER("hessian-components", 3, "hessian:sigma=0:output=components"), CUBE},
    {FILTER("convolve-5", 3, "convolve:tests/weights/5x5x5.txt"), CUBE},
    {FILTER("convolve-7", 3, "convolve:tests/weights/7x7x7.txt"), CUBE},
    {FILTER("pm-quadratic-10", 3, "perona-malik:k=20:iterations=10:conductance=quadratic"), CUBE},
    {FILTER("pm-exp-10", 3, "perona-malik:k=20:iterations=10:conductance=exp"), CUBE},
    {CHAIN("gaussian-s1-u16", 3, "gaussian:sigma=1"), .type = VF_U16, .low = 0, .high = 65535, CUBE},
    {CHAIN("gradient-u16", 3, "gradient"), .note = "its result as uint16 too (--dtype)", .type = VF_U16,
     .low = 0, .high = 65535, .keeps_type = true, CUBE},
    {CHAIN("gradient-u16-f32", 3, "gradient"), .type = VF_U16, .low = 0, .high = 65535, CUBE},
    {FILTER("gaussian-s1-928", 3, "gaussian:sigma=1"), TOMOGRAM},
    {FILTER("gradient-928", 3, "gradient"), TOMOGRAM},
    {FILTER("pm-exp-10-928", 3, "perona-malik:k=20:iterations=10:conductance=exp"), TOMOGRAM},
    {FILTER("and-928", 3, "and:sigma=1:rho=2:iterations=1"), TOMOGRAM},
    {FILTER("srad", 2, "srad:iterations=1"), SQUARE},
    {FILTER("gaussian2d-s1", 2, "gaussian:sigma=1"), SQUARE},
    {FILTER("gaussian2d-s2", 2, "gaussian:sigma=2"), SQUARE},
    {FILTER("gaussian2d-s4", 2, "gaussian:sigma=4"), SQUARE},
    {FILTER("gaussian2d-s16", 2, "gaussian:sigma=16"), SQUARE},
    {FILTER("median2d-r1", 2, "median"), SQUARE},
    {FILTER("median2d-r2", 2, "median:radius=2"), SQUARE},
    {FILTER("median2d-r3", 2, "median:radius=3"), SQUARE},
    {CHAIN("median2d-r2-u16", 2, "median:radius=2"), .type = VF_U16, .low = 0, .high = 65535,
     .keeps_type = true, SQUARE},
    {CHAIN("median2d-r3-u8", 2, "median:radius=3"), .type = VF_U8, .low = 0, .high = 255, .keeps_type = true,
     SQUARE},
    {FILTER("convolve2d-11", 2, "convolve:tests/weights/11x11.txt"), SQUARE},
    {FILTER("convolve2d-21", 2, "convolve:tests/weights/21x21.txt"), SQUARE},
};

const int bench_item_count = sizeof bench_items / sizeof *bench_items;

void bench_grid_text(struct bench_grid grid, char text[BENCH_GRID_TEXT])
{
    const int length = snprintf(text, BENCH_GRID_TEXT, "%tdx%td", grid.nx, grid.ny);
    if (grid.nz > 1)
        snprintf(text + length, BENCH_GRID_TEXT - (size_t)length, "x%td", grid.nz);
}

/* ---- bodies ---- */

static struct vf_stencil bodies[BENCH_BODY_COUNT] = {
#define BENCH_STENCIL(word, dim, in, out, centre, star, z, y, x, operations, divides) \
    [BENCH_##word] = {.name = #word,                                                  \
                      .inputs = {in, in},                                             \
                      .outputs = {out, out},                                          \
                      .centre_inputs = {centre, centre},                              \
                      .star_inputs = {star, star},                                    \
                      .reach = {z, y, x},                                             \
                      .cost = operations,                                             \
                      .has_branches = divides},
#include "stencils.def"
#undef BENCH_STENCIL
};

static const struct vf_stencil *body_of(enum bench_body body)
{
    struct vf_stencil *stencil = &bodies[body];
    for (int i = 0; i < bench_text_count && stencil->text == NULL; i++) {
        const char *file = strrchr(bench_texts[i].name, '/') + 1;
        const size_t length = strlen(stencil->name);
        if (strncmp(file, stencil->name, length) == 0 && strcmp(file + length, ".h") == 0)
            stencil->text = bench_texts[i].text;
    }
    return stencil;
}

bench_cell *bench_cell_of(const struct vf_stencil *stencil)
{
    for (int i = 0; i < BENCH_BODY_COUNT; i++)
        if (stencil == &bodies[i])
            return bench_cells_2d[i] != NULL ? bench_cells_2d[i] : bench_cells_3d[i];
    return NULL;
}

/* ---- flows of stencils ---- */

static struct vf_taps *taps_of(const struct bench_stage *stage)
{
    const int *r = stage->reach;
    const size_t room = (size_t)((2 * r[0] + 1) * (2 * r[1] + 1) * (2 * r[2] + 1));
    struct vf_taps *taps = bench_alloc(1, sizeof *taps + room * sizeof taps->tap[0]);
    taps->count = 0;
    memcpy(taps->halo, r, sizeof taps->halo);
    for (int z = -r[0]; z <= r[0]; z++)
        for (int y = -r[1]; y <= r[1]; y++)
            for (int x = -r[2]; x <= r[2]; x++)
                if (stage->weight(z, y, x) != 0)
                    taps->tap[taps->count++] = (struct vf_tap){z, y, x, stage->weight(z, y, x)};
    return taps;
}

/* Stage s of a step that works on array[]: the state, what is fixed, then what its stages make. */
static void add_stage(struct bench_flow *f, struct bench_grid grid, int s, int *array, int *array_count)
{
    const struct bench_item *item = f->item;
    const struct bench_stage *from = &item->stage[s];
    struct vf_stage *stage = &f->flow.stage[f->flow.stage_count++];
    *stage = (struct vf_stage){.input_count = 1, .output_count = 1};
    snprintf(stage->name, sizeof stage->name, "%s", from->name);
    if (from->weight != NULL) {
        stage->stencil = VF_STENCIL_LINEAR;
        stage->taps = f->taps[s];
    } else {
        stage->stencil = from->body != BENCH_NO_BODY ? VF_STENCIL_EXTERNAL : from->listed;
        stage->external = from->body != BENCH_NO_BODY ? body_of(from->body) : NULL;
        stage->input_count = vf_stage_stencil(stage)->inputs[item->dim - 2];
        stage->output_count = vf_stage_stencil(stage)->outputs[item->dim - 2];
        if (item->params != NULL)
            item->params(grid, stage->param);
    }
    for (int k = 0; k < stage->input_count; k++)
        stage->input[k] = array[from->input[k]];
    for (int k = 0; k < stage->output_count; k++)
        array[(*array_count)++] = stage->output[k] = f->flow.field_count++;
}

static void open_stencil(struct bench_flow *f, struct bench_grid grid)
{
    const struct bench_item *item = f->item;
    const int sources = item->state + item->fixed;
    int array[VF_MAX_INPUTS + BENCH_STAGES * VF_MAX_OUTPUTS], made = 0;
    for (int k = 0; k < sources; k++)
        array[k] = f->flow.source[k] = f->flow.field_count++;
    f->flow.source_count = sources;
    for (int s = 0; s < item->stage_count; s++)
        f->taps[s] = item->stage[s].weight != NULL ? taps_of(&item->stage[s]) : NULL;
    for (int step = 0; step < f->steps; step++) {
        int count = sources;
        for (int s = 0; s < item->stage_count; s++)
            add_stage(f, grid, s, array, &count);
        made = f->flow.stage[f->flow.stage_count - 1].output_count;
        /* The last stage makes the new state; `st` makes more, and is run once. */
        for (int k = 0; k < made; k++)
            array[k] = array[count - made + k];
    }
    f->flow.sink_count = made;
    memcpy(f->flow.sink, array, (size_t)made * sizeof *array);
    for (int i = 0; i < f->flow.field_count; i++)
        f->flow.field_kind[i] = VF_FIELD_IMAGE;
}

static void alloc_flow(struct vf_flow *flow, int stages)
{
    flow->stage = bench_alloc((size_t)stages, sizeof *flow->stage);
    flow->field_kind =
        bench_alloc((size_t)(VF_MAX_INPUTS + stages * VF_MAX_OUTPUTS), sizeof *flow->field_kind);
    flow->source = bench_alloc(VF_MAX_INPUTS, sizeof *flow->source);
    flow->sink = bench_alloc(VF_MAX_OUTPUTS, sizeof *flow->sink);
}

/* ---- flows of filters ---- */

/* What a filter does after its pre-pass, of which only the time of what follows is of interest: any value
 * does for the numbers that it would have given. */
static void open_filter(struct bench_flow *f, struct bench_grid grid, const struct vf_gpu *gpu,
                        const char *scheme)
{
    enum { MOST_VALUES = 64, ANY_VALUE = 20 };
    const struct bench_item *item = f->item;
    double value[MOST_VALUES];
    struct vf_error error;
    struct vf_plan_request request = {.chain = &f->chain,
                                      .context = {.dim = item->dim, .aspect = {1, 1, 1}},
                                      .nx = grid.nx,
                                      .ny = grid.ny,
                                      .nz = grid.nz,
                                      .batch = 1,
                                      .threads = 1,
                                      .gpu = gpu,
                                      .scheme = scheme,
                                      .source_type = item->type,
                                      .result_type = item->type};
    bench_must(vf_chain_append(&f->chain, item->chain, &error), &error);
    enum vf_status status = vf_plan_open(&f->plan, &request, &error);
    if (status == VF_USAGE && scheme != NULL) {
        request.scheme = NULL;
        status = vf_plan_open(&f->plan, &request, &error);
    }
    bench_must(status, &error);
    for (int i = 0; i < MOST_VALUES; i++)
        value[i] = ANY_VALUE;
    const struct vf_run *first = f->plan.run;
    while (first->prepass)
        first++;
    const struct vf_run all = {
        .piece_begin = first->piece_begin, .piece_end = f->plan.piece_count, .split = first->split};
    bench_must(vf_plan_flow(&f->plan, &all, value, &f->flow, &error), &error);
}

void bench_flow_open(struct bench_flow *f, const struct bench_item *item, struct bench_grid grid, int steps,
                     const struct vf_gpu *gpu, const char *scheme)
{
    *f = (struct bench_flow){.item = item, .steps = steps};
    if (item->chain != NULL) {
        open_filter(f, grid, gpu, scheme);
    } else {
        alloc_flow(&f->flow, steps * item->stage_count);
        f->flow.dim = item->dim;
        f->flow.is_double = item->type == VF_F64;
        f->flow.boundary = VF_NEAREST;
        open_stencil(f, grid);
    }
    const bool keeps = item->chain == NULL || item->keeps_type || vf_chain_float_link(&f->chain) < 0;
    for (int k = 0; k < f->flow.source_count; k++)
        f->source_type[k] = item->type;
    for (int k = 0; k < f->flow.sink_count; k++)
        f->sink_type[k] = keeps ? item->type : VF_F32;
}

void bench_flow_close(struct bench_flow *f)
{
    vf_flow_close(&f->flow);
    for (int s = 0; s < BENCH_STAGES; s++)
        vf_free(f->taps[s]);
    vf_plan_close(&f->plan);
    vf_chain_free(&f->chain);
}
