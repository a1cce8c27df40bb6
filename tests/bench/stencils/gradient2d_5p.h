/* c + 1 / sqrt(1e-4 + the squares of the four differences). */
VF_STENCIL(gradient2d_5p)
{
    const REAL c = AT(0, 0, 0, 0);
    const REAL n = c - AT(0, 0, -1, 0), w = c - AT(0, 0, 0, -1), e = c - AT(0, 0, 0, 1),
               s = c - AT(0, 0, 1, 0);
    const REAL squares = FMA(s, s, FMA(e, e, FMA(w, w, FMA(n, n, R(1e-4)))));
    DOUBT_UNLESS_ORDINARY(squares);
    PUT(0, c + ORDINARY_QUOTIENT(SHORT_WAY, R(1), ORDINARY_ROOT(SHORT_WAY, squares)));
}
