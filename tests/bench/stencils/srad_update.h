/* Rodinia's SRAD v2, second half: J moves along the divergence of coefficient (input 1) times gradient.
 * PARAM(1) is lambda / 4. */
VF_STENCIL(srad_update)
{
    const REAL c = AT(0, 0, 0, 0), k = AT(1, 0, 0, 0);
    const REAL n = AT(0, 0, -1, 0) - c, s = AT(0, 0, 1, 0) - c, w = AT(0, 0, 0, -1) - c,
               e = AT(0, 0, 0, 1) - c;
    PUT(0, c + PARAM(1) * (k * n + AT(1, 0, 1, 0) * s + k * w + AT(1, 0, 0, 1) * e));
}
