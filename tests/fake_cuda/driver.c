/* The CUDA driver as far as volfilter uses it, on the CPU. Memory of a device is the process's own, so that
 * AddressSanitizer sees every access; what a device leaves undefined is filled with 0xFF bytes. The
 * environment (see also calls.h, grid.h and nvrtc.c):
 *
 *   FAKE_CUDA_DEVICES=N               how many there are; 1
 *   FAKE_CUDA_CAPABILITY=90           their compute capability
 *   FAKE_CUDA_MEMORY=BYTES            of each
 *   FAKE_CUDA_TAKEN=BYTES             of it, held by others; 0
 *   FAKE_CUDA_TAKEN_FROM=N            they do so from the N-th counted call on
 *   FAKE_CUDA_ATTRIBUTES=97=49152,..  values instead of device.c's, by the driver's numbers
 *   FAKE_CUDA_REGISTERS=32            what kernels are said to use
 *   FAKE_CUDA_LATE=1                  work, and copies in kernels, are done when waited for; else at once
 *   FAKE_CUDA_STRICT=1                what is not freed at exit aborts; otherwise it is only reported
 *   FAKE_CUDA_KEEP=1                  leaves the loaded objects in the directory for temporary files */
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static CUresult broken; /* the error that a kernel or a copy left the device with */
static struct object *objects;

/* ---- every call ---- */

static bool is_lasting(CUresult result)
{
    return result == ECC_UNCORRECTABLE ||
           (result >= ILLEGAL_ADDRESS && result != LAUNCH_OUT_OF_RESOURCES && result <= LAUNCH_FAILED);
}

struct entered fake_enter(const char *name, CUresult likely, enum needs needs)
{
    pthread_mutex_lock(&lock);
    const bool frees = likely == FAKE_NEVER_FAILS;
    CUresult result = fake_call(name, likely);
    if (is_lasting(result) && needs == CONTEXT)
        broken = result;
    if (result == CUDA_SUCCESS && needs != NOTHING && !initialised)
        result = NOT_INITIALIZED;
    if (result == CUDA_SUCCESS && needs == CONTEXT && (!fake_current || fake_current->retained == 0))
        result = INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && needs == CONTEXT && !frees)
        result = broken;
    return (struct entered){result};
}

void fake_leave(const struct entered *entered)
{
    (void)entered;
    pthread_mutex_unlock(&lock);
}

CUresult cuInit(unsigned int flags)
{
    ENTER(CUDA_ERROR_NO_DEVICE, NOTHING);
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (fake_setting("FAKE_CUDA_DEVICES", 1) == 0)
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
        {NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"},
        {ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"},
        {INVALID_HANDLE, "invalid resource handle"},
        {NOT_FOUND, "named symbol not found"},
        {CUDA_ERROR_NOT_READY, "device not ready"},
        {ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
        {LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
        {LAUNCH_FAILED, "unspecified launch failure"},
        {NOT_PERMITTED, "operation not permitted"},
        {SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination"},
        {UNKNOWN, "unknown error"},
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

/* ---- objects ---- */

struct object *fake_object_add(enum kind kind)
{
    struct object *const object = calloc(1, sizeof *object);
    if (object) {
        object->next = objects;
        object->kind = kind;
        object->device = fake_current;
        objects = object;
    }
    return object;
}

void fake_object_remove(struct object *object)
{
    struct object **link = &objects;
    while (*link != object)
        link = &(*link)->next;
    *link = object->next;
    free(object);
}

struct object *fake_object_next(enum kind kind, const struct object *object)
{
    struct object *next = object ? object->next : objects;
    while (next && next->kind != kind)
        next = next->next;
    return next;
}

struct object *fake_object_find(enum kind kind, const void *handle)
{
    struct object *o = NULL;
    while ((o = fake_object_next(kind, o)))
        if (o == handle && o->device == fake_current)
            break;
    return o;
}

struct object *fake_memory_find(enum kind kind, uintptr_t address, size_t bytes)
{
    struct object *o = NULL;
    while ((o = fake_object_next(kind, o)))
        if (address >= (uintptr_t)o->address && bytes <= o->bytes &&
            address - (uintptr_t)o->address <= o->bytes - bytes)
            break;
    return o;
}

__attribute__((destructor)) static void report_what_is_left(void)
{
    static const char *const names[KIND_COUNT] = {
        "allocations of device memory", "allocations of pinned memory", "streams", "events", "modules"};
    bool is_left = false;
    for (enum kind kind = MEMORY; kind < KIND_COUNT; kind++) {
        size_t bytes = 0;
        int count = 0;
        for (struct object *o = NULL; (o = fake_object_next(kind, o)); count++)
            bytes += kind <= HOST_MEMORY ? o->bytes : 0;
        is_left = is_left || count > 0;
        if (bytes > 0)
            fprintf(stderr, "fake cuda: %d %s, %zu bytes, were not freed\n", count, names[kind], bytes);
        else if (count > 0)
            fprintf(stderr, "fake cuda: %d %s were not freed\n", count, names[kind]);
    }
    for (int i = 0; i < MOST_DEVICES; i++)
        if (fake_devices[i].retained > 0) {
            fprintf(stderr, "fake cuda: the context of device %d was not released\n", i);
            is_left = true;
        }
    if (is_left && fake_setting("FAKE_CUDA_STRICT", 0))
        abort();
}
