#include "kernel_search.h"

#include <math.h>

#include "alloc.h"

#define MOST_RANKED 1024
#define ROOM (MOST_RANKED + 256)
/* The first that are measured of each scheme. */
#define MOST_OF_SCHEME 6
/* Of so many of the fastest, so many neighbours are measured, each by the chunks that are predicted best: of
 * what is at most so many halvings and doublings away. */
#define FASTEST 4
#define NEIGHBOURS 6
#define MOST_APART 2.1
/* Less is noise. */
#define GAIN 0.99

_Static_assert(FASTEST *NEIGHBOURS <= VF_SEARCH_AT_ONCE, "all neighbours are measured side by side");

/* What the search knows. */
struct space {
    struct vf_ranked *choice; /* [count], owned: by prediction, then others that were measured */
    double *seconds;          /* [count], owned: as measured; 0 before, as vf_alloc leaves them */
    int count, tried;
};

/* What is to be measured: indices of choices. */
struct picks {
    int count, index[VF_SEARCH_AT_ONCE];
};

static void space_close(struct space *space)
{
    vf_free(space->choice);
    vf_free(space->seconds);
}

/* Where a configuration is in the list, behind which it is put if it is not there; -1 if there is no room. */
static int find(struct space *space, const struct vf_ranked *choice)
{
    int i = 0;
    while (i < space->count && !(space->choice[i].scheme == choice->scheme &&
                                 vf_config_equal(&space->choice[i].config, &choice->config)))
        i++;
    if (i == ROOM)
        return -1;
    if (i == space->count)
        space->choice[space->count++] = *choice;
    return i;
}

static enum vf_status space_open(const struct vf_search *search, struct space *space, struct vf_error *error)
{
    space->choice = vf_alloc(ROOM, sizeof *space->choice, "configurations", error);
    space->seconds = vf_alloc(ROOM, sizeof *space->seconds, "configurations", error);
    if (space->choice == NULL || space->seconds == NULL)
        return VF_FAILED;
    space->count = vf_gpu_rank(search->c, search->gpu, NULL, space->choice, MOST_RANKED);
    return VF_OK;
}

/* ---- what to measure next ---- */

/* Unless it was measured before. */
static void pick(const struct space *space, int choice, struct picks *picks)
{
    bool is_new = choice >= 0 && space->seconds[choice] == 0 && picks->count < VF_SEARCH_AT_ONCE;
    for (int i = 0; i < picks->count; i++)
        is_new = is_new && picks->index[i] != choice;
    if (is_new)
        picks->index[picks->count++] = choice;
}

/* The plan's own, which may be one that won for other grids, and the most promising ones, a few of each
 * scheme. */
static void pick_first(struct space *space, const struct vf_launch *planned, struct picks *picks)
{
    const int offered = space->count;
    picks->count = 0;
    pick(space, find(space, &planned->choice), picks);
    for (int i = 0; i < offered; i++) {
        int alike = 0;
        for (int k = 1; k < picks->count; k++)
            alike += space->choice[picks->index[k]].scheme == space->choice[i].scheme;
        if (alike < MOST_OF_SCHEME)
            pick(space, i, picks);
    }
}

/* Halvings and doublings that make one of the other; INFINITY if more would be another. */
static double steps_apart(const struct vf_ranked *a, const struct vf_ranked *b)
{
    const struct vf_kernel_config *x = &a->config, *y = &b->config;
    if (a->scheme != b->scheme || x->variant != y->variant || x->flat_grid != y->flat_grid ||
        x->virtual_blocks != y->virtual_blocks || x->interior != y->interior ||
        (x->stream > 0) != (y->stream > 0))
        return INFINITY;
    double steps = x->stream > 0 ? fabs(log2((double)x->stream / y->stream)) : 0;
    for (int axis = 0; axis < 3; axis++)
        steps += fabs(log2((double)x->block[axis] / y->block[axis])) +
                 fabs(log2((double)x->work[axis] / y->work[axis]));
    return steps;
}

