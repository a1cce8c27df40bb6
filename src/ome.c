/* Parsing OME-XML. ome_planes.c finds which page is which plane, ome_describe.c reads what it says of the
 * voxels, ome_write.c writes that of a result. */
#include "ome_parse.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "alloc.h"
#include "number.h"
#include "size.h"

enum { DEEPEST = 64, LONGEST = 256 << 20 };

/* ---- memory: the parser's is counted like all other ---- */

static void *xml_alloc(size_t bytes)
{
    struct vf_error ignored; /* the parser reports it */
    size_t room;
    size_t *block = vf_size_add(bytes, VF_ALIGNMENT, &room) ? vf_alloc(room, 1, "OME-XML", &ignored) : NULL;
    if (block == NULL)
        return NULL;
    *block = bytes;
    return (char *)block + VF_ALIGNMENT;
}

static void xml_free(void *block)
{
    if (block != NULL)
        vf_free((char *)block - VF_ALIGNMENT);
}

static void *xml_resize(void *block, size_t bytes)
{
    void *larger = xml_alloc(bytes);
    if (larger != NULL && block != NULL) {
        const size_t before = *(size_t *)(void *)((char *)block - VF_ALIGNMENT);
        memcpy(larger, block, before < bytes ? before : bytes);
        xml_free(block);
    }
    return larger;
}

/* ---- what goes wrong ---- */

void vf_ome_fail(struct vf_ome_parsing *p, const char *format, ...)
{
    char text[256];
    va_list arguments;
    if (p->failed)
        return;
    p->failed = true;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    vf_fail(p->error, VF_FAILED, "its OME-XML %s (line %lu)" VF_OME_REMEDY, text,
            (unsigned long)XML_GetCurrentLineNumber(p->parser));
    XML_StopParser(p->parser, XML_FALSE);
}

void vf_ome_fail_memory(struct vf_ome_parsing *p)
{
    p->failed = true; /* the message is there */
    XML_StopParser(p->parser, XML_FALSE);
}

/* ---- attributes ---- */

static const char *attribute(const XML_Char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

int64_t vf_ome_whole(struct vf_ome_parsing *p, const XML_Char **attributes, const char *name, int64_t least,
                     int64_t otherwise)
{
    const char *text = attribute(attributes, name);
    char *end;
    if (text == NULL)
        return otherwise;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > INT32_MAX) {
        vf_ome_fail(p, "says %s=\"%.40s\"", name, text);
        return otherwise;
    }
    return value;
}

/* The name without its prefix. */
static const char *local(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon == NULL ? name : colon + 1;
}

static bool is_size_of_voxels(const char *name)
{
    return strncmp(name, "PhysicalSize", 12) == 0;
}

/* Attributes of Pixels that vf_ome_write says itself. */
static bool is_rewritten(const char *name)
{
    static const char *const names[] = {"DimensionOrder", "Type", "BigEndian", "Interleaved",
                                        "SignificantBits"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return strncmp(name, "Size", 4) == 0;
}

/* As XML, those of the voxels' size or the others. */
static char *keep_attributes(struct vf_ome_parsing *p, const XML_Char **attributes, bool sizes)
{
    struct vf_text text = {0};
    for (; *attributes != NULL; attributes += 2) {
        if (is_rewritten(attributes[0]) || is_size_of_voxels(attributes[0]) != sizes)
            continue;
        vf_text_add(&text, " %s=\"", attributes[0]);
        vf_ome_add_text(&text, p->ome, attributes[1]);
        vf_text_add(&text, "\"");
    }
    return vf_text_take(&text, "OME-XML", p->error);
}

/* ---- pixels ---- */

static bool order_is_known(const char *order)
{
    static const char *const known[] = {"XYZCT", "XYZTC", "XYCZT", "XYCTZ", "XYTZC", "XYTCZ"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], order) == 0)
            return true;
    return false;
}

static void read_sizes(struct vf_ome_parsing *p, const XML_Char **attributes)
{
    static const char *const axis[] = {"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ"};
    static const char *const unit[] = {"PhysicalSizeXUnit", "PhysicalSizeYUnit", "PhysicalSizeZUnit"};
    struct vf_ome *ome = p->ome;
    ome->nz = (size_t)vf_ome_whole(p, attributes, "SizeZ", 1, 1);
    ome->nc = (size_t)vf_ome_whole(p, attributes, "SizeC", 1, 1);
    ome->nt = (size_t)vf_ome_whole(p, attributes, "SizeT", 1, 1);
    ome->page_channels = p->samples;
    const char *bits = attribute(attributes, "SignificantBits");
    ome->significant_bits = bits == NULL ? 0 : (unsigned)strtoul(bits, NULL, 10);
    for (int i = 0; i < 3; i++) {
        const char *size = attribute(attributes, axis[i]), *in = attribute(attributes, unit[i]);
        const double value = size == NULL ? 0 : vf_number_alone(size);
        ome->spacing[i] = isfinite(value) && value > 0 ? value : 0;
        snprintf(ome->unit[i], sizeof ome->unit[i], "%s", in == NULL ? "um" : in);
    }
}

