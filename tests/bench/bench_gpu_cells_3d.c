#define DIM 3
#define VF_CELLS bench_cells_3d
#include "bench_gpu_cells.h"
