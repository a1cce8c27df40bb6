/* What the model counts: sectors, wavefronts and occupancy, by hand and as the papers have them. */
#include <criterion/criterion.h>
#include <stdbool.h>

#include "src/model.h"
#include "tests/model_gpu.h"
#include "tests/paper_counts.h"

/* Tesla K20c and GeForce GTX TITAN: Rawat 2.1, Tabik table I. */
static const struct vf_gpu kepler = {
    .name = "Kepler",
    .capability = 35,
    .multiprocessors = 13,
    .warp = 32,
    .block_threads = 1024,
    .sm_threads = 2048,
    .sm_blocks = 16,
    .sm_registers = 65536,
    .block_shared = 48 << 10,
    .sm_shared = 48 << 10,
};

static const struct vf_granularity none = {.registers = 1, .parts = 1, .shared = 1};

/* ---- warp-wide accesses ---- */

/* Distinct pieces, of no less than 32 bytes, by marking that of every byte. */
static double pieces_by_marking(ptrdiff_t start, int element, ptrdiff_t lanes, int unit)
{
    enum { ZERO = 1 << 14 };
    char marked[2 * ZERO / 32] = {0};
    int count = 0;
    for (ptrdiff_t byte = start * element; byte < (start + lanes) * element; byte++) {
        const ptrdiff_t piece = (byte + ZERO) / unit;
        count += !marked[piece];
        marked[piece] = 1;
    }
    return count;
}

Test(model, warp_sectors_and_lines_as_by_marking)
{
    for (int element = 1; element <= 16; element *= 2)
        for (ptrdiff_t start = -40; start <= 40; start++)
            for (ptrdiff_t lanes = 0; lanes <= 32; lanes++) {
                cr_assert_eq(vf_model_warp_sectors(start, element, lanes),
                             pieces_by_marking(start, element, lanes, 32), "%td + %td of %d bytes", start,
                             lanes, element);
                cr_assert_eq(vf_model_warp_lines(start, element, lanes),
                             pieces_by_marking(start, element, lanes, 128), "%td + %td of %d bytes", start,
                             lanes, element);
            }
}

Test(model, warp_sectors_by_hand)
{
    cr_expect_eq(vf_model_warp_sectors(0, 4, 32), 4, "one line");
    cr_expect_eq(vf_model_warp_sectors(-1, 4, 32), 5, "the left neighbours");
    cr_expect_eq(vf_model_warp_lines(-1, 4, 32), 2);
    cr_expect_eq(vf_model_warp_sectors(0, 16, 32), 16, "float4");
}

/* Tabik fig. 6: a warp of 8 and 8 banks; the tile is block_x + 2 wide, the halo is its last two columns. */
static int fig6(int block_x, int from_x, int shift)
{
    ptrdiff_t address[8];
    for (int lane = 0; lane < 8; lane++) {
        const int x = lane % block_x, y = lane / block_x;
        address[lane] = x >= from_x ? 4 * (y * (block_x + 2) + x + shift) : PAPER_LANE_IDLE;
    }
    return paper_wavefronts(address, 8, 4, 8);
}

Test(model, wavefronts_of_the_paper)
{
    cr_expect_eq(fig6(8, 0, 0), 1, "6b, data: no conflict");
    cr_expect_eq(fig6(8, 6, 2), 1, "6b, halo");
    cr_expect_eq(fig6(4, 0, 0), 2, "6c, data: two-degree conflict");
    cr_expect_eq(fig6(4, 2, 2), 1, "6c, halo: none, so three in all");
    cr_expect_eq(fig6(2, 0, 0), 2, "6d, data");
    cr_expect_eq(fig6(2, 0, 2), 2, "6d, halo: four in all");
    for (int k = 0; k <= 2; k++)
        cr_expect_eq(fig6(4, 0, k), 2, "6c, loads");
}

