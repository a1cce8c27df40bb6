/* Pages as a TIFF stores them: their layout, what of it is read, and samples that are packed. */
#include "half.h"
#include "io_tiff.h"
#include "size.h"

/* The best ratios: LZW repeats its longest string, 3838 bytes, by a code of 12 bits; deflate makes 258 bytes
 * of 2 bits; zstd a block of 128 KiB of 4 bytes; PackBits 128 of 2. Old-style deflate is read, never written.
 */
static const struct vf_tiff_codec codecs[] = {
    {COMPRESSION_NONE, VF_COMPRESS_NONE, "none", 1, 0},
    {COMPRESSION_LZW, VF_COMPRESS_LZW, "LZW", 2600, 150 << 10},
    {COMPRESSION_ADOBE_DEFLATE, VF_COMPRESS_DEFLATE, "deflate", 1100, 600 << 10},
    {COMPRESSION_DEFLATE, VF_COMPRESS_DEFLATE, "deflate", 1100, 600 << 10},
    {COMPRESSION_ZSTD, VF_COMPRESS_ZSTD, "zstd", 44000, 1200 << 10},
    {COMPRESSION_PACKBITS, VF_COMPRESS_PACKBITS, "PackBits", 64, 16 << 10},
};

const struct vf_tiff_codec *vf_tiff_codec_by_scheme(uint16_t scheme)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].scheme == scheme)
            return &codecs[i];
    return NULL;
}

const struct vf_tiff_codec *vf_tiff_codec_by_compression(enum vf_compression compression)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].compression == compression)
            return &codecs[i];
    return NULL;
}

void vf_tiff_layout_get(TIFF *tif, struct vf_tiff_layout *layout)
{
    uint32_t subfile = 0;
    *layout = (struct vf_tiff_layout){.bits = 1, .samples = 1};
    TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &layout->width);
    TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &layout->height);
    TIFFGetFieldDefaulted(tif, TIFFTAG_IMAGEDEPTH, &layout->depth);
    TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &layout->bits);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &layout->samples);
    TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &layout->format);
    TIFFGetFieldDefaulted(tif, TIFFTAG_PLANARCONFIG, &layout->planar);
    TIFFGetFieldDefaulted(tif, TIFFTAG_FILLORDER, &layout->fill_order);
    TIFFGetField(tif, TIFFTAG_EXTRASAMPLES, &layout->extra_count, &layout->extra);
    TIFFGetField(tif, TIFFTAG_COMPRESSION, &layout->scheme); /* none in real files that lack the tag */
    if (!TIFFGetField(tif, TIFFTAG_PHOTOMETRIC, &layout->photometric))
        layout->photometric =
            layout->samples == 3 || layout->samples == 4 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    TIFFGetFieldDefaulted(tif, TIFFTAG_SUBFILETYPE, &subfile);
    layout->reduced = (subfile & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0;
    layout->tiled = TIFFIsTiled(tif);
    if (layout->tiled) {
        TIFFGetField(tif, TIFFTAG_TILEWIDTH, &layout->tile_width);
        TIFFGetField(tif, TIFFTAG_TILELENGTH, &layout->tile_height);
    } else {
        layout->tile_width = layout->width;
        TIFFGetFieldDefaulted(tif, TIFFTAG_ROWSPERSTRIP, &layout->tile_height);
        if (layout->tile_height > layout->height)
            layout->tile_height = layout->height;
    }
}

/* Numbers of Aperio's scanners, Bio-Formats and others, which libtiff has no codec for. */
static bool is_jpeg_2000(uint16_t scheme)
{
    return scheme == COMPRESSION_JP2000 || scheme == 33003 || scheme == 33004 || scheme == 33005;
}

static enum vf_status check_compression(const struct vf_tiff_layout *layout, struct vf_error *error)
{
    const TIFFCodec *known = TIFFFindCODEC(layout->scheme);
    const struct vf_tiff_codec *codec = vf_tiff_codec_by_scheme(layout->scheme);
    if (layout->scheme == COMPRESSION_JPEG || layout->scheme == COMPRESSION_OJPEG)
        return vf_fail(error, VF_FAILED,
                       "is compressed with JPEG, which is not supported; convert it: tiff2rgba -n -c "
                       "none IN.tif OUT.tif (colour) or tiffcp -c none (grey)");
    if (codec == NULL && known != NULL && layout->bits == 1)
        return vf_fail(
            error, VF_FAILED,
            "has 1 bit per sample, compressed with %s, which is not supported; convert it: convert IN.tif "
            "-depth 8 -compress none OUT.tif",
            known->name);
    if (codec == NULL && known != NULL)
        return vf_fail(
            error, VF_FAILED,
            "is compressed with %s, which is not supported; convert it: tiffcp -c none IN.tif OUT.tif",
            known->name);
    if (codec == NULL)
        return vf_fail(error, VF_FAILED,
                       "has the unknown compression %u%s; save it uncompressed or with Deflate in a "
                       "program that reads it",
                       layout->scheme, is_jpeg_2000(layout->scheme) ? " (JPEG 2000)" : "");
    if (!TIFFIsCODECConfigured(layout->scheme))
        return vf_fail(error, VF_FAILED,
                       "is compressed with %s, which this machine's libtiff does not support; convert it on "
                       "another: tiffcp -c lzw IN.tif OUT.tif",
                       codec->name);
    return VF_OK;
}

