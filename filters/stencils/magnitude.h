/* The length of the vector whose x, y, z components are the inputs. */
VF_STENCIL(magnitude)
{
    const REAL x = AT(0, 0, 0, 0), y = AT(1, 0, 0, 0);
#if DIM == 3
    const REAL z = AT(2, 0, 0, 0);
    PUT(0, SQRT(FMA(x, x, FMA(y, y, z * z))));
#else
    PUT(0, SQRT(FMA(x, x, y * y)));
#endif
}
