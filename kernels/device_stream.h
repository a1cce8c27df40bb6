/* Shared by streaming schemes. A thread holds spans, each of VF_WORK_X consecutive cells of a row, which are
 * moved by accesses of up to 16 bytes. The threads of a warp that are side by side in a row are a segment.
 * Cells beside a thread's own span come from other threads of its segment by shuffles. The threads at the
 * ends of a segment lack VF_HALO_X cells of one side, their flank, and read it from memory.
 *
 * Constants beside those of device.h, from kernels/gpu_stream.c:
 *   VF_RAGGED        1 if the last tiles along x end beyond the grid
 *   VF_END_X         how many cells of the span in which the grid's rows end are in the grid
 *   VF_NARROW        1 if the grid is not wider than the halo along x
 *   VF_CROSS(k)      how far along the streamed axis input k is read in other columns than the own one
 *   VF_MOST_CROSS    the largest of them
 *   VF_DIAGONAL(k)   whether input k is read where y and x both differ
 *   VF_ANY_DIAGONAL  whether any input is */

#define VF_SPAN VF_WORK_X
#define VF_SEGMENT (VF_BLOCK_X < 32 ? VF_BLOCK_X : 32)
/* How many threads away the last value beyond a span is. */
#define VF_AWAY ((VF_HALO_X + VF_SPAN - 1) / VF_SPAN)
#define VF_FLANK (VF_HALO_X > 0 ? VF_HALO_X : 1)

/* vf_index for columns, in less code, since they are looked up again and again. Columns are at most a halo
 * outside the grid, so that one reflection is enough unless the grid is narrower. */
VF_INLINE int vf_fold_column(int x, int n)
{
    const int i = x < n + VF_HALO_X ? x : n - 1 + VF_HALO_X;
    if (VF_NARROW)
        return vf_index(i, n);
    const int below = VF_BOUNDARY == VF_NEAREST    ? 0
                      : VF_BOUNDARY == VF_REFLECT  ? -1 - i
                      : VF_BOUNDARY == VF_MIRROR   ? -i
                      : VF_BOUNDARY == VF_CONSTANT ? -1
                                                   : i + n,
              above = VF_BOUNDARY == VF_NEAREST    ? n - 1
                      : VF_BOUNDARY == VF_REFLECT  ? n - 1 - (i - n)
                      : VF_BOUNDARY == VF_MIRROR   ? n - 2 - (i - n)
                      : VF_BOUNDARY == VF_CONSTANT ? -1
                                                   : i - n;
    return i < 0 ? below : i >= n ? above : i;
}

/* ---- vectors of elements ---- */

/* n elements, a power of two, and the words that they are moved as. */
template <class T, int n> union vf_vector {
    typedef typename vf_word<n * sizeof(T)>::type word;
    enum { words = n * sizeof(T) / sizeof(word) };
    word w[words];
    T e[n];
};

/* Loads n elements from memory that no thread writes. If n is a power of two, `from` is aligned to n
 * elements.
 */
template <int n, class T> VF_INLINE void vf_load_vector(const T *from, REAL *v)
{
    if constexpr ((n & (n - 1)) == 0) {
        vf_vector<T, n> vector;
        VF_UNROLL for (int i = 0; i < (int)vector.words; i++) vector.w[i] =
            __ldg((const typename vf_vector<T, n>::word *)from + i);
        vf_widen_cells(vector.e, v);
    } else {
        VF_UNROLL for (int i = 0; i < n; i++) v[i] = (REAL)__ldg(from + i);
    }
}

template <class T> VF_INLINE void vf_store_vector(T *to, const REAL *v)
{
    vf_vector<T, VF_SPAN> vector;
    vf_narrow_cells(v, vector.e);
    VF_UNROLL for (int i = 0; i < (int)vector.words; i++)((typename vf_vector<T, VF_SPAN>::word *)to)[i] =
        vector.w[i];
}

/* 1: a result that is NaN has the bits already with which it is to be stored. */
#ifndef VF_RARE_NAN
#define VF_RARE_NAN 0
#endif

/* Converts results to the type as which they are stored. */
template <class T> VF_INLINE void vf_narrow_results(const REAL *v, T (&cell)[VF_SPAN])
{
    vf_narrow_cells(v, cell);
}
VF_INLINE void vf_narrow_results(const REAL *v, REAL (&cell)[VF_SPAN])
{
    VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
    {
        if (VF_RARE_NAN)
            cell[i] = v[i];
        else
            vf_put(&cell[i], v[i]);
    }
}

