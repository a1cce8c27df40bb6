/* Central difference along one axis: (u[+1] - u[-1]) times PARAM(0), which is 1/(2h). The difference comes
 * first, so that a constant has none. */
#ifndef VF_DIFFERENCE_OF
#define VF_DIFFERENCE_OF(dz, dy, dx) PUT(0, (AT(0, dz, dy, dx) - AT(0, -(dz), -(dy), -(dx))) * PARAM(0))
#endif
