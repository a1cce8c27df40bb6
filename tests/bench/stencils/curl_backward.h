/* The curl of a vector field (inputs x, y, z) by backward differences. */
VF_STENCIL(curl_backward)
{
    const REAL x = AT(0, 0, 0, 0), y = AT(1, 0, 0, 0), z = AT(2, 0, 0, 0);
    PUT(0, (z - AT(2, 0, -1, 0)) - (y - AT(1, -1, 0, 0)));
    PUT(1, (x - AT(0, -1, 0, 0)) - (z - AT(2, 0, 0, -1)));
    PUT(2, (y - AT(1, 0, 0, -1)) - (x - AT(0, 0, -1, 0)));
}
