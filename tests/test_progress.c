/* The line that says how far the work is, on a terminal and elsewhere. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "io_samples.h"
#include "progress.h"

TestSuite(progress, .init = samples_begin, .fini = samples_end, .timeout = 60);

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int own_stderr;

static void redirect(int fd)
{
    fflush(stderr);
    own_stderr = dup(STDERR_FILENO);
    cr_assert(fd >= 0 && own_stderr >= 0 && dup2(fd, STDERR_FILENO) >= 0);
}

static void restore(void)
{
    dup2(own_stderr, STDERR_FILENO);
    close(own_stderr);
}

/* The texts in their order, whatever numbers of seconds are between them. */
static void check_order(const char *text, const char *const parts[])
{
    const char *at = text;
    for (; *parts != NULL; parts++) {
        const char *found = strstr(at, *parts);
        cr_assert_not_null(found, "no \"%s\" in: %s", *parts, at);
        at = found + strlen(*parts);
    }
    cr_assert_str_eq(at, "");
}

/* Nothing for half a second, but for what is announced; then it is drawn over and over, and gone before a
 * message and at the end. */
Test(progress, terminal)
{
    struct vf_progress_line line;
    char text[1024] = "";
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        cr_skip_test("no terminals here");
    const int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    redirect(slave);
    vf_progress_begin(&line, VF_PROGRESS_AUTO, "filtering", 200);
    vf_progress_announce(&line);
    vf_progress_add(&line, 50);
    vf_progress_clear(&line);
    wait_ms(550);
    vf_progress_add(&line, 50);
    vf_progress_clear(&line);
    vf_progress_clear(&line);
    wait_ms(150);
    vf_progress_add(&line, 50);
    wait_ms(150);
    vf_progress_add(&line, 100); /* more than was said */
    vf_progress_end(&line);
    restore();
    close(slave);
    for (ssize_t used = 0, got; (got = read(terminal, text + used, sizeof text - 1 - (size_t)used)) > 0;)
        used += got;
    const char *const parts[] = {"\rfiltering:   0%, ",
                                 " s\033[K",
                                 "\r\033[K",
                                 "\rfiltering:  50%, ",
                                 " s left\033[K",
                                 "\r\033[K",
                                 "\rfiltering:  75%, ",
                                 " s left\033[K",
                                 "\rfiltering: 250 done, ",
                                 " s\033[K",
                                 "\r\033[K",
                                 NULL};
    check_order(text, parts);
    cr_assert_eq(text[0], '\r');
    close(terminal);
}

/* Elsewhere whole lines, one a second at most, if asked for. */
Test(progress, lines)
{
    struct vf_progress_line line;
    size_t size;
    const int file = open(sample_path("lines"), O_RDWR | O_CREAT, 0600);
    redirect(file);
    vf_progress_begin(&line, VF_PROGRESS_AUTO, "silent", 1);
    vf_progress_add(&line, 1);
    vf_progress_end(&line);
    vf_progress_begin_files(&line, VF_PROGRESS_ALWAYS, 3, 1, 3000000);
    vf_progress_file_done(&line, 500000);
    wait_ms(1050);
    vf_progress_add(&line, 2000000);
    wait_ms(1050);
    vf_progress_add(&line, 1000000); /* more than was said */
    vf_progress_end(&line);
    restore();
    close(file);
    char *text = sample_get(sample_path("lines"), &size);
    text[size] = '\0';
    const char *const parts[] = {"volfilter: 2 of 3 files, ",
                                 " MB/s, ",
                                 " s left\n",
                                 "volfilter: 2 of 3 files, ",
                                 " MB/s, total unknown\n",
                                 "volfilter: 2 of 3 files, ",
                                 " s\n",
                                 NULL};
    check_order(text, parts);
    cr_assert_eq(strncmp(text, "volfilter: ", 11), 0);
    free(text);
}

/* Each is written at once, so that runs that share standard error do not tear one another's. */
Test(progress, lines_for_programs)
{
    struct vf_progress_line line;
    char text[512];
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    redirect(ends[1]);
    vf_progress_begin_files(&line, VF_PROGRESS_JSON, 3, 1, 3000000);
    vf_progress_file_done(&line, 500000);
    wait_ms(1050);
    vf_progress_add(&line, 2000000);
    vf_progress_end(&line);
    restore();
    close(ends[1]);
    size_t lines = 0;
    for (ssize_t size; (size = recv(ends[0], text, sizeof text - 1, MSG_DONTWAIT)) > 0; lines++) {
        text[size] = '\0';
        cr_expect(text[0] == '{' && strcmp(text + size - 2, "}\n") == 0, "%s", text);
        cr_expect(strstr(text, "\"files_done\": 2, \"files\": 3, ") != NULL, "%s", text);
    }
    cr_expect_geq(lines, 2);
    close(ends[0]);
}

/* What is left is told from the first hundredth on. */
Test(progress, rest)
{
    struct vf_progress_line line;
    size_t size;
    const int file = open(sample_path("rest"), O_RDWR | O_CREAT, 0600);
    redirect(file);
    for (int json = 0; json < 2; json++) {
        vf_progress_begin(&line, json ? VF_PROGRESS_JSON : VF_PROGRESS_ALWAYS, "a", 100000);
        wait_ms(1050);
        vf_progress_add(&line, 999);
        wait_ms(1050);
        vf_progress_add(&line, 1);
        vf_progress_end(&line);
    }
    restore();
    close(file);
    char *text = sample_get(sample_path("rest"), &size);
    text[size] = '\0';
    /* 2.1 s for the first of a hundred parts. */
    const char *const parts[] = {"volfilter: a:   1%, ",
                                 " s\n",
                                 "volfilter: a:   1%, ",
                                 " min left\n",
                                 "volfilter: a:   1%, ",
                                 " s\n",
                                 "\"done\": 999, ",
                                 "}\n",
                                 "\"seconds_left\": ",
                                 "}\n",
                                 "\"seconds_left\": ",
                                 "}\n",
                                 NULL};
    check_order(text, parts);
    cr_assert_gt(strstr(text, "seconds_left"), strchr(strchr(text, '{'), '\n'));
    free(text);
}

/* What is announced has no end to tell, and is not shown where nothing is; the rest is in the unit of few
 * digits, as if so many seconds had passed. */
Test(progress, announced_and_units)
{
    static const struct {
        int passed;
        const char *left;
    } cases[] = {{1, ", 9.0 s left\n"}, {20, ", 3 min left\n"}, {1000, ", 2.5 h left\n"}};
    struct vf_progress_line line;
    size_t size;
    char expected[400] = "volfilter: a:   0%, 0.0 s\n";
    const int file = open(sample_path("units"), O_RDWR | O_CREAT, 0600);
    redirect(file);
    vf_progress_begin(&line, VF_PROGRESS_AUTO, "silent", 10);
    vf_progress_announce(&line);
    vf_progress_end(&line);
    vf_progress_begin(&line, VF_PROGRESS_ALWAYS, "a", 10);
    vf_progress_announce(&line);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        vf_progress_begin(&line, VF_PROGRESS_ALWAYS, "a", 10);
        line.start_ns -= cases[i].passed * 1000000000LL;
        atomic_store(&line.next_ns, 0);
        vf_progress_add(&line, 1);
        snprintf(expected + strlen(expected), 100, "volfilter: a:  10%%%s", cases[i].left);
    }
    restore();
    close(file);
    char *text = sample_get(sample_path("units"), &size);
    text[size] = '\0';
    cr_assert_str_eq(text, expected);
    free(text);
}
