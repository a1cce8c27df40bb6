/* The processor's caches, which plans for the CPU suit. */
#ifndef VF_CACHES_H
#define VF_CACHES_H

#include <stdbool.h>
#include <stddef.h>

struct vf_caches {
    size_t near;      /* bytes of the second cache, which is one core's own */
    size_t far;       /* and of the third, which cores share */
    bool is_far_slow; /* a core is given less than half of what others are of the third */
};

/* As the system tells them, or a usual size where it does not. With VOLFILTER_CPU_CACHES="NEAR,FAR" or
 * "NEAR,FAR,slow" in the environment, bytes, those: for tests of what is made of a processor. */
struct vf_caches vf_caches(void);

#endif
