#include "session.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "memory.h"
#include "processors.h"

struct vf_cuda *vf_session_device(struct vf_session *session, bool strict)
{
    if (!session->tried)
        session->found = vf_cuda_find(&session->cuda, &session->why);
    session->tried = true;
    if (session->found != VF_OK)
        return NULL;
    session->cuda->strict = strict;
    return session->cuda;
}

struct vf_cuda *vf_session_start_device(struct vf_session *session, bool *as_planned)
{
    struct vf_cuda *cuda = session->cuda;
    const int planned_for = cuda->ordinal;
    const size_t planned_memory = cuda->gpu.free_memory;
    const bool is_new = cuda->context == NULL;
    const size_t before = is_new ? vf_memory_resident() : 0;
    session->found = vf_cuda_start(cuda, &session->why);
    /* What the driver holds from now on is no file's. */
    const size_t after = is_new ? vf_memory_resident() : 0;
    session->base_bytes += after > before ? after - before : 0;
    *as_planned = cuda->ordinal == planned_for && cuda->gpu.free_memory == planned_memory;
    if (!*as_planned)
        vf_plan_memory_free(&session->plans);
    return session->found == VF_OK ? cuda : NULL;
}

void vf_session_device_failed(struct vf_session *session, const struct vf_error *why)
{
    if (!vf_cuda_is_lost(session->cuda))
        return;
    session->found = VF_DEVICE;
    vf_fail(&session->why, VF_DEVICE, "the GPU was lost at an earlier file: %s", why->text);
}

struct vf_team *vf_session_team(struct vf_session *session)
{
    if (session->team == NULL)
        session->team = vf_team_open();
    return session->team;
}

void vf_session_close(struct vf_session *session)
{
    vf_plan_memory_free(&session->plans);
    vf_cuda_close(session->cuda);
    vf_team_close(session->team);
    for (size_t i = 0; i < session->told_count; i++)
        vf_free(session->told[i].note);
    vf_free(session->told);
    *session = (struct vf_session){0};
}

void vf_session_begin_work(struct vf_session *session)
{
    const double now = vf_now();
    const bool is_first = session->works++ == 0;
    if (!is_first && now < session->looked + 1)
        return;
    const size_t held = vf_memory_resident();
    if (is_first) {
        session->base_bytes = held;
        session->processors = vf_processors();
        vf_memory_spare_addresses();
    }
    session->looked = now;
    /* Beside threads that compute there are some that read and write. What files on their way hold is free
     * for them. */
    session->free_bytes = vf_memory_free(session->processors + 3) +
                          (held > session->base_bytes ? held - session->base_bytes : 0);
}

void vf_session_end_work(struct vf_session *session)
{
    session->works--;
}

bool vf_session_is_new(struct vf_session *session, const char *note)
{
    struct vf_error ignored;
    for (size_t i = 0; i < session->told_count; i++) {
        if (strcmp(session->told[i].note, note) == 0) {
            session->told[i].more++;
            return false;
        }
    }
    struct vf_told *told = vf_grow(session->told, session->told_count, &session->told_room, sizeof *told,
                                   "list of notes", &ignored);
    if (told == NULL)
        return true;
    session->told = told;
    told += session->told_count;
    *told = (struct vf_told){.note = vf_strdup(note, &ignored)};
    session->told_count += told->note != NULL;
    return true;
}

void vf_session_tell_more(const struct vf_session *session)
{
    for (size_t i = 0; i < session->told_count; i++) {
        const struct vf_told *told = &session->told[i];
        if (told->more > 0)
            vf_say("the same for %d more file%s: %s", told->more, told->more == 1 ? "" : "s", told->note);
    }
}

double vf_session_cuda_seconds(const struct vf_session *session, size_t bytes, double kernels)
{
    const struct vf_cuda_costs *costs = &vf_cuda_costs;
    const struct vf_cuda *cuda = session->cuda;
    const double start = (cuda == NULL ? costs->driver_init : 0) +
                         (cuda == NULL || cuda->context == NULL ? costs->context : 0);
    return start / session->files + (double)bytes / costs->staged + kernels;
}
