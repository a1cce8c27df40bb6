/* Rodinia's hotspot3D: input 0 is the power, input 1 the temperature. PARAM: cc, cew, cns, ctb, step / Cap.
 */
VF_STENCIL(hotspot3d)
{
    PUT(0, PARAM(0) * AT(1, 0, 0, 0) + PARAM(1) * (AT(1, 0, 0, -1) + AT(1, 0, 0, 1)) +
               PARAM(2) * (AT(1, 0, -1, 0) + AT(1, 0, 1, 0)) + PARAM(3) * (AT(1, 1, 0, 0) + AT(1, -1, 0, 0)) +
               PARAM(4) * AT(0, 0, 0, 0) + PARAM(3) * R(80));
}
