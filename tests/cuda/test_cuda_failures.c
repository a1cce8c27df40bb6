/* Whatever fails on the device, at any call: the result is the reference's, by other means, or with
 * --backend cuda an error that says so. The fake driver makes calls fail; each run is a process of its own.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"
#include "fake_device.h"
#include "tests/io_samples.h"
#include "tests/sanitized.h"

enum outcome { ON_DEVICE, TAKEN_OVER, REFUSED, WRONG = 10, NO_MESSAGE, NOT_OPENED, REAL_DEVICE };
enum { MOST_SECONDS = 60 };

/* ---- one run ---- */

static struct pipeline chain;
static struct vf_volume in, right;
static bool strict;
static const char *fails;                       /* the call's number, set once the device is open */
static char expected[64];                       /* what the message must have */
static size_t heard;                            /* voxels, by progress */
static bool one_run;                            /* nothing is begun anew: every voxel is heard of once */
static int least_compiled, most_compiled = 100; /* kernels */

static char log_path[64];

static bool same(const struct vf_volume *a, const struct vf_volume *b)
{
    return volume_size(a) == volume_size(b) && memcmp(a->data, b->data, volume_size(a)) == 0;
}

static enum outcome judge(const struct vf_cuda *device, enum vf_status status, const struct vf_volume *out,
                          const char *message)
{
    const char *const text = device->failed ? device->failure.text : message;
    if (status == VF_OK && (!same(out, &right) || device->compiled_count < least_compiled ||
                            device->compiled_count > most_compiled))
        return WRONG;
    if (status == VF_OK && one_run && heard != volume_elements(out))
        return WRONG;
    if (status == VF_OK && !device->failed)
        return ON_DEVICE;
    if (text[0] == '\0' || strstr(text, expected) == NULL) {
        fprintf(stderr, "message: %s\n", text);
        return NO_MESSAGE;
    }
    return status == VF_OK ? TAKEN_OVER : REFUSED;
}

static void run(void)
{
    struct vf_cuda *device;
    struct vf_error error = {.text = ""};
    struct vf_volume out = {0};
    alarm(MOST_SECONDS);
    if (vf_cuda_open(&device, &error) != VF_OK)
        exit(NOT_OPENED);
    if (strcmp(device->gpu.name, "Fake GPU") != 0)
        exit(REAL_DEVICE);
    FILE *log = log_path[0] != '\0' ? fopen(log_path, "a") : NULL;
    if (log != NULL) {
        fputs("- opened\n", log);
        fclose(log);
    }
    if (fails != NULL)
        setenv("FAKE_CUDA_FAIL", fails, 1);
    device->strict = strict;
    chain.cuda = device;
    chain.progress = &heard;
    const enum vf_status status = pipeline_try(&chain, &in, &out, NULL, &error);
    const enum outcome outcome = judge(device, status, &out, error.text);
    if (status != VF_OK && !strict)
        fprintf(stderr, "status %d: %s\n", (int)status, error.text);
    vf_volume_free(&out);
    vf_cuda_close(device);
    exit((int)outcome);
}

static enum outcome outcome_of_run(const char *what)
{
    char said[4096];
    const int status = status_of(run, said);
    cr_assert(WIFEXITED(status), "%s, %s%s: signal %d\n%s", chain.chain, what, strict ? ", strict" : "",
              WTERMSIG(status), said);
    const enum outcome outcome = (enum outcome)WEXITSTATUS(status);
    if (outcome == REAL_DEVICE)
        cr_skip_test("a real device");
    cr_assert(outcome <= REFUSED, "%s, %s%s: outcome %d\n%s", chain.chain, what, strict ? ", strict" : "",
              (int)outcome, said);
    cr_assert(strict ? outcome != TAKEN_OVER : outcome != REFUSED, "%s, %s: outcome %d\n%s", chain.chain,
              what, (int)outcome, said);
    return outcome;
}

/* ---- set up ---- */

static void begin(void)
{
    samples_begin();
    setenv("VOLFILTER_CACHE", sample_path("cache"), 1);
    setenv("FAKE_CUDA_STRICT", "1", 1);
    unsetenv("FAKE_CUDA_ORDER");
}

static void end(void)
{
    samples_end();
    vf_volume_free(&in);
    vf_volume_free(&right);
}

TestSuite(cuda_failures, .init = begin, .fini = end);

/* What is right, by the CPU's reference. */
static void set_chain(const struct pipeline *p)
{
    vf_volume_free(&in);
    vf_volume_free(&right);
    chain = *p;
    in = pipeline_input(p, 1);
    struct pipeline reference = *p;
    reference.scheme = "reference";
    right = pipeline_run(&reference, &in, NULL);
}

/* ---- each call in turn ---- */

enum { MOST_CALLS = 1000 };

/* The calls after opening, by number; "" for those before. */
static struct {
    char name[MOST_CALLS][40];
    int count;
} calls;

