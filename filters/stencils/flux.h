/* What diffusion_step wants of a diffusion tensor D, an array, and the gradient g of u: D_aa of each axis a,
 * and what the other axes add to the flux along a, the sum of D_ab g_b over b != a. */
#ifndef PUT_FLUX
#if DIM == 3
#define PUT_CROSS(first, d, g)                                               \
    PUT((first) + VF_X, FMA((d)[VF_XZ], (g)[VF_Z], (d)[VF_XY] * (g)[VF_Y])); \
    PUT((first) + VF_Y, FMA((d)[VF_YZ], (g)[VF_Z], (d)[VF_XY] * (g)[VF_X])); \
    PUT((first) + VF_Z, FMA((d)[VF_YZ], (g)[VF_Y], (d)[VF_XZ] * (g)[VF_X]))
#define PUT_FLUX(d, g)     \
    PUT(VF_X, (d)[VF_XX]); \
    PUT(VF_Y, (d)[VF_YY]); \
    PUT(VF_Z, (d)[VF_ZZ]); \
    PUT_CROSS(DIM, d, g)
#else
#define PUT_CROSS(first, d, g)                   \
    PUT((first) + VF_X, (d)[VF_XY] * (g)[VF_Y]); \
    PUT((first) + VF_Y, (d)[VF_XY] * (g)[VF_X])
#define PUT_FLUX(d, g)     \
    PUT(VF_X, (d)[VF_XX]); \
    PUT(VF_Y, (d)[VF_YY]); \
    PUT_CROSS(DIM, d, g)
#endif
#endif
