/* ImageJ's metadata block (TIFF tags 50838, byte counts, and 50839): slice labels, display ranges, lookup
 * tables, overlays. Source: ij/io/TiffDecoder.java and TiffEncoder.java of ImageJ 1.5x. */
#ifndef VF_IMAGEJ_DATA_H
#define VF_IMAGEJ_DATA_H

#include <stdint.h>

#include "io.h"

struct vf_imagej_data {
    uint32_t *counts;
    uint32_t count;
    unsigned char *bytes;
    uint32_t size;
};

void vf_imagej_data_free(struct vf_imagej_data *data);

/* The block for a result that is ImageJ's: of the input's parts those that still hold, and labels for outputs
 * that have names. Nothing (count 0) when there is nothing to say. Free with vf_imagej_data_free. */
enum vf_status vf_imagej_data_for_result(const struct vf_info *result, struct vf_imagej_data *data,
                                         struct vf_error *error);

/* Bytes that it takes. */
size_t vf_imagej_data_bytes(const struct vf_info *result);

/* The names of the input's parts that the result does not keep, "" for none. */
void vf_imagej_data_lost(const struct vf_info *result, char *lost, size_t room);

#endif
