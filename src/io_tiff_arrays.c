/* Arrays of tifffile, which notes in a TIFF's description what it wrote: {"shape": [2, 30, 512, 512]}, and
 * "axes": "TZYX" where it was told so. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io_tiff_read.h"
#include "size.h"

/* The numbers of the shape; NULL where the description is another. */
static const char *shape_of(const char *description)
{
    static const char begin[] = "{\"shape\": [";
    const bool noted = description != NULL && strncmp(description, begin, sizeof begin - 1) == 0;
    return noted ? description + sizeof begin - 1 : NULL;
}

/* The next number of the shape; NULL after the last. */
static const char *next_extent(const char *at, size_t *extent)
{
    char *end;
    *extent = strtoull(at, &end, 10);
    return end == at ? NULL : end + strspn(end, ", ");
}

/* The names of the axes, the slowest first; empty where there are none. */
static const char *axes_of(const char *numbers)
{
    static const char label[] = "\"axes\": \"";
    const char *const axes = numbers == NULL ? NULL : strstr(numbers, label);
    return axes == NULL ? "" : axes + sizeof label - 1;
}

static size_t length_of(const char *axes)
{
    return strcspn(axes, "\"");
}

/* The product of the first extents; 0 if it is too large. */
static size_t product_of(const char *numbers, size_t axes)
{
    size_t product = 1, extent;
    for (; axes > 0 && (numbers = next_extent(numbers, &extent)) != NULL; axes--)
        if (!vf_size_mul(product, extent, &product))
            return 0;
    return product;
}

char vf_tiff_array_sample_axis(const struct vf_tiff_layout *layout, const char *description)
{
    const char *const numbers = shape_of(description), *const axes = axes_of(numbers);
    const size_t named = length_of(axes);
    size_t last[3] = {0}, extent;
    for (const char *at = numbers; at != NULL && (at = next_extent(at, &extent)) != NULL;) {
        last[0] = last[1];
        last[1] = last[2];
        last[2] = extent;
    }
    if (layout->planar != PLANARCONFIG_SEPARATE || layout->samples == 1 || last[0] != layout->samples ||
        last[1] != layout->height || last[2] != layout->width)
        return '\0';
    return named < 3 ? '?' : axes[named - 3] == 'S' ? '\0' : axes[named - 3];
}

size_t vf_tiff_array_planes(const struct vf_info *info, const char *description)
{
    const char *const numbers = shape_of(description);
    const size_t page = info->shape.nx * info->shape.ny * info->page_channels;
    const bool one_directory = numbers != NULL && strstr(numbers, "\"truncated\": true") != NULL;
    return one_directory ? product_of(numbers, SIZE_MAX) / page : 0;
}

/* As samples of a page, planes along z would not be smoothed along it. */
static enum vf_status check_samples(const struct vf_info *info, const char *axes, struct vf_error *error)
{
    const size_t count = length_of(axes);
    if (info->page_channels == 1 || count < 3)
        return VF_OK;
    const bool is_last = strncmp(axes + count - 3, "YX", 2) == 0;
    const char samples = is_last                                   ? axes[count - 1]
                         : strncmp(axes + count - 2, "YX", 2) == 0 ? axes[count - 3]
                                                                   : 'S';
    if (strchr("ZT", samples) == NULL)
        return VF_OK;
    return vf_fail(error, VF_FAILED,
                   "the %zu samples of its pixels are %s, which tifffile took for colours; in Python: "
                   "tifffile.imwrite(OUT, %s, photometric='minisblack', metadata={'axes': '%.*s%cYX'})",
                   info->page_channels, samples == 'Z' ? "planes along z" : "time points",
                   is_last ? "numpy.moveaxis(tifffile.imread(IN), -1, -3)" : "tifffile.imread(IN)",
                   (int)count - 3, axes, samples);
}

/* Where the axes of the pages are channels, planes and time points, how many of each there are, and in which
 * order, the fastest first, in words of vf_tiff_page_order: empty where it is that of a volume. Of fewer
 * pages than those of the array the slowest axis is shorter. False where the axes are others, there are more
 * pages, or they are no whole number of the faster axes. */
static bool take_axes(struct vf_info *info, const char *numbers, const char *axes, size_t count,
                      char order[4])
{
    static const char names[] = "CZT", letters[] = "czt";
    const size_t product = product_of(numbers, count);
    size_t extent[3] = {1, 1, 1};
    int longer[3] = {0}, longer_count = 0, last = -1, length = 0; /* longer than 1: the slowest first */
    bool seen[3] = {false}, moved = false;
    if (product < info->page_count)
        return false;
    for (size_t axis = 0; axis < count; axis++) {
        const char *name = strchr(names, axes[axis]);
        if (name == NULL || seen[name - names])
            return false;
        seen[name - names] = true;
        numbers = next_extent(numbers, &extent[name - names]);
        if (extent[name - names] > 1)
            longer[longer_count++] = (int)(name - names);
    }
    if (product > info->page_count && !vf_fit_pages(info->page_count, product, &extent[longer[0]]))
        return false;
    memset(order, 0, 4);
    for (int i = longer_count - 1; i >= 0; i--) {
        order[length++] = letters[longer[i]];
        moved = moved || longer[i] < last;
        last = longer[i];
    }
    for (int i = 0; i < 3; i++)
        if (strchr(order, letters[i]) == NULL)
            order[length++] = letters[i];
    if (!moved)
        order[0] = '\0';
    info->shape.nc = extent[0] * info->page_channels;
    info->shape.nz = extent[1];
    info->shape.nt = extent[2];
    return true;
}

