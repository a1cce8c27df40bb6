/* A block is run by one operating-system thread, its worker. CUDA threads run one at a time, each until it
 * ends or waits for others; then the next in order goes on. A fiber carries one CUDA thread after the other
 * and is set aside only with one that waits, so a kernel without barriers needs a single fiber. */
#include "grid.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "fiber.h"

enum { MOST_THREADS = 1024, MOST_WORKERS = 64, SHARED_ALIGNMENT = 128, POISON = 0xff };

enum state { NEW, READY, RUNNING, AT_BARRIER, AT_GATE, AT_COLLECTIVE, ENDED };

/* What a thread has begun to copy. */
struct copy {
    void *to;
    const void *from;
    size_t bytes;
    unsigned int group;
};

struct thread {
    struct fake_self self;
    enum state state;
    int turn;                /* its place in the order */
    struct fiber *fiber;     /* that carries it, once it has begun */
    struct fake_place place; /* where it waits */
    enum fake_collective kind;
    unsigned int mask;
    int source;
    unsigned long long value, result;
    /* The copies that are under way, from `first_copy` on, and how many groups of them are closed. */
    struct copy *copy; /* owned, kept from launch to launch */
    size_t first_copy, copy_count, copy_room;
    unsigned int closed;
};

struct grid {
    const struct fake_launch *launch;
    unsigned long long block_count, next_block;
    bool reverse, shuffle;
    bool late; /* copies are done when they are waited for, and who arrives at a gate lets others go first */
    unsigned int seed;
    unsigned int *count; /* NULL, or what blocks count together */
};

struct worker {
    struct grid *grid;
    int count;   /* threads of a block */
    int live;    /* that have not ended */
    int arrived; /* at the barrier */
    int arrived_at_gate;
    unsigned int passes; /* how often all had arrived there */
    int turn;            /* of who may run next */
    struct thread *now;
    struct fiber home; /* what the worker came with */
    int fiber_count, idle_count;
    struct fiber *idle[MOST_THREADS];
    struct fiber fiber[MOST_THREADS]; /* kept from launch to launch */
    struct thread thread[MOST_THREADS];
    struct thread *order[MOST_THREADS];
};

static struct worker *workers[MOST_WORKERS];
static __thread struct worker *this_worker;

/* ---- messages ---- */

static void describe(const struct thread *t)
{
    fprintf(stderr, "  thread (%u,%u,%u) of block (%u,%u,%u) at %s:%d: ", t->self.thread.x, t->self.thread.y,
            t->self.thread.z, t->self.block.x, t->self.block.y, t->self.block.z, t->place.file,
            t->place.line);
    if (t->state == AT_BARRIER || t->state == AT_GATE)
        fprintf(stderr, "%s\n", t->state == AT_GATE ? "a gate" : "__syncthreads()");
    else
        fprintf(stderr, "a collective of the lanes 0x%08x\n", t->mask);
}

/* b may be NULL. */
static _Noreturn void give_up(const char *what, const struct thread *a, const struct thread *b)
{
    fprintf(stderr, "fake cuda: %s:\n", what);
    describe(a);
    if (b)
        describe(b);
    abort();
}

static const struct thread *first_in_state(const struct worker *w, enum state state)
{
    for (int i = 0; i < w->count; i++)
        if (w->thread[i].state == state)
            return &w->thread[i];
    return NULL;
}

