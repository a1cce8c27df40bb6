/* Outputs appear whole or not at all, whatever the target is. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptor.h"
#include "interrupt.h"
#include "io_samples.h"
#include "output_file.h"
#include "output_samples.h"
#include "progress.h"

TestSuite(output_file, .init = samples_begin, .fini = samples_end, .timeout = 60);

static struct vf_error error;

static bool has_nameless(void)
{
    const int fd = open(sample_path(""), O_TMPFILE | O_RDWR, 0600);
    close(fd);
    return fd >= 0;
}

/* `hidden`: names in the directory before it is put in place; `copied`: it is another file then. */
static void check_appears(size_t hidden, bool copied)
{
    const char *path = sample_path("out");
    struct stat before, after;
    struct vf_output_file *file = output_open(path, false);
    output_fill(file, "new");
    cr_assert_eq(fstat(vf_output_file_descriptor(file), &before), 0);
    cr_assert_neq(access(path, F_OK), 0);
    cr_assert_eq(sample_file_count(), hidden);
    cr_assert_eq(vf_output_file_finish(file, true, &error), VF_OK, "%s", error.text);
    cr_assert_eq(stat(path, &after), 0);
    cr_assert_eq(before.st_ino != after.st_ino, copied);
    vf_output_file_close(file);
    output_check(path, "new");
    cr_assert_eq(sample_file_count(), 1);
}

Test(output_file, appears_at_finish)
{
    check_appears(has_nameless() ? 0 : 1, false);
}

Test(output_file, appears_without_nameless_files)
{
    output_refuse_nameless();
    check_appears(1, false);
}

Test(output_file, appears_without_links)
{
    output_refuse_links();
    check_appears(has_nameless() ? 0 : 1, has_nameless());
}

Test(output_file, killed)
{
    int status;
    if (!has_nameless())
        cr_skip_test("no files without names here");
    sample_put(sample_path("out"), "old", 3);
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        output_fill(output_open(sample_path("out"), false), "new");
        raise(SIGKILL);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    output_check(sample_path("out"), "old");
    cr_assert_eq(sample_file_count(), 1);
}

Test(output_file, ended_by_another_signal)
{
    int status;
    output_refuse_nameless();
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        vf_signals_install();
        output_fill(output_open(sample_path("out"), false), "new");
        raise(SIGUSR1);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    cr_assert_eq(sample_file_count(), 0);
}

/* A container's first process, which no signal ends by default. A process that has such children has no
 * others once the first has ended, not even sanitizers': so it is none of the tests' own. */
Test(output_file, ended_by_another_signal_in_a_container)
{
    enum { NO_CONTAINER = 77 };
    int status;
    const pid_t outer = fork();
    cr_assert(outer >= 0);
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) != 0)
            _exit(NO_CONTAINER);
        const pid_t first = fork();
        if (first == 0) {
            vf_signals_install();
            raise(SIGUSR1);
            _exit(0);
        }
        _exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    cr_assert_eq(waitpid(outer, &status, 0), outer);
    cr_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_CONTAINER)
        cr_skip_test("only root has process numbers of its own");
    cr_expect_eq(WEXITSTATUS(status), 128 + SIGUSR1);
}

