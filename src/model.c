#include "src/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "src/size.h"

/* Rates that the driver does not tell, each with where it is from:
 *   documented: the CUDA programming guide;
 *   fitted: together, to sweeps measured on one H200 (tests/test_model_h200.c), and to 4490 configurations of
 *           six stencils there (make bench-model), those near the best most;
 *   assumed: a plausible figure, not measured on its own. */
static const struct {
    double l2_bytes;        /* a clock and SM, all SMs reading */
    double l2_bytes_alone;  /* a clock and SM, if others are idle */
    double l2_share;        /* of its capacity that halos may count on */
    double drift;           /* steps that streaming neighbours are apart */
    double issued;          /* instructions a clock and SM */
    double issue_warps;     /* on an SM for that rate, unless a scheme says */
    double other_ops;       /* instructions for each that is counted beside arithmetic */
    double memory_latency;  /* seconds, under load */
    double barrier_latency; /* seconds */
    double start;           /* seconds from a block's end to the first loads of the next in its place */
    double launch;          /* seconds */
    double norm;            /* of the parts, which overlap */
    double norm_ahead;      /* where blocks run ahead */
    double norm_later;      /* of later waves whose blocks drift apart, if issue bounds them */
    double long_stream;     /* steps that blocks take at least to drift apart */
    double bound;           /* of the longest part, what bounds is at least this */
} rate = {
    .l2_bytes = 40,           /* fitted */
    .l2_bytes_alone = 64,     /* assumed */
    .l2_share = 0.5,          /* assumed: writes and first reads pass through the same cache */
    .drift = 4,               /* assumed */
    .issued = 4,              /* documented: one for each of four schedulers */
    .issue_warps = 5,         /* fitted: somewhat more than one a scheduler */
    .other_ops = 1.2,         /* fitted */
    .memory_latency = 550e-9, /* fitted; 600 to 800 ns are usual where memory is the limit */
    .barrier_latency = 20e-9, /* fitted: some 40 clocks */
    .start = 300e-9,          /* fitted */
    .launch = 3e-6,           /* assumed, between launches of one stream */
    .norm = 2.5,              /* fitted */
    .norm_ahead = 4,          /* fitted to 10 kernels */
    .norm_later = 5,          /* fitted to 6222 configurations of three stencils on six grids */
    .long_stream = 5,         /* assumed */
    .bound = 0.8,             /* fitted: 7 points that memory bounds gain nothing */
};

/* ---- counts of one warp-wide access ---- */

static ptrdiff_t floor_div(ptrdiff_t a, ptrdiff_t b)
{
    return a >= 0 ? a / b : -vf_ceil_div(-a, b);
}

/* Aligned pieces of `unit` bytes that are touched. */
static double pieces(ptrdiff_t start, int element, ptrdiff_t lanes, int unit)
{
    const ptrdiff_t last = start + lanes - 1;
    return lanes <= 0 ? 0 : (double)(floor_div(last * element, unit) - floor_div(start * element, unit) + 1);
}

double vf_model_warp_sectors(ptrdiff_t start, int element, ptrdiff_t lanes)
{
    return pieces(start, element, lanes, VF_SECTOR_BYTES);
}

double vf_model_warp_lines(ptrdiff_t start, int element, ptrdiff_t lanes)
{
    return pieces(start, element, lanes, VF_LINE_BYTES);
}

/* ---- occupancy ---- */

struct vf_granularity vf_granularity_of(int capability)
{
    return (struct vf_granularity){
        .registers = 256,
        .parts = capability == 60 ? 2 : 4,
        .shared = capability < 80 ? 256 : 128,
        .shared_reserve = capability < 80 ? 0 : 1024,
    };
}

/* Blocks of `warps` warps that the register file holds. */
static ptrdiff_t register_blocks(const struct vf_gpu *gpu, int warps, int registers,
                                 const struct vf_granularity *granularity)
{
    if (registers == 0)
        return PTRDIFF_MAX;
    const ptrdiff_t warp_registers =
        vf_ceil_div((ptrdiff_t)registers * gpu->warp, granularity->registers) * granularity->registers;
    const ptrdiff_t part_warps = gpu->sm_registers / granularity->parts / warp_registers;
    return registers > VF_THREAD_REGISTERS ? 0 : part_warps * granularity->parts / warps;
}

