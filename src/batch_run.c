/* Filtering several files: while one is computed, those after it are read and those before are written, where
 * they fit into memory together. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alloc.h"
#include "batch.h"
#include "descriptor.h"
#include "interrupt.h"
#include "journal.h"
#include "json.h"
#include "memory.h"
#include "output_file.h"
#include "progress.h"
#include "size.h"
#include "team.h"

/* The most files that are read, and written, at once; beyond four little is gained
 * (tests/bench/journal_cpu.md, 2026-11-26). */
#define MOST_READ 8
#define MOST_WRITTEN 16

/* What became of a file; SKIPPED: --resume found it finished. */
enum outcome { NOT_BEGUN, PLANNED, DONE, SKIPPED, FAILED };

struct result {
    enum outcome outcome;
    struct vf_work_times times;
    char *why;  /* owned; NULL: nothing went wrong */
    char *note; /* owned; NULL: there was nothing to say */
};

/* A file on its way. Reading it is one step, writing the result another, each in a thread of its own; between
 * them the main thread computes. */
struct on_the_way {
    int index;            /* in the batch */
    struct vf_work *work; /* owned; NULL: there is no file */
    /* The last step that was started, and what came of it; valid when it was joined. */
    enum vf_status (*step)(struct vf_work *work, struct vf_error *error);
    pthread_t thread;
    bool started; /* `thread` is to be joined */
    enum vf_status status;
    struct vf_error error;
    const struct runner *runner;
    enum vf_status noted; /* whether it could be written there */
    struct vf_error note_error;
};

/* A batch at work. */
struct runner {
    const struct vf_batch *batch;
    const struct vf_command_line *line;
    struct vf_options options; /* the line's, without a progress line for each file */
    struct vf_session *session;
    struct vf_journal *journal;    /* NULL: a dry run that has nothing to resume */
    struct vf_progress_line shown; /* one line for all files */
    struct result *result;         /* owned: [batch->count] */
    int next;                      /* index of the first file that was not looked at yet */
    int done, skipped, failed;
    bool has_earlier_report;
    bool unaccounted;    /* a result could not be added to the journal, and this was reported */
    enum vf_status last; /* the last failure; VF_OK: there was none */
};

/* ---- what becomes of a file ---- */

static size_t bytes_of(const struct vf_batch_file *file)
{
    return file->exists ? (size_t)file->about.st_size : 0;
}

/* Reports a file's failure and counts it, unless a signal stopped it, which is not the file's fault. */
static void fail_file(struct runner *r, int index, enum vf_status status, const struct vf_error *error)
{
    struct vf_error ignored;
    if (status == VF_INTERRUPTED || vf_interrupted)
        return;
    vf_progress_clear(&r->shown);
    r->last = vf_cli_report(status, error);
    r->failed++;
    r->result[index].outcome = FAILED;
    r->result[index].why = vf_strdup(error->text, &ignored);
}

/* Notes a result in the journal, before it has its name: if the run is killed after that, the next one must
 * not filter a result again that replaced its input, which therefore stays where it cannot be noted. Another
 * result that the journal lacks is only made again. */
static enum vf_status note_whole(void *context, const struct stat *whole, struct vf_error *error)
{
    struct on_the_way *file = context;
    const struct runner *r = file->runner;
    const struct vf_batch_file *about = &r->batch->file[file->index];
    char key[VF_SHA256_DIGITS + 1];
    file->noted = vf_batch_key(r->line, about, key, &file->note_error);
    if (file->noted == VF_OK)
        file->noted = vf_journal_add(r->journal, about->name, key, whole, about->in_place || r->options.sync,
                                     &file->note_error);
    if (file->noted == VF_OK || !about->in_place)
        return VF_OK;
    return vf_fail(error, file->noted,
                   "would replace its input, which --resume could then not tell from one that is to be "
                   "filtered (--suffix gives results other names): %.300s",
                   file->note_error.text);
}

/* The file is done with. */
static void close_file(struct runner *r, struct on_the_way *file)
{
    struct vf_error ignored;
    const char *const notes = vf_work_notes(file->work);
    if (r->line->report != NULL && notes != NULL)
        r->result[file->index].note = vf_strdup(notes, &ignored);
    vf_work_close(file->work);
    file->work = NULL;
}

