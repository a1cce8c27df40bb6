/* Planes go to the device and come back, in as many pieces as the buffers make of them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_transfer.h"
#include "device.h"

enum { ROWS = 5, PLANES = 9, ROW_BYTES = 36, PITCH = 64, PLANE_BYTES = ROWS * ROW_BYTES };

static struct vf_cuda *cuda;
static struct vf_team *team;
static CUdeviceptr field;
static CUstream stream;
static unsigned char sent[PLANES * PLANE_BYTES], got[PLANES * PLANE_BYTES];

static void open_all(void)
{
    cuda = device_open();
    team = vf_team_open();
    cr_assert_eq(cuda->api.cuMemAlloc(&field, PLANES * ROWS * PITCH), CUDA_SUCCESS);
    cr_assert_eq(cuda->api.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

static void close_all(void)
{
    cuda->api.cuStreamDestroy(stream);
    cuda->api.cuMemFree(field);
    vf_team_close(team);
    vf_cuda_close(cuda);
}

TestSuite(cuda_transfer, .init = open_all, .fini = close_all);

/* `planes` planes there and back through buffers of `rows` rows, the planes in host memory in no order. */
static void expect_same(ptrdiff_t planes, size_t rows, int threads)
{
    const struct vf_planes on_device = {field, ROW_BYTES, PITCH, ROWS};
    struct vf_staging staging;
    struct vf_error error;
    void *from[PLANES], *to[PLANES];
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (unsigned char)rand();
    memset(got, 0xa5, sizeof got);
    for (int z = 0; z < PLANES; z++) {
        const int place = z * 4 % PLANES * PLANE_BYTES;
        from[z] = sent + place;
        to[z] = got + place;
    }
    cr_assert_eq(vf_staging_open(&staging, cuda, stream, rows * ROW_BYTES, ROW_BYTES, team, threads, &error),
                 VF_OK, "%s", error.text);
    cr_assert_eq(vf_staging_upload(&staging, &on_device, from, planes, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_staging_download(&staging, &on_device, to, planes, &error), VF_OK, "%s", error.text);
    vf_staging_close(&staging);
    for (int z = 0; z < planes; z++)
        cr_assert_arr_eq(to[z], from[z], PLANE_BYTES, "plane %d of %td, %zu rows, %d threads", z, planes,
                         rows, threads);
    for (ptrdiff_t z = planes; z < PLANES; z++)
        cr_assert_eq(*(unsigned char *)to[z], 0xa5, "plane %td is not asked for", z);
}

Test(cuda_transfer, there_and_back)
{
    for (int threads = 1; threads <= 4; threads++)
        for (ptrdiff_t planes = 0; planes <= PLANES; planes += planes < 2 ? 1 : 7)
            for (size_t rows = 1; rows <= PLANES * ROWS; rows += rows < 8 ? 1 : 13)
                expect_same(planes, rows, threads);
}