Test(model, wavefronts_by_hand)
{
    ptrdiff_t address[32];
    for (int lane = 0; lane < 32; lane++)
        address[lane] = 12;
    cr_expect_eq(paper_wavefronts(address, 32, 4, 32), 1, "one word for all");
    for (int lane = 0; lane < 32; lane++)
        address[lane] = lane % 2 == 0 ? PAPER_LANE_IDLE : 128 * lane;
    cr_expect_eq(paper_wavefronts(address, 32, 4, 32), 16, "a column of a tile 32 wide");
    for (int lane = 0; lane < 32; lane++)
        address[lane] = PAPER_LANE_IDLE;
    cr_expect_eq(paper_wavefronts(address, 32, 4, 32), 0, "nobody");
    for (int lane = 0; lane < 32; lane++)
        address[lane] = 132 * lane;
    cr_expect_eq(paper_wavefronts(address, 32, 4, 32), 1, "a column of a tile 33 wide");
}

Test(model, bank_conflicts_by_hand)
{
    cr_expect_eq(paper_bank_conflicts(32, 34, 4), 1);
    cr_expect_eq(paper_bank_conflicts(64, 66, 4), 1);
    cr_expect_eq(paper_bank_conflicts(16, 16, 4), 1, "rows that follow each other");
    cr_expect_eq(paper_bank_conflicts(16, 18, 4), 2);
    cr_expect_eq(paper_bank_conflicts(16, 48, 4), 1, "the second row in the other half");
    cr_expect_eq(paper_bank_conflicts(16, 32, 4), 2);
    cr_expect_eq(paper_bank_conflicts(1, 32, 4), 32);
    cr_expect_eq(paper_bank_conflicts(32, 34, 8), 2, "half a warp at a time");
    cr_expect_eq(paper_bank_conflicts(8, 10, 8), 4, "banks 20-31, 0-3 meet 0-15");
    cr_expect_eq(paper_bank_conflicts(8, 8, 16), 4, "a quarter of a warp at a time");
    cr_expect_eq(paper_bank_conflicts(1, 2, 16), 8, "every other vector");
}

/* ---- the papers' counts ---- */

static struct paper_sweep gx(int block_x, int block_y)
{
    return (struct paper_sweep){.nx = 256,
                                .ny = 256,
                                .nz = 256,
                                .block_x = block_x,
                                .block_y = block_y,
                                .halo_x = 2,
                                .element = 4,
                                .transaction = 128,
                                .warp = 32,
                                .banks = 32};
}

/* The cells of fig. 5 and 7: a warp at least, 1024 threads at most, no wider than the grid. */
static bool is_valid(int block_x, int block_y)
{
    return block_x >= 2 && block_x * block_y >= 32 && block_x * block_y <= 1024;
}

Test(model, global_transactions_of_fig_5)
{
    static const double printed[9] = {[1] = 25165824, [2] = 12582912, [3] = 6291456, [4] = 3145728,
                                      [5] = 1572864,  [6] = 1310720,  [7] = 1179648, [8] = 1114112};
    for (int lx = 1; lx <= 8; lx++)
        for (int block_y = 1; block_y <= 256; block_y *= 2) {
            const struct paper_sweep sweep = gx(1 << lx, block_y);
            if (is_valid(sweep.block_x, block_y))
                cr_expect_eq(paper_global_transactions(&sweep), printed[lx], "%dx%d", sweep.block_x, block_y);
        }
}

/* Fig. 4, a warp of 8: transactions to read, without the stores of the same rows. */
Test(model, global_transactions_of_fig_4)
{
    struct paper_sweep sweep = {.nx = 16,
                                .ny = 1,
                                .nz = 1,
                                .block_x = 16,
                                .block_y = 1,
                                .halo_x = 2,
                                .element = 4,
                                .transaction = 32,
                                .warp = 8,
                                .banks = 8};
    cr_expect_eq(paper_global_transactions(&sweep) - 2, 3, "4a: two for data, one for the halo");
    sweep.nx = sweep.block_x = 4;
    sweep.ny = sweep.block_y = 2;
    cr_expect_eq(paper_global_transactions(&sweep) - 2, 4, "4b: two for data, two for the halo");
}

