/* Packs: neighbouring cells of a row that are moved at once. VF_PACK cells of the compute type have 16 bytes.
 * A pack begins at a multiple of its number of cells; rows are aligned so that this makes one access, which
 * ends within the row's padding at the latest. */
#ifndef VF_DEVICE_PACK_H
#define VF_DEVICE_PACK_H

#define VF_PACK (128 / REAL_BITS)

/* The largest piece of N elements that is one access. */
template <class T, int N> struct vf_piece {
    enum { bytes = N * sizeof(T) > 16 ? 16 : N * sizeof(T), cells = bytes / sizeof(T) };
    static_assert(N % cells == 0, "a whole number of pieces");
    typedef typename vf_word<bytes>::type word;
    union view {
        word whole;
        T element[cells];
    };
};

/* Inputs are read as constants (__ldg), since kernels do not write what they read: so the compiler loads a
 * pack once that several cells of a thread need. */
template <class T, int N> VF_INLINE void vf_read_pack(const T *from, REAL (&to)[N])
{
    typedef vf_piece<T, N> piece;
    VF_UNROLL for (int first = 0; first < N; first += piece::cells)
    {
        typename piece::view view;
        view.whole = __ldg((const typename piece::word *)(from + first));
        vf_widen_cells(view.element, to + first);
    }
}

/* The pack's cells from `first` on, as they are stored. */
template <class T, int N> VF_INLINE typename vf_piece<T, N>::word vf_stored(const REAL (&from)[N], int first)
{
    typename vf_piece<T, N>::view view;
    vf_narrow_cells(from + first, view.element);
    return view.whole;
}

template <class T, int N> VF_INLINE void vf_write_pack(T *to, const REAL (&from)[N])
{
    typedef vf_piece<T, N> piece;
    VF_UNROLL for (int first = 0; first < N; first += piece::cells)
        __stwb((typename piece::word *)(to + first), vf_stored<T, N>(from, first));
}

/* Writes if `is_wanted`. Only the store depends on that: a branch would be around the conversion too. */
template <class T, int N> VF_INLINE void vf_write_pack_if(bool is_wanted, T *to, const REAL (&from)[N])
{
    typedef vf_piece<T, N> piece;
    VF_UNROLL for (int first = 0; first < N; first += piece::cells)
    {
        typename piece::word word = vf_stored<T, N>(from, first);
        vf_settle(word);
        if (is_wanted)
            __stwb((typename piece::word *)(to + first), word);
    }
}

template <class A, class B> struct vf_same {
    enum { yes = 0 };
};
template <class A> struct vf_same<A, A> {
    enum { yes = 1 };
};

/* Whether all inputs are of one type, so that the compiler need not make a choice at every access. */
#define VF_IS_LIKE_FIRST(k) &&vf_same<vf_in_##k, vf_in_0>::yes
enum { vf_inputs_alike = true VF_EACH_INPUT(VF_IS_LIKE_FIRST) };
#undef VF_IS_LIKE_FIRST

/* Loads the pack at from(p), p being where the input begins. Cells beyond nx are padding, of any value. */
template <int N, class From>
VF_INLINE void vf_load_pack_from(const VfArgs &args, int input, From from, REAL (&to)[N])
{
    if constexpr (vf_inputs_alike)
        vf_read_pack(from((const vf_in_0 *)args.in[input]), to);
    else {
#define VF_LOAD_OF(k) \
    if (input == k)   \
        return vf_read_pack(from((const vf_in_##k *)args.in[k]), to);
        VF_EACH_INPUT(VF_LOAD_OF)
#undef VF_LOAD_OF
    }
}

/* `at`: the element of the first cell. */
template <int N> VF_INLINE void vf_load_pack(const VfArgs &args, int input, long long at, REAL (&to)[N])
{
    vf_load_pack_from(
        args, input, [&](auto *in) { return in + at; }, to);
}

/* The pack `after` elements after `at`. For several packs near one place: its address is computed once. */
template <int N>
VF_INLINE void vf_load_pack_near(const VfArgs &args, int input, long long at, long long after, REAL (&to)[N])
{
    vf_load_pack_from(
        args, input, [&](auto *in) { return vf_fixed(in + at) + after; }, to);
}

/* A whole pack, even where it ends beyond nx, in the row's padding. */
template <int N>
VF_INLINE void vf_store_pack(const VfArgs &args, int output, long long at, const REAL (&from)[N])
{
#define VF_STORE_OF(k) \
    if (output == k)   \
        return vf_write_pack((vf_out_##k *)args.out[k] + at, from);
    VF_EACH_OUTPUT(VF_STORE_OF)
#undef VF_STORE_OF
}

/* Stores at to(p), p being where the output begins, if it is wanted. */
template <int N, class To>
VF_INLINE void vf_store_pack_if(bool is_wanted, const VfArgs &args, int output, To to, const REAL (&from)[N])
{
#define VF_STORE_OF(k) \
    if (output == k)   \
        return vf_write_pack_if(is_wanted, to((vf_out_##k *)args.out[k]), from);
    VF_EACH_OUTPUT(VF_STORE_OF)
#undef VF_STORE_OF
}

/* ---- packs in shared memory ---- */

#if REAL_BITS == 64
typedef double2 vf_vector;
VF_INLINE REAL vf_element(const vf_vector &v, int i)
{
    return i == 0 ? v.x : v.y;
}
VF_INLINE vf_vector vf_make_vector(const REAL (&from)[VF_PACK])
{
    return make_double2(from[0], from[1]);
}
#else
typedef float4 vf_vector;
VF_INLINE REAL vf_element(const vf_vector &v, int i)
{
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
VF_INLINE vf_vector vf_make_vector(const REAL (&from)[VF_PACK])
{
    return make_float4(from[0], from[1], from[2], from[3]);
}
#endif

VF_INLINE void vf_set_pack(REAL *to, const REAL (&from)[VF_PACK])
{
    *(vf_vector *)to = vf_make_vector(from);
}
VF_INLINE void vf_set_pack(REAL *to, const REAL (&from)[1])
{
    *to = from[0];
}

template <int N> VF_INLINE void vf_get_cells(const REAL *from, REAL (&to)[N])
{
    typedef vf_piece<REAL, N> piece;
    VF_UNROLL for (int first = 0; first < N; first += piece::cells)
    {
        typename piece::view view;
        view.whole = *(const typename piece::word *)(from + first);
        VF_UNROLL for (int i = 0; i < piece::cells; i++) to[first + i] = view.element[i];
    }
}

#include "kernels/device_copy.h"

template <class T, int N> VF_INLINE void vf_read_place(vf_place from, REAL (&to)[N])
{
    typedef vf_piece<T, N> piece;
    VF_UNROLL for (int first = 0; first < N; first += piece::cells)
    {
        typename piece::view view;
        view.whole = *(const typename piece::word *)vf_pointer(from + first * (int)sizeof(T));
        vf_widen_cells(view.element, to + first);
    }
}

VF_INLINE void vf_copy_pack(REAL *to, const REAL *from)
{
    vf_copy_anywhere(vf_place_of(to), from);
}
VF_INLINE void vf_wait_copies()
{
    vf_close_copies();
    vf_wait_copies<0>();
}

#endif
