/* Reductions on the device give the bits of the CPU's. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_reduce.h"
#include "device.h"
#include "fake_device.h"
#include "tests/random.h"
#include "tests/sanitized.h"

/* A field on the device, as the sink of a job. */
struct field {
    ptrdiff_t nx, ny, nz, batch;
    bool is_double;
    double *value; /* [batch * nz * ny * nx], owned */
    struct vf_cuda *cuda;
    CUdeviceptr data;
    size_t pitch;
};

static ptrdiff_t planes_of(const struct field *f)
{
    return f->nz * f->batch;
}

static double ordinary(ptrdiff_t i)
{
    return i % 7 == 0 ? 0 : (double)(random_bits() % 2000000) * 1e-4 - 70;
}

/* Any bits: all exponents, infinities, NaNs. */
static double wild(ptrdiff_t i)
{
    const uint64_t bits = random_bits();
    const uint32_t half = (uint32_t)bits;
    float narrow;
    double wide;
    memcpy(&narrow, &half, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return i % 3 == 0 ? wide : (double)narrow;
}

/* Zeros, subnormals and the greatest that there are. */
static double extreme(ptrdiff_t i)
{
    static const double values[] = {0.0,      -0.0,     0x1p-149,        -0x1.8p-149,     0x1.fffffep127,
                                    0x1p-126, 0x1p-127, -0x1.fffffep127, 0x1p-1074,       -0x1p-1022,
                                    NAN,      INFINITY, -INFINITY,       0x1.fffffffp1023};
    return values[(uint64_t)i * 2654435761u % (sizeof values / sizeof *values)];
}

static double none(ptrdiff_t i)
{
    return i % 2 == 0 ? NAN : -INFINITY;
}

static double a_tenth(ptrdiff_t i)
{
    (void)i;
    return 0.1;
}

static void upload(struct field *f)
{
    const size_t element = f->is_double ? sizeof(double) : sizeof(float);
    const size_t row = f->pitch * element, bytes = row * (size_t)(f->ny * planes_of(f));
    char *packed = malloc(bytes);
    memset(packed, 0x41, bytes); /* what is beyond rows is finite */
    for (ptrdiff_t r = 0; r < f->ny * planes_of(f); r++)
        for (ptrdiff_t x = 0; x < f->nx; x++) {
            const double wide = f->value[r * f->nx + x];
            const float narrow = (float)wide;
            memcpy(packed + (size_t)r * row + (size_t)x * element,
                   f->is_double ? (const void *)&wide : &narrow, element);
        }
    cr_assert_eq(f->cuda->api.cuMemcpyHtoDAsync(f->data, packed, bytes, NULL), CUDA_SUCCESS);
    cr_assert_eq(f->cuda->api.cuStreamSynchronize(NULL), CUDA_SUCCESS);
    free(packed);
}

static struct field make(struct vf_cuda *device, const ptrdiff_t shape[4], bool is_double,
                         double (*value)(ptrdiff_t i))
{
    struct field f = {.nx = shape[0], .ny = shape[1], .nz = shape[2], .batch = shape[3]};
    const ptrdiff_t count = f.nx * f.ny * planes_of(&f);
    f.is_double = is_double;
    f.cuda = device;
    f.pitch = (size_t)vf_gpu_pitch(f.nx);
    f.value = malloc((size_t)count * sizeof *f.value);
    for (ptrdiff_t i = 0; i < count; i++)
        f.value[i] = value(i);
    struct vf_error error;
    bool fits;
    cr_assert_eq(vf_cuda_field_alloc(device, f.nx, f.ny, planes_of(&f), is_double ? VF_F64 : VF_F32, &f.data,
                                     &fits, &error),
                 VF_OK, "%s", error.text);
    cr_assert(fits);
    upload(&f);
    return f;
}

static void release(struct field *f)
{
    f->cuda->api.cuMemFree(f->data);
    free(f->value);
}

static void add_on_cpu(const struct field *f, struct vf_reducer *reducer, struct vf_plane_range planes)
{
    float *narrow = malloc((size_t)f->nx * sizeof *narrow);
    for (ptrdiff_t r = planes.begin * f->ny; r < planes.end * f->ny; r++) {
        const double *row = f->value + r * f->nx;
        for (ptrdiff_t x = 0; x < f->nx; x++)
            narrow[x] = (float)row[x];
        vf_reducer_add(reducer, 0, f->is_double ? (const void *)row : narrow, f->nx, 0, r % f->ny,
                       r / f->ny % f->nz);
    }
    free(narrow);
}

static const struct vf_global all_globals[] = {{.reduction = VF_REDUCE_PERCENTILE, .argument = 90},
                                               {.reduction = VF_REDUCE_DEVIATION, .argument = 2},
                                               {.reduction = VF_REDUCE_RANGE},
                                               {.reduction = VF_REDUCE_MEAN}};
enum { ALL = sizeof all_globals / sizeof *all_globals };

/* The planes in slabs of `height`, as cuda_run has them: buffers begin a plane before what is wanted. */
static enum vf_status add_on_device(const struct field *f, struct vf_reducer reducer[ALL], ptrdiff_t height,
                                    struct vf_error *error)
{
    struct vf_flow flow = {.dim = f->nz == 1 ? 2 : 3, .is_double = f->is_double, .sink_count = 1};
    const struct vf_sink sink = {.reducer = reducer, .reducer_count = ALL};
    const struct vf_job job = {
        .flow = &flow, .nx = f->nx, .ny = f->ny, .nz = f->nz, .batch = f->batch, .sink = &sink, .threads = 1};
    CUdeviceptr data;
    struct vf_cuda_sweep sweep = {
        .cuda = f->cuda, .job = &job, .sink = &data, .pitch = f->pitch, .plane = f->pitch * (size_t)f->ny};
    const size_t plane_bytes = sweep.plane * (f->is_double ? sizeof(double) : sizeof(float));
    enum vf_status status;
    sweep.sink_type[0] = f->is_double ? VF_F64 : VF_F32;
    VF_TRY(vf_staging_open(&sweep.staging, f->cuda, NULL, plane_bytes, plane_bytes, NULL, 1, error));
    for (ptrdiff_t z = 0; z < planes_of(f); z += height) {
        sweep.base = z > 0 ? z - 1 : 0;
        data = f->data + (size_t)sweep.base * plane_bytes;
        const ptrdiff_t end = z + height < planes_of(f) ? z + height : planes_of(f);
        VF_TRY(vf_cuda_reduce(&sweep, (struct vf_plane_range){z, end}, error));
    }
out:
    vf_staging_close(&sweep.staging);
    return status;
}

static struct vf_reducer open_reducer(const struct field *f, const struct vf_global *global)
{
    const ptrdiff_t grid[3] = {f->nx, f->ny, f->nz};
    struct vf_reducer reducer;
    struct vf_error error;
    cr_assert_eq(vf_reducer_open(&reducer, global, f->is_double, grid, 1, &error), VF_OK);
    return reducer;
}

static uint64_t bits_of(const struct vf_reducer *reducer)
{
    const double value = vf_reducer_value(reducer);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* All reductions, together, in the box. */
static void expect_same(const struct field *f, ptrdiff_t height, const long size[3], const long at[3])
{
    struct vf_reducer right[ALL], got[ALL];
    struct vf_error error;
    for (int i = 0; i < ALL; i++) {
        struct vf_global global = all_globals[i];
        for (int axis = 0; axis < 3; axis++) {
            global.box_size[axis] = size[axis];
            global.box_at[axis] = at[axis];
        }
        right[i] = open_reducer(f, &global);
        got[i] = open_reducer(f, &global);
        add_on_cpu(f, &right[i], (struct vf_plane_range){0, planes_of(f)});
    }
    cr_assert_eq(add_on_device(f, got, height, &error), VF_OK, "%s", error.text);
    for (int i = 0; i < ALL; i++) {
        cr_assert_eq(bits_of(&got[i]), bits_of(&right[i]), "reduction %d, double %d, height %td: %a, not %a",
                     i, f->is_double, height, vf_reducer_value(&got[i]), vf_reducer_value(&right[i]));
        vf_reducer_close(&right[i]);
        vf_reducer_close(&got[i]);
    }
}

static const long everywhere[3] = {0, 0, 0};

Test(cuda_reduce, all_values)
{
    double (*const kinds[])(ptrdiff_t i) = {ordinary, wild, extreme, none};
    static const ptrdiff_t shapes[][4] = {{37, 18, 9, 1}, {70, 21, 1, 5}, {1, 1, 1, 1}};
    struct vf_cuda *device = device_open();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int is_double = 0; is_double < 2; is_double++) {
                struct field f = make(device, shapes[s], is_double, kinds[k]);
                if (!UNDER_SANITIZERS || (k + s) % 2 == 0)
                    expect_same(&f, planes_of(&f), everywhere, everywhere);
                if (s < 2 && (!UNDER_SANITIZERS || (k + s) % 2 == 1))
                    expect_same(&f, 2, everywhere, everywhere);
                release(&f);
            }
    vf_cuda_close(device);
}

Test(cuda_reduce, boxes)
{
    static const long boxes[][2][3] = {{{1, 1, 1}, {36, 17, 8}},
                                       {{9, 3, 4}, {5, 2, 3}},
                                       {{99, 99, 99}, {3, 1, 2}},
                                       {{4, 4, 4}, {37, 0, 0}},
                                       {{2, 18, 1}, {0, 0, 7}}};
    static const ptrdiff_t volume[4] = {37, 18, 9, 1}, images[4] = {37, 18, 1, 4};
    struct vf_cuda *device = device_open();
    for (int is_double = 0; is_double < 2; is_double++) {
        struct field f = make(device, volume, is_double, ordinary),
                     flat = make(device, images, is_double, ordinary);
        for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
            const long plane[3] = {boxes[b][0][0], boxes[b][0][1], 1};
            const long first[3] = {boxes[b][1][0], boxes[b][1][1], 0};
            expect_same(&f, 9, boxes[b][0], boxes[b][1]);
            expect_same(&f, 3, boxes[b][0], boxes[b][1]);
            expect_same(&flat, 3, plane, first);
        }
        release(&f);
        release(&flat);
    }
    vf_cuda_close(device);
}

