/* Running a chain on volumes in memory, for the tests: what vf_run_file does between reading and writing. */
#ifndef VF_TESTS_PIPELINE_H
#define VF_TESTS_PIPELINE_H

#include "execute.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct pipeline {
    const char *chain;
    ptrdiff_t nx, ny, nz, nt;
    enum vf_type type; /* of the input */
    bool has_nans;     /* some values of an input of VF_F32 are NaNs, of different bits, and infinities */
    enum vf_boundary boundary;
    double constant;
    double aspect[3]; /* 0: 1 */
    bool precise;     /* compute in double */
    bool slices;
    int threads;              /* 0: 1 */
    const char *scheme;       /* as --scheme */
    struct vf_cuda *cuda;     /* NULL: on the CPU */
    enum vf_type result_type; /* of the output */
    size_t *progress;         /* counts the voxels that progress hears of; may be NULL */
};

/* An input of the pipeline's shape, one channel: repeatable noise over a few levels and a step, from 40 to
 * 200 scaled to the type; `seed` varies it. Free with vf_volume_free. */
struct vf_volume pipeline_input(const struct pipeline *p, unsigned seed);

/* Runs it; the result's buffer is poisoned first, so that an element that is not written shows. Aborts the
 * test on failure. `value` may be NULL: the global values of the only channel, at most VF_MAX_GLOBALS of the
 * first filter. */
struct vf_volume pipeline_run(const struct pipeline *p, const struct vf_volume *in, double *value);

/* The same of the input that the tables of tests/tables/ are of. */
struct vf_volume pipeline_run_ref_input(const struct pipeline *p);

/* Rows are computed by the vector level after *level that this processor runs; before the first one it is -1.
 * False: there are no more. */
bool next_vector_level(int *level);

/* The status and message of planning and running it. */
enum vf_status pipeline_try(const struct pipeline *p, const struct vf_volume *in, struct vf_volume *out,
                            double *value, struct vf_error *error);

/* Plans and runs it on an input of its own, which must be refused as wrong usage, by a message with `text` in
 * it; NULL: must not. */
void pipeline_expect_usage(const struct pipeline *p, const char *text);

/* Runs it and the chain `one` on an input of its own: the bits of the latter's only channel must be those of
 * its channel `channel`. */
void pipeline_expect_channel(const struct pipeline *p, size_t channel, const char *one);

/* A pipeline of the reference scheme on nx x ny x nz voxels that computes and stores in float, or in double
 * if `precise`: isotropic voxels, nearest boundary, the constant 31. */
struct pipeline pipeline_reference(const char *chain, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz, bool precise);

/* A chain's plan, and the flow of its last run, whose stages a test may change. */
struct last_flow {
    struct vf_chain chain;
    struct vf_plan plan;
    struct vf_flow flow;
};

/* `request` is all but the chain. Aborts the test on failure. */
void last_flow_open(struct last_flow *p, const char *chain, struct vf_plan_request request);
void last_flow_close(struct last_flow *p);

/* A chain of the filter alone, with what it needs. Returns `text`. */
const char *filter_alone(const struct vf_filter *filter, char text[64]);

/* Aborts the test unless every filter begins one of the chains. */
void expect_all_filters(const char *const *chains, size_t count);

/* Aborts the test if there is no such boundary. */
enum vf_boundary boundary_named(const char *name);

/* Bytes of a volume's data. */
size_t volume_size(const struct vf_volume *volume);

size_t volume_elements(const struct vf_volume *volume);

/* Element i of a volume of type VF_F32 or VF_F64. */
double volume_get(const struct vf_volume *volume, size_t i);
void volume_set(const struct vf_volume *volume, size_t i, double value);

/* The largest difference of elements first + at[j], `at` NULL: first + j, from `count` expected ones;
 * infinite where one is NaN. */
double volume_error(const struct vf_volume *volume, size_t first, const int *at, const double *expected,
                    size_t count);

#endif
