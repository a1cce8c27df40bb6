/* Time steps, or any run of stages, of images in one sweep without shared memory or barriers. A warp owns a
 * strip of columns, VF_WORK_X of them a lane, and streams along y: the last rows of every field are in
 * registers, each stage runs its delay behind the sources, and what lies beside a lane's own columns comes
 * from other lanes by shuffles. Strips overlap by what all stages together reach, so do chunks of rows.
 *
 * Overlapped tiling with registers and shuffles is known from e.g. P. Chen et al., A versatile software
 * systolic execution model for GPU memory-bound kernels (2019); that all steps of a row follow one another in
 * one warp makes waiting needless. It wins where memory bounds single sweeps of images and a stage is cheap.
 *
 * Other constants, from warp_stream.c. Fields are numbered as in the stages; a row's age is how many rows it
 * is behind the newest source row:
 *   VF_TURN                 rows in a turn of the loop, and slots of every field: rows move by renaming
 *   VF_AHEAD                rows of a source under way, a divisor of VF_TURN
 *   VF_ROOM                 columns that a strip has beyond those it writes, on either side
 *   VF_SIDE                 how far any stage reaches along x, at least 1
 *   VF_LAST, VF_MOST_REACH  the oldest result's age; the most rows that any stage reaches up or down
 *   VF_AGE(field)           the age at which a row is made, or taken from memory
 *   VF_FIELD_REACH(field), VF_FIELD_SIDE(field)   how far stages reach on it along y, x
 *   VF_FIELD_CROSS(field)   how far above and below their own row stages read other lanes' columns
 *   VF_SIDE_AGE(field)      the age at which they are first read */
#include "kernels/device.h"
#include "kernels/device_pack.h"

#define VF_STRIP (32 * VF_WORK_X)
#define VF_TILE_X (VF_STRIP - 2 * VF_ROOM)
#define VF_ALL_LANES 0xffffffffu
/* Beyond the ends of a periodic grid fields are computed as if it went on: the same values again. */
#define VF_PERIODIC (VF_BOUNDARY == VF_WRAP)

/* Where a field's row is, by its age in row `turn` of a turn. */
VF_INLINE constexpr int vf_slot(int turn, int age)
{
    return ((turn - age) % VF_TURN + VF_TURN) % VF_TURN;
}

/* What a row, or a turn of rows, has to do with what is outside the grid. */
enum vf_zone {
    VF_INNER, /* nothing */
    VF_SIDES, /* columns before or behind it */
    VF_ENDS   /* that, and rows above or below */
};

struct vf_strip {
    const VfArgs &args;
    const int lane, image;
    const int tile_x;     /* the first column that the strip writes */
    const int left;       /* its first column */
    const int x;          /* the lane's */
    const int begin, end; /* rows that it writes */
    int row;              /* the newest source row when a turn begins */
    long long newest;     /* the lane's place in it, then in those of the turn: no multiplications */
    REAL own[VF_FIELDS][VF_TURN][VF_WORK_X];
    REAL side[VF_FIELDS][VF_TURN][2 * VF_SIDE]; /* columns before the own ones, then those behind */
    REAL ahead[VF_INPUTS][VF_AHEAD][VF_WORK_X];
    REAL face[VF_STAGES][VF_WORK_X]; /* what bodies had for the upper faces of the row before */

    VF_MEMBER vf_strip(const VfArgs &a, int tile, int first, int z)
        : args(a), lane(threadIdx.x), image(z), tile_x(tile), left(first_column(a, tile)),
          x(left + lane * VF_WORK_X), begin(first), end(a.ny - first < VF_STREAM ? a.ny : first + VF_STREAM),
          row(VF_PERIODIC ? begin - VF_HALO_Y : max(0, begin - VF_HALO_Y))
    {
    }

    /* Strips lie in the grid, so that only the first and the last lanes have neighbours outside. */
    static VF_MEMBER int first_column(const VfArgs &args, int tile)
    {
        return VF_PERIODIC ? tile - VF_ROOM : max(0, min(tile - VF_ROOM, args.nx - VF_STRIP));
    }

