#include "explain.h"

static double mib(double bytes)
{
    return bytes / (1 << 20);
}

/* Planes that a pass keeps from slab to slab: what its runs reach, each on both sides. */
static ptrdiff_t kept_planes(const struct vf_stream_plan *stream, const struct vf_pass *pass)
{
    ptrdiff_t kept = 0;
    for (int r = pass->run_begin; r < pass->run_end; r++)
        kept += 2 * stream->run[r].reach;
    return kept + (pass->prepass >= 0 ? 2 * stream->run[pass->prepass].reach : 0);
}

static void pass_runs(const struct vf_pass *pass, char *text, size_t room)
{
    const int first = pass->run_begin + 1, last = pass->run_end;
    size_t used = 0;
    text[0] = '\0';
    if (last == first)
        used = (size_t)snprintf(text, room, "run %d", first);
    else if (last > first)
        used = (size_t)snprintf(text, room, "runs %d to %d", first, last);
    if (pass->prepass >= 0)
        snprintf(text + used, room - used, "%spre-pass run %d", used > 0 ? " and " : "", pass->prepass + 1);
}

void vf_explain_stream(const struct vf_explained *x, FILE *to)
{
    const struct vf_stream_plan *s = x->stream;
    fprintf(to, "larger than memory: %d pass%s over slabs; predicted %.3f s\n", s->pass_count,
            s->pass_count == 1 ? "" : "es", s->seconds);
    for (int p = 0; p < s->pass_count; p++) {
        const struct vf_pass *pass = &s->pass[p];
        char runs[80];
        pass_runs(pass, runs, sizeof runs);
        fprintf(to,
                "  pass %d: %s; from %s%s; slabs of %td plane%s, %td kept of overlap, %.1f MiB of memory\n",
                p + 1, runs, pass->from_file ? "the image" : "a temporary file",
                pass->run_begin == pass->run_end ? ""
                : pass->to_file                  ? " to the result"
                                                 : " to a temporary file",
                pass->slab, pass->slab == 1 ? "" : "s", kept_planes(s, pass), mib(pass->bytes));
    }
    fprintf(to, "  reads %.1f MiB and writes %.1f MiB in all", mib(s->read_bytes), mib(s->written_bytes));
    if (s->temporary_bytes > 0)
        fprintf(to, ", with %.1f MiB of disk for temporary files", mib(s->temporary_bytes));
    fprintf(to, "\n");
}

void vf_explain_stream_json(const struct vf_explained *x, struct vf_json *json)
{
    const struct vf_stream_plan *s = x->stream;
    vf_json_begin_array(json, "passes");
    for (int p = 0; p < s->pass_count; p++) {
        const struct vf_pass *pass = &s->pass[p];
        vf_json_begin_object(json, NULL);
        vf_json_integer(json, "runs", pass->run_end - pass->run_begin);
        vf_json_boolean(json, "prepass", pass->prepass >= 0);
        vf_json_boolean(json, "from_image", pass->from_file);
        vf_json_boolean(json, "to_result", pass->to_file);
        vf_json_integer(json, "slab", pass->slab);
        vf_json_integer(json, "overlap", kept_planes(s, pass));
        vf_json_integer(json, "memory_bytes", (long long)pass->bytes);
        vf_json_end(json);
    }
    vf_json_end(json);
    vf_json_integer(json, "file_bytes_read", (long long)s->read_bytes);
    vf_json_integer(json, "file_bytes_written", (long long)s->written_bytes);
    vf_json_integer(json, "temporary_bytes", (long long)s->temporary_bytes);
    vf_json_number(json, "stream_predicted_seconds", s->seconds);
}
