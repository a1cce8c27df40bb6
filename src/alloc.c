#include "alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "size.h"

/* VOLFILTER_FAIL_ALLOC=N makes the Nth allocation of the process fail: the tests walk N upwards. */
static bool fail_this_one(void)
{
    static atomic_long countdown;
    static atomic_bool known;
    if (!known) {
        const char *text = getenv("VOLFILTER_FAIL_ALLOC");
        countdown = text ? strtol(text, NULL, 10) : 0;
        known = true;
    }
    return countdown > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

/* How far a large block begins into its first huge page, by turns: volumes of 2^n bytes that all began with
 * one would share the sets of the caches. Loads wait for a store whose address agrees with theirs in the last
 * 12 bits. So that what is stored is not what is loaded next, of rows of 512 bytes and multiples, a result
 * begins 384 bytes beyond such a multiple, counted from the image, which came before it. */
enum { COLOURS = 16, COLOUR_BYTES = 4096 + 384 };

static size_t next_colour(void)
{
    static atomic_uint turn;
    return atomic_fetch_add(&turn, 1) % COLOURS * COLOUR_BYTES;
}

/* What stands before each block: what the allocator gave, and of how many bytes. */
struct given {
    void *base;
    size_t bytes;
};

static struct given *given_of(void *block)
{
    return (struct given *)block - 1;
}

/* ---- large blocks that are kept ---- */

/* The C library returns larger blocks to the system, and to fault their pages in again takes as long as a
 * short filter. */
#define KEPT_LEAST ((size_t)32 << 20)

enum { MOST_KEPT = 2 };

/* The last one freed first; NULL: none. There is no lock: a process that is forked from this one
 * (compile_ahead.c) would wait for ever for one that another thread held then. */
static _Atomic(struct given *) kept[MOST_KEPT];
static atomic_bool keeps_nothing;

static void free_given(const struct given *block)
{
    if (block != NULL)
        free(block->base);
}

/* A kept block of *bytes and at most an eighth more, which *bytes then are; NULL where there is none. */
static void *take_kept(size_t *bytes)
{
    for (int i = 0; i < MOST_KEPT; i++) {
        struct given *block = atomic_exchange(&kept[i], NULL), *none = NULL;
        if (block == NULL)
            continue;
        if (block->bytes >= *bytes && block->bytes - *bytes <= *bytes / 8) {
            *bytes = block->bytes;
            return block->base;
        }
        /* Back to its place, unless another was freed meanwhile. */
        if (!atomic_compare_exchange_strong(&kept[i], &none, block))
            free_given(block);
    }
    return NULL;
}

/* Frees the block, or an older one that was kept in its place. */
static void keep_or_free(struct given *block)
{
    for (int i = 0; i < MOST_KEPT && block != NULL && block->bytes >= KEPT_LEAST && !keeps_nothing; i++)
        block = atomic_exchange(&kept[i], block);
    free_given(block);
}

void vf_alloc_free_kept(void)
{
    for (int i = 0; i < MOST_KEPT; i++)
        free_given(atomic_exchange(&kept[i], NULL));
}

void vf_alloc_keep_nothing(void)
{
    keeps_nothing = true;
    vf_alloc_free_kept();
}

/* NULL when there is no memory, not even that of blocks that are kept. */
static void *take_new(size_t bytes, bool huge)
{
    const size_t alignment = huge ? VF_HUGE_BYTES : VF_ALIGNMENT;
    void *base;
    if (posix_memalign(&base, alignment, bytes) != 0) {
        vf_alloc_free_kept();
        if (posix_memalign(&base, alignment, bytes) != 0)
            return NULL;
    }
    if (huge)
        madvise(base, bytes, MADV_HUGEPAGE);
    else
        memset(base, 0, bytes);
    return base;
}

/* ---- blocks ---- */

void *vf_alloc(size_t count, size_t size, const char *what, struct vf_error *error)
{
    size_t bytes, most;
    if (!vf_size_mul(count, size, &bytes) || !vf_size_add(bytes, VF_HUGE_BYTES, &most)) {
        vf_fail(error, VF_FAILED, "%s: too large to address (%zu times %zu bytes)", what, count, size);
        return NULL;
    }
    const bool huge = bytes >= VF_HUGE_BYTES;
    const size_t before = VF_ALIGNMENT + (huge ? next_colour() : 0);
    /* Of large ones all begin alike, so that one does for another. */
    size_t all = VF_ALIGNMENT + (huge ? COLOURS * COLOUR_BYTES : 0) +
                 (bytes + VF_ALIGNMENT) / VF_ALIGNMENT * VF_ALIGNMENT;
    void *base = NULL;
    if (!fail_this_one()) {
        base = huge ? take_kept(&all) : NULL;
        base = base != NULL ? base : take_new(all, huge);
    }
    if (base == NULL) {
        vf_fail(
            error, VF_FAILED,
            "%s: cannot allocate %.3g MiB; free some memory, give a smaller --memory or fewer --threads, or "
            "filter a smaller piece",
            what, vf_mib((double)bytes));
        return NULL;
    }
    char *block = (char *)base + before;
    *given_of(block) = (struct given){base, all};
    return block;
}

void vf_free(void *block)
{
    if (block != NULL)
        keep_or_free(given_of(block));
}

void *vf_grow(void *list, size_t count, size_t *room, size_t size, const char *what, struct vf_error *error)
{
    if (count < *room)
        return list;
    const size_t more = 2 * count + 16;
    void *larger = vf_alloc(more, size, what, error);
    if (larger == NULL)
        return NULL;
    if (count > 0)
        memcpy(larger, list, count * size);
    vf_free(list);
    *room = more;
    return larger;
}

void *vf_room_take(struct vf_room *room, size_t count, size_t size, const char *what, struct vf_error *error)
{
    size_t bytes = SIZE_MAX;
    if (vf_size_mul(count, size, &bytes) && room->data != NULL && room->bytes >= bytes)
        return room->data;
    /* Never both at a time. */
    vf_room_free(room);
    room->data = vf_alloc(count, size, what, error);
    room->bytes = room->data == NULL ? 0 : bytes;
    return room->data;
}

void vf_room_free(struct vf_room *room)
{
    vf_free(room->data);
    *room = (struct vf_room){0};
}

char *vf_strdup(const char *text, struct vf_error *error)
{
    size_t length = strlen(text) + 1;
    char *copy = vf_alloc(length, 1, "text", error);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}
