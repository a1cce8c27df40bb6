#include "info.h"

#include <limits.h>
#include <string.h>

#include "io.h"
#include "json.h"

static const char *metadata_name(enum vf_metadata metadata)
{
    static const char *const names[] = {
        [VF_META_PLAIN] = "plain", [VF_META_IMAGEJ] = "ImageJ", [VF_META_OME] = "OME"};
    return names[metadata];
}

static const char *compression_name(enum vf_compression compression)
{
    static const char *const names[] = {
        [VF_COMPRESS_AS_INPUT] = "other",  [VF_COMPRESS_NONE] = "none", [VF_COMPRESS_LZW] = "lzw",
        [VF_COMPRESS_DEFLATE] = "deflate", [VF_COMPRESS_ZSTD] = "zstd", [VF_COMPRESS_PACKBITS] = "packbits",
    };
    return names[compression];
}

/* Names, units and notes come from files. */
static void print_safely(FILE *to, const char *text)
{
    char shown[2 * PATH_MAX];
    fputs(vf_show_controls(text, shown, sizeof shown), to);
}

static void print_spacing(FILE *to, const struct vf_info *info)
{
    if (!info->spacing_known[0] && !info->spacing_known[1] && !info->spacing_known[2]) {
        fputs("unknown\n", to);
        return;
    }
    /* MRC files and their users have angstroms. */
    const bool in_angstroms = info->format == VF_FORMAT_MRC && strcmp(info->unit, "nm") == 0;
    for (int i = 0; i < 3; i++) {
        fputs(i > 0 ? " x " : "", to);
        fprintf(to, info->spacing_known[i] ? "%.7g" : "?", (in_angstroms ? 10 : 1) * info->spacing[i]);
    }
    putc(' ', to);
    print_safely(to, in_angstroms ? "A" : info->unit[0] != '\0' ? info->unit : "(no unit)");
    putc('\n', to);
}

static void print_bytes(FILE *to, const struct vf_info *info)
{
    const double mib = 1 << 20, kib = 1 << 10;
    size_t bytes;
    if (!vf_volume_bytes(info->type, &info->shape, &bytes))
        fputs("too large to count", to);
    else if ((double)bytes < mib)
        fprintf(to, "%.1f KiB", (double)bytes / kib);
    else
        fprintf(to, "%.1f MiB", (double)bytes / mib);
}

static void print_text(FILE *to, const char *path, const struct vf_info *info)
{
    const struct vf_shape *shape = &info->shape;
    print_safely(to, path);
    fprintf(to, "\n  format       %s%s", info->big_tiff ? "Big" : "", vf_format_name(info->format));
    if (info->format == VF_FORMAT_TIFF)
        fprintf(to, ", %s metadata", metadata_name(info->metadata));
    fprintf(to, "\n  size         %zu x %zu x %zu (x, y, z)\n", shape->nx, shape->ny, shape->nz);
    fprintf(to, "  channels     %zu%s\n", shape->nc, info->has_alpha ? ", including alpha" : "");
    fprintf(to, "  time points  %zu\n", shape->nt);
    fprintf(to, "  type         %s%s", vf_type_name(info->type), info->min_is_white ? ", 0 is white" : "");
    if (info->half_floats)
        fputs(", stored as float16", to);
    else if (info->packed_bits != 0)
        fprintf(to, ", stored in %u bit%s", info->packed_bits, info->packed_bits == 1 ? "" : "s");
    putc('\n', to);
    fputs("  spacing      ", to);
    print_spacing(to, info);
    fprintf(to, "  compression  %s\n", compression_name(info->compression));
    fprintf(to, "  layout       %zu page%s of %zu channel%s", info->page_count,
            info->page_count == 1 ? "" : "s", info->page_channels, info->page_channels == 1 ? "" : "s");
    if (info->format == VF_FORMAT_TIFF)
        fprintf(to, ", %s, %s-endian%s%s%s", info->tiled ? "tiles" : "strips",
                info->big_endian ? "big" : "little", info->planar_separate ? ", separate planes" : "",
                info->page_order[0] != '\0' ? ", pages in the order " : "", info->page_order);
    else if (info->format == VF_FORMAT_MRC)
        fprintf(to, ", %s, %s-endian",
                info->image_stack    ? "images"
                : info->shape.nt > 1 ? "volumes"
                                     : "one volume",
                info->big_endian ? "big" : "little");
    if (vf_info_takes_pages_as_planes(info))
        fputs(", taken as planes along z (--slices filters each one separately)", to);
    fputs("\n  in memory    ", to);
    print_bytes(to, info);
    putc('\n', to);
    if (info->note[0] != '\0') {
        fputs("  note         ", to);
        print_safely(to, info->note);
        putc('\n', to);
    }
}

static void print_json_spacing(struct vf_json *json, const struct vf_info *info)
{
    vf_json_begin_array(json, "spacing");
    for (int i = 0; i < 3; i++) {
        if (info->spacing_known[i])
            vf_json_number(json, NULL, info->spacing[i]);
        else
            vf_json_string(json, NULL, NULL);
    }
    vf_json_end(json);
    vf_json_string(json, "unit", info->unit[0] != '\0' ? info->unit : NULL);
}

static void print_json(FILE *to, const char *path, const struct vf_info *info)
{
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_json_string(&json, "file", path);
    vf_json_string(&json, "format", vf_format_name(info->format));
    vf_json_string(&json, "metadata", metadata_name(info->metadata));
    vf_json_integer(&json, "nx", (long long)info->shape.nx);
    vf_json_integer(&json, "ny", (long long)info->shape.ny);
    vf_json_integer(&json, "nz", (long long)info->shape.nz);
    vf_json_integer(&json, "channels", (long long)info->shape.nc);
    vf_json_integer(&json, "time_points", (long long)info->shape.nt);
    vf_json_string(&json, "type", vf_type_name(info->type));
    print_json_spacing(&json, info);
    vf_json_string(&json, "compression", compression_name(info->compression));
    vf_json_integer(&json, "pages", (long long)info->page_count);
    vf_json_integer(&json, "page_channels", (long long)info->page_channels);
    vf_json_string(&json, "page_order", info->page_order[0] != '\0' ? info->page_order : "czt");
    vf_json_boolean(&json, "alpha", info->has_alpha);
    vf_json_boolean(&json, "big_tiff", info->big_tiff);
    vf_json_boolean(&json, "big_endian", info->big_endian);
    vf_json_boolean(&json, "tiled", info->tiled);
    vf_json_boolean(&json, "planar_separate", info->planar_separate);
    vf_json_boolean(&json, "min_is_white", info->min_is_white);
    vf_json_boolean(&json, "half_floats", info->half_floats);
    vf_json_integer(&json, "packed_bits", info->packed_bits);
    vf_json_boolean(&json, "image_stack", info->image_stack);
    vf_json_string(&json, "note", info->note[0] != '\0' ? info->note : NULL);
    vf_json_end(&json);
}

enum vf_status vf_info_print(const char *path, bool as_json, FILE *to, struct vf_error *error)
{
    struct vf_reader *reader = NULL;
    enum vf_status status = vf_reader_open(&reader, path, error);
    if (status == VF_OK) {
        if (as_json)
            print_json(to, path, vf_reader_info(reader));
        else
            print_text(to, path, vf_reader_info(reader));
    }
    vf_reader_close(reader);
    return status;
}