static void list_calls(void)
{
    char name[64];
    bool opened = false;
    int number;
    snprintf(log_path, sizeof log_path, "%s", sample_path("calls"));
    setenv("FAKE_CUDA_LOG", log_path, 1);
    cr_assert_eq(outcome_of_run("as it should be"), ON_DEVICE);
    unsetenv("FAKE_CUDA_LOG");
    FILE *log = fopen(log_path, "r");
    cr_assert_not_null(log);
    calls.count = 0;
    while (next_call(log, &number, name)) {
        opened = opened || strcmp(name, "opened") == 0;
        if (number == 0)
            continue;
        cr_assert(number < MOST_CALLS);
        snprintf(calls.name[number], sizeof calls.name[number], "%s", opened ? name : "");
        calls.count = number + 1;
    }
    fclose(log);
    unlink(log_path);
    log_path[0] = '\0';
}

static int count_of(const char *name)
{
    int count = 0;
    for (int n = 0; n < calls.count; n++)
        count += strcmp(calls.name[n], name) == 0;
    return count;
}

/* Where these fail another kernel is compiled, which takes long. */
static bool makes_kernel(const char *name)
{
    return strncmp(name, "cuModule", 8) == 0 || strncmp(name, "cuFunc", 6) == 0 ||
           strncmp(name, "cuOccupancy", 11) == 0;
}

/* How many of the runs ended how. Every second call fails, the others in the other round, strict or not;
 * under sanitizers every ninth. Of those that fail every second one does in a device that works late. */
static void fail_each(bool kernels_too, int count[3])
{
    char number[16], what[64];
    fails = number;
    const int step = UNDER_SANITIZERS ? 9 : 2;
    for (int n = strict ? step / 2 : 0; n < calls.count; n += step) {
        if (calls.name[n][0] == '\0' || (!kernels_too && makes_kernel(calls.name[n])))
            continue;
        const bool late = (n / step + strict) % 2 == 0;
        setenv("FAKE_CUDA_LATE", late ? "1" : "0", 1);
        snprintf(number, sizeof number, "%d", n);
        snprintf(what, sizeof what, "call %d, %s%s", n, calls.name[n], late ? ", late" : "");
        count[outcome_of_run(what)]++;
    }
    fails = NULL;
}

/* `lost`: every call from the one that fails on does. */
static void expect_survival(const struct pipeline *p, bool kernels_too, bool lost)
{
    int count[3] = {0};
    set_chain(p);
    outcome_of_run("to fill the cache");
    most_compiled = 0;
    list_calls();
    most_compiled = kernels_too && !lost ? 1 : 0;
    fail_each(kernels_too, count);
    cr_assert(count[TAKEN_OVER] > 0);
    strict = true;
    fail_each(kernels_too, count);
    cr_assert(count[REFUSED] > 0);
    strict = false;
}

static const struct pipeline volume = {
    .chain = "gaussian", .nx = 13, .ny = 6, .nz = 5, .type = VF_F32, .result_type = VF_F32};

Test(cuda_failures, volume)
{
    one_run = true;
    expect_survival(&volume, true, false);
}

/* Several runs, with fields on the device between them: the CPU begins anew. */
Test(cuda_failures, fields_that_stay)
{
    struct pipeline p = volume;
    p.chain = "eed:iterations=2";
    p.scheme = "global-read";
    expect_survival(&p, false, false);
    cr_expect(count_of("cuEventElapsedTime") / 3 > 1, "several runs");
    cr_expect_eq(count_of("cuMemHostAlloc"), 1, "what is pinned stays so");
    cr_expect_eq(count_of("cuMemcpy2DAsync"), 2, "the image, for the pre-pass too, and the result");
}

/* Where the host needs nothing of a run, the next is launched before it is waited for. */
Test(cuda_failures, runs_that_are_not_waited_for)
{
    struct pipeline p = volume;
    int waits[2];
    p.scheme = "global-read";
    for (int i = 0; i < 2; i++) {
        p.chain = i == 0 ? "eed:iterations=24:k=9" : "eed:iterations=48:k=9";
        set_chain(&p);
        outcome_of_run("to fill the cache");
        list_calls();
        waits[i] = count_of("cuStreamSynchronize");
        cr_expect_geq(count_of("cuEventElapsedTime") / 3, i == 0 ? 3 : 6, "several runs");
    }
    cr_expect_eq(waits[0], waits[1]);
}

/* Values that were reduced must not count twice. */
Test(cuda_failures, global_values)
{
    struct pipeline p = volume;
    p.chain = "perona-malik:iterations=2";
    expect_survival(&p, false, false);
}

Test(cuda_failures, slices)
{
    struct pipeline p = volume;
    p.chain = "gradient";
    p.slices = true;
    expect_survival(&p, false, false);
}

Test(cuda_failures, time_series)
{
    struct pipeline p = volume;
    p.nt = 2;
    one_run = true;
    expect_survival(&p, false, false);
}

Test(cuda_failures, slabs)
{
    struct pipeline p = volume;
    p.nz = 20;
    p.scheme = "global-read";
    one_run = true;
    setenv("FAKE_CUDA_MEMORY", "45000", 1);
    expect_survival(&p, false, false);
    cr_expect(count_of("cuStreamSynchronize") > 3, "several slabs");
}