static enum vf_status check_photometric(const struct vf_tiff_layout *layout, bool has_tables,
                                        struct vf_error *error)
{
    const char *kind, *remedy = "tiff2rgba -n -c none IN.tif OUT.tif";
    switch (layout->photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
        return VF_OK;
    case PHOTOMETRIC_RGB:
        if (layout->samples >= 3)
            return VF_OK;
        return vf_fail(error, VF_FAILED,
                       "is marked as RGB but has %u sample%s per pixel; if it is grey, mark it so: tiffset "
                       "-s 262 1 IN.tif",
                       layout->samples, layout->samples == 1 ? "" : "s");
    case PHOTOMETRIC_PALETTE:
        if (has_tables && layout->samples == 1)
            return VF_OK;
        kind = "palette colours";
        if (layout->bits > 8)
            remedy = "convert IN.tif -type TrueColor OUT.tif";
        break;
    case PHOTOMETRIC_YCBCR:
        kind = "YCbCr colours";
        break;
    case PHOTOMETRIC_SEPARATED:
        kind = "CMYK inks";
        break;
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
        kind = "CIE L*a*b* colours";
        remedy = "convert IN.tif -colorspace sRGB OUT.tif";
        break;
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
        kind = "LogLuv values";
        break;
    case PHOTOMETRIC_MASK:
        kind = "a transparency mask";
        remedy = "convert IN.tif -depth 8 OUT.tif";
        break;
    case PHOTOMETRIC_CFA:
        kind = "a colour filter array (raw camera data)";
        remedy = "dcraw -T IN";
        break;
    default:
        return vf_fail(error, VF_FAILED,
                       "has the unknown photometric interpretation %u; if it is grey, mark it so: tiffset -s "
                       "262 1 IN.tif",
                       layout->photometric);
    }
    return vf_fail(error, VF_FAILED, "holds %s, whose values cannot be filtered; convert it: %s", kind,
                   remedy);
}

static enum vf_status find_type(const struct vf_tiff_layout *layout, enum vf_type *type,
                                struct vf_error *error)
{
    static const struct {
        uint16_t bits, format;
        enum vf_type type;
    } types[] = {
        {8, SAMPLEFORMAT_UINT, VF_U8},     {16, SAMPLEFORMAT_UINT, VF_U16},   {32, SAMPLEFORMAT_UINT, VF_U32},
        {8, SAMPLEFORMAT_INT, VF_I8},      {16, SAMPLEFORMAT_INT, VF_I16},    {32, SAMPLEFORMAT_INT, VF_I32},
        {32, SAMPLEFORMAT_IEEEFP, VF_F32}, {64, SAMPLEFORMAT_IEEEFP, VF_F64},
    };
    const uint16_t format = layout->format == SAMPLEFORMAT_VOID ? SAMPLEFORMAT_UINT : layout->format;
    if (vf_tiff_is_packed(layout)) {
        *type = format == SAMPLEFORMAT_IEEEFP ? VF_F32 : VF_U16;
        return VF_OK;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].bits == layout->bits && types[i].format == format) {
            *type = types[i].type;
            return VF_OK;
        }
    }
    if (format == SAMPLEFORMAT_COMPLEXINT || format == SAMPLEFORMAT_COMPLEXIEEEFP)
        return vf_fail(error, VF_FAILED,
                       "holds complex numbers, which cannot be filtered; save their real and imaginary "
                       "parts, or their magnitude, as float32 images");
    if (format == SAMPLEFORMAT_IEEEFP)
        return vf_fail(error, VF_FAILED,
                       "holds %u-bit floating point; save it as float32 with the program that made it",
                       layout->bits);
    if (layout->bits > 32)
        return vf_fail(
            error, VF_FAILED,
            "holds %u-bit integers, which cannot be filtered; save it as float64 or as 32-bit integers",
            layout->bits);
    const char *const plural = layout->bits == 1 ? "" : "s";
    if (format == SAMPLEFORMAT_UINT && layout->bits < 8)
        return vf_fail(
            error, VF_FAILED,
            "has %u bit%s per sample, but of integers only 8 to 16 or 32 are supported; convert it, "
            "which spreads its values over 0 to 255: convert IN.tif -depth 8 OUT.tif",
            layout->bits, plural);
    return vf_fail(
        error, VF_FAILED,
        "has %u bit%s per sample%s are supported; save it as %sint%d with the program that made it",
        layout->bits, plural,
        format == SAMPLEFORMAT_INT ? " with a sign, but of these only 8, 16 or 32"
                                   : ", but of integers only 8 to 16 or 32",
        format == SAMPLEFORMAT_INT ? "" : "u",
        layout->bits < 8    ? 8
        : layout->bits < 16 ? 16
                            : 32);
}

