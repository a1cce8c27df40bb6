#include "tuning.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
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

enum vf_status vf_tuning_add(struct vf_tuning *tuning, const char *device, const char *kernel_case,
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

/* `what` but for its names, in place of an entry that is there. */
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

/* Past the letter that tells an unsigned type's name from that of the signed one. */
static const char *past_sign(const char *at)
{
    return strncmp(at, "uint", 4) == 0 ? at + 1 : at;
}

/* Whether two cases have the same words but for some, and where `any_sign` is set but for the signs of
 * integers, which are converted and moved as fast with a sign as without. */
static bool are_alike(const char *a, const char *b, unsigned but_for, bool any_sign)
{
    for (int word = 0; *a != '\0' && *b != '\0'; word++) {
        if (but_for >> word & 1) {
            a += strcspn(a, " ");
            b += strcspn(b, " ");
        }
        for (; *a != '\0' && *a != ' '; a++, b++) {
            if (*a != *b && any_sign) {
                a = past_sign(a);
                b = past_sign(b);
            }
            if (*a != *b)
                return false;
        }
        if (*a != *b)
            return false;
        a += *a == ' ';
        b += *b == ' ';
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
 * twice the extent, integers of other signs a little. INFINITY: it has no grid. `name`: the case's. */
static double distance(const struct vf_tuned *entry, const struct vf_kernel_case *c, const char *name)
{
    ptrdiff_t nx, ny, nz;
    if (!grid_of(entry, &nx, &ny, &nz))
        return INFINITY;
    const double apart =
        fmax(fabs(log2((double)nx / (double)c->nx)),
             fmax(fabs(log2((double)ny / (double)c->ny)), fabs(log2((double)nz / (double)c->nz))));
    const double other_boundary = are_alike(entry->kernel_case, name, GRID, true) ? 0 : 1,
                 other_sign = are_alike(entry->kernel_case, name, BOUNDARY | GRID, false) ? 0 : 0.01;
    return apart + other_boundary + other_sign;
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
        status = vf_tuning_add(tuning, gpu->name, name.data, &what, error);
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
                are_alike(entry->kernel_case, name, BOUNDARY | GRID, true))
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

enum vf_status vf_tuning_merge(struct vf_tuning *file, const struct vf_tuning *from, struct vf_error *error)
{
    enum vf_status status = VF_OK;
    for (int i = 0; i < from->count && status == VF_OK; i++) {
        const struct vf_tuned *own = &from->entry[i];
        struct vf_tuned *there = own->shipped ? NULL : entry_of(file, own->device, own->kernel_case);
        if (there != NULL && own->measured)
            replace(there, own);
        else if (there == NULL && !own->shipped)
            status = vf_tuning_add(file, own->device, own->kernel_case, own, error);
    }
    return status;
}
