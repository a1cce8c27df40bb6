/* A file's way from input to result, step by step, where something happens between the steps. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chain.h"
#include "io_samples.h"
#include "memory.h"
#include "run.h"
#include "session.h"

TestSuite(run, .init = samples_begin, .fini = samples_end);

enum { NX = 64, NY = 64, NZ = 1000 };

static struct vf_session session;
static struct vf_chain chain;
static struct vf_options options;
static struct vf_work *work;
static struct vf_error error;

/* While files are on their way, once a second: others take memory, results in tmpfs do. */
Test(run, free_memory_is_measured_again)
{
    session = (struct vf_session){.files = 9};
    vf_session_begin_work(&session);
    const size_t first = session.free_bytes;
    const struct rlimit limit = {((rlim_t)vf_memory_resident() + (4 << 20)), RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    vf_session_begin_work(&session);
    cr_expect_eq(session.free_bytes, first);
    session.looked -= 2;
    vf_session_begin_work(&session);
    cr_assert_eq(setrlimit(RLIMIT_DATA, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
    cr_expect_lt(session.free_bytes, 64 << 20);
    cr_expect_lt(session.free_bytes, first);
}

/* `memory` is beside what the process holds. */
static void begin(size_t memory)
{
    const char *in = sample_path("in.tif");
    tiff_sample_write(in, &(struct tiff_sample){.type = VF_F32, .nx = NX, .ny = NY, .pages = NZ});
    session = (struct vf_session){.files = 1};
    chain = (struct vf_chain){0};
    options = (struct vf_options){.backend = VF_BACKEND_CPU,
                                  .threads = 1,
                                  .memory = vf_memory_resident() + memory,
                                  .quiet = true,
                                  .progress = VF_PROGRESS_NEVER};
    cr_assert_eq(vf_chain_append(&chain, "gaussian", &error), VF_OK);
    cr_assert_eq(vf_work_open(&work, &chain, &options, &session, in, sample_path("out.tif"), NULL, &error),
                 VF_OK, "%s", error.text);
}

/* The input's time of change moves by a nanosecond. */
static void change(void)
{
    struct stat about;
    const char *in = sample_path("in.tif");
    cr_assert_eq(stat(in, &about), 0);
    about.st_mtim.tv_nsec ^= 1;
    const struct timespec times[] = {about.st_atim, about.st_mtim};
    cr_assert_eq(utimensat(AT_FDCWD, in, times, 0), 0);
}

static void end(enum vf_status status)
{
    cr_expect_eq(status, VF_FAILED);
    cr_expect(strstr(error.text, "in.tif: was changed while it was read") != NULL, "%s", error.text);
    vf_work_close(work);
    cr_expect_neq(access(sample_path("out.tif"), F_OK), 0);
    vf_chain_free(&chain);
    vf_session_close(&session);
}

Test(run, input_that_changes_before_it_is_read)
{
    begin((size_t)1 << 30);
    change();
    end(vf_work_read(work, &error));
}

/* By half an image less than the whole takes. */
Test(run, input_that_changes_while_slabs_pass)
{
    enum { ENOUGH = 1 << 30, HALF = NX * NY * NZ * 2 };
    begin(ENOUGH);
    const size_t others = ENOUGH - vf_work_limit(work), whole = vf_work_memory(work);
    vf_work_close(work);
    vf_chain_free(&chain);
    vf_session_close(&session);
    begin(others + whole - HALF);
    cr_assert_eq(vf_work_read(work, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_work_compute(work, &error), VF_OK, "%s", error.text);
    change();
    end(vf_work_write(work, &error));
}

static enum vf_status filter_to(const char *name)
{
    cr_assert_eq(vf_work_open(&work, &chain, &options, &session, sample_path("in.tif"), sample_path(name),
                              NULL, &error),
                 VF_OK, "%s", error.text);
    cr_assert_eq(vf_work_read(work, &error), VF_OK, "%s", error.text);
    cr_assert_eq(vf_work_compute(work, &error), VF_OK, "%s", error.text);
    const enum vf_status status = vf_work_write(work, &error);
    vf_work_close(work);
    return status;
}

/* Without its input a result must be on the disk before it has its name; another one need not. */
Test(run, result_that_replaces_its_input_is_synced)
{
    struct stat before, after;
    begin((size_t)1 << 30);
    vf_work_close(work);
    sample_refuse(SYS_fsync, 0, UINT_MAX, EIO);
    cr_expect_eq(filter_to("out.tif"), VF_OK, "%s", error.text);
    cr_assert_eq(stat(sample_path("in.tif"), &before), 0);
    cr_expect_eq(filter_to("in.tif"), VF_FAILED);
    cr_expect(strstr(error.text, strerror(EIO)) != NULL, "%s", error.text);
    cr_assert_eq(stat(sample_path("in.tif"), &after), 0);
    cr_expect_eq(before.st_ino, after.st_ino);
    vf_chain_free(&chain);
    vf_session_close(&session);
}
