/* Sweeps images by several time steps, or any run of stages, at once and without barriers. A warp has a strip
 * of columns, VF_WORK_X for each lane, and streams along y. The latest rows of every field are in registers;
 * each stage is so many rows behind the sources as it needs; cells beside a lane's own columns come from
 * other lanes by shuffles. Strips overlap by what all stages together reach, and so do chunks of rows. The
 * sources' next rows are on their way to shared memory, where each lane reads only what it copied itself.
 *
 * Overlapped tiling with registers and shuffles is known from, for example, P. Chen et al., A versatile
 * software systolic execution model for GPU memory-bound kernels (2019). Here all steps of a row follow one
 * another in one warp, so that no warp waits for another. It is the fastest where single sweeps of images are
 * bound by memory and stages are cheap.
 *
 * Further constants, from the scheme. Fields have the numbers that they have in the stages; a row's age is
 * how many rows it is behind the newest row of the sources.
 *   VF_TURN                 rows in a turn of the loop, which is written out, and slots of every field: rows
 *                           grow older by renaming
 *   VF_TURNS_AHEAD          how many turns of a source's rows are on their way from memory
 *   VF_ROOM                 columns that a strip has on either side of those that it writes
 *   VF_SIDE                 how far any stage reaches along x, at least 1
 *   VF_LAST, VF_MOST_REACH  the age of the oldest result; the most rows that any stage reaches up or down
 *   VF_AGE(field)           the age at which a row is made, or taken from memory
 *   VF_FIELD_REACH(field), VF_FIELD_SIDE(field)   how far stages reach in it along y, along x
 *   VF_FIELD_CROSS(field)   how many rows above and below their own one stages read other lanes' columns
 *   VF_SIDE_AGE(field)      the age at which other lanes' columns are first read
 *   VF_WHOLE_PACKS          1: the image's rows are whole packs, so that those of every strip are aligned
 *   VF_SIDE_STREAM          rows of a chunk at the image's left and right side; VF_STREAM: of other chunks
 *   VF_END_ROWS             how many rows fewer the first and the last chunk of a strip have */
#include "kernels/device.h"
#include "kernels/device_pack.h"

#define VF_STRIP (32 * VF_WORK_X)
#define VF_TILE_X (VF_STRIP - 2 * VF_ROOM)
#define VF_ALL_LANES 0xffffffffu
/* Whether fields are also computed beyond the grid's ends, where it repeats itself. */
#define VF_PERIODIC (VF_BOUNDARY == VF_WRAP)

/* Rows of a source in shared memory: those of the present turn and of the next ones. */
#define VF_RING ((VF_TURNS_AHEAD + 1) * VF_TURN)

/* The first byte of an input's rows in shared memory. */
VF_INLINE constexpr int vf_ring_at(int input)
{
#define VF_BYTES_BEFORE(k) +(k < input ? (int)sizeof(vf_in_##k) : 0)
    return VF_RING * VF_STRIP * (0 VF_EACH_INPUT(VF_BYTES_BEFORE));
#undef VF_BYTES_BEFORE
}

/* Which slot a field's row has, from its age in row `turn` of a turn. */
VF_INLINE constexpr int vf_slot(int turn, int age)
{
    return ((turn - age) % VF_TURN + VF_TURN) % VF_TURN;
}

/* Which cells outside the grid a row, or a turn of rows, may need. */
enum vf_zone {
    VF_INNER, /* none */
    VF_SIDES, /* columns before or behind the grid's */
    VF_ENDS   /* these, and rows above or below the grid */
};

/* The rows of a strip that a warp computes. All warps start at once, and the kernel takes as long as the
 * slowest one. A row takes longer at the image's sides, top and bottom, so that a chunk there has fewer rows.
 */
struct vf_chunk {
    int strip, begin, end;

