/* The model of row-stream's speed, by which tiles are chosen. */
#ifndef VF_CPU_ROW_COST_H
#define VF_CPU_ROW_COST_H

#include "kernels/cpu_row_layout.h"

/* Predicted seconds of the layout's job: arithmetic of every stage on its tile and halo, ring traffic through
 * the cache level that holds the arena, and the sources' and sinks' bytes once. */
double vf_row_cost(const struct vf_row_layout *layout);

#endif
