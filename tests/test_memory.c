/* What control groups and limits allow, from files as Linux has them. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "io_samples.h"
#include "memory.h"
#include "processors.h"

TestSuite(memory, .init = samples_begin, .fini = samples_end);

static void put(const char *name, const char *text)
{
    sample_put(sample_path(name), text, strlen(text));
}

static size_t groups_free(const char *membership)
{
    put("membership", membership);
    return vf_memory_groups_free(sample_path("membership"), sample_path("."));
}

/* With a limit that is 64 MiB above what `label` of the process' status says. */
static void check_limit(int of, const char *label)
{
    char line[256];
    unsigned long long taken = 0;
    FILE *file = fopen("/proc/self/status", "r");
    cr_assert_not_null(file);
    while (taken == 0 && fgets(line, sizeof line, file) != NULL)
        sscanf(line, label, &taken);
    fclose(file);
    const struct rlimit limit = {(taken << 10) + (64 << 20), RLIM_INFINITY};
    cr_assert_eq(setrlimit(of, &limit), 0);
    const size_t left = vf_memory_free(0);
    cr_expect(left > 32 << 20 && left <= 64 << 20, "%zu", left);
    cr_expect_lt(vf_memory_free(1), left, "a thread has a stack");
}

/* ulimit -v */
Test(memory, limit_of_addresses)
{
    check_limit(RLIMIT_AS, "VmSize: %llu kB");
}

/* ulimit -d */
Test(memory, limit_of_data)
{
    check_limit(RLIMIT_DATA, "VmData: %llu kB");
}

Test(memory, groups_of_version_2)
{
    mkdir(sample_path("job"), 0700);
    mkdir(sample_path("job/step"), 0700);
    cr_expect_eq(groups_free("0::/job/step\n"), SIZE_MAX);
    put("job/step/memory.max", "max\n");
    cr_expect_eq(groups_free("0::/job/step\n"), SIZE_MAX);
    put("job/memory.max", "1000000\n");
    put("job/memory.stat", "file 700000\nanon 300000\n");
    cr_expect_eq(groups_free("0::/job/step\n"), 700000);
    put("job/memory.stat", "anon 300000\nfile 700000\nshmem 150000\n");
    cr_expect_eq(groups_free("0::/job/step\n"), 550000);
    put("job/memory.high", "500000\n");
    cr_expect_eq(groups_free("0::/job/step\n"), 50000);
    put("job/memory.high", "max\n");
    cr_expect_eq(groups_free("0::/job/step\n"), 550000);
    put("job/step/memory.max", "1000\n");
    cr_expect_eq(groups_free("0::/job/step\n"), 1000);
    cr_expect_eq(groups_free("0::/\n"), SIZE_MAX);
    /* A container sees its own group at the root, and the name that it has outside. */
    put("memory.max", "5000\n");
    put("memory.stat", "anon 9000\n");
    cr_expect_eq(groups_free("0::/not/seen/here\n"), 0);
}

Test(memory, groups_of_version_1)
{
    mkdir(sample_path("memory"), 0700);
    mkdir(sample_path("memory/job"), 0700);
    put("memory/job/memory.limit_in_bytes", "2000000\n");
    put("memory/job/memory.stat", "rss 1\ntotal_rss 500000\n");
    cr_expect_eq(groups_free("5:cpu:/job\n4:memory:/job\n0::/\n"), 1500000);
    put("memory/job/memory.stat", "total_rss 500000\nshmem 1\ntotal_shmem 100000\n");
    cr_expect_eq(groups_free("4:memory:/job\n"), 1400000);
    cr_expect_eq(groups_free("5:cpu:/job\n"), SIZE_MAX);
}

static size_t groups_processors(const char *membership)
{
    put("membership", membership);
    return vf_processors_of_groups(sample_path("membership"), sample_path("."));
}

Test(memory, processors_of_version_2)
{
    mkdir(sample_path("job"), 0700);
    mkdir(sample_path("job/step"), 0700);
    cr_expect_eq(groups_processors("0::/job/step\n"), SIZE_MAX);
    put("job/step/cpu.max", "max 100000\n");
    cr_expect_eq(groups_processors("0::/job/step\n"), SIZE_MAX);
    put("job/cpu.max", "150000 100000\n");
    cr_expect_eq(groups_processors("0::/job/step\n"), 2, "a part of one counts");
    put("job/step/cpu.max", "1000 100000\n");
    cr_expect_eq(groups_processors("0::/job/step\n"), 1);
    cr_expect_eq(groups_processors("0::/\n"), SIZE_MAX);
}

Test(memory, processors_of_version_1)
{
    mkdir(sample_path("cpu"), 0700);
    mkdir(sample_path("cpu/job"), 0700);
    put("cpu/job/cpu.cfs_quota_us", "-1\n");
    put("cpu/job/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(groups_processors("4:cpu,cpuacct:/job\n"), SIZE_MAX);
    put("cpu/job/cpu.cfs_quota_us", "400000\n");
    cr_expect_eq(groups_processors("5:cpuset:/\n4:cpuacct,cpu:/job\n0::/\n"), 4);
    cr_expect_eq(groups_processors("5:cpuset:/job\n4:cpuacct:/job\n"), SIZE_MAX);
}

Test(memory, processors_are_at_least_one)
{
    cr_expect_geq(vf_processors(), 1);
    cr_expect_leq(vf_processors(), VF_MOST_THREADS);
}
