/* What the two papers count that src/model.h follows, in their own terms, so that their published numbers can
 * be reproduced. */
#ifndef VF_TESTS_PAPER_COUNTS_H
#define VF_TESTS_PAPER_COUNTS_H

#include <stddef.h>

#define PAPER_BANKS_MOST 32
#define PAPER_LANE_IDLE (-1)

/* Wavefronts (passes over the banks, one a clock) of an access to shared memory: the largest number of
 * different words in one 4-byte bank (Tabik 4.3.1). Wide words go in groups of lanes that fill the banks
 * once: half a warp at 8 bytes, a quarter at 16. address[lanes] in bytes, aligned to `word` (4, 8 or 16
 * bytes), or PAPER_LANE_IDLE; lanes and banks up to PAPER_BANKS_MOST. */
int paper_wavefronts(const ptrdiff_t *address, int lanes, int word, int banks);

/* The same for a warp whose lanes lie in rows of `block_x` words, `pitch` words apart. 1, 2 or 4 (by word) is
 * free of conflicts. */
int paper_bank_conflicts(int block_x, ptrdiff_t pitch, int word);

/* Tabik's algorithm 3: blocks of block_x * block_y threads sweep the planes of a grid, every thread one cell
 * of each. Tiles lie in shared memory with their halo on the far side: halo_x more columns, read by the
 * threads of the last halo_x columns, and halo_y more rows likewise. */
struct paper_sweep {
    ptrdiff_t nx, ny, nz; /* cells */
    int block_x, block_y; /* cells; at least the halo */
    int halo_x, halo_y;   /* cells, both sides together */
    int element;          /* bytes */
    int transaction;      /* bytes; the paper's is warp * element, today's VF_SECTOR_BYTES or VF_LINE_BYTES */
    int warp, banks;      /* up to PAPER_BANKS_MOST */
};

/* Cells stored and loaded, every access counted on its own (Tabik eq. 1, no coefficients; Rawat 2.2). */
double paper_tile_cells(const struct paper_sweep *sweep);

/* Global-memory transactions of the sweep (Tabik eq. 2 and 3). Rows are narrower than a transaction or
 * not: one expression serves, that of eq. 3 and of eq. 2's wide case. The narrow case printed in eq. 2
 * agrees with neither eq. 3, fig. 4b nor fig. 5, and is not used. */
double paper_global_transactions(const struct paper_sweep *sweep);

struct paper_shared {
    double stores, loads;
};

/* Shared-memory transactions of the sweep when each cell reads `reads` values (Tabik eq. 4 to 9). The bank
 * conflict degrees that eq. 6, 7 and 9 tabulate are counted from the addresses of every warp instead: this
 * gives fig. 6 and fig. 7, which the printed degrees do only for block_x >= warp. Loads are counted for the
 * cells that are computed, not for halo rows. */
struct paper_shared paper_shared_transactions(const struct paper_sweep *sweep, int reads);

/* Share of its threads' time that a block works, 0 to 1 (Tabik eq. 12): every thread takes `steps` for its
 * cell and plane, then those beside the halo take one more while the others wait. */
double paper_block_efficiency(const struct paper_sweep *sweep, int steps);

#endif
