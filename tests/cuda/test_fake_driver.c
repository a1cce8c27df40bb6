/* The stand-in's driver: what it refuses, as a real one does, and how it is made to fail. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_device.h"

enum { ILLEGAL_ADDRESS = 700 };

TestSuite(fake_driver, .init = open_fake_device, .fini = close_fake_device);

Test(fake_driver, memory_ends)
{
    CUdeviceptr first, second;
    size_t left, total;
    setenv("FAKE_CUDA_MEMORY", "1000", 1);
    WORKS(cuMemAlloc(&first, 600));
    cr_expect_eq(cuda.cuMemAlloc(&second, 401), CUDA_ERROR_OUT_OF_MEMORY);
    WORKS(cuMemGetInfo(&left, &total));
    cr_expect(left == 400 && total == 1000);
    WORKS(cuMemFree(first));
    WORKS(cuMemAlloc(&second, 1000));
    WORKS(cuMemFree(second));
    cr_expect_eq(cuda.cuMemFree(second), CUDA_ERROR_INVALID_VALUE, "twice");
}

Test(fake_driver, copies_stay_in_an_allocation)
{
    CUdeviceptr memory;
    char host[100] = {0};
    WORKS(cuMemAlloc(&memory, 100));
    WORKS(cuMemsetD8Async(memory, 7, 100, NULL));
    WORKS(cuMemcpyHtoDAsync(memory + 90, host, 10, NULL));
    cr_expect_eq(cuda.cuMemcpyHtoDAsync(memory + 91, host, 10, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuMemcpyDtoHAsync(host, memory - 1, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuMemsetD8Async(memory + 1, 0, 100, NULL), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory,
                          .srcXInBytes = 5,
                          .srcY = 8,
                          .srcPitch = 10,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = host,
                          .dstPitch = 6,
                          .WidthInBytes = 5,
                          .Height = 2};
    WORKS(cuMemcpy2DAsync(&copy, NULL));
    for (int i = 0; i < 100; i++)
        cr_expect_eq(host[i], i < 5 ? 7 : 0, "%d", i);
    copy.Height = 3;
    cr_expect_eq(cuda.cuMemcpy2DAsync(&copy, NULL), CUDA_ERROR_INVALID_VALUE, "beyond the source");
    copy.Height = 2;
    copy.dstPitch = 4;
    cr_expect_eq(cuda.cuMemcpy2DAsync(&copy, NULL), CUDA_ERROR_INVALID_VALUE, "rows overlap");
    WORKS(cuMemsetD2D8Async(memory + 8, 10, 9, 2, 10, NULL));
    cr_expect_eq(cuda.cuMemsetD2D8Async(memory + 8, 10, 9, 3, 10, NULL), CUDA_ERROR_INVALID_VALUE);
    WORKS(cuMemcpyDtoHAsync(host, memory + 84, 16, NULL));
    cr_expect(memcmp(host, "\7\7\7\7\11\11\0\0\0\0\0\0\0\0\11\11", 16) == 0);
    WORKS(cuMemFree(memory));
}

static CUresult launch(CUfunction function, unsigned int grid_y, unsigned int block, unsigned int shared)
{
    struct args args = {0};
    return cuda.cuLaunchKernel(function, 1, grid_y, 1, block, 1, 1, shared, NULL, (void *[]){&args}, NULL);
}

Test(fake_driver, launches_are_within_limits)
{
    CUmodule module;
    const CUfunction function = load_kernel(KERNEL(""), &module);
    int blocks;
    cr_expect_eq(launch(function, 1, 1024, 48 << 10), CUDA_SUCCESS);
    cr_expect_eq(launch(function, 1, 1025, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch(function, 65536, 1, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch(function, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(launch(function, 1, 1, (48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449),
                 CUDA_ERROR_INVALID_VALUE);
    WORKS(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    cr_expect_eq(launch(function, 1, 1, 232448), CUDA_SUCCESS);
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    cr_expect_eq(blocks, 8);
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 100 << 10));
    cr_expect_eq(blocks, 2);
    setenv("FAKE_CUDA_REGISTERS", "96", 1);
    cr_expect_neq(launch(function, 1, 1024, 0), CUDA_SUCCESS, "too many registers");
    WORKS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
    cr_expect_eq(blocks, 2);
    WORKS(cuModuleUnload(module));
}

Test(fake_driver, launches_have_attributes)
{
    CUmodule module;
    const CUfunction function = load_kernel(KERNEL(""), &module);
    struct args args = {0};
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUlaunchConfig config = {1, 1, 1, 1024, 1, 1, 48 << 10, NULL, &early, 1};
    WORKS(cuLaunchKernelEx(&config, function, (void *[]){&args}, NULL));
    config.blockDimX = 1025;
    cr_expect_eq(cuda.cuLaunchKernelEx(&config, function, (void *[]){&args}, NULL), CUDA_ERROR_INVALID_VALUE);
    config.blockDimX = 1;
    early.id++;
    cr_expect_eq(cuda.cuLaunchKernelEx(&config, function, (void *[]){&args}, NULL), CUDA_ERROR_INVALID_VALUE);
    WORKS(cuModuleUnload(module));
}

Test(fake_driver, handles_are_looked_at)
{
    CUmodule module;
    CUstream stream;
    CUevent event[2];
    float milliseconds;
    cr_expect_eq(
        cuda.cuModuleLoadData(&module, "no machine code, but long enough to be looked at as if it were"),
        CUDA_ERROR_INVALID_IMAGE);
    WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        WORKS(cuEventCreate(&event[i], CU_EVENT_DEFAULT));
    WORKS(cuEventRecord(event[0], stream));
    cr_expect_neq(cuda.cuEventElapsedTime(&milliseconds, event[0], event[1]), CUDA_SUCCESS, "not recorded");
    usleep(2000);
    WORKS(cuEventRecord(event[1], stream));
    WORKS(cuEventElapsedTime(&milliseconds, event[0], event[1]));
    cr_expect(milliseconds >= 2);
    for (int i = 0; i < 2; i++)
        WORKS(cuEventDestroy(event[i]));
    WORKS(cuStreamDestroy(stream));
    cr_expect_neq(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS, "destroyed");
    WORKS(cuCtxSetCurrent(NULL));
    cr_expect_neq(cuda.cuCtxSynchronize(), CUDA_SUCCESS, "no context");
}

/* Pinned bytes go to the device in one stream and come back in another. Gives what has come back after each
 * of the waits. */