/* "64, 64 (axes YX)": the first `length` bytes of the numbers, and the axes if they are `named`. */
struct array_words {
    char text[160];
};

static struct array_words words_of(const char *numbers, size_t length, const char *axes, size_t named)
{
    struct array_words words;
    snprintf(words.text, sizeof words.text, "%.*s%s%.*s%s", (int)length, numbers, named > 0 ? " (axes " : "",
             (int)named, axes, named > 0 ? ")" : "");
    return words;
}

/* Pages along channels, z and time where tifffile says so; else along z. Other axes are not taken apart. */
static enum vf_status set_shape(struct vf_info *info, const char *numbers, const char *axes, char order[4],
                                struct vf_error *error)
{
    const size_t named = length_of(axes), of_page = info->page_channels > 1 ? 3 : 2;
    const char *at = numbers, *next;
    size_t extent, count = 0;
    for (; (next = next_extent(at, &extent)) != NULL; at = next)
        count++;
    const size_t told = count > of_page ? product_of(numbers, count - of_page) : 1;
    info->tags->misses_pages = told > info->page_count;
    if (info->page_count == 1)
        return VF_OK;
    const bool all_named =
        count == named && count > of_page && (of_page == 3 || strncmp(axes + count - 2, "YX", 2) == 0);
    const bool taken = all_named && take_axes(info, numbers, axes, count - of_page, order);
    if (info->tags->misses_pages) {
        const struct array_words words = words_of(numbers, (size_t)(at - numbers), axes, named);
        if (all_named && !taken)
            return vf_fail(error, VF_FAILED,
                           "its description tells of an array of %s, but it has %zu pages; " VF_PAGES_REMEDY,
                           words.text, info->page_count);
        info->pages_told = true;
        vf_info_note(info,
                     "an array of %s, but it has %zu pages: read as %zu channels x %zu planes x %zu "
                     "time points; " VF_CUT_REMEDY,
                     words.text, info->page_count, info->shape.nc, info->shape.nz, info->shape.nt);
        return VF_OK;
    }
    if (taken) {
        info->pages_told = true;
        return VF_OK;
    }
    at = numbers;
    /* The extents of a page come last. */
    for (size_t axis = 0; (next = next_extent(at, &extent)) != NULL; at = next, axis++) {
        const char name = axis < named ? axes[axis] : '\0';
        if (extent == info->page_count && axis + of_page < count &&
            /* tifffile's own names for axes that are nothing in particular are Q and I. */
            (name == '\0' || strchr("ZQI", name) != NULL)) {
            info->pages_told = name == 'Z';
            return VF_OK;
        }
    }
    info->pages_told = at > numbers;
    if (!info->pages_told)
        return VF_OK;
    const bool one = told == info->page_count;
    vf_info_note(info, "%s of %s, whose pages are read as one stack (--slices filters each one separately)",
                 one ? "an array" : "several arrays, the first",
                 words_of(numbers, (size_t)(at - numbers), axes, one ? named : 0).text);
    return VF_OK;
}

/* Of a page that is noted to lie on its side. */
static void note_turned(struct vf_info *info, const char *axes)
{
    const size_t named = length_of(axes), samples = named > 0 && axes[named - 1] == 'S' ? 1 : 0;
    if (named - samples >= 2 && strncmp(axes + named - samples - 2, "XY", 2) == 0)
        vf_info_note(
            info,
            "its axes are noted as %.*s; x is still taken along the rows of a page, y along its columns "
            "(parameters such as sigma=2x1x1 count so)",
            (int)named, axes);
}

enum vf_status vf_tiff_array_describe(struct vf_info *info, const char *description, char samples_axis,
                                      char order[4], struct vf_error *error)
{
    const char *const numbers = shape_of(description), *const axes = axes_of(numbers);
    order[0] = '\0';
    info->shape.nz = info->page_count;
    if (check_samples(info, axes, error) != VF_OK)
        return VF_FAILED;
    if (samples_axis == '?' && numbers != NULL)
        vf_info_note(
            info,
            "an array of %.*s, whose %zu planes are read as channels, not along z (if they are, in Python: "
            "tifffile.imwrite(OUT, tifffile.imread(IN), photometric='minisblack'))",
            (int)strcspn(numbers, "]"), numbers, info->page_channels);
    note_turned(info, axes);
    return numbers == NULL ? VF_OK : set_shape(info, numbers, axes, order, error);
}
