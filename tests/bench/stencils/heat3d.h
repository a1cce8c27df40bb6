/* c + (the three second differences) / 8, in the order of the formula: not a weighted sum of seven cells. */
VF_STENCIL(heat3d)
{
    const REAL c = AT(0, 0, 0, 0), twice = R(2) * c;
    const REAL z = AT(0, 1, 0, 0) + AT(0, -1, 0, 0) - twice;
    const REAL y = AT(0, 0, -1, 0) + AT(0, 0, 1, 0) - twice;
    const REAL x = AT(0, 0, 0, 1) + AT(0, 0, 0, -1) - twice;
    PUT(0, FMA(R(0.125), z + y + x, c));
}
