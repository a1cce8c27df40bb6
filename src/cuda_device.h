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

/* Kernels for these devices wait by themselves for the kernel before them in their stream
 * (vf_wait_for_earlier_kernels in kernels/device_words.h), and are started while that one ends. */
#define VF_CUDA_WAITING_CAPABILITY 90

/* As many of a machine's devices are looked at. */
enum { VF_MOST_DEVICES = 64 };

/* How many launches' kernels are remembered: enough for the plans of a batch of files. */
enum { VF_REMEMBERED_LAUNCHES = 256 };

/* What using the GPU costs beside its kernels, which `--backend auto` weighs against the CPU's time. */
struct vf_cuda_costs {
    double driver_init, context; /* seconds, once a process: to load the driver, to make a context */
    /* Bytes/s between host and device: from pinned memory, and from other memory through pinned buffers. */
    double pinned, staged;
    /* Seconds: to load the compiler, and of one processor to compile a kernel, for the kernel and for each
     * operation of its code (vf_gpu_length). */
    double compiler, kernel, operation;
};

/* As measured on an H200 with an Intel Xeon host. */
extern const struct vf_cuda_costs vf_cuda_costs;

/* A kernel on the device, and what it needs as it was compiled. */
struct vf_cuda_kernel {
    CUfunction function;
    int registers;     /* of a thread */
    int local_bytes;   /* of a thread; includes spilled registers */
    int shared_bytes;  /* of a block, static */
    int block_threads; /* the most that a block may have */
    bool waits;        /* VF_CUDA_WAITING_CAPABILITY */
};

struct vf_cuda_grid {
    unsigned blocks[3], threads[3]; /* threads: of a block */
    size_t shared;                  /* bytes of dynamic shared memory of a block */
};

/* What a plan's launch became: if the plan's kernel did not compile well, another one. */
struct vf_cuda_made {
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    struct vf_cuda_kernel compiled;
    size_t shared; /* bytes of dynamic shared memory of a block */
    int resident;  /* if the grid is virtual (vf_kernel_config): blocks on a multiprocessor */
};

/* A launch that was made before, and from what. Without this its kernel would be found by its text, and to
 * write and hash that takes 0.6 million instructions. */
struct vf_cuda_remembered {
    unsigned long plan; /* the plan's number */
    int launch;         /* which of the plan's launches; it asked for: */
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config config;
    struct vf_kernel_case c; /* its grid and types; flow is NULL */
    struct vf_cuda_made made;
};

struct vf_plan;

/* A block of device memory that was taken from the driver: cuda_memory.h. */
struct vf_cuda_block {
    CUdeviceptr address;
    size_t bytes;
    bool used; /* else it is kept for the next one who asks for as much */
};

/* The plan that is about to run. Those of its kernels that no cache has are compiled together, by several
 * processes, when the first of them is asked for. */
struct vf_cuda_coming {
    const struct vf_plan *plan; /* borrowed; NULL: none */
    size_t bytes;               /* memory that the compilers may take in all */
};

/* Host memory that transfers go through: cuda_memory.h. */
struct vf_cuda_host {
    void *data; /* owned */
    size_t bytes;
    bool pinned;
};

/* A run that was begun and not yet waited for: cuda_run.h. */
struct vf_cuda_put_off {
    CUevent mark[4]; /* owned, the same as vf_cuda_sweep's; NULL: there is no such run */
    /* How many voxels are done when it is, and who is told so. */
    void (*progress)(void *context, size_t voxels);
    void *progress_context;
    size_t voxels;
};

