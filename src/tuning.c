#include "tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "alloc.h"
#include "number.h"
#include "nvrtc.h"
#include "output_file.h"
#include "size.h"
#include "volume.h"

/* ---- cases ---- */

static void add_types(const enum vf_type *type, int count, struct vf_text *text)
{
    for (int k = 0; k < count; k++)
        vf_text_add(text, "%s%s", k > 0 ? "," : "", vf_type_name(type[k]));
}

static void add_numbers(const int *number, int count, struct vf_text *text)
{
    for (int k = 0; k < count; k++)
        vf_text_add(text, "%s%d", k > 0 ? "," : "", number[k]);
}

static void add_stage(const struct vf_stage *stage, struct vf_text *text)
{
    if (stage->stencil == VF_STENCIL_LINEAR)
        vf_text_add(text, " linear%d@%dx%dx%d", stage->taps->count, stage->taps->halo[2],
                    stage->taps->halo[1], stage->taps->halo[0]);
    else
        vf_text_add(text, " %s", vf_stage_stencil(stage)->name);
    vf_text_add(text, "(");
    add_numbers(stage->input, stage->input_count, text);
    vf_text_add(text, ")");
    add_numbers(stage->output, stage->output_count, text);
}

void vf_case_text(const struct vf_kernel_case *c, struct vf_text *text)
{
    const struct vf_flow *flow = c->flow;
    vf_text_add(text, "%dD %s %s %tdx%tdx%td ", flow->dim, flow->is_double ? "double" : "single",
                vf_boundary_name[flow->boundary], c->nx, c->ny, c->nz);
    add_types(c->source_type, flow->source_count, text);
    vf_text_add(text, " ->");
    for (int s = 0; s < flow->stage_count; s++)
        add_stage(&flow->stage[s], text);
    vf_text_add(text, " -> ");
    add_types(c->sink_type, flow->sink_count, text);
    vf_text_add(text, " ");
    add_numbers(flow->sink, flow->sink_count, text);
}

double vf_case_copy_seconds(const struct vf_kernel_case *c, const struct vf_gpu *gpu)
{
    size_t cell = 0;
    for (int k = 0; k < c->flow->source_count; k++)
        cell += vf_type_size(c->source_type[k]);
    for (int k = 0; k < c->flow->sink_count; k++)
        cell += vf_type_size(c->sink_type[k]);
    return (double)cell * (double)c->nx * (double)c->ny * (double)c->nz / gpu->bandwidth;
}

/* ---- entries ---- */

static void free_entry(struct vf_tuned *entry)
{
    vf_free(entry->device);
    vf_free(entry->kernel_case);
}

void vf_tuning_free(struct vf_tuning *tuning)
{
    for (int i = 0; i < tuning->count; i++)
        free_entry(&tuning->entry[i]);
    vf_free(tuning->entry);
    vf_text_free(&tuning->foreign);
    *tuning = (struct vf_tuning){0};
}

/* Each has its inputs in brackets. */
static int count_stages(const char *kernel_case)
{
    int count = 0;
    for (const char *at = kernel_case; (at = strchr(at, '(')) != NULL; at++)
        count++;
    return count;
}

/* `what` but for its names. */
static enum vf_status add(struct vf_tuning *tuning, const char *device, const char *kernel_case,
                          const struct vf_tuned *what, struct vf_error *error)
{
    struct vf_tuned *grown =
        vf_grow(tuning->entry, (size_t)tuning->count, &tuning->room, sizeof *grown, "tuning", error);
    if (grown == NULL)
        return VF_FAILED;
    tuning->entry = grown;
    struct vf_tuned entry = *what;
    entry.device = vf_strdup(device, error);
    entry.kernel_case = vf_strdup(kernel_case, error);
    if (entry.device == NULL || entry.kernel_case == NULL) {
        free_entry(&entry);
        return VF_FAILED;
    }
    tuning->entry[tuning->count++] = entry;
    tuning->most_stages = (int)vf_larger(tuning->most_stages, count_stages(kernel_case));
    return VF_OK;
}

