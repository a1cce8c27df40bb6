#include "fake_device.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"

struct vf_cuda_api cuda;
struct vf_nvrtc_api nvrtc;

void open_fake_device(void)
{
    struct vf_error error;
    char name[64];
    CUdevice device;
    CUcontext context;
    cr_assert_eq(vf_cuda_api_open(&cuda, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_nvrtc_api_open(&nvrtc, &error), VF_OK, "%s", error.text);
    /* Tests that are about these set them. */
    unsetenv("FAKE_CUDA_ORDER");
    unsetenv("FAKE_CUDA_LATE");
    WORKS(cuInit(0));
    WORKS(cuDeviceGet(&device, 0));
    WORKS(cuDeviceGetName(name, sizeof name, device));
    if (strcmp(name, "Fake GPU") != 0)
        cr_skip_test("a real GPU");
    WORKS(cuDevicePrimaryCtxRetain(&context, device));
    WORKS(cuCtxSetCurrent(context));
}

void close_fake_device(void)
{
    cuda.cuDevicePrimaryCtxRelease(0);
}

CUfunction load_kernel(const char *text, CUmodule *module)
{
    void *code;
    size_t bytes;
    struct vf_error error;
    CUfunction function;
    cr_assert_eq(vf_nvrtc_compile(&nvrtc, text, "test.cu", NULL, 0, "sm_90", &code, &bytes, &error), VF_OK,
                 "%s", error.text);
    WORKS(cuModuleLoadData(module, code));
    vf_free(code);
    WORKS(cuModuleGetFunction(&function, *module, "vf_kernel"));
    return function;
}

void run_kernel(const char *text, unsigned int blocks, unsigned int x, unsigned int y, unsigned int shared,
                float *out, int n)
{
    float in[1000];
    CUmodule module;
    CUdeviceptr from, to;
    const CUfunction function = load_kernel(text, &module);
    const size_t bytes = (size_t)n * sizeof *out;
    for (int i = 0; i < n; i++)
        in[i] = (float)i;
    WORKS(cuMemAlloc(&from, bytes));
    WORKS(cuMemAlloc(&to, bytes));
    WORKS(cuMemcpyHtoDAsync(from, in, bytes, NULL));
    struct args args = {(void *)(uintptr_t)from, (void *)(uintptr_t)to, n};
    WORKS(cuLaunchKernel(function, blocks, 1, 1, x, y, 1, shared, NULL, (void *[]){&args}, NULL));
    WORKS(cuMemcpyDtoHAsync(out, to, bytes, NULL));
    WORKS(cuStreamSynchronize(NULL));
    WORKS(cuMemFree(from));
    WORKS(cuMemFree(to));
    WORKS(cuModuleUnload(module));
}

int status_of(void (*body)(void), char said[4096])
{
    int ends[2], status;
    size_t length = 0;
    cr_assert_eq(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + length, 4095 - length)) > 0;)
        length += (size_t)got;
    said[length] = '\0';
    close(ends[0]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

void expect_end(void (*body)(void), const char *with)
{
    char said[4096];
    const int status = status_of(body, said);
    cr_expect(!WIFEXITED(status) || WEXITSTATUS(status) != 0, "it went on");
    cr_expect(strstr(said, with), "\"%s\" is not in:\n%s", with, said);
}
