#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"
#include "output_file.h"

#define SECOND_NS 1000000000LL
/* A line that comes and goes at once would only flicker. */
#define QUIET_NS (SECOND_NS / 2)
#define REDRAW_NS (SECOND_NS / 10)
/* After a signal: for all to stop by itself. */
#define PATIENCE_US 400000
/* Signals that are less apart are one. */
#define TOGETHER_NS (SECOND_NS / 10)
#define LONG_PATIENCE_S 8

atomic_int vf_interrupted;

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static double seconds_left(size_t done, size_t total, double seconds)
{
    return seconds / (double)done * (double)(total - done);
}

static bool is_known(size_t done, size_t total)
{
    return total > 0 && done <= total;
}

/* Not by what little is done at first, after a long time of reading. */
static bool can_tell_rest(size_t done, size_t total)
{
    return done > 0 && is_known(done, total) && done >= total / 100;
}

/* "filtering:  43%", or how much is done where the end is not known. */
static void amount_text(const struct vf_progress_line *line, size_t done, char *text, size_t room)
{
    const size_t total = line->total;
    if (is_known(done, total))
        snprintf(text, room, "%.60s: %3.0f%%", line->label, 100.0 * (double)done / (double)total);
    else
        snprintf(text, room, "%.60s: %zu done", line->label, done);
}

/* In the unit that has few digits. */
static void rest_text(double seconds, char *text, size_t room)
{
    const bool few = seconds < 120, some = seconds < 2 * 3600;
    snprintf(text, room, ", %.*f %s left", some && !few ? 0 : 1,
             seconds / (few    ? 1
                        : some ? 60
                               : 3600),
             few    ? "s"
             : some ? "min"
                    : "h");
}

static void draw_json(const struct vf_progress_line *line, size_t done, double seconds)
{
    const size_t total = line->total;
    char files[120] = "", rest[60] = "";
    if (line->files > 0)
        snprintf(files, sizeof files, ", \"files_done\": %zu, \"files\": %zu, \"bytes_per_second\": %.0f",
                 line->files_done, line->files, seconds > 0 ? (double)done / seconds : 0);
    if (can_tell_rest(done, total))
        snprintf(rest, sizeof rest, ", \"seconds_left\": %.2f", seconds_left(done, total, seconds));
    /* In one piece: other threads and other runs may be writing there. */
    fprintf(stderr, "{\"step\": \"%s\", \"done\": %zu, \"total\": %zu, \"seconds\": %.2f%s%s}\n", line->label,
            done, total, seconds, files, rest);
}

static void draw(struct vf_progress_line *line, long long now)
{
    const size_t done = atomic_load(&line->done), total = line->total;
    double seconds = (double)(now - line->start_ns) / SECOND_NS;
    char text[160];
    if (line->json) {
        draw_json(line, done, seconds);
        return;
    }
    if (line->files > 0)
        snprintf(text, sizeof text, "%zu of %zu files, %.1f MB/s%s", line->files_done, line->files,
                 (double)done / 1e6 / seconds, total > 0 && done <= total ? "" : ", total unknown");
    else
        amount_text(line, done, text, sizeof text);
    const size_t used = strlen(text);
    if (can_tell_rest(done, total))
        rest_text(seconds_left(done, total, seconds), text + used, sizeof text - used);
    else if (line->files == 0)
        snprintf(text + used, sizeof text - used, ", %.1f s", seconds);
    fprintf(stderr, line->terminal ? "\r%s\033[K" : "volfilter: %s\n", text);
    fflush(stderr);
    atomic_store(&line->drawn, true);
}

void vf_progress_begin(struct vf_progress_line *line, enum vf_progress mode, const char *label, size_t total)
{
    line->json = mode == VF_PROGRESS_JSON;
    line->terminal = !line->json && isatty(STDERR_FILENO) == 1;
    line->shown = line->json || mode == VF_PROGRESS_ALWAYS || (mode == VF_PROGRESS_AUTO && line->terminal);
    line->label = label;
    atomic_init(&line->total, total);
    line->files = 0;
    atomic_init(&line->files_done, 0);
    line->start_ns = now_ns();
    atomic_init(&line->done, 0);
    atomic_init(&line->next_ns, line->start_ns + (line->terminal ? QUIET_NS : SECOND_NS));
    atomic_init(&line->drawn, false);
    atomic_flag_clear(&line->drawing);
}