static bool same_place(struct fake_place a, struct fake_place b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* ---- turns ---- */

/* The next in order that can run; NULL when all have ended. */
static struct thread *next_thread(struct worker *w)
{
    for (int i = 0; i < w->count; i++) {
        const int turn = (w->turn + i) % w->count;
        struct thread *const t = w->order[turn];
        if (t->state == NEW || t->state == READY) {
            w->turn = turn + 1;
            return t;
        }
    }
    if (w->live > 0) {
        const struct thread *const at[] = {first_in_state(w, AT_COLLECTIVE), first_in_state(w, AT_BARRIER),
                                           first_in_state(w, AT_GATE)};
        const int first = at[0] ? 0 : at[1] ? 1 : 2;
        give_up("threads wait for others that never come", at[first],
                first == 0 && at[1] ? at[1]
                : first < 2         ? at[2]
                                    : NULL);
    }
    return NULL;
}

static void thread_ended(struct worker *w, struct thread *t);

/* Takes threads from their beginnings to their ends, for ever; idle while those that have begun go on. */
static void carry(void *argument)
{
    struct worker *const w = argument;
    for (;;) {
        struct thread *const t = w->now;
        struct fiber *const self = t->fiber;
        t->state = RUNNING;
        w->grid->launch->run(w->grid->launch->argument);
        thread_ended(w, t);
        struct thread *const next = next_thread(w);
        w->now = next;
        if (next && next->state == NEW) {
            next->fiber = self;
            continue;
        }
        w->idle[w->idle_count++] = self;
        fiber_switch(self, next ? next->fiber : &w->home);
    }
}

static struct fiber *idle_fiber(struct worker *w)
{
    if (w->idle_count == 0) {
        fibers_open(&w->fiber[w->fiber_count], FAKE_CUDA_WARP, carry, w);
        for (int i = 0; i < FAKE_CUDA_WARP; i++)
            w->idle[w->idle_count++] = &w->fiber[w->fiber_count++];
    }
    return w->idle[--w->idle_count];
}

/* Lets others run until this thread is ready. */
static void wait_until_ready(struct worker *w, struct thread *self)
{
    struct thread *const next = next_thread(w);
    if (next->state == NEW)
        next->fiber = idle_fiber(w);
    w->now = next;
    if (next != self)
        fiber_switch(self->fiber, next->fiber);
    self->state = RUNNING;
}

/* ---- barriers ---- */

/* Threads that have ended are not waited for. All go on in order from the first. */
static void release_barrier(struct worker *w)
{
    if (w->arrived == 0 || w->arrived < w->live)
        return;
    for (int i = 0; i < w->count; i++)
        if (w->thread[i].state == AT_BARRIER)
            w->thread[i].state = READY;
    w->arrived = 0;
    w->turn = 0;
}

static void barrier(struct fake_place place)
{
    struct worker *const w = this_worker;
    struct thread *const self = w->now;
    const struct thread *const other = w->arrived > 0 ? first_in_state(w, AT_BARRIER) : NULL;
    self->state = AT_BARRIER;
    self->place = place;
    if (other && !same_place(place, other->place))
        give_up("threads of a block are at different barriers", self, other);
    w->arrived++;
    release_barrier(w);
    wait_until_ready(w, self);
}

/* ---- gates ---- */

static void open_gate(void)
{
    this_worker->arrived_at_gate = 0;
    this_worker->passes = 0;
}

/* Unlike barriers, they wait for threads that have ended. */
static void arrive(void)
{
    struct worker *const w = this_worker;
    struct thread *const self = w->now;
    if (++w->arrived_at_gate == w->count) {
        w->arrived_at_gate = 0;
        w->passes++;
        for (int i = 0; i < w->count; i++)
            if (w->thread[i].state == AT_GATE)
                w->thread[i].state = READY;
    }
    if (w->grid->late) {
        self->state = READY;
        wait_until_ready(w, self);
    }
}

static void wait_arrived(unsigned int phase, struct fake_place place)
{
    struct worker *const w = this_worker;
    struct thread *const self = w->now;
    if (w->passes > phase)
        return;
    self->state = AT_GATE;
    self->place = place;
    wait_until_ready(w, self);
}

/* ---- warps ---- */

/* Lane l of the warp that begins with `first`; NULL: there is none or it has ended. */
static struct thread *live_lane(struct worker *w, int first, int l)
{
    struct thread *const t = first + l < w->count ? &w->thread[first + l] : NULL;
    return t && t->state != ENDED ? t : NULL;
}

/* From the last lane on: in order, that is the one which is waited for. */
static bool all_lanes_arrived(struct worker *w, int first, const struct thread *self)
{
    for (int l = FAKE_CUDA_WARP - 1; l >= 0; l--) {
        const struct thread *const t = self->mask >> l & 1 ? live_lane(w, first, l) : NULL;
        if (!t)
            continue;
        if (t->state != AT_COLLECTIVE || t->mask != self->mask)
            return false;
        if (t->kind != self->kind || !same_place(t->place, self->place))
            give_up("lanes of a warp are at different collectives", self, t);
    }
    return true;
}

/* What a lane that does not take part would give is undefined. */
static unsigned long long shuffled(struct worker *w, int first, const struct thread *t)
{
    const struct thread *const source =
        t->mask >> (t->source & 31) & 1 ? live_lane(w, first, t->source & 31) : NULL;
    return source ? source->value : ~0ull;
}

static unsigned long long ballot_of(struct worker *w, int first, const struct thread *self)
{
    unsigned int ballot = 0;
    for (int l = 0; l < FAKE_CUDA_WARP; l++) {
        const struct thread *const t = self->mask >> l & 1 ? live_lane(w, first, l) : NULL;
        ballot |= (unsigned)(t && t->value != 0) << l;
    }
    return ballot;
}

/* When all lanes are there, they go on in order from the warp's first. */
static void release_collective(struct worker *w, int first, const struct thread *self)
{
    if (!all_lanes_arrived(w, first, self))
        return;
    const unsigned int mask = self->mask;
    for (int l = 0; l < FAKE_CUDA_WARP; l++) {
        struct thread *const t = mask >> l & 1 ? live_lane(w, first, l) : NULL;
        if (!t)
            continue;
        t->result = t->kind == FAKE_SHUFFLE ? shuffled(w, first, t) : ballot_of(w, first, t);
        w->turn = t->turn < w->turn ? t->turn : w->turn;
    }
    for (int l = 0; l < FAKE_CUDA_WARP; l++)
        if (mask >> l & 1 && live_lane(w, first, l))
            live_lane(w, first, l)->state = READY;
}

static unsigned long long collective(enum fake_collective kind, unsigned int mask, unsigned long long value,
                                     int source, struct fake_place place)
{
    struct worker *const w = this_worker;
    struct thread *const self = w->now;
    const int index = (int)(self - w->thread), lane = index % FAKE_CUDA_WARP;
    self->state = AT_COLLECTIVE;
    self->place = place;
    self->kind = kind;
    self->mask = mask;
    self->value = value;
    self->source = source;
    if (!(mask >> lane & 1))
        give_up("a lane is not in its own mask", self, NULL);
    release_collective(w, index - lane, self);
    wait_until_ready(w, self);
    return self->result;
}

/* ---- copies ---- */

static void copy(void *to, const void *from, unsigned long bytes)
{
    struct thread *const t = this_worker->now;
    if ((uintptr_t)to % bytes != 0 || (uintptr_t)from % bytes != 0) {
        fprintf(stderr, "fake cuda: a copy of %lu bytes from or to a place that is no multiple of it\n",
                bytes);
        abort();
    }
    if (!this_worker->grid->late) {
        memcpy(to, from, bytes);
        return;
    }
    if (t->copy_count == t->copy_room) {
        t->copy_room = 2 * t->copy_room + 64;
        t->copy = realloc(t->copy, t->copy_room * sizeof *t->copy);
        if (!t->copy)
            abort();
    }
    t->copy[t->copy_count++] = (struct copy){to, from, bytes, t->closed};
}

static void close_copies(void)
{
    this_worker->now->closed++;
}

static void wait_copies(unsigned int groups)
{
    struct thread *const t = this_worker->now;
    for (; t->first_copy < t->copy_count; t->first_copy++) {
        const struct copy *const c = &t->copy[t->first_copy];
        if (c->group + groups >= t->closed)
            return;
        memcpy(c->to, c->from, c->bytes);
    }
    t->first_copy = t->copy_count = 0;
}

static void thread_ended(struct worker *w, struct thread *t)
{
    t->state = ENDED;
    w->live--;
    release_barrier(w);
    const int index = (int)(t - w->thread), first = index - index % FAKE_CUDA_WARP;
    for (int l = 0; l < FAKE_CUDA_WARP; l++) {
        const struct thread *const other = live_lane(w, first, l);
        if (other && other->state == AT_COLLECTIVE)
            release_collective(w, first, other);
    }
}

/* ---- blocks ---- */

static void count_around(unsigned int *count, unsigned int last)
{
    unsigned int was = __atomic_load_n(count, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(count, &was, was >= last ? 0 : was + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    __atomic_store_n(&this_worker->grid->count, count, __ATOMIC_RELAXED);
}

static __attribute__((const)) const struct fake_self *self(void)
{
    return &this_worker->now->self;
}

const struct fake_machine fake_machine = {self,         barrier, collective,   open_gate,   arrive,
                                          wait_arrived, copy,    close_copies, wait_copies, count_around};

static void set_order(struct worker *w, unsigned long long block)
{
    unsigned int random = w->grid->seed + (unsigned int)block;
    for (int i = 0; i < w->count; i++)
        w->order[i] = &w->thread[w->grid->reverse ? w->count - 1 - i : i];
    for (int i = w->count - 1; i > 0 && w->grid->shuffle; i--) {
        random = random * 1664525 + 1013904223;
        struct thread **const other = &w->order[(random >> 8) % (unsigned)(i + 1)], *const t = *other;
        *other = w->order[i];
        w->order[i] = t;
    }
    for (int i = 0; i < w->count; i++)
        w->order[i]->turn = i;
}

static struct fake_index index_of(unsigned long long i, struct fake_index size)
{
    return (struct fake_index){(unsigned int)(i % size.x), (unsigned int)(i / size.x % size.y),
                               (unsigned int)(i / size.x / size.y)};
}

static void run_block(struct worker *w, unsigned long long block, void *shared)
{
    const struct fake_launch *const launch = w->grid->launch;
    for (int i = 0; i < w->count; i++) {
        struct thread *const t = &w->thread[i];
        t->self = (struct fake_self){index_of((unsigned long long)i, launch->block),
                                     index_of(block, launch->grid), launch->block, launch->grid, shared};
        t->state = NEW;
        t->first_copy = t->copy_count = t->closed = 0;
    }
    set_order(w, block);
    memset(shared, POISON, launch->shared_bytes);
    w->live = w->count;
    w->arrived = w->turn = 0;
    w->now = next_thread(w);
    w->now->fiber = idle_fiber(w);
    fiber_switch(&w->home, w->now->fiber);
}

static void *work(void *argument)
{
    struct worker *const w = argument;
    struct grid *const grid = w->grid;
    void *shared;
    if (posix_memalign(&shared, SHARED_ALIGNMENT, grid->launch->shared_bytes) != 0)
        abort();
    this_worker = w;
    for (;;) {
        const unsigned long long i = __atomic_fetch_add(&grid->next_block, 1, __ATOMIC_RELAXED);
        if (i >= grid->block_count)
            break;
        run_block(w, grid->reverse ? grid->block_count - 1 - i : i, shared);
    }
    free(shared);
    return NULL;
}

static void open_worker(int i, struct grid *grid)
{
    if (!workers[i] && !(workers[i] = calloc(1, sizeof *workers[i])))
        abort();
    const struct fake_index block = grid->launch->block;
    workers[i]->grid = grid;
    workers[i]->count = (int)(block.x * block.y * block.z);
    workers[i]->home = (struct fiber){0};
}

void fake_grid_run(const struct fake_launch *launch)
{
    const char *const order = getenv("FAKE_CUDA_ORDER"), *const threads = getenv("FAKE_CUDA_THREADS");
    const int asked = threads ? atoi(threads) : 1, count = asked < 1              ? 1
                                                           : asked > MOST_WORKERS ? MOST_WORKERS
                                                                                  : asked;
    struct grid grid = {
        .launch = launch,
        .block_count = (unsigned long long)launch->grid.x * launch->grid.y * launch->grid.z,
        .reverse = order && strcmp(order, "reverse") == 0,
        .shuffle = order && strncmp(order, "shuffle", 7) == 0,
        .late = fake_setting("FAKE_CUDA_LATE", 0) != 0,
    };
    if (grid.shuffle && order[7] == ':')
        grid.seed = (unsigned int)strtoul(order + 8, NULL, 10);
    pthread_t thread[MOST_WORKERS];
    for (int i = 0; i < count; i++)
        open_worker(i, &grid);
    for (int i = 1; i < count; i++)
        if (pthread_create(&thread[i], NULL, work, workers[i]) != 0)
            abort();
    work(workers[0]);
    for (int i = 1; i < count; i++)
        pthread_join(thread[i], NULL);
    if (grid.count && *grid.count != 0) {
        fprintf(stderr, "fake cuda: at the end of a launch %u is left of what its blocks counted\n",
                *grid.count);
        abort();
    }
}

__attribute__((destructor)) static void close_workers(void)
{
    for (int i = 0; i < MOST_WORKERS && workers[i]; i++) {
        for (int f = 0; f < workers[i]->fiber_count; f += FAKE_CUDA_WARP)
            fibers_close(&workers[i]->fiber[f], FAKE_CUDA_WARP);
        for (int t = 0; t < MOST_THREADS; t++)
            free(workers[i]->thread[t].copy);
        free(workers[i]);
    }
}
