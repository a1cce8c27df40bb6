/* What GPU schemes are written in. A kernel's text is, in this order: the case's constants (#define), this
 * header, the stages as src/kernel_source.c writes them, and the scheme's file, kernels/SCHEME.cu. NVRTC
 * compiles it for the device at hand; the tests compile it for the CPU.
 *
 * The constants:
 *   REAL_BITS, DIM, VF_BOUNDARY          as for stencil bodies; VF_BOUNDARY is the enum's number
 *   VF_INPUTS, VF_OUTPUTS                the arrays that are read, written
 *   VF_SMALL_INPUTS                      1: all inputs have fewer bytes than the compute type
 *   VF_FIELDS                            inputs and what the stages make
 *   VF_STAGES, VF_BODIES                 stages; those of them that are bodies
 *   VF_PARAMS, VF_PARAM_TABLE            parameters and weights of all stages; 1: too many for the kernel's
 *                                        arguments, they are in memory
 *   VF_LOOPS_TABLE                       1: a table is read in loops, at places that are not constants
 *   VF_HALO_Z, VF_HALO_Y, VF_HALO_X      how far the case reaches on its inputs (2D: z is 0)
 *   VF_BLOCK_X, _Y, _Z                   threads of a block
 *   VF_WORK_X, _Y, _Z                    cells of a thread
 *   VF_STREAM                            planes, in 2D rows, that a block streams
 *   VF_VARIANT_NAME                      for each of the scheme's variants: 1 for the one chosen, else 0
 *   VF_FLAT_GRID, VF_VIRTUAL             1: blocks are numbered along x; each block takes several tiles
 *   VF_INTERIOR                          1: tiles within the grid have code without the boundary rule
 *
 * Of inputs, outputs and stages the text has:
 *   vf_in_K, vf_out_K                    typedefs: the stored types of input K, output K
 *   VF_EACH_INPUT(F), _OUTPUT, _STAGE    F(0) F(1) ...
 *   vf_load(args, input, at)             an element, widened; vf_load_pack (device_pack.h) takes several
 *   vf_outside(args, input)              what it reads outside the grid where VF_BOUNDARY is VF_CONSTANT
 *   vf_is_image(field)                   whether that is the user's constant; else it is 0
 *   vf_sink(output)                      the field that an output holds
 *   vf_input_halo_z(input), _y, _x       how far it is read
 *   vf_stage_S, VF_TAPS_S                a struct of what is known of stage S; the weights of a linear one
 *
 * What a scheme defines: `vf_tile(args, tile x, y, z)`, which computes one tile with the whole block; last it
 * includes kernels/device_entry.h, which has the kernel itself. Where stages read neighbours of inputs alone
 * (vf_kernel_case's `shallow`), it usually makes a box, which tells where cells are read, and calls
 * vf_compute_pack (kernels/device_box.h), as the simplest scheme does, kernels/global_read.cu. That makes an
 * accessor for each cell, as other schemes do themselves, and calls vf_cell_by<true>(accessor)
 * (kernels/device_cell.h), and if that returns a NaN, vf_cell_by<false>(accessor), which is always right
 * (kernels/stencil_quotient.h says why there are two). Results are kept until then, and written by
 * vf_store_pack (device_pack.h). Accessors have:
 *   REAL read(int input, int dz, int dy, int dx)   input at an offset (2D: dz is 0)
 *   void store(int output, REAL value)             a result of the cell
 *   bool open(int axis, bool upper)                vf_is_open of the cell's place
 *   const VfArgs &args
 *   REAL lower_face(int stage, REAL upper, lower)  along the streamed axis; with VF_KEEPS_FACES alone
 *   REAL of_column(int k, int dx, value)           OF_COLUMN; with VF_KEEPS_COLUMNS alone */
#ifndef VF_DEVICE_H
#define VF_DEVICE_H

#include "kernels/device_words.h"

#define VF_DEVICE VF_INLINE
#define VF_THREADS (VF_BLOCK_X * VF_BLOCK_Y * VF_BLOCK_Z)

#include "kernels/boundary.h"

/* src/cuda_kernels.h's struct vf_kernel_args has the same layout. Planes are `plane` elements apart and rows
 * `pitch`, in every array; pitch is a multiple of 32, arrays start at a multiple of 256 bytes. In 2D each
 * plane is an image of its own: z only counts them. */
