/* Streams and events. With FAKE_CUDA_LATE work waits in its stream until something asks for its end, as late
 * as a device may be: who reads a result, overwrites a source or starts on another stream's work without
 * waiting, gets what was there before. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void execute(const struct operation *o)
{
    switch (o->work) {
    case COPY:
        for (size_t y = 0; y < o->height; y++)
            memmove(o->to + y * o->to_pitch, o->from + y * o->from_pitch, o->width);
        break;
    case FILL:
        for (size_t y = 0; y < o->height; y++)
            memset(o->to + y * o->to_pitch, o->value, o->width);
        break;
    case LAUNCH:
        fake_grid_run(&o->launch);
        break;
    case RECORD:
        if (o->event)
            o->event->recorded = seconds();
        break;
    }
    free(o->argument);
}

static void finish_until(struct object *stream, unsigned long long number)
{
    while (stream->first && stream->first->number <= number) {
        struct operation *const o = stream->first;
        stream->first = o->next;
        execute(o);
        free(o);
    }
}

/* The default stream's work comes after that of all others, but those that asked not to be waited for, and is
 * done at once. */
static void finish_blocking(void)
{
    for (struct object *s = NULL; (s = fake_object_next(STREAM, s));)
        if (!s->non_blocking)
            finish_until(s, s->submitted);
}

void fake_finish(CUstream stream)
{
    struct object *const s = (struct object *)stream;
    if (s)
        finish_until(s, s->submitted);
    else
        finish_blocking();
}

void fake_finish_all(void)
{
    for (struct object *s = NULL; (s = fake_object_next(STREAM, s));)
        finish_until(s, s->submitted);
}

bool fake_is_stream(CUstream stream)
{
    return !stream || fake_object_find(STREAM, stream);
}

CUresult fake_submit(CUstream stream, const struct operation *operation)
{
    struct object *const s = (struct object *)stream;
    struct operation *const o = s ? malloc(sizeof *o) : NULL;
    if (!s) {
        finish_blocking();
        execute(operation);
        return CUDA_SUCCESS;
    }
    if (!o) {
        free(operation->argument);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *o = *operation;
    o->next = NULL;
    o->number = ++s->submitted;
    *(s->first ? &s->last->next : &s->first) = o;
    s->last = o;
    if (!fake_setting("FAKE_CUDA_LATE", 0))
        finish_until(s, s->submitted);
    return CUDA_SUCCESS;
}

/* ---- streams ---- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, CONTEXT);
    struct object *const object = fake_object_add(STREAM);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    object->non_blocking = flags == CU_STREAM_NON_BLOCKING;
    *stream = (CUstream)object;
    return CUDA_SUCCESS;
}

/* Forgets an event or a stream in what waits. */
static void forget(const struct object *gone)
{
    for (struct object *e = NULL; (e = fake_object_next(EVENT, e));)
        if (e->stream == gone)
            e->stream = NULL;
    for (struct object *s = NULL; (s = fake_object_next(STREAM, s));)
        for (struct operation *o = s->first; o; o = o->next)
            o->event = o->event == gone ? NULL : o->event;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = fake_object_find(STREAM, stream);
    if (!object)
        return INVALID_HANDLE;
    fake_finish(stream);
    forget(object);
    fake_object_remove(object);
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    if (!fake_is_stream(stream))
        return INVALID_HANDLE;
    fake_finish(stream);
    return CUDA_SUCCESS;
}

/* ---- events ---- */

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, CONTEXT);
    (void)flags;
    struct object *const object = fake_object_add(EVENT);
    *event = (CUevent)object;
    return object ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = fake_object_find(EVENT, event);
    if (!object)
        return INVALID_HANDLE;
    forget(object);
    fake_object_remove(object);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    ENTER(INVALID_HANDLE, CONTEXT);
    struct object *const e = fake_object_find(EVENT, event), *const s = (struct object *)stream;
    if (!e || !fake_is_stream(stream))
        return INVALID_HANDLE;
    e->stream = s;
    e->number = s ? s->submitted + 1 : 0;
    e->recorded = 0;
    return fake_submit(stream, &(struct operation){.work = RECORD, .event = e});
}

CUresult cuEventSynchronize(CUevent event)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    const struct object *const e = fake_object_find(EVENT, event);
    if (!e)
        return INVALID_HANDLE;
    if (e->stream)
        finish_until(e->stream, e->number);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    ENTER(INVALID_HANDLE, CONTEXT);
    const struct object *const pair[] = {fake_object_find(EVENT, start), fake_object_find(EVENT, end)};
    for (int i = 0; i < 2; i++)
        if (!pair[i] || (pair[i]->recorded == 0 && !pair[i]->stream))
            return INVALID_HANDLE;
    if (pair[0]->recorded == 0 || pair[1]->recorded == 0)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)(1e3 * (pair[1]->recorded - pair[0]->recorded));
    return CUDA_SUCCESS;
}
