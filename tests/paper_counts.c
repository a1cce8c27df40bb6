#include "tests/paper_counts.h"

#include <stdbool.h>

#include "src/size.h"

static bool seen_before(const ptrdiff_t *address, int from, int lane)
{
    for (int k = from; k < lane; k++)
        if (address[k] == address[lane])
            return true;
    return false;
}

int paper_wavefronts(const ptrdiff_t *address, int lanes, int word, int banks)
{
    const int group = banks * 4 / word;
    int wavefronts = 0;
    for (int from = 0; from < lanes; from += group) {
        int in_bank[PAPER_BANKS_MOST] = {0}, most = 0;
        const int to = from + group < lanes ? from + group : lanes;
        for (int lane = from; lane < to; lane++) {
            if (address[lane] == PAPER_LANE_IDLE || seen_before(address, from, lane))
                continue;
            /* A wide word's banks are its own: counting its first one is enough. */
            int *count = &in_bank[address[lane] / 4 % banks];
            if (++*count > most)
                most = *count;
        }
        wavefronts += most;
    }
    return wavefronts;
}

int paper_bank_conflicts(int block_x, ptrdiff_t pitch, int word)
{
    ptrdiff_t address[PAPER_BANKS_MOST];
    for (int lane = 0; lane < PAPER_BANKS_MOST; lane++)
        address[lane] = (lane / block_x * pitch + lane % block_x) * word;
    return paper_wavefronts(address, PAPER_BANKS_MOST, word, PAPER_BANKS_MOST);
}

static double block_planes(const struct paper_sweep *sweep)
{
    return (double)vf_ceil_div(sweep->nx, sweep->block_x) * (double)vf_ceil_div(sweep->ny, sweep->block_y) *
           (double)sweep->nz;
}

double paper_tile_cells(const struct paper_sweep *sweep)
{
    const double x = sweep->block_x, y = sweep->block_y;
    return block_planes(sweep) * (x * y + (x + sweep->halo_x) * (y + sweep->halo_y));
}

double paper_global_transactions(const struct paper_sweep *sweep)
{
    const ptrdiff_t cells = sweep->transaction / sweep->element;
    const ptrdiff_t row = vf_ceil_div(sweep->block_x, cells), halo = vf_ceil_div(sweep->halo_x, cells);
    const ptrdiff_t y = sweep->block_y;
    return block_planes(sweep) * (double)(row * y + row * (y + sweep->halo_y) + halo * y);
}

/* Wavefronts of the threads (x, y) of one warp with x >= from_x and y >= from_y, each at its tile cell. */
static int warp_wavefronts(const struct paper_sweep *sweep, int warp, int from_x, int from_y)
{
    ptrdiff_t address[PAPER_BANKS_MOST];
    for (int lane = 0; lane < sweep->warp; lane++) {
        const int thread = warp * sweep->warp + lane;
        const int x = thread % sweep->block_x, y = thread / sweep->block_x;
        const bool active = x >= from_x && y >= from_y && y < sweep->block_y;
        address[lane] =
            active ? ((ptrdiff_t)y * (sweep->block_x + sweep->halo_x) + x) * sweep->element : PAPER_LANE_IDLE;
    }
    return paper_wavefronts(address, sweep->warp, sweep->element, sweep->banks);
}

struct paper_shared paper_shared_transactions(const struct paper_sweep *sweep, int reads)
{
    int data = 0, columns = 0, rows = 0;
    const int warps = (int)vf_ceil_div((ptrdiff_t)sweep->block_x * sweep->block_y, sweep->warp);
    for (int warp = 0; warp < warps; warp++) {
        data += warp_wavefronts(sweep, warp, 0, 0);
        /* The halo cells lie a constant distance further on, in other banks with the same conflicts. */
        columns += warp_wavefronts(sweep, warp, sweep->block_x - sweep->halo_x, 0);
        rows += warp_wavefronts(sweep, warp, 0, sweep->block_y - sweep->halo_y);
    }
    const double planes = block_planes(sweep);
    return (struct paper_shared){.stores = planes * (data + columns + rows), .loads = planes * data * reads};
}

double paper_block_efficiency(const struct paper_sweep *sweep, int steps)
{
    const double threads = (double)sweep->block_x * sweep->block_y;
    double waiting_x = 0, waiting_y = 0;
    if (sweep->halo_x > 0)
        waiting_x = threads - (double)sweep->halo_x * sweep->block_y;
    if (sweep->halo_y > 0)
        waiting_y = threads - (double)sweep->block_x * sweep->halo_y;
    const int halo_steps = (sweep->halo_x > 0) + (sweep->halo_y > 0);
    return 1 - (waiting_x + waiting_y) / (threads * (steps + halo_steps));
}