/* The same of an entry that is there. */
static void replace(struct vf_tuned *entry, const struct vf_tuned *what)
{
    char *const device = entry->device, *const kernel_case = entry->kernel_case;
    *entry = *what;
    entry->device = device;
    entry->kernel_case = kernel_case;
}

/* "sm_90" */
static void architecture_of(const struct vf_gpu *gpu, char name[16])
{
    snprintf(name, 16, "sm_%d", gpu->capability);
}

static struct vf_figures figures_of(const struct vf_gpu *gpu)
{
    return (struct vf_figures){gpu->multiprocessors, gpu->clock, (double)gpu->l2, gpu->bandwidth};
}

/* As text has them. */
static bool about(double a, double b)
{
    return fabs(a - b) <= 1e-6 * b;
}

/* Whether it was measured on a device like this one. */
static bool is_of(const struct vf_tuned *entry, const struct vf_gpu *gpu)
{
    const struct vf_figures *there = &entry->figures, here = figures_of(gpu);
    return there->multiprocessors == 0 ||
           (there->multiprocessors == here.multiprocessors && about(there->clock, here.clock) &&
            about(there->l2, here.l2) && about(there->bandwidth, here.bandwidth));
}

/* The device that it was measured on; `gpu` is of the same architecture. */
static struct vf_gpu device_of(const struct vf_tuned *entry, const struct vf_gpu *gpu)
{
    struct vf_gpu there = *gpu;
    if (!is_of(entry, gpu)) {
        there.multiprocessors = entry->figures.multiprocessors;
        there.clock = entry->figures.clock;
        there.l2 = (size_t)entry->figures.l2;
        there.bandwidth = entry->figures.bandwidth;
    }
    return there;
}

void vf_tuning_count(const struct vf_tuning *tuning, const struct vf_gpu *gpu, int *own, int *shipped)
{
    char architecture[16];
    architecture_of(gpu, architecture);
    *own = *shipped = 0;
    for (int i = 0; i < tuning->count; i++) {
        const struct vf_tuned *entry = &tuning->entry[i];
        const bool fits = strcmp(entry->device, gpu->name) == 0 || strcmp(entry->device, architecture) == 0;
        *own += fits && !entry->shipped;
        *shipped += fits && entry->shipped;
    }
}

/* Words of a case, as bits. */
enum { BOUNDARY = 1 << 2, GRID = 1 << 3 };

/* Whether two cases have the same words but for some. */
static bool are_alike(const char *a, const char *b, unsigned but_for)
{
    for (int word = 0; *a != '\0' && *b != '\0'; word++) {
        const size_t n = strcspn(a, " "), m = strcspn(b, " ");
        if ((but_for >> word & 1) == 0 && (n != m || memcmp(a, b, n) != 0))
            return false;
        a += n + (a[n] == ' ');
        b += m + (b[m] == ' ');
    }
    return *a == *b;
}

static struct vf_tuned *entry_of(const struct vf_tuning *tuning, const char *device, const char *kernel_case)
{
    for (int i = 0; i < tuning->count; i++)
        if (strcmp(tuning->entry[i].device, device) == 0 &&
            strcmp(tuning->entry[i].kernel_case, kernel_case) == 0)
            return &tuning->entry[i];
    return NULL;
}

/* The grid that an entry names; false where its text has none. */
static bool grid_of(const struct vf_tuned *entry, ptrdiff_t *nx, ptrdiff_t *ny, ptrdiff_t *nz)
{
    return sscanf(entry->kernel_case, "%*s %*s %*s %tdx%tdx%td", nx, ny, nz) == 3 && *nx >= 1 && *ny >= 1 &&
           *nz >= 1 && *nx <= INT_MAX && *ny <= INT_MAX && *nz <= INT_MAX;
}

/* By how much the extents of an entry's grid differ, in powers of two, at most; another boundary is as far as
 * twice the extent. INFINITY: it has no grid. `name`: the case's. */
