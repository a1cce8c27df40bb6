/* The OME-XML of a result: the input's text, with the description of its first image's pixels brought up to
 * date and the other images, which are not in the result, left out. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "io_tags.h"
#include "ome.h"
#include "utf8.h"

static const char *type_name(enum vf_type type)
{
    return type == VF_F32 ? "float" : type == VF_F64 ? "double" : vf_type_name(type);
}

static unsigned code_point(const char *text, int length)
{
    unsigned code = length == 1 ? (unsigned char)*text : (unsigned char)*text & 0x7fu >> length;
    for (int i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

/* Without references by number where that can be: Bio-Formats does not read them. */
void vf_ome_add_text(struct vf_text *to, const struct vf_ome *ome, const char *text)
{
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    for (int length; *text != '\0'; text += length) {
        static const char marks[] = "&<>\"";
        const char *mark = strchr(marks, *text);
        length = vf_utf8_length((const unsigned char *)text);
        length = length == 0 ? 1 : length;
        if (mark != NULL)
            vf_text_add(to, "%s", names[mark - marks]);
        else if ((unsigned char)*text < 0x20 || (length > 1 && !ome->is_utf8))
            vf_text_add(to, "&#%u;", code_point(text, length));
        else
            vf_text_add(to, "%.*s", length, text);
    }
}

static void add_dimensions(struct vf_text *to, const struct vf_info *result)
{
    const struct vf_shape *s = &result->shape;
    const char *o = result->page_order[0] == '\0' ? "czt" : result->page_order;
    vf_text_add(
        to,
        " DimensionOrder=\"XY%c%c%c\" Type=\"%s\" BigEndian=\"%s\" SizeX=\"%zu\" SizeY=\"%zu\" SizeZ=\"%zu\""
        " SizeC=\"%zu\" SizeT=\"%zu\"",
        toupper((unsigned char)o[0]), toupper((unsigned char)o[1]), toupper((unsigned char)o[2]),
        type_name(result->type), result->big_endian ? "true" : "false", s->nx, s->ny, s->nz, s->nc, s->nt);
}

/* A size that is the input's stays as it was written, in its own unit for each axis. */
static void add_spacing(struct vf_text *to, const struct vf_ome *ome, const struct vf_info *result)
{
    static const char axis[] = "XYZ";
    if (vf_tags_spacing_kept(result->tags, result)) {
        vf_text_add(to, "%s", ome->sizes);
        return;
    }
    const char *unit = strcmp(result->unit, "um") == 0 ? "\302\265m"
                       : result->unit[0] == '\0'       ? "pixel"
                                                       : result->unit;
    for (int i = 0; i < 3; i++) {
        if (!result->spacing_known[i])
            continue;
        vf_text_add(to, " PhysicalSize%c=\"%.15g\" PhysicalSize%cUnit=\"", axis[i], result->spacing[i],
                    axis[i]);
        vf_ome_add_text(to, ome, unit);
        vf_text_add(to, "\"");
    }
}

static void add_pieces(struct vf_text *to, const struct vf_ome *ome, enum vf_ome_piece_kind kind)
{
    for (size_t i = 0; i < ome->piece_count; i++) {
        const struct vf_ome_piece *piece = &ome->piece[i];
        if (piece->kind == kind)
            vf_text_add(to, "%.*s", (int)(piece->end - piece->begin), ome->xml + piece->begin);
    }
}

/* Each of the input's channels has given as many of the result as there are outputs; its elements are one for
 * all samples of a page. */
