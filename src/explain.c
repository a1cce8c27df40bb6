/* The plan in words and as JSON. explain_stream.c has what a file in slabs adds. */
#include "explain.h"

#include <limits.h>
#include <string.h>

#include "alloc.h"
#include "kernels/cpu_rows.h"
#include "size.h"

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

/* Bytes that a run reads and writes in memory, all channels: every source and sink once. */
static void run_traffic(const struct vf_explained *x, const struct vf_run *run, size_t *reads, size_t *writes)
{
    const struct vf_plan *plan = x->plan;
    const size_t voxels = vf_plan_voxels(plan) * x->channels;
    *reads = voxels * (size_t)run->inputs * vf_type_size(run->source_type);
    *writes = voxels * (size_t)run->outputs * vf_type_size(run->sink_type);
    if (run->prepass)
        *writes = 0;
}

/* The stages of one iteration, by name. */
static void stage_names(const struct vf_stage *stage, int count, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? " " : "", stage[i].name);
    if (count == 0)
        snprintf(text, room, "(none)");
}

/* The halo (z, y, x) of a link's iteration: how far its stages reach together. */
static void link_halo(const struct vf_expansion *e, int dim, int halo[3])
{
    const struct vf_flow flow = {.dim = dim, .stage = e->stage};
    struct vf_error ignored;
    int(*reach)[3] = vf_alloc((size_t)e->field_count, sizeof *reach, "reaches", &ignored);
    memset(halo, 0, 3 * sizeof *halo);
    if (reach == NULL)
        return;
    vf_stages_reach(&flow, 0, e->stage_count, reach);
    memcpy(halo, reach[0], sizeof *reach);
    vf_free(reach);
}

static void print_links(const struct vf_explained *x, FILE *to)
{
    const struct vf_plan *plan = x->plan;
    char text[256];
    for (int i = 0; i < plan->chain->count; i++) {
        const struct vf_expansion *e = &plan->link[i];
        int halo[3];
        link_halo(e, plan->context.dim, halo);
        stage_names(e->stage, e->stage_count, text, sizeof text);
        fprintf(to, "  %d %-16s stages %s, halo %dx%dx%d", i + 1, plan->chain->link[i].filter->name, text,
                halo[2], halo[1], halo[0]);
        if (e->repeat > 1)
            fprintf(to, " per iteration, %d iterations", e->repeat);
        fprintf(to, "%s", e->output_count > 1 ? ", outputs" : "");
        for (int k = 0; k < e->output_count && e->output_count > 1; k++)
            fprintf(to, " %s", e->output_label[k]);
        fprintf(to, "\n");
        if (e->note[0] != '\0')
            fprintf(to, "    %s\n", e->note);
        for (int g = 0; g < e->global_count; g++) {
            const bool each = e->global[g].each;
            stage_names(e->pre, vf_prepass_stages(e, each), text, sizeof text);
            fprintf(to, "    %s: computed in a pre-pass over the %s, stages %s\n", e->global[g].name,
                    each ? "whole input of each iteration" : "filter's whole input", text);
        }
    }
}

static bool tilings_alike(const struct vf_tiling *a, const struct vf_tiling *b)
{
    return a->cut == b->cut && a->block == b->block && memcmp(&a->tile, &b->tile, sizeof a->tile) == 0 &&
           memcmp(&a->first, &b->first, sizeof a->first) == 0;
}

/* Whether run r is told of together with the one that it is like. */
static bool repeats(const struct vf_plan *plan, int r)
{
    const struct vf_run *run = &plan->run[r];
    return run->repeats > 0 && tilings_alike(&run[-run->repeats].tiling, &run->tiling);
}

/* How far after run r the next one comes that is told of together with it; 0: there is none. */
static int next_alike(const struct vf_plan *plan, int r)
{
    for (int step = 1; step <= 2; step++)
        if (r + step < plan->run_count && plan->run[r + step].repeats == step && repeats(plan, r + step))
            return step;
    return 0;
}

