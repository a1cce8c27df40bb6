#include "imagej.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tiff.h>

#include "io_codec.h"
#include "io_tags.h"
#include "number.h"
#include "size.h"
#include "text.h"

/* Decimal points whatever the locale says: the program never calls setlocale. */
static size_t count_of(const char *value)
{
    char *end;
    const double count = strtod(value, &end); /* ImageJ reads its counts as doubles */
    return end != value && count >= 1 && count <= INT32_MAX ? (size_t)count : 0;
}

/* "zct" and the like, which ImageJ itself writes for no file but other programs do; without case, and with
 * "xy" before it in some. */
static void set_order(struct vf_imagej *imagej, const char *value)
{
    static const char *const known[] = {"czt", "ctz", "zct", "ztc", "tcz", "tzc"};
    if (strncasecmp(value, "xy", 2) == 0)
        value += 2;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(known[i], value) == 0)
            strcpy(imagej->order, known[i]);
}

/* SCIFIO's "X,Y,Channel,Z,Time". */
static void set_axes(struct vf_imagej *imagej, const char *value)
{
    char order[8] = "";
    imagej->axes[0] = '\0';
    for (size_t count = 0; *value != '\0' && count < sizeof imagej->axes - 1; count++) {
        const size_t length = strcspn(value, ",");
        imagej->axes[count] = (char)tolower((unsigned char)value[0]);
        imagej->axes[count + 1] = '\0';
        value += length + (value[length] == ',');
    }
    for (const char *axis = imagej->axes; *axis != '\0'; axis++)
        if (strchr("czt", *axis) != NULL && strchr(order, *axis) == NULL)
            order[strlen(order)] = *axis;
    for (const char *axis = "czt"; *axis != '\0'; axis++)
        if (strchr(order, *axis) == NULL)
            order[strlen(order)] = *axis;
    set_order(imagej, order);
}

/* SCIFIO's "0.5,0.5,1.0,2.0,1.0", one for each axis. */
static void set_scales(struct vf_imagej *imagej, const char *value)
{
    for (const char *axis = imagej->axes; *axis != '\0' && value != NULL; axis++) {
        const double scale = fabs(strtod(value, NULL));
        if (*axis == 'z')
            imagej->spacing = scale;
        else if (*axis == 'x' || *axis == 'y')
            imagej->width[*axis - 'x'] = scale;
        value = strchr(value, ',');
        value = value != NULL ? value + 1 : NULL;
    }
}

static void take_line(struct vf_imagej *imagej, const char *key, const char *value)
{
    if (strcmp(key, "ImageJ") == 0)
        imagej->omits_one = strcmp(value, "1.11a") != 0; /* which tifffile says, and vf_imagej_describe */
    else if (strcmp(key, "images") == 0)
        imagej->images = count_of(value);
    else if (strcmp(key, "channels") == 0)
        imagej->channels = count_of(value);
    else if (strcmp(key, "slices") == 0)
        imagej->slices = count_of(value);
    else if (strcmp(key, "frames") == 0)
        imagej->frames = count_of(value);
    else if (strcmp(key, "order") == 0)
        set_order(imagej, value);
    else if (strcmp(key, "axes") == 0)
        set_axes(imagej, value);
    else if (strcmp(key, "scales") == 0)
        set_scales(imagej, value);
    else if (strcmp(key, "spacing") == 0) {
        imagej->spacing = fabs(vf_number_alone(value)); /* negative in files of stacks that run downwards */
        imagej->omits_one = false;
    } else if (strcmp(key, "8bitcolor") == 0)
        imagej->numbers_colours = strcmp(value, "true") == 0;
    else if (strcmp(key, "unit") == 0)
        for (int axis = 0; axis < 3; axis++)
            snprintf(imagej->unit[axis], sizeof imagej->unit[axis], "%.15s", value);
    else if (strcmp(key, "yunit") == 0)
        snprintf(imagej->unit[1], sizeof imagej->unit[1], "%.15s", value);
    else if (strcmp(key, "zunit") == 0)
        snprintf(imagej->unit[2], sizeof imagej->unit[2], "%.15s", value);
}

/* Splits the next line off `text` into key and value (cut to fit, "" without a '='); returns what follows. */
static const char *next_line(const char *text, char key[32], char value[64])
{
    const size_t length = strcspn(text, "\n");
    const char *equals = memchr(text, '=', length);
    const size_t key_length = equals == NULL ? length : (size_t)(equals - text);
    snprintf(key, 32, "%.*s", (int)(key_length < 32 ? key_length : 31), text);
    value[0] = '\0';
    if (equals != NULL) {
        size_t rest = length - key_length - 1;
        while (rest > 0 && (equals[rest] == '\r' || equals[rest] == ' '))
            rest--;
        snprintf(value, 64, "%.*s", (int)(rest < 64 ? rest : 63), equals + 1);
    }
    return text + length + (text[length] == '\n');
}

static bool is_own(const char *description)
{
    return description != NULL && strncmp(description, "ImageJ=", 7) == 0;
}

bool vf_imagej_is(const char *description)
{
    return is_own(description) || (description != NULL && strncmp(description, "SCIFIO=", 7) == 0);
}