static ptrdiff_t shared_blocks(const struct vf_gpu *gpu, size_t shared,
                               const struct vf_granularity *granularity)
{
    if (shared > gpu->block_shared)
        return 0;
    const size_t unit = granularity->shared, all = shared + granularity->shared_reserve;
    const size_t taken = (all + unit - 1) / unit * unit;
    return taken == 0 ? PTRDIFF_MAX : (ptrdiff_t)(gpu->sm_shared / taken);
}

struct vf_occupancy vf_model_occupancy(const struct vf_gpu *gpu, int threads, int registers, size_t shared,
                                       const struct vf_granularity *granularity)
{
    const int warps = (int)vf_ceil_div(threads, gpu->warp), sm_warps = gpu->sm_threads / gpu->warp;
    ptrdiff_t most = threads > gpu->block_threads ? 0 : sm_warps / warps;
    most = vf_smaller(most, gpu->sm_blocks);
    most = vf_smaller(most, register_blocks(gpu, warps, registers, granularity));
    most = vf_smaller(most, shared_blocks(gpu, shared, granularity));
    const int blocks = (int)most;
    return (struct vf_occupancy){
        .blocks = blocks, .warps = blocks * warps, .share = (double)(blocks * warps) / sm_warps};
}

/* ---- predicted time ---- */

const char *vf_model_limit_name(enum vf_model_limit limit)
{
    static const char *const name[VF_LIMIT_COUNT] = {
        [VF_LIMIT_MEMORY] = "memory",
        [VF_LIMIT_L2] = "L2",
        [VF_LIMIT_SHARED] = "L1 and shared memory",
        [VF_LIMIT_ISSUE] = "issue",
        [VF_LIMIT_LATENCY] = "latency",
        [VF_LIMIT_LAUNCH] = "launch",
    };
    return name[limit];
}

/* Of an SM, in a clock; from the CUDA programming guide's table of arithmetic throughput. */
static double float_lanes(int capability)
{
    const bool half = capability == 60 || (capability >= 70 && capability <= 80);
    return half ? 64 : 128;
}

/* Bytes of a block's reads that memory serves, when `resident` blocks run at once. */
static double memory_read_bytes(const struct vf_gpu *gpu, const struct vf_kernel_traffic *traffic,
                                double resident)
{
    const double block = (traffic->read_sectors + traffic->written_sectors) * VF_SECTOR_BYTES;
    const double step = block * fmin(1, rate.drift / (double)traffic->steps);
    double sectors = traffic->read_sectors, apart = 1;
    for (int axis = 0; axis < 3; axis++) {
        const double between = apart < resident ? resident * step : apart * block;
        const double room = rate.l2_share * (double)gpu->l2;
        const double missed = between > room ? 1 - room / between : 0;
        sectors += traffic->halo_sectors[axis] * missed;
        apart *= (double)traffic->blocks[axis];
    }
    return sectors * VF_SECTOR_BYTES;
}

/* What does not change from wave to wave. */
struct block_cost {
    double memory_bytes, l2_bytes;
    double shared_clocks, issue_clocks;
    double alone; /* seconds that a block takes with an SM for itself */
    double warps;
    double issue_warps;
    double norm;
    bool drifts; /* blocks that start as others end are at other steps than they from then on */
};

/* Clocks a second at which an SM with so many blocks works. */
static double sm_rate(const struct vf_gpu *gpu, const struct block_cost *cost, double blocks)
{
    return fmin(1, blocks * cost->warps / cost->issue_warps) * gpu->clock;
}

