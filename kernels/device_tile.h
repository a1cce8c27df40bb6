/* Tiles in shared memory: every input that is read beside the centre has one, in the compute type; inputs
 * read at the centre only stay in global memory. A tile's first column is a multiple of the loaders' packs,
 * so that packs in shared and in global memory are the same. Included after device_box.h. */
#ifndef VF_DEVICE_TILE_H
#define VF_DEVICE_TILE_H

/* Cells that loaders move at once. */
#define VF_LOADER_PACK (VF_TILE_X % VF_PACK == 0 ? VF_PACK : 1)

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

/* A pack that is in the grid; `at`: its first cell. */
template <int N> VF_INLINE void vf_fill_whole(const VfArgs &args, int input, long long at, REAL *to)
{
    REAL pack[N];
#define VF_COPY_PLAIN(k)                                             \
    if (input == k && N == VF_PACK && vf_same<vf_in_##k, REAL>::yes) \
        return vf_copy_pack(to, (const REAL *)((const vf_in_##k *)args.in[k] + at));
    VF_EACH_INPUT(VF_COPY_PLAIN)
#undef VF_COPY_PLAIN
    vf_load_pack(args, input, at, pack);
    vf_set_pack(to, pack);
}

/* One that begins at column x, perhaps outside the grid, of a row that begins at `row`. Columns beyond what
 * is reached are not loaded. */
template <int N> VF_INLINE void vf_fill_pack(const VfArgs &args, int input, long long row, int x, REAL *to)
{
    if (x >= 0 && x + N <= args.nx)
        return vf_fill_whole<N>(args, input, row + x, to);
    const int reached = args.nx + VF_HALO_X - x, count = reached < N ? reached : N;
    VF_NO_UNROLL for (int i = 0; i < count; i++)
    {
        const int place = vf_index(x + i, args.nx);
        REAL one[1];
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

/* The loaders give every pack of a box of rows (packs across, rows, planes) to one thread. The box begins at
 * x, y, z of the grid and is stored from tile + start on, row after row; where that reaches `ring` elements,
 * if there is a ring, it goes on at `tile`. */
VF_INLINE REAL *vf_ring_place(REAL *tile, int at, int ring)
{
    return tile + (ring > 0 && at >= ring ? at - ring : at);
}

/* The block as a cube that steps along each axis. */
template <bool inside>
VF_INLINE void vf_load_cube(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                            REAL *tile, int start, int ring)
{
    const int across = vf_tile_pitch(input) / VF_LOADER_PACK;
    for (int k = threadIdx.z; k < planes; k += VF_BLOCK_Z)
        for (int j = threadIdx.y; j < rows; j += VF_BLOCK_Y)
            for (int i = threadIdx.x; i < across; i += VF_BLOCK_X)
                vf_fill_in_row<inside>(
                    args, input, x + i * VF_LOADER_PACK, y + j, z + k,
                    vf_ring_place(tile, start + ((k * rows + j) * across + i) * VF_LOADER_PACK, ring));
}

/* The block as a line of threads over the numbered packs; places by division. */
template <bool inside>
VF_INLINE void vf_load_flat(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                            REAL *tile, int start, int ring)
{
    const int across = vf_tile_pitch(input) / VF_LOADER_PACK;
    VF_UNROLL_BY_4 for (int n = vf_thread(); n < across * rows * planes; n += VF_THREADS)
    {
        const int i = n % across, j = n / across % rows, k = n / across / rows;
        vf_fill_in_row<inside>(args, input, x + i * VF_LOADER_PACK, y + j, z + k,
                               vf_ring_place(tile, start + n * VF_LOADER_PACK, ring));
    }
}

/* The same; the next place by addition and carries. */
template <bool inside>
VF_INLINE void vf_load_carry(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                             REAL *tile, int start, int ring)
{
    const int width = vf_tile_pitch(input), across = width / VF_LOADER_PACK, first = vf_thread();
    const int add_x = VF_THREADS % across * VF_LOADER_PACK, add_j = VF_THREADS / across % rows,
              add_k = VF_THREADS / across / rows;
    int at_x = x + first % across * VF_LOADER_PACK, j = first / across % rows, k = first / across / rows;
    long long row = vf_row(args, y + j, z + k);
    const long long next = add_k * args.plane + add_j * args.pitch, carry = args.plane - rows * args.pitch;
    VF_UNROLL_BY_4 for (int n = first; n < across * rows * planes; n += VF_THREADS)
    {
        REAL *const to = vf_ring_place(tile, start + n * VF_LOADER_PACK, ring);
        if (inside)
            vf_fill_pack<VF_LOADER_PACK>(args, input, row, at_x, to);
        else
            vf_fill_in_row<false>(args, input, at_x, y + j, z + k, to);
        at_x += add_x;
        j += add_j;
        k += add_k;
        row += next;
        if (at_x >= x + width) {
            at_x -= width;
            j++;
            row += args.pitch;
        }
        if (planes > 1 && j >= rows) {
            j -= rows;
            k++;
            row += carry;
        }
    }
}

/* Each thread keeps to a column of the tile itself, so that the next place is one addition; what lies beside
 * the tile is given out by division. */
template <bool inside>
VF_INLINE void vf_load_columns(const VfArgs &args, int input, int rows, int planes, int x, int y, int z,
                               REAL *tile, int start, int ring)
{
    const int pitch = vf_tile_pitch(input), pad = vf_tile_pad(input), lines = VF_BLOCK_Y * VF_BLOCK_Z;
    const int line = threadIdx.z * VF_BLOCK_Y + threadIdx.y;
    for (int i = pad + threadIdx.x * VF_LOADER_PACK; i < pad + VF_TILE_X; i += VF_BLOCK_X * VF_LOADER_PACK) {
        if (!inside || x + i + VF_LOADER_PACK > args.nx) {
            VF_NO_UNROLL for (int n = line; n < rows * planes; n += lines)
                vf_fill_in_row<inside>(args, input, x + i, y + n % rows, z + n / rows,
                                       vf_ring_place(tile, start + n * pitch + i, ring));
            continue;
        }
        const long long next = lines / rows * args.plane + lines % rows * args.pitch;
        const long long carry = args.plane - rows * args.pitch;
        long long at = vf_row(args, y + line % rows, z + line / rows) + (x + i);
        int j = line % rows;
        VF_UNROLL_BY_4 for (int n = line; n < rows * planes; n += lines)
        {
            vf_fill_whole<VF_LOADER_PACK>(args, input, at, vf_ring_place(tile, start + n * pitch + i, ring));
            j += lines % rows;
            at += next;
            if (planes > 1 && j >= rows) {
                j -= rows;
                at += carry;
            }
        }
    }
    const int beside = pad / VF_LOADER_PACK;
    VF_NO_UNROLL for (int n = vf_thread(); n < 2 * beside * rows * planes; n += VF_THREADS)
    {
        const int column = n % (2 * beside), row = n / (2 * beside);
        const int i = column * VF_LOADER_PACK + (column < beside ? 0 : VF_TILE_X);
        vf_fill_in_row<inside>(args, input, x + i, y + row % rows, z + row / rows,
                               vf_ring_place(tile, start + row * pitch + i, ring));
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

/* The cells on either side of a thread's pack, for all rows that its box reaches. Reading them from shared
 * memory costs as much as two packs, for four lanes meet in each bank; from the neighbouring lanes a quarter.
 * A row's are found when they are first asked for: once all is unrolled, the compiler knows when that is.
 * Only for linear stages, whose reads depend on nothing. */
template <int planes, int rows, bool used> struct vf_sides {
    /* An array has a cell at least, also where this is not used. */
    enum { cells = VF_HALO_X > 0 ? VF_HALO_X : 1 };
    bool known[planes][rows];
    REAL left[planes][rows][cells], right[planes][rows][cells];

    VF_MEMBER vf_sides()
    {
        VF_UNROLL for (int k = 0; k < planes; k++)
        {
            VF_UNROLL for (int j = 0; j < rows; j++) known[k][j] = false;
        }
    }

    /* `from`: the pack in row j of plane k, which lie in the box's halo from 0 on. */
    VF_MEMBER REAL cell(int k, int j, const REAL *from, int column)
    {
        if (!known[k][j]) {
            find(left[k][j], right[k][j], from);
            known[k][j] = true;
        }
        return column < 0 ? left[k][j][column + VF_HALO_X] : right[k][j][column - VF_PACK];
    }

    VF_MEMBER void find(REAL (&to_left)[cells], REAL (&to_right)[cells], const REAL *from)
    {
        const vf_vector own = *(const vf_vector *)from;
        const int lane = threadIdx.x % 32;
        VF_UNROLL for (int h = 0; h < VF_HALO_X; h++)
        {
            REAL end = 0;
            if (lane == 0 || lane == 31)
                end = from[lane == 0 ? h - VF_HALO_X : VF_PACK + h];
            const REAL l = __shfl_up_sync(0xffffffffu, vf_element(own, VF_PACK - VF_HALO_X + h), 1);
            const REAL r = __shfl_down_sync(0xffffffffu, vf_element(own, h), 1);
            to_left[h] = lane == 0 ? end : l;
            to_right[h] = lane == 31 ? end : r;
        }
    }
};

template <int planes, int rows> struct vf_sides<planes, rows, false> {
    VF_MEMBER REAL cell(int, int, const REAL *from, int column)
    {
        return vf_tile_cell<VF_BOX_PACK>(from, column);
    }
};

/* The cell at `column` of a row of a box. */
template <class Sides> VF_INLINE REAL vf_row_cell(Sides &sides, int k, int j, const REAL *from, int column)
{
    return column >= 0 && column < VF_BOX_PACK ? vf_tile_cell<VF_BOX_PACK>(from, column)
                                               : sides.cell(k + VF_HALO_Z, j + VF_HALO_Y, from, column);
}

/* An input that is read at the centre only. */
template <int N> VF_INLINE REAL vf_centre_cell(const VfArgs &args, int input, int x, int y, int z, int i)
{
    REAL pack[N];
    vf_load_pack(args, input, vf_row(args, y, z) + x, pack);
    return pack[i];
}

#endif