struct VfArgs {
    const void *in[16];
    void *out[16];
    long long pitch, plane;
    int nx, ny, nz;     /* the grid: boundaries are its own */
    int z_base;         /* the plane of the grid that every array begins with */
    int z_begin, z_end; /* planes to compute */
    int tiles_x, tiles_y, tiles_z;
    int unused;
    double outside; /* constant: what images read outside the grid */
    const REAL *table;
#if VF_PARAM_TABLE
    REAL param[1];
#else
    REAL param[VF_PARAMS > 0 ? VF_PARAMS : 1];
#endif
};

/* The number of a thread in its block. */
VF_INLINE int vf_thread()
{
    return ((VF_BLOCK_Z > 1 ? threadIdx.z * VF_BLOCK_Y : 0) + threadIdx.y) * VF_BLOCK_X + threadIdx.x;
}

VF_INLINE REAL vf_param(const VfArgs &args, int i)
{
#if VF_PARAM_TABLE
    return args.table[i];
#else
    return args.param[i];
#endif
}

/* Number i of stage S. Only numbers of bodies, fewer than 32, are known to be ones. */
template <class S> VF_INLINE REAL vf_stage_param(const VfArgs &args, int i)
{
    return S::ones != 0 && ((S::ones >> i) & 1) ? REAL(1) : vf_param(args, S::first_param + i);
}

/* ---- places ---- */

/* The index in [0, n) that position i reads, or -1 for the constant. */
VF_INLINE int vf_index(int i, int n)
{
    if ((unsigned)i < (unsigned)n)
        return i;
    if (VF_BOUNDARY == VF_NEAREST || n == 1)
        return i < 0 ? 0 : n - 1;
    if (VF_BOUNDARY == VF_CONSTANT)
        return -1;
    /* Step by step: places are not far outside, and a division is a hundred instructions each time. */
    do {
        if (VF_BOUNDARY == VF_REFLECT)
            i = i < 0 ? -1 - i : n - 1 - (i - n);
        else if (VF_BOUNDARY == VF_MIRROR)
            i = i < 0 ? -i : n - 2 - (i - n);
        else
            i = i < 0 ? i + n : i - n;
    } while ((unsigned)i >= (unsigned)n);
    return i;
}

/* The same of a place that is `reach` outside the grid at most. For 1 there is no branch, behind which loads
 * would wait. */
VF_INLINE int vf_index_within(int reach, int i, int n)
{
    if (reach > 1)
        return vf_index(i, n);
    const int below = VF_BOUNDARY == VF_MIRROR     ? min(1, n - 1)
                      : VF_BOUNDARY == VF_WRAP     ? n - 1
                      : VF_BOUNDARY == VF_CONSTANT ? n == 1 ? 0 : -1
                                                   : 0,
              above = VF_BOUNDARY == VF_MIRROR     ? max(n - 2, 0)
                      : VF_BOUNDARY == VF_WRAP     ? 0
                      : VF_BOUNDARY == VF_CONSTANT ? below
                                                   : n - 1;
    return i < 0 ? below : i >= n ? above : i;
}

/* Whether the grid repeats itself beyond the ends of an axis of n cells, so that schemes which compute fields
 * there compute them as inside. */
VF_INLINE bool vf_is_periodic(int n)
{
    return VF_BOUNDARY == VF_WRAP && n > 1;
}

/* Planes of a 2D case are images: there is nothing between them. */
VF_INLINE int vf_index_z(int i, int n)
{
    return DIM == 3 ? vf_index(i, n) : i;
}

/* The first element of a row of the grid in any array. */
VF_INLINE long long vf_row(const VfArgs &args, int y, int z)
{
    return (z - args.z_base) * args.plane + y * args.pitch;
}

/* Whether a box of cells at (x, y, z) and all that it reaches lie in the grid, and its planes are wanted. */
VF_INLINE bool vf_is_interior(const VfArgs &args, int x, int y, int z, int width, int height, int depth)
{
    return x >= VF_HALO_X && x + width + VF_HALO_X <= args.nx && y >= VF_HALO_Y &&
           y + height + VF_HALO_Y <= args.ny && z + depth <= args.z_end &&
           (DIM == 2 || (z >= VF_HALO_Z && z + depth + VF_HALO_Z <= args.nz));
}

