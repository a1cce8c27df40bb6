/* The bodies of stencils.def for one cell, in float32 and one dimension: the includer defines DIM, and
 * VF_CELLS, the table's name. */
#include "bench_gpu_stencils.h"

#define REAL float
#define REAL_BITS 32

#include "kernels/cpu_cell.h"

#include "stencils/gol_9pt.h"
#include "stencils/gaussian2d_25p.h"
#include "stencils/gradient2d_5p.h"
#include "stencils/srad_coefficient.h"
#include "stencils/srad_update.h"
#include "stencils/hotspot2d.h"
#include "stencils/hotspot3d.h"
#include "stencils/heat3d.h"
#include "stencils/curl_forward.h"
#include "stencils/curl_backward.h"

bench_cell *const VF_CELLS[] = {
#define BENCH_STENCIL(name, dim, ...) [BENCH_##name] = (dim) == DIM ? body_##name : NULL,
#include "stencils.def"
#undef BENCH_STENCIL
};
