/* Life on a smooth field: a cell is born where about 3 neighbours live and stays where 2 to 3 do; on a field
 * of 0 and 1 it is the game's rule. */
VF_STENCIL(gol_9pt)
{
    const REAL around = AT(0, 0, -1, -1) + AT(0, 0, -1, 0) + AT(0, 0, -1, 1) + AT(0, 0, 0, -1) +
                        AT(0, 0, 0, 1) + AT(0, 0, 1, -1) + AT(0, 0, 1, 0) + AT(0, 0, 1, 1);
    const REAL birth = MAX(R(1) - ABS(around - R(3)), R(0));
    const REAL survival = R(1.5) - ABS(around - R(2.5));
    const REAL stays = survival > R(1) ? R(1) : MAX(survival, R(0));
    PUT(0, FMA(AT(0, 0, 0, 0), stays - birth, birth));
}
