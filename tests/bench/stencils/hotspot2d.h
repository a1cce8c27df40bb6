/* Rodinia's hotspot: input 0 is the power, input 1 the temperature. PARAM: step / Cap, 1 / Rx, 1 / Ry, 1 /
 * Rz. */
VF_STENCIL(hotspot2d)
{
    const REAL c = AT(1, 0, 0, 0), twice = R(2) * c;
    const REAL x = (AT(1, 0, 0, 1) + AT(1, 0, 0, -1) - twice) * PARAM(1);
    const REAL y = (AT(1, 0, 1, 0) + AT(1, 0, -1, 0) - twice) * PARAM(2);
    PUT(0, c + PARAM(0) * (AT(0, 0, 0, 0) + x + y + (R(80) - c) * PARAM(3)));
}