static void there_and_back(unsigned char seen[3])
{
    CUstream stream[2];
    CUevent event;
    CUdeviceptr memory;
    void *pinned;
    WORKS(cuMemHostAlloc(&pinned, 2, 0));
    WORKS(cuMemAlloc(&memory, 1));
    WORKS(cuEventCreate(&event, CU_EVENT_DEFAULT));
    for (int i = 0; i < 2; i++)
        WORKS(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
    unsigned char *const bytes = pinned;
    bytes[0] = 1;
    WORKS(cuMemcpyHtoDAsync(memory, bytes, 1, stream[0]));
    WORKS(cuEventRecord(event, stream[0]));
    bytes[0] = 2;
    WORKS(cuMemcpyDtoHAsync(bytes + 1, memory, 1, stream[1]));
    seen[0] = bytes[1];
    WORKS(cuStreamSynchronize(stream[1]));
    seen[1] = bytes[1];
    WORKS(cuEventSynchronize(event));
    WORKS(cuMemcpyDtoHAsync(bytes + 1, memory, 1, NULL));
    seen[2] = bytes[1];
    for (int i = 0; i < 2; i++)
        WORKS(cuStreamDestroy(stream[i]));
    WORKS(cuEventDestroy(event));
    WORKS(cuMemFree(memory));
    WORKS(cuMemFreeHost(pinned));
}

/* What was not waited for shows when work is done as late as may be. */
Test(fake_driver, late_work_shows_missing_waits)
{
    unsigned char seen[3];
    there_and_back(seen);
    cr_expect(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
    setenv("FAKE_CUDA_LATE", "1", 1);
    there_and_back(seen);
    cr_expect_eq(seen[0], 0xff, "no one waited");
    cr_expect_eq(seen[1], 0xff, "the other stream was not waited for");
    cr_expect_eq(seen[2], 2, "the source was overwritten before the copy");
}

Test(fake_driver, devices_are_as_asked_for)
{
    int count, value;
    CUdevice device;
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    setenv("FAKE_CUDA_CAPABILITY", "75", 1);
    setenv("FAKE_CUDA_ATTRIBUTES", "16=4,97=65536", 1);
    WORKS(cuDeviceGetCount(&count));
    cr_expect_eq(count, 2);
    WORKS(cuDeviceGet(&device, 1));
    cr_expect_neq(cuda.cuDeviceGet(&device, 2), CUDA_SUCCESS);
    static const int attributes[][2] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
                                        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 5},
                                        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
                                        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 65536},
                                        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32}};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        WORKS(cuDeviceGetAttribute(&value, attributes[i][0], 1));
        cr_expect_eq(value, attributes[i][1]);
    }
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    cr_expect_eq(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE);
    unsetenv("FAKE_CUDA_DEVICES");
}

