/* Row functions of all but bodies, for whole numbers that stay what they are. Compiled for each type (CELL,
 * as REAL of REAL_BITS) and vector level: the Makefile names the table, VF_ROWS, and its VF_LEVEL. */
#include <stdint.h>
#include <string.h>

#define VF_WHOLE_NUMBERS 1
#include "kernels/cpu_real.h"

static void copy(const void *in, void *out, ptrdiff_t n)
{
    memcpy(out, in, (size_t)n * sizeof(REAL));
}

#define STORE_REAL copy
#include "kernels/cpu_stream.h"

extern const struct vf_rows VF_ROWS;
const struct vf_rows VF_ROWS = {
    .level = VF_LEVEL,
    .load = {[CELL] = copy},
    .store = {[CELL] = copy},
    .stream = stream,
    .finish = vf_vectors_finish,
};
