/* Rodinia's SRAD v2, first half: the diffusion coefficient of an image J. PARAM(0) is q0^2.
 *
 * For c from 2^-20 to 2^30 differences are 0 or at least 2^-26 c, so that dividends are 0 or far above what a
 * quotient's remainder needs; divisors that are 0 or out of range make NaN, but for large ones: `spread` is
 * looked at, and QUOTIENT looks at its own. */
VF_STENCIL(srad_coefficient)
{
    const REAL c = AT(0, 0, 0, 0);
    const REAL n = AT(0, 0, -1, 0) - c, s = AT(0, 0, 1, 0) - c, w = AT(0, 0, 0, -1) - c,
               e = AT(0, 0, 0, 1) - c;
    const REAL g2 = ORDINARY_QUOTIENT(SHORT_WAY, n * n + s * s + w * w + e * e, c * c);
    const REAL l = ORDINARY_QUOTIENT(SHORT_WAY, n + s + w + e, c);
    const REAL spread = R(1) + R(0.25) * l;
    const REAL q2 = ORDINARY_QUOTIENT(SHORT_WAY, R(0.5) * g2 - R(0.0625) * (l * l), spread * spread);
    const REAL q0 = PARAM(0);
    const REAL excess = ORDINARY_QUOTIENT(SHORT_WAY, q2 - q0, q0 * (R(1) + q0));
    const REAL value = QUOTIENT(SHORT_WAY, R(1), R(1) + excess);
    const int is_usual = (c >= R(0x1p-20)) & (c <= R(0x1p30)) & (ABS(spread) <= R(0x1p60));
    DOUBT(value + (is_usual ? R(0) : VF_IN_DOUBT));
    PUT(0, value > R(1) ? R(1) : MAX(value, R(0)));
}
