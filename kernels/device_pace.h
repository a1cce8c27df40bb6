/* Keeps blocks in step that go through the same planes side by side, all of them at once. Left alone they
 * drift apart; then many planes are read and written at once, which takes memory longer, and what neighbours
 * have read is gone from L2. A block waits when it would be a period ahead of the last one.
 *
 * This is a hint: if others are not running, a block soon goes on without them. */
#ifndef VF_DEVICE_PACE_H
#define VF_DEVICE_PACE_H

#define VF_PACE_PLANES 4 /* between two calls of turn() */
#define VF_PACE_TURNS 2  /* of a period */
#define VF_PATIENCE 64   /* how often a block asks in vain before it goes on, and waits no more */

#if !defined(VF_ON_CPU) && __CUDA_ARCH__ < 800
struct vf_pace {
    VF_MEMBER vf_pace(const VfArgs &, int, unsigned int)
    {
    }
    VF_MEMBER void turn()
    {
    }
    VF_MEMBER void close()
    {
    }
};
#else
/* How many periods blocks have begun, all together; 0 between launches. */
__device__ unsigned int vf_periods_begun;

/* Adds 1, or begins again at 0 after `last`. */
VF_INLINE void vf_count_around(unsigned int *count, unsigned int last)
{
#ifdef VF_ON_CPU
    vf_cpu_count_around(count, last);
#else
    asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" ::"l"(count), "r"(last) : "memory");
#endif
}

VF_INLINE unsigned int vf_read_count(const unsigned int *count)
{
#ifdef VF_ON_CPU
    return __atomic_load_n(count, __ATOMIC_RELAXED);
#else
    unsigned int value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(count) : "memory");
    return value;
#endif
}

VF_INLINE unsigned int vf_multiprocessors()
{
#ifdef VF_ON_CPU
    return 132;
#else
    unsigned int count;
    asm("mov.u32 %0, %%nsmid;" : "=r"(count));
    return count;
#endif
}

struct vf_pace {
    const unsigned int blocks;
    unsigned int last;      /* what the count is before the last block's last addition */
    unsigned int due, seen; /* what it must be when the next period begins; what it was when asked for */
    int turns, patience;
    const bool is_leader; /* the block's first warp, all of whose threads do the same */

    /* Of blocks that go through so many planes, if a multiprocessor holds `resident` of them. */
    VF_MEMBER vf_pace(const VfArgs &args, int planes, unsigned int resident)
        : blocks(gridDim.x * gridDim.y * gridDim.z), due(0), seen(0), turns(0), patience(VF_PATIENCE),
          is_leader(vf_thread() < 32 && args.tiles_z == 1 && blocks <= resident * vf_multiprocessors())
    {
        const int period = VF_PACE_PLANES * VF_PACE_TURNS;
        last = blocks * ((planes + period - 1) / period + 1) - 1;
    }

    VF_MEMBER void add()
    {
        if (vf_thread() == 0)
            vf_count_around(&vf_periods_begun, last);
    }

    /* Called every VF_PACE_PLANES planes. The count is asked for a turn before it is needed, so that a block
     * which is not ahead waits for nothing. */
    VF_MEMBER void turn()
    {
        if (is_leader) {
            const int phase = turns++ % VF_PACE_TURNS;
            if (phase == 0) {
                for (; __shfl_sync(0xffffffffu, seen, 0) < due && patience > 0; patience--)
                    seen = vf_read_count(&vf_periods_begun);
                patience = patience > 0 ? VF_PATIENCE : 0;
                due += blocks;
                add();
            } else if (phase == VF_PACE_TURNS - 1) {
                seen = vf_read_count(&vf_periods_begun);
            }
        }
        __syncwarp();
    }

    VF_MEMBER void close()
    {
        if (is_leader)
            add();
    }
};
#endif

#endif
