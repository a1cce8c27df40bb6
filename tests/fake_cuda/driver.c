/* The CUDA driver as far as volfilter uses it, on the CPU. Memory of a device is the process's own, so that
 * AddressSanitizer sees every access; what a device leaves undefined is filled with 0xFF bytes. Work is done
 * at once, in the order of the calls. The environment (see also calls.h, grid.c and nvrtc.c):
 *   FAKE_CUDA_DEVICES=N               how many there are; 1
 *   FAKE_CUDA_CAPABILITY=90           their compute capability
 *   FAKE_CUDA_MEMORY=BYTES            of each
 *   FAKE_CUDA_ATTRIBUTES=97=49152,..  values instead of the ones in `attributes`, by the driver's numbers
 *   FAKE_CUDA_REGISTERS, FAKE_CUDA_LOCAL   what kernels are said to use
 *   FAKE_CUDA_STRICT=1                what is not freed at exit aborts; otherwise it is only reported
 *   FAKE_CUDA_KEEP=1                  leaves the loaded objects in the directory for temporary files */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "grid.h"
#include "src/cuda_driver.h"

#define DECLARE(name, exported, parameters) \
    __attribute__((visibility("default"))) CUresult exported parameters;
VF_CUDA_FUNCTIONS(DECLARE)

/* Results and attributes that volfilter has no need to know. */
enum {
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_OUT_OF_RESOURCES = 701,
    LAUNCH_FAILED = 719,
    MAX_BLOCK_DIM_X = 2,
    MAX_GRID_DIM_Y = 6,
    MAX_GRID_DIM_Z = 7,
};

enum { MOST_DEVICES = 8, ALIGNMENT = 256, POISON = 0xff, SHARED_WITHOUT_ASKING = 48 << 10 };

/* An H200's. */
static const struct {
    int attribute, value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {MAX_BLOCK_DIM_X, 1024},
    {MAX_BLOCK_DIM_X + 1, 1024},
    {MAX_BLOCK_DIM_X + 2, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {MAX_GRID_DIM_Y, 65535},
    {MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SHARED_WITHOUT_ASKING},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, FAKE_CUDA_WARP},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 60 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
};

struct device {
    int retained; /* its context exists while this is not 0 */
    size_t used;  /* bytes of memory */
};

enum kind { MEMORY, HOST_MEMORY, STREAM, EVENT, MODULE, KIND_COUNT };

/* What a caller made and must free. A module is also its only function. */
struct object {
    struct object *next;
    enum kind kind;
    int device;
    char *address; /* of memory */
    size_t bytes;
    double recorded; /* of an event, seconds; 0: not yet */
    void *library;   /* of a module */
    void (*run)(const void *argument);
    size_t argument_bytes;
    int most_shared; /* dynamic bytes that a launch may ask for */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static CUresult broken; /* the error that a kernel or a copy left the device with */
static struct device devices[MOST_DEVICES];
static struct object *objects;
static __thread struct device *current;

/* ---- every call ---- */

enum needs { NOTHING, DRIVER, CONTEXT };

struct entered {
    CUresult result;
};

static bool is_lasting(CUresult result)
{
    return (result >= ILLEGAL_ADDRESS && result != LAUNCH_OUT_OF_RESOURCES && result <= LAUNCH_FAILED);
}

static struct entered enter(const char *name, CUresult likely, enum needs needs)
{
    pthread_mutex_lock(&lock);
    const bool frees = likely == FAKE_NEVER_FAILS;
    CUresult result = fake_call(name, likely);
    if (is_lasting(result) && needs == CONTEXT)
        broken = result;
    if (result == CUDA_SUCCESS && needs != NOTHING && !initialised)
        result = NOT_INITIALIZED;
    if (result == CUDA_SUCCESS && needs == CONTEXT && (!current || current->retained == 0))
        result = INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && needs == CONTEXT && !frees)
        result = broken;
    return (struct entered){result};
}

static void leave(const struct entered *entered)
{
    (void)entered;
    pthread_mutex_unlock(&lock);
}

