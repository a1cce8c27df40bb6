/* A CUDA device, opened, and kernels made for it from their texts. */
#ifndef VF_CUDA_DEVICE_H
#define VF_CUDA_DEVICE_H

#include <pthread.h>

#include "cubin_cache.h"
#include "cuda_driver.h"
#include "kernels/gpu.h"
#include "precompiled.h"
#include "tuning.h"

/* Devices below this compute capability lack what the kernels use (__grid_constant__). */
#define VF_CUDA_LEAST_CAPABILITY 70

/* Launches whose kernels are remembered: those of a batch's plans. */
enum { VF_REMEMBERED_LAUNCHES = 256 };

/* What `--backend auto` weighs against the CPU's time: seconds, and bytes/s between host and device. */
struct vf_cuda_costs {
    double driver_init;
    double context;
    double pinned, staged; /* staged: from pageable memory through pinned buffers, by threads */
    /* To load the compiler, and of a processor for each kernel and for each operation of its code
     * (vf_gpu_length). */
    double compiler, kernel, operation;
};

/* As measured on an H200 with an Intel Xeon host. */
extern const struct vf_cuda_costs vf_cuda_costs;

/* A kernel on the device, with what the compiler made it need. */
struct vf_cuda_kernel {
    CUfunction function;
    int registers;     /* of a thread */
    int local_bytes;   /* of a thread: spilled registers among them */
    int shared_bytes;  /* of a block, static */
    int block_threads; /* of a block, at most */
};

/* What a plan's launch became. */
struct vf_cuda_made {
    const struct vf_gpu_scheme *scheme; /* these may be others than the plan's, which did not compile well */
    struct vf_kernel_config config;
    struct vf_cuda_kernel compiled;
    size_t shared;
    int resident; /* blocks of a virtual grid on a multiprocessor */
};

/* A launch that was made before: to find a kernel by its text, which is written and hashed, takes 0.6 million
 * instructions. */
struct vf_cuda_remembered {
    unsigned long plan; /* its number */
    int launch;         /* of the plan's, which asked for: */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    struct vf_kernel_case c; /* its grid and types; flow is NULL */
    struct vf_cuda_made made;
};

struct vf_plan;

/* Device memory that was taken, and host memory that transfers go through: cuda_memory.h. */
struct vf_cuda_block {
    CUdeviceptr address;
    size_t bytes;
    bool used;
};

/* What is about to run: the kernels that it lacks are compiled together when the first is asked for. */
struct vf_cuda_coming {
    const struct vf_plan *plan; /* borrowed; NULL: nothing */
    size_t bytes;               /* of memory that compilers may take */
};

struct vf_cuda_host {
    void *data; /* owned */
    size_t bytes;
    bool pinned;
};

/* A run that is on its way and was not waited for: cuda_run.h. */
struct vf_cuda_put_off {
    CUevent mark[4]; /* owned, as vf_cuda_sweep has them; NULL: there is none */
    void (*progress)(void *context, size_t voxels);
    void *progress_context;
    size_t voxels;
};

struct vf_cuda {
    struct vf_cuda_api api;
    int driver_version; /* 13000 for CUDA 13.0 */
    int ordinal;
    CUdevice device;
    CUcontext context; /* the device's primary one; NULL before it is made */
    struct vf_gpu gpu;
    char arch[16]; /* "sm_90" */
    struct vf_cache cache;
    struct vf_tuning tuning;           /* gpu.tuning */
    struct vf_precompiled precompiled; /* gpu.precompiled, where nothing can be compiled */
    struct vf_cache_key key;           /* the beginning of every kernel's key */
    pthread_mutex_t lock;              /* for what follows */
    struct vf_nvrtc_api nvrtc;
    bool has_nvrtc; /* opened when the first kernel must be compiled */
    struct vf_cuda_coming coming;
    struct vf_cuda_remembered remembered[VF_REMEMBERED_LAUNCHES];
    int remembered_count; /* ever: the newest takes the oldest one's place */
    int recalled_count;   /* launches whose kernels were remembered */
    struct vf_cuda_loaded *loaded;
    int loaded_count;
    size_t loaded_room;
    int compiled_count; /* kernels that no cache had */
    int unkept_count;   /* of them, those that the cache did not take */
    int refused_count;  /* texts that the compiler refused: a fault of theirs, others take their place */
    int replaced_count; /* launches of other kernels than the plan's, which did not compile well */
    char replaced[512]; /* the last of them, in words */
    struct vf_cuda_block *block; /* owned */
    int block_count;
    size_t block_room;
    bool frees_at_once; /* memory that is given back, so that who takes it next finds nothing of what was
                           there */
    struct vf_cuda_host host;
    CUstream stream; /* of runs, one after another; NULL before the first */
    struct vf_cuda_put_off put_off;
    double seconds[3]; /* uploads, kernels, downloads so far; the main thread's */
    bool strict;       /* --backend cuda: what the device fails at is an error, the CPU does not take over */
    bool is_full;      /* what a job needs beside the fields that it held did not fit its memory */
    bool failed;       /* the CPU took over for it once; `failure` says why */
    struct vf_error failure;
};

/* What a device offers; driver calls only, no context. */
enum vf_status vf_cuda_describe(const struct vf_cuda_api *api, CUdevice device, struct vf_gpu *gpu,
                                struct vf_error *error);

/* Open device `ordinal`, or with -1 the one of the greatest bandwidth that can be used. The calling thread's
 * context is the device's afterwards. The message says why there is none. */
enum vf_status vf_cuda_open(struct vf_cuda **cuda, int ordinal, struct vf_error *error);

/* Kernels of this device end here. NULL is nothing. */
void vf_cuda_close(struct vf_cuda *cuda);

/* Every other thread that calls the driver says first which device it means. */
enum vf_status vf_cuda_enter(const struct vf_cuda *cuda, struct vf_error *error);

/* Compiles `text`, whose key is `key`, for the device: *cubin is freed with vf_free. The cache is not asked
 * for machine code, but remembers texts that this compiler refused: VF_DEVICE, with its message. */
enum vf_status vf_cuda_compile(const struct vf_cuda *cuda, const struct vf_nvrtc_api *nvrtc,
                               const struct vf_cache_key *key, const char *text, void **cubin, size_t *bytes,
                               struct vf_error *error);

/* The function vf_kernel of `text`, which may include the texts that the program carries (nvrtc.h): loaded
 * before, or from the cache, or compiled now, or, where there is no compiler, one that came with the program.
 * It lasts as long as the device is open. Any thread that has entered may call; one compiles at a time. */
enum vf_status vf_cuda_kernel(struct vf_cuda *cuda, const char *text, struct vf_cuda_kernel *kernel,
                              struct vf_error *error);

#endif
