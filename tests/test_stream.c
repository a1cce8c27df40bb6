/* What sweeps over slabs are made of: the ring of planes and the places between two threads.
 * That slabs give the same bytes is tests/cli/memory.sh's. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "src/queue.h"
#include "src/window.h"

static struct vf_error error;

static void expect_held(const struct vf_window *window, ptrdiff_t begin, ptrdiff_t end)
{
    for (int f = 0; f < window->count; f++)
        for (ptrdiff_t z = 0; z < window->extent; z++) {
            bool held = false;
            for (ptrdiff_t at = begin; at < end; at++)
                held = held || vf_floor_mod(at, window->extent) == z;
            cr_expect_eq(window->array[f].plane[z] != NULL, held, "field %d, plane %td, [%td, %td)", f, z,
                         begin, end);
        }
}

Test(window, planes_come_and_go)
{
    struct vf_window window;
    cr_assert_eq(vf_window_open(&window, 2, VF_U16, 12, 4, 10, 0, NULL, &error), VF_OK);
    expect_held(&window, 0, 0);
    vf_window_take(&window, 3);
    expect_held(&window, 0, 3);
    void *first = window.array[1].plane[0];
    cr_expect_eq(first, vf_window_place(&window, 0, 1));
    vf_window_drop(&window, 2);
    vf_window_take(&window, 2);
    expect_held(&window, 2, 5);
    cr_expect_eq(window.array[1].plane[4], first, "the fifth plane has the place of the first");
    vf_window_drop(&window, 1);
    expect_held(&window, 2, 5);
    /* The next image's planes go on round the ring. */
    vf_window_start(&window, 1);
    expect_held(&window, 0, 0);
    vf_window_take(&window, 1);
    cr_expect_eq(window.array[0].plane[0], vf_window_place(&window, 10, 0));
    vf_window_close(&window);
}

/* Three planes beyond each end of a grid of four: some are held twice, and stay until both are gone. */
Test(window, a_periodic_grid_goes_on)
{
    struct vf_window window;
    cr_assert_eq(vf_window_open(&window, 1, VF_F32, 3, 7, 4, 3, NULL, &error), VF_OK);
    vf_window_take(&window, 7);
    expect_held(&window, -3, 4);
    vf_window_drop(&window, 0);
    expect_held(&window, 0, 4);
    vf_window_take(&window, 3);
    vf_window_drop(&window, 3);
    expect_held(&window, 3, 7);
    vf_window_drop(&window, 6);
    expect_held(&window, 6, 7);
    vf_window_close(&window);
}

enum { PLACES = 3, ALL = 1000 };

struct pair {
    struct vf_queue queue;
    int place[PLACES];
};

static void *fill(void *context)
{
    struct pair *pair = context;
    for (int i = 0; i < ALL && vf_queue_wait_room(&pair->queue, 1); i++) {
        pair->place[i % PLACES] = i;
        vf_queue_fill(&pair->queue, 1);
    }
    return NULL;
}

Test(queue, what_one_thread_fills_the_other_finds, .timeout = 60)
{
    struct pair pair;
    pthread_t thread;
    vf_queue_open(&pair.queue, PLACES);
    cr_assert_eq(pthread_create(&thread, NULL, fill, &pair), 0);
    for (int i = 0; i < ALL; i++) {
        cr_assert(vf_queue_wait_filled(&pair.queue, i + 1));
        cr_assert_eq(pair.place[i % PLACES], i);
        cr_assert_leq(vf_queue_filled(&pair.queue) - i, PLACES);
        vf_queue_free_to(&pair.queue, i + 1);
    }
    pthread_join(thread, NULL);
    cr_expect_eq(vf_queue_freed(&pair.queue), ALL);
    vf_queue_close(&pair.queue);
}

Test(queue, a_failure_ends_all_waiting, .timeout = 60)
{
    struct pair pair;
    struct vf_error why;
    pthread_t thread;
    vf_queue_open(&pair.queue, PLACES);
    cr_assert_eq(pthread_create(&thread, NULL, fill, &pair), 0);
    cr_assert(vf_queue_wait_filled(&pair.queue, PLACES));
    vf_fail(&error, VF_FAILED, "no more");
    vf_queue_stop(&pair.queue, VF_FAILED, &error);
    pthread_join(thread, NULL);
    cr_expect_not(vf_queue_wait_filled(&pair.queue, ALL));
    cr_expect_not(vf_queue_wait_room(&pair.queue, 1));
    vf_fail(&error, VF_USAGE, "later");
    vf_queue_stop(&pair.queue, VF_USAGE, &error);
    cr_expect_eq(vf_queue_why(&pair.queue, &why), VF_FAILED);
    cr_expect_str_eq(why.text, "no more");
    vf_queue_close(&pair.queue);
}