/* The same in sectors, by hand: a row of 256 is 32 to store, 32 and 1 to load. */
Test(model, global_transactions_in_sectors)
{
    struct paper_sweep sweep = gx(256, 1);
    sweep.transaction = VF_SECTOR_BYTES;
    cr_expect_eq(paper_global_transactions(&sweep), 65536.0 * 65);
    sweep = gx(32, 8);
    sweep.transaction = VF_SECTOR_BYTES;
    sweep.halo_x = 0;
    sweep.halo_y = 2;
    cr_expect_eq(paper_global_transactions(&sweep), 8.0 * 32 * 256 * (8 * 4 + 10 * 4), "GY");
    sweep.nx = 257;
    cr_expect_eq(paper_global_transactions(&sweep), 9.0 * 32 * 256 * 72, "a block for the last column");
}

Test(model, shared_transactions_of_fig_7)
{
    static const double printed[9] = {[1] = 5242880, [2] = 4718592, [3] = 4718592, [4] = 4718592,
                                      [5] = 2621440, [6] = 2359296, [7] = 2228224, [8] = 2162688};
    for (int lx = 1; lx <= 8; lx++)
        for (int block_y = 1; block_y <= 256; block_y *= 2) {
            const struct paper_sweep sweep = gx(1 << lx, block_y);
            if (!is_valid(sweep.block_x, block_y))
                continue;
            const struct paper_shared count = paper_shared_transactions(&sweep, 3);
            cr_expect_eq(count.stores + count.loads, printed[lx], "%dx%d", sweep.block_x, block_y);
        }
}

/* ST, a halo in x and y, 32 x 8: stores are 8 rows of data, 8 of columns, 2 rows. */
Test(model, shared_transactions_with_rows)
{
    struct paper_sweep sweep = gx(32, 8);
    sweep.halo_y = 2;
    const struct paper_shared count = paper_shared_transactions(&sweep, 5);
    const double planes = 8.0 * 32 * 256;
    cr_expect_eq(count.stores, planes * 18);
    cr_expect_eq(count.loads, planes * 8 * 5);
}

/* Rawat 2.2: reads of an order-k stencil by 32 x 32 and 64 x 16 blocks; eq. 1 adds a store a cell. */
Test(model, tile_cells)
{
    struct paper_sweep sweep = gx(32, 32);
    sweep.nx = sweep.ny = 1024;
    sweep.nz = 1;
    for (int k = 0; k < 8; k++) {
        const double cells = 1024.0 * 1024.0;
        sweep.halo_x = sweep.halo_y = 2 * k;
        sweep.block_x = sweep.block_y = 32;
        cr_expect_eq(paper_tile_cells(&sweep) - cells, cells / 1024 * (32 + 2 * k) * (32 + 2 * k));
        sweep.block_x = 64;
        sweep.block_y = 16;
        cr_expect_eq(paper_tile_cells(&sweep) - cells, cells / 1024 * (64 + 2 * k) * (16 + 2 * k));
    }
}

/* GX takes 6 steps: read, store, three loads, write. */
Test(model, block_efficiency)
{
    struct paper_sweep sweep = gx(32, 8);
    cr_expect_float_eq(paper_block_efficiency(&sweep, 6), 1 - 30.0 / 32 / 7, 1e-12);
    const struct paper_sweep wider = gx(256, 4), narrow = gx(2, 128);
    cr_expect_lt(paper_block_efficiency(&wider, 6), paper_block_efficiency(&sweep, 6));
    cr_expect_eq(paper_block_efficiency(&narrow, 6), 1, "every thread has a halo cell");
    sweep.halo_y = 2;
    cr_expect_float_eq(paper_block_efficiency(&sweep, 6), 1 - (30.0 / 32 + 6.0 / 8) / 8, 1e-12);
    sweep.halo_x = sweep.halo_y = 0;
    cr_expect_eq(paper_block_efficiency(&sweep, 6), 1, "GZ does not wait");
}

