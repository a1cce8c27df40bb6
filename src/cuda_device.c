#include "cuda_device.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "compile_ahead.h"
#include "cuda_memory.h"
#include "nvrtc.h"

struct vf_cuda_loaded {
    uint8_t digest[VF_SHA256_BYTES]; /* of its key */
    CUmodule module;
    struct vf_cuda_kernel kernel;
};

/* A text that the compiler did not take. */
struct vf_cuda_refused {
    uint8_t digest[VF_SHA256_BYTES]; /* of its key */
    enum vf_status status;
    struct vf_error why;
};

const struct vf_cuda_costs vf_cuda_costs = {.driver_init = 0.1,
                                            .context = 0.2,
                                            .pinned = 54e9,
                                            .staged = 30e9,
                                            .compiler = 0.5,
                                            .kernel = 0.2,
                                            .operation = 5e-4};

/* ---- what a device offers ---- */

/* Copies that were measured, in bytes/s; the names are the beginnings of the driver's. */
static const struct {
    const char *name;
    double bandwidth;
} measured[] = {{"NVIDIA H200", 4.19e12}};

/* Of the memory bus' rate, what a copy reaches; and what is taken where the driver tells no rate. */
#define COPY_FRACTION 0.88
#define UNKNOWN_BANDWIDTH 1e11

static double copy_bandwidth(const char *name, double clock_khz, double bus_bits)
{
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        if (strncmp(name, measured[i].name, strlen(measured[i].name)) == 0)
            return measured[i].bandwidth;
    if (clock_khz <= 0 || bus_bits <= 0)
        return UNKNOWN_BANDWIDTH;
    return COPY_FRACTION * 2 * 1e3 * clock_khz * bus_bits / 8; /* two transfers a clock */
}

enum vf_status vf_cuda_describe(const struct vf_cuda_api *api, CUdevice device, struct vf_gpu *gpu,
                                struct vf_error *error)
{
    enum vf_status status;
    int major, minor, block_shared, sm_shared, l2, clock, memory_clock, bus, double_ratio;
    const struct {
        int attribute, *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &gpu->multiprocessors},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &gpu->warp},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &gpu->block_threads},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &gpu->sm_threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &gpu->sm_blocks},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &gpu->sm_registers},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &block_shared},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &sm_shared},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &clock},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &memory_clock},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &bus},
        {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, &double_ratio},
    };
    memset(gpu, 0, sizeof *gpu);
    VF_TRY(vf_cuda_check(api, api->cuDeviceGetName(gpu->name, sizeof gpu->name, device),
                         "reading the device's name", error));
    VF_TRY(vf_cuda_check(api, api->cuDeviceTotalMem(&gpu->memory, device), "reading the device's memory",
                         error));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        VF_TRY(vf_cuda_check(api, api->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, device),
                             "reading the device's limits", error));
    gpu->free_memory = gpu->memory;
    gpu->capability = 10 * major + minor;
    gpu->block_shared = (size_t)block_shared;
    gpu->sm_shared = (size_t)sm_shared;
    gpu->l2 = (size_t)l2;
    gpu->bandwidth = copy_bandwidth(gpu->name, memory_clock, bus);
    gpu->clock = 1e3 * clock;
    gpu->double_ratio = double_ratio;
out:
    return status;
}

/* ---- opening ---- */

enum vf_status vf_cuda_enter(const struct vf_cuda *cuda, struct vf_error *error)
{
    return vf_cuda_check(&cuda->api, cuda->api.cuCtxSetCurrent(cuda->context), "choosing the device", error);
}

/* What every kernel of this device is made from. The compiler's version is not among it: a kernel that is
 * kept is used without loading the compiler, which takes longer than filtering an image, and any compiler's
 * code gives the same bits. A new driver makes kernels anew, and with them come new compilers. */
static void begin_key(struct vf_cuda *cuda)
{
    char driver[16];
    snprintf(driver, sizeof driver, "%d", cuda->driver_version);
    vf_kernel_key_begin(&cuda->key, cuda->arch);
    vf_cache_key_add_text(&cuda->key, driver);
}