/* Holds the lock until the function returns, which it does at once with the result when it may not go on. */
#define ENTER(likely, needs)                                                                       \
    const struct entered entered __attribute__((cleanup(leave))) = enter(__func__, likely, needs); \
    if (entered.result != CUDA_SUCCESS)                                                            \
    return entered.result

/* ---- objects ---- */

static struct object *add_object(enum kind kind)
{
    struct object *const object = calloc(1, sizeof *object);
    if (object) {
        *object = (struct object){.next = objects, .kind = kind, .device = (int)(current - devices)};
        objects = object;
    }
    return object;
}

/* The object with that handle, if it is of the current context. */
static struct object *find(enum kind kind, const void *handle)
{
    for (struct object *o = objects; o; o = o->next)
        if (o == handle && o->kind == kind && o->device == (int)(current - devices))
            return o;
    return NULL;
}

static struct object *find_memory(enum kind kind, const void *address)
{
    for (struct object *o = objects; o; o = o->next)
        if (o->kind == kind && o->address == address)
            return o;
    return NULL;
}

static void remove_object(struct object *object)
{
    struct object **link = &objects;
    while (*link != object)
        link = &(*link)->next;
    *link = object->next;
    free(object);
}

/* The default stream always is. */
static bool is_stream(CUstream stream)
{
    return !stream || find(STREAM, stream);
}

/* Whether device memory holds all of it. */
static bool is_held(CUdeviceptr from, size_t bytes)
{
    for (const struct object *o = objects; o; o = o->next)
        if (o->kind == MEMORY && from >= (uintptr_t)o->address && bytes <= o->bytes &&
            from - (uintptr_t)o->address <= o->bytes - bytes)
            return true;
    return false;
}

static void *at(CUdeviceptr pointer)
{
    return (void *)(uintptr_t)pointer;
}

__attribute__((destructor)) static void report_what_is_left(void)
{
    static const char *const names[KIND_COUNT] = {
        "allocations of device memory", "allocations of pinned memory", "streams", "events", "modules"};
    size_t bytes = 0;
    int count[KIND_COUNT] = {0};
    for (const struct object *o = objects; o; o = o->next) {
        count[o->kind]++;
        bytes += o->bytes;
    }
    for (int kind = 0; kind < KIND_COUNT; kind++)
        if (count[kind] > 0)
            fprintf(stderr, "fake cuda: %d %s were not freed\n", count[kind], names[kind]);
    if (bytes > 0)
        fprintf(stderr, "fake cuda: %zu bytes in all\n", bytes);
    if (objects && fake_setting("FAKE_CUDA_STRICT", 0))
        abort();
}

/* ---- the driver, devices, contexts ---- */

static int device_count(void)
{
    const long long count = fake_setting("FAKE_CUDA_DEVICES", 1);
    return count < 0 ? 0 : count > MOST_DEVICES ? MOST_DEVICES : (int)count;
}

static size_t memory_of_device(void)
{
    return (size_t)fake_setting("FAKE_CUDA_MEMORY", 8ll << 30);
}

static bool attribute_of_environment(int attribute, int *value)
{
    for (const char *rest = getenv("FAKE_CUDA_ATTRIBUTES"); rest && *rest;) {
        int number, setting, length = 0;
        if (sscanf(rest, "%d=%d%n", &number, &setting, &length) != 2)
            break;
        if (number == attribute) {
            *value = setting;
            return true;
        }
        rest += length + (rest[length] == ',');
    }
    return false;
}

static bool find_attribute(int attribute, int *value)
{
    const int capability = (int)fake_setting("FAKE_CUDA_CAPABILITY", 90);
    if (attribute_of_environment(attribute, value))
        return true;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ||
        attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
        *value =
            attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : capability % 10;
        return true;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return true;
        }
    return false;
}

static unsigned int limit(int attribute)
{
    int value = 0;
    find_attribute(attribute, &value);
    return (unsigned int)value;
}

