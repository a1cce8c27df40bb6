/* An image with what smoothing takes from it added PARAM(0) times: u + amount (u - smooth u). Inputs: u, then
 * the smoothed one. */
VF_STENCIL(unsharp)
{
    PUT(0, FMA(PARAM(0), AT(0, 0, 0, 0) - AT(1, 0, 0, 0), AT(0, 0, 0, 0)));
}