/* Stores if `is_wanted`. Only the store depends on that: a branch would be around the conversion too. */
template <class T> VF_INLINE void vf_store_vector_if(bool is_wanted, T *to, const REAL *v)
{
    vf_vector<T, VF_SPAN> vector;
    vf_narrow_results(v, vector.e);
    VF_UNROLL for (int i = 0; i < (int)vector.words; i++)
    {
        vf_settle(vector.w[i]);
        if (is_wanted)
            __stwb((typename vf_vector<T, VF_SPAN>::word *)to + i, vector.w[i]);
    }
}

/* Put a span, or n cells, of the compute type into shared memory, and get it from there, bit for bit. */
template <int n = VF_SPAN> VF_INLINE void vf_share(REAL *to, const REAL *v)
{
    vf_vector<REAL, n> vector;
    VF_UNROLL for (int i = 0; i < n; i++) vector.e[i] = v[i];
    VF_UNROLL for (int i = 0; i < (int)vector.words; i++)((typename vf_vector<REAL, n>::word *)to)[i] =
        vector.w[i];
}

template <int n = VF_SPAN> VF_INLINE void vf_take(const REAL *from, REAL *v)
{
    vf_vector<REAL, n> vector;
    VF_UNROLL for (int i = 0; i < (int)vector.words; i++) vector.w[i] =
        ((const typename vf_vector<REAL, n>::word *)from)[i];
    VF_UNROLL for (int i = 0; i < n; i++) v[i] = vector.e[i];
}

/* ---- the streamed axis: z, in 2D y ---- */

/* 1: a block streams along y, row by row: the image is 2D, or no stage reaches along z. */
#ifndef VF_FLAT
#define VF_FLAT (DIM == 2)
#endif

/* How far stages reach along the streamed axis. */
#define VF_REACH (VF_FLAT ? VF_HALO_Y : VF_HALO_Z)
/* How far they reach along y within a plane. */
#define VF_SIDE (VF_FLAT ? 0 : VF_HALO_Y)

VF_INLINE constexpr int vf_input_reach(int k)
{
    return VF_FLAT ? vf_input_halo_y(k) : vf_input_halo_z(k);
}

/* What a block streams: x and y of its first cell; planes [begin, end) of the streamed axis; if these are
 * rows, the image, or plane of the volume, that they are of. */
struct vf_course {
    int x, y, image, begin, end;
};

VF_INLINE vf_course vf_course_of(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    vf_course c;
    const int last = VF_FLAT ? args.ny : args.z_end;
    c.x = tile_x * (VF_BLOCK_X * VF_SPAN);
    c.y = VF_FLAT ? 0 : tile_y * (VF_BLOCK_Y * VF_WORK_Y);
    c.image = args.z_begin + tile_z;
    c.begin = VF_FLAT ? tile_y * VF_STREAM : args.z_begin + tile_z * VF_STREAM;
    c.end = last - c.begin < VF_STREAM ? last : c.begin + VF_STREAM;
    return c;
}

/* The first element of a plane; -1: the plane is the constant. A chunk needs planes up to `reach` beyond its
 * own. If one farther away is asked for, as happens ahead of time, it is the last one that is needed. */
VF_INLINE long long vf_plane_at(const VfArgs &args, const vf_course &course, int plane, int reach)
{
    const int n = VF_FLAT ? args.ny : args.nz, low = course.begin - reach, high = course.end - 1 + reach;
    /* Under `nearest` the bounds may include the grid's, as these are the same for all planes. That takes
     * registers, of which a far reach leaves none. */
    const bool by_bounds = VF_BOUNDARY == VF_NEAREST && VF_REACH <= 2;
    const int first = by_bounds ? max(low, 0) : low, last = by_bounds ? min(high, n - 1) : high,
              within = plane < first  ? first
                       : plane > last ? last
                                      : plane,
              at = by_bounds ? within : vf_index(within, n);
    return VF_BOUNDARY == VF_CONSTANT && at < 0 ? -1
           : VF_FLAT                            ? vf_row(args, at, course.image)
                                                : (unsigned int)(at - args.z_base) * args.plane;
}

/* ---- rows of a plane ---- */

/* Where a thread's spans and their flanks lie in any plane. */
struct vf_columns {
    int x;    /* the span's first column; perhaps beyond the grid */
    int held; /* that of the span that is read: the same, or the row's last one */
    int lane; /* the thread's number in its segment */
    int next; /* the column beside the nearer end of the segment, or what the boundary rule has for it */
};

VF_INLINE vf_columns vf_columns_of(const VfArgs &args, const vf_course &course)
{
    vf_columns c;
    c.x = course.x + threadIdx.x * VF_SPAN;
    c.held = !VF_RAGGED || c.x < args.nx ? c.x : (args.nx - 1) & -VF_SPAN;
    c.lane = threadIdx.x % VF_SEGMENT;
    c.next = vf_fold_column(c.lane < VF_SEGMENT / 2 ? c.x - 1 : c.x + VF_SPAN, args.nx);
    return c;
}

