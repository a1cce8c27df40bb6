/* The header of an MRC file: what its 1024 bytes say, and those of a result.
 * Source: MRC2014 (Cheng et al., J. Struct. Biol. 192, 2015) as www.ccpem.ac.uk keeps it; IMOD's notes on its
 * own use of the format (imodStamp, imodFlags). */
#ifndef VF_MRC_H
#define VF_MRC_H

#include <stdint.h>

#include "io.h"

enum { VF_MRC_HEADER = 1024 };

struct vf_mrc_header {
    bool big_endian;
    bool imod;           /* IMOD wrote it, and says whether its bytes have a sign */
    int64_t count[3];    /* columns, rows, sections */
    int64_t interval[3]; /* along the cell: `m` */
    int32_t mode, space_group, axis[3];
    double cell[3];    /* Angstrom */
    double angle[3];   /* between its axes, in degrees; 0 where an older program says none */
    uint32_t extended; /* bytes of the extended header, which follows */
};

/* Says why when the bytes are no header that can be read: an unknown mode, other axes than columns x, rows y,
 * sections z. `stored` gets the size of an element in the file. */
enum vf_status vf_mrc_parse(const unsigned char bytes[VF_MRC_HEADER], struct vf_mrc_header *header,
                            enum vf_type *type, size_t *stored, struct vf_error *error);

/* Fills in shape, spacing and what the sections are; false when a stack of volumes does not come out even and
 * is taken as one volume. */
bool vf_mrc_describe(const struct vf_mrc_header *header, struct vf_info *info);

struct vf_mrc_statistics {
    double least, most, mean, deviation;
};

/* The header of a result: the input's (`input`, NULL for none) with what has changed. `extended` bytes follow
 * it. */
void vf_mrc_header_write(unsigned char bytes[VF_MRC_HEADER], const unsigned char *input,
                         const struct vf_info *result, bool spacing_kept, uint32_t extended,
                         const struct vf_mrc_statistics *statistics);

/* What no other format of a result says. */
bool vf_mrc_has_origin(const unsigned char bytes[VF_MRC_HEADER]);
bool vf_mrc_has_labels(const unsigned char bytes[VF_MRC_HEADER]);

/* Whether there is room for one label more: a header has ten, and none is replaced. */
bool vf_mrc_takes_label(const unsigned char bytes[VF_MRC_HEADER]);

/* The mode that holds a result, -1 for none. */
int vf_mrc_mode(const struct vf_info *result, const unsigned char *input);

#endif
