#include "stream_plan.h"

#include <math.h>
#include <string.h>

#include "alloc.h"
#include "cuda_device.h"
#include "size.h"

/* What reading, computing and writing cost each other at the same time, where a disk is waited for: a share
 * of the shorter. */
#define BESIDE_SHARE 0.5
/* The same of files in memory and the CPU's computing, which take bandwidth from each other. */
#define CACHED_SHARE 0.25
/* Of a sweep over a slab: starting threads, taking memory. */
#define SWEEP_SECONDS 300e-6
#define GPU_SWEEP_SECONDS 500e-6
/* What one pass less may cost: a share of the time. */
#define PASS_WORTH 0.5
/* Of memory: what the planes that a run works in may take. */
#define WORK_SHARE 0.25
/* Where slabs of so few planes are all that fits, less is tried too: windows leave no more, and tiles that
 * are as small as can be compute many times over. */
#define THIN_SLAB 6
static const double thin_share[] = {WORK_SHARE, 1. / 8, 1. / 16, 1. / 32, 1. / 64};
/* Slabs grow by half from 1: more of them, thin ones counted again, than any extent has. */
#define MOST_SLABS 100

/* ---- one plan, one slab ---- */

struct trial {
    const struct vf_stream_request *request;
    const struct vf_plan *plan;
    struct vf_stream_plan stream;
    /* Slabs that are tried: their planes, and the share of memory that runs may work in; 0: as little as can
     * be. The first `usual` have each thickness once. */
    int slab_count, usual;
    ptrdiff_t slab[MOST_SLABS];
    double share[MOST_SLABS];
    struct vf_stream_run *known; /* owned: [run_count][slab_count] */
    int known_count[MOST_SLABS]; /* of so many runs, from the first one on */
};

/* What the runs of a pass hold, all but its first and last window, which change as it gets longer. */
struct held {
    double between; /* bytes of the windows between them */
    double work;    /* of the one that works in most */
    ptrdiff_t reach;
};

/* Adds run number `index`, the last one of the pass so far. */
static void hold(const struct trial *t, const struct vf_pass *pass, int index, struct held *held)
{
    const struct vf_stream_run *run = &t->stream.run[vf_stream_run_of(t->plan, pass, index)];
    if (index > 0)
        held->between +=
            vf_stream_window_of_reach(&t->stream, t->plan, &t->request->ends, pass, index, run->reach).bytes;
    held->work = fmax(held->work, run->work);
    held->reach += run->reach;
}

static double held_bytes(const struct trial *t, const struct vf_pass *pass, const struct held *held)
{
    const struct vf_stream_run none = {.work = 0};
    const struct vf_stream_run *last = pass->prepass >= 0 ? &t->stream.run[pass->prepass] : &none;
    double bytes = held->between + fmax(held->work, last->work);
    bytes +=
        vf_stream_window_of_reach(&t->stream, t->plan, &t->request->ends, pass, 0, held->reach + last->reach)
            .bytes;
    if (pass->runs > 0)
        bytes +=
            vf_stream_window_of_reach(&t->stream, t->plan, &t->request->ends, pass, pass->runs, last->reach)
                .bytes;
    return bytes;
}

/* Memory of a pass. */
static double pass_bytes(const struct trial *t, const struct vf_pass *pass)
{
    struct held held = {0};
    for (int i = 0; i < pass->runs; i++)
        hold(t, pass, i, &held);
    return held_bytes(t, pass, &held);
}

/* A GPU's kernels over all slabs of a channel, and what is moved for them. */
static double gpu_seconds(const struct vf_plan *plan, const struct vf_run *run, const struct vf_flow *flow,
                          double with_overlap)
{
    double bytes = flow->source_count * (double)vf_type_size(run->source_type) * with_overlap;
    if (!run->prepass)
        bytes += flow->sink_count * (double)vf_type_size(run->sink_type);
    return run->seconds * with_overlap + (double)vf_plan_voxels(plan) * bytes / vf_cuda_costs.pinned;
}

static size_t work_limit(const struct trial *t, int s)
{
    const double bytes = t->request->bytes * t->share[s];
    return bytes < 1 ? 1 : (size_t)bytes;
}