static void succeed(struct runner *r, struct on_the_way *file)
{
    struct vf_error error;
    r->done++;
    r->result[file->index].outcome = DONE;
    r->result[file->index].times = vf_work_times(file->work);
    vf_progress_clear(&r->shown);
    vf_work_tell(file->work, stdout);
    /* Of all results for one reason, as a rule. */
    if (file->noted != VF_OK && !r->unaccounted) {
        vf_fail(&error, VF_FAILED, "%.300s; results are whole, but --resume will not know them as finished",
                file->note_error.text);
        vf_cli_report(VF_FAILED, &error);
    }
    r->unaccounted = r->unaccounted || file->noted != VF_OK;
}

/* ---- steps in threads ---- */

static void *run_step(void *context)
{
    struct on_the_way *file = context;
    file->status = file->step(file->work, &file->error);
    return NULL;
}

/* Starts a step in a thread; if there can be no more threads, does it now. */
static void start_step(struct on_the_way *file,
                       enum vf_status (*step)(struct vf_work *work, struct vf_error *error))
{
    file->step = step;
    file->started = vf_thread_start(&file->thread, run_step, file) == 0;
    if (!file->started)
        run_step(file);
}

static void join(struct on_the_way *file)
{
    if (file->started)
        pthread_join(file->thread, NULL);
    file->started = false;
}

/* ---- one after another ---- */

static enum vf_status open_file(struct runner *r, struct on_the_way *file, const struct vf_batch_file *about)
{
    if (about->cause != 0)
        return vf_fail(&file->error, VF_FAILED, "%s: cannot be read: %s", vf_short_path(about->in).text,
                       vf_cause(about->cause));
    enum vf_status status = r->options.dry_run ? VF_OK : vf_batch_make_directories(about, &file->error);
    if (status != VF_OK)
        return status;
    status = vf_work_open(&file->work, &r->line->chain, &r->options, r->session, about->in, about->out,
                          stdout, &file->error);
    /* Another run may have filtered it. */
    if (status != VF_OK || !about->in_place || vf_work_reads(file->work, &about->about))
        return status;
    vf_work_close(file->work);
    file->work = NULL;
    return vf_fail(&file->error, VF_FAILED,
                   "%s: was changed or replaced since this run began, and is left as it is; filter it again",
                   vf_short_path(about->in).text);
}

/* Not one of this process's own, as a shell's <(COMMAND) is. */
static bool is_named_pipe(const struct vf_batch_file *about)
{
    return S_ISFIFO(about->about.st_mode) && strncmp(about->in, "/dev/", strlen("/dev/")) != 0 &&
           strncmp(about->in, "/proc/", strlen("/proc/")) != 0;
}

/* The next file that can be opened and is not finished yet; false when there is none. */
static bool open_next(struct runner *r, struct on_the_way *file)
{
    while (r->next < r->batch->count && !vf_interrupted) {
        const int index = r->next++;
        const struct vf_batch_file *about = &r->batch->file[index];
        *file = (struct on_the_way){.index = index, .runner = r};
        if (r->result[index].outcome == SKIPPED)
            continue;
        vf_progress_clear(&r->shown);
        if (is_named_pipe(about) && !r->options.quiet)
            vf_say("%s: is a pipe; waits for what writes to it", vf_short_path(about->in).text);
        const enum vf_status status = open_file(r, file, about);
        if (status == VF_OK) {
            vf_work_show(file->work, &r->shown, bytes_of(about));
            vf_work_tell_whole(file->work, note_whole, file);
            return true;
        }
        fail_file(r, index, status, &file->error);
        vf_progress_file_done(&r->shown, bytes_of(about));
    }
    return false;
}

/* Waits for the file's last step, counts the file, and closes it. */
static void finish(struct runner *r, struct on_the_way *file)
{
    if (file->work == NULL)
        return;
    join(file);
    if (file->status == VF_OK)
        succeed(r, file);
    else
        fail_file(r, file->index, file->status, &file->error);
    close_file(r, file);
    if (file->status != VF_INTERRUPTED)
        vf_progress_file_done(&r->shown, 0);
}

