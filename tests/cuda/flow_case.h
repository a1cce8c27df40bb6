/* One kernel of a scheme against the reference, on flows that no filter makes: any table of weights, any
 * body, any number of fields and types. */
#ifndef VF_TESTS_FLOW_CASE_H
#define VF_TESTS_FLOW_CASE_H

#include "cuda_run.h"
#include "kernels/scheme.h"

enum flow_taps { TAPS_STAR, TAPS_BOX, TAPS_EDGES /* a box without its corners */, TAPS_X, TAPS_Y, TAPS_Z };

struct flow_case {
    struct vf_cuda *cuda; /* owned */
    struct vf_flow flow;
    enum vf_type source_type[16], sink_type[16];
    bool has_any_bits; /* float32 sources: NaN, infinities and all magnitudes among them */
    bool is_sparse;    /* most of the sources is 0 */
    /* What flow points to. */
    struct vf_stage stage[8];
    enum vf_field_kind kind[64];
    int source[16], sink[16];
    struct vf_taps *taps[8];
    int taps_count;
};

/* An empty flow of float32 fields, and a device (device.h); closed with flow_case_close. */
void flow_case_open(struct flow_case *c, int dim, bool is_double, enum vf_boundary boundary);
void flow_case_close(struct flow_case *c);

/* Fields that come in; the first one's number. */
int flow_case_sources(struct flow_case *c, int count);

/* Adds a stage over the fields from `input` on; its first output. Radii are z, y, x. */
int flow_case_linear(struct flow_case *c, enum flow_taps shape, const int radius[3], int input, int count);
int flow_case_body(struct flow_case *c, enum vf_stencil_id stencil, int input);
void flow_case_sinks(struct flow_case *c, int first, int count);

/* `steps` of one table of an empty flow, each result an input of the next; the last one's is stored. */
void flow_case_steps(struct flow_case *c, enum flow_taps shape, int radius, int steps);

/* Computes planes z_begin to z_end - 1 (2D: images) of a grid with each of `scheme`, NULL-terminated, all
 * stages in one kernel, and compares every bit with the reference's. Sources hold the planes that are reached
 * and no others. */
void flow_case_check(struct flow_case *c, const char *const *scheme, ptrdiff_t nx, ptrdiff_t ny, ptrdiff_t nz,
                     ptrdiff_t z_begin, ptrdiff_t z_end);

/* The same on all of a grid of n voxels along x, y, z, and on a slab of one that is deep enough. */
void flow_case_check_grid(struct flow_case *c, const char *const *scheme, const int n[3]);

/* The same on grids of these sizes; closes the case. */
void flow_case_check_sizes(struct flow_case *c, const char *const *scheme, const int (*size)[3],
                           size_t count);

#endif