    /* An image's chunks are numbered: first those of the strips at its sides, then the others. */
    VF_MEMBER vf_chunk(const VfArgs &args, int number)
    {
        const int strips = (args.nx + VF_TILE_X - 1) / VF_TILE_X, sides = min(strips, 2),
                  inner = strips - sides, all = args.ny + 2 * VF_END_ROWS,
                  side_chunks = sides * ((all + VF_SIDE_STREAM - 1) / VF_SIDE_STREAM);
        const bool is_side = number < side_chunks;
        const int rows = is_side ? VF_SIDE_STREAM : VF_STREAM, among = is_side ? sides : inner,
                  at = is_side ? number : number - side_chunks, first = at / among * rows - VF_END_ROWS;
        strip = is_side ? at % among * (strips - 1) : 1 + at % among;
        begin = min(max(0, first), args.ny);
        end = min(args.ny, first + rows);
    }
};

struct vf_strip {
    const VfArgs &args;
    const unsigned pitch; /* of rows of cells */
    const int lane, image;
    const int tile_x;     /* the first column that the strip writes */
    const int left;       /* the first column that it has */
    const int x;          /* the lane's first column */
    const int begin, end; /* the rows that are written */
    int row;              /* the newest row of the sources when a turn begins */
    int ring_row;         /* where that is in shared memory, one of VF_RING */
    long long oldest;     /* the lane's element VF_LAST rows before it */
    const int stop;       /* `row` when all is done */
    const bool is_wanted; /* whether the lane's columns are written */
    const vf_place ring;  /* in shared memory, where the strip is in a sector as it is in memory */
    void *to[VF_OUTPUTS]; /* where `oldest` is in each output */
    REAL own[VF_FIELDS][VF_TURN][VF_WORK_X];
    REAL side[VF_FIELDS][VF_TURN][2 * VF_SIDE]; /* columns before the own ones, then those behind */
    REAL face[VF_STAGES][VF_WORK_X];            /* the values of the upper faces of the row before */

    VF_MEMBER vf_strip(const VfArgs &a, int z, const vf_chunk &chunk, unsigned char *memory)
        : args(a), pitch((unsigned)a.pitch), lane(threadIdx.x), image(z), tile_x(chunk.strip * VF_TILE_X),
          left(first_column(a, tile_x)), x(left + lane * VF_WORK_X), begin(chunk.begin), end(chunk.end),
          row(VF_PERIODIC ? begin - VF_HALO_Y : max(0, begin - VF_HALO_Y)), ring_row(0),
          oldest(vf_row(a, row - VF_LAST, z) + x), stop(end + VF_LAST),
          is_wanted((unsigned)(x - tile_x) < (unsigned)VF_TILE_X && x < a.nx),
          ring(vf_place_of(memory) + (left & VF_PACK) * (int)sizeof(REAL))
    {
    }

    /* Strips are moved into the grid, so that only the first and the last lanes have neighbours outside. */
    static VF_MEMBER int first_column(const VfArgs &args, int tile)
    {
        return VF_PERIODIC ? tile - VF_ROOM : max(0, min(tile - VF_ROOM, args.nx - VF_STRIP));
    }

    /* ---- memory ---- */

    /* Where the lane's cells of a row in shared memory are. */
    template <class T> VF_MEMBER vf_place place(int input, int at)
    {
        return ring + vf_ring_at(input) + (at * VF_STRIP + lane * VF_WORK_X) * (int)sizeof(T);
    }

