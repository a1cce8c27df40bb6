/* Which page of an OME-TIFF is which plane, by its OME-XML. */
#include <string.h>

#include "alloc.h"
#include "io_tags.h"
#include "ome_parse.h"
#include "size.h"

enum { MOST_REPEATS = 16, NO_DIRECTORY = -1 };

/* As many planes as there are directories for, each not found yet; others may be in other files. */
void vf_ome_make_planes(struct vf_ome_parsing *p)
{
    struct vf_ome *ome = p->ome;
    size_t planes;
    p->too_many = !vf_size_mul(ome->nc / p->samples, ome->nz, &planes) ||
                  !vf_size_mul(planes, ome->nt, &planes) || planes > p->directories;
    if (p->too_many)
        return;
    ome->directory = vf_alloc(planes, sizeof *ome->directory, "page list", p->error);
    if (ome->directory == NULL)
        vf_ome_fail_memory(p);
    else
        memset(ome->directory, 0xff, planes * sizeof *ome->directory);
}

/* Only where they are not too many. */
static int64_t plane_count(const struct vf_ome_parsing *p)
{
    const struct vf_ome *ome = p->ome;
    return (int64_t)(ome->nc / ome->page_channels * ome->nz * ome->nt);
}

/* `count` planes from `first` (c, z, t) on, in the order of dimensions, are in directories that follow each
 * other. */
static void place_planes(struct vf_ome_parsing *p, int64_t directory, const int64_t first[3], int64_t count)
{
    struct vf_ome *ome = p->ome;
    const size_t channels = ome->nc / ome->page_channels;
    const int64_t extent[3] = {(int64_t)channels, (int64_t)ome->nz, (int64_t)ome->nt};
    int64_t at[3] = {first[0], first[1], first[2]};
    p->placed += count < plane_count(p) ? count : plane_count(p);
    if (p->placed / MOST_REPEATS > plane_count(p))
        vf_ome_fail(p, "assigns its planes to pages over and over");
    for (int64_t i = 0; !p->failed && i < count; i++) {
        if (at[0] >= extent[0] || at[1] >= extent[1] || at[2] >= extent[2] ||
            directory + i >= (int64_t)p->directories) {
            vf_ome_fail(
                p,
                "assigns plane z=%lld, c=%lld, t=%lld to page %lld, but there are %zu planes, %zu channels, "
                "%zu time points and %zu pages",
                (long long)at[1], (long long)at[0], (long long)at[2], (long long)(directory + i + 1), ome->nz,
                channels, ome->nt, p->directories);
            return;
        }
        ome->directory[((size_t)at[2] * ome->nz + (size_t)at[1]) * channels + (size_t)at[0]] =
            (uint32_t)(directory + i);
        for (int k = 2; k < 5; k++) {
            const int axis = ome->order[k] == 'C' ? 0 : ome->order[k] == 'Z' ? 1 : 2;
            if (++at[axis] < extent[axis] || k == 4)
                break;
            at[axis] = 0;
        }
    }
}

void vf_ome_begin_storage(struct vf_ome_parsing *p, const XML_Char **attributes)
{
    p->in_storage = p->has_storage = true;
    p->uuid_length = 0;
    p->first_directory = vf_ome_whole(p, attributes, "IFD", 0, -1);
    p->first[0] = vf_ome_whole(p, attributes, "FirstC", 0, 0);
    p->first[1] = vf_ome_whole(p, attributes, "FirstZ", 0, 0);
    p->first[2] = vf_ome_whole(p, attributes, "FirstT", 0, 0);
    p->planes = vf_ome_whole(p, attributes, "PlaneCount", 0, -1);
}

void vf_ome_end_storage(struct vf_ome_parsing *p)
{
    p->in_storage = false;
    p->uuid[p->uuid_length] = '\0';
    /* A file that does not say its own is taken for the one that is named first. */
    if (p->own_uuid[0] == '\0')
        memcpy(p->own_uuid, p->uuid, sizeof p->uuid);
    if (p->uuid_length > 0 && strcmp(p->uuid, p->own_uuid) != 0) {
        p->elsewhere++;
        memcpy(p->other_file, p->file, sizeof p->file);
        return;
    }
    p->here++;
    if (p->too_many)
        return;
    if (p->planes < 0)
        p->planes = p->first_directory < 0 ? plane_count(p) : 1;
    place_planes(p, p->first_directory < 0 ? 0 : p->first_directory, p->first, p->planes);
}

static enum vf_status fail_elsewhere(const struct vf_ome_parsing *p)
{
    return vf_fail(p->error, VF_FAILED,
                   "planes of its image are in other files%s%s, according to its OME-XML, and images in "
                   "several files are not supported; join them: bfconvert IN OUT.ome.tif",
                   p->other_file[0] == '\0' ? "" : ", as ", p->other_file);
}

enum vf_status vf_ome_check_planes(struct vf_ome_parsing *p)
{
    const struct vf_ome *ome = p->ome;
    if (p->elsewhere > 0 && (ome->image == 0 || p->too_many))
        return fail_elsewhere(p);
    if (ome->pixels_end == 0)
        return vf_fail(p->error, VF_FAILED, "its OME-XML describes no image" VF_OME_REMEDY);
    if (p->too_many)
        return vf_fail(p->error, VF_FAILED,
                       "its OME-XML gives %zu planes, %zu channels and %zu time points, but the file has %zu "
                       "pages; " VF_PAGES_REMEDY,
                       ome->nz, ome->nc, ome->nt, p->directories);
    if (!p->has_storage)
        place_planes(p, 0, (const int64_t[3]){0, 0, 0}, plane_count(p));
    if (p->failed)
        return VF_FAILED;
    const size_t channels = ome->nc / ome->page_channels, planes = (size_t)plane_count(p);
    for (size_t i = 0; i < planes; i++) {
        if (ome->directory[i] != (uint32_t)NO_DIRECTORY)
            continue;
        if (p->elsewhere > 0)
            return fail_elsewhere(p);
        return vf_fail(p->error, VF_FAILED,
                       "its OME-XML does not say where plane z=%zu, c=%zu, t=%zu is; make one complete file: "
                       "bfconvert IN OUT.ome.tif",
                       i / channels % ome->nz, i % channels, i / channels / ome->nz);
    }
    return VF_OK;
}
