/* vf_cell: all stages of a shallow case at one cell. Neighbours are read of inputs only; what stages make
 * stays in registers until it is stored. Included after the stages. */

template <class C> struct vf_cell_values {
    C &cell;
    REAL value[VF_FIELDS - VF_INPUTS > 0 ? VF_FIELDS - VF_INPUTS : 1];
};

/* The accessor that stage S sees. */
template <class S, class C> struct vf_stage_view {
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
        return vf_param(values.cell.args, S::first_param + i);
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
};

template <class C> VF_INLINE void vf_cell(C &cell)
{
    vf_cell_values<C> values = {cell};
#define VF_COMPUTE(s)                                   \
    {                                                   \
        vf_stage_view<vf_stage_##s, C> view = {values}; \
        vf_stage_##s::compute(view);                    \
    }
    VF_EACH_STAGE(VF_COMPUTE)
#undef VF_COMPUTE
    VF_UNROLL for (int k = 0; k < VF_OUTPUTS; k++) cell.store(
        k, vf_sink(k) < VF_INPUTS ? cell.read(vf_sink(k), 0, 0, 0) : values.value[vf_sink(k) - VF_INPUTS]);
}
