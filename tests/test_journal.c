/* Runs beside each other that note their results in one directory. */
#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io_samples.h"
#include "journal.h"
#include "team.h"

TestSuite(journal, .init = samples_begin, .fini = samples_end);

enum { RUNS = 4, RESULTS = 400, NAME = 4090 };

static char key[VF_SHA256_DIGITS + 1];

static struct vf_journal *open_journal(bool read)
{
    struct vf_journal *journal;
    struct vf_error error;
    cr_assert_eq(vf_journal_open(&journal, sample_path("."), read, &error), VF_OK, "%s", error.text);
    return journal;
}

static void add(struct vf_journal *journal, const char *name, const struct stat *about)
{
    struct vf_error error;
    cr_expect_eq(vf_journal_add(journal, name, key, about, false, &error), VF_OK, "%s", error.text);
}

static bool has(struct vf_journal *journal, const char *name, const char *of)
{
    struct vf_error error;
    struct vf_journal_mark mark = {.is_finished = true};
    bool may_be;
    cr_expect_eq(vf_journal_ask(journal, name, of, &mark, &may_be, &error), VF_OK, "%s", error.text);
    cr_expect_eq(vf_journal_find(journal, &mark, may_be, &error), VF_OK, "%s", error.text);
    return may_be && mark.is_finished;
}

static enum vf_status add_many(void *context, size_t index, int thread, struct vf_error *error)
{
    struct vf_journal *const *journal = context;
    static const struct stat about = {.st_size = 1};
    char name[NAME + 1];
    (void)thread;
    (void)error;
    memset(name, 'a' + (int)index, NAME);
    name[NAME] = '\0';
    for (int i = 0; i < RESULTS; i++)
        add(journal[index], name, &about);
    return VF_OK;
}

Test(journal, lines_of_several_runs_do_not_mix)
{
    struct vf_journal *journal[RUNS];
    struct vf_error error;
    char line[NAME + 200];
    int count = 0;
    memset(key, '1', VF_SHA256_DIGITS);
    for (int i = 0; i < RUNS; i++)
        journal[i] = open_journal(false);
    vf_team_each(NULL, RUNS, RUNS, add_many, journal, &error);
    FILE *file = fopen(sample_path(".volfilter-done"), "r");
    cr_assert_not_null(file);
    /* A run that finds the file there ends what may be half a line. */
    while (fgets(line, sizeof line, file) != NULL) {
        const size_t length = strcspn(line, "\n");
        const char *name = line + length - (length < NAME ? length : NAME);
        if (length == 0)
            continue;
        count++;
        cr_assert(strncmp(line, key, VF_SHA256_DIGITS) == 0 && strspn(name, (char[]){name[0], '\0'}) == NAME,
                  "line %d", count);
    }
    cr_expect_eq(count, RUNS * RESULTS);
    fclose(file);
    for (int i = 0; i < RUNS; i++)
        vf_journal_close(journal[i], false);
}

Test(journal, the_first_to_end_leaves_what_others_added)
{
    struct stat about;
    struct vf_journal *first = open_journal(false), *second = open_journal(false);
    memset(key, '2', VF_SHA256_DIGITS);
    sample_put(sample_path("a"), "1", 1);
    sample_put(sample_path("b"), "2", 1);
    cr_assert_eq(stat(sample_path("b"), &about), 0);
    add(first, "a", &about);
    add(second, "b", &about);
    vf_journal_close(first, true);
    struct vf_journal *later = open_journal(true);
    cr_expect(has(later, "b", key));
    vf_journal_close(later, true);
    vf_journal_close(second, true);
    cr_expect_eq(access(sample_path(".volfilter-done"), F_OK), 0);
    /* What is its own goes. */
    unlink(sample_path(".volfilter-done"));
    first = open_journal(false);
    add(first, "a", &about);
    vf_journal_close(first, true);
    cr_expect_neq(access(sample_path(".volfilter-done"), F_OK), 0);
}

/* As by a run that ends between opening the file and adding to it, and by who moves the directory. */
Test(journal, what_is_gone_is_made_anew)
{
    struct stat about;
    struct vf_error error;
    char path[PATH_MAX], other[PATH_MAX + 2];
    snprintf(path, sizeof path, "%s", sample_path("results"));
    snprintf(other, sizeof other, "%s-2", path);
    memset(key, '4', VF_SHA256_DIGITS);
    cr_assert_eq(mkdir(path, 0777), 0);
    sample_put(sample_path("results/b"), "2", 1);
    cr_assert_eq(stat(sample_path("results/b"), &about), 0);
    struct vf_journal *journal, *later;
    cr_assert_eq(vf_journal_open(&journal, path, false, &error), VF_OK);
    add(journal, "a", &about);
    cr_assert_eq(unlink(sample_path("results/.volfilter-done")), 0);
    add(journal, "b", &about);
    cr_assert_eq(vf_journal_open(&later, path, true, &error), VF_OK);
    cr_expect(has(later, "b", key));
    vf_journal_close(later, false);
    cr_assert_eq(rename(path, other), 0);
    cr_assert_eq(mkdir(path, 0777), 0);
    cr_expect_eq(vf_journal_add(journal, "b", key, &about, false, &error), VF_FAILED);
    cr_expect(strstr(error.text, "is another directory") != NULL, "%s", error.text);
    vf_journal_close(journal, true);
}