/* Who ended by its signal, in a step that takes 0.8 s. */
static int end_of_a_long_step(bool patient)
{
    int status;
    const pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        vf_signals_install();
        if (patient)
            vf_signals_be_patient();
        raise(SIGTERM);
        usleep(800000);
        _exit(vf_interrupted == SIGTERM ? 7 : 8);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(output_file, a_report_is_waited_for)
{
    cr_expect_eq(end_of_a_long_step(false), 128 + SIGTERM);
    cr_expect_eq(end_of_a_long_step(true), 7);
}

static void check_closing(void)
{
    const char *path = sample_path("out");
    sample_put(path, "old", 3);
    struct vf_output_file *file = output_open(path, false);
    output_fill(file, "new");
    vf_output_file_close(file);
    output_check(path, "old");
    cr_assert_eq(sample_file_count(), 1);
    vf_output_file_close(NULL);
}

Test(output_file, closing_leaves_the_old)
{
    check_closing();
    output_refuse_nameless();
    check_closing();
}

static void check_no_clobber(void)
{
    const char *path = sample_path("out");
    sample_put(path, "old", 3);
    output_check_refused(path, true, "--no-clobber");
    output_check(path, "old");
    unlink(path);
    struct vf_output_file *file = output_open(path, true);
    output_fill(file, "new");
    cr_assert_eq(vf_output_file_finish(file, false, &error), VF_OK, "%s", error.text);
    vf_output_file_close(file);
    output_check(path, "new");
}

Test(output_file, no_clobber)
{
    check_no_clobber();
    output_refuse_nameless();
    check_no_clobber();
}

static void refuse_new_names(int cause)
{
    sample_refuse(SYS_renameat2, 4, RENAME_NOREPLACE, cause);
}

/* Another program creates the target while this one works. */
static void check_race(void)
{
    const char *path = sample_path("out");
    struct vf_output_file *file = output_open(path, true);
    output_fill(file, "new");
    sample_put(path, "theirs", 6);
    cr_assert_eq(vf_output_file_finish(file, false, &error), VF_FAILED);
    cr_assert(strstr(error.text, "meanwhile"), "%s", error.text);
    vf_output_file_close(file);
    output_check(path, "theirs");
    cr_assert_eq(sample_file_count(), 1);
    unlink(path);
}

Test(output_file, no_clobber_loses_no_race)
{
    check_race();
    output_refuse_links();
    check_race();
    output_refuse_nameless();
    check_race();
}

static void check_without_such_renames(int cause)
{
    refuse_new_names(cause);
    check_no_clobber();
    cr_assert_eq(sample_file_count(), 1);
    unlink(sample_path("out"));
    check_race();
}

Test(output_file, no_clobber_without_such_renames)
{
    check_without_such_renames(EINVAL);
}

Test(output_file, no_clobber_on_old_systems)
{
    check_without_such_renames(ENOSYS);
}

/* As on object stores. */
Test(output_file, no_clobber_without_links_either)
{
    sample_refuse(SYS_linkat, 0, UINT_MAX, EPERM);
    refuse_new_names(EINVAL);
    check_no_clobber();
    cr_assert_eq(sample_file_count(), 1);
    unlink(sample_path("out"));
    check_race();
}

/* Another cause is told. */
Test(output_file, no_clobber_that_is_refused)
{
    refuse_new_names(EACCES);
    struct vf_output_file *file = output_open(sample_path("out"), true);
    cr_assert_eq(vf_output_file_finish(file, false, &error), VF_FAILED);
    cr_assert(strstr(error.text, strerror(EACCES)), "%s", error.text);
    vf_output_file_close(file);
    cr_assert_eq(sample_file_count(), 0);
}

/* Before it has its name. */
Test(output_file, sync_that_fails)
{
    sample_put(sample_path("out"), "old", 3);
    sample_refuse(SYS_fsync, 0, UINT_MAX, EIO);
    struct vf_output_file *file = output_open(sample_path("out"), false);
    output_fill(file, "new");
    cr_assert_eq(vf_output_file_finish(file, true, &error), VF_FAILED);
    cr_assert(strstr(error.text, strerror(EIO)), "%s", error.text);
    vf_output_file_close(file);
    output_check(sample_path("out"), "old");
    cr_assert_eq(sample_file_count(), 1);
    output_write(sample_path("out"), "new");
}

Test(output_file, links_are_followed)
{
    struct stat about;
    sample_put(sample_path("real"), "old", 3);
    cr_assert_eq(symlink("real", sample_path("link")), 0);
    output_write(sample_path("link"), "new");
    cr_assert(lstat(sample_path("link"), &about) == 0 && S_ISLNK(about.st_mode));
    output_check(sample_path("real"), "new");
    /* One that leads nowhere yet creates what it names. */
    cr_assert_eq(symlink("later", sample_path("first")), 0);
    cr_assert_eq(symlink(sample_path("first"), sample_path("second")), 0);
    output_write(sample_path("second"), "newer");
    output_check(sample_path("later"), "newer");
    cr_assert(lstat(sample_path("first"), &about) == 0 && S_ISLNK(about.st_mode));
    cr_assert_eq(sample_file_count(), 5);
    cr_assert_eq(symlink("round", sample_path("round")), 0);
    output_check_refused(sample_path("round"), false, strerror(ELOOP));
}

Test(output_file, bad_targets)
{
    cr_assert_eq(mkdir(sample_path("dir"), 0777), 0);
    output_check_refused(sample_path("dir"), false, "directory");
    output_check_refused(sample_path("dir/"), false, "directory");
    output_check_refused(sample_path("no/out"), false, strerror(ENOENT));
    output_check_refused(sample_path("new/"), false, "not a file name");
    output_check_refused("", false, "not a file name");
    sample_put(sample_path("file"), "x", 1);
    output_check_refused(sample_path("file/out"), false, strerror(ENOTDIR));
    output_check_refused("/proc/volfilter.tif", false, "cannot create");
    cr_assert_eq(sample_file_count(), 2);
}

Test(output_file, long_names)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    output_write(sample_path(name), "x");
    output_check(sample_path(name), "x");
}