/* Where the row begins that is read for row y, in elements from its plane's first; VF_NO_ROW: it is the
 * constant. Where rows are streamed a plane is a row. */
#define VF_NO_ROW 0xffffffffu
VF_INLINE unsigned int vf_row_of(const VfArgs &args, int y)
{
    const int near = y < args.ny + VF_SIDE ? y : args.ny - 1 + VF_SIDE,
              at = VF_FLAT ? 0 : vf_index(near, args.ny);
    return VF_BOUNDARY == VF_CONSTANT && at < 0 ? VF_NO_ROW : (unsigned int)at * (unsigned int)args.pitch;
}

/* 1: where a plane begins is computed once for all its rows. Kernels that have no registers left for that are
 * faster without. */
#ifndef VF_FIXED_PLANES
#define VF_FIXED_PLANES VF_SMALL_INPUTS
#endif
template <class T> VF_INLINE const T *vf_plane_of(const T *in, long long plane)
{
    return VF_FIXED_PLANES ? vf_fixed(in + plane) : in + plane;
}

/* Whether a row of a plane is to be read from memory, which only under `constant` it may not be. */
VF_INLINE bool vf_is_row(long long plane, unsigned int row)
{
    return VF_BOUNDARY != VF_CONSTANT || (plane >= 0 && row != VF_NO_ROW);
}

template <class T>
VF_INLINE void vf_load_span(const T *in, REAL outside, long long plane, unsigned int row, const vf_columns &c,
                            REAL *v)
{
    if (vf_is_row(plane, row)) {
        vf_load_vector<VF_SPAN>(vf_plane_of(in, plane) + (row + c.held), v);
    } else {
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++) v[i] = outside;
    }
}

/* A row's value at a column that vf_fold_column gives. */
template <class T>
VF_INLINE REAL vf_load_folded(const T *in, REAL outside, long long plane, unsigned int row, int at)
{
    if (VF_BOUNDARY == VF_CONSTANT && (at < 0 || !vf_is_row(plane, row)))
        return outside;
    return (REAL)__ldg(vf_plane_of(in, plane) + (row + at));
}

/* The same at any column, at most a halo outside the grid. */
template <class T>
VF_INLINE REAL vf_load_column(const T *in, REAL outside, long long plane, unsigned int row, int x, int nx)
{
    return vf_load_folded(in, outside, plane, row, vf_fold_column(x, nx));
}

/* 1: vf_fold_column is called once for the column beside a segment (vf_columns.next). Then it is loaded
 * without a branch; but for small inputs the compiler delays the other loads until they are needed, where the
 * loop is over single planes. */
#ifndef VF_FOLDED_ONCE
#define VF_FOLDED_ONCE (!VF_SMALL_INPUTS)
#endif

/* Loads the flank of a span, if the thread has one: the part of it that would come from the thread `away`
 * threads away, and those farther away. */
template <class T, int away = 1>
VF_INLINE void vf_load_flank(const T *in, REAL outside, long long plane, unsigned int row,
                             const vf_columns &c, int nx, REAL *flank)
{
    if constexpr (away <= VF_AWAY) {
        constexpr int from = (away - 1) * VF_SPAN,
                      n = VF_HALO_X - from < VF_SPAN ? VF_HALO_X - from : VF_SPAN;
        if (c.lane < away || c.lane >= VF_SEGMENT - away) {
            const int x = c.lane < away ? c.x - from - n : c.x + from + VF_SPAN;
            if (VF_HALO_X == 1 && VF_FOLDED_ONCE) {
                flank[0] = vf_load_folded(in, outside, plane, row, c.next);
            } else if (n > 1 && x >= 0 && x + n <= nx && vf_is_row(plane, row)) {
                vf_load_vector<n>(vf_plane_of(in, plane) + (row + x), flank + from);
            } else {
                VF_UNROLL for (int i = 0; i < n; i++) flank[from + i] =
                    vf_load_column(in, outside, plane, row, x + i, nx);
            }
        }
        vf_load_flank<T, away + 1>(in, outside, plane, row, c, nx, flank);
    }
}

/* In the span in which a row ends: its cell that is read for cell i, which is beyond the grid and perhaps in
 * the next span. Negative: it is not this span's. */
VF_INLINE constexpr int vf_cell_beyond(int i)
{
    return VF_NARROW || VF_BOUNDARY == VF_WRAP ? -1
           : VF_BOUNDARY == VF_REFLECT         ? 2 * VF_END_X - 1 - i
           : VF_BOUNDARY == VF_MIRROR          ? 2 * VF_END_X - 2 - i
                                               : VF_END_X - 1;
}

/* Sets those of a span's cells that are beyond the grid, by the boundary rule, as far as others read them.
 * Most are equal to cells of the span in which the row ends, which spans beyond the grid hold as well: to
 * read them from memory as late as now would take registers, time and a branch. */