/* Whether flux may cross the lower or upper face of the cell at `place` of an axis of n cells. */
VF_INLINE bool vf_is_open(int place, int n, bool upper)
{
    return place != (upper ? n - 1 : 0) ||
           !vf_boundary_is_closed(vf_boundary_axis((enum vf_boundary)VF_BOUNDARY, n));
}

/* ---- elements ---- */

/* From the compute type to a stored one: integers round to nearest, halves to even, and saturate, NaN is 0;
 * a NaN is stored as the one without sign and payload. The bounds of 32 bits are exact in double. */
template <class T> VF_INLINE T vf_to_wide(REAL value, double low, double high)
{
    const double rounded = rint((double)value);
    return value != value    ? T(0)
           : rounded <= low  ? T(low)
           : rounded >= high ? T(high)
                             : T((long long)rounded);
}

VF_INLINE void vf_put(unsigned int *to, REAL v)
{
    *to = vf_to_wide<unsigned int>(v, 0, 4294967295.0);
}
VF_INLINE void vf_put(int *to, REAL v)
{
    *to = vf_to_wide<int>(v, -2147483648.0, 2147483647.0);
}
/* 1: what is stored are sums of products. Those of floats have one NaN on the device, by PTX: 0x7fffffff, the
 * largest integer, so that a single comparison of integers makes it the stored one. */
#ifndef VF_STORES_SUMS
#define VF_STORES_SUMS (VF_STAGES > 0 && VF_BODIES == 0)
#endif

VF_INLINE void vf_put(float *to, REAL v)
{
#if VF_STORES_SUMS && REAL_BITS == 32 && !defined VF_ON_CPU
    *to = __int_as_float(min(__float_as_int(v), 0x7fc00000));
#else
    *to = v != v ? __uint_as_float(0x7fc00000u) : (float)v;
#endif
}
VF_INLINE void vf_put(double *to, REAL v)
{
    *to = v != v ? __longlong_as_double(0x7ff8000000000000ll) : (double)v;
}

#include "kernels/device_small.h"

#if VF_PAIRS
#include "kernels/device_pairs.h"
#endif

/* A stage's own accessor reads fields that earlier stages of the same cell made from registers. */
#define AT(k, dz, dy, dx) vf_view.at(k, dz, dy, dx)
#define PUT(k, value) vf_view.put(k, value)
#define PARAM(i) vf_view.param(i)
#define OPEN_LO(axis) vf_view.open(axis, false)
#define OPEN_HI(axis) vf_view.open(axis, true)
#define LOWER_FACE(axis, upper, lower) vf_view.lower_face(axis, upper, [&] { return lower; })
#if VF_KEEPS_COLUMNS
#define OF_COLUMN(k, dx, value) vf_view.of_column(k, dx, [&] { return value; })
#endif
/* Double has none, and tells of no doubt. */
#define SHORT_WAY (REAL_BITS == 32 && C::short_way)
#if REAL_BITS == 32 && VF_SMALL_INPUTS
#define ROOT_OF_STEPS(squares) (C::whole_steps ? vf_root_of_steps(squares) : SQRT(squares))
#elif REAL_BITS == 32
#define ROOT_OF_STEPS(squares) vf_root_or_0(squares)
#endif
#define DOUBT(value) vf_view.doubt(value)
#define VF_STENCIL(name) template <class C> VF_INLINE void body_##name(C &vf_view)
/* A term of a linear stage; the first is a product. */
#define VF_SUM_TAP(t, dz, dy, dx) \
    sum = (t) == 0 ? c.param(t) * c.at(k, dz, dy, dx) : FMA(c.param(t), c.at(k, dz, dy, dx), sum);

#include "kernels/stencil.h"

/* vf_is_open of the cell at (x, y, z) along an axis. */
VF_INLINE bool vf_is_cell_open(const VfArgs &args, int x, int y, int z, int axis, bool upper)
{
    return axis == VF_X   ? vf_is_open(x, args.nx, upper)
           : axis == VF_Y ? vf_is_open(y, args.ny, upper)
                          : vf_is_open(z, args.nz, upper);
}

#endif