    /* Begins to copy the lane's cells of a row. */
    template <vf_zone zone, class T> VF_MEMBER void copy(vf_place to, const T *from)
    {
        typedef vf_piece<T, VF_WORK_X> piece;
        if (VF_WHOLE_PACKS || zone == VF_INNER ||
            (left % VF_PACK == 0 && left >= 0 && left + VF_STRIP <= args.nx)) {
            const T *const first = from + (zone == VF_INNER ? 0 : beyond(0));
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i += piece::cells)
                vf_copy_to<piece::bytes>(to + i * (int)sizeof(T), first + i);
            return;
        }
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
            vf_copy_to<sizeof(T)>(to + i * (int)sizeof(T), from + i + beyond(i));
    }

    /* How far it is from the lane's column i to the one that is read for it. */
    VF_MEMBER int beyond(int i)
    {
        return VF_PERIODIC ? vf_index(x + i, args.nx) - (x + i) : 0;
    }

    /* Begins to copy the rows of an input for one turn, the first of which is `after` rows later than the
     * newest one: those that exist and will be needed. */
    template <vf_zone zone, class T> VF_MEMBER void send(int input, int after)
    {
        const int y = row + after - VF_AGE(input), most = VF_PERIODIC ? stop : min(stop, args.ny);
        const int at = ring_row + after;
        const vf_place to = place<T>(input, at < VF_RING ? at : at - VF_RING);
        const T *const oldest_row = vf_kept((const T *)args.in[input] + oldest);
        VF_UNROLL for (int i = 0; i < VF_TURN; i++)
        {
            if (i >= most - y || (zone == VF_ENDS && !VF_PERIODIC && y + i < 0))
                continue;
            const T *const from = vf_rows_after(oldest_row, pitch, VF_LAST + after + i - VF_AGE(input));
            copy<zone>(to + i * VF_STRIP * (int)sizeof(T),
                       VF_PERIODIC ? from + (vf_index(y + i, args.ny) - (y + i)) * args.pitch : from);
        }
    }

    template <vf_zone zone> VF_MEMBER void send_all(int after)
    {
#define VF_SEND(k) send<zone, vf_in_##k>(k, after);
        VF_EACH_INPUT(VF_SEND)
        vf_close_copies();
    }

    /* Cells beyond nx of a pack that begins in the grid go to the row's padding. */
    template <vf_zone zone, class T>
    VF_MEMBER void store(T *array, int turn, int age, const REAL (&from)[VF_WORK_X])
    {
        T *const to = vf_rows_after(array, pitch, turn + VF_LAST - age);
        const bool is_due = (unsigned)(row - begin + (turn - age)) < (unsigned)(end - begin);
        if (VF_WHOLE_PACKS || zone == VF_INNER || left % VF_PACK == 0) {
            vf_write_pack_if(is_due && is_wanted, to, from);
            return;
        }
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
        {
            if (is_due && (unsigned)(x + i - tile_x) < (unsigned)VF_TILE_X)
                vf_put(to + i, from[i]);
        }
    }

    /* ---- other lanes' columns, and what is outside the grid ---- */

    /* Which cell, counted from the end of the grid, is read for the one `d` cells beyond that end. */
    static VF_MEMBER constexpr int folded(int d)
    {
        return VF_BOUNDARY == VF_NEAREST ? 0 : VF_BOUNDARY == VF_REFLECT ? d - 1 : d;
    }

    /* The value `d` columns beyond the grid's end, if this lane is `away` lanes from that end. The lane has
     * it itself, unless it has fewer columns than are reached. */
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

    /* Gets the columns beside the lane's own, in one row. */
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

    /* Fills a row outside the grid: slot `to` from slot `from`. */
    VF_MEMBER void fill_row(int field, int to, int from)
    {
        VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) own[field][to][i] =
            VF_BOUNDARY == VF_CONSTANT ? vf_outside(args, field) : own[field][from][i];
    }

    /* Fills rows outside the grid: those before it when all rows are made that they are equal to, those
     * behind it when they would be made. */
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

    /* When a field's new row is made: gets what stages need beside it. */
    template <vf_zone zone> VF_MEMBER void finish(int field, int turn)
    {
        if (zone == VF_ENDS && !VF_PERIODIC && VF_FIELD_REACH(field) > 0)
            fill_rows(field, turn);
        if (VF_FIELD_SIDE(field) > 0)
            fetch_sides<zone>(field, vf_slot(turn, VF_SIDE_AGE(field)));
    }

    /* A recursion, not a loop over k: the compiler unrolls inner loops first, whose counts would depend on k.
     */
    template <class S, vf_zone zone, int k = 0> VF_MEMBER void finish_results(int turn)
    {
        if constexpr (k < S::outputs) {
            finish<zone>(S::out(k), turn);
            finish_results<S, zone, k + 1>(turn);
        }
    }

    /* ---- the sweep ---- */

    /* Takes the newest row of an input from shared memory. */
    template <vf_zone zone, class T> VF_MEMBER void take(int input, int turn)
    {
        vf_read_place<T>(place<T>(input, ring_row + turn), own[input][vf_slot(turn, VF_AGE(input))]);
        finish<zone>(input, turn);
    }

    template <class S, vf_zone zone> VF_MEMBER void compute(int turn);
    template <class S, vf_zone zone, bool is_short> VF_MEMBER REAL compute_cells(int turn, REAL *face_above);

    template <vf_zone zone> VF_MEMBER void sweep_row(int turn)
    {
#define VF_TAKE(k) take<zone, vf_in_##k>(k, turn);
        VF_EACH_INPUT(VF_TAKE)
#define VF_COMPUTE(s) compute<vf_stage_##s, zone>(turn);
        VF_EACH_STAGE(VF_COMPUTE)
#define VF_DELIVER(k)                                          \
    store<zone>((vf_out_##k *)to[k], turn, VF_AGE(vf_sink(k)), \
                own[vf_sink(k)][vf_slot(turn, VF_AGE(vf_sink(k)))]);
        VF_EACH_OUTPUT(VF_DELIVER)
    }

    /* Finds where results go. */
    VF_MEMBER void aim()
    {
#define VF_AIM(k) to[k] = vf_kept((vf_out_##k *)args.out[k] + oldest);
        VF_EACH_OUTPUT(VF_AIM)
    }

    /* Waits for the turn's rows, and begins to copy others to where those of the turn before were. */
    template <vf_zone zone> VF_MEMBER void begin_turn()
    {
        vf_wait_copies<VF_TURNS_AHEAD - 1>();
        send_all<zone>(VF_TURNS_AHEAD * VF_TURN);
    }

    /* So many rows are done. */
    VF_MEMBER void move_on(int rows)
    {
        row += rows;
        oldest += rows * args.pitch;
        ring_row = ring_row + rows == VF_RING ? 0 : ring_row + rows;
    }

    template <vf_zone zone> VF_MEMBER void sweep_turn()
    {
        begin_turn<zone>();
        aim();
        VF_UNROLL for (int turn = 0; turn < VF_TURN; turn++) sweep_row<zone>(turn);
        move_on(VF_TURN);
    }

    /* One row near the grid's ends. Since these are few, short code counts more: rows are moved from slot to
     * slot, and not renamed in a turn that is written out. */
    VF_MEMBER void sweep_end()
    {
        if (ring_row % VF_TURN == 0)
            begin_turn<VF_ENDS>();
        aim();
        sweep_row<VF_ENDS>(0);
        move_on(1);
        VF_UNROLL for (int f = 0; f < VF_FIELDS; f++)
        {
            VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) rotate(&own[f][0][i], VF_TURN, VF_WORK_X);
            VF_UNROLL for (int i = 0; i < 2 * VF_SIDE; i++) rotate(&side[f][0][i], VF_TURN, 2 * VF_SIDE);
        }
    }

    /* Moves `count` values, `stride` apart, one place down, and the first to the end. */
    static VF_MEMBER void rotate(REAL *value, int count, int stride)
    {
        const REAL first = value[0];
        VF_UNROLL for (int i = 0; i + 1 < count; i++) value[i * stride] = value[(i + 1) * stride];
        value[(count - 1) * stride] = first;
    }

    /* How many turns from here on need no rows outside the grid. */
    VF_MEMBER int turns_amid()
    {
        const int all = (stop - row + VF_TURN - 1) / VF_TURN;
        if (VF_PERIODIC)
            return all;
        return row <= VF_LAST + VF_MOST_REACH || ring_row % VF_TURN != 0
                   ? 0
                   : min(all, (args.ny - row) / VF_TURN);
    }

    VF_MEMBER void sweep(bool is_inner)
    {
        VF_UNROLL for (int i = 0; i < VF_TURNS_AHEAD; i++) send_all<VF_ENDS>(i * VF_TURN);
        while (row < stop) {
            const int turns = turns_amid();
            if (turns <= 0)
                sweep_end();
            else if (is_inner)
                for (int i = 0; i < turns; i++)
                    sweep_turn<VF_INNER>();
            else
                for (int i = 0; i < turns; i++)
                    sweep_turn<VF_SIDES>();
        }
        /* Rows beyond the end were asked for: they must be there before those of another tile are. */
        vf_wait_copies<0>();
    }
};

