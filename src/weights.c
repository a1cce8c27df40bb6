#include "weights.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptor.h"
#include "number.h"
#include "sha256.h"

/* More weights than any direct sum is patient for, and what they take as text, with comments. */
#define MOST_WEIGHTS 65536
#define MOST_BYTES ((size_t)4 << 20)

/* What is read of a file, and where. */
struct table {
    double *weight; /* owned */
    size_t count, room;
    size_t across, rows, planes; /* of the first row, the first plane, and so far */
    size_t row_line;             /* where the first row is */
    size_t made;                 /* rows of the present plane */
    size_t line;
};

/* ---- the file's text ---- */

/* Other bytes than those of text; those beyond ASCII may stand in comments. */
static bool is_text(const char *text, size_t bytes)
{
    bool is = true;
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        is = is && (c >= ' ' || c == '\t' || c == '\r' || c == '\n');
    }
    return is;
}

/* Old programs end lines with carriage returns alone. Two before a newline are an end that was converted
 * twice. */
static void end_lines(char *text)
{
    for (; *text != '\0'; text++)
        if (text[0] == '\r' && text[1] != '\n' && !(text[1] == '\r' && text[2] == '\n'))
            text[0] = '\n';
}

static enum vf_status check_file(int fd, size_t *bytes, struct vf_error *error)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return vf_fail(error, VF_USAGE, "cannot be read: %s", vf_cause(errno));
    if (!S_ISREG(about.st_mode))
        return vf_fail(error, VF_USAGE, "is not a regular file but %s; write the weights to a text file",
                       S_ISDIR(about.st_mode) ? "a directory" : "a pipe or a device");
    if (about.st_size > (off_t)MOST_BYTES)
        return vf_fail(error, VF_USAGE, "has %lld bytes; the maximum for a file of weights is %zu",
                       (long long)about.st_size, MOST_BYTES);
    *bytes = (size_t)about.st_size;
    return VF_OK;
}