static void begin_pixels(struct vf_ome_parsing *p, const char *name, const XML_Char **attributes)
{
    struct vf_ome *ome = p->ome;
    const char *order = attribute(attributes, "DimensionOrder");
    p->pixels_depth = p->depth;
    p->has_storage = false;
    p->here = p->elsewhere = p->placed = 0;
    ome->image = ome->image_count;
    ome->pixels_begin = (size_t)XML_GetCurrentByteIndex(p->parser);
    snprintf(ome->prefix, sizeof ome->prefix, "%.*s", (int)(local(name) - name), name);
    snprintf(ome->order, sizeof ome->order, "%s", order == NULL ? "XYCZT" : order);
    memcpy(ome->image_id, p->image_id, sizeof ome->image_id);
    read_sizes(p, attributes);
    if (p->failed)
        return;
    if (!order_is_known(ome->order))
        vf_ome_fail(p, "has the unknown DimensionOrder \"%.20s\"", ome->order);
    else if (ome->nc % p->samples != 0)
        vf_ome_fail(p, "gives %zu channels in pages of %zu samples", ome->nc, p->samples);
    else if (strlen(name) >= sizeof ome->prefix)
        vf_ome_fail(p, "has the element <%.40s>", name);
    else if ((ome->attributes = keep_attributes(p, attributes, false)) == NULL ||
             (ome->sizes = keep_attributes(p, attributes, true)) == NULL)
        vf_ome_fail_memory(p);
    else
        vf_ome_make_planes(p);
}

/* ---- elements ---- */

