/* For each file of row functions: what it is compiled for, cells of the type REAL, of REAL_BITS. The Makefile
 * names integer types. */
#ifndef VF_CPU_REAL_H
#define VF_CPU_REAL_H

#include <float.h>

#include "kernels/cpu_rows.h"

#if FLT_EVAL_METHOD != 0
#error "Floats are computed in a wider type: results would differ. On x86: -mfpmath=sse"
#endif

#ifndef REAL
#if REAL_BITS == 64
#define REAL double
#else
#define REAL float
#endif
#endif

#define VF_DEVICE static inline __attribute__((always_inline))

#endif
