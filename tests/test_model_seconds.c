/* The model's times: beside measured ones, by hand, and that what costs more is never faster. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/model.h"
#include "tests/model_gpu.h"
#include "tests/random.h"

#define EDGE 512
static const double cells = (double)EDGE * EDGE * EDGE;

/* Every thread one cell, all its neighbours read through L1, in blocks of block_x * block_y cells: a star of
 * radius 1 (7 points) or the box (27). Operations beside the arithmetic are estimates. */
static struct vf_kernel_traffic naive(int block_x, int block_y, bool is_box)
{
    const int points = is_box ? 27 : 7, warps = block_x * block_y / 32, threads = 32 * warps;
    const double row = vf_model_warp_sectors(0, 4, block_x);
    const double aligned = is_box ? 9 : 5, shifted = is_box ? 18 : 2;
    const double lines = vf_model_warp_lines(0, 4, 32);
    const double shifted_lines = vf_model_warp_lines(1, 4, 32);
    return (struct vf_kernel_traffic){
        .threads = threads,
        .registers = is_box ? 40 : 32,
        .tile = {block_x, block_y, 1},
        .blocks = {EDGE / block_x, EDGE / block_y, EDGE},
        .steps = 1,
        .read_sectors = row * block_y,
        .halo_sectors = {2.0 * block_y, 2 * row, 2 * row * block_y},
        .written_sectors = row * block_y,
        .global_wavefronts = warps * (aligned * lines + shifted * shifted_lines + lines),
        .float_ops = threads * (2.0 * points - 1),
        .other_ops = threads * (points + 1 + 2.0 * points + 20),
        .loads = points,
        .loads_in_flight = points,
    };
}

/* Rows of 32 threads with four cells each stream along z: z neighbours in registers, y neighbours through
 * L1, x neighbours by shuffles but for the ends of a row. */
static struct vf_kernel_traffic float4_stream(int rows, int chunk)
{
    const double row = vf_model_warp_sectors(0, 16, 32), lines = 4, planes = chunk + 2;
    return (struct vf_kernel_traffic){
        .threads = 32 * rows,
        .registers = 48,
        .tile = {128, rows, chunk},
        .blocks = {EDGE / 128, EDGE / rows, EDGE / chunk},
        .steps = chunk,
        .read_sectors = row * rows * chunk,
        .halo_sectors = {2.0 * rows * chunk, 2 * row * chunk, 2 * row * rows},
        .written_sectors = row * rows * chunk,
        .global_wavefronts = rows * (planes * lines + chunk * (2 * lines + 2 + lines)),
        .float_ops = 32.0 * rows * chunk * 4 * 13,
        .other_ops = 32.0 * rows * chunk * 30,
        .loads = planes * 4,
        .loads_in_flight = 4,
    };
}

/* A thread copies one vector. */
static struct vf_kernel_traffic copy(int vector, int threads)
{
    const double sectors = (double)threads * vector / 32;
    return (struct vf_kernel_traffic){
        .threads = threads,
        .registers = 16,
        .tile = {(ptrdiff_t)threads * vector / 4, 1, 1},
        .blocks = {(ptrdiff_t)(cells * 4) / vector / threads, 1, 1},
        .steps = 1,
        .read_sectors = sectors,
        .written_sectors = sectors,
        .global_wavefronts = 2 * sectors / 4,
        .other_ops = 10.0 * threads,
        .loads = 1,
        .loads_in_flight = 1,
    };
}

/* Measured on an H200 at 512^3, float32, a cell read and written once at the copy's 4.19 TB/s being 1. What
 * blocks the naive sweeps had is not recorded: two usual shapes stand in. */
