/* Files of weights: what is read, and what is said of others. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "chain.h"
#include "io_samples.h"
#include "pipeline.h"
#include "weights.h"

TestSuite(weights, .init = samples_begin, .fini = samples_end);

/* A file of these bytes: its path. */
static const char *put(const char *text, size_t bytes)
{
    const char *path = sample_path("weights.txt");
    sample_put(path, text, bytes);
    return path;
}

/* ---- what is read ---- */

static void expect_weights(const char *text, int planes, int rows, int across, const double *weight)
{
    const char *const path = put(text, strlen(text));
    struct vf_weights *w;
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_weights_read(path, "convolve", "file", &w, &error), VF_OK, "%s: %s", text, error.text);
    cr_expect(w->size[0] == planes && w->size[1] == rows && w->size[2] == across, "%s", text);
    cr_expect_str_eq(w->path, path);
    for (int i = 0; i < planes * rows * across; i++)
        cr_expect_eq(w->weight[i], weight[i], "%s: %d is %g", text, i, w->weight[i]);
    vf_free(w);
}

Test(weights, every_spelling)
{
    static const double nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, some[] = {-0.5, 0.25, 1e-3};
    expect_weights("1 2 3\n4 5 6\n7 8 9\n", 1, 3, 3, nine);
    expect_weights("1 2 3\n4 5 6\n7 8 9", 1, 3, 3, nine);
    expect_weights("1,2,3\r\n4,\t5 ,6\r\n 7, 8,9 \r\n\r\n", 1, 3, 3, nine);
    expect_weights("1 2 3\r4 5 6\r7 8 9\r", 1, 3, 3, nine);
    expect_weights("1 2 3\r\r\n4 5 6\r\r\n7 8 9\r\r\n", 1, 3, 3, nine);
    expect_weights("1\r2\r3\r\r4\r5\r6\r\r7\r8\r9", 3, 3, 1, nine);
    expect_weights("\xef\xbb\xbf# caf\xc3\xa9\n\n1\t2\t3 # first\n#1 2\n4 5 6\n  # last\n7 8 9#\n\n\n", 1, 3,
                   3, nine);
    expect_weights("1 2 3\n\n4 5 6\n \t\n\n7 8 9\n", 3, 1, 3, nine);
    expect_weights("1\n2\n3\n\n4\n5\n6\n\n7\n8\n9\n", 3, 3, 1, nine);
    expect_weights("-.5 +0.25 1E-3", 1, 1, 3, some);
}

/* ---- what is not ---- */

static void expect_error_of(const char *path, const char *piece)
{
    struct vf_weights *w;
    struct vf_error error = {.text = ""};
    cr_expect_eq(vf_weights_read(path, "convolve", "file", &w, &error), VF_USAGE, "%s", path);
    cr_expect_null(w);
    cr_expect_eq(strncmp(error.text, "convolve: file=", 15), 0, "%s", error.text);
    cr_expect_not_null(strstr(error.text, piece), "'%s' has no '%s'", error.text, piece);
}

static void expect_error_bytes(const char *text, size_t bytes, const char *piece)
{
    expect_error_of(put(text, bytes), piece);
}

static void expect_error(const char *text, const char *piece)
{
    expect_error_bytes(text, strlen(text), piece);
}

Test(weights, malformed_files_are_told_by_line)
{
    expect_error("1 2 3\n4 5\n7 8 9\n", "line 2: this row has 2 numbers, but the first (line 1) has 3");
    expect_error("1\n2\n3\n\n# b\n4\n5\n\n6\n", "line 8: plane 2 ends here with 2 rows, but the first has 3");
    expect_error("1\n2\n3\n\n4\n5\n", "line 6: plane 2 ends here with 2 rows");
    expect_error("1\n2\n3\n\n4", "line 5: plane 2 ends here with 1 row, but");
    expect_error("1 2 3\n4\n", "line 2: this row has 1 number, but");
    expect_error("1 2\n", "has 2 numbers in a row; an odd number is needed");
    expect_error("1\n2\n", "has 2 rows in a plane; an odd number");
    expect_error("1\n\n2\n", "has 2 planes, separated by blank lines; an odd number");
    expect_error("1 2 x\n", "line 1: 'x' is not a number such as 2, -0.25 or 1e-3");
    expect_error("1 2\n3 4;5\n", "line 2: '4;5' is not a number");
    expect_error("1 0x10 2\n", "'0x10' is not a number");
    expect_error("nan", "'nan' is not a number");
    expect_error("1 -inf 2", "'-inf' is not a number");
    expect_error("1 1e999 2", "line 1: a number is too large; weights must be finite");
    expect_error("1 \xe2\x88\x92"
                 "2 3",
                 "'−2' is not a number");
    expect_error("12345678901234567890123456789012345z", "'12345678901234567890123' is not");
    expect_error("1,,2", "line 1: a number is missing beside a comma");
    expect_error("1,2,3,\n", "a number is missing beside a comma");
    expect_error(",1", "a number is missing beside a comma");
    expect_error("", "holds no numbers");
    expect_error("# nothing\n\n", "holds no numbers");
    expect_error("0 0 0\n", "all weights are 0");
}

