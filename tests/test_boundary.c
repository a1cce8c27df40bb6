/* Boundaries: what positions outside the grid read, near and far, and which faces are closed. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/boundary.h"

/* What positions -7..n+6 of the grid `inside` read, "." for the constant. */
static void expect(enum vf_boundary boundary, const char *inside, const char *expected)
{
    const ptrdiff_t n = (ptrdiff_t)strlen(inside);
    char got[64];
    ptrdiff_t length = 0;
    for (ptrdiff_t i = -7; i < n + 7; i++) {
        const ptrdiff_t index = vf_boundary_index(boundary, i, n);
        cr_assert(index >= -1 && index < n, "position %td of %td reads %td", i, n, index);
        got[length++] = index < 0 ? '.' : inside[index];
    }
    got[length] = '\0';
    cr_expect_str_eq(got, expected, "%s under boundary %d: %s, not %s", inside, (int)boundary, got, expected);
}

Test(boundary, nearest)
{
    expect(VF_NEAREST, "abcd", "aaaaaaaabcdddddddd");
    expect(VF_NEAREST, "ab", "aaaaaaaabbbbbbbb");
    expect(VF_NEAREST, "a", "aaaaaaaaaaaaaaa");
}

Test(boundary, reflect)
{
    expect(VF_REFLECT, "abcd", "bcddcbaabcddcbaabc");
    expect(VF_REFLECT, "abc", "aabccbaabccbaabcc");
    expect(VF_REFLECT, "ab", "bbaabbaabbaabbaa");
    expect(VF_REFLECT, "a", "aaaaaaaaaaaaaaa");
}

Test(boundary, mirror)
{
    expect(VF_MIRROR, "abcd", "babcdcbabcdcbabcdc");
    expect(VF_MIRROR, "abc", "bcbabcbabcbabcbab");
    expect(VF_MIRROR, "ab", "babababababababa");
    expect(VF_MIRROR, "a", "aaaaaaaaaaaaaaa");
}

Test(boundary, constant)
{
    expect(VF_CONSTANT, "abcd", ".......abcd.......");
    expect(VF_CONSTANT, "ab", ".......ab.......");
    expect(VF_CONSTANT, "a", "aaaaaaaaaaaaaaa");
}

Test(boundary, wrap)
{
    expect(VF_WRAP, "abcd", "bcdabcdabcdabcdabc");
    expect(VF_WRAP, "abc", "cabcabcabcabcabca");
    expect(VF_WRAP, "ab", "babababababababa");
    expect(VF_WRAP, "a", "aaaaaaaaaaaaaaa");
}

/* The position to which walking there from inside leads, one cell at a time. */
static ptrdiff_t walk(enum vf_boundary boundary, ptrdiff_t distance, ptrdiff_t n)
{
    const int forward = distance >= 0;
    ptrdiff_t at = 0, step = forward ? 1 : -1;
    for (ptrdiff_t left = forward ? distance : -distance; left > 0; left--) {
        const ptrdiff_t next = at + step;
        if (next >= 0 && next < n) {
            at = next;
        } else if (boundary == VF_WRAP) {
            at = next < 0 ? n - 1 : 0;
        } else if (boundary == VF_REFLECT) {
            step = -step;
        } else if (boundary == VF_MIRROR) {
            step = -step;
            at += step;
        }
    }
    return at;
}

Test(boundary, far_positions_as_by_walking)
{
    static const enum vf_boundary walked[] = {VF_NEAREST, VF_REFLECT, VF_MIRROR, VF_WRAP};
    for (size_t b = 0; b < sizeof walked / sizeof *walked; b++)
        for (ptrdiff_t n = 2; n <= 9; n++)
            for (ptrdiff_t i = -100; i <= 100; i++)
                cr_expect_eq(vf_boundary_index(walked[b], i, n), walk(walked[b], i, n),
                             "boundary %d, %td of %td", (int)walked[b], i, n);
}

Test(boundary, very_far)
{
    const ptrdiff_t far = (ptrdiff_t)1 << 40;
    cr_expect_eq(vf_boundary_index(VF_WRAP, far * 7 + 3, 7), 3);
    cr_expect_eq(vf_boundary_index(VF_WRAP, -far * 7 + 3, 7), 3);
    cr_expect_eq(vf_boundary_index(VF_REFLECT, -far * 14 - 1, 7), 0);
    cr_expect_eq(vf_boundary_index(VF_MIRROR, far * 12 - 1, 7), 1);
    cr_expect_eq(vf_boundary_index(VF_NEAREST, far, 7), 6);
    cr_expect_eq(vf_boundary_index(VF_CONSTANT, far, 7), -1);
}

Test(boundary, an_axis_of_one_cell_is_continued)
{
    for (int b = 0; b < VF_BOUNDARY_COUNT; b++) {
        cr_expect_eq(vf_boundary_axis((enum vf_boundary)b, 1), VF_NEAREST);
        cr_expect_eq(vf_boundary_axis((enum vf_boundary)b, 2), (enum vf_boundary)b);
    }
}

Test(boundary, faces_are_closed_unless_values_beyond_them_are_others)
{
    cr_expect(vf_boundary_is_closed(VF_NEAREST));
    cr_expect(vf_boundary_is_closed(VF_REFLECT));
    cr_expect(vf_boundary_is_closed(VF_MIRROR));
    cr_expect_not(vf_boundary_is_closed(VF_CONSTANT));
    cr_expect_not(vf_boundary_is_closed(VF_WRAP));
}