CUresult cuInit(unsigned int flags)
{
    ENTER(CUDA_ERROR_NO_DEVICE, NOTHING);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (device_count() == 0)
        return CUDA_ERROR_NO_DEVICE;
    initialised = true;
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, NOTHING);
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char **text)
{
    static const struct {
        CUresult result;
        const char *text;
    } texts[] = {
        {CUDA_SUCCESS, "no error"},
        {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
        {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
        {NOT_INITIALIZED, "initialization error"},
        {CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"},
        {INVALID_DEVICE, "invalid device ordinal"},
        {CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"},
        {INVALID_CONTEXT, "invalid device context"},
        {INVALID_HANDLE, "invalid resource handle"},
        {NOT_FOUND, "named symbol not found"},
        {CUDA_ERROR_NOT_READY, "device not ready"},
        {ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
        {LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
        {LAUNCH_FAILED, "unspecified launch failure"},
    };
    fake_call(__func__, FAKE_NEVER_FAILS);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].result == result) {
            *text = texts[i].text;
            return CUDA_SUCCESS;
        }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER(INVALID_DEVICE, DRIVER);
    *count = device_count();
    return CUDA_SUCCESS;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < device_count();
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER(INVALID_DEVICE, DRIVER);
    *device = ordinal;
    return is_device(ordinal) ? CUDA_SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    ENTER(INVALID_DEVICE, DRIVER);
    snprintf(name, (size_t)room, "Fake GPU");
    return is_device(device) ? CUDA_SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    ENTER(INVALID_DEVICE, DRIVER);
    if (!is_device(device))
        return INVALID_DEVICE;
    return find_attribute(attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER(INVALID_DEVICE, DRIVER);
    *bytes = memory_of_device();
    return is_device(device) ? CUDA_SUCCESS : INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, DRIVER);
    if (!is_device(device))
        return INVALID_DEVICE;
    devices[device].retained++;
    *context = (CUcontext)&devices[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER(FAKE_NEVER_FAILS, DRIVER);
    if (!is_device(device))
        return INVALID_DEVICE;
    if (devices[device].retained == 0)
        return INVALID_CONTEXT;
    devices[device].retained--;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER(INVALID_CONTEXT, DRIVER);
    struct device *const device = (struct device *)context;
    if (device && (device < devices || device >= devices + MOST_DEVICES || device->retained == 0))
        return INVALID_CONTEXT;
    current = device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    *total = memory_of_device();
    *free = *total - current->used;
    return CUDA_SUCCESS;
}

static CUresult allocate(enum kind kind, size_t bytes, void **address)
{
    struct object *const object = add_object(kind);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (posix_memalign(address, ALIGNMENT, bytes) != 0) {
        remove_object(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(*address, POISON, bytes);
    object->address = *address;
    object->bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, CONTEXT);
    void *address;
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > memory_of_device() - current->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = allocate(MEMORY, bytes, &address);
    if (result == CUDA_SUCCESS) {
        current->used += bytes;
        *pointer = (uintptr_t)address;
    }
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = pointer ? find_memory(MEMORY, at(pointer)) : NULL;
    if (!object)
        return pointer ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    devices[object->device].used -= object->bytes;
    free(object->address);
    remove_object(object);
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, CONTEXT);
    (void)flags;
    return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : allocate(HOST_MEMORY, bytes, pointer);
}

CUresult cuMemFreeHost(void *pointer)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = find_memory(HOST_MEMORY, pointer);
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    free(object->address);
    remove_object(object);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (!is_stream(stream))
        return INVALID_HANDLE;
    if (!is_held(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(at(to), from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (!is_stream(stream))
        return INVALID_HANDLE;
    if (!is_held(from, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(to, at(from), bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (!is_stream(stream))
        return INVALID_HANDLE;
    if (!is_held(from, bytes) || !is_held(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memmove(at(to), at(from), bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (!is_stream(stream))
        return INVALID_HANDLE;
    if (!is_held(to, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memset(at(to), value, bytes);
    return CUDA_SUCCESS;
}

/* One side of a copy of rows. */
struct rows {
    unsigned int memory;
    const void *host;
    CUdeviceptr device;
    size_t x, y, pitch;
};

/* The first byte; NULL when the rows do not fit the pitch or the memory. */
static char *first_row(const struct rows *rows, size_t width, size_t height)
{
    const size_t offset = rows->y * rows->pitch + rows->x;
    if (rows->x + width > rows->pitch)
        return NULL;
    if (rows->memory == CU_MEMORYTYPE_HOST)
        return (char *)rows->host + offset;
    if (rows->memory != CU_MEMORYTYPE_DEVICE ||
        !is_held(rows->device + offset, (height - 1) * rows->pitch + width))
        return NULL;
    return (char *)at(rows->device) + offset;
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (!is_stream(stream))
        return INVALID_HANDLE;
    if (copy->WidthInBytes == 0 || copy->Height == 0)
        return CUDA_SUCCESS;
    const struct rows from = {copy->srcMemoryType, copy->srcHost, copy->srcDevice,
                              copy->srcXInBytes,   copy->srcY,    copy->srcPitch},
                      to = {copy->dstMemoryType, copy->dstHost, copy->dstDevice,
                            copy->dstXInBytes,   copy->dstY,    copy->dstPitch};
    const char *const source = first_row(&from, copy->WidthInBytes, copy->Height);
    char *const target = first_row(&to, copy->WidthInBytes, copy->Height);
    if (!source || !target)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t y = 0; y < copy->Height; y++)
        memmove(target + y * to.pitch, source + y * from.pitch, copy->WidthInBytes);
    return CUDA_SUCCESS;
}

/* ---- streams and events ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, CONTEXT);
    (void)flags;
    struct object *const object = add_object(STREAM);
    *stream = (CUstream)object;
    return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult destroy(enum kind kind, void *handle)
{
    struct object *const object = find(kind, handle);
    if (!object)
        return INVALID_HANDLE;
    remove_object(object);
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    return destroy(STREAM, stream);
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return is_stream(stream) ? CUDA_SUCCESS : INVALID_HANDLE;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    ENTER(INVALID_HANDLE, CONTEXT);
    (void)flags;
    return is_stream(stream) && find(EVENT, event) ? CUDA_SUCCESS : INVALID_HANDLE;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, CONTEXT);
    (void)flags;
    struct object *const object = add_object(EVENT);
    *event = (CUevent)object;
    return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    return destroy(EVENT, event);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER(INVALID_HANDLE, CONTEXT);
    struct object *const object = find(EVENT, event);
    struct timespec now;
    if (!object || !is_stream(stream))
        return INVALID_HANDLE;
    clock_gettime(CLOCK_MONOTONIC, &now);
    object->recorded = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return find(EVENT, event) ? CUDA_SUCCESS : INVALID_HANDLE;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    ENTER(INVALID_HANDLE, CONTEXT);
    const struct object *const from = find(EVENT, start), *const to = find(EVENT, end);
    if (!from || !to || from->recorded == 0 || to->recorded == 0)
        return INVALID_HANDLE;
    *milliseconds = (float)(1e3 * (to->recorded - from->recorded));
    return CUDA_SUCCESS;
}

/* ---- modules and functions ---- */

/* The bytes of a shared object, which ends with its table of sections; 0: it is none. */
static size_t image_bytes(const void *image)
{
    Elf64_Ehdr header;
    if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&header, image, sizeof header);
    return header.e_type == ET_DYN ? header.e_shoff + (size_t)header.e_shentsize * header.e_shnum : 0;
}

/* From a file of its own: the loader knows objects by their files. */
static void *load(const void *image)
{
    const size_t bytes = image_bytes(image);
    const char *const directory = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/fake-cuda-XXXXXX.so", directory && *directory ? directory : "/tmp");
    const int file = bytes > 0 ? mkstemps(path, 3) : -1;
    if (file < 0)
        return NULL;
    const bool written = write(file, image, bytes) == (ssize_t)bytes;
    void *const library = close(file) == 0 && written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!getenv("FAKE_CUDA_KEEP"))
        unlink(path);
    return library;
}

/* Fills the module from the kernel's exports (machine.h). */
static bool bind_kernel(struct object *module)
{
    void *const run = dlsym(module->library, "vf_cpu_run");
    const struct fake_machine **const machine = dlsym(module->library, "vf_cpu_machine");
    const unsigned long *const bytes = dlsym(module->library, "vf_cpu_argument_size");
    if (!run || !machine || !bytes)
        return false;
    *machine = &fake_machine;
    memcpy(&module->run, &run, sizeof run);
    module->argument_bytes = *bytes;
    module->most_shared = SHARED_WITHOUT_ASKING;
    return true;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER(CUDA_ERROR_INVALID_IMAGE, CONTEXT);
    struct object *const object = add_object(MODULE);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    object->library = load(image);
    if (!object->library || !bind_kernel(object)) {
        if (object->library)
            dlclose(object->library);
        remove_object(object);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *module = (CUmodule)object;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = find(MODULE, module);
    if (!object)
        return INVALID_HANDLE;
    dlclose(object->library);
    remove_object(object);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER(NOT_FOUND, CONTEXT);
    if (!find(MODULE, module))
        return INVALID_HANDLE;
    if (strcmp(name, "vf_kernel") != 0)
        return NOT_FOUND;
    *function = (CUfunction)module;
    return CUDA_SUCCESS;
}

static int registers_of_thread(void)
{
    return (int)fake_setting("FAKE_CUDA_REGISTERS", 32);
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    const struct object *const object = find(MODULE, function);
    if (!object)
        return INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = registers_of_thread();
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)fake_setting("FAKE_CUDA_LOCAL", 0);
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = object->most_shared;
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    struct object *const object = find(MODULE, function);
    if (!object)
        return INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        (unsigned int)value > limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
        return CUDA_ERROR_INVALID_VALUE;
    object->most_shared = value;
    return CUDA_SUCCESS;
}

/* Registers are given to warps by 256, shared memory has 1 KiB more for each block. */
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared_bytes)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    if (!find(MODULE, function))
        return INVALID_HANDLE;
    if (threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned int warps = ((unsigned int)threads + FAKE_CUDA_WARP - 1) / FAKE_CUDA_WARP,
                       of_warp = ((unsigned int)registers_of_thread() * FAKE_CUDA_WARP + 255) / 256 * 256;
    const size_t by[] = {
        limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * FAKE_CUDA_WARP),
        limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / (warps * of_warp),
        limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / (shared_bytes + 1024),
    };
    *blocks = (int)by[0];
    for (size_t i = 1; i < sizeof by / sizeof *by; i++)
        *blocks = by[i] < (size_t)*blocks ? (int)by[i] : *blocks;
    return CUDA_SUCCESS;
}

static bool fits(struct fake_index size, int first_limit)
{
    return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= limit(first_limit) &&
           size.y <= limit(first_limit + 1) && size.z <= limit(first_limit + 2);
}

static CUresult check_launch(const struct object *kernel, const struct fake_launch *launch)
{
    const struct fake_index block = launch->block;
    if (!fits(launch->grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) || !fits(block, MAX_BLOCK_DIM_X) ||
        (unsigned long long)block.x * block.y * block.z > limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        launch->shared_bytes > (size_t)kernel->most_shared)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned int registers = block.x * block.y * block.z * (unsigned int)registers_of_thread();
    return registers > limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) ? LAUNCH_OUT_OF_RESOURCES
                                                                                   : CUDA_SUCCESS;
}

/* The argument is copied, as a device gets it: AddressSanitizer sees when it is smaller than the kernel's. */
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z,
                        unsigned int shared_bytes, CUstream stream, void **params, void **extra)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    const struct object *const kernel = find(MODULE, function);
    if (!kernel || !is_stream(stream))
        return INVALID_HANDLE;
    if (!params || extra)
        return CUDA_ERROR_INVALID_VALUE;
    struct fake_launch launch = {
        .run = kernel->run,
        .grid = {grid_x, grid_y, grid_z},
        .block = {block_x, block_y, block_z},
        .shared_bytes = shared_bytes,
    };
    const CUresult result = check_launch(kernel, &launch);
    void *argument;
    if (result != CUDA_SUCCESS)
        return result;
    if (posix_memalign(&argument, ALIGNMENT, kernel->argument_bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(argument, params[0], kernel->argument_bytes);
    launch.argument = argument;
    fake_grid_run(&launch);
    free(argument);
    return CUDA_SUCCESS;
}