/* The files on their way, in order: some are written, one is computed, some are read, and one may wait to be.
 * Numbers count all files. */
struct line_up {
    struct on_the_way slot[MOST_WRITTEN + MOST_READ + 2];
    size_t oldest, present; /* the first that is not finished; the one that is computed */
    size_t begun, opened;   /* how many were begun to be read, and opened: at most one more */
    bool more;              /* there may be files that were not opened yet */
};

static struct on_the_way *nth(struct line_up *l, size_t index)
{
    return &l->slot[index % (sizeof l->slot / sizeof *l->slot)];
}

static void finish_oldest(struct runner *r, struct line_up *l)
{
    finish(r, nth(l, l->oldest++));
}

static size_t memory_of(struct line_up *l, size_t from, size_t to)
{
    size_t bytes = 0;
    for (; from <= to; from++)
        if (nth(l, from)->work != NULL)
            bytes += vf_work_memory(nth(l, from)->work);
    return bytes;
}

/* Whether the next file is a pipe, whose opening waits for what writes to it, perhaps for ever. */
static bool is_next_a_pipe(const struct runner *r)
{
    int next = r->next;
    while (next < r->batch->count && r->result[next].outcome == SKIPPED)
        next++;
    return next < r->batch->count && S_ISFIFO(r->batch->file[next].about.st_mode);
}

/* Whether a file is open that is not read yet; opens one if need be, a pipe only when all before it are
 * done. */
static bool has_next(struct runner *r, struct line_up *l)
{
    if (l->opened == l->begun && l->more) {
        if (is_next_a_pipe(r)) {
            if (l->present < l->begun)
                return false;
            while (l->oldest < l->present)
                finish_oldest(r, l);
        }
        l->more = open_next(r, nth(l, l->opened));
        l->opened += l->more;
    }
    return l->opened > l->begun;
}

/* Whether memory has room for the file that is read next, beside the one that is computed. Files that are
 * being written are waited for if they are in the way of the only one that is read. */
static bool has_room(struct runner *r, struct line_up *l)
{
    const size_t limit = vf_work_limit(nth(l, l->begun)->work);
    if (memory_of(l, l->present, l->begun) > limit)
        return false;
    while (l->begun == l->present + 1 && l->oldest < l->present && memory_of(l, l->oldest, l->begun) > limit)
        finish_oldest(r, l);
    return memory_of(l, l->oldest, l->begun) <= limit;
}

static void begin_reading(struct line_up *l)
{
    start_step(nth(l, l->begun++), vf_work_read);
}

/* How many files may be read, and as many written, beside the one that is computed and the one that waits,
 * where the system allows few descriptors. */
static ptrdiff_t most_by_descriptors(void)
{
    enum { OF_A_FILE = 5, OTHERS = 64 }; /* a GPU's driver has some 40 */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1024)
        return MOST_WRITTEN;
    return vf_larger(1, (((ptrdiff_t)limit.rlim_cur - OTHERS) / OF_A_FILE - 2) / 2);
}

/* How many files like this one may be read, and written, at once. */
static size_t most_read(const struct on_the_way *file)
{
    return (size_t)vf_smaller(vf_smaller(vf_work_readers(file->work), MOST_READ), most_by_descriptors());
}

static size_t most_written(const struct on_the_way *file)
{
    return (size_t)vf_smaller(vf_smaller(vf_work_writers(file->work), MOST_WRITTEN), most_by_descriptors());
}

static void run_all(struct runner *r)
{
    struct line_up l = {.more = true};
    while (l.present < l.begun || has_next(r, &l)) {
        struct on_the_way *present = nth(&l, l.present);
        if (l.present == l.begun) {
            while (l.oldest < l.present)
                finish_oldest(r, &l);
            begin_reading(&l);
        }
        while (l.begun - l.present <= most_read(present) && has_next(r, &l) && has_room(r, &l))
            begin_reading(&l);
        join(present);
        if (present->status == VF_OK)
            present->status = vf_work_compute(present->work, &present->error);
        while (l.present - l.oldest >= most_written(present))
            finish_oldest(r, &l);
        if (present->status == VF_OK)
            start_step(present, vf_work_write);
        l.present++;
    }
    while (l.oldest < l.present)
        finish_oldest(r, &l);
}