static double distance(const struct vf_tuned *entry, const struct vf_kernel_case *c, const char *name)
{
    ptrdiff_t nx, ny, nz;
    if (!grid_of(entry, &nx, &ny, &nz))
        return INFINITY;
    const double apart =
        fmax(fabs(log2((double)nx / (double)c->nx)),
             fmax(fabs(log2((double)ny / (double)c->ny)), fabs(log2((double)nz / (double)c->nz))));
    return are_alike(entry->kernel_case, name, GRID) ? apart : apart + 1;
}

enum vf_status vf_tuning_set(struct vf_tuning *tuning, const struct vf_kernel_case *c,
                             const struct vf_gpu *gpu, const struct vf_ranked *choice, struct vf_error *error)
{
    struct vf_text name = {0};
    const struct vf_tuned what = {.scheme = choice->scheme,
                                  .config = choice->config,
                                  .copies = choice->seconds / vf_case_copy_seconds(c, gpu),
                                  .figures = figures_of(gpu),
                                  .measured = true};
    vf_case_text(c, &name);
    if (name.failed) {
        vf_text_free(&name);
        return vf_fail(error, VF_FAILED, "out of memory for tuning data");
    }
    struct vf_tuned *entry = entry_of(tuning, gpu->name, name.data);
    enum vf_status status = VF_OK;
    if (entry != NULL)
        replace(entry, &what);
    else
        status = add(tuning, gpu->name, name.data, &what, error);
    vf_text_free(&name);
    return status;
}

/* Of one case: its grid's distance from that at hand, and which entry it is. */
struct near {
    double far;
    const struct vf_tuned *entry;
};

/* The nearest first, of those that are as near the first. */
static void insert(struct near *list, int *count, const struct near *entry)
{
    int at = *count < VF_MOST_KNOWN ? (*count)++ : VF_MOST_KNOWN;
    for (; at > 0 && entry->far < list[at - 1].far; at--)
        if (at < VF_MOST_KNOWN)
            list[at] = list[at - 1];
    if (at < VF_MOST_KNOWN)
        list[at] = *entry;
}

/* What was measured of these stages on whatever grid, of the device and then of its architecture. */
static int list_near(const struct vf_tuning *tuning, const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                     const char *name, struct near list[VF_MOST_KNOWN])
{
    char architecture[16];
    int count = 0;
    architecture_of(gpu, architecture);
    const char *const device[] = {gpu->name, architecture};
    for (int own = 0; own < 2; own++)
        for (int i = 0; i < tuning->count; i++) {
            const struct vf_tuned *entry = &tuning->entry[i];
            if (strcmp(entry->device, device[own]) == 0 &&
                are_alike(entry->kernel_case, name, BOUNDARY | GRID))
                insert(list, &count, &(struct near){distance(entry, c, name), entry});
        }
    return count;
}

/* What the case at hand takes at an entry's speed. What grids differ in is the copy's; what devices do is
 * what the model says, which knows whether memory bounds the kernel. */
static double seconds_by(const struct vf_tuned *entry, const struct vf_kernel_case *c,
                         const struct vf_gpu *gpu, const struct vf_known *known)
{
    const double there = entry->copies * vf_case_copy_seconds(c, &known->on);
    if (is_of(entry, gpu))
        return there;
    const double ratio = vf_gpu_predict(&known->there, gpu, entry->scheme, &entry->config, 0, NULL) /
                         vf_gpu_predict(&known->there, &known->on, entry->scheme, &entry->config, 0, NULL);
    return isfinite(ratio) ? there * ratio : there;
}

