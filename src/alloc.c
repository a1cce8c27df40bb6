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
static size_t next_colour(void)
{
    enum { COLOURS = 16, STEP = 4096 + 384 };
    static atomic_uint turn;
    return atomic_fetch_add(&turn, 1) % COLOURS * STEP;
}

/* What the allocator gave stands before each block. */
static void **base_of(void *block)
{
    return (void **)block - 1;
}

void *vf_alloc(size_t count, size_t size, const char *what, struct vf_error *error)
{
    size_t bytes, most;
    if (!vf_size_mul(count, size, &bytes) || !vf_size_add(bytes, VF_HUGE_BYTES, &most)) {
        vf_fail(error, VF_FAILED, "%s: too large to address (%zu times %zu bytes)", what, count, size);
        return NULL;
    }
    const bool huge = bytes >= VF_HUGE_BYTES;
    const size_t before = VF_ALIGNMENT + (huge ? next_colour() : 0);
    const size_t all = (before + bytes + VF_ALIGNMENT) / VF_ALIGNMENT * VF_ALIGNMENT;
    void *base = NULL;
    if (fail_this_one() || posix_memalign(&base, huge ? VF_HUGE_BYTES : VF_ALIGNMENT, all) != 0) {
        vf_fail(error, VF_FAILED, "%s: cannot allocate %.1f MiB; free some memory or filter a smaller piece",
                what, (double)bytes / (1 << 20));
        return NULL;
    }
    if (huge)
        madvise(base, all, MADV_HUGEPAGE);
    else
        memset(base, 0, all);
    char *block = (char *)base + before;
    *base_of(block) = base;
    return block;
}

void vf_free(void *block)
{
    if (block != NULL)
        free(*base_of(block));
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
    if (vf_size_mul(count, size, &bytes) && room->bytes >= bytes)
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
