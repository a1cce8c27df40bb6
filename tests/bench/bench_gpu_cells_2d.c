#define DIM 2
#define VF_CELLS bench_cells_2d
#include "bench_gpu_cells.h"
