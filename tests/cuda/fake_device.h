/* What the tests of the stand-in for a GPU share: a device, a kernel's run, a process that ends badly. */
#ifndef TESTS_CUDA_FAKE_DEVICE_H
#define TESTS_CUDA_FAKE_DEVICE_H

#include "nvrtc.h"

/* Opened before each test of a suite that says `.init = open_fake_device, .fini = close_fake_device`. On a
 * real GPU they are skipped. */
extern struct vf_cuda_api cuda;
extern struct vf_nvrtc_api nvrtc;
void open_fake_device(void);
void close_fake_device(void);

/* What every kernel of these tests is given. */
struct args {
    const void *in;
    void *out;
    int n;
};

#define ARGS                                                                 \
    "#ifdef VF_ON_CPU\n"                                                     \
    "#define VF_SHARED_MEMORY(name) unsigned char *name = vf_cpu_shared()\n" \
    "#endif\n"                                                               \
    "struct args { const float *in; float *out; int n; };\n"
#define KERNEL(body)                                                                                         \
    ARGS "extern \"C\" __global__ void vf_kernel(const __grid_constant__ args a) {" body "}\nVF_ENTRY(args)" \
         "\n"

#define WORKS(call) cr_assert_eq(cuda.call, CUDA_SUCCESS, "%s", #call)

/* The kernel of a text; unload the module. */
CUfunction load_kernel(const char *text, CUmodule *module);

/* Floats 0, 1, 2 ... go in; out has n <= 1000 of them. Blocks of (x, y) threads along x. */
void run_kernel(const char *text, unsigned int blocks, unsigned int x, unsigned int y, unsigned int shared,
                float *out, int n);

/* Runs `body` in a process of its own and gives its status; `said` is what it wrote to stderr. */
int status_of(void (*body)(void), char said[4096]);

/* That it fails and says so. */
void expect_end(void (*body)(void), const char *with);

#endif