bool vf_imagej_parse(const char *description, struct vf_imagej *imagej)
{
    char key[32], value[64];
    *imagej = (struct vf_imagej){.order = "czt"};
    if (!vf_imagej_is(description))
        return false;
    while (*description != '\0') {
        description = next_line(description, key, value);
        take_line(imagej, key, value);
    }
    if (!isfinite(imagej->spacing))
        imagej->spacing = 0;
    return true;
}

/* Lines of the function that leads from numbers to what they stand for: cf=0, c0=-32768, c1=1, vunit=HU. */
static bool is_calibration(const char *key)
{
    return strcmp(key, "cf") == 0 || strcmp(key, "vunit") == 0 ||
           (key[0] == 'c' && key[1] >= '0' && key[1] <= '9' && key[2] == '\0');
}

static bool is_interval(const char *key)
{
    return strcmp(key, "finterval") == 0;
}

static bool has_line(const char *description, bool (*is_it)(const char *key))
{
    struct vf_imagej ignored;
    char key[32], value[64];
    bool any = false;
    if (!vf_imagej_parse(description, &ignored))
        return false;
    while (*description != '\0') {
        description = next_line(description, key, value);
        any = any || is_it(key);
    }
    return any;
}

bool vf_imagej_is_calibrated(const char *description)
{
    return has_line(description, is_calibration);
}

bool vf_imagej_has_interval(const char *description)
{
    return has_line(description, is_interval);
}

/* Of the axes (c, z, t) that are longer than 1; false where there is none, too. */
static bool fit_slowest(const char *order, size_t pages, size_t product, size_t extent[3])
{
    for (int i = 2; i >= 0; i--) {
        size_t *const slowest = &extent[order[i] == 'c' ? 0 : order[i] == 'z' ? 1 : 2];
        if (*slowest > 1)
            return vf_fit_pages(pages, product, slowest);
    }
    return false;
}

enum vf_status vf_imagej_set_shape(const struct vf_imagej *imagej, size_t pages, struct vf_info *info,
                                   struct vf_error *error)
{
    const bool alone = imagej->channels == 0 && imagej->slices == 0 && imagej->frames == 0;
    const size_t samples = info->page_channels, slices = alone ? imagej->images : imagej->slices;
    const size_t told[3] = {imagej->channels ? imagej->channels : 1, slices ? slices : 1,
                            imagej->frames ? imagej->frames : 1};
    size_t extent[3] = {told[0], told[1], told[2]}, product;
    bool agrees = vf_size_mul(told[0], told[2], &product) && vf_size_mul(product, told[1], &product);
    const bool counted = agrees && samples == 1 && pages > 1;
    /* Bio-Formats counts the colours of a pixel among the channels. */
    if (agrees && told[0] % samples == 0 && product == pages * samples) {
        extent[0] /= samples;
        product = pages;
    }
    agrees = agrees && product == pages;
    if (!agrees && (!counted || !fit_slowest(imagej->order, pages, product, extent))) {
        if (counted && product > pages)
            return vf_fail(error, VF_FAILED,
                           "its description tells of %zu channels, %zu slices and %zu frames, but it has "
                           "%zu pages; " VF_PAGES_REMEDY,
                           told[0], told[1], told[2], pages);
        extent[0] = extent[2] = 1;
        extent[1] = pages;
    }
    info->shape.nc = extent[0] * samples;
    info->shape.nz = extent[1];
    info->shape.nt = extent[2];
    if (!agrees && pages > 1 && (product > pages || told[0] > 1 || told[2] > 1))
        vf_info_note(info,
                     "%zu channels, %zu slices and %zu frames do not match its %zu pages: read as %zu, %zu "
                     "and %zu%s",
                     told[0], told[1], told[2], pages, extent[0], extent[1], extent[2],
                     product > pages ? "; " VF_CUT_REMEDY : "");
    return VF_OK;
}

/* One axis's spacing in the unit that the info has, or takes from this axis. */
static void set_axis(struct vf_info *info, int axis, double spacing, const char *name)
{
    const char *unit = "";
    double scale = 1;
    const bool length = vf_unit_by_name(name, &unit, &scale);
    if (axis == 0)
        strcpy(info->unit, unit);
    else if (strcmp(unit, info->unit) != 0) {
        if (!length || info->unit[0] == '\0')
            return;
        scale *= vf_unit_nanometres(unit) / vf_unit_nanometres(info->unit);
    }
    info->spacing_known[axis] = true;
    info->spacing[axis] = spacing * scale;
}

/* Whether a unit is a length that was measured. Inches and centimetres may be of dots a page, by which ImageJ
 * knows nothing of the distance of planes. */
static bool is_measured(const char *name)
{
    const char *unit;
    double scale;
    return strcmp(name, "inch") != 0 && strcmp(name, "cm") != 0 && vf_unit_by_name(name, &unit, &scale);
}

