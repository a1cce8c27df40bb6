/* Errors are a status and a message that says what to do. */
#ifndef VF_ERROR_H
#define VF_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The values are the program's exit codes. */
enum vf_status {
    VF_OK = 0,
    VF_FAILED = 1,
    VF_USAGE = 2,
    VF_PARTIAL = 3,
    VF_DEVICE = 4, /* the GPU failed: the CPU takes over, or it becomes VF_FAILED; never an exit code */
    VF_INTERRUPTED = 130, /* by SIGINT; main makes it 143 after SIGTERM, 129 after SIGHUP */
};

struct vf_error {
    char text[1024];
    bool in_file; /* the text names the file that it is about */
};

/* Writes the message (no trailing newline, no program name) and returns `status`, so that a function can
 * `return vf_fail(...)`. */
enum vf_status vf_fail(struct vf_error *error, enum vf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the message that is there: the page or word it is about. Returns `status`. */
enum vf_status vf_fail_in(struct vf_error *error, enum vf_status status, const char *prefix);

/* Returns `status`. If it is a failure whose message does not name its file, puts the name before it. */
enum vf_status vf_in_file(struct vf_error *error, enum vf_status status, const char *name);

/* What the system says of an errno, and of limits that its user set how to see or raise them. */
const char *vf_cause(int error);

/* A path for a message that has room for more than it: of a long one the end, after "...". */
struct vf_short_path {
    char text[204];
};
struct vf_short_path vf_short_path(const char *path);

/* Copies a text for people to read: what would move a terminal's cursor or end the line, as names of files
 * may, becomes what it is in C, "\\n" or "\\x1b". What does not fit into `room`, at least 1, is left out.
 * Returns `shown`. */
const char *vf_show_controls(const char *text, char *shown, size_t room);

/* Prints "volfilter: ", the message so shown and the end of the line on standard error, at once. */
void vf_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes a stream. Returns the errno of the first such call of any thread that failed, since the stream only
 * remembers that one did; 0: none has. */
int vf_flush(FILE *to);

/* Passes a failure up to the function's one clean-up label; needs a local `status` and the label `out`. */
#define VF_TRY(call)         \
    do {                     \
        status = (call);     \
        if (status != VF_OK) \
            goto out;        \
    } while (0)

#endif
