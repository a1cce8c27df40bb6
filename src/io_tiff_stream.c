/* libtiff on a descriptor. Its own I/O would do, but would lose errno (a full disk must be named), would map
 * the file into memory (a file cut short meanwhile would then kill the process), and would print to stderr.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "io_tiff.h"

/* A file that there is not ends behind its header. */
enum { NO_FILE_BYTES = 16 };

/* From stream->at on at least `least` bytes, unless the file ends, and at most `most`. */
static size_t read_some(struct vf_tiff_stream *stream, void *data, size_t least, size_t most)
{
    size_t done = 0;
    while (done < least && stream->fd >= 0) {
        const size_t piece = vf_piece_of(most - done);
        if (piece == 0)
            break;
        const ssize_t got = pread(stream->fd, (char *)data + done, piece, (off_t)(stream->at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && stream->io_error == 0)
            stream->io_error = errno;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* libtiff reads a directory in pieces of 2, 4 and some 100 bytes: what is around them is read with the first.
 */
static size_t read_held(struct vf_tiff_stream *stream, void *data, size_t bytes)
{
    /* Compared so that no offset, which the file names, overflows; below `held_at` it is huge. */
    uint64_t from = stream->at - stream->held_at;
    if (from > stream->held_count || bytes > stream->held_count - from) {
        from = 0;
        stream->held_at = stream->at;
        stream->held_count = read_some(stream, stream->held, bytes, sizeof stream->held);
    }
    const size_t count = bytes < stream->held_count ? bytes : stream->held_count;
    memcpy(data, stream->held + from, count);
    return count;
}

bool vf_tiff_look_at(struct vf_tiff_stream *stream, uint64_t at, void *data, size_t bytes)
{
    const uint64_t before = stream->at;
    stream->at = at;
    const size_t got = read_held(stream, data, bytes);
    stream->at = before;
    return got == bytes;
}

static tmsize_t stream_read(thandle_t handle, void *data, tmsize_t bytes)
{
    struct vf_tiff_stream *stream = handle;
    const size_t wanted = (size_t)bytes;
    stream->done += (uint64_t)bytes;
    if (!vf_tiff_reads_allowed(stream))
        return 0;
    const size_t done = stream->only_reads && wanted <= sizeof stream->held
                            ? read_held(stream, data, wanted)
                            : read_some(stream, data, wanted, wanted);
    stream->at += done;
    return (tmsize_t)done;
}

/* What is not captured is the header and directory of a file that there is not. */
static tmsize_t capture(struct vf_tiff_stream *stream, const void *data, tmsize_t bytes)
{
    if (stream->capture == NULL)
        return bytes;
    if (vf_interrupted)
        return 0;
    if ((size_t)bytes > stream->capture_room - stream->captured) {
        stream->io_error = EFBIG;
        return 0;
    }
    memcpy(stream->capture + stream->captured, data, (size_t)bytes);
    stream->captured += (size_t)bytes;
    return bytes;
}

static tmsize_t stream_write(thandle_t handle, void *data, tmsize_t bytes)
{
    struct vf_tiff_stream *stream = handle;
    if (stream->fd < 0)
        return capture(stream, data, bytes);
    /* Where to write was mostly asked of what failed. */
    if (stream->io_error != 0)
        return 0;
    if (!vf_write_at(stream->fd, data, (size_t)bytes, stream->at)) {
        stream->io_error = errno;
        return 0;
    }
    stream->at += (uint64_t)bytes;
    return bytes;
}

static toff_t stream_size(thandle_t handle)
{
    struct vf_tiff_stream *stream = handle;
    struct stat about;
    if (stream->fd < 0)
        return NO_FILE_BYTES;
    if (fstat(stream->fd, &about) == 0)
        return (toff_t)about.st_size;
    if (stream->io_error == 0)
        stream->io_error = errno;
    return 0;
}

static toff_t stream_seek(thandle_t handle, toff_t offset, int whence)
{
    struct vf_tiff_stream *stream = handle;
    stream->at = whence == SEEK_END   ? stream_size(handle) + offset
                 : whence == SEEK_CUR ? stream->at + offset
                                      : offset;
    return stream->at;
}

static int stream_close(thandle_t handle)
{
    (void)handle; /* the descriptor is the caller's */
    return 0;
}

/* The first error is the cause; what follows are its consequences. The caller names the file. */
static void keep_message(struct vf_tiff_stream *stream, const char *format, va_list arguments)
{
    char text[PATH_MAX + sizeof stream->message];
    const size_t name = strlen(stream->name);
    vsnprintf(text, sizeof text, format, arguments);
    if (strncmp(text, stream->name, name) == 0 && strncmp(text + name, ": ", 2) == 0)
        memmove(text, text + name + 2, strlen(text + name + 2) + 1);
    if (strstr(text, "TIFF_SETGET_UNDEFINED") != NULL)
        return; /* a tag that libtiff does without */
    if (strstr(text, "Failed to allocate") != NULL) {
        /* Else libtiff takes a tag that it has no memory for as not being there. */
        if (strstr(text, "(0 elements") == NULL && stream->io_error == 0)
            stream->io_error = ENOMEM;
        if (stream->io_error == 0)
            strcpy(text, "it has no tags");
    }
    if (stream->message[0] != '\0')
        return;
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == '\n'))
        text[--length] = '\0';
    snprintf(stream->message, sizeof stream->message, "%.255s", text);
}

#if TIFFLIB_VERSION >= 20221213 && !defined(VF_TIFF_GLOBAL_HANDLERS)

static int on_error(TIFF *tif, void *stream, const char *module, const char *format, va_list arguments)
{
    (void)tif;
    (void)module;
    keep_message(stream, format, arguments);
    return 1;
}

static int on_warning(TIFF *tif, void *stream, const char *module, const char *format, va_list arguments)
{
    struct vf_tiff_stream *own = stream;
    (void)tif;
    (void)module;
    (void)arguments;
    /* A tag that it does not know, and has no memory for. */
    if (strstr(format, "Registering anonymous field") != NULL && own->io_error == 0)
        own->io_error = ENOMEM;
    if (strncmp(format, "Discarding ", 11) == 0)
        own->discarded = true;
    return 1; /* unknown tags and the like: what matters is checked by what is read */
}

static TIFF *open_stream(struct vf_tiff_stream *stream, const char *name, const char *mode)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL) {
        strcpy(stream->message, "out of memory");
        return NULL;
    }
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, stream);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, stream);
    TIFF *tif = TIFFClientOpenExt(name, mode, stream, stream_read, stream_write, stream_seek, stream_close,
                                  stream_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tif;
}

