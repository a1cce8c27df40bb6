/* The part of --explain about a file that goes through memory in slabs: passes, and bytes read and
 * written. */
#include "explain.h"

#include "size.h"

/* Planes that a pass keeps from slab to slab: what its runs reach, each on both sides. */
static ptrdiff_t kept_planes(const struct vf_stream_plan *stream, const struct vf_plan *plan,
                             const struct vf_pass *pass)
{
    ptrdiff_t kept = 0;
    for (int i = 0; i < pass->runs; i++)
        kept += 2 * stream->run[vf_stream_run_of(plan, pass, i)].reach;
    return kept + (pass->prepass >= 0 ? 2 * stream->run[pass->prepass].reach : 0);
}

/* "runs 1 and 3 to 7": those that follow each other are told together. */
static void print_runs(const struct vf_plan *plan, const struct vf_pass *pass, FILE *to)
{
    fprintf(to, pass->runs == 1 ? "run" : "runs");
    for (int i = 0, count; i < pass->runs; i += count) {
        const int first = vf_stream_run_of(plan, pass, i);
        count = 1;
        while (i + count < pass->runs && vf_stream_run_of(plan, pass, i + count) == first + count)
            count++;
        fprintf(to, "%s%d", i == 0 ? " " : " and ", first + 1);
        if (count > 1)
            fprintf(to, " to %d", first + count);
    }
}

static void print_pass(const struct vf_explained *x, int p, FILE *to)
{
    const struct vf_pass *pass = &x->stream->pass[p];
    fprintf(to, "  pass %d: ", p + 1);
    if (pass->runs > 0)
        print_runs(x->plan, pass, to);
    if (pass->prepass >= 0)
        fprintf(to, "%spre-pass run %d", pass->runs > 0 ? ", then " : "", pass->prepass + 1);
    fprintf(to, "; from %s%s; slabs of %td %s%s, %td kept as overlap, %.1f MiB of memory\n",
            pass->from_file ? "the image" : "a temporary file",
            !pass->stores   ? ""
            : pass->to_file ? " to the result"
                            : " to a temporary file",
            pass->slab, x->plan->by_rows ? "row" : "plane", pass->slab == 1 ? "" : "s",
            kept_planes(x->stream, x->plan, pass), vf_mib(pass->bytes));
}

void vf_explain_stream(const struct vf_explained *x, FILE *to)
{
    const struct vf_stream_plan *s = x->stream;
    fprintf(to, "%s: %d pass%s over slabs; predicted %.3f s\n",
            x->overlapped ? "read, filtered and written at the same time" : "larger than memory",
            s->pass_count, s->pass_count == 1 ? "" : "es", s->seconds);
    for (int p = 0; p < s->pass_count; p++)
        print_pass(x, p, to);
    fprintf(to, "  reads %.1f MiB and writes %.1f MiB in all%s", vf_mib(s->read_bytes),
            vf_mib(s->written_bytes),
            x->compresses || x->input->compression != VF_COMPRESS_NONE ? ", uncompressed" : "");
    if (s->temporary_bytes > 0)
        fprintf(to, ", with %.1f MiB of disk for temporary files", vf_mib(s->temporary_bytes));
    fprintf(to, "\n");
}

void vf_explain_stream_json(const struct vf_explained *x, struct vf_json *json)
{
    const struct vf_stream_plan *s = x->stream;
    vf_json_begin_array(json, "passes");
    for (int p = 0; p < s->pass_count; p++) {
        const struct vf_pass *pass = &s->pass[p];
        vf_json_begin_object(json, NULL);
        vf_json_integer(json, "runs", pass->runs);
        vf_json_boolean(json, "prepass", pass->prepass >= 0);
        vf_json_boolean(json, "from_image", pass->from_file);
        vf_json_boolean(json, "to_result", pass->to_file);
        vf_json_integer(json, "slab", pass->slab);
        vf_json_string(json, "slab_of", x->plan->by_rows ? "rows" : "planes");
        vf_json_integer(json, "overlap", kept_planes(s, x->plan, pass));
        vf_json_integer(json, "memory_bytes", (long long)pass->bytes);
        vf_json_end(json);
    }
    vf_json_end(json);
    vf_json_integer(json, "file_bytes_read", (long long)s->read_bytes);
    vf_json_integer(json, "file_bytes_written", (long long)s->written_bytes);
    vf_json_integer(json, "temporary_bytes", (long long)s->temporary_bytes);
    vf_json_number(json, "stream_predicted_seconds", s->seconds);
}
