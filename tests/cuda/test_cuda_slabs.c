/* Devices whose memory takes a few planes only: slab by slab the result is the same. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "tests/sanitized.h"

/* Under sanitizers, where kernels take the compiler long, the first for every other boundary. */
static const char *const schemes[] = {"", "global-read", NULL};

/* A device of so many bytes, the log of whose calls tells how many slabs there were. */
static struct vf_cuda *open_small(const char *bytes)
{
    setenv("FAKE_CUDA_MEMORY", bytes, 1);
    struct vf_cuda *device = device_open();
    if (strcmp(device->gpu.name, "Fake GPU") != 0)
        cr_skip_test("a real device");
    return device;
}

static char log_path[] = "/tmp/volfilter-slabs-XXXXXX";

static int calls_of(const char *wanted)
{
    char name[64];
    int count = 0, number;
    FILE *log = fopen(log_path, "r");
    cr_assert_not_null(log);
    while (next_call(log, &number, name))
        count += strcmp(name, wanted) == 0;
    fclose(log);
    return count;
}

static void begin(void)
{
    FILE *log = fdopen(mkstemp(log_path), "w");
    cr_assert_not_null(log);
    fclose(log);
    setenv("FAKE_CUDA_LOG", log_path, 1);
    /* Cases are few, and what each does is counted. */
    unsetenv("CUDA_TESTS_SHARE");
}

static void end(void)
{
    remove(log_path);
}

TestSuite(cuda_slabs, .init = begin, .fini = end);

/* Runs it by each scheme in at least `slabs` slabs: for each the device is waited for once. */
static void check(const struct pipeline *p, struct vf_cuda *device, int slabs)
{
    const int before = calls_of("cuStreamSynchronize");
    const int runs = UNDER_SANITIZERS && p->boundary % 2 == 0 ? 1 : 2;
    device_check(p, device, schemes + 2 - runs);
    cr_expect(!device->failed, "%s: %s", p->chain, device->failure.text);
    cr_expect_geq(calls_of("cuStreamSynchronize") - before, runs * slabs, "%s, boundary %d: too few slabs",
                  p->chain, (int)p->boundary);
}

static const struct pipeline volume = {
    .chain = "gaussian", .nx = 13, .ny = 6, .nz = 25, .constant = 7, .type = VF_F32, .result_type = VF_F32};

Test(cuda_slabs, every_boundary)
{
    struct vf_cuda *device = open_small("45000");
    struct pipeline p = volume;
    for (int boundary = VF_NEAREST; boundary <= VF_CONSTANT; boundary++) {
        p.boundary = (enum vf_boundary)boundary;
        check(&p, device, 3);
    }
    vf_cuda_close(device);
}

/* Fluxes look at the edges of the grid, not of the slab. */
Test(cuda_slabs, diffusion)
{
    struct vf_cuda *device = open_small("60000");
    struct pipeline p = volume;
    p.chain = "perona-malik:iterations=3:k=5";
    for (int boundary = VF_NEAREST; boundary <= VF_CONSTANT; boundary++) {
        p.boundary = (enum vf_boundary)boundary;
        check(&p, device, 1);
    }
    vf_cuda_close(device);
}

/* Global values come from all slabs: of a percentile, whose counts do not fit beside them, on the CPU; of
 * means on the device. In one slab these wait 4 and 7 times. */
Test(cuda_slabs, global_values)
{
    struct vf_cuda *device = open_small("50000");
    struct pipeline p = volume;
    p.nx = 24;
    p.ny = 12;
    p.chain = "perona-malik:iterations=1";
    check(&p, device, 8);
    cr_expect_eq(calls_of("cuMemsetD8Async"), 0, "counts are cleared");
    vf_cuda_close(device);
    device = open_small("350000");
    p.chain = "and:iterations=1:sigma=0.4:rho=0.4";
    check(&p, device, 20);
    cr_expect_gt(calls_of("cuMemsetD8Async"), 0, "sums are cleared");
    vf_cuda_close(device);
}

/* Slabs are of images: boundaries are in each. */
Test(cuda_slabs, batches)
{
    struct vf_cuda *device = open_small("12000");
    struct pipeline p = volume;
    p.slices = true;
    p.nt = 2;
    for (int boundary = VF_NEAREST; boundary <= VF_CONSTANT; boundary++) {
        p.boundary = (enum vf_boundary)boundary;
        check(&p, device, 5);
    }
    vf_cuda_close(device);
    device = open_small("45000");
    p.slices = false;
    p.type = VF_U16;
    check(&p, device, 6);
    vf_cuda_close(device);
}