static void check_not_added(const char *cause)
{
    static const struct stat about = {.st_size = 1};
    struct vf_journal *journal = open_journal(false);
    struct vf_error error;
    memset(key, '3', VF_SHA256_DIGITS);
    cr_expect_eq(vf_journal_add(journal, "a", key, &about, false, &error), VF_FAILED);
    cr_expect(strstr(error.text, cause) != NULL, "no \"%s\" in: %s", cause, error.text);
    vf_journal_close(journal, true);
}

static void key_of(const struct vf_options *options, const struct stat *input,
                   char made[VF_SHA256_DIGITS + 1])
{
    struct vf_chain chain = {0};
    struct vf_error error;
    cr_assert_eq(vf_chain_append(&chain, "gaussian", &error), VF_OK);
    cr_assert_eq(vf_journal_key(&chain, options, "in.tif", input, made, &error), VF_OK);
    vf_chain_free(&chain);
}

/* Whatever makes another result makes another key. */
Test(journal, keys)
{
    static const struct vf_options options[] = {
        {0},
        {.boundary = VF_WRAP},
        {.boundary = VF_CONSTANT},
        {.boundary = VF_CONSTANT, .constant = 1},
        {.spacing = {1}},
        {.spacing = {0, 1}},
        {.spacing = {0, 0, 1}},
        {.spacing = {1}, .spacing_unit = "nm"},
        {.slices = true},
        {.dtype_given = true},
        {.dtype_given = true, .dtype = VF_F64},
        {.precision = VF_PRECISION_DOUBLE},
        {.compression = VF_COMPRESS_LZW},
    };
    static const struct stat inputs[] = {
        {.st_size = 1}, {.st_size = 2}, {.st_mtim = {1, 0}}, {.st_mtim = {0, 1}}};
    enum { OPTIONS = sizeof options / sizeof *options, KEYS = OPTIONS + sizeof inputs / sizeof *inputs + 1 };
    char made[KEYS][VF_SHA256_DIGITS + 1], again[VF_SHA256_DIGITS + 1];
    for (int i = 0; i < KEYS; i++)
        key_of(&options[i < OPTIONS ? i : 0],
               i < OPTIONS    ? &inputs[0]
               : i < KEYS - 1 ? &inputs[i - OPTIONS]
                              : NULL,
               made[i]);
    for (int i = 0; i < KEYS; i++)
        for (int k = i + 1; k < KEYS; k++)
            cr_expect_eq(strcmp(made[i], made[k]) == 0, i == 0 && k == OPTIONS, "%d and %d", i, k);
    /* The rest does not matter. */
    key_of(&(struct vf_options){.threads = 3, .memory = 5, .verbose = 1, .scheme = "reference", .json = true},
           &inputs[0], again);
    cr_expect_str_eq(again, made[0]);
}

/* A result of another size or time is not the one that was noted. */
Test(journal, results_that_were_changed)
{
    struct stat about, other;
    struct vf_journal *journal = open_journal(false);
    memset(key, '4', VF_SHA256_DIGITS);
    sample_put(sample_path("a"), "1", 1);
    cr_assert_eq(stat(sample_path("a"), &about), 0);
    for (int i = 0; i < 3; i++) {
        other = about;
        other.st_size += i == 0;
        other.st_mtim.tv_sec += i == 1;
        other.st_mtim.tv_nsec ^= i == 2;
        add(journal, "a", &other);
    }
    struct vf_journal *later = open_journal(true);
    cr_expect_not(has(later, "a", key));
    vf_journal_close(later, false);
    add(journal, "a", &about);
    later = open_journal(true);
    cr_expect(has(later, "a", key));
    vf_journal_close(later, false);
    vf_journal_close(journal, true);
}

/* In whatever order they come; the line of each counts that is as the result is now, be it the last or not.
 */
Test(journal, all_results_at_once)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    static const bool is_finished[] = {true, false, true, false};
    enum { NAMES = sizeof names / sizeof *names };
    struct vf_journal_mark mark[NAMES];
    struct stat about[NAMES];
    struct vf_error error;
    bool may_be;
    memset(key, '5', VF_SHA256_DIGITS);
    for (int i = 0; i < NAMES; i++) {
        sample_put(sample_path(names[i]), "1", 1);
        cr_assert_eq(stat(sample_path(names[i]), &about[i]), 0);
    }
    struct vf_journal *journal = open_journal(false);
    for (int i = 0; i < NAMES; i++) {
        if (is_finished[i])
            add(journal, names[i], &about[i]);
        about[i].st_size++;
        add(journal, names[i], &about[i]);
    }
    struct vf_journal *later = open_journal(true);
    for (int i = 0; i < NAMES; i++) {
        cr_assert_eq(vf_journal_ask(later, names[i], key, &mark[i], &may_be, &error), VF_OK);
        cr_assert(may_be);
        mark[i].index = i;
    }
    cr_assert_eq(vf_journal_find(later, mark, NAMES, &error), VF_OK);
    for (int i = 0; i < NAMES; i++)
        cr_expect_eq(mark[i].is_finished, is_finished[mark[i].index], "%s", names[mark[i].index]);
    vf_journal_close(later, false);
    vf_journal_close(journal, true);
}

/* Without waiting for a reader. */
Test(journal, pipe_in_its_place, .timeout = 60)
{
    cr_assert_eq(mkfifo(sample_path(".volfilter-done"), 0600), 0);
    check_not_added("No such device");
}

Test(journal, half_a_line)
{
    const struct rlimit limit = {20, 20};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_not_added("No space");
}
