/* --explain: the plan in words, or as JSON. */
#ifndef VF_EXPLAIN_H
#define VF_EXPLAIN_H

#include <stdio.h>

#include "io.h"
#include "json.h"
#include "plan.h"
#include "stream_plan.h"

struct vf_explained {
    const struct vf_plan *plan;
    const char *in, *out; /* file names */
    const struct vf_info *input, *result;
    size_t channels;                     /* filtered */
    const struct vf_stream_plan *stream; /* slab by slab; NULL: the whole is held */
    bool overlapped;                     /* not because it is larger than memory */
    bool compresses;                     /* the result, so that its file's size is not known */
    size_t memory, memory_limit;         /* bytes: predicted peak, allowed */
    double compile_seconds;              /* predicted, of kernels that the cache lacks; 0: it has all */
};

void vf_explain(const struct vf_explained *explained, FILE *to);

/* The same as members of the object that is open. */
void vf_explain_json(const struct vf_explained *explained, struct vf_json *json);

/* Of the two: the passes over slabs. */
void vf_explain_stream(const struct vf_explained *explained, FILE *to);
void vf_explain_stream_json(const struct vf_explained *explained, struct vf_json *json);

#endif
