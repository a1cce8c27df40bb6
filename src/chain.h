/* A chain as the user wrote it: filters with parsed, range-checked values. Nothing here knows the image.
 *
 * CHAIN = STAGE {"," STAGE};  STAGE = NAME [":" KEY=VALUE {":" KEY=VALUE}], also NAME=KEY=VALUE...; one bare
 * value sets the filter's first parameter. */
#ifndef VF_CHAIN_H
#define VF_CHAIN_H

#include "error.h"
#include "filters/filter.h"

#define VF_MAX_PARAMS 12 /* of a filter */

struct vf_link {
    const struct vf_filter *filter;
    struct vf_value value[VF_MAX_PARAMS]; /* one for each of filter->params, defaults filled in */
};

struct vf_chain {
    int count;
    struct vf_link *link; /* owned */
};

/* Appends the filters of `text` (one -f) to the chain, which is all 0 at first. A usage error names the word
 * that is wrong, the nearest right one or the allowed range. Also after a failure the caller frees the chain.
 */
enum vf_status vf_chain_append(struct vf_chain *chain, const char *text, struct vf_error *error);
void vf_chain_free(struct vf_chain *chain);

/* Which link's filter is the last one whose result is float32 whatever its input; -1 if every filter keeps
 * the input's type. The chain's result is float32 if there is one, even where later filters keep their
 * input's type: a derivative that is smoothed still has signs and fractions. */
int vf_chain_float_link(const struct vf_chain *chain);

/* The chain as a text that vf_chain_append reads: with every parameter, or with those that the user gave.
 * Owned by the caller, freed by vf_free; NULL with a message. */
char *vf_chain_text(const struct vf_chain *chain, struct vf_error *error);
char *vf_chain_given_text(const struct vf_chain *chain, struct vf_error *error);

#endif