/* "block 32x8x1, work 4x1x1, stream 64, flat grid" */
static void config_text(const struct vf_launch *launch, char *text, size_t room)
{
    const struct vf_kernel_config *c = &launch->choice.config;
    size_t used = 0;
    if (launch->choice.scheme->variants != NULL)
        used = (size_t)snprintf(text, room, "%s, ", launch->choice.scheme->variants[c->variant]);
    used += (size_t)snprintf(text + used, room - used, "block %dx%dx%d, work %dx%dx%d", c->block[0],
                             c->block[1], c->block[2], c->work[0], c->work[1], c->work[2]);
    if (c->stream > 0)
        used += (size_t)snprintf(text + used, room - used, ", stream %d", c->stream);
    snprintf(text + used, room - used, "%s%s%s", c->flat_grid ? ", flat grid" : "",
             c->virtual_blocks ? ", virtual blocks" : "", c->interior ? ", interior tiles separate" : "");
}

/* The names of a kernel's stages; what comes again and again, as in several fields, is cut short. */
static void launch_stages(const struct vf_launch *launch, const struct vf_flow *flow, char *text, size_t room)
{
    const int count = launch->stage_end - launch->stage_begin;
    if (count == 0)
        snprintf(text, room, "(copy)");
    else
        stage_names(flow->stage + launch->stage_begin, count, text, room);
}

static bool launches_alike(const struct vf_flow *flow, const struct vf_launch *a, const struct vf_launch *b)
{
    char p[256], q[256];
    launch_stages(a, flow, p, sizeof p);
    launch_stages(b, flow, q, sizeof q);
    return a->choice.scheme == b->choice.scheme && vf_config_equal(&a->choice.config, &b->choice.config) &&
           strcmp(p, q) == 0;
}

/* The stage that the second sweep of a run begins with. */
static void cut_name(const struct vf_plan *plan, const struct vf_run *run, char *name, size_t room)
{
    struct vf_flow flow;
    struct vf_error error;
    snprintf(name, room, "%s", "");
    if (vf_plan_flow(plan, run, NULL, &flow, &error) != VF_OK)
        return;
    snprintf(name, room, "%s", flow.stage[run->tiling.cut].name);
    vf_flow_close(&flow);
}

static void print_tile(const struct vf_plan *plan, const char *before, struct vf_tile tile, FILE *to)
{
    fprintf(to, "%s %tdx%td in chunks of %td", before, tile.x, plan->context.dim == 3 ? tile.y : 1,
            tile.chunk);
}

static void print_sweeps(const struct vf_plan *plan, const struct vf_run *run, FILE *to)
{
    const struct vf_tiling *tiling = &run->tiling;
    char name[16];
    fprintf(to, ", %d stage%s in %s, scheme %s,", run->stage_count, plural(run->stage_count),
            tiling->cut > 0 ? "two sweeps" : "one sweep", plan->scheme->name);
    if (tiling->cut > 0) {
        cut_name(plan, run, name, sizeof name);
        print_tile(plan, " tiles", tiling->first, to);
        fprintf(to, " before stage %s and", name);
    }
    print_tile(plan, tiling->cut > 0 ? "" : " tile", tiling->tile, to);
    if (tiling->cut > 0)
        fprintf(to, " from there on, alternating every %td planes", tiling->block);
    fprintf(to, ", %.1f MiB of workspace\n", vf_mib((double)run->work_bytes));
}

/* How many of the run's kernels from number `first` on come again right after, and how often they come in
 * all: the fewest that do; else one, once. */
static int find_group(const struct vf_run *run, const struct vf_flow *flow, int first, int *times)
{
    const struct vf_launch *launch = &run->gpu.launch[first];
    const int left = run->gpu.launch_count - first;
    for (int size = 1; 2 * size <= left; size++) {
        int alike = 0;
        while (size + alike < left && launches_alike(flow, &launch[alike], &launch[size + alike]))
            alike++;
        *times = 1 + alike / size;
        if (*times > 1)
            return size;
    }
    *times = 1;
    return 1;
}

/* A kernel that comes so many times, alone or with the others of its group. */
static void print_launch(const struct vf_launch *launch, const struct vf_flow *flow, int times, bool in_group,
                         FILE *to)
{
    const int indent = in_group ? 6 : 4;
    char stages[256], config[256];
    launch_stages(launch, flow, stages, sizeof stages);
    config_text(launch, config, sizeof config);
    fprintf(to, "%*skernel %s: %s, %s", indent, "", stages, launch->choice.scheme->name, config);
    if (times > 1 && !in_group)
        fprintf(to, ", %d times", times);
    fprintf(to, "\n%*s%s %.3f ms%s, bound by %s, occupancy %.0f%%, %.1f bytes per voxel; %s\n", indent + 2,
            "", launch->choice.tuned ? "tuned," : "predicted", launch->choice.seconds * 1e3,
            times > 1 ? " each" : "", vf_model_limit_name(launch->choice.detail.limit),
            launch->choice.detail.occupancy.share * 100, launch->choice.detail.cell_bytes,
            launch->forced               ? "forced by --scheme"
            : launch->choice.precompiled ? "shipped with volfilter, as there is no compiler"
            : launch->choice.its_grid    ? "fastest of those measured"
            : launch->choice.tuned       ? "chosen from measurements at a similar size"
                                         : "lowest predicted time");
}