Test(model_seconds, one_sweep_on_h200)
{
    static const struct {
        const char *what;
        double measured;
    } rows[] = {
        {"7 points, naive 32x8", 0.45},
        {"7 points, naive 256x1", 0.45},
        {"27 points, naive 32x8", 0.17},
        {"7 points, float4 stream", 0.90},
        {"copy, float4", 1},
    };
    const struct vf_kernel_traffic traffic[] = {
        naive(32, 8, false), naive(256, 1, false), naive(32, 8, true), float4_stream(8, 64), copy(16, 256),
    };
    for (int k = 0; k < COUNT(rows); k++) {
        struct vf_model_detail detail;
        const double roof = cells * 8 / h200.bandwidth;
        const double seconds = vf_model_seconds(&h200, &traffic[k], &detail), predicted = roof / seconds;
        cr_log_info(
            "%s: %.2f of the copy, measured %.2f, limit %s; ms: memory %.3f L2 %.3f shared %.3f issue "
            "%.3f latency %.3f",
            rows[k].what, predicted, rows[k].measured, vf_model_limit_name(detail.limit),
            1e3 * detail.seconds[VF_LIMIT_MEMORY], 1e3 * detail.seconds[VF_LIMIT_L2],
            1e3 * detail.seconds[VF_LIMIT_SHARED], 1e3 * detail.seconds[VF_LIMIT_ISSUE],
            1e3 * detail.seconds[VF_LIMIT_LATENCY]);
        cr_expect(predicted < 1.3 * rows[k].measured && predicted > rows[k].measured / 1.3,
                  "%s: %.2f, measured %.2f", rows[k].what, predicted, rows[k].measured);
    }
}

Test(model_seconds, parts_by_hand)
{
    struct vf_model_detail detail;
    const struct vf_kernel_traffic traffic = copy(16, 256);
    cr_expect_leq(vf_model_seconds(&h200, &traffic, &detail),
                  detail.seconds[VF_LIMIT_MEMORY] + detail.seconds[VF_LIMIT_L2] +
                      detail.seconds[VF_LIMIT_SHARED] + detail.seconds[VF_LIMIT_ISSUE] +
                      detail.seconds[VF_LIMIT_LATENCY] + detail.seconds[VF_LIMIT_LAUNCH]);
    cr_expect_eq(detail.limit, VF_LIMIT_MEMORY);
    cr_expect_eq(detail.occupancy.share, 1);
    cr_expect_float_eq(detail.waves, 131072.0 / (8 * 132), 1e-9);
    cr_expect_eq(detail.cell_bytes, 8);
    cr_expect_float_eq(detail.seconds[VF_LIMIT_MEMORY], 8 * cells / 4.19e12, 1e-12);
    cr_expect_str_eq(vf_model_limit_name(detail.limit), "memory");
}

/* Reads of 4 bytes, 8 warps an SM: what is in flight over the latency. */
Test(model_seconds, littles_law)
{
    struct vf_kernel_traffic traffic = copy(4, 256);
    traffic.registers = 255;
    struct vf_model_detail detail;
    const double in_flight = 132.0 * 256 * 4, load = 4 * cells / (in_flight / 550e-9);
    /* A block's start, and its own 16 wavefronts and 10 * 1.2 instructions of 8 warps. */
    const double start = 4 * cells / (in_flight / (300e-9 + (16 + 24) / h200.clock));
    const double expected = start + load;
    const double seconds = vf_model_seconds(&h200, &traffic, &detail);
    cr_expect_eq(detail.limit, VF_LIMIT_LATENCY);
    cr_expect_eq(detail.occupancy.warps, 8);
    cr_expect(fabs(seconds / expected - 1) < 0.02, "%g, not %g", seconds, expected);
    traffic.loads = 4;
    const double four = start + 4 * load;
    cr_expect(fabs(vf_model_seconds(&h200, &traffic, NULL) / four - 1) < 0.02, "one load after another");
    traffic.loads_in_flight = 4;
    cr_expect_lt(vf_model_seconds(&h200, &traffic, NULL), 1.01 * seconds, "together");
}

