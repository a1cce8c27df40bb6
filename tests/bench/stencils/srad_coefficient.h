/* Rodinia's SRAD v2, first half: the diffusion coefficient of an image J. PARAM(0) is q0^2. */
VF_STENCIL(srad_coefficient)
{
    const REAL c = AT(0, 0, 0, 0);
    const REAL n = AT(0, 0, -1, 0) - c, s = AT(0, 0, 1, 0) - c, w = AT(0, 0, 0, -1) - c,
               e = AT(0, 0, 0, 1) - c;
    const REAL g2 = (n * n + s * s + w * w + e * e) / (c * c);
    const REAL l = (n + s + w + e) / c;
    const REAL spread = R(1) + R(0.25) * l;
    const REAL q2 = (R(0.5) * g2 - R(0.0625) * (l * l)) / (spread * spread);
    const REAL q0 = PARAM(0);
    const REAL value = R(1) / (R(1) + (q2 - q0) / (q0 * (R(1) + q0)));
    PUT(0, value > R(1) ? R(1) : MAX(value, R(0)));
}