/* Tiles, memory and time of a run with slabs number `s`. */
static enum vf_status weigh(const struct trial *t, int r, int s, struct vf_stream_run *weighed,
                            struct vf_error *error)
{
    const ptrdiff_t slab = t->slab[s];
    const struct vf_plan *plan = t->plan;
    const struct vf_run *run = &plan->run[r];
    const bool flat = plan->context.dim == 2 && !plan->by_rows;
    const ptrdiff_t extent = vf_stream_extent(plan);
    const double channels = (double)t->request->ends.channels;
    const ptrdiff_t in_image = vf_ceil_div(extent, slab);
    const double slabs = (double)in_image * (double)vf_stream_images(plan) * channels;
    struct vf_flow flow;
    *weighed = (struct vf_stream_run){.tiling = run->tiling};
    enum vf_status status = vf_plan_flow(plan, run, NULL, &flow, error);
    if (status != VF_OK)
        return status;
    if (plan->gpu != NULL) {
        status = vf_plan_reach(plan, run, 0, &weighed->reach, error);
        const double with_overlap = (double)(slab + 2 * weighed->reach) / (double)slab;
        weighed->seconds = channels * gpu_seconds(plan, run, &flow, with_overlap);
    } else {
        struct vf_job job = {.flow = &flow,
                             .nx = plan->nx,
                             .ny = plan->ny,
                             .nz = plan->nz,
                             .batch = flat ? slab : 1,
                             .z_end = flat ? 1 : slab,
                             .by_rows = plan->by_rows,
                             .source_type = run->source_type,
                             .sink_type = run->sink_type,
                             .threads = plan->threads,
                             .times = slabs,
                             .work_limit = work_limit(t, s)};
        weighed->seconds = plan->scheme->plan(&job) * slabs;
        if (plan->given.tile.x > 0)
            job.tiling = run->tiling;
        weighed->tiling = job.tiling;
        weighed->work = (double)plan->scheme->bytes(&job);
        status = vf_plan_reach(plan, run, job.tiling.cut, &weighed->reach, error);
    }
    weighed->seconds += (plan->gpu != NULL ? GPU_SWEEP_SECONDS : SWEEP_SECONDS) * slabs;
    weighed->work += channels * (double)vf_plan_counter_bytes(plan, run);
    vf_flow_close(&flow);
    return status;
}

/* Sets what is known of runs [begin, end) with slabs number `s`. */
static enum vf_status weigh_runs(struct trial *t, int begin, int end, int s, struct vf_error *error)
{
    for (int r = t->known_count[s]; r < end; r++) {
        struct vf_stream_run *known = &t->known[r * t->slab_count + s];
        const int repeats = t->plan->run[r].repeats;
        const enum vf_status status = repeats > 0 ? VF_OK : weigh(t, r, s, known, error);
        if (status != VF_OK)
            return status;
        if (repeats > 0)
            *known = *(known - repeats * t->slab_count);
        t->known_count[s] = r + 1;
    }
    for (int r = begin; r < end; r++)
        t->stream.run[r] = t->known[r * t->slab_count + s];
    return VF_OK;
}

static bool fits(const struct trial *t, struct vf_pass *pass, const struct held *held)
{
    pass->to_file = pass->run_end == t->plan->run_count;
    pass->bytes = held_bytes(t, pass, held);
    return pass->bytes <= t->request->bytes;
}

/* The longest pass from run `begin` on that fits into memory. Runs before `fresh` were computed by earlier
 * passes and are computed again. If not even the shortest pass with a run from `fresh` on fits: false, and
 * that pass. */
static bool next_pass(const struct trial *t, int begin, int fresh, bool from_file, ptrdiff_t slab,
                      struct vf_pass *pass, int *next)
{
    const struct vf_plan *plan = t->plan;
    struct vf_pass longer = {
        .run_begin = begin, .run_end = begin, .prepass = -1, .from_file = from_file, .slab = slab};
    struct held held = {0};
    bool good = false;
    for (int r = begin; r < plan->run_count && longer.prepass < 0; r++) {
        if (plan->run[r].prepass && r < fresh)
            continue;
        if (plan->run[r].prepass) {
            longer.prepass = r;
        } else {
            longer.run_end = r + 1;
            longer.runs++;
            longer.stores = true;
            hold(t, &longer, longer.runs - 1, &held);
        }
        if (r < fresh)
            continue;
        if (!fits(t, &longer, &held)) {
            if (!good)
                *pass = longer;
            break;
        }
        good = true;
        *pass = longer;
        *next = r + 1;
    }
    return good;
}

/* Whether the pre-pass at the end of a pass takes the places of the values that its last run was computed
 * with. */
static bool replaces_values(const struct trial *t, const struct vf_pass *pass)
{
    const struct vf_plan *plan = t->plan;
    if (pass->prepass < 0 || pass->runs == 0 || !plan->run[pass->prepass].each)
        return false;
    const struct vf_run *last = &plan->run[pass->run_end - 1];
    return plan->piece[last->piece_end - 1].link == plan->piece[plan->run[pass->prepass].piece_begin].link;
}

