#include "memory.h"

#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alloc.h"
#include "cgroup.h"
#include "size.h"

/* The first number of a file's first line that `format` reads, or `otherwise`. */
static size_t read_size(const char *path, const char *format, size_t otherwise)
{
    char line[256];
    unsigned long long value;
    size_t found = otherwise;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, format, &value) == 1) {
            found = (size_t)value;
            break;
        }
    if (file != NULL)
        fclose(file);
    return found;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What is left below a limit. */
static size_t rest(size_t limit, size_t used)
{
    return limit - least(used, limit);
}

static size_t read_group(const char *folder, const char *file, const char *format, size_t otherwise)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return read_size(path, format, otherwise);
}

/* What a control group leaves; its limits are absent or "max" where it has none. Above memory.high it is
 * slowed down until it is below. Files in memory, as in /dev/shm, do not make way as others do. */
static size_t group_free(int version, const char *folder)
{
    static const char stat[] = "memory.stat";
    const bool first = version == 1;
    size_t limit = read_group(folder, first ? "memory.limit_in_bytes" : "memory.max", "%llu", SIZE_MAX);
    if (!first)
        limit = least(limit, read_group(folder, "memory.high", "%llu", SIZE_MAX));
    if (limit == SIZE_MAX)
        return SIZE_MAX;
    limit = rest(limit, read_group(folder, stat, first ? "total_rss %llu" : "anon %llu", 0));
    return rest(limit, read_group(folder, stat, first ? "total_shmem %llu" : "shmem %llu", 0));
}

size_t vf_memory_groups_free(const char *membership, const char *mounted)
{
    return vf_cgroup_least("memory", group_free, membership, mounted);
}

static size_t soft_limit(int of)
{
    struct rlimit limit;
    return getrlimit(of, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (size_t)limit.rlim_cur : SIZE_MAX;
}

/* What is left of those that ulimit -v and -d allow; SIZE_MAX: there are no limits. The latter counts what is
 * private and may be written to. */
static size_t addresses_left(void)
{
    const size_t all = soft_limit(RLIMIT_AS), data = soft_limit(RLIMIT_DATA);
    const size_t left =
        all == SIZE_MAX ? all : rest(all, read_size("/proc/self/status", "VmSize: %llu", 0) * 1024);
    return data == SIZE_MAX
               ? left
               : least(left, rest(data, read_size("/proc/self/status", "VmData: %llu", 0) * 1024));
}

#ifdef __GLIBC__
/* Threads that start from now on have less stack than usual; a larger one was asked for. */
static void limit_stacks(void)
{
    enum { ENOUGH = 1 << 20, USUAL = 8 << 20 };
    pthread_attr_t usual;
    size_t bytes;
    if (pthread_getattr_default_np(&usual) != 0)
        return;
    if (pthread_attr_getstacksize(&usual, &bytes) == 0 && bytes > ENOUGH && bytes <= USUAL &&
        pthread_attr_setstacksize(&usual, ENOUGH) == 0)
        pthread_setattr_default_np(&usual);
    pthread_attr_destroy(&usual);
}

enum { MAIN_STACK = 384 << 10 };

/* A function of its own: one that has so much on the stack may touch it where it begins. */
static __attribute__((noinline)) void touch_stack(void)
{
    enum { PAGE = 4096 };
    char room[MAIN_STACK];
    volatile char *const at = room;
    for (size_t i = 0; i < MAIN_STACK; i += PAGE)
        at[i] = 0;
}

/* The main thread's stack grows as it is used, where there are addresses left: it is taken before threads
 * take these. Where there is no room for it, what asks for memory next says so. */
static void grow_stack(void)
{
    struct rlimit stack;
    const size_t own = read_size("/proc/self/status", "VmStk: %llu", SIZE_MAX / 1024) * 1024;
    if (addresses_left() >= 2 * MAIN_STACK && getrlimit(RLIMIT_STACK, &stack) == 0 &&
        (stack.rlim_cur == RLIM_INFINITY || rest((size_t)stack.rlim_cur, own) >= 2 * MAIN_STACK))
        touch_stack();
}
#endif

void vf_memory_spare_addresses(void)
{
#ifdef __GLIBC__
    if (addresses_left() == SIZE_MAX)
        return;
    mallopt(M_ARENA_MAX, 1);
    limit_stacks();
    grow_stack();
#endif
}

static size_t stack_bytes(void)
{
    size_t bytes = 0;
    pthread_attr_t usual;
    if (pthread_attr_init(&usual) == 0) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes;
}

/* ulimit -v counts addresses, whether they are used or not: those of stacks too. Where not all threads'
 * stacks fit, fewer threads start, and it cannot be told how many. */
static size_t addresses_free(int threads)
{
    size_t stacks;
    const size_t free = addresses_left();
    if (free == SIZE_MAX)
        return SIZE_MAX;
    return vf_size_mul(stack_bytes(), (size_t)threads, &stacks) && stacks < free ? free - stacks : free;
}

size_t vf_memory_free(int threads)
{
    const size_t kib = read_size("/proc/meminfo", "MemAvailable: %llu", 0);
    const size_t free =
        kib > 0 ? kib * 1024 : (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return least(
        free, least(vf_memory_groups_free("/proc/self/cgroup", "/sys/fs/cgroup"), addresses_free(threads)));
}

size_t vf_memory_resident(void)
{
    return read_size("/proc/self/status", "VmRSS: %llu", 0) * 1024;
}

void vf_memory_be_generous(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

void vf_memory_be_sparing(void)
{
    vf_alloc_keep_nothing();
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* which otherwise grows to 32 MiB */
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
    malloc_trim(0);
#endif
}

size_t vf_memory_peak(void)
{
    return read_size("/proc/self/status", "VmHWM: %llu", 0) * 1024;
}
