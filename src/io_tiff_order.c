/* Which page of a TIFF is which plane, where they are not in the order c, z, t. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "io_tiff.h"
#include "ome.h"
#include "size.h"

size_t *vf_tiff_page_order(const char *order, const struct vf_shape *shape, size_t channels,
                           struct vf_error *error)
{
    size_t step[3] = {0}, next = 1, page = 0; /* c, z, t */
    const size_t extent[3] = {channels, shape->nz, shape->nt};
    size_t pages;
    if (!vf_size_mul(channels, shape->nz, &pages) || !vf_size_mul(pages, shape->nt, &pages)) {
        vf_fail(error, VF_FAILED, "it says that it has more pages than can be counted");
        return NULL;
    }
    size_t *source = vf_alloc(pages, sizeof *source, "page list", error);
    if (source == NULL)
        return NULL;
    for (int i = 0; i < 3; i++) {
        const int axis = order[i] == 'c' ? 0 : order[i] == 'z' ? 1 : 2;
        step[axis] = next;
        next *= extent[axis];
    }
    for (size_t t = 0; t < shape->nt; t++)
        for (size_t z = 0; z < shape->nz; z++)
            for (size_t c = 0; c < channels; c++)
                source[page++] = c * step[0] + z * step[1] + t * step[2];
    return source;
}

static int compare_directories(const void *a, const void *b)
{
    const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return p < q ? -1 : p > q;
}

uint32_t *vf_tiff_ome_directories(const struct vf_ome *ome, size_t planes, struct vf_error *error)
{
    uint32_t *directories = vf_alloc(planes, sizeof *directories, "page list", error);
    if (directories == NULL)
        return NULL;
    memcpy(directories, ome->directory, planes * sizeof *directories);
    qsort(directories, planes, sizeof *directories, compare_directories);
    for (size_t i = 1; i < planes; i++)
        if (directories[i] == directories[i - 1]) {
            vf_fail(error, VF_FAILED, "its OME-XML assigns two planes to page %u" VF_OME_REMEDY,
                    directories[i] + 1);
            vf_free(directories);
            return NULL;
        }
    return directories;
}

static const uint32_t *find_directory(const uint32_t *directories, size_t planes, uint32_t directory)
{
    return bsearch(&directory, directories, planes, sizeof *directories, compare_directories);
}

bool vf_tiff_ome_has(const uint32_t *directories, size_t planes, size_t directory)
{
    return directory < UINT32_MAX && find_directory(directories, planes, (uint32_t)directory) != NULL;
}

size_t *vf_tiff_ome_order(const struct vf_ome *ome, const uint32_t *directories, size_t planes,
                          struct vf_error *error)
{
    size_t *source = vf_alloc(planes, sizeof *source, "page list", error);
    for (size_t i = 0; source != NULL && i < planes; i++)
        source[i] = (size_t)(find_directory(directories, planes, ome->directory[i]) - directories);
    return source;
}

enum vf_status vf_tiff_reorder(void *list, size_t size, size_t count, const size_t *source,
                               struct vf_error *error)
{
    char *copy = vf_alloc(count, size, "page list", error);
    if (copy == NULL)
        return VF_FAILED;
    for (size_t i = 0; i < count; i++)
        memcpy(copy + i * size, (char *)list + source[i] * size, size);
    memcpy(list, copy, count * size);
    vf_free(copy);
    return VF_OK;
}