/* The file goes to its directory, whatever that is called by then. */
static void check_moved(bool no_clobber)
{
    char before[PATH_MAX], after[PATH_MAX], path[PATH_MAX + 8];
    snprintf(before, sizeof before, "%s", sample_path("before"));
    snprintf(after, sizeof after, "%s", sample_path("after"));
    cr_assert_eq(mkdir(before, 0777), 0);
    snprintf(path, sizeof path, "%s/out", before);
    struct vf_output_file *file = output_open(path, no_clobber), *given_up = output_open(path, no_clobber);
    output_fill(file, "x");
    cr_assert_eq(rename(before, after), 0);
    vf_output_file_close(given_up);
    cr_assert_eq(vf_output_file_finish(file, true, &error), VF_OK, "%s", error.text);
    vf_output_file_close(file);
    snprintf(path, sizeof path, "%s/out", after);
    output_check(path, "x");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(after), 0, "something else stays");
}

Test(output_file, directory_that_gets_another_name)
{
    check_moved(false);
    check_moved(true);
    output_refuse_nameless();
    check_moved(false);
    check_moved(true);
}

Test(output_file, devices_get_the_bytes)
{
    output_write("/dev/null", "x");
    struct stat about;
    cr_assert(stat("/dev/null", &about) == 0 && S_ISCHR(about.st_mode));
    struct vf_output_file *file = output_open("/dev/full", true);
    output_fill(file, "x");
    cr_assert_eq(vf_output_file_finish(file, false, &error), VF_FAILED);
    cr_assert(strstr(error.text, strerror(ENOSPC)), "%s", error.text);
    vf_output_file_close(file);
    cr_assert_eq(sample_file_count(), 0);
}

/* What is a line there, as a report; an image is refused by those who write one. */
Test(output_file, terminal)
{
    char text[8] = "";
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        cr_skip_test("no terminals here");
    struct vf_output_file *file = output_open(ptsname(terminal), false);
    cr_expect(vf_output_file_is_terminal(file));
    output_fill(file, "new");
    cr_assert_eq(vf_output_file_finish(file, false, &error), VF_OK, "%s", error.text);
    vf_output_file_close(file);
    cr_expect_eq(read(terminal, text, sizeof text - 1), 3);
    cr_expect_str_eq(text, "new");
    close(terminal);
}

/* Where file systems know no files without names, it loses its name at once. */
Test(output_file, nameless_by_removal)
{
    struct stat about;
    setenv("TMPDIR", sample_path(""), 1);
    output_refuse_nameless();
    const int fd = vf_nameless_file(&error);
    cr_assert(fd >= 0, "%s", error.text);
    cr_assert(fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 0);
    cr_assert_eq(sample_file_count(), 0);
    close(fd);
}