/* Without a compiler, plans are made of the kernels that came with the program, if any did. */
static void find_precompiled(struct vf_cuda *cuda)
{
    struct vf_precompiled *precompiled = &cuda->precompiled;
    vf_precompiled_close(precompiled); /* another device's */
    if (!vf_precompiled_open(precompiled) || cuda->gpu.capability < VF_PTX_CAPABILITY ||
        vf_nvrtc_find(&precompiled->why) == VF_OK)
        return;
    precompiled->cuda = cuda;
    cuda->gpu.precompiled = precompiled;
}

/* What is known of a device before it is opened. */
static enum vf_status take(struct vf_cuda *cuda, int ordinal, struct vf_error *error)
{
    const struct vf_cuda_api *api = &cuda->api;
    enum vf_status status;
    VF_TRY(vf_cuda_check(api, api->cuDeviceGet(&cuda->device, ordinal), "finding the device", error));
    VF_TRY(vf_cuda_describe(api, cuda->device, &cuda->gpu, error));
    if (cuda->gpu.capability < VF_CUDA_LEAST_CAPABILITY)
        return vf_fail(error, VF_FAILED, "%.100s has compute capability %d.%d, but %d.%d or higher is needed",
                       cuda->gpu.name, cuda->gpu.capability / 10, cuda->gpu.capability % 10,
                       VF_CUDA_LEAST_CAPABILITY / 10, VF_CUDA_LEAST_CAPABILITY % 10);
    cuda->ordinal = ordinal;
    snprintf(cuda->arch, sizeof cuda->arch, "sm_%d", cuda->gpu.capability);
    begin_key(cuda);
    cuda->gpu.tuning = &cuda->tuning;
    find_precompiled(cuda);
out:
    return status;
}

/* The fastest of those that were not tried and can be described. The message is that of the last; where none
 * is left it stays. */
static enum vf_status take_next(struct vf_cuda *cuda, struct vf_error *error)
{
    enum vf_status status = VF_DEVICE;
    while (status != VF_OK) {
        int best = -1;
        for (int i = 0; i < cuda->device_count; i++)
            if (cuda->rate[i] >= 0 && (best < 0 || cuda->rate[i] > cuda->rate[best]))
                best = i;
        if (best < 0)
            break;
        cuda->rate[best] = -1;
        status = take(cuda, best, error);
    }
    return status;
}

/* By their bandwidth; a device that cannot be described comes last, and will say why. */
static void rate_devices(struct vf_cuda *cuda)
{
    struct vf_gpu gpu;
    struct vf_error ignored;
    for (int i = 0; i < cuda->device_count; i++) {
        CUdevice device;
        cuda->rate[i] = 0;
        if (cuda->api.cuDeviceGet(&device, i) == CUDA_SUCCESS &&
            vf_cuda_describe(&cuda->api, device, &gpu, &ignored) == VF_OK)
            cuda->rate[i] = gpu.bandwidth;
    }
}

static enum vf_status find_device(struct vf_cuda *cuda, struct vf_error *error)
{
    const struct vf_cuda_api *api = &cuda->api;
    enum vf_status status;
    int count = 0;
    const CUresult started = api->cuInit(0);
    VF_TRY(vf_cuda_check(api, started, "the CUDA driver does not start (nvidia-smi may say more)", error));
    VF_TRY(vf_cuda_check(api, api->cuDriverGetVersion(&cuda->driver_version), "querying the driver's version",
                         error));
    VF_TRY(vf_cuda_check(api, api->cuDeviceGetCount(&count), "counting the devices", error));
    if (count == 0)
        return vf_fail(error, VF_FAILED, "the CUDA driver shows no device; CUDA_VISIBLE_DEVICES may hide it");
    cuda->device_count = count < VF_MOST_DEVICES ? count : VF_MOST_DEVICES;
    rate_devices(cuda);
    return take_next(cuda, error);
out:
    return started == CUDA_ERROR_NO_DEVICE || started == CUDA_ERROR_STUB_LIBRARY ? VF_FAILED : status;
}