/* Whether the runs of a pass that ends with a pre-pass are better computed again than stored. */
static bool is_light(const struct trial *t, const struct vf_pass *pass)
{
    if (replaces_values(t, pass))
        return false;
    const struct vf_window_shape in = vf_stream_window(&t->stream, t->plan, &t->request->ends, pass, 0);
    const struct vf_window_shape out =
        vf_stream_window(&t->stream, t->plan, &t->request->ends, pass, pass->runs);
    const double plane = (double)vf_stream_plane(t->plan);
    const double planes = (double)vf_stream_extent(t->plan) * (double)vf_stream_images(t->plan);
    const double read = plane * planes * in.count * (double)vf_type_size(in.type);
    const double stored = plane * planes * out.count * (double)vf_type_size(out.type);
    double computed = 0;
    for (int i = 0; i < pass->runs; i++)
        computed += t->stream.run[vf_stream_run_of(t->plan, pass, i)].seconds;
    return pass->prepass >= 0 && pass->runs > 0 &&
           computed < vf_stream_file_seconds(2 * stored - read, false);
}

/* Passes of slabs number `s`, as long as memory allows; none when it does not, and what would
 * have been needed for all runs by themselves. */
static enum vf_status lay_out(struct trial *t, int s, struct vf_error *error)
{
    struct vf_stream_plan *stream = &t->stream;
    enum vf_status status = weigh_runs(t, 0, t->plan->run_count, s, error);
    bool from_file = true, good = true;
    stream->pass_count = 0;
    for (int begin = 0, fresh = 0, next = 0; fresh < t->plan->run_count && status == VF_OK; fresh = next) {
        struct vf_pass *pass = &stream->pass[stream->pass_count++];
        bool fit = next_pass(t, begin, fresh, from_file, t->slab[s], pass, &next);
        if (!fit && begin < fresh) { /* the last one stores after all */
            pass[-1].stores = true;
            pass[-1].bytes = pass_bytes(t, &pass[-1]);
            from_file = false;
            begin = fresh;
            fit = next_pass(t, begin, fresh, from_file, t->slab[s], pass, &next);
        }
        if (!fit) {
            next = fresh + 1;
            if (s == 0 && pass->bytes > stream->needed_bytes)
                stream->needed_bytes = pass->bytes;
        }
        good = good && fit;
        if (fit && is_light(t, pass)) {
            pass->stores = false;
            pass->bytes = pass_bytes(t, pass);
        } else {
            from_file = from_file && pass->runs == 0;
            begin = next;
        }
    }
    if (!good)
        stream->pass_count = 0;
    return status;
}

/* ---- what passes cost ---- */

/* Seconds of what takes `a` and `b` by themselves, and `share` of the shorter one besides. */
static double beside(double a, double b, double share)
{
    return a > b ? a + share * b : b + share * a;
}

static void predict_pass(const struct trial *t, struct vf_pass *pass)
{
    const int runs = pass->runs;
    const double plane = (double)vf_stream_plane(t->plan);
    const double images = (double)vf_stream_images(t->plan);
    const struct vf_window_shape in = vf_stream_window(&t->stream, t->plan, &t->request->ends, pass, 0);
    const struct vf_window_shape out = vf_stream_window(&t->stream, t->plan, &t->request->ends, pass, runs);
    const double planes = (double)(vf_stream_extent(t->plan) + 2 * in.beyond) * images;
    double computed = 0;
    pass->read_bytes = plane * in.count * (double)vf_type_size(in.type) * planes;
    pass->written_bytes = 0;
    if (pass->stores)
        pass->written_bytes =
            plane * out.count * (double)vf_type_size(out.type) * images * (double)vf_stream_extent(t->plan);
    for (int i = 0; i < runs + (pass->prepass >= 0); i++)
        computed += t->stream.run[vf_stream_reader_of(t->plan, pass, i)].seconds;
    const double read = vf_stream_file_seconds(pass->read_bytes, t->request->cached);
    const double written = vf_stream_file_seconds(pass->written_bytes, t->request->cached);
    const double moved = beside(read, written, BESIDE_SHARE);
    /* What is done with files that are in memory takes processors too. */
    const double busy = computed + (read + written) / t->plan->threads;
    pass->seconds = !t->request->cached ? beside(computed, moved, BESIDE_SHARE)
                                        : beside(busy, moved, t->plan->gpu == NULL ? CACHED_SHARE : 0);
    /* Nothing is computed while the first slab comes and the last one goes. */
    pass->seconds += moved * (double)pass->slab / planes;
    pass->seconds += vf_stream_memory_seconds(pass->bytes);
}

