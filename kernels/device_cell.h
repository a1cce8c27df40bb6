/* vf_cell_by: all stages of a shallow case at one cell. Neighbours are read of inputs only; what stages make
 * stays in registers until it is stored. */
#ifndef VF_DEVICE_CELL_H
#define VF_DEVICE_CELL_H

template <class C> struct vf_cell_values {
    C &cell;
    REAL value[VF_FIELDS - VF_INPUTS > 0 ? VF_FIELDS - VF_INPUTS : 1];
    REAL doubt;
};

/* The accessor that stage S sees. */
template <class S, class C, bool is_short> struct vf_stage_view {
    enum { short_way = is_short, whole_steps = S::whole_steps };
    vf_cell_values<C> &values;

    VF_MEMBER REAL at(int k, int dz, int dy, int dx)
    {
        const int field = S::in(k);
        return field < VF_INPUTS ? values.cell.read(field, dz, dy, dx) : values.value[field - VF_INPUTS];
    }
    VF_MEMBER void put(int k, REAL value)
    {
        values.value[S::out(k) - VF_INPUTS] = value;
    }
    VF_MEMBER REAL param(int i)
    {
        return vf_stage_param<S>(values.cell.args, i);
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return values.cell.open(axis, upper);
    }
    template <class Lower> VF_MEMBER REAL lower_face(int axis, REAL upper, Lower lower)
    {
#if VF_KEEPS_FACES
        if (axis == (DIM == 3 ? VF_Z : VF_Y))
            return values.cell.lower_face(S::number, upper, lower);
#endif
        return lower();
    }
#if VF_KEEPS_COLUMNS
    template <class Value> VF_MEMBER REAL of_column(int k, int dx, Value value)
    {
        return values.cell.of_column(k, dx, value);
    }
#endif
    VF_MEMBER void doubt(REAL value)
    {
        values.doubt = values.doubt + value;
    }
};

/* NaN if the result is in doubt, which short ways may leave it in. */
template <bool is_short, class C> VF_INLINE REAL vf_cell_by(C &cell)
{
    vf_cell_values<C> values = {cell};
    values.doubt = -REAL(0); /* to which the compiler need not add */
#define VF_COMPUTE(s)                                             \
    {                                                             \
        vf_stage_view<vf_stage_##s, C, is_short> view = {values}; \
        vf_stage_##s::compute(view);                              \
    }
    VF_EACH_STAGE(VF_COMPUTE)
#undef VF_COMPUTE
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) cell.store(
        k, vf_sink(k) < VF_INPUTS ? cell.read(vf_sink(k), 0, 0, 0) : values.value[vf_sink(k) - VF_INPUTS]);
    return values.doubt;
}

#endif