/* The fastest that was measured and takes longer than `than`, or as long and comes later; -1: none. */
static int next_fastest(const struct space *space, int than)
{
    int fastest = -1;
    for (int i = 0; i < space->count; i++) {
        const double seconds = space->seconds[i], bound = than < 0 ? 0 : space->seconds[than];
        const bool is_later = seconds > bound || (seconds == bound && i > than);
        if (seconds > 0 && isfinite(seconds) && is_later &&
            (fastest < 0 || seconds < space->seconds[fastest]))
            fastest = i;
    }
    return fastest;
}

static bool same_but_for_chunks(const struct vf_ranked *a, const struct vf_ranked *b)
{
    struct vf_kernel_config config = a->config;
    config.stream = b->config.stream;
    return a->scheme == b->scheme && vf_config_equal(&config, &b->config);
}

/* Picked or measured, by any chunks. */
static bool is_taken(const struct space *space, const struct picks *picks, const struct vf_ranked *that)
{
    for (int i = 0; i < picks->count; i++)
        if (same_but_for_chunks(&space->choice[picks->index[i]], that))
            return true;
    for (int i = 0; i < space->count; i++)
        if (space->seconds[i] > 0 && same_but_for_chunks(&space->choice[i], that))
            return true;
    return false;
}

static void pick_neighbours(const struct space *space, struct picks *picks)
{
    int of = next_fastest(space, -1);
    picks->count = 0;
    for (int n = 0; n < FASTEST && of >= 0; n++, of = next_fastest(space, of)) {
        const int most = picks->count + NEIGHBOURS;
        for (int i = 0; i < space->count && picks->count < most; i++)
            if (steps_apart(&space->choice[i], &space->choice[of]) <= MOST_APART &&
                !is_taken(space, picks, &space->choice[i]))
                pick(space, i, picks);
    }
}

/* The fastest one's chunks, which are predicted less well than what a block looks like. */
static void pick_chunks(const struct vf_search *search, struct space *space, struct picks *picks)
{
    struct vf_ranked other[VF_SEARCH_AT_ONCE];
    const int count = vf_gpu_rechunk(search->c, search->gpu, &space->choice[next_fastest(space, -1)], other,
                                     VF_SEARCH_AT_ONCE);
    picks->count = 0;
    for (int i = 0; i < count; i++)
        pick(space, find(space, &other[i]), picks);
}

/* ---- measuring ---- */

static enum vf_status measure(const struct vf_search *search, struct space *space, const struct picks *picks,
                              struct vf_error *error)
{
    struct vf_ranked choice[VF_SEARCH_AT_ONCE];
    double seconds[VF_SEARCH_AT_ONCE];
    if (picks->count <= 0)
        return VF_OK;
    for (int i = 0; i < picks->count; i++)
        choice[i] = space->choice[picks->index[i]];
    const enum vf_status status = search->measure(search->context, choice, picks->count, seconds, error);
    for (int i = 0; i < picks->count && status == VF_OK; i++, space->tried++)
        space->seconds[picks->index[i]] = seconds[i];
    return status;
}

/* INFINITY: none runs. */
static double least(const struct space *space)
{
    const int fastest = next_fastest(space, -1);
    return fastest < 0 ? INFINITY : space->seconds[fastest];
}

enum vf_status vf_search_run(const struct vf_search *search, struct vf_ranked *best, int *tried,
                             struct vf_error *error)
{
    struct space space = {0};
    struct picks picks;
    enum vf_status status;
    VF_TRY(space_open(search, &space, error));
    pick_first(&space, search->planned, &picks);
    VF_TRY(measure(search, &space, &picks, error));
    for (double before = INFINITY; least(&space) < GAIN * before;) {
        before = least(&space);
        pick_neighbours(&space, &picks);
        VF_TRY(measure(search, &space, &picks, error));
    }
    for (double before = INFINITY; least(&space) < GAIN * before;) {
        before = least(&space);
        pick_chunks(search, &space, &picks);
        VF_TRY(measure(search, &space, &picks, error));
    }
    const int fastest = next_fastest(&space, -1);
    *best = space.choice[fastest < 0 ? 0 : fastest];
    best->seconds = least(&space);
out:
    *tried = space.tried;
    space_close(&space);
    return status;
}