static enum vf_ome_piece_kind piece_kind(const char *name)
{
    static const struct {
        const char *name;
        enum vf_ome_piece_kind kind;
    } kinds[] = {{"Channel", VF_OME_CHANNEL},
                 {"TiffData", VF_OME_STORAGE},
                 {"BinData", VF_OME_STORAGE},
                 {"MetadataOnly", VF_OME_STORAGE},
                 {"Plane", VF_OME_PLANE}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return VF_OME_OTHER;
}

static void add_piece(struct vf_ome_parsing *p, enum vf_ome_piece_kind kind, size_t end)
{
    struct vf_ome *ome = p->ome;
    struct vf_ome_piece *grown =
        vf_grow(ome->piece, ome->piece_count, &p->piece_room, sizeof *grown, "OME-XML", p->error);
    if (grown == NULL) {
        vf_ome_fail_memory(p);
        return;
    }
    ome->piece = grown;
    ome->piece[ome->piece_count++] = (struct vf_ome_piece){kind, p->begin, end};
}

static bool is_channel_setting(const char *name)
{
    return strcmp(name, "ID") != 0 && strcmp(name, "Name") != 0 && strcmp(name, "SamplesPerPixel") != 0;
}

static void begin_channel(struct vf_ome_parsing *p, const XML_Char **attributes)
{
    struct vf_ome *ome = p->ome;
    const char *name = attribute(attributes, "Name");
    char **grown =
        vf_grow(ome->channel_name, ome->channel_count, &p->channel_room, sizeof *grown, "OME-XML", p->error);
    if (grown == NULL) {
        vf_ome_fail_memory(p);
        return;
    }
    ome->channel_name = grown;
    char *copy = name == NULL ? NULL : vf_strdup(name, p->error);
    if (name != NULL && copy == NULL)
        vf_ome_fail_memory(p);
    ome->channel_name[ome->channel_count++] = copy;
    for (; *attributes != NULL; attributes += 2)
        ome->has_channel_settings = ome->has_channel_settings || is_channel_setting(attributes[0]);
}

static void free_image(struct vf_ome *ome)
{
    for (size_t i = 0; i < ome->channel_count; i++)
        vf_free(ome->channel_name[i]);
    vf_free(ome->channel_name);
    vf_free(ome->attributes);
    vf_free(ome->sizes);
    vf_free(ome->directory);
}

/* The image is in other files altogether: the next one may be in this. */
static void forget_image(struct vf_ome_parsing *p)
{
    struct vf_ome *ome = p->ome;
    size_t images = 0;
    while (images < ome->piece_count && ome->piece[images].kind >= VF_OME_IMAGE)
        images++;
    free_image(ome);
    ome->channel_name = NULL;
    ome->attributes = ome->sizes = NULL;
    ome->directory = NULL;
    ome->channel_count = p->channel_room = 0;
    ome->piece_count = images;
    ome->has_channel_settings = false;
    ome->image = ome->pixels_begin = ome->pixels_end = 0;
}

static void begin_in_pixels(struct vf_ome_parsing *p, const char *name, const XML_Char **attributes)
{
    if (p->depth == p->pixels_depth + 1) {
        p->begin = (size_t)XML_GetCurrentByteIndex(p->parser);
        p->in_channel = strcmp(name, "Channel") == 0;
        if (p->in_channel)
            begin_channel(p, attributes);
        else if (strcmp(name, "TiffData") == 0)
            vf_ome_begin_storage(p, attributes);
    } else if (p->in_storage && strcmp(name, "UUID") == 0) {
        const char *file = attribute(attributes, "FileName");
        p->in_uuid = true;
        snprintf(p->file, sizeof p->file, "%s", file == NULL ? "" : file);
    } else if (p->in_channel && strcmp(name, "LightPath") != 0) {
        p->ome->has_channel_settings = true;
    }
}

/* Where an attribute stands in the tag that begins at `at`: the space before it, and what follows its value.
 */
static void find_attribute(const char *xml, size_t at, const char *name, size_t *begin, size_t *end)
{
    const size_t length = strlen(name);
    *begin = *end = 0;
    at += strcspn(xml + at, " \t\r\n>");
    while (xml[at] != '\0' && xml[at] != '>') {
        const size_t start = at;
        at += strspn(xml + at, " \t\r\n");
        const bool found =
            strncmp(xml + at, name, length) == 0 && strchr(" \t\r\n=", xml[at + length]) != NULL;
        at += strcspn(xml + at, "\"'>");
        if (xml[at] != '"' && xml[at] != '\'')
            return;
        const char *close = strchr(xml + at + 1, xml[at]);
        if (close == NULL)
            return;
        at = (size_t)(close + 1 - xml);
        if (found) {
            *begin = start;
            *end = at;
            return;
        }
    }
}

static void begin_file(struct vf_ome_parsing *p, const char *uuid)
{
    snprintf(p->own_uuid, sizeof p->own_uuid, "%s", uuid);
    find_attribute(p->ome->xml, (size_t)XML_GetCurrentByteIndex(p->parser), "UUID", &p->ome->uuid_begin,
                   &p->ome->uuid_end);
}

/* Neither in the image nor in another one. */
static void begin_outside(struct vf_ome_parsing *p, const char *name, const XML_Char **attributes)
{
    size_t end;
    const size_t at = (size_t)XML_GetCurrentByteIndex(p->parser);
    if (strcmp(name, "ImageRef") == 0) {
        p->reference_begin = at;
    } else if (attribute(attributes, "TheC") != NULL) {
        find_attribute(p->ome->xml, at, "TheC", &p->begin, &end);
        add_piece(p, VF_OME_SHAPE_CHANNEL, end);
    }
}

static void XMLCALL on_begin(void *context, const XML_Char *full_name, const XML_Char **attributes)
{
    struct vf_ome_parsing *p = context;
    const char *name = local(full_name), *uuid = attribute(attributes, "UUID"),
               *id = attribute(attributes, "ID");
    if (++p->depth > DEEPEST) {
        vf_ome_fail(p, "is nested more than %d deep", DEEPEST);
    } else if (p->depth == 1 && uuid != NULL) {
        begin_file(p, uuid);
    } else if (strcmp(name, "BinaryOnly") == 0) {
        const char *file = attribute(attributes, "MetadataFile");
        vf_ome_fail(
            p,
            "says that the metadata is in another file, %.100s; bfconvert %.100s OUT.ome.tif joins the files",
            file == NULL ? "?" : file, file == NULL ? "IN" : file);
    } else if (p->depth == 2 && strcmp(name, "Image") == 0) {
        p->image_depth = p->depth;
        p->ome->image_count++;
        p->image_begin = (size_t)XML_GetCurrentByteIndex(p->parser);
        snprintf(p->image_id, sizeof p->image_id, "%s",
                 id == NULL || strlen(id) >= sizeof p->image_id ? "" : id);
    } else if (p->image_depth == 0) {
        begin_outside(p, name, attributes);
    } else if (p->pixels_depth != 0) {
        begin_in_pixels(p, name, attributes);
    } else if (p->ome->image == 0 && strcmp(name, "Pixels") == 0) {
        begin_pixels(p, full_name, attributes);
    }
}

static void XMLCALL on_end(void *context, const XML_Char *full_name)
{
    struct vf_ome_parsing *p = context;
    const char *name = local(full_name);
    const size_t end =
        (size_t)XML_GetCurrentByteIndex(p->parser) + (size_t)XML_GetCurrentByteCount(p->parser);
    if (p->failed)
        return;
    if (p->pixels_depth != 0 && p->depth == p->pixels_depth + 1) {
        if (p->in_storage)
            vf_ome_end_storage(p);
        if (!p->failed)
            add_piece(p, piece_kind(name), end);
    } else if (p->pixels_depth != 0 && p->depth == p->pixels_depth) {
        p->pixels_depth = 0;
        p->ome->pixels_end = end;
    } else if (p->image_depth == 0 && strcmp(name, "ImageRef") == 0) {
        p->begin = p->reference_begin;
        add_piece(p, VF_OME_IMAGE_REFERENCE, end);
    } else if (p->image_depth == p->depth) {
        p->image_depth = 0;
        if (p->here == 0 && p->elsewhere > 0 && p->ome->image == p->ome->image_count)
            forget_image(p);
        p->begin = p->image_begin;
        if (p->ome->image != p->ome->image_count)
            add_piece(p, VF_OME_IMAGE, end);
    }
    p->in_uuid = p->in_uuid && strcmp(name, "UUID") != 0;
    p->depth--;
}

static void XMLCALL on_text(void *context, const XML_Char *text, int length)
{
    struct vf_ome_parsing *p = context;
    for (int i = 0; p->in_uuid && i < length; i++)
        if (text[i] > ' ' && p->uuid_length + 1 < sizeof p->uuid)
            p->uuid[p->uuid_length++] = text[i];
}

/* Without a document type there are no entities but XML's own five. */
static void XMLCALL on_document_type(void *context, const XML_Char *name, const XML_Char *system,
                                     const XML_Char *public, int has_subset)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_subset;
    vf_ome_fail(context, "declares a document type, which OME-XML must not have");
}