#else /* before 4.5 the handlers are the process's, but are told the handle: our stream */

static void on_error(thandle_t handle, const char *module, const char *format, va_list arguments)
{
    (void)module;
    if (handle != NULL)
        keep_message(handle, format, arguments);
}

static TIFF *open_stream(struct vf_tiff_stream *stream, const char *name, const char *mode)
{
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandlerExt(on_error);
    return TIFFClientOpen(name, mode, stream, stream_read, stream_write, stream_seek, stream_close,
                          stream_size, NULL, NULL);
}

#endif

TIFF *vf_tiff_open(struct vf_tiff_stream *stream, const char *name, const char *mode)
{
    vf_tiff_clear_error(stream);
    stream->name = name;
    stream->only_reads = mode[0] == 'r';
    TIFF *tif = open_stream(stream, name, mode);
    /* Of this alone libtiff says nothing. */
    if (tif == NULL && stream->message[0] == '\0')
        strcpy(stream->message, "it has no page; the program that wrote it did not finish");
    return tif;
}

bool vf_tiff_reads_allowed(struct vf_tiff_stream *stream)
{
    if (stream->most == 0 || stream->done <= stream->most)
        return true;
    strcpy(stream->message,
           "its tags refer to the same bytes of the file over and over; rewrite it: tiffcp IN.tif OUT.tif");
    return false;
}

void vf_tiff_clear_error(struct vf_tiff_stream *stream)
{
    stream->message[0] = '\0';
    stream->io_error = 0;
}

const char *vf_tiff_cause(const struct vf_tiff_stream *stream, const char *otherwise)
{
    if (stream->io_error != 0)
        return vf_cause(stream->io_error);
    return stream->message[0] != '\0' ? stream->message : otherwise;
}

const char *vf_tiff_remedy(const char *cause, const char *otherwise)
{
    static const char *const lacks[] = {"no space for",    "out of memory",       "not enough memory",
                                        "cannot allocate", "insufficient memory", "failed to allocate"};
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (strcasestr(cause, lacks[i]) != NULL)
            return "; memory is short: give a smaller --memory or fewer --threads";
    return otherwise;
}
