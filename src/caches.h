/* The processor's caches, which plans for the CPU suit. */
#ifndef VF_CACHES_H
#define VF_CACHES_H

#include <stddef.h>

struct vf_caches {
    size_t near; /* bytes of the second cache, which is one core's own */
    size_t far;  /* and of the third, which cores share */
};

/* As the system tells them, or a usual size where it does not. With VOLFILTER_CPU_CACHES="NEAR,FAR" in the
 * environment, bytes, those: for tests of what a plan makes of a processor. */
struct vf_caches vf_caches(void);

#endif
