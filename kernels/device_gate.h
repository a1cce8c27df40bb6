/* A barrier of a block's threads that is passed in two steps: what a thread did before it arrives, all see
 * that have waited after. Between the two it may do what concerns no other, so that a warp that is late stops
 * nobody. Every thread arrives for itself: one for its warp would take a hundredth less time, but is beyond
 * compute-sanitizer's racecheck. Before compute capability 8.0 all happens in the second step. */
#ifndef VF_DEVICE_GATE_H
#define VF_DEVICE_GATE_H

#define VF_GATE_BYTES 16 /* of shared memory, as kernels/gpu_scheme.h says */

#ifdef VF_ON_CPU
struct vf_gate {
    unsigned int phase;

    VF_MEMBER vf_gate(void *memory) : phase(0)
    {
        if (vf_thread() == 0) {
            *(unsigned long long *)memory = 0; /* there is room for what a device keeps there */
            vf_cpu_open_gate();
        }
        __syncthreads();
    }
    VF_MEMBER void arrive()
    {
        vf_cpu_arrive();
    }
    VF_MEMBER void wait()
    {
        vf_cpu_wait_arrived(phase++);
    }
    VF_MEMBER void close()
    {
        __syncthreads();
    }
};
#elif __CUDA_ARCH__ < 800
struct vf_gate {
    VF_MEMBER vf_gate(void *)
    {
    }
    VF_MEMBER void arrive()
    {
    }
    VF_MEMBER void wait()
    {
        __syncthreads();
    }
    VF_MEMBER void close()
    {
    }
};
#else
struct vf_gate {
    unsigned int at, phase;

    VF_MEMBER vf_gate(void *memory) : at((unsigned int)__cvta_generic_to_shared(memory)), phase(0)
    {
        if (vf_thread() == 0)
            asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(VF_THREADS) : "memory");
        __syncthreads();
    }

    VF_MEMBER void arrive()
    {
        asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(at) : "memory");
    }

    VF_MEMBER void wait()
    {
#if __CUDA_ARCH__ >= 900
#define VF_WAIT "mbarrier.try_wait.parity.shared.b64"
#else
#define VF_WAIT "mbarrier.test_wait.parity.shared.b64"
#endif
        asm volatile("{ .reg .pred p; again: " VF_WAIT " p, [%0], %1; @!p bra again; }" ::"r"(at), "r"(phase)
                     : "memory");
#undef VF_WAIT
        phase ^= 1;
    }

    /* Before the block's shared memory serves another purpose. */
    VF_MEMBER void close()
    {
        __syncthreads();
        if (vf_thread() == 0)
            asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at) : "memory");
    }
};
#endif

#endif
