/* Rodinia's SRAD v2, second half: J moves along the divergence of coefficient (input 1) times gradient; the
 * lower faces have the cell's own coefficient. PARAM(1) is lambda / 4. */
VF_STENCIL(srad_update)
{
    const REAL c = AT(0, 0, 0, 0);
    const REAL e = AT(0, 0, 0, 1) - c, w = LOWER_FACE(VF_X, e, c - AT(0, 0, 0, -1));
    const REAL s = AT(0, 0, 1, 0) - c, n = LOWER_FACE(VF_Y, s, c - AT(0, 0, -1, 0));
    const REAL divergence = FMA(AT(1, 0, 0, 1), e, FMA(AT(1, 0, 1, 0), s, AT(1, 0, 0, 0) * -(n + w)));
    PUT(0, FMA(PARAM(1), divergence, c));
}
