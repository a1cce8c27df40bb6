/* One line on stderr that says how far the work is, and the flag by which a signal stops it. */
#ifndef VF_PROGRESS_H
#define VF_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "run.h"

/* Use: begin, add from any thread, end; owned by the caller, who may put it on the stack. Fields are private.
 */
struct vf_progress_line {
    bool shown, terminal;
    const char *label; /* borrowed */
    bool json;
    atomic_size_t total;
    atomic_size_t done;
    size_t files; /* of several; 0: the units are not bytes of files */
    atomic_size_t files_done;
    atomic_llong next_ns; /* of the monotonic clock: no redraw before */
    atomic_flag drawing;
    atomic_bool drawn; /* something stands on the terminal's line */
    long long start_ns;
};

/* `mode` auto shows a line only on a terminal and only after half a second; always gives plain lines, one a
 * second at most, where stderr is no terminal; json gives such lines as objects. `total` is in units of the
 * caller's choice (planes, bytes); 0 when unknown. `label` must live until vf_progress_end. */
void vf_progress_begin(struct vf_progress_line *line, enum vf_progress mode, const char *label, size_t total);

/* The same for several files, in bytes: how many are done, how fast, how long still. Of the files `done` are
 * done already; their bytes are not among `bytes`, for they would make the rest look fast. */
void vf_progress_begin_files(struct vf_progress_line *line, enum vf_progress mode, size_t files, size_t done,
                             size_t bytes);

/* One more of them is done; `dropped` of the bytes were no work, since it could not be opened. Main thread
 * only, like end and clear. */
void vf_progress_file_done(struct vf_progress_line *line, size_t dropped);

/* Clears the terminal's line for a message, until it is drawn again. */
void vf_progress_clear(struct vf_progress_line *line);

/* `count` more units are done. Any thread may call it: an atomic addition and a clock read, and ten redraws a
 * second at most by whoever finds the line free. */
void vf_progress_add(struct vf_progress_line *line, size_t count);

/* Shows a line of which nothing is done yet, and the first part may take long. One thread only. */
void vf_progress_announce(struct vf_progress_line *line);

/* Clears the terminal's line, so that messages start at the left; a plain last line otherwise. One thread
 * only. */
void vf_progress_end(struct vf_progress_line *line);

/* From now on SIGTERM and, unless they are ignored (by nohup; by a shell, of what is in the background),
 * SIGINT and SIGHUP set vf_interrupted (interrupt.h); a second one, 0.4 s without an end, or an alarm,
 * removes the temporary files and leaves at once, with 128 and the signal's number. SIGQUIT, SIGUSR1, SIGUSR2
 * and SIGXCPU end it as ever, but for the temporary files, which are removed. SIGPIPE and SIGXFSZ are
 * ignored, so that a closed pipe and a file's limit are errors like others. */
void vf_signals_install(void);

/* From now on 8 s without an end, not 0.4: there is a report to write. */
void vf_signals_be_patient(void);

/* For a child process, whose parent's temporary files are not its own: the same signals end it at once. */
void vf_signals_leave(void);

#endif