int vf_tuning_find(const struct vf_tuning *tuning, const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                   struct vf_known known[VF_MOST_KNOWN])
{
    const double about_its_size = 0.5; /* a factor of the square root of 2 */
    struct near list[VF_MOST_KNOWN];
    struct vf_text name = {0};
    int count = 0;
    if (tuning == NULL || c->flow->stage_count > tuning->most_stages)
        return 0;
    vf_case_text(c, &name);
    const int all = name.failed ? 0 : list_near(tuning, c, gpu, name.data, list);
    for (int i = 0; i < all; i++) {
        const struct vf_tuned *entry = list[i].entry;
        const bool tuned = list[i].far <= about_its_size;
        struct vf_known *k = &known[count];
        k->there = *c;
        k->on = device_of(entry, gpu);
        if (!grid_of(entry, &k->there.nx, &k->there.ny, &k->there.nz) ||
            vf_gpu_scheme_refuses(entry->scheme, &k->there) != NULL ||
            vf_gpu_scheme_forbids(entry->scheme, &k->there, gpu, &entry->config) != NULL)
            continue;
        k->won = (struct vf_ranked){.scheme = entry->scheme,
                                    .config = entry->config,
                                    .tuned = tuned,
                                    .its_grid = list[i].far == 0 && is_of(entry, gpu),
                                    .seconds = seconds_by(entry, c, gpu, k)};
        count++;
    }
    vf_text_free(&name);
    return count;
}

/* ---- as text ---- */

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
    return add(tuning, column[0], column[1], &entry, error);
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
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL) {
        const int cause = errno;
        if (fd >= 0)
            close(fd);
        return vf_fail(error, VF_FAILED, "cannot be read: %s", strerror(cause));
    }
    enum vf_status status = VF_OK;
    *lines = vf_alloc(MOST_BYTES + 2, 1, "tuning", error);
    if (*lines == NULL) {
        fclose(file);
        return VF_FAILED;
    }
    const size_t length = fread(*lines, 1, MOST_BYTES + 1, file);
    (*lines)[length] = '\0';
    if (ferror(file))
        status = vf_fail(error, VF_FAILED, "cannot be read: %s", strerror(errno));
    else if (length > MOST_BYTES)
        status = vf_fail(error, VF_FAILED,
                         "has more than the %zu MiB that are read; remove it, or some of its lines",
                         MOST_BYTES >> 20);
    else if (strlen(*lines) < length)
        status = vf_fail(error, VF_FAILED, "is not a text file (it has a zero byte); remove it");
    fclose(file);
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

/* The folder, locked until it is closed; -1: it cannot be. Who has it reads and writes one small file: a
 * process that was stopped meanwhile is not waited for longer than that. */
static int lock_folder(const struct vf_cache *cache)
{
    enum { TRIES = 200, MILLISECONDS = 20 };
    const struct timespec pause = {0, MILLISECONDS * 1000000L};
    const int folder = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0 && i < TRIES; i++)
        nanosleep(&pause, NULL);
    return folder;
}

/* Adds the user's entries of `from` to those of the file. */
static enum vf_status merge(struct vf_tuning *file, const struct vf_tuning *from, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int i = 0; i < from->count && status == VF_OK; i++) {
        const struct vf_tuned *own = &from->entry[i];
        struct vf_tuned *there = own->shipped ? NULL : entry_of(file, own->device, own->kernel_case);
        if (there != NULL && own->measured)
            replace(there, own);
        else if (there == NULL && !own->shipped)
            status = add(file, own->device, own->kernel_case, own, error);
    }
    return status;
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
    VF_TRY(merge(&all, tuning, error));
    vf_tuning_write(&all, &lines);
    if (lines.failed)
        VF_TRY(vf_fail(error, VF_FAILED, "out of memory for tuning data"));
    VF_TRY(vf_output_file_open(&file, path, false, error));
    if (dprintf(vf_output_file_descriptor(file), "%s", lines.data != NULL ? lines.data : "") < 0)
        VF_TRY(vf_fail(error, VF_FAILED, "cannot write: %s", strerror(errno)));
    VF_TRY(vf_output_file_finish(file, false, error));
out:
    vf_output_file_close(file);
    if (lock >= 0)
        close(lock);
    vf_tuning_free(&all);
    vf_text_free(&lines);
    return status;
}