static void add_channels(struct vf_text *to, const struct vf_ome *ome, const struct vf_info *result)
{
    const size_t outputs = result->outputs == 0 ? 1 : result->outputs;
    for (size_t c = 0; c < result->shape.nc / result->page_channels; c++) {
        const size_t first = c * result->page_channels, input = first / outputs / ome->page_channels;
        const char *name = input < ome->channel_count ? ome->channel_name[input] : NULL;
        const char *label = result->output_label == NULL ? NULL : result->output_label[first % outputs];
        vf_text_add(to, "<%sChannel ID=\"Channel:0:%zu\" SamplesPerPixel=\"%zu\"", ome->prefix, c,
                    result->page_channels);
        if (name != NULL || label != NULL) {
            vf_text_add(to, " Name=\"");
            vf_ome_add_text(to, ome, name == NULL ? "" : name);
            if (name == NULL && result->shape.nc > outputs)
                vf_text_add(to, "channel %zu: ", first / outputs + 1);
            vf_text_add(to, "%s", name != NULL && label != NULL ? " " : "");
            vf_ome_add_text(to, ome, label == NULL ? "" : label);
            vf_text_add(to, "\"");
        }
        vf_text_add(to, "/>");
    }
}

static bool keeps_channels(const struct vf_ome *ome, const struct vf_info *result)
{
    return result->shape.nc == ome->nc && result->page_channels == ome->page_channels && result->outputs <= 1;
}

static void add_pixels(struct vf_text *to, const struct vf_ome *ome, const struct vf_info *result)
{
    const bool same = keeps_channels(ome, result);
    vf_text_add(to, "<%sPixels%s", ome->prefix, ome->attributes);
    add_dimensions(to, result);
    add_spacing(to, ome, result);
    vf_text_add(to, ">");
    if (same && ome->channel_count > 0)
        add_pieces(to, ome, VF_OME_CHANNEL);
    else
        add_channels(to, ome, result);
    vf_text_add(to, "<%sTiffData IFD=\"0\" PlaneCount=\"%zu\"/>", ome->prefix, result->page_count);
    if (same)
        add_pieces(to, ome, VF_OME_PLANE);
    add_pieces(to, ome, VF_OME_OTHER);
    vf_text_add(to, "</%sPixels>", ome->prefix);
}

/* Whether it is to the image that is kept, or may be. */
static bool refers_to_image(const struct vf_ome *ome, const struct vf_ome_piece *reference)
{
    char quoted[sizeof ome->image_id + 2];
    const size_t length = reference->end - reference->begin;
    if (ome->image_id[0] == '\0')
        return true;
    for (const char *quote = "\"'"; *quote != '\0'; quote++) {
        snprintf(quoted, sizeof quoted, "%c%s%c", *quote, ome->image_id, *quote);
        if (memmem(ome->xml + reference->begin, length, quoted, strlen(quoted)) != NULL)
            return true;
    }
    return false;
}

static bool leaves_out(const struct vf_ome *ome, const struct vf_info *result,
                       const struct vf_ome_piece *piece)
{
    return piece->kind == VF_OME_IMAGE ||
           (piece->kind == VF_OME_IMAGE_REFERENCE && !refers_to_image(ome, piece)) ||
           (piece->kind == VF_OME_SHAPE_CHANNEL && !keeps_channels(ome, result));
}

/* A stretch of the text outside the image's pixels. */
static void add_stretch(struct vf_text *to, const struct vf_ome *ome, const struct vf_info *result,
                        size_t begin, size_t end)
{
    for (size_t i = 0; i < ome->piece_count; i++) {
        const struct vf_ome_piece *piece = &ome->piece[i];
        if (piece->begin < begin || piece->end > end || !leaves_out(ome, result, piece))
            continue;
        vf_text_add(to, "%.*s", (int)(piece->begin - begin), ome->xml + begin);
        begin = piece->end;
    }
    vf_text_add(to, "%.*s", (int)(end - begin), ome->xml + begin);
}

char *vf_ome_write(const struct vf_ome *ome, const struct vf_info *result, struct vf_error *error)
{
    struct vf_text text = {0};
    add_stretch(&text, ome, result, 0, ome->uuid_begin);
    add_stretch(&text, ome, result, ome->uuid_end, ome->pixels_begin);
    add_pixels(&text, ome, result);
    add_stretch(&text, ome, result, ome->pixels_end, strlen(ome->xml));
    return vf_text_take(&text, "description", error);
}
