/* A table of weights in a file of text: rows of numbers parted by blanks, tabs or commas, a blank line
 * between planes (z), comments from '#' on. Rows have one length, planes one number of rows, and each size is
 * odd: the centre is in the middle. */
#ifndef VF_WEIGHTS_H
#define VF_WEIGHTS_H

#include "error.h"
#include "filters/filter.h"

/* Reads the file that `text` names; `filter` and `param` are for messages. If '#' and the digits of a
 * checksum follow the name, as in a chain that vf_chain_text wrote, the file must still hold those weights.
 * The result is freed by vf_free. A usage error names file, line and remedy. */
enum vf_status vf_weights_read(const char *text, const char *filter, const char *param,
                               struct vf_weights **weights, struct vf_error *error);

#endif
