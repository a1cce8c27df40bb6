#include "mrc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "byte_order.h"
#include "number.h"
#include "size.h"
#include "version.h"

/* Where in the header, in bytes. */
enum {
    AT_COUNT = 0,
    AT_MODE = 12,
    AT_START = 16,
    AT_INTERVAL = 28,
    AT_CELL = 40,
    AT_ANGLE = 52,
    AT_AXIS = 64,
    AT_RANGE = 76,
    AT_SPACE_GROUP = 88,
    AT_EXTENDED = 92,
    AT_VERSION = 108,
    AT_IMOD_STAMP = 152,
    AT_IMOD_FLAGS = 156,
    AT_ORIGIN = 196,
    AT_MAP = 208,
    AT_STAMP = 212,
    AT_DEVIATION = 216,
    AT_LABEL_COUNT = 220,
    AT_LABELS = 224
};

enum {
    IMOD_STAMP = 1146047817,
    IMOD_SIGNED = 1,
    IMOD_NIBBLES = 16,
    LABELS = 10,
    LABEL = 80,
    VERSION = 20141
};

/* "MAP " and the machine stamps, as bytes in their order. */
enum { MAP = 0x4d415020, BIG_STAMP = 0x11110000, LITTLE_STAMP = 0x44440000 };

/* Space groups from here on are stacks of volumes of the group less 400. */
enum { VOLUME_STACK = 401, LAST_VOLUME_STACK = 630 };

static uint32_t word_at(const unsigned char *bytes, bool big_endian, int at)
{
    return (uint32_t)vf_number_of_bytes(bytes + at, 4, big_endian);
}

static int32_t int_at(const unsigned char *bytes, bool big_endian, int at)
{
    return (int32_t)word_at(bytes, big_endian, at);
}