enum vf_status vf_cuda_find(struct vf_cuda **found, struct vf_error *error)
{
    *found = NULL;
    struct vf_cuda *cuda = vf_alloc(1, sizeof *cuda, "CUDA device", error);
    if (cuda == NULL)
        return VF_FAILED;
    enum vf_status status;
    pthread_mutex_init(&cuda->lock, NULL);
    vf_cache_open(&cuda->cache);
    VF_TRY(vf_cuda_api_open(&cuda->api, error));
    VF_TRY(find_device(cuda, error));
    VF_TRY(vf_tuning_open(&cuda->tuning, &cuda->cache, error));
    *found = cuda;
out:
    if (status != VF_OK)
        vf_cuda_close(cuda);
    return status;
}

/* Contexts, displays and the like hold less of a device's memory than this share. */
#define USUALLY_HELD 0.125

/* What is left where others hold much: what is planned for is there then. */
static void look_at_free_memory(struct vf_cuda *cuda)
{
    size_t left, all;
    struct vf_gpu *gpu = &cuda->gpu;
    if (cuda->api.cuMemGetInfo(&left, &all) == CUDA_SUCCESS &&
        (double)left < (1 - USUALLY_HELD) * (double)gpu->memory)
        gpu->free_memory = left;
}

static enum vf_status make_context(struct vf_cuda *cuda, struct vf_error *error)
{
    const struct vf_cuda_api *api = &cuda->api;
    enum vf_status status;
    VF_TRY(vf_cuda_check(api, api->cuDevicePrimaryCtxRetain(&cuda->context, cuda->device),
                         "opening the device (nvidia-smi shows who uses it)", error));
    status = vf_cuda_enter(cuda, error);
    if (status != VF_OK) {
        api->cuDevicePrimaryCtxRelease(cuda->device);
        cuda->context = NULL;
    } else
        look_at_free_memory(cuda);
out:
    return status;
}

enum vf_status vf_cuda_start(struct vf_cuda *cuda, struct vf_error *error)
{
    if (cuda->context != NULL)
        return VF_OK;
    enum vf_status status = make_context(cuda, error);
    struct vf_error ignored;
    while (status != VF_OK && take_next(cuda, &ignored) == VF_OK)
        status = make_context(cuda, error);
    return status;
}

enum vf_status vf_cuda_open(struct vf_cuda **opened, struct vf_error *error)
{
    enum vf_status status = vf_cuda_find(opened, error);
    if (status == VF_OK)
        status = vf_cuda_start(*opened, error);
    if (status != VF_OK) {
        vf_cuda_close(*opened);
        *opened = NULL;
    }
    return status;
}

void vf_cuda_give_up(struct vf_cuda *cuda, const struct vf_error *why)
{
    if (!cuda->failed)
        cuda->failure = *why;
    cuda->failed = true;
}

bool vf_cuda_is_lost(const struct vf_cuda *cuda)
{
    return cuda->api.cuCtxSynchronize() != CUDA_SUCCESS;
}

void vf_cuda_close(struct vf_cuda *cuda)
{
    if (cuda == NULL)
        return;
    if (cuda->context != NULL) {
        cuda->api.cuCtxSetCurrent(cuda->context);
        for (int i = 0; i < cuda->loaded_count; i++)
            cuda->api.cuModuleUnload(cuda->loaded[i].module);
        vf_cuda_free_kept(cuda);
        vf_cuda_free_host(cuda);
        if (cuda->stream != NULL)
            cuda->api.cuStreamDestroy(cuda->stream);
        cuda->api.cuCtxSetCurrent(NULL);
        cuda->api.cuDevicePrimaryCtxRelease(cuda->device);
    }
    if (cuda->has_nvrtc)
        vf_nvrtc_api_close(&cuda->nvrtc);
    vf_cuda_api_close(&cuda->api);
    pthread_mutex_destroy(&cuda->lock);
    vf_tuning_free(&cuda->tuning);
    vf_precompiled_close(&cuda->precompiled);
    vf_free(cuda->loaded);
    vf_free(cuda->refused);
    vf_free(cuda->block);
    vf_free(cuda);
}