static void print_launches(const struct vf_plan *plan, const struct vf_run *run, FILE *to)
{
    struct vf_flow flow;
    struct vf_error error;
    if (vf_plan_flow(plan, run, NULL, &flow, &error) != VF_OK)
        return;
    for (int i = 0, times; i < run->gpu.launch_count;) {
        const int size = find_group(run, &flow, i, &times);
        if (size > 1)
            fprintf(to, "    %d times these %d kernels:\n", times, size);
        for (int k = 0; k < size; k++)
            print_launch(&run->gpu.launch[i + k], &flow, times, size > 1, to);
        i += size * times;
    }
    vf_flow_close(&flow);
}

/* Run r of the plan, and those after it that are alike: each one, or every second. */
static void print_runs(const struct vf_explained *x, int first, FILE *to)
{
    const struct vf_plan *plan = x->plan;
    const struct vf_run *run = &plan->run[first];
    size_t reads = 0, writes = 0;
    double seconds = 0;
    int last = first;
    for (int r = first, step = 1; step > 0; r += step) {
        size_t run_reads, run_writes;
        run_traffic(x, &plan->run[r], &run_reads, &run_writes);
        reads += run_reads;
        writes += run_writes;
        seconds += plan->run[r].seconds * (double)x->channels;
        step = next_alike(plan, r);
        last = r;
    }
    fprintf(to,
            first == last                  ? "  run %d: "
            : next_alike(plan, first) == 1 ? "  runs %d to %d, each: "
                                           : "  runs %d to %d, every other one: ",
            first + 1, last + 1);
    fprintf(to, "%s", run->prepass ? "pre-pass of " : "");
    for (int p = run->piece_begin; p < run->piece_end; p++) {
        const struct vf_piece *piece = &plan->piece[p];
        fprintf(to, "%s%s", p > run->piece_begin ? " + " : "", plan->chain->link[piece->link].filter->name);
        if (!run->prepass && plan->link[piece->link].repeat > 1)
            fprintf(to, " x%d", piece->count);
    }
    if (plan->gpu != NULL)
        fprintf(to, ", %d stage%s in %d kernel%s\n", run->stage_count, plural(run->stage_count),
                run->gpu.launch_count, plural(run->gpu.launch_count));
    else
        print_sweeps(plan, run, to);
    print_launches(plan, run, to);
    fprintf(to, "    %s %.1f MiB in and %.1f MiB out; predicted %.3f s\n",
            first == last ? "moves" : "in all they move", vf_mib((double)reads), vf_mib((double)writes),
            seconds);
}

static void print_file(const char *what, const char *name, const struct vf_info *info, FILE *to)
{
    const struct vf_shape *s = &info->shape;
    char shown[2 * PATH_MAX];
    fprintf(to, "%s %s: %zux%zux%zu", what, vf_show_controls(name, shown, sizeof shown), s->nx, s->ny, s->nz);
    if (s->nc > 1)
        fprintf(to, ", %zu channels", s->nc);
    if (s->nt > 1)
        fprintf(to, ", %zu time points", s->nt);
    fprintf(to, ", %s%s\n", vf_type_name(info->type), info->half_floats ? ", stored as float16" : "");
}

static void print_spacing(const struct vf_context *c, FILE *to)
{
    char shown[4 * sizeof c->unit];
    if (!c->spacing_known[0])
        return;
    for (int axis = 0; axis < c->dim; axis++) {
        fputs(axis == 0 ? " (" : "x", to);
        fprintf(to, c->spacing_known[axis] ? "%g" : "?", c->spacing[axis]);
    }
    fprintf(to, " %s)", c->unit[0] != '\0' ? vf_show_controls(c->unit, shown, sizeof shown) : "units");
}

