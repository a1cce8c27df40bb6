/* Tiles in shared memory: every input that is read beside the centre has one, in the compute type; inputs
 * read at the centre only stay in global memory. A tile's first column is a multiple of the loaders' packs,
 * so that packs in shared and in global memory are the same. Included after device_box.h. */
#ifndef VF_DEVICE_TILE_H
#define VF_DEVICE_TILE_H

/* Cells that loaders move at once. */
#define VF_LOADER_PACK (VF_TILE_X % VF_PACK == 0 ? VF_PACK : 1)

#ifdef VF_ON_CPU
#define VF_UNROLL_SOME VF_NO_UNROLL
#else
#define VF_UNROLL_SOME _Pragma("unroll 4")
#endif

VF_INLINE constexpr bool vf_is_tiled(int input)
{
    return vf_input_halo_z(input) > 0 || vf_input_halo_y(input) > 0 || vf_input_halo_x(input) > 0;
}

/* Columns before the tile's own, and after. */
VF_INLINE constexpr int vf_tile_pad(int input)
{
    return vf_round_up(vf_input_halo_x(input), VF_LOADER_PACK);
}

VF_INLINE constexpr int vf_tile_pitch(int input)
{
    return VF_TILE_X + 2 * vf_tile_pad(input);
}

/* Defines vf_tile_start(input): where its tile begins, if an input's has cells(input) of them. */
#define VF_TILE_STARTS(cells)                          \
    VF_INLINE constexpr int vf_cells_before(int input) \
    {                                                  \
        int before = 0;                                \
        for (int k = 0; k < input; k++)                \
            before += vf_is_tiled(k) ? cells(k) : 0;   \
        return before;                                 \
    }                                                  \
    template <int input> struct vf_start_of {          \
        enum { value = vf_cells_before(input) };       \
    };                                                 \
    VF_INLINE constexpr int vf_tile_start(int input)   \
    {                                                  \
        return VF_EACH_INPUT(VF_TILE_START_CASE) 0;    \
    }
#define VF_TILE_START_CASE(k) input == k ? (int)vf_start_of<k>::value:

/* ---- loading ---- */

VF_INLINE int vf_thread()
{
    return (threadIdx.z * VF_BLOCK_Y + threadIdx.y) * VF_BLOCK_X + threadIdx.x;
}

/* One pack that begins at column x, perhaps outside the grid, of a row that begins at `row`. Columns beyond
 * what is reached are not loaded. */
template <int N> VF_INLINE void vf_fill_pack(const VfArgs &args, int input, long long row, int x, REAL *to)
{
    REAL pack[N], one[1];
    if (x >= 0 && x + N <= args.nx) {
#define VF_COPY_PLAIN(k)                                             \
    if (input == k && N == VF_PACK && vf_same<vf_in_##k, REAL>::yes) \
        return vf_copy_pack(to, (const REAL *)((const vf_in_##k *)args.in[k] + (row + x)));
        VF_EACH_INPUT(VF_COPY_PLAIN)
#undef VF_COPY_PLAIN
        vf_load_pack(args, input, row + x, pack);
        vf_set_pack(to, pack);
        return;
    }
    const int reached = args.nx + VF_HALO_X - x, count = reached < N ? reached : N;
    VF_NO_UNROLL for (int i = 0; i < count; i++)
    {
        const int place = vf_index(x + i, args.nx);
        if (VF_BOUNDARY == VF_CONSTANT && place < 0)
            to[i] = vf_outside(args, input);
        else {
            vf_load_pack(args, input, row + place, one);
            to[i] = one[0];
        }
    }
}

/* The same of the row (y, z), perhaps outside. */
template <bool inside>
VF_INLINE void vf_fill_in_row(const VfArgs &args, int input, int x, int y, int z, REAL *to)
{
    if (inside)
        return vf_fill_pack<VF_LOADER_PACK>(args, input, vf_row(args, y, z), x, to);
    if (y >= args.ny + vf_input_halo_y(input) || z >= args.z_end + vf_input_halo_z(input) ||
        z < args.z_begin - vf_input_halo_z(input))
        return;
    const int row_y = vf_index(y, args.ny), row_z = vf_index_z(z, args.nz);
    if (VF_BOUNDARY == VF_CONSTANT && (row_y < 0 || row_z < 0)) {
        REAL pack[VF_LOADER_PACK];
        VF_UNROLL for (int i = 0; i < VF_LOADER_PACK; i++) pack[i] = vf_outside(args, input);
        return vf_set_pack(to, pack);
    }
    vf_fill_pack<VF_LOADER_PACK>(args, input, vf_row(args, row_y, row_z), x, to);
}

/* The loaders give every pack of a box of rows to one thread: packs (across, rows, planes) to
 * to_row(plane, row), whose first column is x of the grid, its first row y, its first plane z. */

/* The block as a cube that steps along each axis. */
template <bool inside, class To>
VF_INLINE void vf_load_cube(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                            To to_row)
{
    const int across = vf_tile_pitch(input) / VF_LOADER_PACK;
    for (int k = threadIdx.z; k < planes; k += VF_BLOCK_Z)
        for (int j = threadIdx.y; j < rows; j += VF_BLOCK_Y)
            for (int i = threadIdx.x; i < across; i += VF_BLOCK_X)
                vf_fill_in_row<inside>(args, input, x + i * VF_LOADER_PACK, y + j, z + k,
                                       to_row(k, j) + i * VF_LOADER_PACK);
}

/* The block as a line of threads over the numbered packs; places by division. */
template <bool inside, class To>
VF_INLINE void vf_load_flat(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                            To to_row)
{
    const int across = vf_tile_pitch(input) / VF_LOADER_PACK;
    VF_UNROLL_SOME for (int n = vf_thread(); n < across * rows * planes; n += VF_THREADS)
    {
        const int i = n % across, j = n / across % rows, k = n / across / rows;
        vf_fill_in_row<inside>(args, input, x + i * VF_LOADER_PACK, y + j, z + k,
                               to_row(k, j) + i * VF_LOADER_PACK);
    }
}

/* The same; the next place by addition and carries. */
template <bool inside, class To>
VF_INLINE void vf_load_carry(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                             To to_row)
{
    const int across = vf_tile_pitch(input) / VF_LOADER_PACK;
    const int add_i = VF_THREADS % across, add_j = VF_THREADS / across % rows,
              add_k = VF_THREADS / across / rows;
    int i = vf_thread() % across, j = vf_thread() / across % rows, k = vf_thread() / across / rows;
    VF_UNROLL_SOME for (int n = vf_thread(); n < across * rows * planes; n += VF_THREADS)
    {
        vf_fill_in_row<inside>(args, input, x + i * VF_LOADER_PACK, y + j, z + k,
                               to_row(k, j) + i * VF_LOADER_PACK);
        i += add_i;
        j += add_j;
        k += add_k;
        if (i >= across) {
            i -= across;
            j++;
        }
        if (j >= rows) {
            j -= rows;
            k++;
        }
    }
}

/* ---- reading ---- */

/* The cell at `column` after `from`, where a pack begins. */
template <int N> VF_INLINE REAL vf_tile_cell(const REAL *from, int column)
{
    if (N == 1)
        return from[column];
    const int start = vf_round_down(column, VF_PACK);
    return vf_element(*(const vf_vector *)(from + start), column - start);
}

/* An input that is read at the centre only. */
template <int N> VF_INLINE REAL vf_centre_cell(const VfArgs &args, int input, int x, int y, int z, int i)
{
    REAL pack[N];
    vf_load_pack(args, input, vf_row(args, y, z) + x, pack);
    return pack[i];
}

#endif
