/* separable-stream without a line across the streamed plane's rows: the sums along x of a thread's own rows,
 * made with its neighbours' registers. The planes after the present one are on their way meanwhile. */
struct vf_sums {
    const VfArgs &args;
    const vf_course course;
    const vf_columns columns;
    const vf_in_0 *const in;
    const REAL outside;
    unsigned int row_at[VF_WORK_Y];
    REAL span[VF_WORK_Y][VF_SPAN], flank[VF_WORK_Y][VF_FLANK];

    VF_MEMBER vf_sums(const VfArgs &a, const vf_course &c, int k)
        : args(a), course(c), columns(vf_columns_of(a, c)), in((const vf_in_0 *)a.in[k]),
          outside(vf_outside(a, k))
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++) row_at[j] =
            vf_row_of(args, course.y + threadIdx.y * VF_WORK_Y + j);
    }

    VF_MEMBER long long plane_at(int plane)
    {
        return vf_plane_at(args, course, plane, VF_REACH);
    }

    VF_MEMBER void load(int plane)
    {
        const long long at = plane_at(plane);
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            vf_load_span(in, outside, at, row_at[j], columns, span[j]);
            if (VF_HALO_X > 0)
                vf_load_flank(in, outside, at, row_at[j], columns, args.nx, flank[j]);
        }
    }

    /* The sums along x of row j; whole warps call this. */
    VF_MEMBER void sum_row(int j, int plane, REAL *v)
    {
        REAL wide[VF_SPAN + 2 * VF_HALO_X];
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++) wide[VF_HALO_X + i] = span[j][i];
        if (VF_HALO_X > 0) {
            vf_mend_span(in, outside, plane_at(plane), row_at[j], columns, args.nx, wide + VF_HALO_X);
            vf_widen(wide, flank[j], columns.lane);
        }
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
        {
#if VF_HAS_ROW
            REAL sum = vf_param(args, VF_ROW_LINE::first_param) * wide[i];
            VF_UNROLL for (int t = 1; t <= 2 * VF_HALO_X; t++) sum =
                FMA(vf_param(args, VF_ROW_LINE::first_param + t), wide[i + t], sum);
            v[i] = sum;
#else
            v[i] = wide[i];
#endif
        }
    }

    template <class Chain> VF_MEMBER void stream(Chain &chain, int)
    {
        load(course.begin - VF_REACH);
        VF_NO_UNROLL for (int plane = course.begin - VF_REACH; plane < course.end + VF_REACH; plane++)
        {
            REAL v[VF_WORK_Y][VF_SPAN];
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++) sum_row(j, plane, v[j]);
            load(plane + 1);
            chain.add(plane, plane_at(plane) < 0, v);
        }
    }
};