/* ---- occupancy ---- */

/* Rawat 2.1, 4.1, 4.2 and 5. */
Test(model, occupancy_of_rawat)
{
    static const struct {
        const char *what;
        int threads, registers, shared, blocks;
        double share;
    } cases[] = {
        {"two of 1024", 1024, 0, 0, 2, 1},
        {"16 of 128", 128, 0, 0, 16, 1},
        {"1D streaming, 3 lines, T=4", 128, 0, 6144, 8, 0.5},
        {"32 lines at a time", 32 * 32, 0, 18 << 10, 2, 1},
        {"ping-pong buffers", 32 * 16, 0, 8192, 4, 1},
        {"with registers", 128, 0, 2048, 16, 1},
        {"j2d9pt", 128, 0, 10 << 10, 4, 0.25},
        {"3D, 3 planes, T=4", 32 * 32, 0, 48 << 10, 1, 0.5},
        {"3D with registers", 32 * 32, 0, 16 << 10, 2, 1},
        {"order 2, T=2", 32 * 32, 0, 40 << 10, 1, 0.5},
        {"order 2, T=4", 24 * 24, 0, 20 * 24 * 24 * 4, 1, 0.28125},
        {"R/T registers", 128, 32, 0, 16, 1},
        {"twice as many", 128, 64, 0, 8, 0.5},
        {"too much shared", 128, 0, (48 << 10) + 1, 0, 0},
    };
    for (int k = 0; k < COUNT(cases); k++) {
        const struct vf_occupancy got =
            vf_model_occupancy(&kepler, cases[k].threads, cases[k].registers, (size_t)cases[k].shared, &none);
        cr_expect_eq(got.blocks, cases[k].blocks, "%s: %d", cases[k].what, got.blocks);
        cr_expect_eq(got.share, cases[k].share, "%s: %g", cases[k].what, got.share);
    }
}

/* By hand from 64 warps, 32 blocks, 16384 registers in each of four parts, 228 KiB less 1 KiB a block. */
Test(model, occupancy_of_h200)
{
    static const struct {
        int threads, registers, shared, blocks, warps;
    } cases[] = {
        {256, 32, 0, 8, 64},
        {1024, 32, 0, 2, 64},
        {32, 32, 0, 32, 32},
        {256, 33, 0, 6, 48}, /* 40 a thread: 12 warps a part */
        {256, 64, 0, 4, 32},
        {256, 168, 0, 1, 8}, /* 3 warps a part */
        {96, 168, 0, 4, 12},
        {256, 255, 0, 1, 8},
        {256, 256, 0, 0, 0},
        {1024, 64, 0, 1, 32},
        {1024, 65, 0, 0, 0},
        {256, 32, 48 << 10, 4, 32},
        {256, 32, 45 << 10, 4, 32},
        {256, 32, 56 << 10, 4, 32}, /* 57 KiB each */
        {256, 32, (56 << 10) + 1, 3, 24},
        {256, 32, 227 << 10, 1, 8},
        {256, 32, (227 << 10) + 1, 0, 0},
        {1025, 32, 0, 0, 0},
        {33, 32, 0, 32, 64}, /* two warps */
    };
    const struct vf_granularity granularity = vf_granularity_of(90);
    for (int k = 0; k < COUNT(cases); k++) {
        const struct vf_occupancy got = vf_model_occupancy(&h200, cases[k].threads, cases[k].registers,
                                                           (size_t)cases[k].shared, &granularity);
        cr_expect_eq(got.blocks, cases[k].blocks, "case %d: %d blocks", k, got.blocks);
        cr_expect_eq(got.warps, cases[k].warps, "case %d: %d warps", k, got.warps);
        cr_expect_eq(got.share, cases[k].warps / 64.0);
    }
}

