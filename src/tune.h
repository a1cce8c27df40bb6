/* volfilter tune: measures the kernels that plans choose among, on this machine's device, and keeps the
 * fastest of each (tuning.h), which plans then take. */
#ifndef VF_TUNE_H
#define VF_TUNE_H

#include <stdio.h>

#include "run.h"

struct vf_tune_request {
    const struct vf_options *options; /* boundary, spacing, precision, dtype, slices */
    int chain_count;                  /* 0: the usual ones */
    char *const *chains;
    const char *like; /* a file, whose size, type and spacing images have; NULL: some usual ones */
    double budget;    /* seconds, after which no other kernel begins; 0: as long as it takes */
};

/* Prints a line for each kernel to `to`. Each is kept once it was measured, whatever ends the rest. */
enum vf_status vf_tune(const struct vf_tune_request *request, FILE *to, struct vf_error *error);

#endif
