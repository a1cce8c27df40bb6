#include "memory.h"

#include <stdio.h>
#include <unistd.h>

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

size_t vf_memory_free(void)
{
    size_t kib = read_size("/proc/meminfo", "MemAvailable: %llu", 0);
    size_t free = kib > 0 ? kib * 1024 : (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    /* Absent or "max" without a limit. */
    size_t limit = read_size("/sys/fs/cgroup/memory.max", "%llu", 0);
    size_t used = read_size("/sys/fs/cgroup/memory.stat", "anon %llu", 0);
    used = used < limit ? used : limit;
    if (limit > 0 && limit - used < free)
        free = limit - used;
    return free;
}

size_t vf_memory_resident(void)
{
    return read_size("/proc/self/status", "VmRSS: %llu", 0) * 1024;
}

size_t vf_memory_peak(void)
{
    return read_size("/proc/self/status", "VmHWM: %llu", 0) * 1024;
}
