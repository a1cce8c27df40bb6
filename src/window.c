#include "window.h"

#include <assert.h>

#include "src/alloc.h"
#include "src/cuda_device.h"
#include "src/size.h"

/* Pinned where that can be had. */
static void *take_planes(struct vf_window *window, struct vf_cuda *cuda, struct vf_error *error)
{
    size_t bytes;
    void *data;
    if (cuda != NULL &&
        vf_size_mul((size_t)(window->capacity * window->count), window->plane_bytes, &bytes) &&
        cuda->api.cuMemHostAlloc(&data, bytes, 0) == CUDA_SUCCESS) {
        window->pinned = cuda;
        return data;
    }
    return vf_alloc((size_t)(window->capacity * window->count), window->plane_bytes, "planes of a slab",
                    error);
}

enum vf_status vf_window_open(struct vf_window *window, int count, enum vf_type type, size_t plane_voxels,
                              ptrdiff_t capacity, ptrdiff_t extent, ptrdiff_t beyond, struct vf_cuda *cuda,
                              struct vf_error *error)
{
    *window = (struct vf_window){.count = count,
                                 .capacity = capacity,
                                 .extent = extent,
                                 .beyond = beyond,
                                 .plane_bytes = plane_voxels * vf_type_size(type)};
    window->data = take_planes(window, cuda, error);
    window->table = vf_alloc((size_t)(extent * count), sizeof *window->table, "plane table", error);
    window->array = vf_alloc((size_t)count, sizeof *window->array, "fields", error);
    if (window->data == NULL || window->table == NULL || window->array == NULL) {
        vf_window_close(window);
        return VF_FAILED;
    }
    for (ptrdiff_t i = 0; i < extent * count; i++)
        window->table[i] = NULL;
    for (int f = 0; f < count; f++)
        window->array[f] = (struct vf_array){.type = type, .plane = window->table + f * extent};
    vf_window_start(window, 0);
    return VF_OK;
}

void vf_window_close(struct vf_window *window)
{
    if (window->pinned != NULL)
        window->pinned->api.cuMemFreeHost(window->data);
    else
        vf_free(window->data);
    vf_free(window->table);
    vf_free(window->array);
    *window = (struct vf_window){0};
}

void vf_window_start(struct vf_window *window, ptrdiff_t image)
{
    vf_window_drop(window, window->end);
    window->begin = window->end = -window->beyond;
    window->base = image * vf_window_span(window) + window->beyond;
}

void *vf_window_place(const struct vf_window *window, ptrdiff_t number, int field)
{
    const ptrdiff_t place = vf_floor_mod(number, window->capacity) * window->count + field;
    return window->data + (size_t)place * window->plane_bytes;
}

static void **entry(const struct vf_window *window, ptrdiff_t z, int field)
{
    return &window->table[field * window->extent + vf_floor_mod(z, window->extent)];
}

void vf_window_take(struct vf_window *window, ptrdiff_t count)
{
    assert(window->end + count - window->begin <= window->capacity); /* our own reckoning, never a file's */
    for (ptrdiff_t z = window->end; z < window->end + count; z++)
        for (int f = 0; f < window->count; f++)
            *entry(window, z, f) = vf_window_place(window, window->base + z, f);
    window->end += count;
}

void vf_window_drop(struct vf_window *window, ptrdiff_t begin)
{
    /* A periodic grid's plane may be held twice. */
    for (; window->begin < begin; window->begin++)
        for (int f = 0; f < window->count; f++)
            if (*entry(window, window->begin, f) == vf_window_place(window, window->base + window->begin, f))
                *entry(window, window->begin, f) = NULL;
}