    /* ---- memory ---- */

    /* What is read of the row that is `after` rows behind the newest one in memory. */
    template <vf_zone zone> VF_MEMBER void load(int input, int turn, int after, REAL (&to)[VF_WORK_X])
    {
        const int y = row + turn + after;
        const long long from =
            zone == VF_ENDS
                ? vf_row(args, VF_PERIODIC ? vf_index(y, args.ny) : max(0, min(y, args.ny - 1)), image) + x
                : newest + after * args.pitch;
        if (zone == VF_INNER || (left % VF_PACK == 0 && left >= 0 && left + VF_STRIP <= args.nx)) {
            vf_load_pack(args, input, from, to);
            return;
        }
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) to[i] =
            vf_load(args, input, from + i + (VF_PERIODIC ? vf_index(x + i, args.nx) - (x + i) : 0));
    }

    /* Cells beyond nx of a pack that begins in the grid go to the row's padding. */
    template <vf_zone zone> VF_MEMBER void store(int output, int turn, int age, const REAL (&from)[VF_WORK_X])
    {
        const long long to = newest - age * args.pitch;
        const bool is_wanted = (unsigned)(row + turn - age - begin) < (unsigned)(end - begin);
        if (zone == VF_INNER || left % VF_PACK == 0) {
            if (is_wanted && (unsigned)(x - tile_x) < (unsigned)VF_TILE_X && x < args.nx)
                vf_store_pack(args, output, to, from);
            return;
        }
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
        {
            if (is_wanted && (unsigned)(x + i - tile_x) < (unsigned)VF_TILE_X)
                vf_store(args, output, to + i, from[i]);
        }
    }

    /* ---- other lanes' columns, and what is outside the grid ---- */

    /* What stands in the grid for the column `d` beyond its ends, counted from the end. */
    static VF_MEMBER constexpr int folded(int d)
    {
        return VF_BOUNDARY == VF_NEAREST ? 0 : VF_BOUNDARY == VF_REFLECT ? d - 1 : d;
    }

    /* The column `d` beyond the end of the grid where this lane is `away` lanes from it. It is the lane's own
     * unless lanes are narrower than what is reached. */
    VF_MEMBER REAL outside_column(int field, const REAL (&cells)[VF_WORK_X], int d, int away, bool upper)
    {
        if (VF_BOUNDARY == VF_CONSTANT)
            return vf_outside(args, field);
        const int from = folded(d), element = from % VF_WORK_X;
        const REAL value = cells[upper ? VF_WORK_X - 1 - element : element];
        if (VF_SIDE <= VF_WORK_X && from < VF_WORK_X)
            return value;
        const int lanes = VF_BOUNDARY == VF_NEAREST ? 0 : from / VF_WORK_X - away;
        return __shfl_sync(VF_ALL_LANES, value, upper ? 31 - lanes : lanes);
    }

    template <vf_zone zone> VF_MEMBER void fetch_sides(int field, int slot)
    {
        const REAL(&cells)[VF_WORK_X] = own[field][slot];
        REAL(&beside)[2 * VF_SIDE] = side[field][slot];
        VF_UNROLL for (int d = 1; d <= VF_FIELD_SIDE(field); d++)
        {
            const int away = (d + VF_WORK_X - 1) / VF_WORK_X, element = away * VF_WORK_X - d;
            REAL before = __shfl_up_sync(VF_ALL_LANES, cells[element], away),
                 behind = __shfl_down_sync(VF_ALL_LANES, cells[VF_WORK_X - 1 - element], away);
            if (zone != VF_INNER && !VF_PERIODIC) {
                const REAL low = outside_column(field, cells, d, lane, false),
                           high = outside_column(field, cells, d, 31 - lane, true);
                before = left == 0 && lane < away ? low : before;
                behind = left + VF_STRIP == args.nx && lane > 31 - away ? high : behind;
            }
            beside[VF_SIDE - d] = before;
            beside[VF_SIDE + d - 1] = behind;
        }
    }

    /* A row outside the grid takes the values of another one; both are slots. */
    VF_MEMBER void fill_row(int field, int to, int from)
    {
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) own[field][to][i] =
            VF_BOUNDARY == VF_CONSTANT ? vf_outside(args, field) : own[field][from][i];
    }

    /* Rows before the grid are filled once all rows are made that they stand for, those behind it instead of
     * being made. */
    VF_MEMBER void fill_rows(int field, int turn)
    {
        const int reach = VF_FIELD_REACH(field), age = VF_AGE(field), y = row + turn - age;
        if (y == reach) {
            VF_UNROLL for (int d = 1; d <= reach; d++)
            {
                const int slot = vf_slot(turn, age + reach + d);
                fill_row(field, slot, vf_slot(turn, age + reach - folded(d)));
                if (d <= VF_FIELD_CROSS(field))
                    fetch_sides<VF_ENDS>(field, slot);
            }
        }
        VF_UNROLL for (int d = 1; d <= reach; d++)
        {
            if (y == args.ny - 1 + d)
                fill_row(field, vf_slot(turn, age), vf_slot(turn, age + d + folded(d)));
        }
    }

    /* A field's new row is made: what stages need beside it. */
    template <vf_zone zone> VF_MEMBER void finish(int field, int turn)
    {
        if (zone == VF_ENDS && !VF_PERIODIC && VF_FIELD_REACH(field) > 0)
            fill_rows(field, turn);
        if (VF_FIELD_SIDE(field) > 0)
            fetch_sides<zone>(field, vf_slot(turn, VF_SIDE_AGE(field)));
    }

    /* ---- the sweep ---- */

    template <vf_zone zone> VF_MEMBER void take(int input, int turn)
    {
        REAL(&next)[VF_WORK_X] = ahead[input][turn % VF_AHEAD];
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) own[input][vf_slot(turn, VF_AGE(input))][i] = next[i];
        load<zone>(input, turn, VF_AHEAD - VF_AGE(input), next);
        finish<zone>(input, turn);
    }

    template <class S, vf_zone zone> VF_MEMBER void compute(int turn);

    template <vf_zone zone> VF_MEMBER void deliver(int output, int field, int turn)
    {
        store<zone>(output, turn, VF_AGE(field), own[field][vf_slot(turn, VF_AGE(field))]);
    }

    template <vf_zone zone> VF_MEMBER void sweep_row(int turn)
    {
#define VF_TAKE(k) take<zone>(k, turn);
        VF_EACH_INPUT(VF_TAKE)
#define VF_COMPUTE(s) compute<vf_stage_##s, zone>(turn);
        VF_EACH_STAGE(VF_COMPUTE)
#define VF_DELIVER(k) deliver<zone>(k, vf_sink(k), turn);
        VF_EACH_OUTPUT(VF_DELIVER)
        newest += args.pitch;
    }

    template <vf_zone zone> VF_MEMBER void sweep_turn()
    {
        VF_UNROLL for (int turn = 0; turn < VF_TURN; turn++) sweep_row<zone>(turn);
        row += VF_TURN;
    }

    /* Few rows are near the ends: one at a time, after which those that are held move on, is short code. */
    VF_MEMBER void sweep_end()
    {
        sweep_row<VF_ENDS>(0);
        row++;
        VF_UNROLL for (int f = 0; f < VF_FIELDS; f++)
        {
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) rotate(&own[f][0][i], VF_TURN, VF_WORK_X);
            VF_UNROLL for (int i = 0; i < 2 * VF_SIDE; i++) rotate(&side[f][0][i], VF_TURN, 2 * VF_SIDE);
        }
        VF_UNROLL for (int k = 0; k < VF_INPUTS; k++)
        {
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) rotate(&ahead[k][0][i], VF_AHEAD, VF_WORK_X);
        }
    }

    static VF_MEMBER void rotate(REAL *value, int count, int stride)
    {
        const REAL first = value[0];
        VF_UNROLL for (int i = 0; i + 1 < count; i++) value[i * stride] = value[(i + 1) * stride];
        value[(count - 1) * stride] = first;
    }

    /* Whether no row of the next turn is outside the grid, nor among the first and last. */
    VF_MEMBER bool is_amid()
    {
        return row > VF_LAST + VF_MOST_REACH && row + VF_TURN + VF_AHEAD <= args.ny;
    }

    VF_MEMBER void sweep(bool is_inner)
    {
        const int stop = end + VF_LAST;
        newest = vf_row(args, row, image) + x;
#define VF_SEND(k) VF_UNROLL for (int i = 0; i < VF_AHEAD; i++) load<VF_ENDS>(k, i, -VF_AGE(k), ahead[k][i]);
        VF_EACH_INPUT(VF_SEND)
        while (row < stop) {
            if (!is_amid())
                sweep_end();
            else if (is_inner)
                do
                    sweep_turn<VF_INNER>();
                while (row < stop && is_amid());
            else
                do
                    sweep_turn<VF_SIDES>();
                while (row < stop && is_amid());
        }
    }
};

