/* A chain of lines, one along each axis, in one sweep: x, y, z, or fewer. A block streams through planes (2D:
 * rows). Of each plane it reads its tile and the rows beside it once, makes the x sums with its neighbours'
 * registers, leaves them in one of two planes of shared memory, makes the y sums from there, and adds their
 * terms to the 2R + 1 results along z that they belong to, which live in registers: one barrier a plane.
 *
 * Rows and planes outside the grid are those that the boundary rule maps them to, whose sums have the same
 * bits as if they had been filled in from inside; under `constant` they are the constant, as the fields
 * between two stages are there.
 *
 * After P. S. Rawat et al., 2016, section 4.2 (streaming, sums in registers), for a separable chain; S. Tabik
 * et al., 2015, section 3 names the three stages. Wins where a chain of lines, such as a Gaussian, is not too
 * wide for the registers along z: it reads and writes each field once.
 *
 * Further constants, by the scheme: VF_HAS_ROW, VF_HAS_SIDE, VF_HAS_ALONG, whether there is a line along x,
 * along y (3D), and along the streamed axis; VF_ROW_LINE, VF_SIDE_LINE, VF_ALONG_LINE, their stages. */
#include "kernels/device_stream.h"

#define VF_COLUMNS (VF_SPAN + 2 * VF_HALO_X)
#define VF_TILE_ROWS (VF_BLOCK_Y * VF_WORK_Y + 2 * VF_SIDE)
#define VF_TILE_COLUMNS (VF_BLOCK_X * VF_SPAN)
/* Rows whose x sums a thread makes. */
#define VF_READ_ROWS (VF_HAS_SIDE ? (VF_TILE_ROWS + VF_BLOCK_Y - 1) / VF_BLOCK_Y : VF_WORK_Y)
#define VF_SUMS (VF_REACH > 0 ? 2 * VF_REACH : 1)

/* One of the chain's fields; all have the types of the first. */
struct vf_chain {
    const VfArgs &args;
    const vf_course course;
    const vf_columns columns;
    const vf_in_0 *const in;
    vf_out_0 *const out;
    const REAL outside;
    REAL *const shared;
    unsigned int row_at[VF_READ_ROWS];
    REAL span[VF_READ_ROWS][VF_SPAN], flank[VF_READ_ROWS][VF_FLANK];
    /* sum[m] is that of m planes after the one that is completed next. */
    REAL sum[VF_SUMS][VF_WORK_Y][VF_SPAN];

    VF_MEMBER vf_chain(const VfArgs &a, const vf_course &c, int k, REAL *memory)
        : args(a), course(c), columns(vf_columns_of(a, c)), in((const vf_in_0 *)a.in[k]),
          out((vf_out_0 *)a.out[k]), outside(vf_outside(a, k)), shared(memory)
    {
        VF_UNROLL for (int n = 0; n < VF_READ_ROWS; n++) row_at[n] =
            vf_row_of(args, course.y - VF_SIDE + tile_row(n));
    }

    /* The row of the tile, with those beside it, that is the n-th read by this thread. */
    static VF_MEMBER int tile_row(int n)
    {
        return VF_HAS_SIDE ? threadIdx.y + n * VF_BLOCK_Y : threadIdx.y * VF_WORK_Y + n;
    }

    VF_MEMBER long long plane_at(int plane)
    {
        return vf_plane_at(args, course, plane, VF_REACH);
    }

    VF_MEMBER void load(int plane)
    {
        const long long at = plane_at(plane);
        VF_UNROLL for (int n = 0; n < VF_READ_ROWS; n++)
        {
            if (VF_HAS_SIDE && tile_row(n) >= VF_TILE_ROWS)
                continue;
            vf_load_span(in, outside, at, row_at[n], columns, span[n]);
            if (VF_HALO_X > 0)
                vf_load_flank(in, outside, at, row_at[n], columns, args.nx, flank[n]);
        }
    }