Test(cuda_failures, slabs_round_the_grid)
{
    struct pipeline p = volume;
    p.nz = 20;
    p.scheme = "global-read";
    p.boundary = VF_WRAP;
    one_run = true;
    setenv("FAKE_CUDA_MEMORY", "45000", 1);
    expect_survival(&p, false, false);
}

/* What the device is left with does not go away; nothing is compiled for it any more. */
Test(cuda_failures, lost_device)
{
    struct pipeline p = volume;
    p.chain = "perona-malik:iterations=2";
    setenv("FAKE_CUDA_FAIL_WITH", "700", 1);
    expect_survival(&p, true, true);
}

/* ---- what fails for good ---- */

/* With --backend auto the CPU takes over, with cuda it is an error; the message has `why`. */
static void expect_no_device(const char *why)
{
    snprintf(expected, sizeof expected, "%s", why);
    cr_expect_eq(outcome_of_run("auto"), TAKEN_OVER);
    strict = true;
    cr_expect_eq(outcome_of_run("strict"), REFUSED);
}

Test(cuda_failures, kernel_that_does_not_compile_gives_way)
{
    char number[16];
    int first = 0;
    setenv("VOLFILTER_CACHE", "", 1);
    set_chain(&volume);
    list_calls();
    while (first < calls.count && strcmp(calls.name[first], "nvrtcCompileProgram") != 0)
        first++;
    cr_assert_lt(first, calls.count);
    snprintf(number, sizeof number, "%d", first);
    fails = number;
    least_compiled = 1;
    cr_expect_eq(outcome_of_run("the first choice"), ON_DEVICE);
}

Test(cuda_failures, nothing_compiles)
{
    set_chain(&volume);
    setenv("FAKE_NVRTC_CXX", "false", 1);
    expect_no_device("does not compile");
}

Test(cuda_failures, no_room_for_a_plane)
{
    struct pipeline p = volume;
    p.chain = "gradient";
    set_chain(&p);
    setenv("FAKE_CUDA_MEMORY", "2000", 1);
    expect_no_device("not enough memory");
}

/* Only a lack of memory makes slabs smaller, or keeps fields off the device: what else fails while memory is
 * taken has its own message. */
Test(cuda_failures, taking_memory_is_not_always_short_of_it)
{
    static const struct {
        const char *chain, *call, *why;
    } failing[] = {
        {"gaussian", "cuMemAlloc", "allocating device memory: "},
        {"gaussian", "cuMemsetD2D8Async", "clearing memory: "},
        {"perona-malik:iterations=9:k=3", "cuMemAlloc",
         "allocating device memory: "}, /* a field between two runs */
    };
    char number[16];
    for (int i = 0; i < 3; i++) {
        struct pipeline p = volume;
        p.chain = failing[i].chain;
        p.scheme = "global-read";
        fails = NULL;
        strict = false;
        expected[0] = '\0';
        unsetenv("FAKE_CUDA_FAIL_WITH");
        set_chain(&p);
        outcome_of_run("to fill the cache");
        list_calls();
        setenv("FAKE_CUDA_FAIL_WITH", "700", 1);
        int n = 0;
        while (n < calls.count && strcmp(calls.name[n], failing[i].call) != 0)
            n++;
        cr_assert_lt(n, calls.count);
        snprintf(number, sizeof number, "%d", n);
        fails = number;
        expect_no_device(failing[i].why);
    }
}

/* Fields would stay on the device, which has room for them by its size, and not beside what others hold. */
Test(cuda_failures, memory_that_others_hold)
{
    struct pipeline p = volume;
    p.chain = "perona-malik:iterations=9:k=3";
    p.nz = 40;
    p.scheme = "global-read";
    set_chain(&p);
    setenv("FAKE_CUDA_MEMORY", "2000000", 1);
    list_calls();
    const int whole = count_of("cuMemcpy2DAsync");
    setenv("FAKE_CUDA_TAKEN", "1935000", 1);
    list_calls();
    cr_expect_gt(count_of("cuMemcpy2DAsync"), whole + 2, "in slabs, from and to the host");
    strict = true;
    cr_expect_eq(outcome_of_run("strict"), ON_DEVICE);
    setenv("FAKE_CUDA_TAKEN", "1999000", 1);
    cr_expect_eq(outcome_of_run("nothing left"), REFUSED);
    strict = false;
    cr_expect_eq(outcome_of_run("nothing left"), TAKEN_OVER);
}

Test(cuda_failures, damaged_cache)
{
    char command[256];
    set_chain(&volume);
    outcome_of_run("to fill the cache");
    snprintf(command, sizeof command,
             "find %s -type f -size +1k | while read -r f; do printf x | "
             "dd of=\"$f\" bs=1 seek=700 conv=notrunc 2>/dev/null || exit; done",
             sample_path("cache"));
    cr_assert_eq(system(command), 0); /* NOLINT: a name that mkdtemp made */
    least_compiled = 1;
    cr_expect_eq(outcome_of_run("damaged"), ON_DEVICE);
    least_compiled = most_compiled = 0;
    cr_expect_eq(outcome_of_run("made anew"), ON_DEVICE);
}
