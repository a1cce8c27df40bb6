/* What the schemes whose threads compute boxes of cells share on the host (device: kernels/device_box.h,
 * kernels/device_tile.h): shapes, limits, and counts for the model. */
#ifndef VF_GPU_BOX_H
#define VF_GPU_BOX_H

#include "kernels/gpu_scheme.h"
#include "src/model.h"

/* Cells of a thread at most: its loops are unrolled. */
#define VF_MOST_BOX_CELLS 64

/* Cells that a thread computes at once: 16 bytes of the compute type, or 1 if its work along x is
 * no multiple. */
int vf_box_pack(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* The `tile` of schemes whose blocks do not stream: block times work along each axis. */
void vf_box_tile(const struct vf_kernel_case *c, const struct vf_kernel_config *config, ptrdiff_t size[3]);

/* NULL, or why a thread cannot have that much work; asked after vf_kernel_limits, which bounds it. */
const char *vf_box_forbids(const struct vf_kernel_config *config);

/* Adds block x work to a list of candidates, leaving out those that the scheme forbids or that are much
 * larger than the grid. */
struct vf_candidate_list {
    const struct vf_kernel_case *c;
    const struct vf_gpu *gpu;
    const struct vf_gpu_scheme *scheme;
    struct vf_kernel_config *list;
    int count, room;
};
void vf_candidate_add(struct vf_candidate_list *list, const struct vf_kernel_config *config);

/* Adds the usual blocks, each with the usual work: `like` holds the other constants. */
void vf_candidates_add_boxes(struct vf_candidate_list *list, const struct vf_kernel_config *like);

/* Elements between rows of source k's tile in shared memory. */
ptrdiff_t vf_tile_pitch(const struct vf_kernel_case *c, const struct vf_kernel_config *config, int k);

/* Whether a body divides or takes roots: these branch, and the compiler moves no load past a branch. */
bool vf_has_branches(const struct vf_kernel_case *c);

/* Whether all stages are tables of weights. */
bool vf_is_linear(const struct vf_kernel_case *c);

/* ---- counts of one block ---- */

/* Sectors and lines of a tile of the given cells: of every source with its halo, and of the sinks. Fills
 * read_sectors, halo_sectors, written_sectors; global_wavefronts of the stores. In shared memory the halo has
 * its corners; read in place, only if a stage reads there. */
void vf_tile_sectors(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                     const ptrdiff_t tile[3], bool in_shared, struct vf_kernel_traffic *traffic);

/* Adds what all of a block's threads do for their boxes, `steps` times: arithmetic, addresses, reads through
 * shared memory (of sources with a halo) or L1. */
void vf_box_operations(const struct vf_kernel_case *c, const struct vf_kernel_config *config, bool in_shared,
                       ptrdiff_t steps, struct vf_kernel_traffic *traffic);

/* The scheme's `written`: a box, and a pack of the path for rows at the grid's edges. */
double vf_box_written(const struct vf_kernel_case *c, const struct vf_kernel_config *config);

/* Adds filling tiles of all sources with a halo, `tile` cells and the halo. */
void vf_tile_fill(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                  const ptrdiff_t tile[3], struct vf_kernel_traffic *traffic);

/* Whether tiles are filled by copies that pass by registers: nothing is converted, and the device can. */
bool vf_fills_are_copies(const struct vf_kernel_case *c, const struct vf_gpu *gpu);

/* Packs that a thread reads of a stage's inputs for a pack of its own, through L1. */
double vf_pack_reads(const struct vf_stage *stage, int dim);

/* The `define` of tile schemes: VF_LEAST_BLOCKS (kernels/device_entry.h), VF_SHUFFLES (device_box.h). */
void vf_tile_define(const struct vf_kernel_case *c, const struct vf_kernel_config *config,
                    struct vf_text *text);

/* What the tile schemes cannot take, or NULL. */
const char *vf_tile_refuses(const struct vf_kernel_case *c);

#endif