/* Halo re-reads hit L2 while the bytes between neighbours fit half of it. */
Test(model_seconds, halos_and_l2)
{
    struct vf_kernel_traffic traffic = naive(32, 8, false);
    struct vf_model_detail detail;
    struct vf_gpu gpu = h200;
    const double first_reads_and_writes = 8;
    vf_model_seconds(&gpu, &traffic, &detail);
    cr_expect_eq(detail.cell_bytes, first_reads_and_writes, "resident blocks touch 2 MiB");
    gpu.l2 = 0;
    vf_model_seconds(&gpu, &traffic, &detail);
    cr_expect_eq(detail.cell_bytes, 8 + 4 * (2 * 8 / 32.0 + 2 / 8.0 + 2), "all from memory");
    /* z neighbours are 1024 blocks apart and 1056 are resident: 1056 * 2 KiB lie between all neighbours. */
    gpu.l2 = 2 * 1056 * 2048;
    vf_model_seconds(&gpu, &traffic, &detail);
    cr_expect_eq(detail.cell_bytes, first_reads_and_writes);
    gpu.l2 /= 2;
    vf_model_seconds(&gpu, &traffic, &detail);
    cr_expect_eq(detail.cell_bytes, 8 + 4 * (2 * 8 / 32.0 + 2 / 8.0 + 2) / 2, "half of them");
    /* Few blocks: what lies between is no more than there is. */
    traffic.blocks[2] = 1;
    traffic.blocks[1] = 4;
    gpu.l2 = 2 * 64 * 2048;
    vf_model_seconds(&gpu, &traffic, &detail);
    cr_expect_eq(detail.cell_bytes, first_reads_and_writes);
    traffic = naive(32, 8, false);
    /* A plane four times as large: z neighbours are no longer resident, 4096 * 2 KiB lie between. */
    traffic.blocks[0] *= 4;
    gpu.l2 = 2 * 1056 * 2048;
    vf_model_seconds(&gpu, &traffic, &detail);
    cr_expect_float_eq(detail.cell_bytes, 8 + 4 * 2 * (1 - 1056 / 4096.0), 1e-9, "only along z");
}

/* Streaming neighbours go side by side: the planes of a few steps lie between, not whole columns. */
Test(model_seconds, streams_keep_their_halos)
{
    struct vf_kernel_traffic traffic = float4_stream(8, 128);
    struct vf_model_detail detail;
    vf_model_seconds(&h200, &traffic, &detail);
    cr_expect_float_eq(detail.cell_bytes, 8, 1e-9);
    traffic.steps = 1;
    vf_model_seconds(&h200, &traffic, &detail);
    cr_expect_gt(detail.cell_bytes, 8.5);
}

Test(model_seconds, last_wave)
{
    struct vf_kernel_traffic traffic = float4_stream(8, 512);
    traffic.registers = 255;
    traffic.blocks[0] = 132;
    traffic.blocks[1] = 1;
    struct vf_model_detail one, two;
    const double full = vf_model_seconds(&h200, &traffic, &one);
    traffic.blocks[0]++;
    const double more = vf_model_seconds(&h200, &traffic, &two);
    cr_expect_eq(one.waves, 1);
    cr_expect_float_eq(two.waves, 133 / 132.0, 1e-12);
    cr_expect_float_eq(two.seconds[VF_LIMIT_LATENCY], 2 * one.seconds[VF_LIMIT_LATENCY], 1e-12);
    cr_expect(more > 1.8 * full && more < 2 * full, "one block more takes another wave: %g, %g", full, more);
    cr_expect_lt(two.seconds[VF_LIMIT_MEMORY], 1.01 * one.seconds[VF_LIMIT_MEMORY],
                 "but hardly more bandwidth");
}

/* Waves after the first overlap more than it, where blocks stream and wait for no barrier, and arithmetic
 * bounds them. */