/* What is computed in floating point stays so in later runs. */
static const char *compute_type(const struct vf_plan *plan)
{
    return vf_type_name(plan->run[plan->run_count - 1].cell);
}

void vf_explain(const struct vf_explained *x, FILE *to)
{
    const struct vf_plan *plan = x->plan;
    const struct vf_context *c = &plan->context;
    print_file("input ", x->in, x->input, to);
    print_file("output", x->out, x->result, to);
    fprintf(to, "computes in %s, %dD, boundary %s", compute_type(plan), c->dim,
            vf_boundary_name[c->boundary]);
    if (c->boundary == VF_CONSTANT)
        fprintf(to, "=%g", plan->constant);
    for (int axis = 0; axis < c->dim; axis++)
        fprintf(to, "%s%g", axis == 0 ? ", voxel aspect " : "x", c->aspect[axis]);
    print_spacing(c, to);
    fprintf(to, "\n");
    if (c->dim == 3 && vf_info_takes_pages_as_planes(x->input))
        fputs("pages of the input are taken as planes along z (--slices filters each one separately)\n", to);
    print_links(x, to);
    if (plan->gpu != NULL)
        fprintf(to, "backend cuda, %s, %s between runs\n", plan->gpu->name,
                plan->resident ? "volumes stay on the device"
                               : "volumes do not fit on the device and leave it");
    else
        fprintf(to, "backend cpu, vector level %s, %d thread%s\n", vf_rows_level(), plan->threads,
                plural(plan->threads));
    for (int r = 0; r < plan->run_count; r++)
        if (!repeats(plan, r))
            print_runs(x, r, to);
    if (x->stream != NULL)
        vf_explain_stream(x, to);
    else
        fprintf(to,
                "the whole image %s held in memory, with %.1f MiB between runs and %.1f MiB of workspace\n",
                x->memory > x->memory_limit ? "would have to be" : "is", vf_mib((double)plan->between_bytes),
                vf_mib((double)plan->work_bytes));
    fprintf(to, "memory %.1f MiB predicted peak, limit %.1f MiB\n", vf_mib((double)x->memory),
            vf_mib((double)x->memory_limit));
    if (x->compresses)
        fprintf(to, "the result is compressed: whether the disk has room for it is not known\n");
    if (x->compile_seconds > 0)
        fprintf(to, "kernels that the cache lacks are compiled first: about %.1f s, once\n",
                x->compile_seconds);
}

static void json_links(const struct vf_explained *x, struct vf_json *json)
{
    const struct vf_plan *plan = x->plan;
    vf_json_begin_array(json, "filters");
    for (int i = 0; i < plan->chain->count; i++) {
        const struct vf_expansion *e = &plan->link[i];
        int halo[3];
        link_halo(e, plan->context.dim, halo);
        vf_json_begin_object(json, NULL);
        vf_json_string(json, "name", plan->chain->link[i].filter->name);
        vf_json_integer(json, "iterations", e->repeat);
        vf_json_begin_array(json, "stages");
        for (int s = 0; s < e->stage_count; s++)
            vf_json_string(json, NULL, e->stage[s].name);
        vf_json_end(json);
        vf_json_begin_array(json, "halo");
        for (int axis = 2; axis >= 0; axis--)
            vf_json_integer(json, NULL, halo[axis]);
        vf_json_end(json);
        vf_json_begin_array(json, "global_values");
        for (int g = 0; g < e->global_count; g++)
            vf_json_string(json, NULL, e->global[g].name);
        vf_json_end(json);
        vf_json_string(json, "note", e->note[0] != '\0' ? e->note : NULL);
        vf_json_end(json);
    }
    vf_json_end(json);
}

static void json_extent(struct vf_json *json, const char *name, const int extent[3])
{
    vf_json_begin_array(json, name);
    for (int axis = 0; axis < 3; axis++)
        vf_json_integer(json, NULL, extent[axis]);
    vf_json_end(json);
}

