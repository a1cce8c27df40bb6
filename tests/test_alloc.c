/* Room that is used again: what it gives, and when it gives the same. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "alloc.h"

Test(alloc, room)
{
    struct vf_error error = {{0}};
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
