/* Runs beside each other that note their results in one directory. */
#include <criterion/criterion.h>
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
    cr_expect(vf_journal_has(later, "b", key));
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