/* The run after its last. */
static int end_of(const struct vf_pass *pass)
{
    return pass->prepass >= 0 ? pass->prepass + 1 : pass->run_end;
}

/* The slabs of a pass that are predicted to be fastest: thick ones compute less twice, thin ones begin and
 * end sooner. */
static enum vf_status choose_thickness(struct trial *t, struct vf_pass *pass, struct vf_error *error)
{
    const int end = end_of(pass);
    int best = -1;
    for (int s = 0; s < t->slab_count; s++) {
        if (s == t->usual && (best < 0 || t->slab[best] > THIN_SLAB))
            break;
        struct vf_pass other = *pass;
        enum vf_status status = weigh_runs(t, pass->run_begin, end, s, error);
        if (status != VF_OK)
            return status;
        other.slab = t->slab[s];
        other.bytes = pass_bytes(t, &other);
        if (other.bytes > t->request->bytes)
            continue;
        predict_pass(t, &other);
        if (best < 0 || other.seconds < pass->seconds) {
            *pass = other;
            best = s;
        }
    }
    return weigh_runs(t, pass->run_begin, end, best < 0 ? 0 : best, error);
}

/* The same for pass p; a run that is part of the one before too has the tiles that take less memory. */
static enum vf_status choose_pass(struct trial *t, int p, struct vf_error *error)
{
    struct vf_pass *pass = &t->stream.pass[p];
    const int shared = p > 0 ? end_of(&pass[-1]) - pass->run_begin : 0;
    const size_t count = shared > 0 ? (size_t)shared : 0;
    struct vf_stream_run *run = t->stream.run + pass->run_begin;
    struct vf_stream_run *before = vf_alloc(count + 1, sizeof *before, "the plan", error);
    if (before == NULL)
        return VF_FAILED;
    memcpy(before, run, count * sizeof *before);
    const enum vf_status status = choose_thickness(t, pass, error);
    for (size_t i = 0; i < count; i++)
        if (before[i].work < run[i].work)
            run[i] = before[i];
    vf_free(before);
    return status;
}

static enum vf_status refine(struct trial *t, struct vf_error *error)
{
    struct vf_stream_plan *s = &t->stream;
    double held = 0;
    s->bytes = s->temporary_bytes = s->read_bytes = s->written_bytes = s->seconds = 0;
    for (int p = 0; p < s->pass_count; p++) {
        struct vf_pass *pass = &s->pass[p];
        const enum vf_status status = choose_pass(t, p, error);
        if (status != VF_OK)
            return status;
        s->read_bytes += pass->read_bytes;
        s->written_bytes += pass->written_bytes;
        s->seconds += pass->seconds;
        if (pass->to_file || !pass->stores)
            continue;
        if (held + pass->written_bytes > s->temporary_bytes)
            s->temporary_bytes = held + pass->written_bytes;
        held = pass->written_bytes;
    }
    /* Runs of two passes have tiles for both. */
    for (int p = 0; p < s->pass_count; p++) {
        s->pass[p].bytes = pass_bytes(t, &s->pass[p]);
        s->bytes = s->pass[p].bytes > s->bytes ? s->pass[p].bytes : s->bytes;
    }
    return VF_OK;
}

/* ---- the choice ---- */

static double weight(const struct vf_stream_plan *s)
{
    return s->seconds * (1 + PASS_WORTH * s->pass_count);
}

static bool is_better(const struct vf_stream_plan *a, const struct vf_stream_plan *b)
{
    return a->pass_count > 0 && (b->pass_count == 0 || weight(a) < weight(b));
}

static void add_slab(struct trial *t, ptrdiff_t slab, double share)
{
    t->slab[t->slab_count] = slab;
    t->share[t->slab_count++] = share;
}