/* More than a launch takes on a device of one multiprocessor: a plane goes by rows, in two launches for sums
 * and three for counts. Sums of equal values carry. */
Test(cuda_reduce, many_values)
{
    if (UNDER_SANITIZERS)
        cr_skip_test("as others, but of more values");
    static const ptrdiff_t shape[4] = {2500, 7000, 1, 1};
    setenv("FAKE_CUDA_ATTRIBUTES", "16=1", 1);
    struct vf_cuda *device = device_open();
    struct field f = make(device, shape, false, a_tenth);
    expect_same(&f, 2, everywhere, everywhere);
    release(&f);
    vf_cuda_close(device);
}

/* Devices with less shared memory count the rest of the bins in memory. */
Test(cuda_reduce, little_shared_memory)
{
    static const ptrdiff_t shape[4] = {61, 13, 5, 1};
    setenv("FAKE_CUDA_ATTRIBUTES", "97=65536", 1);
    struct vf_cuda *device = device_open();
    if (strcmp(device->gpu.name, "Fake GPU") == 0)
        for (int is_double = 0; is_double < 2; is_double++) {
            struct field f = make(device, shape, is_double, wild);
            expect_same(&f, 5, everywhere, everywhere);
            release(&f);
        }
    vf_cuda_close(device);
}

