/* The weights of a Gaussian on 5 by 5 cells. Each row of them is its own mirror image: cells that it weighs
 * alike are added first, and cells above one another, which read the same row, share these sums. PARAM: the
 * weights 2, 4, 5, 9, 12, 15 over 159. */
VF_STENCIL(gaussian2d_25p)
{
#define ROW(dy, outer, inner, centre) \
    FMA(outer, AT(0, 0, dy, -2) + AT(0, 0, dy, 2), FMA(inner, AT(0, 0, dy, -1) + AT(0, 0, dy, 1), centre))
    const REAL first = ROW(-2, PARAM(0), PARAM(1), PARAM(2) * AT(0, 0, -2, 0));
    const REAL second = ROW(-1, PARAM(1), PARAM(3), FMA(PARAM(4), AT(0, 0, -1, 0), first));
    const REAL third = ROW(0, PARAM(2), PARAM(4), FMA(PARAM(5), AT(0, 0, 0, 0), second));
    const REAL fourth = ROW(1, PARAM(1), PARAM(3), FMA(PARAM(4), AT(0, 0, 1, 0), third));
    PUT(0, ROW(2, PARAM(0), PARAM(1), FMA(PARAM(2), AT(0, 0, 2, 0), fourth)));
#undef ROW
}
