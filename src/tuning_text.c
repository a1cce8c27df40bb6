/* Tuned kernels as text: their lines, and the files that hold them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "descriptor.h"
#include "number.h"
#include "nvrtc.h"
#include "output_file.h"
#include "tuning.h"

/* ---- lines ---- */

/* The scheme column; false when it is not all there. */
static bool read_scheme(const char *text, struct vf_tuned *entry)
{
    struct vf_forced_list list;
    struct vf_error error;
    if (vf_forced_read(text, &list, &error) != VF_OK || list.count != 1)
        return false;
    const struct vf_forced *forced = &list.entry[0];
    entry->scheme = forced->scheme;
    entry->config = forced->config;
    for (int axis = 0; axis < 3; axis++)
        if (entry->config.block[axis] < 1 || entry->config.work[axis] < 1)
            return false;
    if (forced->grid < 0 || forced->virtual_blocks < 0 || forced->interior < 0 ||
        (forced->variant < 0 && forced->scheme->variants != NULL))
        return false;
    entry->config.variant = forced->variant < 0 ? 0 : forced->variant;
    entry->config.flat_grid = forced->grid;
    entry->config.virtual_blocks = forced->virtual_blocks;
    entry->config.interior = forced->interior;
    return true;
}

/* The column of figures: numbers, each before its unit. */
enum { FIGURES = 4 };
static const struct {
    const char *name;
    double size;
} unit[FIGURES] = {{"SM,", 1}, {"MHz,", 1e6}, {"MiB,", 1 << 20}, {"GB/s", 1e9}};

static bool read_figures(const char *text, struct vf_figures *figures)
{
    const double most = 1e6; /* of a unit */
    double number[FIGURES];
    for (int i = 0; i < FIGURES; i++) {
        text = vf_number_read(text, &number[i]);
        if (text == NULL || strncmp(text, unit[i].name, strlen(unit[i].name)) != 0 || !(number[i] >= 0) ||
            number[i] > most)
            return false;
        text += strlen(unit[i].name);
    }
    *figures = (struct vf_figures){(int)number[0], number[1] * unit[1].size, number[2] * unit[2].size,
                                   number[3] * unit[3].size};
    return *text == '\0';
}

static void write_figures(const struct vf_figures *f, struct vf_text *text)
{
    const double figure[FIGURES] = {f->multiprocessors, f->clock, f->l2, f->bandwidth};
    for (int i = 0; i < FIGURES; i++)
        vf_text_add(text, "%s%.9g%s", i == 0 ? "\t" : "", figure[i] / unit[i].size, unit[i].name);
}

/* One line, which is cut up; *understood is false where nothing is added. */
static enum vf_status read_line(struct vf_tuning *tuning, char *line, bool shipped, bool *understood,
                                struct vf_error *error)
{
    char *column[5] = {line}, *end;
    struct vf_tuned entry = {.shipped = shipped};
    int count = 1;
    for (char *at = strchr(line, '\t'); at != NULL && count < 5; at = strchr(at, '\t')) {
        *at++ = '\0';
        column[count++] = at;
    }
    *understood = false;
    if (count < 4 || !read_scheme(column[2], &entry) ||
        (count == 5 && !read_figures(column[4], &entry.figures)))
        return VF_OK;
    entry.copies = strtod(column[3], &end);
    if (end == column[3] || *end != '\0' || !(entry.copies > 0) || !isfinite(entry.copies))
        return VF_OK;
    *understood = true;
    return vf_tuning_add(tuning, column[0], column[1], &entry, error);
}

enum vf_status vf_tuning_read(struct vf_tuning *tuning, const char *lines, bool shipped,
                              struct vf_error *error)
{
    char *copy = vf_strdup(lines, error), *rest = copy;
    enum vf_status status = copy == NULL ? VF_FAILED : VF_OK;
    while (status == VF_OK && rest != NULL && *rest != '\0') {
        char *line = rest;
        const char *whole = lines + (line - copy);
        bool understood;
        rest = strchr(line, '\n');
        if (rest != NULL)
            *rest++ = '\0';
        status = read_line(tuning, line, shipped, &understood, error);
        if (!understood && !shipped && *whole != '\n')
            vf_text_add(&tuning->foreign, "%.*s\n", (int)strcspn(whole, "\n"), whole);
    }
    vf_free(copy);
    return status;
}

void vf_tuning_write_scheme(const struct vf_gpu_scheme *scheme, const struct vf_kernel_config *c,
                            struct vf_text *text)
{
    vf_text_add(text, "%s", scheme->name);
    if (scheme->variants != NULL)
        vf_text_add(text, ":variant=%s", scheme->variants[c->variant]);
    vf_text_add(text, ":block=%dx%dx%d:work=%dx%dx%d", c->block[0], c->block[1], c->block[2], c->work[0],
                c->work[1], c->work[2]);
    if (c->stream > 0)
        vf_text_add(text, ":stream=%d", c->stream);
    vf_text_add(text, ":grid=%s:virtual=%d:interior=%d", c->flat_grid ? "flat" : "full", c->virtual_blocks,
                c->interior);
}