static enum vf_status open_trial(struct trial *t, const struct vf_stream_request *request,
                                 const struct vf_plan *plan, struct vf_error *error)
{
    const size_t runs = (size_t)plan->run_count;
    const ptrdiff_t extent = vf_stream_extent(plan);
    *t = (struct trial){.request = request, .plan = plan};
    for (ptrdiff_t slab = 1; t->slab_count < MOST_SLABS; slab = vf_larger(slab + 1, slab * 3 / 2)) {
        /* The thinnest one says how much is needed at least. */
        add_slab(t, vf_smaller(slab, extent), t->slab_count == 0 ? 0 : WORK_SHARE);
        if (slab >= extent)
            break;
    }
    t->usual = t->slab_count;
    for (int s = 0; plan->gpu == NULL && s < t->usual && t->slab[s] <= THIN_SLAB; s++)
        for (size_t i = s > 0; i < sizeof thin_share / sizeof *thin_share; i++)
            add_slab(t, t->slab[s], thin_share[i]);
    t->known = vf_alloc(runs * (size_t)t->slab_count, sizeof *t->known, "the plan", error);
    t->stream.run = vf_alloc(runs, sizeof *t->stream.run, "the plan", error);
    t->stream.pass = vf_alloc(runs, sizeof *t->stream.pass, "the plan", error);
    if (t->known == NULL || t->stream.run == NULL || t->stream.pass == NULL)
        return VF_FAILED;
    return VF_OK;
}

/* Keeps the stream's plan where it is taken. */
static void close_trial(struct trial *t, struct vf_stream_plan *taken)
{
    vf_free(t->known);
    if (taken != NULL)
        *taken = t->stream;
    else
        vf_stream_plan_close(&t->stream);
}

/* The best for one plan: each number of passes that there can be, with the thickest slabs that it allows. */
static enum vf_status choose_slabs(struct trial *t, struct vf_error *error)
{
    int passes[MOST_SLABS], fitting = 0, best = -1;
    double least = 0;
    enum vf_status status;
    for (int s = 0; s < t->usual && s == fitting; s++) {
        VF_TRY(lay_out(t, s, error));
        passes[s] = t->stream.pass_count;
        fitting += passes[s] > 0;
    }
    for (int s = 0; s < fitting; s++) {
        if (s + 1 < fitting && passes[s + 1] == passes[s])
            continue;
        VF_TRY(lay_out(t, s, error));
        VF_TRY(refine(t, error));
        if (best < 0 || weight(&t->stream) < least) {
            least = weight(&t->stream);
            best = s;
        }
    }
    VF_TRY(lay_out(t, best < 0 ? 0 : best, error));
    status = refine(t, error);
out:
    return status;
}

/* Plans with shorter runs, which reach less far, compute less twice and hold more. */
static enum vf_status try_shorter(struct vf_stream_plan *stream, struct vf_plan *plan,
                                  const struct vf_stream_request *request, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int fused = vf_plan_longest_run(plan) / 2; fused >= 1 && status == VF_OK; fused /= 2) {
        struct vf_plan_request shorter = request->plan;
        struct vf_plan other;
        struct trial t;
        shorter.most_fused = fused;
        status = vf_plan_open(&other, &shorter, error);
        if (status != VF_OK)
            return status;
        other.by_rows = plan->by_rows;
        status = open_trial(&t, request, &other, error);
        if (status == VF_OK)
            status = choose_slabs(&t, error);
        if (status == VF_OK && is_better(&t.stream, stream)) {
            vf_stream_plan_close(stream);
            vf_plan_close(plan);
            close_trial(&t, stream);
            *plan = other;
            continue;
        }
        if (stream->pass_count == 0 && t.stream.needed_bytes < stream->needed_bytes)
            stream->needed_bytes = t.stream.needed_bytes;
        close_trial(&t, NULL);
        vf_plan_close(&other);
    }
    return status;
}

enum vf_status vf_stream_plan_open(struct vf_stream_plan *stream, struct vf_plan *plan,
                                   const struct vf_stream_request *request, struct vf_error *error)
{
    struct trial t;
    enum vf_status status = open_trial(&t, request, plan, error);
    if (status == VF_OK)
        status = choose_slabs(&t, error);
    close_trial(&t, stream);
    /* A GPU's are as short as its kernels gain by; where slabs of them do not fit, shorter ones may. */
    if (status == VF_OK && (plan->gpu == NULL || stream->pass_count == 0))
        status = try_shorter(stream, plan, request, error);
    for (int r = 0; r < plan->run_count && status == VF_OK && stream->pass_count > 0 && plan->gpu == NULL;
         r++) {
        plan->run[r].tiling = stream->run[r].tiling;
        plan->run[r].seconds = stream->run[r].seconds / (double)request->ends.channels;
        plan->run[r].work_bytes = (size_t)stream->run[r].work;
    }
    if (status != VF_OK)
        vf_stream_plan_close(stream);
    return status;
}

void vf_stream_plan_close(struct vf_stream_plan *stream)
{
    vf_free(stream->pass);
    vf_free(stream->run);
    *stream = (struct vf_stream_plan){0};
}
