/* Blocks, room that is used again, and lists that grow: what they give, and when they give the same. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"

/* Cells at the same place of two volumes must not share a set of the nearest cache, of 4 KiB a way. */
Test(alloc, large_blocks)
{
    struct vf_error error = {.text = ""};
    char *block[3];
    for (int i = 0; i < 3; i++) {
        block[i] = vf_alloc(2, VF_HUGE_BYTES, "a volume", &error);
        cr_assert_not_null(block[i]);
        cr_expect_eq((uintptr_t)block[i] % VF_ALIGNMENT, 0);
        memset(block[i], i, 2 * VF_HUGE_BYTES);
        for (int before = 0; before < i; before++) {
            cr_expect_neq((uintptr_t)block[i] % 4096, (uintptr_t)block[before] % 4096);
            cr_expect(block[before][0] == before && block[before][2 * VF_HUGE_BYTES - 1] == before);
        }
    }
    for (int i = 0; i < 3; i++)
        vf_free(block[i]);
    vf_free(NULL);
}

/* Of blocks of 32 MiB and more the last two that were freed are given again, for about as many bytes. */
Test(alloc, large_blocks_are_kept)
{
    enum { BYTES = 40 << 20 };
    struct vf_error error = {.text = ""};
    char *block[3];
    for (int i = 0; i < 3; i++) {
        block[i] = vf_alloc(BYTES, 1, "a volume", &error);
        cr_assert_not_null(block[i]);
    }
    for (int i = 0; i < 3; i++) {
        block[i][BYTES / 2] = (char)(i + 1);
        vf_free(block[i]);
    }
    char *smaller = vf_alloc(BYTES / 4 * 3, 1, "too small to waste the rest", &error),
         *larger = vf_alloc(BYTES, 2, "too large", &error),
         *last = vf_alloc(BYTES / 16 * 15, 1, "a volume", &error),
         *before = vf_alloc(BYTES, 1, "a volume", &error);
    cr_assert(smaller != NULL && larger != NULL && last != NULL && before != NULL);
    /* Each begins at another place of what it was given. */
    cr_expect_lt(labs(last - block[2]), 1 << 20);
    cr_expect_lt(labs(before - block[1]), 1 << 20);
    memset(last, 1, BYTES / 16 * 15);
    memset(before, 2, BYTES);
    vf_free(last);
    vf_free(before);
    vf_alloc_keep_nothing();
    vf_free(smaller);
    vf_free(larger);
}

static atomic_bool forked_all;

static void *allocate_and_free(void *unused)
{
    struct vf_error error;
    while (!forked_all)
        vf_free(vf_alloc(33 << 20, 1, "a volume", &error));
    return unused;
}

/* As compilers are, beside threads that read and write files. */
Test(alloc, forked_processes_wait_for_no_thread)
{
    struct vf_error error;
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&thread[i], NULL, allocate_and_free, NULL), 0);
    for (int i = 0; i < 200; i++) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            vf_free(vf_alloc(33 << 20, 1, "a volume", &error));
            vf_free(vf_alloc(1, 1, "a byte", &error));
            _exit(0);
        }
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert_eq(status, 0);
    }
    forked_all = true;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

Test(alloc, room)
{
    struct vf_error error = {.text = ""};
    struct vf_room room = {0};
    char *first = vf_room_take(&room, 10, 100, "the first", &error);
    cr_assert_not_null(first);
    cr_expect_eq((uintptr_t)first % VF_ALIGNMENT, 0);
    cr_expect_eq(room.bytes, 1000);
    memset(first, 7, 1000);
    cr_expect_eq(vf_room_take(&room, 1000, 1, "as much", &error), first);
    cr_expect_eq(vf_room_take(&room, 3, 5, "less", &error), first);
    cr_expect_eq(first[999], 7);
    char *more = vf_room_take(&room, 1001, 1, "more", &error);
    cr_assert_not_null(more);
    cr_expect_eq(room.bytes, 1001);
    memset(more, 8, 1001);
    cr_expect_null(vf_room_take(&room, SIZE_MAX, 2, "too much", &error));
    cr_expect_not_null(strstr(error.text, "too much"));
    cr_expect(room.data == NULL && room.bytes == 0);
    cr_expect_not_null(vf_room_take(&room, 5, 5, "some", &error));
    vf_room_free(&room);
    cr_expect(room.data == NULL && room.bytes == 0);
}

Test(alloc, list_that_grows)
{
    struct vf_error error = {.text = ""};
    size_t room = 0;
    int *list = NULL;
    for (int i = 0; i < 1000; i++) {
        const size_t before = room;
        int *grown = vf_grow(list, (size_t)i, &room, sizeof *grown, "numbers", &error);
        cr_assert_not_null(grown);
        cr_assert(room > (size_t)i);
        cr_assert(list == NULL || (grown == list) == (room == before));
        list = grown;
        list[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(list[i], i);
    const size_t before = room;
    cr_expect_null(vf_grow(list, room, &room, SIZE_MAX / 100, "too much", &error));
    cr_expect_not_null(strstr(error.text, "too much"));
    cr_expect(room == before && list[999] == 999);
    vf_free(list);
}
