/* Memory of devices, pinned memory of the host, and copies. */
#include <string.h>
#include <sys/mman.h>

#include "../sanitized.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

#include "driver.h"

/* Memory lies between pages that nobody may touch, at the end of what is left: what is read or written beyond
 * it, rounded up to ALIGNMENT, ends the test; AddressSanitizer sees the rest. */
enum { PAGE = 4096, GUARD = 4 << 20 };

static size_t round_up(size_t bytes, size_t step)
{
    return (bytes + step - 1) / step * step;
}

/* NULL: there is none. */
static void *guarded_alloc(size_t bytes)
{
    const size_t used = round_up(bytes, ALIGNMENT), pages = round_up(used, PAGE);
    char *const all =
        mmap(NULL, pages + 2 * (size_t)GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    if (mprotect(all + GUARD, pages, PROT_READ | PROT_WRITE) != 0) {
        munmap(all, pages + 2 * (size_t)GUARD);
        return NULL;
    }
    char *const address = all + GUARD + (pages - used);
    ASAN_POISON_MEMORY_REGION(address + bytes, used - bytes);
    return address;
}

static void guarded_free(void *address, size_t bytes)
{
    const size_t used = round_up(bytes, ALIGNMENT), pages = round_up(used, PAGE);
    ASAN_UNPOISON_MEMORY_REGION(address, used);
    munmap((char *)address - (pages - used) - GUARD, pages + 2 * (size_t)GUARD);
}

static size_t free_memory(void)
{
    const bool taken = fake_calls() >= fake_setting("FAKE_CUDA_TAKEN_FROM", 0);
    const size_t held = fake_current->used + (taken ? (size_t)fake_setting("FAKE_CUDA_TAKEN", 0) : 0);
    const size_t all = fake_memory_of_device();
    return held < all ? all - held : 0;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    *total = fake_memory_of_device();
    *free = free_memory();
    return CUDA_SUCCESS;
}

static CUresult allocate(enum kind kind, size_t bytes, void **address)
{
    struct object *const object = fake_object_add(kind);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = guarded_alloc(bytes);
    if (*address == NULL) {
        fake_object_remove(object);
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
    if (bytes > free_memory())
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = allocate(MEMORY, bytes, &address);
    if (result == CUDA_SUCCESS) {
        fake_current->used += bytes;
        *pointer = (uintptr_t)address;
    }
    return result;
}

/* The memory that begins there. */
static struct object *find_start(enum kind kind, uintptr_t address)
{
    struct object *const object = fake_memory_find(kind, address, 0);
    return object && (uintptr_t)object->address == address ? object : NULL;
}

/* Memory is freed when no work is left that may use it. */
CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = pointer ? find_start(MEMORY, pointer) : NULL;
    if (!object)
        return pointer ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    object->device->used -= object->bytes;
    fake_finish_all();
    guarded_free(object->address, object->bytes);
    fake_object_remove(object);
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
    struct object *const object = find_start(HOST_MEMORY, (uintptr_t)pointer);
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    fake_finish_all();
    guarded_free(object->address, object->bytes);
    fake_object_remove(object);
    return CUDA_SUCCESS;
}

/* ---- copies ---- */

/* NULL: the device has no such memory. */
static char *device_bytes(CUdeviceptr pointer, size_t bytes)
{
    return fake_memory_find(MEMORY, (uintptr_t)pointer, bytes) ? (char *)(uintptr_t)pointer : NULL;
}

/* Pageable memory, which only the CPU reads and writes, is waited for. */
static CUresult submit_copy(const struct operation *copy, const void *host, size_t host_bytes,
                            CUstream stream)
{
    if (!fake_is_stream(stream))
        return INVALID_HANDLE;
    if (!copy->to || !copy->from)
        return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = fake_submit(stream, copy);
    if (result == CUDA_SUCCESS && host && !fake_memory_find(HOST_MEMORY, (uintptr_t)host, host_bytes))
        fake_finish(stream);
    return result;
}

static CUresult submit_bytes(void *to, const void *from, const void *host, size_t bytes, CUstream stream)
{
    const struct operation copy = {.work = COPY, .to = to, .from = from, .width = bytes, .height = 1};
    return submit_copy(&copy, host, bytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return submit_bytes(device_bytes(to, bytes), from, from, bytes, stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return submit_bytes(to, device_bytes(from, bytes), to, bytes, stream);
}

static CUresult submit_fill(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                            CUstream stream)
{
    const struct operation fill = {.work = FILL,
                                   .to = device_bytes(to, (height - 1) * pitch + width),
                                   .to_pitch = pitch,
                                   .width = width,
                                   .height = height,
                                   .value = value};
    if (!fake_is_stream(stream))
        return INVALID_HANDLE;
    return fill.to ? fake_submit(stream, &fill) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return submit_fill(to, bytes, value, bytes, 1, stream);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (width == 0 || height == 0)
        return CUDA_SUCCESS;
    return width > pitch ? CUDA_ERROR_INVALID_VALUE : submit_fill(to, pitch, value, width, height, stream);
}

/* One side of a copy of rows. */
struct rows {
    unsigned int memory;
    const void *host;
    CUdeviceptr device;
    size_t x, y, pitch;
};

/* The first byte; NULL when the rows do not fit the pitch or the memory. */
static char *first_row(const struct rows *rows, size_t width, size_t bytes)
{
    const size_t offset = rows->y * rows->pitch + rows->x;
    if (rows->x + width > rows->pitch)
        return NULL;
    if (rows->memory == CU_MEMORYTYPE_HOST)
        return (char *)rows->host + offset;
    return rows->memory == CU_MEMORYTYPE_DEVICE ? device_bytes(rows->device + offset, bytes) : NULL;
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    const size_t width = c->WidthInBytes, height = c->Height;
    if (width == 0 || height == 0)
        return CUDA_SUCCESS;
    const struct rows from = {c->srcMemoryType, c->srcHost, c->srcDevice,
                              c->srcXInBytes,   c->srcY,    c->srcPitch},
                      to = {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch};
    const size_t from_bytes = (height - 1) * from.pitch + width, to_bytes = (height - 1) * to.pitch + width;
    const struct operation copy = {
        .work = COPY,
        .to = first_row(&to, width, to_bytes),
        .from = first_row(&from, width, from_bytes),
        .to_pitch = to.pitch,
        .from_pitch = from.pitch,
        .width = width,
        .height = height,
    };
    if (from.memory == CU_MEMORYTYPE_HOST)
        return submit_copy(&copy, copy.from, from_bytes, stream);
    return submit_copy(&copy, to.memory == CU_MEMORYTYPE_HOST ? copy.to : NULL, to_bytes, stream);
}