/* The accessor that stage S sees: one of the lane's cells. */
template <class S, vf_zone zone, bool is_short> struct vf_strip_view {
    enum { short_way = is_short, whole_steps = 0 };
    vf_strip &strip;
    REAL &face_x;     /* the upper face of the lane's cell before */
    REAL *face_above; /* upper faces along y of the row's cells, for the next row */
    const int turn, i;
    REAL in_doubt;

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
    /* Near the ends faces along y are computed again: the row before the grid is filled only when the first
     * row is computed, so that no row before has had the first one's lower face. */
    template <class Lower> VF_MEMBER REAL lower_face(int axis, REAL upper, Lower lower)
    {
        const REAL kept = axis == VF_X ? face_x : strip.face[S::number][i];
        (axis == VF_X ? face_x : face_above[i]) = upper;
        return (axis == VF_X ? i > 0 : zone != VF_ENDS) ? kept : lower();
    }
    VF_MEMBER void doubt(REAL value)
    {
        in_doubt = in_doubt + value;
    }
    VF_MEMBER bool open(int axis, bool upper)
    {
        return zone == VF_INNER ||
               (axis == VF_X ? vf_is_open(strip.x + i, strip.args.nx, upper)
                             : vf_is_open(strip.row + turn - age(), strip.args.ny, upper));
    }
};