/* Whether the result can be written; into a directory that is still to be made, it can. */
static enum vf_status try_result(const struct runner *r, const struct vf_batch_file *about,
                                 struct vf_error *error)
{
    char directory[PATH_MAX];
    enum vf_status status = vf_batch_try_directories(about, error);
    snprintf(directory, sizeof directory, "%s", about->out);
    if (status != VF_OK || access(dirname(directory), F_OK) != 0)
        return status;
    status = vf_output_file_try(about->out, r->options.no_clobber, error);
    return vf_in_file(error, status, about->out);
}

static void plan_all(struct runner *r)
{
    struct on_the_way file;
    struct vf_error error;
    const char *out = NULL;
    double bytes = 0;
    /* As if a file were in work all the time: its memory is looked at once. */
    const bool several = r->session->files > 1;
    if (several)
        vf_session_begin_work(r->session);
    while (open_next(r, &file)) {
        out = r->batch->file[file.index].out;
        bytes += vf_work_disk_bytes(file.work);
        close_file(r, &file);
        vf_progress_file_done(&r->shown, 0);
        if (try_result(r, &r->batch->file[file.index], &file.error) == VF_OK)
            r->result[file.index].outcome = PLANNED;
        else
            fail_file(r, file.index, VF_FAILED, &file.error);
    }
    if (several)
        vf_session_end_work(r->session);
    if (!vf_interrupted && out != NULL &&
        vf_output_room(out, "the results together need", bytes, 0, &error) != VF_OK)
        r->last = vf_cli_report(VF_FAILED, &error);
}

/* ---- the report ---- */

static const char *const outcome_name[] = {[NOT_BEGUN] = "not done",
                                           [PLANNED] = "planned",
                                           [DONE] = "done",
                                           [SKIPPED] = "skipped",
                                           [FAILED] = "failed"};

static void print_report(const struct runner *r, bool interrupted, FILE *to)
{
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_json_integer(&json, "files", r->batch->count);
    vf_json_integer(&json, "done", r->done);
    vf_json_integer(&json, "skipped", r->skipped);
    vf_json_integer(&json, "failed", r->failed);
    vf_json_boolean(&json, "interrupted", interrupted);
    vf_json_begin_array(&json, "results");
    for (int i = 0; i < r->batch->count; i++) {
        const struct result *result = &r->result[i];
        vf_json_begin_object(&json, NULL);
        vf_json_string(&json, "input", r->batch->file[i].in);
        vf_json_string(&json, "output", r->batch->file[i].out);
        vf_json_string(&json, "status", outcome_name[result->outcome]);
        vf_json_string(&json, "error", result->why);
        vf_json_string(&json, "note", result->note);
        vf_json_number(&json, "read_seconds", result->times.read);
        vf_json_number(&json, "compute_seconds", result->times.compute);
        vf_json_number(&json, "write_seconds", result->times.write);
        vf_json_end(&json);
    }
    vf_json_end(&json);
    vf_json_end(&json);
}

static enum vf_status write_report(const struct runner *r, bool interrupted, struct vf_output_file *file,
                                   struct vf_error *error)
{
    errno = 0;
    const int fd = dup(vf_output_file_descriptor(file));
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    bool good = to != NULL;
    if (good) {
        print_report(r, interrupted, to);
        good = !ferror(to);
        good = fclose(to) == 0 && good;
    } else if (fd >= 0) {
        close(fd);
    }
    const enum vf_status status = good ? vf_output_file_finish(file, false, error)
                                       : vf_fail(error, VF_FAILED, "cannot be written: %s",
                                                 errno != 0 ? vf_cause(errno) : "unknown cause");
    return vf_in_file(error, status, vf_output_name(r->line->report));
}

/* ---- all of it ---- */