/* Owned by the caller; NULL with a status and a message. */
static char *read_text(const char *path, enum vf_status *out, struct vf_error *error)
{
    /* A pipe that nobody writes to is not waited for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    size_t bytes = 0;
    enum vf_status status;
    if (fd < 0) {
        *out = vf_fail(error, VF_USAGE, "cannot be read: %s%s", vf_cause(errno),
                       errno == ENOENT ? " (a path in a chain cannot contain ',' or ':')" : "");
        return NULL;
    }
    VF_TRY(check_file(fd, &bytes, error));
    text = vf_alloc(bytes + 1, 1, "the text of weights", error);
    if (text == NULL) {
        status = VF_FAILED;
        goto out;
    }
    const ssize_t got = vf_read_up_to(fd, text, bytes, true);
    bytes = got < 0 ? 0 : (size_t)got;
    text[bytes] = '\0';
    if (got < 0)
        status = vf_fail(error, VF_USAGE, "cannot be read: %s", vf_cause(errno));
    else if (!is_text(text, bytes))
        status = vf_fail(error, VF_USAGE,
                         "is not plain text (an image, a spreadsheet or UTF-16?); write rows of numbers as "
                         "ASCII or UTF-8");
out:
    close(fd);
    *out = status;
    if (status == VF_OK) {
        end_lines(text);
        return text;
    }
    vf_free(text);
    return NULL;
}

/* ---- rows ---- */

static bool ends_word(char c)
{
    return c == '\0' || c == '\n' || c == '#' || c == ',' || c == ' ' || c == '\t' || c == '\r';
}

static enum vf_status fail_word(const struct table *t, const char *at, struct vf_error *error)
{
    char word[24];
    size_t n = 0;
    for (; n + 1 < sizeof word && !ends_word(at[n]); n++)
        word[n] = at[n];
    while (n > 0 && (at[n] & 0xc0) == 0x80) /* within a letter of UTF-8 */
        n--;
    word[n] = '\0';
    return vf_fail(error, VF_USAGE,
                   "line %zu: '%s' is not a number such as 2, -0.25 or 1e-3; blanks, tabs or commas separate "
                   "numbers, '#' starts a comment%s",
                   t->line, word, strncmp(word, "\xe2\x88\x92", 3) == 0 ? ", and a minus sign is '-'" : "");
}

static enum vf_status add_weight(struct table *t, double weight, struct vf_error *error)
{
    if (!isfinite(weight))
        return vf_fail(error, VF_USAGE, "line %zu: a number is too large; weights must be finite", t->line);
    if (t->count == MOST_WEIGHTS)
        return vf_fail(error, VF_USAGE, "line %zu: there are more than %d weights, which is the maximum",
                       t->line, MOST_WEIGHTS);
    double *grown = vf_grow(t->weight, t->count, &t->room, sizeof *grown, "weights", error);
    if (grown == NULL)
        return VF_FAILED;
    t->weight = grown;
    t->weight[t->count++] = weight;
    return VF_OK;
}

/* The numbers of a line, after which *at is its end; how many. */
static enum vf_status read_numbers(struct table *t, const char **at, size_t *count, struct vf_error *error)
{
    bool after_comma = false;
    double weight;
    enum vf_status status;
    for (*count = 0;;) {
        *at += strspn(*at, " \t\r");
        const char c = **at;
        const bool is_end = c == '\0' || c == '\n' || c == '#';
        if (c == ',' ? *count == 0 || after_comma : is_end && after_comma)
            return vf_fail(error, VF_USAGE,
                           "line %zu: a number is missing beside a comma; write 0 for no weight", t->line);
        if (is_end)
            break;
        after_comma = c == ',';
        if (after_comma) {
            ++*at;
            continue;
        }
        const char *end = vf_number_read(*at, &weight);
        if (end == NULL || !ends_word(*end))
            return fail_word(t, *at, error);
        status = add_weight(t, weight, error);
        if (status != VF_OK)
            return status;
        ++*count;
        *at = end;
    }
    return VF_OK;
}

static enum vf_status end_plane(struct table *t, struct vf_error *error)
{
    if (t->made == 0)
        return VF_OK;
    if (t->planes > 0 && t->made != t->rows)
        return vf_fail(error, VF_USAGE,
                       "line %zu: plane %zu ends here with %zu row%s, but the first has %zu; all planes, "
                       "separated by blank lines, need the same number of rows",
                       t->line, t->planes + 1, t->made, t->made == 1 ? "" : "s", t->rows);
    t->rows = t->made;
    t->planes++;
    t->made = 0;
    return VF_OK;
}

static enum vf_status end_row(struct table *t, size_t count, struct vf_error *error)
{
    if (t->across == 0) {
        t->across = count;
        t->row_line = t->line;
    }
    t->made++;
    return count == t->across ? VF_OK
                              : vf_fail(error, VF_USAGE,
                                        "line %zu: this row has %zu number%s, but the first (line %zu) has "
                                        "%zu; all rows need the same length",
                                        t->line, count, count == 1 ? "" : "s", t->row_line, t->across);
}

static enum vf_status read_lines(struct table *t, const char *at, struct vf_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* that some editors begin UTF-8 with */
    enum vf_status status = VF_OK;
    at += strncmp(at, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    for (t->line = 1; status == VF_OK && *at != '\0'; t->line++) {
        size_t count;
        VF_TRY(read_numbers(t, &at, &count, error));
        if (count > 0)
            status = end_row(t, count, error);
        else if (*at != '#')
            status = end_plane(t, error);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    t->line--;
    if (status == VF_OK)
        status = end_plane(t, error);
out:
    return status;
}

/* ---- the whole ---- */

static enum vf_status check(const struct table *t, struct vf_error *error)
{
    const struct {
        size_t size;
        const char *of;
    } axes[] = {{t->across, "numbers in a row"},
                {t->rows, "rows in a plane"},
                {t->planes, "planes, separated by blank lines"}};
    bool any = false;
    if (t->count == 0)
        return vf_fail(error, VF_USAGE, "holds no numbers; rows of weights are needed");
    for (int i = 0; i < 3; i++)
        if (axes[i].size % 2 == 0)
            return vf_fail(
                error, VF_USAGE,
                "has %zu %s; an odd number is needed, so that one weight is in the middle (add zeros; a "
                "comma is no decimal point)",
                axes[i].size, axes[i].of);
    for (size_t i = 0; i < t->count; i++)
        any = any || t->weight[i] != 0;
    return any ? VF_OK : vf_fail(error, VF_USAGE, "all weights are 0, so nothing would be left of the image");
}

/* Of sizes and weights, the same on every machine. */
static void find_checksum(struct vf_weights *weights, size_t count)
{
    struct vf_sha256 hash;
    uint8_t digest[VF_SHA256_BYTES];
    char text[VF_SHA256_DIGITS + 1];
    vf_sha256_begin(&hash);
    for (size_t i = 0; i < 3 + count; i++) {
        uint64_t bits = i < 3 ? (uint64_t)weights->size[i] : 0;
        uint8_t byte[sizeof bits];
        if (i >= 3)
            memcpy(&bits, &weights->weight[i - 3], sizeof bits);
        for (size_t k = 0; k < sizeof bits; k++)
            byte[k] = (uint8_t)(bits >> 8 * k);
        vf_sha256_add(&hash, byte, sizeof byte);
    }
    vf_sha256_end(&hash, digest);
    vf_sha256_text(digest, text);
    memcpy(weights->checksum, text, VF_CHECKSUM_DIGITS);
}

static struct vf_weights *make(const struct table *t, const char *path, struct vf_error *error)
{
    const size_t bytes = t->count * sizeof *t->weight, length = strlen(path);
    struct vf_weights *weights = vf_alloc(1, sizeof *weights + bytes + length + 1, "weights", error);
    if (weights == NULL)
        return NULL;
    *weights = (struct vf_weights){.size = {(int)t->planes, (int)t->rows, (int)t->across}};
    for (size_t i = 0; i < t->count; i++)
        weights->weight[i] = t->weight[i];
    weights->path = memcpy(weights->weight + t->count, path, length + 1);
    find_checksum(weights, t->count);
    return weights;
}

/* `checksum` is "" where none follows the path. */
static enum vf_status split(const char *text, char path[VF_MOST_PATH + 1],
                            char checksum[VF_CHECKSUM_DIGITS + 1], struct vf_error *error)
{
    path[0] = checksum[0] = '\0';
    if (strlen(text) > VF_MOST_PATH)
        return vf_fail(error, VF_USAGE, "a path can have at most %d bytes", VF_MOST_PATH);
    memcpy(path, text, strlen(text) + 1);
    char *mark = strrchr(path, '#');
    if (mark != NULL && mark > path && strlen(mark + 1) == VF_CHECKSUM_DIGITS &&
        strspn(mark + 1, "0123456789abcdef") == VF_CHECKSUM_DIGITS) {
        memcpy(checksum, mark + 1, VF_CHECKSUM_DIGITS + 1);
        *mark = '\0';
    }
    return strcmp(path, "-") != 0 ? VF_OK
                                  : vf_fail(error, VF_USAGE,
                                            "weights are not read from standard input, which may be the "
                                            "image; write them to a file");
}

enum vf_status vf_weights_read(const char *text, const char *filter, const char *param,
                               struct vf_weights **weights, struct vf_error *error)
{
    char path[VF_MOST_PATH + 1], checksum[VF_CHECKSUM_DIGITS + 1], prefix[300], *content = NULL;
    struct table t = {0};
    enum vf_status status;
    *weights = NULL;
    VF_TRY(split(text, path, checksum, error));
    content = read_text(path, &status, error);
    if (content == NULL)
        goto out;
    VF_TRY(read_lines(&t, content, error));
    VF_TRY(check(&t, error));
    *weights = make(&t, path, error);
    status = *weights == NULL ? VF_FAILED : VF_OK;
    if (status == VF_OK && checksum[0] != '\0' && strcmp(checksum, (*weights)->checksum) != 0)
        status = vf_fail(error, VF_USAGE,
                         "holds different weights, with checksum %s; leave out '#%s' to use these",
                         (*weights)->checksum, checksum);
out:
    if (status != VF_OK) {
        snprintf(prefix, sizeof prefix, "%s: %s=%.200s", filter, param, text);
        vf_fail_in(error, status, prefix);
        vf_free(*weights);
        *weights = NULL;
    }
    vf_free(t.weight);
    vf_free(content);
    return status;
}