static void json_launches(const struct vf_plan *plan, const struct vf_run *run, struct vf_json *json)
{
    struct vf_flow flow;
    struct vf_error error;
    char stages[256];
    if (vf_plan_flow(plan, run, NULL, &flow, &error) != VF_OK)
        return;
    vf_json_begin_array(json, "kernels");
    for (int i = 0; i < run->gpu.launch_count; i++) {
        const struct vf_launch *launch = &run->gpu.launch[i];
        launch_stages(launch, &flow, stages, sizeof stages);
        vf_json_begin_object(json, NULL);
        vf_json_string(json, "stages", stages);
        vf_json_string(json, "scheme", launch->choice.scheme->name);
        if (launch->choice.scheme->variants != NULL)
            vf_json_string(json, "variant", launch->choice.scheme->variants[launch->choice.config.variant]);
        json_extent(json, "block", launch->choice.config.block);
        json_extent(json, "work", launch->choice.config.work);
        vf_json_integer(json, "stream", launch->choice.config.stream);
        vf_json_boolean(json, "forced", launch->forced);
        vf_json_boolean(json, "tuned", launch->choice.tuned);
        vf_json_boolean(json, "precompiled", launch->choice.precompiled);
        vf_json_number(json, launch->choice.tuned ? "measured_seconds" : "predicted_seconds",
                       launch->choice.seconds);
        vf_json_string(json, "bound_by", vf_model_limit_name(launch->choice.detail.limit));
        vf_json_number(json, "occupancy", launch->choice.detail.occupancy.share);
        vf_json_end(json);
    }
    vf_json_end(json);
    vf_flow_close(&flow);
}

static void json_tile(struct vf_json *json, const char *name, const char *chunk, struct vf_tile tile)
{
    vf_json_begin_array(json, name);
    vf_json_integer(json, NULL, tile.x);
    vf_json_integer(json, NULL, tile.y);
    vf_json_end(json);
    vf_json_integer(json, chunk, tile.chunk);
}

static void json_run(const struct vf_explained *x, const struct vf_run *run, struct vf_json *json)
{
    size_t reads, writes;
    run_traffic(x, run, &reads, &writes);
    vf_json_begin_object(json, NULL);
    vf_json_boolean(json, "prepass", run->prepass);
    vf_json_integer(json, "stages", run->stage_count);
    if (x->plan->gpu != NULL) {
        json_launches(x->plan, run, json);
    } else {
        vf_json_string(json, "scheme", x->plan->scheme->name);
        if (run->tiling.cut > 0) {
            char name[16];
            cut_name(x->plan, run, name, sizeof name);
            json_tile(json, "first_tile", "first_chunk", run->tiling.first);
            vf_json_string(json, "cut", name);
            vf_json_integer(json, "block", run->tiling.block);
        }
        json_tile(json, "tile", "chunk", run->tiling.tile);
    }
    vf_json_integer(json, "work_bytes", (long long)run->work_bytes);
    vf_json_integer(json, "bytes_in", (long long)reads);
    vf_json_integer(json, "bytes_out", (long long)writes);
    vf_json_number(json, "predicted_seconds", run->seconds * (double)x->channels);
    vf_json_end(json);
}

void vf_explain_json(const struct vf_explained *x, struct vf_json *json)
{
    const struct vf_plan *plan = x->plan;
    vf_json_string(json, "input", x->in);
    vf_json_string(json, "output", x->out);
    vf_json_string(json, "type_in", vf_type_name(x->input->type));
    vf_json_string(json, "type_out", vf_type_name(x->result->type));
    vf_json_string(json, "compute", compute_type(plan));
    vf_json_integer(json, "dimensions", plan->context.dim);
    vf_json_string(json, "boundary", vf_boundary_name[plan->context.boundary]);
    vf_json_begin_array(json, "aspect");
    for (int axis = 0; axis < 3; axis++)
        vf_json_number(json, NULL, plan->context.aspect[axis]);
    vf_json_end(json);
    vf_json_string(json, "backend", plan->gpu != NULL ? "cuda" : "cpu");
    if (plan->gpu != NULL)
        vf_json_string(json, "device", plan->gpu->name);
    else
        vf_json_string(json, "vector_level", vf_rows_level());
    vf_json_integer(json, "threads", plan->threads);
    json_links(x, json);
    vf_json_begin_array(json, "runs");
    for (int r = 0; r < plan->run_count; r++)
        json_run(x, &plan->run[r], json);
    vf_json_end(json);
    if (x->stream != NULL)
        vf_explain_stream_json(x, json);
    vf_json_integer(json, "memory_bytes", (long long)x->memory);
    vf_json_integer(json, "memory_limit_bytes", (long long)x->memory_limit);
    vf_json_number(json, "compile_seconds", x->compile_seconds);
}