static enum vf_status sum_up(const struct runner *r)
{
    const int count = r->batch->count;
    struct vf_error error;
    if (!r->options.quiet)
        vf_session_tell_more(r->session);
    if (vf_interrupted) {
        vf_fail(&error, VF_INTERRUPTED, "interrupted: %d of %d files done", r->done + r->skipped, count);
        return vf_cli_report(VF_INTERRUPTED, &error);
    }
    if (r->skipped > 0 && !r->options.quiet)
        vf_say("%d of %d files were already finished", r->skipped, count);
    /* Without --resume the journal is only kept in case it is asked for later. */
    if (r->failed == 0 && r->unaccounted && r->line->resume)
        return VF_FAILED;
    if (r->failed == 0 || count == 1)
        return r->last;
    vf_fail(&error, VF_PARTIAL, "%d of %d files failed", r->failed, count);
    return vf_cli_report(VF_PARTIAL, &error);
}

static bool any_in_place(const struct vf_batch *batch)
{
    bool any = false;
    for (int i = 0; i < batch->count; i++)
        any = any || batch->file[i].in_place;
    return any;
}

/* Gives the bytes of the files that are to be filtered. */
static enum vf_status skip_finished(struct runner *r, size_t *bytes, struct vf_error *error)
{
    *bytes = 0;
    bool *finished = vf_alloc((size_t)r->batch->count, sizeof *finished, "list of files", error);
    if (finished == NULL)
        return VF_FAILED;
    const enum vf_status status = vf_batch_find_finished(r->batch, r->line, r->journal, finished, error);
    for (int i = 0; i < r->batch->count && status == VF_OK; i++) {
        if (finished[i]) {
            r->result[i].outcome = SKIPPED;
            r->skipped++;
        } else {
            *bytes += bytes_of(&r->batch->file[i]);
        }
    }
    vf_free(finished);
    return status;
}

/* For the report: what kept all files that are not finished from being begun. */
static void tell_why(struct runner *r, const struct vf_error *error)
{
    struct vf_error ignored;
    for (int i = 0; i < r->batch->count; i++)
        if (r->result[i].outcome == NOT_BEGUN)
            r->result[i].why = vf_strdup(error->text, &ignored);
}

/* Says how many inputs will be replaced, before the first one is. Files that are finished are not counted. */
static void tell_in_place(const struct runner *r)
{
    int count = 0;
    for (int i = 0; i < r->batch->count; i++)
        count += r->batch->file[i].in_place && r->result[i].outcome != SKIPPED;
    if (count > 0)
        vf_say("inputs that %s be replaced by their own results: %d of %d; --suffix S gives the "
               "results other names",
               r->options.dry_run ? "would" : "will", count, r->batch->count);
}

static void tell_left_out(const struct runner *r)
{
    const int results = r->batch->results;
    if (results > 0)
        vf_say("%d of the files %s of an earlier run, which --resume leaves out", results,
               results == 1 ? "is a result" : "are results");
}

static const char report_begins[] = "{\n  \"files\": ";

/* What it replaces must be an earlier report, not a list of files that was named by mistake. With --resume
 * that of the run that is taken up again is replaced, whatever --no-clobber says. */
static enum vf_status open_report(struct runner *r, struct vf_output_file **report, struct vf_error *error)
{
    const struct vf_command_line *const line = r->line;
    char begins[sizeof report_begins] = "";
    struct stat old;
    const bool is_earlier = strcmp(line->report, "-") != 0 && stat(line->report, &old) == 0 &&
                            S_ISREG(old.st_mode) && old.st_size > 0;
    if (is_earlier) {
        FILE *file = fopen(line->report, "re");
        if (file == NULL)
            return vf_fail(error, VF_FAILED,
                           "--report=%s would replace a file that cannot be read: %s; remove it, or name "
                           "another",
                           vf_short_path(line->report).text, vf_cause(errno));
        const size_t bytes = fread(begins, 1, sizeof begins - 1, file);
        fclose(file);
        if (bytes < sizeof begins - 1 || strcmp(begins, report_begins) != 0)
            return vf_fail(error, VF_FAILED,
                           "--report=%s would replace a file that is no report; remove it, or name another",
                           vf_short_path(line->report).text);
    }
    const bool no_clobber = line->options.no_clobber && !(line->resume && is_earlier);
    r->has_earlier_report = is_earlier;
    const enum vf_status status = vf_output_file_open(report, line->report, no_clobber, error);
    if (status != VF_OK && vf_interrupted)
        return vf_fail(error, VF_INTERRUPTED, "interrupted: no file was begun");
    return vf_in_file(error, status, vf_output_name(line->report));
}