/* ---- failures ---- */

enum { RIGHT, AS_BEFORE, REAL_DEVICE, WRONG };

static char log_path[] = "/tmp/volfilter-reduce-XXXXXX";
static int failing; /* which call of the reduction */

static int calls_so_far(void)
{
    char line[96];
    int number = 0, last = 0;
    FILE *log = fopen(log_path, "r");
    cr_assert_not_null(log);
    while (fgets(line, sizeof line, log) != NULL)
        last = sscanf(line, "%d", &number) == 1 ? number : last;
    fclose(log);
    return last;
}

/* A box in each of two images, of which one is reduced already; then the other, with a failure. */
static void reduce_with_failure(void)
{
    static const ptrdiff_t shape[4] = {37, 3, 4, 2};
    struct vf_cuda *device = device_open();
    struct vf_reducer before[ALL], right[ALL], got[ALL];
    struct vf_error error;
    int as_before = 0, as_right = 0;
    if (strcmp(device->gpu.name, "Fake GPU") != 0)
        exit(REAL_DEVICE);
    struct field f = make(device, shape, false, ordinary);
    for (int i = 0; i < ALL; i++) {
        struct vf_global global = all_globals[i];
        memcpy(global.box_size, (const long[]){31, 2, 2}, sizeof global.box_size);
        memcpy(global.box_at, (const long[]){3, 1, 2}, sizeof global.box_at);
        before[i] = open_reducer(&f, &global);
        right[i] = open_reducer(&f, &global);
        got[i] = open_reducer(&f, &global);
        add_on_cpu(&f, &before[i], (struct vf_plane_range){0, 4});
        add_on_cpu(&f, &got[i], (struct vf_plane_range){0, 4});
        add_on_cpu(&f, &right[i], (struct vf_plane_range){0, 8});
    }
    struct field rest = f;
    rest.batch = 1;
    rest.data += 4 * f.pitch * (size_t)f.ny * sizeof(float);
    char number[16];
    snprintf(number, sizeof number, "%d", calls_so_far() + failing);
    setenv("FAKE_CUDA_FAIL", number, 1);
    const enum vf_status status = add_on_device(&rest, got, 4, &error);
    for (int i = 0; i < ALL; i++) {
        as_before += bits_of(&got[i]) == bits_of(&before[i]);
        as_right += bits_of(&got[i]) == bits_of(&right[i]);
        vf_reducer_close(&before[i]);
        vf_reducer_close(&right[i]);
        vf_reducer_close(&got[i]);
    }
    release(&f);
    vf_cuda_close(device);
    exit(status == VF_OK && as_right == ALL                              ? RIGHT
         : status == VF_DEVICE && as_before == ALL && error.text[0] != 0 ? AS_BEFORE
                                                                         : WRONG);
}