static void *read_fifo(void *path)
{
    static char text[16];
    FILE *file = fopen(path, "r");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        fclose(file);
    return text;
}

Test(output_file, fifo)
{
    char path[4096];
    pthread_t thread;
    void *text;
    snprintf(path, sizeof path, "%s", sample_path("fifo"));
    cr_assert_eq(mkfifo(path, 0666), 0);
    cr_assert_eq(pthread_create(&thread, NULL, read_fifo, path), 0);
    output_write(path, "through");
    pthread_join(thread, &text);
    cr_assert_str_eq(text, "through");
    struct stat about;
    cr_assert(stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
}

Test(output_file, standard_output)
{
    int ends[2];
    char text[16] = {0};
    cr_assert_eq(pipe(ends), 0);
    const int kept = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
    output_write("-", "bytes");
    dup2(kept, STDOUT_FILENO);
    cr_assert_eq(read(ends[0], text, sizeof text - 1), 5);
    cr_assert_str_eq(text, "bytes");
    cr_assert_eq(sample_file_count(), 0);
}

Test(output_file, a_reader_that_went_away)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(pipe(ends), 0);
    const int kept = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    struct vf_output_file *file = output_open("-", false);
    output_fill(file, "bytes");
    const enum vf_status status = vf_output_file_finish(file, false, &error);
    vf_output_file_close(file);
    dup2(kept, STDOUT_FILENO);
    cr_assert_eq(status, VF_FAILED);
    cr_assert(strstr(error.text, strerror(EPIPE)), "%s", error.text);
}

Test(output_file, no_temporary_directory)
{
    setenv("TMPDIR", "/no/such/directory", 1);
    output_check_refused("/dev/null", false, "TMPDIR");
}

/* What a signal handler does; more files than it has places for are only not removed. */
Test(output_file, leave)
{
    struct vf_output_file *files[100], *late;
    char name[16];
    sample_put(sample_path("kept"), "x", 1);
    output_write(sample_path("done"), "x");
    output_refuse_nameless();
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "out%d", i);
        files[i] = output_open(sample_path(name), false);
    }
    cr_assert_eq(sample_file_count(), 102);
    vf_output_file_leave();
    cr_assert_eq(sample_file_count(), 38);
    cr_assert_eq(vf_output_file_open(&late, sample_path("late"), false, &error), VF_FAILED);
    for (int i = 0; i < 100; i++)
        vf_output_file_close(files[i]);
    cr_assert_eq(sample_file_count(), 2);
}

/* A full disk is named, through libtiff too, and nothing stays. */
Test(output_file, full_disk)
{
    const struct vf_info info = {
        .type = VF_U8, .shape = {1000, 1000, 1, 1, 1}, .page_channels = 1, .page_count = 1};
    const struct vf_output_options options = {0};
    static unsigned char plane[1000 * 1000];
    const void *const planes[] = {plane};
    struct vf_writer *writer;
    for (int format = VF_FORMAT_TIFF; format <= VF_FORMAT_PNG; format++) {
        for (size_t i = 0; i < sizeof plane; i++)
            plane[i] = (unsigned char)(i * i >> 7);
        cr_assert_eq(
            vf_writer_open(&writer, sample_path("out"), (enum vf_format)format, &info, &options, &error),
            VF_OK);
        /* The file's own descriptors become those of the full device. */
        const int full = open("/dev/full", O_RDWR);
        for (int fd = sample_unfinished(3); fd >= 0; fd = sample_unfinished(fd + 1))
            dup2(full, fd);
        close(full);
        enum vf_status status = vf_writer_write_pages(writer, 0, 1, planes, 1, &error);
        if (status == VF_OK)
            status = vf_writer_finish(writer, &error);
        cr_assert_eq(status, VF_FAILED);
        cr_assert(strstr(error.text, strerror(ENOSPC)), "%s", error.text);
        cr_assert(strstr(error.text, sample_path("out")), "%s", error.text);
        vf_writer_close(writer);
        cr_assert_eq(sample_file_count(), 0);
    }
}
