/* A chain as the user wrote it: filters with parsed, range-checked values. Nothing here knows the image.
 *
 * CHAIN = STAGE {"," STAGE};  STAGE = NAME [":" KEY=VALUE {":" KEY=VALUE}], also NAME=KEY=VALUE...; one bare
 * value sets the filter's first parameter. */
#ifndef VF_CHAIN_H
#define VF_CHAIN_H

#include "error.h"
#include "filters/filter.h"

#define VF_MAX_PARAMS 12

struct vf_link {
    const struct vf_filter *filter;
    struct vf_value value[VF_MAX_PARAMS]; /* one for each of filter->params, defaults filled in */
};

struct vf_chain {
    int count;
    struct vf_link *link; /* owned */
};

/* Appends the filters of `text` to the chain (repeated -f). Usage errors name the word, the nearest right one
 * and the allowed range. */
enum vf_status vf_chain_append(struct vf_chain *chain, const char *text, struct vf_error *error);
void vf_chain_free(struct vf_chain *chain);

/* The last filter whose result is float32 whatever the input, NULL where each keeps the input's type. Those
 * after it keep float32: a derivative that is smoothed is as often negative, or a fraction, as before. */
const struct vf_filter *vf_chain_float_filter(const struct vf_chain *chain);

/* The same chain in a form that vf_chain_append reads, with every parameter written out; or, shorter, with
 * those that were given. Owned by the caller. */
char *vf_chain_text(const struct vf_chain *chain, struct vf_error *error);
char *vf_chain_given_text(const struct vf_chain *chain, struct vf_error *error);

#endif