enum vf_status vf_tiff_layout_understand(const struct vf_tiff_layout *layout, bool has_tables,
                                         struct vf_info *info, struct vf_error *error)
{
    if (check_compression(layout, error) != VF_OK || check_photometric(layout, has_tables, error) != VF_OK ||
        find_type(layout, &info->type, error) != VF_OK)
        return VF_FAILED;
    if (layout->depth > 1)
        return vf_fail(error, VF_FAILED,
                       "holds a volume of %u planes in one page, which is not supported; save it with one "
                       "page per plane, in Python: tifffile.imwrite(OUT, tifffile.imread(IN), "
                       "photometric='minisblack')",
                       layout->depth);
    if (layout->width == 0 || layout->height == 0 || layout->samples == 0)
        return vf_fail(error, VF_FAILED, "holds no pixels (%u x %u, %u samples per pixel)", layout->width,
                       layout->height, layout->samples);
    size_t page, strile;
    if (layout->width > INT32_MAX || layout->height > INT32_MAX ||
        !vf_tiff_layout_sizes(layout, &page, &strile))
        return vf_fail(error, VF_FAILED, "claims %u x %u pixels, more than can be addressed", layout->width,
                       layout->height);
    for (uint16_t i = 0; i + 1 < layout->extra_count; i++)
        if (layout->extra[i] != EXTRASAMPLE_UNSPECIFIED)
            return vf_fail(error, VF_FAILED,
                           "has an alpha channel that is not its last; reorder its channels");

    const bool rgb = layout->photometric == PHOTOMETRIC_RGB;
    const uint16_t last =
        layout->extra_count == 0 ? EXTRASAMPLE_UNSPECIFIED : layout->extra[layout->extra_count - 1];
    info->rgb = rgb;
    /* A fourth sample of RGB of which nothing is said is alpha, as libtiff takes it too: many writers say
     * nothing. What is said to be unspecified is a channel, such as near infrared. */
    info->has_alpha = (layout->samples > 1 && last != EXTRASAMPLE_UNSPECIFIED) ||
                      (rgb && layout->samples == 4 && layout->extra_count == 0);
    info->premultiplied = info->has_alpha && last == EXTRASAMPLE_ASSOCALPHA;
    info->packed_bits = vf_tiff_is_packed(layout) ? layout->bits : 0;
    info->half_floats = info->packed_bits == 16;
    info->min_is_white = layout->photometric == PHOTOMETRIC_MINISWHITE;
    info->page_channels = layout->samples;
    info->tiled = layout->tiled;
    info->planar_separate = layout->planar == PLANARCONFIG_SEPARATE && layout->samples > 1;
    info->compression = vf_tiff_codec_by_scheme(layout->scheme)->compression;
    info->shape = (struct vf_shape){layout->width, layout->height, 1, layout->samples, 1};
    return VF_OK;
}

bool vf_tiff_is_packed(const struct vf_tiff_layout *layout)
{
    if (layout->format == SAMPLEFORMAT_IEEEFP)
        return layout->bits == 16;
    return layout->bits > 8 && layout->bits < 16 &&
           (layout->format == SAMPLEFORMAT_UINT || layout->format == SAMPLEFORMAT_VOID);
}

size_t vf_tiff_stored_bytes(const struct vf_tiff_layout *layout, size_t samples)
{
    return samples / 8 * layout->bits + (samples % 8 * layout->bits + 7) / 8;
}

/* The first sample's highest bit comes first, whatever the byte order of the file. */
static void unpack_bits(const unsigned char *from, size_t count, unsigned bits, uint16_t *to)
{
    uint32_t held = 0;
    unsigned have = 0;
    for (size_t i = 0; i < count; i++) {
        for (; have < bits; have += 8)
            held = held << 8 | *from++;
        have -= bits;
        to[i] = (uint16_t)(held >> have & ((1u << bits) - 1));
    }
}

void vf_tiff_unpack(const struct vf_tiff_layout *layout, const void *from, size_t count, void *to)
{
    if (layout->format != SAMPLEFORMAT_IEEEFP) {
        unpack_bits(from, count, layout->bits, to);
        return;
    }
    for (size_t i = 0; i < count; i++)
        ((float *)to)[i] = vf_half_to_float(((const uint16_t *)from)[i]);
}

bool vf_tiff_layout_sizes(const struct vf_tiff_layout *layout, size_t *page, size_t *strile)
{
    const size_t together = layout->planar == PLANARCONFIG_SEPARATE ? 1 : layout->samples;
    const size_t planes = layout->samples / together;
    size_t row, samples;
    /* 32 bits of pixels, 16 of samples and 16 of bits a sample: no row overflows before the last step. */
    if (!vf_size_mul(layout->width, together, &samples) || !vf_size_mul(samples, layout->bits, &row))
        return false;
    row = vf_tiff_stored_bytes(layout, samples);
    if (!vf_size_mul(row, layout->height, page) || !vf_size_mul(*page, planes, page))
        return false;
    row = vf_tiff_stored_bytes(layout, layout->tile_width * together);
    return vf_size_mul(row, layout->tile_height, strile) && *page <= PTRDIFF_MAX / 4 &&
           *strile <= PTRDIFF_MAX / 4;
}
