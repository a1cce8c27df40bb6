/* The program: standard streams, signals, the command line, and the exit status. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "descriptor.h"
#include "interrupt.h"
#include "progress.h"

/* A file opened while a standard stream is closed would take its number, and messages would go into the
 * image. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(VF_FAILED);
}

static ssize_t write_stdout(void *unused, const char *data, size_t bytes)
{
    (void)unused;
    return vf_write_all(STDOUT_FILENO, data, bytes, vf_interrupted != 0) ? (ssize_t)bytes : 0;
}

/* stdio takes a pipe that is full for an error if it does not block, as those of some parents do not. */
static void wait_for_readers(void)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags == -1 || (flags & O_NONBLOCK) == 0)
        return;
    FILE *const waiting = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_stdout});
    if (waiting == NULL)
        return;
    setvbuf(waiting, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
    stdout = waiting;
}

/* Threads get as much as the main one may take; a fifth of a MiB is what was seen to be used. */
static enum vf_status check_stack(struct vf_error *error)
{
    enum { LEAST_KIB = 512 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur / 1024 >= LEAST_KIB)
        return VF_OK;
    return vf_fail(error, VF_FAILED, "the stack is limited to %lld KiB, but needs %d: ulimit -s %d",
                   (long long)limit.rlim_cur / 1024, LEAST_KIB, LEAST_KIB);
}

/* What was printed may still fail to arrive: a full disk, a closed pipe. */
static enum vf_status close_stdout(enum vf_status status)
{
    struct vf_error error;
    struct pollfd reader = {.fd = STDOUT_FILENO};
    const int cause = vf_flush(stdout);
    if (!ferror(stdout))
        return status;
    /* Of a text, as `| head` does, the rest is not wanted. */
    if (poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0)
        return status;
    vf_fail(&error, VF_FAILED, "standard output: cannot write: %s",
            cause != 0 ? vf_cause(cause) : "an earlier write failed");
    vf_cli_report(VF_FAILED, &error);
    return status == VF_OK ? VF_FAILED : status;
}

int main(int argc, char **argv)
{
    struct vf_command_line line = {0};
    struct vf_error error;
    keep_standard_streams();
    wait_for_readers();
    vf_signals_install();
    enum vf_status status = check_stack(&error);
    if (status == VF_OK)
        status = vf_command_line_read(&line, argc, argv, &error);
    if (status == VF_OK)
        status = vf_command_line_run(&line);
    else
        vf_cli_report(status, &error);
    vf_command_line_free(&line);
    status = close_stdout(status);
    return status == VF_INTERRUPTED && vf_interrupted ? 128 + vf_interrupted : (int)status;
}