/* ---- kernels ---- */

static enum vf_status read_resources(const struct vf_cuda_api *api, struct vf_cuda_kernel *kernel,
                                     struct vf_error *error)
{
    const struct {
        int attribute, *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &kernel->registers},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &kernel->local_bytes},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &kernel->shared_bytes},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &kernel->block_threads},
    };
    enum vf_status status = VF_OK;
    for (size_t i = 0; status == VF_OK && i < sizeof wanted / sizeof *wanted; i++)
        status = vf_cuda_check(
            api, api->cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, kernel->function),
            "querying a kernel's resources", error);
    return status;
}

/* Nothing is held after a failure. */
static enum vf_status load_image(const struct vf_cuda_api *api, const void *image,
                                 struct vf_cuda_loaded *loaded, struct vf_error *error)
{
    enum vf_status status;
    loaded->module = NULL;
    loaded->kernel.waits = false;
    VF_TRY(vf_cuda_check(api, api->cuModuleLoadData(&loaded->module, image), "loading a kernel", error));
    VF_TRY(vf_cuda_check(api, api->cuModuleGetFunction(&loaded->kernel.function, loaded->module, "vf_kernel"),
                         "finding vf_kernel", error));
    VF_TRY(read_resources(api, &loaded->kernel, error));
out:
    if (status != VF_OK && loaded->module != NULL)
        api->cuModuleUnload(loaded->module);
    return status;
}

static enum vf_status load(const struct vf_cuda *cuda, const void *cubin, struct vf_cuda_loaded *loaded,
                           struct vf_error *error)
{
    const enum vf_status status = load_image(&cuda->api, cubin, loaded, error);
    loaded->kernel.waits = cuda->gpu.capability >= VF_CUDA_WAITING_CAPABILITY;
    return status;
}

/* Of the entry that says why the compiler refuses a text; another version may take it. False where the
 * compiler does not tell its version. */
