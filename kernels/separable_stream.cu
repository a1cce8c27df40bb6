/* A chain of lines along x, y, z, or some of them, in one sweep. A block streams along z: it makes the sums
 * along x and y of each plane, and adds their terms along z to the 2R + 1 results that they belong to, which
 * are in registers. If there is no line along z, it streams along y: it makes the sums along x of each row,
 * and adds their terms along y.
 *
 * For a row or plane outside the grid the sums are those of the one that the boundary rule maps it to, which
 * have the same bits as if the field between two stages had been filled there; under `constant` they are the
 * constant, as that field is there.
 *
 * A body may end the chain, such as a difference from the image that was smoothed. It reads the chain's
 * result and inputs at the cell itself, which a thread loads when it has stored the result before.
 *
 * After P. S. Rawat et al., 2016, section 4.2 (streaming, sums in registers), for a separable chain; S. Tabik
 * et al., 2015, section 3 names the three stages. It is the fastest where a chain of lines, such as a
 * Gaussian, is not too wide for the registers along z: each field is read and written once.
 *
 * Further constants, from the scheme:
 *   VF_FLAT                      1: there is no line along z, and rows are streamed
 *   VF_HAS_ROW, VF_ROW_LINE      whether there is a line along x, and its stage
 *   VF_HAS_SIDE, VF_SIDE_LINE    the same along y, unless y is streamed
 *   VF_ALONG_LINE                the line along the streamed axis
 *   VF_HAS_BODY, VF_BODY         whether there is a body, and its stage, the last one */
#include "kernels/device_stream.h"

#include "kernels/device_gate.h"
#include "kernels/device_plane_sums.h"

#define VF_SUMS (2 * VF_REACH)

#if VF_HAS_BODY
enum { vf_chains = 1 };

/* The accessor that the body sees: one cell. */
struct vf_body_view {
    enum { short_way = 0, whole_steps = VF_BODY::whole_steps };
    const VfArgs &args;
    REAL in[VF_BODY::inputs], result;

    VF_MEMBER REAL at(int k, int, int, int)
    {
        return in[k];
    }
    VF_MEMBER void put(int, REAL value)
    {
        result = value;
    }
    VF_MEMBER REAL param(int i)
    {
        return vf_stage_param<VF_BODY>(args, i);
    }
    VF_MEMBER void doubt(REAL)
    {
    }
};
#else
enum { vf_chains = VF_INPUTS };
#endif

/* The sums along the streamed axis of one of the fields that the chain is for; all have the types of the
 * first. */
struct vf_chain {
    const VfArgs &args;
    const vf_course course;
    const int field, rows; /* how many of the thread's rows are in the grid; 0 if its columns are not */
    /* Where the thread's first row of the next result goes: where rows are streamed it moves on with each,
     * from before the chunk on, else with each complete plane. */
    vf_out_0 *to;
    /* sum[m] is the sum for the result m planes after the one that is completed next. */
    REAL sum[VF_SUMS][VF_WORK_Y][VF_SPAN];
#if VF_HAS_BODY
    /* The body's inputs that are inputs of the kernel, at the cells of the next result. */
    REAL beside[VF_BODY::inputs][VF_WORK_Y][VF_SPAN];
#endif

    VF_MEMBER vf_chain(const VfArgs &a, const vf_course &c, int k)
        : args(a), course(c), field(k), rows(rows_of(a, c)),
          to((vf_out_0 *)a.out[k] +
             (VF_FLAT ? vf_row(a, c.begin, c.image) - 2 * VF_REACH * a.pitch : vf_row(a, y_of(c), c.begin)) +
             x_of(c))
    {
    }

    static VF_MEMBER int x_of(const vf_course &c)
    {
        return c.x + threadIdx.x * VF_SPAN;
    }

    static VF_MEMBER int y_of(const vf_course &c)
    {
        return c.y + threadIdx.y * VF_WORK_Y;
    }

    static VF_MEMBER int rows_of(const VfArgs &a, const vf_course &c)
    {
        return VF_RAGGED && x_of(c) >= a.nx ? 0 : VF_FLAT ? VF_WORK_Y : a.ny - y_of(c);
    }