Test(model, a_block_may_not_have_all_of_the_shared_memory)
{
    struct vf_gpu gpu = h200;
    gpu.block_shared = 48 << 10;
    cr_expect_eq(vf_model_occupancy(&gpu, 128, 32, 48 << 10, &none).blocks, 4);
    cr_expect_eq(vf_model_occupancy(&gpu, 128, 32, (48 << 10) + 1, &none).blocks, 0);
}

Test(model, granularity_before_ampere)
{
    const struct vf_granularity turing = vf_granularity_of(75);
    struct vf_gpu gpu = h200;
    gpu.sm_threads = 1024;
    gpu.sm_blocks = 16;
    gpu.sm_shared = gpu.block_shared = 64 << 10;
    cr_expect_eq(vf_model_occupancy(&gpu, 128, 32, 16 << 10, &turing).blocks, 4, "nothing reserved");
    cr_expect_eq(vf_model_occupancy(&gpu, 128, 32, (16 << 10) - 255, &turing).blocks, 4);
    cr_expect_eq(vf_model_occupancy(&gpu, 128, 32, (16 << 10) + 1, &turing).blocks, 3);
}

/* Tabik 4.6 and table IV: the blocks that are best in all four respects are about a quarter of those that can
 * run, hold the fastest, and reach 75% of its throughput each. GX at 256^3 on a GTX TITAN, ms. */
Test(model, tabiks_choice_of_blocks)
{
    static const struct {
        int x, y;
        double ms;
    } measured[] = {
        {32, 1, 1.60},  {64, 1, 0.97},  {128, 1, 0.75}, {256, 1, 0.77}, {16, 2, 1.92},  {32, 2, 1.01},
        {64, 2, 0.77},  {128, 2, 0.79}, {256, 2, 0.83}, {8, 4, 2.34},   {16, 4, 1.34},  {32, 4, 0.81},
        {64, 4, 0.81},  {128, 4, 0.86}, {256, 4, 0.95}, {4, 8, 2.83},   {8, 8, 1.75},   {16, 8, 1.23},
        {32, 8, 0.86},  {64, 8, 0.87},  {128, 8, 0.97}, {4, 16, 2.88},  {8, 16, 1.83},  {16, 16, 1.24},
        {32, 16, 0.90}, {64, 16, 1.01}, {2, 32, 4.80},  {4, 32, 2.91},  {8, 32, 1.71},  {16, 32, 1.24},
        {32, 32, 1.02}, {2, 64, 5.22},  {4, 64, 2.99},  {8, 64, 1.78},  {16, 64, 1.38}, {2, 128, 5.15},
        {4, 128, 2.93}, {8, 128, 1.86}, {2, 256, 5.17}, {4, 256, 3.04},
    };
    int chosen = 0;
    for (int k = 0; k < COUNT(measured); k++) {
        const struct paper_sweep sweep = gx(measured[k].x, measured[k].y);
        const struct paper_shared shared = paper_shared_transactions(&sweep, 3);
        const int threads = measured[k].x * measured[k].y;
        const size_t tile = (size_t)(measured[k].x + 2) * (size_t)measured[k].y * sizeof(float);
        const struct vf_occupancy occupancy = vf_model_occupancy(&kepler, threads, 0, tile, &none);
        const bool choose = paper_global_transactions(&sweep) <= 1572864 &&
                            shared.stores + shared.loads <= 2621440 && occupancy.share == 1 &&
                            occupancy.blocks > 2;
        chosen += choose;
        if (choose)
            cr_expect_leq(measured[k].ms, 0.75 / 0.75, "%dx%d", measured[k].x, measured[k].y);
        if (measured[k].ms <= 1.05 * 0.75)
            cr_expect(choose, "%dx%d is among the fastest", measured[k].x, measured[k].y);
    }
    cr_expect_eq(chosen, 11, "27%% of %d", COUNT(measured));
}