static bool refusal_key(const struct vf_nvrtc_api *nvrtc, const struct vf_cache_key *key,
                        struct vf_cache_key *refusal)
{
    char by[48];
    int major, minor;
    if (nvrtc->nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
        return false;
    snprintf(by, sizeof by, "refused by NVRTC %d.%d", major, minor);
    *refusal = *key;
    vf_cache_key_add_text(refusal, by);
    return true;
}

enum vf_status vf_cuda_compile(const struct vf_cuda *cuda, const struct vf_nvrtc_api *nvrtc,
                               const struct vf_cache_key *key, const char *text, void **cubin, size_t *bytes,
                               struct vf_error *error)
{
    struct vf_cache_key refusal;
    void *why;
    const bool may_be_kept = refusal_key(nvrtc, key, &refusal);
    *cubin = NULL;
    if (may_be_kept && vf_cache_get(&cuda->cache, &refusal, &why, bytes)) {
        vf_fail(error, VF_DEVICE, "%s", (const char *)why);
        vf_free(why);
        return VF_DEVICE;
    }
    const enum vf_status status = vf_nvrtc_compile(nvrtc, text, "kernel.cu", vf_kernel_texts,
                                                   vf_kernel_text_count, cuda->arch, cubin, bytes, error);
    if (may_be_kept && status == VF_DEVICE)
        vf_cache_put(&cuda->cache, &refusal, error->text, strlen(error->text));
    return status;
}

static const struct vf_cuda_refused *find_refused(const struct vf_cuda *cuda, const uint8_t *digest)
{
    for (int i = 0; i < cuda->refused_text_count; i++)
        if (memcmp(cuda->refused[i].digest, digest, VF_SHA256_BYTES) == 0)
            return &cuda->refused[i];
    return NULL;
}

/* Of a kernel that could not be made: where the cache cannot tell, slab by slab it would be tried again. */
static void note_refused(struct vf_cuda *cuda, const uint8_t *digest, enum vf_status status,
                         const struct vf_error *why)
{
    struct vf_error ignored;
    struct vf_cuda_refused *grown = vf_grow(cuda->refused, (size_t)cuda->refused_text_count,
                                            &cuda->refused_room, sizeof *grown, "list of kernels", &ignored);
    if (grown == NULL)
        return;
    cuda->refused = grown;
    struct vf_cuda_refused *refused = &grown[cuda->refused_text_count++];
    memcpy(refused->digest, digest, VF_SHA256_BYTES);
    refused->status = status;
    refused->why = *why;
}

static enum vf_status compile(struct vf_cuda *cuda, const struct vf_cache_key *key, const char *text,
                              void **cubin, size_t *bytes, struct vf_error *error)
{
    enum vf_status status;
    if (!cuda->has_nvrtc)
        VF_TRY(vf_nvrtc_api_open(&cuda->nvrtc, error));
    cuda->has_nvrtc = true;
    if (cuda->compiler_crashes)
        return vf_fail(error, VF_DEVICE,
                       "the CUDA compiler, libnvrtc, crashed; install another version of it");
    status = vf_cuda_compile(cuda, &cuda->nvrtc, key, text, cubin, bytes, error);
    cuda->compiled_count += status == VF_OK;
    cuda->refused_count += status == VF_DEVICE;
out:
    return status;
}

/* False where the cache has none that loads. */
static bool find_kept(const struct vf_cuda *cuda, const struct vf_cache_key *key,
                      struct vf_cuda_loaded *loaded)
{
    void *cubin;
    size_t bytes;
    struct vf_error ignored;
    const bool found =
        vf_cache_get(&cuda->cache, key, &cubin, &bytes) && load(cuda, cubin, loaded, &ignored) == VF_OK;
    vf_free(cubin);
    return found;
}

static enum vf_status load_precompiled(const struct vf_cuda *cuda, const char *text,
                                       struct vf_cuda_loaded *loaded, struct vf_error *error)
{
    void *ptx;
    size_t bytes;
    if (!vf_precompiled_get(&cuda->precompiled, text, &ptx, &bytes))
        return vf_fail(error, VF_FAILED, "%s", cuda->precompiled.why.text);
    const enum vf_status status = load_image(&cuda->api, ptx, loaded, error);
    vf_free(ptx);
    return status == VF_OK ? VF_OK : vf_fail_in(error, status, "a kernel shipped with volfilter");
}

/* A driver may not take code of a compiler of a later CUDA than its own. */
static void explain_load(const struct vf_cuda *cuda, struct vf_error *error)
{
    const size_t length = strlen(error->text);
    int major, minor;
    if (cuda->nvrtc.nvrtcVersion(&major, &minor) == NVRTC_SUCCESS && major > cuda->driver_version / 1000)
        snprintf(error->text + length, sizeof error->text - length,
                 "; the compiler is from CUDA %d.%d, the driver from %d.%d: install a newer driver or an "
                 "older toolkit",
                 major, minor, cuda->driver_version / 1000, cuda->driver_version % 1000 / 10);
}

/* What does not load is not kept. */
static enum vf_status compile_and_load(struct vf_cuda *cuda, const struct vf_cache_key *key, const char *text,
                                       struct vf_cuda_loaded *loaded, struct vf_error *error)
{
    void *cubin = NULL;
    size_t bytes;
    enum vf_status status;
    VF_TRY(compile(cuda, key, text, &cubin, &bytes, error));
    status = load(cuda, cubin, loaded, error);
    if (status != VF_OK) {
        explain_load(cuda, error);
        goto out;
    }
    cuda->unkept_count += !vf_cache_put(&cuda->cache, key, cubin, bytes);
out:
    vf_free(cubin);
    return status;
}

/* Kept from another run, or else one that came with the program where there is no compiler, or else compiled.
 */
static enum vf_status make_kernel(struct vf_cuda *cuda, const struct vf_cache_key *key, const uint8_t *digest,
                                  const char *text, struct vf_cuda_loaded *loaded, struct vf_error *error)
{
    enum vf_status status;
    if (find_kept(cuda, key, loaded))
        return VF_OK;
    if (cuda->gpu.precompiled != NULL)
        return load_precompiled(cuda, text, loaded, error);
    /* Nothing is compiled for a device that is lost. */
    VF_TRY(vf_cuda_check(&cuda->api, cuda->api.cuCtxSynchronize(), "building a kernel", error));
    if (cuda->coming.plan != NULL) {
        vf_compile_coming(cuda);
        if (find_kept(cuda, key, loaded))
            return VF_OK;
    }
    const struct vf_cuda_refused *refused = find_refused(cuda, digest);
    if (refused != NULL) {
        *error = refused->why;
        return refused->status;
    }
    status = compile_and_load(cuda, key, text, loaded, error);
    if (status != VF_OK)
        note_refused(cuda, digest, status, error);
out:
    return status;
}

static const struct vf_cuda_loaded *find_loaded(const struct vf_cuda *cuda, const uint8_t *digest)
{
    for (int i = 0; i < cuda->loaded_count; i++)
        if (memcmp(cuda->loaded[i].digest, digest, VF_SHA256_BYTES) == 0)
            return &cuda->loaded[i];
    return NULL;
}

enum vf_status vf_cuda_kernel(struct vf_cuda *cuda, const char *text, struct vf_cuda_kernel *kernel,
                              struct vf_error *error)
{
    struct vf_cache_key key = cuda->key;
    uint8_t digest[VF_SHA256_BYTES];
    enum vf_status status = VF_OK;
    vf_cache_key_add_text(&key, text);
    vf_cache_key_digest(&key, digest);
    pthread_mutex_lock(&cuda->lock);
    const struct vf_cuda_loaded *loaded = find_loaded(cuda, digest);
    if (loaded == NULL) {
        struct vf_cuda_loaded *grown = vf_grow(cuda->loaded, (size_t)cuda->loaded_count, &cuda->loaded_room,
                                               sizeof *grown, "list of kernels", error);
        VF_TRY(grown != NULL ? VF_OK : VF_FAILED);
        cuda->loaded = grown;
        struct vf_cuda_loaded *made = &cuda->loaded[cuda->loaded_count];
        VF_TRY(make_kernel(cuda, &key, digest, text, made, error));
        memcpy(made->digest, digest, sizeof digest);
        cuda->loaded_count++;
        loaded = made;
    }
    *kernel = loaded->kernel;
out:
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

enum vf_status vf_cuda_kernel_start(const struct vf_cuda_api *api, const struct vf_cuda_kernel *kernel,
                                    const struct vf_cuda_grid *grid, CUstream stream, void *args,
                                    struct vf_error *error)
{
    const unsigned *const blocks = grid->blocks, *const threads = grid->threads;
    void *params[] = {args};
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    const CUlaunchConfig config = {.gridDimX = blocks[0],
                                   .gridDimY = blocks[1],
                                   .gridDimZ = blocks[2],
                                   .blockDimX = threads[0],
                                   .blockDimY = threads[1],
                                   .blockDimZ = threads[2],
                                   .sharedMemBytes = (unsigned)grid->shared,
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = 1};
    const CUresult result =
        kernel->waits && api->cuLaunchKernelEx != NULL
            ? api->cuLaunchKernelEx(&config, kernel->function, params, NULL)
            : api->cuLaunchKernel(kernel->function, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
                                  threads[2], config.sharedMemBytes, stream, params, NULL);
    return vf_cuda_check(api, result, "launching a kernel", error);
}