static double float_at(const unsigned char *bytes, bool big_endian, int at)
{
    const uint32_t word = word_at(bytes, big_endian, at);
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

static void put_word(unsigned char *bytes, bool big_endian, int at, uint32_t word)
{
    vf_number_to_bytes(word, bytes + at, 4, big_endian);
}

static void put_float(unsigned char *bytes, bool big_endian, int at, double value)
{
    const float narrow = (float)value;
    uint32_t word;
    memcpy(&word, &narrow, sizeof word);
    put_word(bytes, big_endian, at, word);
}

static bool is_imod(const unsigned char *bytes, bool big_endian)
{
    return int_at(bytes, big_endian, AT_IMOD_STAMP) == IMOD_STAMP;
}

static bool suits_byte_order(const unsigned char *bytes, bool big_endian)
{
    return word_at(bytes, big_endian, AT_MODE) <= 127 && word_at(bytes, big_endian, AT_AXIS) <= 3;
}

/* The machine stamp's, unless only the other one fits: programs that write none, or a wrong one, still write
 * a small mode and axis. */
static bool find_byte_order(const unsigned char *bytes, bool *big_endian)
{
    const bool is_stamped = bytes[AT_STAMP] == 0x11 || bytes[AT_STAMP] == 0x44;
    *big_endian = bytes[AT_STAMP] == 0x11;
    if (suits_byte_order(bytes, *big_endian))
        return true;
    if (suits_byte_order(bytes, !*big_endian)) {
        *big_endian = !*big_endian;
        return true;
    }
    return is_stamped;
}

/* Bytes have a sign unless IMOD says that its own have none. Programs older than that rule wrote them without
 * one; the range that their header states then tells, as it does to IMOD. */
static bool bytes_are_signed(const unsigned char *bytes, bool big_endian)
{
    const double least = float_at(bytes, big_endian, AT_RANGE),
                 most = float_at(bytes, big_endian, AT_RANGE + 4);
    if (is_imod(bytes, big_endian))
        return (word_at(bytes, big_endian, AT_IMOD_FLAGS) & IMOD_SIGNED) != 0;
    return !(least >= 0 && most >= 128 && most <= 255);
}

static enum vf_status find_type(const struct vf_mrc_header *header, bool is_signed, enum vf_type *type,
                                size_t *stored, struct vf_error *error)
{
    static const char *const complex = "holds complex numbers (a transform), which cannot be filtered; "
                                       "transform it back: clip fft IN.mrc OUT.mrc";
    switch (header->mode) {
    case 0:
        *type = is_signed ? VF_I8 : VF_U8;
        break;
    case 1:
        *type = VF_I16;
        break;
    case 2:
    case 12:
        *type = VF_F32;
        break;
    case 6:
        *type = VF_U16;
        break;
    case 3:
    case 4:
        return vf_fail(error, VF_FAILED, "mode %d: %s", header->mode, complex);
    case 16:
        return vf_fail(error, VF_FAILED, "mode 16: holds colours; convert it: mrc2tif -s IN.mrc OUT.tif");
    case 101:
        return vf_fail(error, VF_FAILED,
                       "mode 101: holds 4-bit integers; unpack it: newstack -mode 1 IN.mrc OUT.mrc");
    default:
        return vf_fail(error, VF_FAILED, "has the unknown mode %d; modes 0, 1, 2, 6 and 12 are supported",
                       header->mode);
    }
    *stored = header->mode == 12 ? 2 : vf_type_size(*type);
    return VF_OK;
}

/* Zeros stand for 1, 2, 3 in files of older programs. */
static enum vf_status check_axes(const struct vf_mrc_header *header, struct vf_error *error)
{
    const int32_t *axis = header->axis;
    if ((axis[0] == 1 && axis[1] == 2 && axis[2] == 3) || (axis[0] == 0 && axis[1] == 0 && axis[2] == 0))
        return VF_OK;
    unsigned named = 0;
    for (int i = 0; i < 3; i++)
        named |= axis[i] >= 1 && axis[i] <= 3 ? 1u << axis[i] : 0;
    const bool is_order = named == (1u << 1 | 1u << 2 | 1u << 3);
    return vf_fail(
        error, VF_FAILED, "its columns, rows and sections run along axes %d, %d, %d (MAPC, MAPR, MAPS)%s",
        axis[0], axis[1], axis[2],
        is_order ? ", not 1, 2, 3; reorder them: mapmask mapin IN.map mapout OUT.map, with AXIS X Y Z"
                 : ": its header is damaged; copy the file again");
}

enum vf_status vf_mrc_parse(const unsigned char bytes[VF_MRC_HEADER], struct vf_mrc_header *header,
                            enum vf_type *type, size_t *stored, struct vf_error *error)
{
    bool big;
    *header = (struct vf_mrc_header){0};
    if (!find_byte_order(bytes, &big))
        return vf_fail(error, VF_FAILED, "has no machine stamp and no known mode: its header is damaged");
    header->big_endian = big;
    header->imod = is_imod(bytes, big);
    header->mode = int_at(bytes, big, AT_MODE);
    header->space_group = int_at(bytes, big, AT_SPACE_GROUP);
    header->extended = word_at(bytes, big, AT_EXTENDED);
    for (int i = 0; i < 3; i++) {
        header->count[i] = int_at(bytes, big, AT_COUNT + 4 * i);
        header->interval[i] = int_at(bytes, big, AT_INTERVAL + 4 * i);
        header->axis[i] = int_at(bytes, big, AT_AXIS + 4 * i);
        header->cell[i] = float_at(bytes, big, AT_CELL + 4 * i);
        header->angle[i] = float_at(bytes, big, AT_ANGLE + 4 * i);
    }
    if (header->imod && header->mode == 0 && (word_at(bytes, big, AT_IMOD_FLAGS) & IMOD_NIBBLES) != 0)
        return vf_fail(
            error, VF_FAILED,
            "its bytes hold two 4-bit integers each, as IMOD's flags say; unpack it: newstack -mode 1 "
            "IN.mrc OUT.mrc");
    if (find_type(header, bytes_are_signed(bytes, big), type, stored, error) != VF_OK ||
        check_axes(header, error) != VF_OK)
        return VF_FAILED;
    if (header->count[0] < 1 || header->count[1] < 1 || header->count[2] < 1)
        return vf_fail(error, VF_FAILED,
                       "claims %lld x %lld x %lld voxels: its header is damaged; copy the file again",
                       (long long)header->count[0], (long long)header->count[1], (long long)header->count[2]);
    if (header->extended > INT32_MAX)
        return vf_fail(error, VF_FAILED,
                       "claims %d bytes of extended header: its header is damaged; copy the file again",
                       (int32_t)header->extended);
    return VF_OK;
}

/* The standard's: group 0 and a cell of one section, across which nothing has a distance. Group 0 alone does
 * not say it, since tomograms have it too. */
static bool is_image_stack(const struct vf_mrc_header *header)
{
    return header->space_group == 0 && header->count[2] > 1 && header->interval[2] == 1 &&
           header->interval[0] == header->count[0];
}

static bool is_volume_stack(int32_t space_group)
{
    return space_group >= VOLUME_STACK && space_group <= LAST_VOLUME_STACK;
}

bool vf_mrc_describe(const struct vf_mrc_header *header, struct vf_info *info)
{
    const bool volumes = is_volume_stack(header->space_group);
    const int64_t sections = header->count[2], each = header->interval[2];
    const bool even = each > 0 && sections % each == 0;
    info->shape = (struct vf_shape){.nx = (size_t)header->count[0],
                                    .ny = (size_t)header->count[1],
                                    .nz = (size_t)(volumes && even ? each : sections),
                                    .nc = 1,
                                    .nt = (size_t)(volumes && even ? sections / each : 1)};
    info->image_stack = is_image_stack(header);
    for (int i = 0; i < 3; i++) {
        const double spacing =
            header->interval[i] > 0 ? header->cell[i] / (double)header->interval[i] / 10 : 0;
        if (!isfinite(spacing) || !(spacing > 0) || (i == 2 && info->image_stack))
            continue;
        info->spacing_known[i] = true;
        info->spacing[i] = spacing;
        strcpy(info->unit, "nm");
    }
    return even || !volumes;
}

int vf_mrc_mode(const struct vf_info *result, const unsigned char *input)
{
    switch (result->type) {
    case VF_I8:
        return 0;
    case VF_U8: /* the standard's bytes are signed; IMOD says when its own are not */
        return input != NULL && is_imod(input, result->big_endian) ? 0 : 6;
    case VF_I16:
        return 1;
    case VF_U16:
        return 6;
    case VF_F32:
        return result->half_floats ? 12 : 2;
    default:
        return -1;
    }
}

static void put_fresh(unsigned char *bytes, const struct vf_info *result)
{
    const struct vf_shape *s = &result->shape;
    const bool big = result->big_endian;
    const size_t interval[] = {s->nx, s->ny, result->image_stack ? 1 : s->nz};
    memset(bytes, 0, VF_MRC_HEADER);
    for (int i = 0; i < 3; i++) {
        put_word(bytes, big, AT_INTERVAL + 4 * i, (uint32_t)interval[i]);
        put_float(bytes, big, AT_ANGLE + 4 * i, 90);
        put_word(bytes, big, AT_AXIS + 4 * i, (uint32_t)i + 1);
    }
    put_word(bytes, big, AT_SPACE_GROUP,
             s->nt > 1                           ? VOLUME_STACK
             : s->nz > 1 && !result->image_stack ? 1
                                                 : 0);
    put_word(bytes, big, AT_VERSION, VERSION);
}

/* Where the header does not say how many voxels a cell has, it is the volume. */
static void put_cell(unsigned char *bytes, const struct vf_info *result)
{
    const bool big = result->big_endian;
    const double angstrom = vf_unit_nanometres(result->unit) * 10;
    const size_t count[] = {result->shape.nx, result->shape.ny, result->shape.nz};
    for (int i = 0; i < 3; i++) {
        const bool known = result->spacing_known[i] && angstrom > 0;
        if (known && int_at(bytes, big, AT_INTERVAL + 4 * i) <= 0)
            put_word(bytes, big, AT_INTERVAL + 4 * i, (uint32_t)count[i]);
        const double interval = int_at(bytes, big, AT_INTERVAL + 4 * i);
        put_float(bytes, big, AT_CELL + 4 * i, known ? result->spacing[i] * angstrom * interval : 0);
    }
}

/* Volumes that were read as one, since the sections were no whole number of them, are one: the cell is all of
 * it. */
static void put_one_volume(unsigned char *bytes, const struct vf_info *result)
{
    const bool big = result->big_endian;
    const int32_t each = int_at(bytes, big, AT_INTERVAL + 8), sections = (int32_t)result->shape.nz;
    if (!is_volume_stack(int_at(bytes, big, AT_SPACE_GROUP)) || result->shape.nt > 1 || each == sections)
        return;
    put_word(bytes, big, AT_SPACE_GROUP, 1);
    put_word(bytes, big, AT_INTERVAL + 8, (uint32_t)sections);
    if (each > 0)
        put_float(bytes, big, AT_CELL + 8, float_at(bytes, big, AT_CELL + 8) / each * sections);
}

static bool has_text(const unsigned char *label)
{
    bool has = false;
    for (int i = 0; i < LABEL; i++)
        has = has || (label[i] != '\0' && label[i] != ' ');
    return has;
}

/* Up to the last one with text: what the header says of their number is not always true. */
static int label_count(const unsigned char *bytes)
{
    int count = LABELS;
    while (count > 0 && !has_text(bytes + AT_LABELS + (count - 1) * LABEL))
        count--;
    return count;
}

/* Where another one goes: after the last one, or into a gap; LABELS: nowhere. */
static int free_label(const unsigned char *bytes)
{
    int at = label_count(bytes);
    if (at < LABELS)
        return at;
    for (at = 0; at < LABELS && has_text(bytes + AT_LABELS + at * LABEL);)
        at++;
    return at;
}

bool vf_mrc_takes_label(const unsigned char bytes[VF_MRC_HEADER])
{
    return free_label(bytes) < LABELS;
}

/* What made the file, after those that made what it was made from: as much of it as one label holds, in
 * ASCII.
 */
static void put_label(unsigned char *bytes, const struct vf_info *result)
{
    static const char more[] = "...";
    const bool big = result->big_endian, has_chain = result->chain != NULL;
    const int at = free_label(bytes);
    char label[LABEL + 1];
    put_word(bytes, big, AT_LABEL_COUNT, (uint32_t)vf_larger(label_count(bytes), at < LABELS ? at + 1 : 0));
    if (at == LABELS)
        return;
    const int length = snprintf(label, sizeof label, "volfilter %s%s%s", VF_VERSION, has_chain ? ": " : "",
                                has_chain ? result->chain : "");
    if (length > LABEL)
        memcpy(label + LABEL - (sizeof more - 1), more, sizeof more);
    unsigned char *to = bytes + AT_LABELS + at * LABEL;
    memset(to, ' ', LABEL);
    for (int i = 0; label[i] != '\0'; i++)
        to[i] = label[i] >= ' ' && label[i] <= '~' ? (unsigned char)label[i] : '?';
}

void vf_mrc_header_write(unsigned char bytes[VF_MRC_HEADER], const unsigned char *input,
                         const struct vf_info *result, bool spacing_kept, uint32_t extended,
                         const struct vf_mrc_statistics *statistics)
{
    const struct vf_shape *s = &result->shape;
    const bool big = result->big_endian;
    if (input != NULL)
        memcpy(bytes, input, VF_MRC_HEADER);
    else
        put_fresh(bytes, result);
    put_word(bytes, big, AT_COUNT, (uint32_t)s->nx);
    put_word(bytes, big, AT_COUNT + 4, (uint32_t)s->ny);
    put_word(bytes, big, AT_COUNT + 8, (uint32_t)(s->nz * s->nt));
    put_word(bytes, big, AT_MODE, (uint32_t)vf_mrc_mode(result, input));
    put_one_volume(bytes, result);
    if (input == NULL || !spacing_kept)
        put_cell(bytes, result);
    if (is_imod(bytes, big)) {
        const uint32_t flags = word_at(bytes, big, AT_IMOD_FLAGS) & ~(uint32_t)IMOD_SIGNED;
        put_word(bytes, big, AT_IMOD_FLAGS, flags | (result->type == VF_I8 ? IMOD_SIGNED : 0));
    }
    put_word(bytes, big, AT_EXTENDED, extended);
    put_float(bytes, big, AT_RANGE, statistics->least);
    put_float(bytes, big, AT_RANGE + 4, statistics->most);
    put_float(bytes, big, AT_RANGE + 8, statistics->mean);
    put_float(bytes, big, AT_DEVIATION, statistics->deviation);
    put_word(bytes, true, AT_MAP, MAP);
    put_word(bytes, true, AT_STAMP, big ? BIG_STAMP : LITTLE_STAMP);
    put_label(bytes, result);
}

static bool any_byte(const unsigned char *bytes, int begin, int end)
{
    for (int i = begin; i < end; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

/* By either of its two ways: in Angstrom, or as the number of the first column, row and section. */
bool vf_mrc_has_origin(const unsigned char bytes[VF_MRC_HEADER])
{
    return any_byte(bytes, AT_ORIGIN, AT_MAP) || any_byte(bytes, AT_START, AT_INTERVAL);
}

bool vf_mrc_has_labels(const unsigned char bytes[VF_MRC_HEADER])
{
    return any_byte(bytes, AT_LABEL_COUNT, AT_LABELS);
}