/* Fails every `step`th of the first calls; how often nothing was added. */
static int fail_every(int step)
{
    enum { MOST = 4 * 12 + 4 };
    int failures = 0;
    for (failing = 1; failing <= MOST; failing += step) {
        char said[4096];
        cr_assert_eq(truncate(log_path, 0), 0);
        const int status = status_of(reduce_with_failure, said);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) < WRONG, "call %d\n%s", failing, said);
        if (WEXITSTATUS(status) == REAL_DEVICE) {
            unlink(log_path);
            cr_skip_test("a real device");
        }
        failures += WEXITSTATUS(status) == AS_BEFORE;
    }
    return failures;
}

/* When one call fails the planes are downloaded; when the device is lost nothing is added. Under sanitizers
 * every second call; of the lost ones every fifth, which meets each of a reduction's 12. */
Test(cuda_reduce, failures)
{
    enum { STEP = 1 + UNDER_SANITIZERS, LOST_STEP = 5 };
    const int log = mkstemp(log_path);
    cr_assert(log >= 0);
    close(log);
    setenv("FAKE_CUDA_STRICT", "1", 1);
    setenv("FAKE_CUDA_LOG", log_path, 1);
    cr_expect_lt(fail_every(STEP), 22 / STEP,
                 "those of the transfers, and those that a device does not survive");
    setenv("FAKE_CUDA_FAIL_WITH", "700", 1);
    cr_expect_geq(fail_every(LOST_STEP), 40 / LOST_STEP);
    unlink(log_path);
}