struct vf_cuda {
    struct vf_cuda_api api;
    int driver_version; /* 13000 for CUDA 13.0 */
    /* Of the devices to choose from: bytes/s, or below 0 for one that was tried. */
    int device_count;
    double rate[VF_MOST_DEVICES];
    int ordinal;
    CUdevice device;
    CUcontext context; /* the device's primary one; NULL before it is started */
    struct vf_gpu gpu;
    char arch[16]; /* "sm_90" */
    struct vf_cache cache;
    struct vf_tuning tuning;           /* gpu.tuning points here */
    struct vf_precompiled precompiled; /* so does gpu.precompiled, if there is no compiler */
    struct vf_cache_key key;           /* the beginning that the keys of all kernels share */
    pthread_mutex_t lock;              /* for what follows */
    struct vf_nvrtc_api nvrtc;
    bool has_nvrtc; /* nvrtc is open: since the first kernel that had to be compiled */
    struct vf_cuda_coming coming;
    struct vf_cuda_remembered remembered[VF_REMEMBERED_LAUNCHES];
    int remembered_count; /* all that ever were; when the table is full the newest replaces the oldest */
    int recalled_count;   /* launches whose kernels were remembered; for tests */
    struct vf_cuda_loaded *loaded; /* owned: kernels on the device */
    int loaded_count;
    size_t loaded_room;
    struct vf_cuda_refused *refused; /* owned: texts that the compiler did not take */
    int refused_text_count;
    size_t refused_room;
    bool compiler_crashes; /* it did so in a process of its own */
    int compiled_count;    /* kernels that no cache had; for tests */
    int unkept_count;      /* how many of them the cache did not take */
    int refused_count;     /* texts that the compiler refused, which is a fault of the text; for tests */
    int replaced_count;    /* launches of other kernels than the plan's, which did not compile well */
    char replaced[512];    /* the last one of these, in words */
    struct vf_cuda_block *block; /* owned */
    int block_count;
    size_t block_room;
    bool frees_at_once; /* for tests: memory that is given back is freed, so that nobody finds there what
                           the last user left */
    struct vf_cuda_host host;
    CUstream stream; /* on which runs follow one another; NULL before the first */
    struct vf_cuda_put_off put_off;
    double seconds[3]; /* uploads, kernels, downloads so far; only the main thread counts */
    bool strict;  /* --backend cuda: if the device fails, that is an error, and the CPU does not take over */
    bool is_full; /* a job's arrays were on the device, and what else it needs did not fit beside them */
    bool failed;  /* the CPU had to take over for it in this file; `failure` says why */
    struct vf_error failure;
};

/* What a device offers. Needs no context. */
enum vf_status vf_cuda_describe(const struct vf_cuda_api *api, CUdevice device, struct vf_gpu *gpu,
                                struct vf_error *error);

/* Starts the driver and describes the device of the greatest memory bandwidth, which is enough to plan for
 * it: the device itself is not opened. VF_FAILED where there is none to use, VF_DEVICE where there is one
 * that fails; the message says why. */
enum vf_status vf_cuda_find(struct vf_cuda **cuda, struct vf_error *error);

/* Opens the device, unless that is done; if it does not open, the next one that does, and ordinal and all
 * else then are that one's. Afterwards its context is the calling thread's. VF_DEVICE where none opens. */
enum vf_status vf_cuda_start(struct vf_cuda *cuda, struct vf_error *error);

/* Both. */
enum vf_status vf_cuda_open(struct vf_cuda **cuda, struct vf_error *error);

/* Notes that the CPU takes over, and why it did so first. */
void vf_cuda_give_up(struct vf_cuda *cuda, const struct vf_error *why);

/* Whether a device that has failed will fail at everything. */
bool vf_cuda_is_lost(const struct vf_cuda *cuda);

/* Kernels of this device are unloaded. `cuda` may be NULL. */
void vf_cuda_close(struct vf_cuda *cuda);

/* Makes the device's context the calling thread's. Every thread but the one that opened it does this before
 * it calls the driver. */
enum vf_status vf_cuda_enter(const struct vf_cuda *cuda, struct vf_error *error);

/* Compiles `text`, whose key is `key`, for the device. *cubin is machine code, to be freed with vf_free. The
 * cache is not asked for it, but if it knows that this compiler refused the text, that is VF_DEVICE with the
 * compiler's message. */
enum vf_status vf_cuda_compile(const struct vf_cuda *cuda, const struct vf_nvrtc_api *nvrtc,
                               const struct vf_cache_key *key, const char *text, void **cubin, size_t *bytes,
                               struct vf_error *error);

/* The function vf_kernel of `text`, which may include the texts that the program carries (nvrtc.h). It was
 * loaded before, or comes from the cache, or is compiled now, or, if there is no compiler, came with the
 * program. It lasts as long as the device is open. Any thread that has entered may call this; one compiles at
 * a time. */
enum vf_status vf_cuda_kernel(struct vf_cuda *cuda, const char *text, struct vf_cuda_kernel *kernel,
                              struct vf_error *error);

/* Starts a kernel whose first statement is vf_wait_for_earlier_kernels(). `args` is its one argument, which
 * is copied. VF_DEVICE on failure. */
enum vf_status vf_cuda_kernel_start(const struct vf_cuda_api *api, const struct vf_cuda_kernel *kernel,
                                    const struct vf_cuda_grid *grid, CUstream stream, void *args,
                                    struct vf_error *error);

#endif