/* Where this run is killed, an earlier report must not be taken for its own: one that was interrupted before
 * it did anything takes its place until the end. That the earlier one stays where this cannot be written is
 * all that can be done. */
static void replace_earlier_report(const struct runner *r)
{
    struct vf_output_file *file;
    struct vf_error ignored;
    if (vf_output_file_open(&file, r->line->report, false, &ignored) != VF_OK)
        return;
    (void)write_report(r, true, file, &ignored);
    vf_output_file_close(file);
}

static enum vf_status begin(struct runner *r, struct vf_output_file **report, struct vf_error *error)
{
    const struct vf_command_line *line = r->line;
    enum vf_status status;
    r->result = vf_alloc((size_t)r->batch->count, sizeof *r->result, "list of files", error);
    if (r->result == NULL)
        return VF_FAILED;
    memset(r->result, 0, (size_t)r->batch->count * sizeof *r->result);
    if (line->report != NULL) {
        status = open_report(r, report, error);
        if (status != VF_OK)
            return status;
        vf_output_file_outlast_signal(*report);
        vf_signals_be_patient();
    }
    /* In a dry run there may be no directory. */
    if (!line->options.dry_run || (line->resume && access(line->out_dir, F_OK) == 0)) {
        status = vf_journal_open(&r->journal, line->out_dir, line->resume, error);
        if (status != VF_OK)
            return status;
    }
    size_t bytes;
    status = skip_finished(r, &bytes, error);
    r->session->files = r->skipped < r->batch->count ? r->batch->count - r->skipped : 1;
    if (status == VF_OK && r->skipped < r->batch->count) {
        status = vf_work_check_gpu(&r->options, r->session, error);
        if (status != VF_OK)
            tell_why(r, error);
    }
    if (status != VF_OK)
        return status;
    if (!line->options.quiet && !line->options.no_clobber)
        tell_in_place(r);
    if (!line->options.quiet)
        tell_left_out(r);
    r->options.progress = VF_PROGRESS_NEVER;
    vf_progress_begin_files(&r->shown, line->options.progress, (size_t)r->batch->count, (size_t)r->skipped,
                            bytes);
    return VF_OK;
}

enum vf_status vf_batch_run(const struct vf_batch *batch, const struct vf_command_line *line,
                            struct vf_session *session)
{
    struct runner r = {.batch = batch, .line = line, .options = line->options, .session = session};
    struct vf_output_file *report = NULL;
    struct vf_error error;
    vf_memory_be_generous();
    enum vf_status status = begin(&r, &report, &error);
    if (status == VF_OK) {
        if (r.has_earlier_report && !line->options.dry_run)
            replace_earlier_report(&r);
        if (line->options.dry_run)
            plan_all(&r);
        else
            run_all(&r);
        vf_progress_end(&r.shown);
        status = sum_up(&r);
    } else {
        vf_cli_report(status, &error);
    }
    if (report != NULL && write_report(&r, vf_interrupted != 0, report, &error) != VF_OK) {
        const enum vf_status failed = vf_cli_report(VF_FAILED, &error);
        status = status == VF_OK ? failed : status;
    }
    vf_output_file_close(report);
    /* When all is done nothing is left to resume; but inputs that were replaced are not to be filtered twice.
     */
    vf_journal_close(r.journal, !line->resume && r.done == batch->count && !any_in_place(batch));
    for (int i = 0; i < batch->count && r.result != NULL; i++) {
        vf_free(r.result[i].why);
        vf_free(r.result[i].note);
    }
    vf_free(r.result);
    return status;
}
