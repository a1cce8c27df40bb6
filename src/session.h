/* What lasts from file to file: the GPU, opened when the first file asks for it. */
#ifndef VF_SESSION_H
#define VF_SESSION_H

#include "cuda_device.h"
#include "plan_memory.h"

/* A note about a file, and of how many more files it is true. */
struct vf_told {
    char *note;
    int more;
};

struct vf_session {
    int files;            /* that share it, at least 1: start-up is paid once */
    struct vf_cuda *cuda; /* NULL: not opened, or not to be had */
    bool tried;
    struct vf_error why;         /* there is none */
    struct vf_plan_memory plans; /* of the files so far */
    struct vf_team *team;        /* of the threads that compute; NULL: not opened yet, or not to be had */
    bool warned;                 /* that the CPU took over */
    struct vf_told *told;        /* owned, as their notes are */
    size_t told_count, told_room;
    int works;         /* files on their way now */
    size_t base_bytes; /* of memory, held beside them; and what was free when there was none */
    size_t free_bytes;
};

/* The device, opened if need be; NULL, and session->why, when there is none. `strict`: its failures are
 * errors. */
struct vf_cuda *vf_session_device(struct vf_session *session, bool strict);

/* The threads that compute; NULL is a team, too. */
struct vf_team *vf_session_team(struct vf_session *session);

void vf_session_close(struct vf_session *session);

/* A file begins, with what it holds; and ends. */
void vf_session_begin_work(struct vf_session *session);
void vf_session_end_work(struct vf_session *session);

/* Whether a note has not been told yet; else it is counted. */
bool vf_session_is_new(struct vf_session *session, const char *note);

/* Says on stderr what was counted. */
void vf_session_tell_more(const struct vf_session *session);

/* Seconds that a plan's GPU would take for `bytes` in and out and `kernels` seconds of work, start-up
 * included where the session has not paid it. */
double vf_session_cuda_seconds(const struct vf_session *session, size_t bytes, double kernels);

#endif
