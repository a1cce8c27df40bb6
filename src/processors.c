#include "processors.h"

#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cgroup.h"

/* Two numbers from files of the same folder, or from one; false where they are not, as for "max". */
static bool read_quota(int version, const char *folder, long long *quota, long long *period)
{
    static const char *const names[2] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"};
    char path[PATH_MAX + 32];
    int count = 0;
    for (int i = 0; i < (version == 1 ? 2 : 1); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, version == 1 ? names[i] : "cpu.max");
        FILE *file = fopen(path, "r");
        if (file == NULL)
            return false;
        count += version == 1 ? fscanf(file, "%lld", i == 0 ? quota : period)
                              : fscanf(file, "%lld %lld", quota, period);
        fclose(file);
    }
    return count == 2 && *quota > 0 && *period > 0;
}

/* A part of a processor's time is one for a thread. */
static size_t group_processors(int version, const char *folder)
{
    long long quota, period;
    return read_quota(version, folder, &quota, &period) ? (size_t)((quota - 1) / period + 1) : SIZE_MAX;
}

size_t vf_processors_of_groups(const char *membership, const char *mounted)
{
    return vf_cgroup_least("cpu", group_processors, membership, mounted);
}

static size_t places; /* processors of OpenMP's places; SIZE_MAX: nothing is bound */

/* OMP_PROC_BIND, OMP_PLACES and the like have bound the main thread, which calls this, to the first of
 * OpenMP's places, which the threads that it starts would inherit: it takes them all. */
static void take_all_places(void)
{
    enum { MOST = 1 << 13 };
    static int id[MOST];
    cpu_set_t all[MOST / CPU_SETSIZE];
    places = SIZE_MAX;
    CPU_ZERO_S(sizeof all, all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        const int count = omp_get_place_num_procs(place);
        if (count > MOST)
            return;
        omp_get_place_proc_ids(place, id);
        for (int i = 0; i < count; i++)
            CPU_SET_S((size_t)id[i], sizeof all, all);
    }
    const int count = CPU_COUNT_S(sizeof all, all);
    if (count > 0 && sched_setaffinity(0, sizeof all, all) == 0)
        places = (size_t)count;
}

int vf_processors(void)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    const int most = omp_get_max_threads(), limit = omp_get_thread_limit();
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, take_all_places);
    size_t count = (size_t)(most < limit ? most : limit);
    if (asked == NULL || asked[0] == '\0') {
        count = places < count ? places : count;
        const size_t allowed = vf_processors_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
        count = allowed < count ? allowed : count;
    }
    return count < VF_MOST_THREADS ? (int)count : VF_MOST_THREADS;
}
