/* Which stages of row-stream make the rows of others, and load those of sources, as they come to them; and so
 * when each stage can run, and how many planes are kept for it. */
#ifndef VF_CPU_ROW_CALLS_H
#define VF_CPU_ROW_CALLS_H

#include "kernels/cpu_row_layout.h"

/* In any tiles, of a layout that has its stages' kinds and halos: fills the rest of its stages, but for
 * sums_plane, and of its rings what says how fields are made, loaded and kept. */
void vf_row_find_calls(struct vf_row_layout *layout);

/* In the layout's tiles: stages that may sum planes do so, or not; and which sources are then read in place.
 */
void vf_row_sum_planes(struct vf_row_layout *layout, bool sums);

#endif
