/* What a neighbour outside the grid reads. The names and meanings are scipy.ndimage's. */
#ifndef VF_BOUNDARY_H
#define VF_BOUNDARY_H

#ifndef __CUDACC_RTC__
#include <stddef.h>
#endif

enum vf_boundary {
    VF_NEAREST,  /* a a | a b c | c c */
    VF_REFLECT,  /* b a | a b c | c b */
    VF_MIRROR,   /* c b | a b c | b a */
    VF_CONSTANT, /* v v | a b c | v v */
    VF_WRAP,     /* b c | a b c | a b */
    VF_BOUNDARY_COUNT
};

#ifndef __CUDACC_RTC__
/* "nearest", "reflect" ... */
extern const char *const vf_boundary_name[VF_BOUNDARY_COUNT];
#endif

/* The rule of one axis: an axis of size 1 reads index 0 whatever the boundary. */
static inline enum vf_boundary vf_boundary_axis(enum vf_boundary boundary, ptrdiff_t n)
{
    return n == 1 ? VF_NEAREST : boundary;
}

static inline ptrdiff_t vf_floor_mod(ptrdiff_t a, ptrdiff_t n)
{
    ptrdiff_t m = a % n;
    return m < 0 ? m + n : m;
}

/* The index in [0, n) that position i, at any distance from the grid, reads; -1 for the constant. */
static inline ptrdiff_t vf_boundary_index(enum vf_boundary boundary, ptrdiff_t i, ptrdiff_t n)
{
    if (i >= 0 && i < n)
        return i;
    switch (vf_boundary_axis(boundary, n)) {
    case VF_REFLECT: {
        ptrdiff_t m = vf_floor_mod(i, 2 * n);
        return m < n ? m : 2 * n - 1 - m;
    }
    case VF_MIRROR: {
        ptrdiff_t m = vf_floor_mod(i, 2 * n - 2);
        return m < n ? m : 2 * n - 2 - m;
    }
    case VF_CONSTANT:
        return -1;
    case VF_WRAP:
        return vf_floor_mod(i, n);
    default:
        return i < 0 ? 0 : n - 1;
    }
}

/* No flux of diffusion_step, which alone asks (OPEN_LO, OPEN_HI), crosses the outer faces under these; other
 * bodies read their neighbours by the boundary rule. */
static inline int vf_boundary_is_closed(enum vf_boundary boundary)
{
    return boundary == VF_NEAREST || boundary == VF_REFLECT || boundary == VF_MIRROR;
}

#endif