template <class T>
VF_INLINE void vf_mend_span(const T *in, REAL outside, long long plane, unsigned int row, const vf_columns &c,
                            int nx, REAL *v)
{
    if (!VF_RAGGED || VF_HALO_X == 0)
        return;
    const int last = (nx - 1) & -VF_SPAN;
    REAL held[VF_SPAN];
    VF_UNROLL for (int i = 0; i < VF_SPAN; i++) held[i] = v[i];
    VF_UNROLL for (int beyond = VF_END_X; beyond < VF_END_X + VF_HALO_X; beyond++)
    {
        const int i = beyond % VF_SPAN, like = vf_cell_beyond(beyond);
        const bool is_here = c.x == last + (beyond - i);
        if (VF_BOUNDARY == VF_CONSTANT && !VF_NARROW)
            v[i] = is_here ? outside : v[i];
        else if (like >= 0)
            v[i] = is_here ? held[like >= 0 ? like : 0] : v[i];
        else if (is_here)
            v[i] = vf_load_column(in, outside, plane, row, c.x + i, nx);
    }
}

/* Adds the cells beside a thread's own, which are there already: wide[VF_HALO_X + i] becomes the cell at
 * offset i from the span's first, for i from -VF_HALO_X to VF_SPAN + VF_HALO_X - 1. The whole warp must call
 * this. */
VF_INLINE void vf_widen(REAL *wide, const REAL *flank, int lane)
{
    const REAL *const span = wide + VF_HALO_X;
    VF_UNROLL for (int d = 1; d <= VF_HALO_X; d++)
    {
        const int away = (d + VF_SPAN - 1) / VF_SPAN, from = (away - 1) * VF_SPAN,
                  n = VF_HALO_X - from < VF_SPAN ? VF_HALO_X - from : VF_SPAN;
        const REAL left = __shfl_up_sync(0xffffffffu, span[away * VF_SPAN - d], away, VF_SEGMENT),
                   right = __shfl_down_sync(0xffffffffu, span[d - 1 - from], away, VF_SEGMENT);
        wide[VF_HALO_X - d] = lane < away ? flank[from + n - (d - from)] : left;
        wide[VF_HALO_X + VF_SPAN + d - 1] = lane >= VF_SEGMENT - away ? flank[d - 1] : right;
    }
}

/* ---- the case's inputs and outputs ---- */

VF_INLINE void vf_load_input(const VfArgs &args, int input, long long plane, unsigned int row,
                             const vf_columns &c, REAL *v)
{
#define VF_LOAD_ONE(k) \
    if (input == k)    \
        vf_load_span((const vf_in_##k *)args.in[k], vf_outside(args, k), plane, row, c, v);
    VF_EACH_INPUT(VF_LOAD_ONE)
#undef VF_LOAD_ONE
}

VF_INLINE void vf_load_input_flank(const VfArgs &args, int input, long long plane, unsigned int row,
                                   const vf_columns &c, REAL *flank)
{
#define VF_LOAD_ONE(k) \
    if (input == k)    \
        vf_load_flank((const vf_in_##k *)args.in[k], vf_outside(args, k), plane, row, c, args.nx, flank);
    VF_EACH_INPUT(VF_LOAD_ONE)
#undef VF_LOAD_ONE
}

VF_INLINE void vf_mend_input(const VfArgs &args, int input, long long plane, unsigned int row,
                             const vf_columns &c, REAL *v)
{
#define VF_MEND_ONE(k) \
    if (input == k)    \
        vf_mend_span((const vf_in_##k *)args.in[k], vf_outside(args, k), plane, row, c, args.nx, v);
    VF_EACH_INPUT(VF_MEND_ONE)
#undef VF_MEND_ONE
}

/* Stores a span at x, which is a multiple of VF_SPAN and in the grid. Cells beyond the grid go to the row's
 * padding. */
VF_INLINE void vf_store_span(const VfArgs &args, int output, long long row, int x, const REAL *v)
{
#define VF_STORE_ONE(k) \
    if (output == k)    \
        vf_store_vector((vf_out_##k *)args.out[k] + (row + x), v);
    VF_EACH_OUTPUT(VF_STORE_ONE)
#undef VF_STORE_ONE
}

/* The same if `is_wanted`, at element `at` of the plane that begins at element `plane`. */
VF_INLINE void vf_store_in_plane(const VfArgs &args, bool is_wanted, int output, long long plane,
                                 unsigned int at, const REAL *v)
{
#define VF_STORE_ONE(k) \
    if (output == k)    \
        vf_store_vector_if(is_wanted, vf_fixed((vf_out_##k *)args.out[k] + plane) + at, v);
    VF_EACH_OUTPUT(VF_STORE_ONE)
#undef VF_STORE_ONE
}