    /* The sums along x of the n-th row; whole warps call this. */
    VF_MEMBER void sum_row(int n, int plane, REAL *v)
    {
        REAL wide[VF_COLUMNS];
        VF_UNROLL for (int i = 0; i < VF_SPAN; i++) wide[VF_HALO_X + i] = span[n][i];
        if (VF_HALO_X > 0) {
            vf_mend_span(in, outside, plane_at(plane), row_at[n], columns, args.nx, wide + VF_HALO_X);
            vf_widen(wide, flank[n], columns.lane);
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

    /* What sum_row gave, in the order of the thread's own rows, summed along y. */
    VF_MEMBER void sum_plane(int field, int plane, REAL (&v)[VF_WORK_Y][VF_SPAN])
    {
#if VF_HAS_SIDE
        REAL *const tile = shared + (plane & 1) * (VF_TILE_ROWS * VF_TILE_COLUMNS) + threadIdx.x * VF_SPAN;
        VF_UNROLL for (int n = 0; n < VF_READ_ROWS; n++)
        {
            const bool is_row = tile_row(n) < VF_TILE_ROWS;
            REAL row[VF_SPAN];
            /* All of a warp, or none of it. */
            if (VF_BLOCK_X % 32 == 0 && !is_row)
                continue;
            sum_row(n, plane, row);
#if VF_HAS_ROW
            if (VF_BOUNDARY == VF_CONSTANT && row_at[n] == VF_NO_ROW)
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++) row[i] =
                    vf_outside(args, VF_ROW_LINE::out(field));
#endif
            if (is_row)
                vf_share(tile + tile_row(n) * VF_TILE_COLUMNS, row);
        }
        load(plane + 1);
        __syncthreads();
        VF_UNROLL for (int r = 0; r < VF_WORK_Y + 2 * VF_SIDE; r++)
        {
            REAL row[VF_SPAN];
            vf_take(tile + (threadIdx.y * VF_WORK_Y + r) * VF_TILE_COLUMNS, row);
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
                if (r < j || r > j + 2 * VF_SIDE)
                    continue;
                const REAL weight = vf_param(args, VF_SIDE_LINE::first_param + (r - j));
                VF_UNROLL for (int i = 0; i < VF_SPAN; i++) v[j][i] =
                    r == j ? weight * row[i] : FMA(weight, row[i], v[j][i]);
            }
        }
#else
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++) sum_row(j, plane, v[j]);
        load(plane + 1);
#endif
    }

    /* What a plane outside the grid holds under `constant`: the field that is read along the streamed axis.
     */
    VF_MEMBER REAL plane_outside(int field)
    {
#if VF_HAS_SIDE
        return vf_outside(args, VF_SIDE_LINE::out(field));
#elif VF_HAS_ROW
        return vf_outside(args, VF_ROW_LINE::out(field));
#else
        return vf_outside(args, field);
#endif
    }

    /* Adds a value's terms along the streamed axis; the result that is complete. */
    VF_MEMBER REAL scatter(int j, int i, REAL value)
    {
#if VF_HAS_ALONG
        constexpr int first = VF_ALONG_LINE::first_param;
        if (VF_REACH == 0)
            return vf_param(args, first) * value;
        const REAL result = FMA(vf_param(args, first + 2 * VF_REACH), value, sum[0][j][i]);
        VF_UNROLL for (int m = 1; m < 2 * VF_REACH; m++) sum[m - 1][j][i] =
            FMA(vf_param(args, first + 2 * VF_REACH - m), value, sum[m][j][i]);
        sum[VF_SUMS - 1][j][i] = vf_param(args, first) * value;
        return result;
#else
        return value;
#endif
    }

    VF_MEMBER void step(int field, int plane)
    {
        REAL v[VF_WORK_Y][VF_SPAN];
        sum_plane(field, plane, v);
        const bool is_outside = VF_BOUNDARY == VF_CONSTANT && VF_REACH > 0 && plane_at(plane) < 0;
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) v[j][i] =
                scatter(j, i, is_outside ? plane_outside(field) : v[j][i]);
        }
        const int done = plane - VF_REACH;
        if (done < course.begin)
            return;
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            const int y = course.y + threadIdx.y * VF_WORK_Y + j;
            if ((!VF_RAGGED || columns.x < args.nx) && (DIM == 2 || y < args.ny))
                vf_store_vector(out + (DIM == 3 ? vf_row(args, y, done) : vf_row(args, done, course.image)) +
                                    columns.x,
                                v[j]);
        }
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
#if VF_HAS_SIDE
    VF_SHARED_MEMORY(bytes);
    REAL *const memory = (REAL *)bytes;
#else
    REAL *const memory = nullptr;
#endif
    const vf_course course = vf_course_of(args, tile_x, tile_y, tile_z);
    VF_NO_UNROLL for (int field = 0; field < VF_INPUTS; field++)
    {
        vf_chain chain(args, course, field, memory);
        chain.load(course.begin - VF_REACH);
        VF_NO_UNROLL for (int plane = course.begin - VF_REACH; plane < course.end + VF_REACH; plane++)
            chain.step(field, plane);
#if VF_HAS_SIDE
        /* Nobody overwrites what others still read. */
        __syncthreads();
#endif
    }
}

#include "kernels/device_entry.h"