static void XMLCALL on_declaration(void *context, const XML_Char *version, const XML_Char *encoding,
                                   int standalone)
{
    struct vf_ome_parsing *p = context;
    (void)version;
    (void)standalone;
    p->ome->is_utf8 = encoding == NULL || strcasecmp(encoding, "UTF-8") == 0;
}

/* ---- the whole ---- */

static enum vf_status run_parser(struct vf_ome_parsing *p, size_t length)
{
    struct vf_ome *ome = p->ome;
    /* In one piece: a long token in several would be read again from its start with each. */
    const bool read = XML_Parse(p->parser, ome->xml, (int)length, XML_TRUE) == XML_STATUS_OK;
    if (!read && XML_GetErrorCode(p->parser) == XML_ERROR_NO_MEMORY)
        return vf_fail(p->error, VF_FAILED, "OME-XML: cannot allocate memory");
    if (!read && !p->failed)
        return vf_fail(p->error, VF_FAILED, "its OME-XML cannot be read: line %lu: %s" VF_OME_REMEDY,
                       (unsigned long)XML_GetCurrentLineNumber(p->parser),
                       XML_ErrorString(XML_GetErrorCode(p->parser)));
    return p->failed ? VF_FAILED : vf_ome_check_planes(p);
}

bool vf_ome_recognise(const char *description)
{
    if (description == NULL)
        return false;
    const char *root = strstr(description, "OME");
    return description[strspn(description, " \t\r\n\xef\xbb\xbf")] == '<' && root != NULL &&
           strstr(description, "http://www.openmicroscopy.org/Schemas/") != NULL;
}

enum vf_status vf_ome_parse(struct vf_ome **out, const char *xml, size_t directories, size_t samples,
                            struct vf_error *error)
{
    static const XML_Memory_Handling_Suite memory = {xml_alloc, xml_resize, xml_free};
    enum vf_status status = VF_FAILED;
    const size_t length = strlen(xml);
    struct vf_ome *ome = *out = vf_alloc(1, sizeof *ome, "OME-XML", error);
    if (ome == NULL)
        return VF_FAILED;
    struct vf_ome_parsing p = {.ome = ome, .directories = directories, .samples = samples, .error = error};
    if (length > LONGEST)
        return vf_fail(error, VF_FAILED, "its OME-XML has %zu bytes, which exceeds the limit", length);
    ome->is_utf8 = true;
    ome->xml = vf_strdup(xml, error);
    if (ome->xml == NULL)
        return VF_FAILED;
    p.parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (p.parser == NULL)
        return vf_fail(error, VF_FAILED, "OME-XML: cannot allocate memory");
    XML_SetUserData(p.parser, &p);
    XML_SetElementHandler(p.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(p.parser, on_text);
    XML_SetStartDoctypeDeclHandler(p.parser, on_document_type);
    XML_SetXmlDeclHandler(p.parser, on_declaration);
    status = run_parser(&p, length);
    XML_ParserFree(p.parser);
    return status;
}

void vf_ome_free(struct vf_ome *ome)
{
    if (ome == NULL)
        return;
    free_image(ome);
    vf_free(ome->piece);
    vf_free(ome->xml);
    vf_free(ome);
}
