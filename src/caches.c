#include "caches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_NEAR ((size_t)1 << 20)
#define USUAL_FAR ((size_t)8 << 20)

static size_t told_or(int name, size_t otherwise)
{
    const long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}

/* Intel's processors with AVX-512 are meshes of cores, each of which reads 22 to 25 GB/s of the third cache.
 * Others of Intel's were not measured. */
static bool is_mesh(void)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

struct vf_caches vf_caches(void)
{
    const char *asked = getenv("VOLFILTER_CPU_CACHES");
    struct vf_caches caches;
    if (asked != NULL && sscanf(asked, "%zu,%zu", &caches.near, &caches.far) == 2) {
        caches.is_far_slow = strstr(asked, ",slow") != NULL;
        return caches;
    }
    caches.near = told_or(_SC_LEVEL2_CACHE_SIZE, USUAL_NEAR);
    caches.far = told_or(_SC_LEVEL3_CACHE_SIZE, USUAL_FAR);
    caches.is_far_slow = is_mesh();
    return caches;
}