Test(weights, other_files)
{
    const char *const fifo = sample_path("fifo"), *const large = put("1", 1);
    expect_error_of("-", "not read from standard input, which may be the image");
    expect_error_of("/nowhere/weights.txt",
                    "cannot be read: No such file or directory (a path in a chain cannot contain");
    expect_error_of("/tmp", "is not a regular file but a directory");
    expect_error_of("/dev/zero", "a pipe or a device");
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    expect_error_of(fifo, "a pipe or a device"); /* nobody writes to it */
    cr_assert_eq(truncate(large, (4 << 20) + 1), 0);
    expect_error_of(large, "has 4194305 bytes; the maximum for a file of weights is 4194304");
    expect_error_bytes("1 2\0 3", 6, "is not plain text");
    expect_error_bytes("\x89PNG\r\n\x1a\n", 8, "is not plain text");
    char *longest = calloc(VF_MOST_PATH + 2, 1);
    memset(longest, 'a', VF_MOST_PATH + 1);
    expect_error_of(longest, "a path can have at most 4095 bytes");
    free(longest);
}

/* As many as there may be, and one row more. */
Test(weights, most)
{
    enum { ACROSS = 257, ROWS = 255 };
    char *text = malloc(ACROSS * (ROWS + 2) * 2 + 1), *at = text;
    struct vf_weights *w;
    struct vf_error error = {.text = ""};
    for (int y = 0; y < ROWS + 2; y++)
        for (int x = 0; x < ACROSS; x++) {
            *at++ = '7';
            *at++ = x + 1 < ACROSS ? ' ' : '\n';
        }
    expect_error_bytes(text, (size_t)(at - text), "line 256: there are more than 65536 weights");
    cr_assert_eq(vf_weights_read(put(text, ACROSS * ROWS * 2), "convolve", "file", &w, &error), VF_OK, "%s",
                 error.text);
    cr_expect(w->size[2] == ACROSS && w->size[1] == ROWS && w->weight[ACROSS * ROWS - 1] == 7);
    vf_free(w);
    free(text);
}

/* ---- in chains ---- */

/* The chain's own text; owned by the caller. */
static char *text_of(const char *chain_text)
{
    struct vf_chain chain = {0};
    struct vf_error error = {.text = ""};
    cr_assert_eq(vf_chain_append(&chain, chain_text, &error), VF_OK, "%s: %s", chain_text, error.text);
    char *text = vf_chain_text(&chain, &error);
    vf_chain_free(&chain);
    return text;
}

static void expect_chain_error(const char *text, const char *piece)
{
    struct vf_chain chain = {0};
    struct vf_error error = {.text = ""};
    cr_expect_eq(vf_chain_append(&chain, text, &error), VF_USAGE, "%s", text);
    cr_expect_not_null(strstr(error.text, piece), "%s: '%s' has no '%s'", text, error.text, piece);
    cr_expect_eq(chain.count, 0);
    vf_chain_free(&chain);
}

/* Other weights under the same name are another chain; other comments are not. */
Test(weights, a_chain_is_known_by_its_weights)
{
    char chain[128];
    snprintf(chain, sizeof chain, "gaussian,convolve:%s,gradient", put("1 2 3\n", 6));
    char *first = text_of(chain), *again = text_of(first);
    cr_expect_str_eq(first, again);
    cr_expect_eq(strspn(strchr(first, '#') + 1, "0123456789abcdef"), VF_CHECKSUM_DIGITS);
    vf_free(again);

    put("# the same\n1.0, 2e0, 3\n\n", 24);
    again = text_of(chain);
    cr_expect_str_eq(first, again);
    vf_free(again);

    put("1\n2\n3\n", 6);
    again = text_of(chain);
    cr_expect_str_neq(first, again);
    expect_chain_error(first, "holds different weights, with checksum ");
    vf_free(again);
    vf_free(first);
}

Test(weights, in_a_chain)
{
    char chain[128];
    const char *const path = put("1 2 3\n", 6);
    expect_chain_error("convolve", "convolve: file is missing; write convolve:file=PATH");
    expect_chain_error("convolve:flip=no", "convolve: file is missing");
    expect_chain_error("convolve:file=", "file needs a value; allowed: the path of a text file, without ','");
    expect_chain_error("convolve:flip=maybe", "allowed: yes or no");
    snprintf(chain, sizeof chain, "convolve:%s,nonsense", path);
    expect_chain_error(chain, "unknown filter 'nonsense'");
    snprintf(chain, sizeof chain, "convolve:%s:file=%s", path, path);
    expect_chain_error(chain, "file is given twice");
    snprintf(chain, sizeof chain, "convolve=%s:zoom=2", path);
    expect_chain_error(chain, "no parameter 'zoom'");
}
