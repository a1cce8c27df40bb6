#include "caches.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USUAL_NEAR ((size_t)1 << 20)
#define USUAL_FAR ((size_t)8 << 20)

static size_t told_or(int name, size_t otherwise)
{
    const long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}

struct vf_caches vf_caches(void)
{
    const char *asked = getenv("VOLFILTER_CPU_CACHES");
    struct vf_caches caches;
    if (asked != NULL && sscanf(asked, "%zu,%zu", &caches.near, &caches.far) == 2)
        return caches;
    caches.near = told_or(_SC_LEVEL2_CACHE_SIZE, USUAL_NEAR);
    caches.far = told_or(_SC_LEVEL3_CACHE_SIZE, USUAL_FAR);
    return caches;
}
