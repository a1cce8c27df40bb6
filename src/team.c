#include "team.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "alloc.h"

/* Turns that a thread waits awake, some 20 microseconds: to be woken takes longer. */
enum { AWAKE = 1000 };

struct vf_team {
    pthread_mutex_t lock; /* of all that is not atomic */
    pthread_cond_t begun, ended;
    pthread_t *helper; /* owned */
    int count;
    size_t room;
    vf_team_work *work; /* NULL: none that may be joined */
    void *context;
    int threads, joined; /* that may take part; that have, the caller with them */
    bool closing;
    atomic_uint round;  /* changes when there is something new */
    atomic_int working; /* helpers */
};

void vf_rest(unsigned turn)
{
    if (turn % AWAKE == AWAKE - 1)
        sched_yield();
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` takes no time on most */
#endif
}

/* Until there is a round that the thread has not seen. The lock is held before and after. */
static void wait_for_round(struct vf_team *team, unsigned seen)
{
    pthread_mutex_unlock(&team->lock);
    for (unsigned i = 0; i < AWAKE && team->round == seen; i++)
        vf_rest(i);
    pthread_mutex_lock(&team->lock);
    while (team->round == seen)
        pthread_cond_wait(&team->begun, &team->lock);
}

static void *help(void *context)
{
    struct vf_team *team = context;
    unsigned seen = 0;
    pthread_mutex_lock(&team->lock);
    while (!team->closing) {
        if (team->round == seen)
            wait_for_round(team, seen);
        seen = team->round;
        if (team->work == NULL || team->joined == team->threads)
            continue;
        const int thread = team->joined++;
        vf_team_work *const work = team->work;
        team->working++;
        pthread_mutex_unlock(&team->lock);
        work(team->context, thread);
        pthread_mutex_lock(&team->lock);
        if (--team->working == 0)
            pthread_cond_signal(&team->ended);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

int vf_thread_start(pthread_t *thread, void *(*body)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = pthread_create(thread, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* As many helpers as are wanted or to be had. */
static void start_helpers(struct vf_team *team, int wanted)
{
    struct vf_error ignored;
    while (team->count < wanted) {
        pthread_t *helper =
            vf_grow(team->helper, (size_t)team->count, &team->room, sizeof *helper, "threads", &ignored);
        if (helper == NULL)
            break;
        team->helper = helper;
        if (vf_thread_start(&helper[team->count], help, team) != 0)
            break;
        team->count++;
    }
}

struct vf_team *vf_team_open(void)
{
    struct vf_error ignored;
    struct vf_team *team = vf_alloc(1, sizeof *team, "threads", &ignored);
    if (team == NULL)
        return NULL;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begun, NULL);
    pthread_cond_init(&team->ended, NULL);
    return team;
}

void vf_team_close(struct vf_team *team)
{
    if (team == NULL)
        return;
    pthread_mutex_lock(&team->lock);
    team->closing = true;
    team->round++;
    pthread_cond_broadcast(&team->begun);
    pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->count; i++)
        pthread_join(team->helper[i], NULL);
    pthread_cond_destroy(&team->ended);
    pthread_cond_destroy(&team->begun);
    pthread_mutex_destroy(&team->lock);
    vf_free(team->helper);
    vf_free(team);
}

static void run(struct vf_team *team, int threads, vf_team_work *work, void *context)
{
    pthread_mutex_lock(&team->lock);
    start_helpers(team, threads - 1);
    team->work = work;
    team->context = context;
    team->threads = threads;
    team->joined = 1;
    team->round++;
    for (int i = 1; i < threads; i++)
        pthread_cond_signal(&team->begun);
    pthread_mutex_unlock(&team->lock);
    work(context, 0);
    for (unsigned i = 0; i < AWAKE && team->working > 0; i++)
        vf_rest(i);
    /* Who wakes only now finds nothing to join. */
    pthread_mutex_lock(&team->lock);
    team->work = NULL;
    while (team->working > 0)
        pthread_cond_wait(&team->ended, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void vf_team_run(struct vf_team *team, int threads, vf_team_work *work, void *context)
{
    struct vf_team *own = threads > 1 && team == NULL ? vf_team_open() : team;
    if (threads > 1 && own != NULL)
        run(own, threads, work, context);
    else
        work(context, 0);
    if (own != team)
        vf_team_close(own);
}

struct items {
    size_t count;
    vf_team_item *item;
    void *context;
    atomic_size_t next;
    pthread_mutex_t lock; /* of the rest */
    size_t failed;
    enum vf_status status;
    struct vf_error *error;
};

static void take_items(void *context, int thread)
{
    struct items *items = context;
    for (size_t i; (i = atomic_fetch_add(&items->next, 1)) < items->count;) {
        struct vf_error error;
        const enum vf_status status = items->item(items->context, i, thread, &error);
        if (status == VF_OK)
            continue;
        /* Those before it are taken already. */
        atomic_store(&items->next, items->count);
        pthread_mutex_lock(&items->lock);
        if (i < items->failed) {
            items->failed = i;
            items->status = status;
            *items->error = error;
        }
        pthread_mutex_unlock(&items->lock);
    }
}

enum vf_status vf_team_each(struct vf_team *team, int threads, size_t count, vf_team_item *item,
                            void *context, struct vf_error *error)
{
    struct items items = {.count = count,
                          .item = item,
                          .context = context,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .failed = count,
                          .status = VF_OK,
                          .error = error};
    vf_team_run(team, (size_t)threads < count ? threads : (int)count, take_items, &items);
    return items.status;
}