void vf_progress_begin_files(struct vf_progress_line *line, enum vf_progress mode, size_t files, size_t done,
                             size_t bytes)
{
    vf_progress_begin(line, mode, "files", bytes);
    line->files = files;
    atomic_init(&line->files_done, done);
}

void vf_progress_file_done(struct vf_progress_line *line, size_t dropped)
{
    atomic_fetch_add(&line->files_done, 1);
    atomic_fetch_sub(&line->total, dropped);
    vf_progress_add(line, 0);
}

void vf_progress_clear(struct vf_progress_line *line)
{
    if (line->shown && line->terminal && atomic_exchange(&line->drawn, false))
        fputs("\r\033[K", stderr);
}

void vf_progress_add(struct vf_progress_line *line, size_t count)
{
    if (!line->shown)
        return;
    atomic_fetch_add_explicit(&line->done, count, memory_order_relaxed);
    long long now = now_ns();
    if (now < atomic_load_explicit(&line->next_ns, memory_order_relaxed))
        return;
    if (atomic_flag_test_and_set(&line->drawing))
        return;
    /* Looked at again: another thread may have drawn between the two. */
    if (now >= atomic_load(&line->next_ns)) {
        draw(line, now);
        atomic_store(&line->next_ns, now + (line->terminal ? REDRAW_NS : SECOND_NS));
    }
    atomic_flag_clear(&line->drawing);
}

void vf_progress_announce(struct vf_progress_line *line)
{
    if (line->shown)
        draw(line, now_ns());
}

void vf_progress_end(struct vf_progress_line *line)
{
    if (!line->shown)
        return;
    const double seconds = (double)(now_ns() - line->start_ns) / SECOND_NS;
    vf_progress_clear(line);
    if (line->json)
        draw_json(line, atomic_load(&line->done), seconds);
    else if (!line->terminal && !vf_interrupted && line->files > 0)
        fprintf(stderr, "volfilter: %zu of %zu files, %.2f s\n", line->files_done, line->files, seconds);
    else if (!line->terminal && !vf_interrupted) {
        char text[160];
        amount_text(line, atomic_load(&line->done), text, sizeof text);
        fprintf(stderr, "volfilter: %s, %.2f s\n", text, seconds);
    }
    fflush(stderr);
    line->shown = false;
}

static void leave(void)
{
    vf_output_file_leave();
    _exit(128 + vf_interrupted);
}

/* Where a library or the system takes longer than anybody waits: a strip of a gigabyte, a disk that is busy.
 */
static void on_impatience(int number)
{
    static const char text[] = "volfilter: interrupted; nothing more was written\n";
    if (!vf_interrupted) /* whoever started the program set an alarm before */
        vf_interrupted = number;
    const ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    leave();
}

static struct itimerval patience = {.it_value = {.tv_usec = PATIENCE_US}};

void vf_signals_be_patient(void)
{
    patience.it_value = (struct timeval){.tv_sec = LONG_PATIENCE_S};
}

/* What timeout(1) sends to the program and to its group is one wish. */
static void on_signal(int number)
{
    static atomic_llong first_ns;
    if (vf_interrupted) {
        if (now_ns() - atomic_load(&first_ns) >= TOGETHER_NS)
            leave();
        return;
    }
    atomic_store(&first_ns, now_ns());
    vf_interrupted = number;
    setitimer(ITIMER_REAL, &patience, NULL);
}

/* What ends the program as it would any other: a batch system's notice, a limit of processor time. */
static void on_end(int number)
{
    sigset_t own;
    vf_output_file_leave();
    sigemptyset(&own);
    sigaddset(&own, number);
    raise(number); /* to the default, which the handler made way for */
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    _exit(128 + number); /* the first process of a container is not ended by it */
}

static bool is_ignored(int number)
{
    struct sigaction before;
    return sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
}

/* That ask to stop, and that end the program at once. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP}, others[] = {SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};

void vf_signals_install(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction end = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    /* While one handler runs the others must wait, or both would clean up. */
    sigaddset(&action.sa_mask, SIGALRM);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&action.sa_mask, ending[i]);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (ending[i] == SIGTERM || !is_ignored(ending[i]))
            sigaction(ending[i], &action, NULL);
    sigfillset(&end.sa_mask);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!is_ignored(others[i]))
            sigaction(others[i], &end, NULL);
    action.sa_handler = on_impatience;
    sigaction(SIGALRM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void vf_signals_leave(void)
{
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (!is_ignored(ending[i]))
            signal(ending[i], SIG_DFL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!is_ignored(others[i]))
            signal(others[i], SIG_DFL);
}