/* Returns NaN if a short way left a result in doubt. */
template <class S, vf_zone zone, bool is_short>
VF_MEMBER REAL vf_strip::compute_cells(int turn, REAL *face_above)
{
    REAL face_x = REAL(0), in_doubt = REAL(0);
    VF_UNROLL for (int i = 0; i < VF_WORK_X; i++)
    {
        vf_strip_view<S, zone, is_short> view = {*this, face_x, face_above, turn, i, in_doubt};
        S::compute(view);
        in_doubt = view.in_doubt;
    }
    return in_doubt;
}

/* The few rows at the grid's ends are computed the long way at once, which is less code. */
template <class S, vf_zone zone> VF_MEMBER void vf_strip::compute(int turn)
{
    REAL face_above[VF_WORK_X] = {};
    const REAL in_doubt = compute_cells<S, zone, zone != VF_ENDS>(turn, face_above);
    if (zone != VF_ENDS && in_doubt != in_doubt)
        compute_cells<S, zone, false>(turn, face_above);
    VF_UNROLL for (int i = 0; i < VF_WORK_X; i++) face[S::number][i] = face_above[i];
    finish_results<S, zone>(turn);
}

VF_INLINE void vf_tile(const VfArgs &args, int tile_x, int, int tile_z)
{
    VF_SHARED_MEMORY(memory);
    vf_strip strip(args, args.z_begin + tile_z, vf_chunk(args, tile_x), memory);
    const int left = strip.left;
    strip.sweep(VF_INTERIOR && left % VF_PACK == 0 && (VF_PERIODIC ? left >= 0 : left > 0) &&
                left + VF_STRIP < args.nx + VF_PERIODIC);
}

#include "kernels/device_entry.h"