void vf_imagej_set_spacing(const struct vf_imagej *imagej, const double resolution[2],
                           unsigned resolution_unit, struct vf_info *info)
{
    const char *unit[3] = {imagej->unit[0], imagej->unit[1], imagej->unit[2]};
    double width[2] = {1, 1};
    bool known = false;
    for (int axis = 0; resolution != NULL && axis < 2; axis++) {
        if (!isfinite(resolution[axis]) || resolution[axis] <= 0)
            break;
        width[axis] = 1 / resolution[axis];
        known = axis == 1;
    }
    /* As ImageJ does: 72 dpi means nothing; a description without a unit has the tag's. */
    double ignored;
    if (known && unit[0][0] == '\0' && resolution_unit != RESUNIT_NONE) {
        known = vf_resolution_spacing(resolution[0], (uint16_t)resolution_unit, &ignored);
        for (int axis = 0; known && axis < 3; axis++)
            unit[axis] = resolution_unit == RESUNIT_INCH ? "inch" : "cm";
    }
    const char *name;
    double scale;
    if (!known && imagej->spacing == 0)
        return;
    if (known && width[0] == 1 && width[1] == 1 && imagej->spacing == 0 &&
        !vf_unit_by_name(unit[0], &name, &scale))
        return; /* one pixel is one pixel wide */
    for (int axis = 0; axis < 2; axis++)
        set_axis(info, axis, known ? width[axis] : 1, unit[axis]);
    if (imagej->spacing > 0)
        set_axis(info, 2, imagej->spacing, unit[2]);
    else if (imagej->omits_one && known && info->shape.nz > 1 && is_measured(imagej->unit[0]))
        set_axis(info, 2, 1, unit[2]);
}

/* Lines that vf_imagej_describe writes itself, or that no longer hold. */
static bool keep_line(const char *key, bool spacing_kept, bool values_kept, bool shape_kept)
{
    static const char *const written[] = {"ImageJ", "images", "channels", "slices", "frames", "hyperstack",
                                          "order",  "axes",   "lengths",  "scales", "units",  "bitsPerPixel"};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (strcmp(key, written[i]) == 0)
            return false;
    if (!spacing_kept && (strcmp(key, "unit") == 0 || strcmp(key, "yunit") == 0 ||
                          strcmp(key, "zunit") == 0 || strcmp(key, "spacing") == 0))
        return false;
    if (!(values_kept && shape_kept) && (strcmp(key, "min") == 0 || strcmp(key, "max") == 0 ||
                                         strcmp(key, "8bitcolor") == 0 || is_calibration(key)))
        return false;
    return shape_kept || strcmp(key, "mode") != 0;
}

static void add_counts(struct vf_text *to, const struct vf_info *result)
{
    const size_t channels = result->shape.nc / result->page_channels;
    const size_t slices = result->shape.nz, frames = result->shape.nt;
    if (result->page_count > 1)
        vf_text_add(to, "images=%zu\n", result->page_count);
    if (channels > 1)
        vf_text_add(to, "channels=%zu\n", channels);
    if (slices > 1)
        vf_text_add(to, "slices=%zu\n", slices);
    if (frames > 1)
        vf_text_add(to, "frames=%zu\n", frames);
    if (channels > 1 || (slices > 1 && frames > 1))
        vf_text_add(to, "hyperstack=true\n");
}

/* The unit, and z's; x and y are the resolution, without which neither would be true. */
static void add_spacing(struct vf_text *to, const struct vf_info *result)
{
    double resolution[2];
    uint16_t unit;
    if (result->spacing_known[0] && !vf_tags_result_resolution(result, resolution, &unit))
        return;
    if (result->unit[0] != '\0')
        vf_text_add(to, "unit=%s\n", strcmp(result->unit, "um") == 0 ? "micron" : result->unit);
    if (result->spacing_known[2])
        vf_text_add(to, "spacing=%.15g\n", result->spacing[2]);
}

static void add_description(struct vf_text *to, const char *description, const struct vf_info *result)
{
    const struct vf_tags *tags = result->tags;
    const bool spacing_kept = is_own(description) && tags != NULL && vf_tags_spacing_kept(tags, result);
    const bool values_kept = tags != NULL && vf_tags_values_kept(tags, result);
    const bool shape_kept = tags != NULL && vf_tags_shape_kept(tags, result);
    char key[32], value[64];
    const char *rest = next_line(vf_imagej_is(description) ? description : "", key, value);
    /* The version is what writers say that are not ImageJ. */
    vf_text_add(to, "ImageJ=%s\n", is_own(description) ? value : "1.11a");
    add_counts(to, result);
    if (!shape_kept && result->shape.nc > result->page_channels)
        vf_text_add(to, "mode=grayscale\n");
    if (!spacing_kept)
        add_spacing(to, result);
    while (*rest != '\0') {
        const char *line = rest;
        rest = next_line(line, key, value);
        const int length = (int)strcspn(line, "\n");
        if (length > 0 && keep_line(key, spacing_kept, values_kept, shape_kept))
            vf_text_add(to, "%.*s\n", length, line);
    }
}

char *vf_imagej_describe(const char *description, const struct vf_info *result, struct vf_error *error)
{
    struct vf_text text = {0};
    add_description(&text, description, result);
    return vf_text_take(&text, "description", error);
}
