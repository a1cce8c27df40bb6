/* A box of cells whose neighbourhood is read through L1 and L2 (kernels/device_box.h says what a box is).
 * Included after device_box.h. VF_BOX_HALO_X, _Y, _Z: how far it is read, the case's halo if not defined. */
#ifndef VF_DEVICE_GLOBAL_H
#define VF_DEVICE_GLOBAL_H

#ifndef VF_BOX_HALO_X
#define VF_BOX_HALO_X VF_HALO_X
#define VF_BOX_HALO_Y VF_HALO_Y
#define VF_BOX_HALO_Z VF_HALO_Z
#endif

/* Rows and columns outside the grid are looked up once for a box, if few enough for registers, and known by
 * constants. */
#define VF_MOST_PLACES (VF_LOOPS_TABLE ? 0 : 24)

template <bool kept, int from, int count> struct vf_places {
    int place[count];

    VF_MEMBER void find(int origin, int n, bool through)
    {
        VF_UNROLL for (int i = 0; i < count; i++) place[i] =
            through ? origin + from + i : vf_index(origin + from + i, n);
    }
    VF_MEMBER int at(int offset, int, int, bool) const
    {
        return place[offset - from];
    }
};

template <int from, int count> struct vf_places<false, from, count> {
    VF_MEMBER void find(int, int, bool)
    {
    }
    VF_MEMBER int at(int offset, int origin, int n, bool through) const
    {
        return through ? origin + offset : vf_index(origin + offset, n);
    }
};

template <int halo, int cells> struct vf_axis_places {
    typedef vf_places<(cells + 2 * halo <= VF_MOST_PLACES), -halo, cells + 2 * halo> type;
};

/* With a small halo a box may reach beyond the grid's columns: the few cells beside a pack are read one by
 * one anyway. */
#define VF_BESIDE (VF_BOX_PACK > 1 && VF_BOX_HALO_X <= 2)

/* whole: all that the box reaches is in the grid, but for columns beside a pack if VF_BESIDE. */
template <bool whole, int rows = 1, int planes = 1> struct vf_global_box {
    enum { reads_before = whole && VF_BODIES > 0 };
    const VfArgs &args;
    int x, y, z;
    long long first;
    typename vf_axis_places<VF_BOX_HALO_X, VF_BOX_PACK>::type at_x;
    typename vf_axis_places<VF_BOX_HALO_Y, rows>::type at_y;
    typename vf_axis_places<VF_BOX_HALO_Z, planes>::type at_z;

    VF_MEMBER vf_global_box(const VfArgs &args_, int x_, int y_, int z_)
        : vf_global_box(args_, x_, y_, z_, vf_row(args_, y_, z_) + x_)
    {
    }
    VF_MEMBER vf_global_box(const VfArgs &args_, int x_, int y_, int z_, long long first_)
        : args(args_), x(x_), y(y_), z(z_), first(first_)
    {
        if (!whole || VF_BESIDE)
            at_x.find(x, args.nx, false);
        if (!whole) {
            at_y.find(y, args.ny, false);
            at_z.find(z, args.nz, DIM == 2);
        }
    }

    VF_MEMBER REAL read(int input, int k, int j, int i, int dx) const
    {
        if (whole)
            return in_row(input, first, k * args.plane + j * args.pitch, i, dx);
        const int row_z = at_z.at(k, z, args.nz, DIM == 2), row_y = at_y.at(j, y, args.ny, false);
        if (VF_BOUNDARY == VF_CONSTANT && (row_z < 0 || row_y < 0))
            return vf_outside(args, input);
        return in_row(input, vf_row(args, row_y, row_z) + x, 0, i, dx);
    }

    /* The row has the box's first column so many elements after `at`. */
    VF_MEMBER REAL in_row(int input, long long at, long long after, int i, int dx) const
    {
        const int column = i + dx;
        const bool own = VF_BOX_PACK > 1 && column >= 0 && column < VF_BOX_PACK;
        REAL pack[VF_BOX_PACK], one[1];
        /* Of the own pack all cells are in the grid but those beyond nx, which only dx > 0 reaches. */
        if (whole ? own || !VF_BESIDE : own && (dx <= 0 || x + column < args.nx)) {
            const int start = vf_round_down(column, VF_BOX_PACK);
            vf_load_pack_near(args, input, at, after + start, pack);
            return pack[column - start];
        }
        const int place = at_x.at(column, x, args.nx, false);
        if (VF_BOUNDARY == VF_CONSTANT && place < 0)
            return vf_outside(args, input);
        vf_load_pack_near(args, input, at, after + (place - x), one);
        return one[0];
    }

    VF_MEMBER bool open(int axis, bool upper, int k, int j, int i) const
    {
        return (whole && (axis != VF_X || !VF_BESIDE)) ||
               vf_is_cell_open(args, x + i, y + j, z + k, axis, upper);
    }
};

#endif