    /* What stands outside the grid under `constant` in the field that is read along the streamed axis. */
    VF_MEMBER REAL plane_outside()
    {
#if VF_HAS_SIDE
        return vf_outside(args, VF_SIDE_LINE::out(field));
#elif VF_HAS_ROW
        return vf_outside(args, VF_ROW_LINE::out(field));
#else
        return vf_outside(args, field);
#endif
    }

    /* Adds a value's terms along the streamed axis, and returns the result that is complete with them. */
    VF_MEMBER REAL scatter(int j, int i, REAL value)
    {
        constexpr int first = VF_ALONG_LINE::first_param;
        const REAL result = FMA(vf_param(args, first + 2 * VF_REACH), value, sum[0][j][i]);
        VF_UNROLL for (int m = 1; m < 2 * VF_REACH; m++) sum[m - 1][j][i] =
            FMA(vf_param(args, first + 2 * VF_REACH - m), value, sum[m][j][i]);
        sum[VF_SUMS - 1][j][i] = vf_param(args, first) * value;
        return result;
    }

#if VF_HAS_BODY
    VF_MEMBER void load_beside()
    {
        const long long at = to - (vf_out_0 *)args.out[0];
        VF_UNROLL for (int k = 0; k < VF_BODY::inputs; k++)
        {
            VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            {
#define VF_LOAD_ONE(n)                                                                                \
    if (VF_BODY::in(k) == n && j < rows)                                                              \
        vf_load_vector<VF_SPAN>(                                                                      \
            vf_rows_after(vf_fixed((const vf_in_##n *)args.in[n] + at), (unsigned int)args.pitch, j), \
            beside[k][j]);
                VF_EACH_INPUT(VF_LOAD_ONE)
#undef VF_LOAD_ONE
            }
        }
    }

    VF_MEMBER void compute_body(REAL (&v)[VF_WORK_Y][VF_SPAN])
    {
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++)
            {
                vf_body_view view = {args};
                VF_UNROLL for (int k = 0; k < VF_BODY::inputs; k++) view.in[k] =
                    VF_BODY::in(k) < VF_INPUTS ? beside[k][j][i] : v[j][i];
                VF_BODY::compute(view);
                v[j][i] = view.result;
            }
        }
    }
#endif

    /* Takes the sums of the next plane, which is the constant if there `is_no_plane`. */
    VF_MEMBER void add(int plane, bool is_no_plane, REAL (&v)[VF_WORK_Y][VF_SPAN])
    {
        const bool is_outside = VF_BOUNDARY == VF_CONSTANT && is_no_plane;
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
        {
            VF_UNROLL for (int i = 0; i < VF_SPAN; i++) v[j][i] =
                scatter(j, i, is_outside ? plane_outside() : v[j][i]);
        }
        /* Of rows whole bands are taken, so that the last one may reach beyond the chunk. */
        const bool is_complete =
            VF_FLAT ? (unsigned)(plane - VF_REACH - course.begin) < (unsigned)(course.end - course.begin)
                    : plane - VF_REACH >= course.begin;
#if VF_HAS_BODY
        compute_body(v);
#endif
        VF_UNROLL for (int j = 0; j < VF_WORK_Y; j++)
            vf_store_vector_if(is_complete && j < rows, vf_rows_after(to, (unsigned int)args.pitch, j), v[j]);
        if (VF_FLAT || is_complete)
            to = vf_fixed(to + (VF_FLAT ? args.pitch : args.plane));
#if VF_HAS_BODY
        if (plane + 1 - VF_REACH >= course.begin && plane + 1 - VF_REACH < course.end)
            load_beside();
#endif
    }
};

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const vf_course course = vf_course_of(args, tile_x, tile_y, tile_z);
    VF_SHARED_MEMORY(bytes);
    vf_gate gate(bytes);
    VF_NO_UNROLL for (int field = 0; field < vf_chains; field++)
    {
        vf_chain chain(args, course, field);
        vf_sums sums(args, course, field, (REAL *)(bytes + VF_GATE_BYTES));
        sums.stream(chain, field, gate);
    }
    gate.close();
}

#include "kernels/device_entry.h"