static void leak(void)
{
    CUdeviceptr memory;
    CUstream stream;
    cuda.cuMemAlloc(&memory, 1234);
    cuda.cuStreamCreate(&stream, 0);
}

Test(fake_driver, what_is_not_freed_is_reported)
{
    char said[4096];
    setenv("FAKE_CUDA_STRICT", "1", 1);
    expect_end(leak, "1 allocations of device memory, 1234 bytes, were not freed");
    expect_end(leak, "1 streams were not freed");
    setenv("FAKE_CUDA_STRICT", "0", 1);
    status_of(leak, said);
    cr_expect(strstr(said, "1234 bytes"));
    cr_expect(strstr(said, "the context of device 0 was not released"));
}

/* ---- failing calls ---- */

/* The number of the first call that failed, as exit status; 0: none did. */
static void call_in_turn(void)
{
    CUdeviceptr memory = 0;
    const char *text;
    nvrtcProgram program = NULL;
    int failed = 0;
    failed = failed == 0 && cuda.cuMemAlloc(&memory, 4) != CUDA_SUCCESS ? 1 : failed;
    cuda.cuGetErrorString(CUDA_SUCCESS, &text);
    failed = failed == 0 && cuda.cuCtxSynchronize() != CUDA_SUCCESS ? 2 : failed;
    failed = failed == 0 && nvrtc.nvrtcCreateProgram(&program, "", "", 0, NULL, NULL) != NVRTC_SUCCESS
                 ? 3
                 : failed;
    nvrtc.nvrtcDestroyProgram(&program);
    failed = failed == 0 && cuda.cuMemsetD8Async(memory, 0, 4, NULL) != CUDA_SUCCESS ? 4 : failed;
    cuda.cuMemFree(memory);
    _exit(failed);
}

Test(fake_driver, each_call_fails_in_turn)
{
    char said[4096], number[16], log[] = "/tmp/test-fake-cuda-XXXXXX";
    close(mkstemp(log));
    setenv("FAKE_CUDA_LOG", log, 1);
    cr_expect_eq(status_of(call_in_turn, said), 0);
    unsetenv("FAKE_CUDA_LOG");
    FILE *const file = fopen(log, "r");
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    unlink(log);
    int first;
    cr_assert_eq(sscanf(said, "%d", &first), 1, "%s", said);
    char expected[512];
    snprintf(expected, sizeof expected,
             "%d cuMemAlloc\n- cuGetErrorString\n%d cuCtxSynchronize\n%d nvrtcCreateProgram\n"
             "- nvrtcDestroyProgram\n%d cuMemsetD8Async\n- cuMemFree\n",
             first, first + 1, first + 2, first + 3);
    cr_expect_str_eq(said, expected);
    for (int i = 0; i < 4; i++) {
        snprintf(number, sizeof number, "%d", first + i);
        setenv("FAKE_CUDA_FAIL", number, 1);
        const int status = status_of(call_in_turn, said);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == i + 1, "%d: %x", i, (unsigned int)status);
    }
}

/* The next call, which is the fifth. */
Test(fake_driver, a_broken_device_stays_broken)
{
    CUdeviceptr memory, other;
    WORKS(cuMemAlloc(&memory, 4));
    char log[] = "/tmp/test-fake-cuda-XXXXXX", line[64];
    close(mkstemp(log));
    setenv("FAKE_CUDA_LOG", log, 1);
    WORKS(cuCtxSynchronize());
    FILE *const file = fopen(log, "r");
    cr_assert(fgets(line, sizeof line, file));
    fclose(file);
    unlink(log);
    unsetenv("FAKE_CUDA_LOG");
    snprintf(line, sizeof line, "%d", atoi(line) + 1);
    setenv("FAKE_CUDA_FAIL", line, 1);
    cr_expect_eq(cuda.cuMemsetD8Async(memory, 0, 4, NULL), ILLEGAL_ADDRESS);
    cr_expect_eq(cuda.cuMemAlloc(&other, 4), ILLEGAL_ADDRESS);
    cr_expect_eq(cuda.cuStreamSynchronize(NULL), ILLEGAL_ADDRESS);
    WORKS(cuMemFree(memory));
}
