/* c + 1 / sqrt(1e-4 + the squares of the four differences). */
VF_STENCIL(gradient2d_5p)
{
    const REAL c = AT(0, 0, 0, 0);
    const REAL e = AT(0, 0, 0, 1) - c, w = LOWER_FACE(VF_X, e, c - AT(0, 0, 0, -1));
    const REAL s = AT(0, 0, 1, 0) - c, n = LOWER_FACE(VF_Y, s, c - AT(0, 0, -1, 0));
    PUT(0, c + vf_inverse_root(FMA(s, s, FMA(e, e, FMA(w, w, FMA(n, n, R(1e-4)))))));
}
