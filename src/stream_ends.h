/* Inside the stream only: the two threads at the ends of a pass, which read planes of the image or of a
 * temporary file into a window's places, and write what comes out. */
#ifndef VF_STREAM_ENDS_H
#define VF_STREAM_ENDS_H

#include "queue.h"
#include "stream.h"
#include "window.h"

/* Planes as runs store them (vf_run), that lie on the disk between passes, without a name; fd -1: none. */
struct vf_plane_file {
    int fd;
    size_t plane_bytes; /* of all fields */
};

/* One end, and what its thread needs. */
struct vf_stream_end {
    const struct vf_stream *stream;
    const struct vf_window *window; /* for its places only: which planes it holds, the main thread says */
    struct vf_queue queue;
    struct vf_plane_file *file; /* NULL: the image or the result */
    pthread_mutex_t *reading;   /* held while the image's reader is used */
    ptrdiff_t images, batch;    /* planes at a time, at most */
    pthread_t thread;
    bool started;
    double seconds; /* that the thread worked, without waiting */
};

enum vf_status vf_stream_start_reading(struct vf_stream_end *end, struct vf_error *error);
enum vf_status vf_stream_start_writing(struct vf_stream_end *end, struct vf_error *error);

/* Stops the queue, and waits for the thread. */
void vf_stream_end_join(struct vf_stream_end *end);

#endif
