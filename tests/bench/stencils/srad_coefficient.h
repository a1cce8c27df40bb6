/* Rodinia's SRAD v2, first half: the diffusion coefficient 1 / (1 + (q^2 - q0^2) / (q0^2 (1 + q0^2))) of an
 * image J. With the squares g and the sum l of the four differences from c, q^2 is
 * (g / (2 c^2) - (l / c)^2 / 16) / (1 + l / (4 c))^2, or (8 g - l^2) / around^2 by `around`, the sum of the
 * four neighbours; so that the coefficient is one quotient. Since l^2 <= 4 g nothing cancels in it, and it is
 * not negative. PARAM(0) is q0^2 (1 + q0^2), PARAM(2) q0^4. */
VF_STENCIL(srad_coefficient)
{
    const REAL c = AT(0, 0, 0, 0);
    const REAL e = AT(0, 0, 0, 1) - c, w = LOWER_FACE(VF_X, e, c - AT(0, 0, 0, -1));
    const REAL s = AT(0, 0, 1, 0) - c, n = LOWER_FACE(VF_Y, s, c - AT(0, 0, -1, 0));
    const REAL g = FMA(s, s, FMA(e, e, FMA(w, w, n * n))), l = (s - n) + (e - w);
    const REAL around = FMA(R(4), c, l), squared = around * around;
    const REAL reciprocal = ORDINARY_RECIPROCAL(SHORT_WAY, FMA(R(8), g, FMA(-l, l, PARAM(2) * squared)));
    const REAL value = PARAM(0) * squared * reciprocal;
    /* NaN where the reciprocal is 0 or NaN. */
    DOUBT(reciprocal * VF_INFINITE);
    PUT(0, value > R(1) ? R(1) : value);
}