/* The accessor that stage S sees: one cell of the lane's. */
template <class S, vf_zone zone> struct vf_strip_view {
    enum { short_way = 0 };
    vf_strip &strip;
    REAL &face_x; /* the upper face of the lane's cell before */
    const int turn, i;

    static VF_MEMBER constexpr int age()
    {
        return VF_AGE(S::out(0));
    }
    VF_MEMBER REAL at(int k, int, int dy, int dx)
    {
        const int field = S::in(k), slot = vf_slot(turn, age() - dy), column = i + dx;
        return column < 0            ? strip.side[field][slot][VF_SIDE + column]
               : column >= VF_WORK_X ? strip.side[field][slot][VF_SIDE + column - VF_WORK_X]
                                     : strip.own[field][slot][column];
    }
    VF_MEMBER void put(int k, REAL value)
    {
        strip.own[S::out(k)][vf_slot(turn, age())][i] = value;
    }
    VF_MEMBER REAL param(int p)
    {
        return vf_stage_param<S>(strip.args, p);
    }
    /* The row before the grid is filled only when the first one is computed. */
    template <class Lower> VF_MEMBER REAL lower_face(int axis, REAL upper, Lower lower)
    {
        REAL &kept = axis == VF_X ? face_x : strip.face[S::number][i];
        const REAL value = (axis == VF_X ? i > 0 : zone != VF_ENDS) ? kept : lower();
        kept = upper;
        return value;
    }
    VF_MEMBER void doubt(REAL)
    {
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return zone == VF_INNER ||
               (axis == VF_X ? vf_is_open(strip.x + i, strip.args.nx, upper)
                             : vf_is_open(strip.row + turn - age(), strip.args.ny, upper));
    }
};

template <class S, vf_zone zone> VF_MEMBER void vf_strip::compute(int turn)
{
    REAL face_x = REAL(0);
    VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
    {
        vf_strip_view<S, zone> view = {*this, face_x, turn, i};
        S::compute(view);
    }
    VF_UNROLL for (int k = 0; k < S::outputs; k++) finish<zone>(S::out(k), turn);
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int tile_y, int tile_z)
{
    const int x = tile_x * VF_TILE_X, left = vf_strip::first_column(args, x);
    const bool is_inner = VF_INTERIOR && left % VF_PACK == 0 && (VF_PERIODIC ? left >= 0 : left > 0) &&
                          left + VF_STRIP < args.nx + VF_PERIODIC;
    vf_strip strip(args, x, tile_y * VF_STREAM, args.z_begin + tile_z);
    strip.sweep(is_inner);
}

#include "kernels/device_entry.h"
