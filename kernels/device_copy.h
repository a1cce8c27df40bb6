/* Copies from global to shared memory. Included where vf_word<bytes>::type and VF_PACK are known. */
#ifndef VF_DEVICE_COPY_H
#define VF_DEVICE_COPY_H

/* Elements of 32 bytes, which L2 moves at once. */
#define VF_SECTOR (2 * VF_PACK)

/* ---- addresses ---- */

/* A place in shared memory, which the compiler keeps as vf_kept does. */
#ifdef VF_ON_CPU
typedef unsigned char *vf_place;
VF_INLINE vf_place vf_place_of(void *shared)
{
    return (vf_place)shared;
}
VF_INLINE void *vf_pointer(vf_place place)
{
    return place;
}
#else
typedef unsigned vf_place;
VF_INLINE vf_place vf_place_of(void *shared)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(shared);
    asm volatile("" : "+r"(at));
    return at;
}
VF_INLINE void *vf_pointer(vf_place place)
{
    return __cvta_shared_to_generic(place);
}
#endif

/* ---- copies that pass by registers ---- */

/* From global to shared memory: there for the thread after it has waited, for others after a barrier too. */
#if defined(VF_ON_CPU) || __CUDA_ARCH__ < 800
template <int bytes> VF_INLINE void vf_copy(void *to, const void *from)
{
#ifdef VF_ON_CPU
    if (bytes >= 4)
        return vf_cpu_copy(to, from, bytes);
#endif
    *(typename vf_word<bytes>::type *)to = __ldg((const typename vf_word<bytes>::type *)from);
}
template <int bytes> VF_INLINE void vf_copy_to(vf_place to, const void *from)
{
    vf_copy<bytes>(vf_pointer(to), from);
}
VF_INLINE void vf_copy_anywhere(vf_place to, const void *from)
{
    vf_copy_to<16>(to, from);
}
VF_INLINE void vf_close_copies()
{
#ifdef VF_ON_CPU
    vf_cpu_close_copies();
#endif
}
template <int groups> VF_INLINE void vf_wait_copies()
{
#ifdef VF_ON_CPU
    vf_cpu_wait_copies(groups);
#endif
}
#else
/* What others of the block, or blocks beside it, take of a line comes to L2 with it. A place should be as far
 * from a multiple of 32 bytes as its source is: else L2 is asked for each sector twice. */
template <int bytes> VF_INLINE void vf_copy_to(vf_place to, const void *from)
{
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
    else if constexpr (bytes >= 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes) : "memory");
    else
        *(typename vf_word<bytes>::type *)vf_pointer(to) = *(const typename vf_word<bytes>::type *)from;
}
/* A pack to any place: L1 asks for a sector once. */
VF_INLINE void vf_copy_anywhere(vf_place to, const void *from)
{
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
template <int bytes> VF_INLINE void vf_copy(void *to, const void *from)
{
    vf_copy_to<bytes>((unsigned)__cvta_generic_to_shared(to), from);
}
/* The copies since the last call are a group. */
VF_INLINE void vf_close_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Until all groups but the last so many are there. */
template <int groups> VF_INLINE void vf_wait_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
#endif

#endif