Test(model_seconds, later_waves)
{
    static const struct {
        int planes, barriers;
        double operations; /* of a cell */
        bool overlap_more;
    } cases[] = {{16, 0, 100, true}, {16, 16, 100, false}, {4, 0, 100, false}, {16, 0, 13, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double seconds[2];
        for (int waves = 1; waves <= 2; waves++) {
            struct vf_kernel_traffic t = float4_stream(4, cases[i].planes);
            struct vf_model_detail detail;
            t.float_ops = 32.0 * 4 * cases[i].planes * 4 * cases[i].operations;
            t.barriers = cases[i].barriers;
            vf_model_seconds(&h200, &t, &detail);
            t.blocks[0] = 1; /* of which L2 keeps the halos */
            t.blocks[1] = 1;
            t.blocks[2] = (ptrdiff_t)waves * detail.occupancy.blocks * h200.multiprocessors;
            seconds[waves - 1] = vf_model_seconds(&h200, &t, &detail) - detail.seconds[VF_LIMIT_LAUNCH];
        }
        if (cases[i].overlap_more)
            cr_expect_lt(seconds[1], 1.95 * seconds[0], "case %zu: %g", i, seconds[1] / seconds[0]);
        else
            cr_expect_float_eq(seconds[1] / seconds[0], 2, 1e-9, "case %zu: %g", i, seconds[1] / seconds[0]);
    }
}

/* Fewer blocks than SMs: each has an SM and its port to L2 for itself. */
Test(model_seconds, few_blocks)
{
    struct vf_kernel_traffic traffic = copy(16, 256);
    traffic.barriers = 10;
    struct vf_model_detail one, all;
    traffic.blocks[0] = 1;
    vf_model_seconds(&h200, &traffic, &one);
    cr_expect_float_eq(one.seconds[VF_LIMIT_L2], 8192 / (64 * 1.98e9), 1e-12);
    cr_expect_float_eq(one.seconds[VF_LIMIT_SHARED], 64 / 1.98e9, 1e-12);
    cr_expect_float_eq(one.seconds[VF_LIMIT_LATENCY], 300e-9 + 550e-9 + 10 * 20e-9 + (64 + 24) / 1.98e9,
                       1e-12);
    traffic.blocks[0] = 132;
    vf_model_seconds(&h200, &traffic, &all);
    cr_expect_float_eq(all.seconds[VF_LIMIT_L2], 8192 / (40 * 1.98e9), 1e-12);
    cr_expect_eq(all.seconds[VF_LIMIT_SHARED], one.seconds[VF_LIMIT_SHARED]);
    cr_expect_eq(all.seconds[VF_LIMIT_ISSUE], one.seconds[VF_LIMIT_ISSUE]);
    cr_expect_eq(all.seconds[VF_LIMIT_LATENCY], one.seconds[VF_LIMIT_LATENCY]);
    traffic.blocks[0]++;
    vf_model_seconds(&h200, &traffic, &all);
    cr_expect_float_eq(all.seconds[VF_LIMIT_SHARED], 2 * one.seconds[VF_LIMIT_SHARED], 1e-12,
                       "one SM has two");
}

Test(model_seconds, other_limits)
{
    struct vf_model_detail detail;
    struct vf_kernel_traffic traffic = copy(16, 256);
    traffic.blocks[0] = 1;
    cr_expect_lt(vf_model_seconds(&h200, &traffic, &detail), 5e-6);
    cr_expect_eq(detail.limit, VF_LIMIT_LAUNCH);

    traffic = copy(16, 256);
    traffic.shared_wavefronts = 1000;
    vf_model_seconds(&h200, &traffic, &detail);
    cr_expect_eq(detail.limit, VF_LIMIT_SHARED);
    cr_expect_float_eq(detail.seconds[VF_LIMIT_SHARED], 131072 / 132.0 * (1000 + 64) / 1.98e9, 1e-6);

    traffic = copy(16, 256);
    traffic.double_ops = 1000 * 256;
    vf_model_seconds(&h200, &traffic, &detail);
    cr_expect_eq(detail.limit, VF_LIMIT_ISSUE);
    cr_expect_float_eq(detail.seconds[VF_LIMIT_ISSUE], 131072 / 132.0 * 1000 * 256 / 64 / 1.98e9, 1e-6);
    struct vf_gpu consumer = h200;
    consumer.capability = 89;
    consumer.double_ratio = 64;
    const double slow = vf_model_seconds(&consumer, &traffic, NULL);
    cr_expect_gt(slow, 20 * vf_model_seconds(&h200, &traffic, NULL));

    traffic.registers = 256;
    cr_expect_eq(vf_model_seconds(&h200, &traffic, &detail), INFINITY);
    cr_expect_eq(detail.occupancy.blocks, 0);
}

/* The float lanes of an SM: 64 on Volta, Turing and A100. */
Test(model_seconds, float_lanes)
{
    struct vf_kernel_traffic traffic = copy(16, 256);
    traffic.float_ops = 1000 * 256;
    struct vf_gpu gpu = h200;
    const double issued = 131072 / 132.0 * 1012 * 256 / 128 / 1.98e9;
    static const int full[] = {61, 86, 89, 90, 100, 120}, half[] = {60, 70, 75, 80};
    struct vf_model_detail detail;
    for (int k = 0; k < COUNT(full); k++) {
        gpu.capability = full[k];
        vf_model_seconds(&gpu, &traffic, &detail);
        cr_expect_float_eq(detail.seconds[VF_LIMIT_ISSUE], issued, 1e-3 * issued, "%d", full[k]);
    }
    for (int k = 0; k < COUNT(half); k++) {
        gpu.capability = half[k];
        vf_model_seconds(&gpu, &traffic, &detail);
        cr_expect_float_eq(detail.seconds[VF_LIMIT_ISSUE], issued * 2000 / 1012, 1e-3 * issued, "%d",
                           half[k]);
    }
}

static int below(int limit)
{
    return (int)((random_bits() >> 33) % (uint64_t)limit);
}

static struct vf_kernel_traffic random_traffic(void)
{
    return (struct vf_kernel_traffic){
        .threads = 32 * (1 + below(16)),
        .registers = 16 + below(100),
        .shared = (size_t)below(100) << 9,
        .tile = {32, 8, 1 + below(64)},
        .blocks = {1 + below(64), 1 + below(64), 1 + below(64)},
        .steps = 1 + below(64),
        .read_sectors = below(5000),
        .halo_sectors = {below(1000), below(1000), below(5000)},
        .written_sectors = below(5000),
        .global_wavefronts = below(5000),
        .shared_wavefronts = below(10000),
        .float_ops = below(1000000),
        .double_ops = below(2) * below(1000000),
        .other_ops = below(1000000),
        .loads = 1 + below(100),
        .loads_in_flight = 1 + below(8),
        .barriers = below(200),
    };
}

/* More of anything that costs is never faster, and a better GPU is never slower. */
Test(model_seconds, monotonous)
{
    random_state = 1;
    for (int round = 0; round < 3000; round++) {
        struct vf_kernel_traffic t = random_traffic();
        struct vf_gpu gpu = h200;
        gpu.l2 = (size_t)(1 + below(64)) << 20;
        const double base = vf_model_seconds(&gpu, &t, NULL);
        const double least = base * (1 - 1e-12), most = base * (1 + 1e-12);
        double *const costs[] = {
            &t.read_sectors,      &t.halo_sectors[0],   &t.halo_sectors[1], &t.halo_sectors[2],
            &t.written_sectors,   &t.global_wavefronts, &t.float_ops,       &t.double_ops,
            &t.shared_wavefronts, &t.other_ops,         &t.loads,           &t.barriers,
        };
        for (int k = 0; k < COUNT(costs); k++) {
            const double kept = *costs[k];
            *costs[k] += 1 + below(1000);
            cr_assert_geq(vf_model_seconds(&gpu, &t, NULL), least, "cost %d, round %d", k, round);
            *costs[k] = kept;
        }
        t.loads_in_flight++;
        cr_assert_leq(vf_model_seconds(&gpu, &t, NULL), most, "loads in flight, round %d", round);
        t.loads_in_flight--;
        t.blocks[2] += 1 + below(100);
        cr_assert_geq(vf_model_seconds(&gpu, &t, NULL), least, "blocks, round %d", round);
        t.blocks[2] = 1;
        cr_assert_leq(vf_model_seconds(&gpu, &t, NULL), most, "fewer blocks, round %d", round);
    }
}

Test(model_seconds, better_gpu_is_not_slower)
{
    random_state = 2;
    for (int round = 0; round < 3000; round++) {
        const struct vf_kernel_traffic t = random_traffic();
        const double most = vf_model_seconds(&h200, &t, NULL) * (1 + 1e-12);
        struct vf_gpu gpu = h200;
        gpu.bandwidth *= 2;
        cr_assert_leq(vf_model_seconds(&gpu, &t, NULL), most, "bandwidth, round %d", round);
        gpu.clock *= 1.1;
        cr_assert_leq(vf_model_seconds(&gpu, &t, NULL), most, "clock, round %d", round);
        gpu.l2 *= 2;
        cr_assert_leq(vf_model_seconds(&gpu, &t, NULL), most, "L2, round %d", round);
        gpu.double_ratio = 1;
        cr_assert_leq(vf_model_seconds(&gpu, &t, NULL), most, "double, round %d", round);
    }
}

/* With many waves the last one does not matter: what lowers occupancy is then never faster. */
Test(model_seconds, less_occupancy_is_not_faster)
{
    random_state = 3;
    for (int round = 0; round < 1000; round++) {
        struct vf_kernel_traffic t = random_traffic();
        t.halo_sectors[0] = t.halo_sectors[1] = t.halo_sectors[2] = 0;
        t.blocks[0] = 1000;
        t.blocks[1] = 1000;
        double last = 0;
        for (int registers = 16; registers <= 256; registers += 16) {
            t.registers = registers;
            const double seconds = vf_model_seconds(&h200, &t, NULL);
            cr_assert_geq(seconds, 0.99 * last, "%d registers, round %d", registers, round);
            last = seconds;
        }
        cr_assert_eq(last, INFINITY);
    }
}
