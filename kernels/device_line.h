/* Sums along x of cells side by side, by a stage that is a line of weights. */
#ifndef VF_DEVICE_LINE_H
#define VF_DEVICE_LINE_H

/* `wide` has as many columns on either side of those that are summed. */
template <class Line, int columns, int cells>
VF_INLINE void vf_sum_line(const VfArgs &args, const REAL (&wide)[columns], REAL (&sum)[cells])
{
    VF_UNROLL for (int t = 0; t <= 2 * Line::halo_x; t++)
    {
        const REAL weight = vf_param(args, Line::first_param + t);
        VF_UNROLL for (int i = 0; i < cells; i++)
        {
            const REAL value = wide[(columns - cells) / 2 - Line::halo_x + t + i];
            sum[i] = t == 0 ? weight * value : FMA(weight, value, sum[i]);
        }
    }
}

#endif
