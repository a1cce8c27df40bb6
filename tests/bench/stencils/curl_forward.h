/* The curl of a vector field (inputs x, y, z) by forward differences. */
VF_STENCIL(curl_forward)
{
    const REAL x = AT(0, 0, 0, 0), y = AT(1, 0, 0, 0), z = AT(2, 0, 0, 0);
    PUT(0, (AT(2, 0, 1, 0) - z) - (AT(1, 1, 0, 0) - y));
    PUT(1, (AT(0, 1, 0, 0) - x) - (AT(2, 0, 0, 1) - z));
    PUT(2, (AT(1, 0, 0, 1) - y) - (AT(0, 0, 1, 0) - x));
}
