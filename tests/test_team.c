/* Threads that share work: each item once, whatever their number, and the failure of the first item that
 * fails. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <time.h>

#include "src/team.h"

enum { ITEMS = 257, MOST_THREADS = 9 };

struct record {
    atomic_int seen[ITEMS], by[MOST_THREADS], calls;
    int threads;
    size_t bad, worse; /* items that fail */
};

static enum vf_status note(void *context, size_t item, int thread, struct vf_error *error)
{
    struct record *r = context;
    atomic_fetch_add(&r->seen[item], 1);
    cr_assert(thread >= 0 && thread < r->threads);
    atomic_fetch_add(&r->by[thread], 1);
    return item == r->bad || item == r->worse ? vf_fail(error, VF_FAILED, "item %zu", item) : VF_OK;
}

static void expect_all(struct vf_team *team, int threads, size_t count)
{
    struct record r = {.threads = threads, .bad = ITEMS, .worse = ITEMS};
    struct vf_error error;
    cr_assert_eq(vf_team_each(team, threads, count, note, &r, &error), VF_OK);
    for (size_t i = 0; i < ITEMS; i++)
        cr_expect_eq(r.seen[i], i < count, "%d threads, %zu items: item %zu %d times", threads, count, i,
                     r.seen[i]);
}

/* A team grows, and serves fewer threads than it has; rounds follow each other at once, or after it fell
 * asleep. */
Test(team, each_once)
{
    static const int threads[] = {2, 1, 9, 3, 9, 2};
    static const size_t counts[] = {0, 1, 2, 8, 257};
    struct vf_team *team = vf_team_open();
    cr_assert_not_null(team);
    for (int round = 0; round < 60; round++)
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
            expect_all(team, threads[i], counts[(size_t)round % 5]);
    for (int round = 0; round < 5; round++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        expect_all(team, 4, 100);
    }
    vf_team_close(team);
    expect_all(NULL, 5, 100);
    expect_all(NULL, 1, 100);
    vf_team_close(NULL);
    vf_team_close(vf_team_open());
}

/* A thread does the work once, under a number of its own. */
static void join_work(void *context, int thread)
{
    struct record *r = context;
    atomic_fetch_add(&r->by[thread], 1);
    atomic_fetch_add(&r->calls, 1);
}

Test(team, each_thread_once)
{
    struct vf_team *team = vf_team_open();
    for (int round = 0; round < 500; round++) {
        struct record r = {.threads = MOST_THREADS};
        vf_team_run(team, 1 + round % MOST_THREADS, join_work, &r);
        cr_assert_eq(r.by[0], 1);
        for (int t = 1; t < MOST_THREADS; t++)
            cr_assert(r.by[t] <= (t <= round % MOST_THREADS), "thread %d: %d times", t, r.by[t]);
        cr_assert(r.calls >= 1 && r.calls <= 1 + round % MOST_THREADS);
    }
    vf_team_close(team);
}

Test(team, first_failure)
{
    struct vf_team *team = vf_team_open();
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        struct record r = {.threads = threads, .bad = 200, .worse = 31};
        struct vf_error error;
        cr_expect_eq(vf_team_each(team, threads, ITEMS, note, &r, &error), VF_FAILED);
        cr_expect_str_eq(error.text, "item 31");
        for (size_t i = 32; threads == 1 && i < ITEMS; i++)
            cr_expect_eq(r.seen[i], 0, "item %zu is not begun", i);
    }
    vf_team_close(team);
}
