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
    int files;                   /* that share it, at least 1, and the cost of starting the GPU */
    struct vf_cuda *cuda;        /* NULL: not looked for, or there is none */
    bool tried;                  /* to find it */
    enum vf_status found;        /* what came of that, or of opening and using it since: not VF_OK where there
                                    is none, VF_DEVICE where there is one that fails */
    struct vf_error why;         /* if there is none */
    struct vf_plan_memory plans; /* of the files so far */
    struct vf_team *team;        /* of the threads that compute; NULL: not opened, or there is none */
    bool warned;                 /* the user knows that the CPU took over */
    struct vf_told *told;        /* owned, as their notes are */
    size_t told_count, told_room;
    size_t list_bytes; /* that the list of files takes */
    int works;         /* files on their way now */
    /* When the first of them began: bytes of memory that the process held, and the processors that it may
     * use. */
    size_t base_bytes;
    int processors;
    size_t free_bytes; /* for all that are on their way, when it was last looked at */
    double looked;     /* vf_now() */
};

/* The device, looked for if need be, so that it can be planned for; NULL, and session->why, when there is
 * none. `strict`: its failures are errors. */
struct vf_cuda *vf_session_device(struct vf_session *session, bool strict);

/* The same device, opened if need be; it may be another one if that one does not open. `as_planned`: it is
 * the one that plans were made for, with as much memory as they were made for. */
struct vf_cuda *vf_session_start_device(struct vf_session *session, bool *as_planned);

/* What the device failed at: no file is planned for it any more if it is lost. */
void vf_session_device_failed(struct vf_session *session, const struct vf_error *why);

/* The threads that compute. May be NULL, which stands for a team too (team.h). */
struct vf_team *vf_session_team(struct vf_session *session);

void vf_session_close(struct vf_session *session);

/* To be called before a file takes memory, and after it has given it back. */
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