void vf_tuning_write_entry(const struct vf_tuned *entry, struct vf_text *lines)
{
    vf_text_add(lines, "%s\t%s\t", entry->device, entry->kernel_case);
    vf_tuning_write_scheme(entry->scheme, &entry->config, lines);
    vf_text_add(lines, "\t%.4g", entry->copies);
    if (entry->figures.multiprocessors > 0)
        write_figures(&entry->figures, lines);
    vf_text_add(lines, "\n");
}

void vf_tuning_write(const struct vf_tuning *tuning, struct vf_text *lines)
{
    for (int i = 0; i < tuning->count; i++)
        if (!tuning->entry[i].shipped)
            vf_tuning_write_entry(&tuning->entry[i], lines);
    if (tuning->foreign.length > 0)
        vf_text_add(lines, "%s", tuning->foreign.data);
    lines->failed = lines->failed || tuning->foreign.failed;
}

/* ---- the user's file ---- */

#define MOST_BYTES ((size_t)4 << 20) /* of a file */

static void path_of(const struct vf_cache *cache, char path[PATH_MAX + 16])
{
    snprintf(path, PATH_MAX + 16, "%s/tuned.txt", cache->path);
}

/* The whole text, ended by a 0; *lines stays NULL where there is no file. */
static enum vf_status read_text(const char *path, char **lines, struct vf_error *error)
{
    /* A pipe in its place is not waited for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return VF_OK;
    if (fd < 0)
        return vf_fail(error, VF_FAILED, "cannot be read: %s", vf_cause(errno));
    enum vf_status status = VF_OK;
    *lines = vf_alloc(MOST_BYTES + 2, 1, "tuning", error);
    if (*lines == NULL) {
        close(fd);
        return VF_FAILED;
    }
    const ssize_t length = vf_read_up_to(fd, *lines, MOST_BYTES + 1, true);
    if (length < 0)
        status = vf_fail(error, VF_FAILED, "cannot be read: %s", vf_cause(errno));
    else if (length > (ssize_t)MOST_BYTES)
        status = vf_fail(error, VF_FAILED,
                         "has more than the %zu MiB that are read; remove it, or some of its lines",
                         MOST_BYTES >> 20);
    else if (memchr(*lines, '\0', (size_t)length) != NULL)
        status = vf_fail(error, VF_FAILED, "is not a text file (it has a zero byte); remove it");
    else
        (*lines)[length] = '\0';
    close(fd);
    return status;
}

enum vf_status vf_tuning_read_file(struct vf_tuning *tuning, const char *path, bool shipped,
                                   struct vf_error *error)
{
    char *lines = NULL;
    enum vf_status status = read_text(path, &lines, error);
    if (status == VF_OK && lines != NULL)
        status = vf_tuning_read(tuning, lines, shipped, error);
    vf_free(lines);
    return status;
}

enum vf_status vf_tuning_open(struct vf_tuning *tuning, const struct vf_cache *cache, struct vf_error *error)
{
    char path[PATH_MAX + 16];
    struct vf_error ignored;
    enum vf_status status = VF_OK;
    *tuning = (struct vf_tuning){0};
    path_of(cache, path);
    /* Plans do without what cannot be read; vf_tuning_save says so. */
    if (cache->path[0] != '\0' && vf_cache_fault(cache) == NULL)
        vf_tuning_read_file(tuning, path, false, &ignored);
    for (int i = 0; i < vf_tuned_text_count && status == VF_OK; i++)
        status = vf_tuning_read(tuning, vf_tuned_texts[i].text, true, error);
    return status;
}

/* The folder, locked until it is closed, where the file system has locks; -1: it cannot be opened. Who has it
 * reads and writes one small file: a process that was stopped meanwhile is not waited for longer than that.
 */
static int lock_folder(const struct vf_cache *cache)
{
    enum { MOST_WAITED_MS = 2000 };
    const int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        vf_lock_within(folder, MOST_WAITED_MS);
    return folder;
}

enum vf_status vf_tuning_save(const struct vf_tuning *tuning, const struct vf_cache *cache,
                              char path[PATH_MAX + 16], struct vf_error *error)
{
    struct vf_text lines = {0};
    struct vf_tuning all = {0};
    struct vf_output_file *file = NULL;
    const int lock = lock_folder(cache);
    enum vf_status status;
    path_of(cache, path);
    VF_TRY(vf_tuning_read_file(&all, path, false, error));
    VF_TRY(vf_tuning_merge(&all, tuning, error));
    vf_tuning_write(&all, &lines);
    if (lines.failed)
        VF_TRY(vf_fail(error, VF_FAILED, "out of memory for tuning data"));
    VF_TRY(vf_output_file_open(&file, path, false, error));
    if (dprintf(vf_output_file_descriptor(file), "%s", lines.data != NULL ? lines.data : "") < 0)
        VF_TRY(vf_fail(error, VF_FAILED, "cannot write: %s", vf_cause(errno)));
    VF_TRY(vf_output_file_finish(file, false, error));
out:
    vf_output_file_close(file);
    if (lock >= 0)
        close(lock);
    vf_tuning_free(&all);
    vf_text_free(&lines);
    return status;
}