static struct block_cost block_cost_of(const struct vf_gpu *gpu, const struct vf_kernel_traffic *t,
                                       double resident)
{
    const double halo = t->halo_sectors[0] + t->halo_sectors[1] + t->halo_sectors[2];
    const double lanes = float_lanes(gpu->capability);
    const double instructions = t->float_ops + t->double_ops + t->other_ops * rate.other_ops;
    const double arithmetic = (t->float_ops + t->double_ops * gpu->double_ratio) / lanes;
    struct block_cost cost = {
        .memory_bytes = memory_read_bytes(gpu, t, resident) + t->written_sectors * VF_SECTOR_BYTES,
        .l2_bytes = (t->read_sectors + halo + t->written_sectors) * VF_SECTOR_BYTES,
        .shared_clocks = t->global_wavefronts + t->shared_wavefronts,
        .issue_clocks = fmax(instructions / gpu->warp / rate.issued, arithmetic),
        .warps = (double)vf_ceil_div(t->threads, gpu->warp),
        .issue_warps = t->issue_warps > 0 ? t->issue_warps : rate.issue_warps,
        .norm = t->overlap == VF_RUNS_AHEAD ? rate.norm_ahead : rate.norm,
        .drifts = (double)t->steps >= rate.long_stream && t->barriers == 0 && t->threads > gpu->warp,
    };
    const double work = t->overlap == VF_PHASES ? cost.shared_clocks + cost.issue_clocks
                                                : fmax(cost.shared_clocks, cost.issue_clocks);
    cost.alone = rate.start + t->loads / t->loads_in_flight * rate.memory_latency +
                 t->barriers * rate.barrier_latency + work / sm_rate(gpu, &cost, 1);
    return cost;
}

/* Adds the parts of `waves` waves of `blocks` blocks each to `seconds`, and returns what they take together.
 */
static double add_waves(const struct vf_gpu *gpu, const struct block_cost *cost, double waves, double blocks,
                        bool later, double *seconds)
{
    if (waves == 0 || blocks == 0)
        return 0;
    const double sms = gpu->multiprocessors, busiest = ceil(blocks / sms);
    const double l2_rate = fmin(sms * rate.l2_bytes, fmin(blocks, sms) * rate.l2_bytes_alone) * gpu->clock;
    const double clocks = sm_rate(gpu, cost, busiest);
    const double part[] = {
        [VF_LIMIT_MEMORY] = blocks * cost->memory_bytes / gpu->bandwidth,
        [VF_LIMIT_L2] = blocks * cost->l2_bytes / l2_rate,
        [VF_LIMIT_SHARED] = busiest * cost->shared_clocks / clocks,
        [VF_LIMIT_ISSUE] = busiest * cost->issue_clocks / clocks,
        [VF_LIMIT_LATENCY] = cost->alone,
    };
    double longest = 0, sum = 0;
    for (int k = 0; k < VF_LIMIT_LAUNCH; k++) {
        longest = fmax(longest, part[k]);
        seconds[k] += waves * part[k];
    }
    const bool overlaps_more = later && cost->drifts && part[VF_LIMIT_ISSUE] >= rate.bound * longest;
    const double norm = overlaps_more ? fmax(cost->norm, rate.norm_later) : cost->norm;
    for (int k = 0; k < VF_LIMIT_LAUNCH; k++)
        sum += pow(part[k] / longest, norm);
    return waves * longest * pow(sum, 1 / norm);
}

double vf_model_seconds(const struct vf_gpu *gpu, const struct vf_kernel_traffic *traffic,
                        struct vf_model_detail *detail)
{
    struct vf_model_detail unwanted;
    if (detail == NULL)
        detail = &unwanted;
    memset(detail, 0, sizeof *detail);
    const struct vf_granularity granularity = vf_granularity_of(gpu->capability);
    detail->occupancy =
        vf_model_occupancy(gpu, traffic->threads, traffic->registers, traffic->shared, &granularity);
    if (detail->occupancy.blocks == 0)
        return INFINITY;

    const double blocks =
        (double)traffic->blocks[0] * (double)traffic->blocks[1] * (double)traffic->blocks[2];
    const double resident = (double)detail->occupancy.blocks * gpu->multiprocessors;
    const struct block_cost cost = block_cost_of(gpu, traffic, fmin(resident, blocks));
    detail->waves = blocks / resident;
    detail->cell_bytes =
        cost.memory_bytes / ((double)traffic->tile[0] * (double)traffic->tile[1] * (double)traffic->tile[2]);

    const double full = floor(detail->waves), rest = blocks - full * resident;
    detail->seconds[VF_LIMIT_LAUNCH] = rate.launch;
    const double first = fmin(full, 1);
    const double seconds = rate.launch + add_waves(gpu, &cost, first, resident, false, detail->seconds) +
                           add_waves(gpu, &cost, full - first, resident, true, detail->seconds) +
                           add_waves(gpu, &cost, 1, rest, full > 0, detail->seconds);
    for (int k = 0; k < VF_LIMIT_COUNT; k++)
        if (detail->seconds[k] > detail->seconds[detail->limit])
            detail->limit = (enum vf_model_limit)k;
    return seconds;
}
