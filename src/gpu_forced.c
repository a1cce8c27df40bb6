/* --scheme for the GPU. */
#include <stdio.h>
#include <string.h>

#include "gpu_rank.h"
#include "number.h"
#include "suggest.h"

static const char grammar[] = "[STAGE=]NAME[:key=value...], separated by commas";

/* Text up to one of `stop` or the end, copied; false when it is longer than `room`. */
static bool take_word(const char **at, const char *stop, char *word, size_t room)
{
    const size_t length = strcspn(*at, stop);
    if (length >= room)
        return false;
    memcpy(word, *at, length);
    word[length] = '\0';
    *at += length;
    return true;
}

static enum vf_status unknown_scheme(const char *name, struct vf_error *error)
{
    struct vf_suggestion near;
    char hint[96];
    char all[512] = "";
    vf_suggestion_begin(&near, name, strlen(name));
    for (const struct vf_gpu_scheme *const *scheme = vf_gpu_schemes; *scheme != NULL; scheme++) {
        vf_suggestion_consider(&near, (*scheme)->name, strlen((*scheme)->name));
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", all[0] != '\0' ? ", " : "",
                 (*scheme)->name);
    }
    return vf_fail(error, VF_USAGE, "--scheme %s: the GPU has %s%s", name[0] == '\0' ? "names none" : name,
                   all, vf_suggestion_text(&near, "", hint, sizeof hint));
}

static enum vf_status read_variant(struct vf_forced *forced, const char *value, struct vf_error *error)
{
    const char *const *variants = forced->scheme->variants;
    char all[256] = "";
    for (int i = 0; variants != NULL && variants[i] != NULL; i++) {
        if (strcmp(variants[i], value) == 0) {
            forced->variant = i;
            return VF_OK;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? ", " : "", variants[i]);
    }
    return vf_fail(error, VF_USAGE, "--scheme %s: unknown variant '%s'; it has %s", forced->scheme->name,
                   value, all[0] != '\0' ? all : "none");
}

/* "32", "32x8" or "32x8x2": x, y, z; axes that are not given stay 0. */
static bool read_extent(const char *value, int extent[3])
{
    for (int axis = 0; axis < 3; axis++) {
        long number;
        value = vf_number_read_whole(value, &number);
        if (value == NULL || number < 1 || number > 1 << 20)
            return false;
        extent[axis] = (int)number;
        if (*value == '\0')
            return true;
        if (*value++ != 'x')
            return false;
    }
    return false;
}

static bool read_flag(const char *value, int *flag)
{
    *flag = value[0] - '0';
    return (value[0] == '0' || value[0] == '1') && value[1] == '\0';
}

static bool read_count(const char *value, int *count)
{
    int extent[3] = {0};
    const bool good = strchr(value, 'x') == NULL && read_extent(value, extent);
    *count = extent[0];
    return good;
}

static enum vf_status read_key(struct vf_forced *forced, const char *key, const char *value,
                               struct vf_error *error)
{
    bool good;
    if (strcmp(key, "variant") == 0)
        return read_variant(forced, value, error);
    if (strcmp(key, "block") == 0)
        good = read_extent(value, forced->config.block);
    else if (strcmp(key, "work") == 0)
        good = read_extent(value, forced->config.work);
    else if (strcmp(key, "stream") == 0)
        good = read_count(value, &forced->config.stream);
    else if (strcmp(key, "fuse") == 0)
        good = read_count(value, &forced->fuse);
    else if (strcmp(key, "grid") == 0) {
        forced->grid = strcmp(value, "flat") == 0;
        good = forced->grid == 1 || strcmp(value, "full") == 0;
    } else if (strcmp(key, "virtual") == 0)
        good = read_flag(value, &forced->virtual_blocks);
    else if (strcmp(key, "interior") == 0)
        good = read_flag(value, &forced->interior);
    else
        return vf_fail(error, VF_USAGE,
                       "--scheme %s: unknown key '%s'; keys are block=XxYxZ, work=XxYxZ, stream=N, "
                       "variant=NAME, grid=flat|full, virtual=0|1, interior=0|1, fuse=N",
                       forced->scheme->name, key);
    return good ? VF_OK
                : vf_fail(error, VF_USAGE,
                          "--scheme %s: %s=%s: block and work are XxYxZ, stream and fuse whole numbers from "
                          "1, grid "
                          "flat or full, virtual and interior 0 or 1",
                          forced->scheme->name, key, value);
}

static enum vf_status read_entry(const char **at, struct vf_forced *forced, struct vf_error *error)
{
    char name[64], key[64], value[64];
    *forced = (struct vf_forced){.variant = -1, .grid = -1, .virtual_blocks = -1, .interior = -1};
    if (!take_word(at, "=:,", name, sizeof name) || (name[0] == '\0' && **at == '='))
        return vf_fail(error, VF_USAGE, "--scheme %s: expected %s", *at, grammar);
    if (**at == '=') {
        if (strlen(name) >= sizeof forced->stage)
            return vf_fail(error, VF_USAGE,
                           "--scheme %s=: no stage has such a long name; --explain prints them", name);
        memcpy(forced->stage, name, strlen(name) + 1);
        ++*at;
        if (!take_word(at, ":,", name, sizeof name))
            return vf_fail(error, VF_USAGE, "--scheme %s: expected %s", *at, grammar);
    }
    forced->scheme = vf_gpu_scheme(name, strlen(name));
    if (forced->scheme == NULL)
        return unknown_scheme(name, error);
    while (**at == ':') {
        ++*at;
        if (!take_word(at, "=:,", key, sizeof key) || **at != '=')
            return vf_fail(error, VF_USAGE, "--scheme %s: key=value must follow ':'", name);
        ++*at;
        if (!take_word(at, ":,", value, sizeof value))
            return vf_fail(error, VF_USAGE, "--scheme %s: the value of %s is too long", name, key);
        enum vf_status status = read_key(forced, key, value, error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

enum vf_status vf_forced_read(const char *text, struct vf_forced_list *list, struct vf_error *error)
{
    list->count = 0;
    for (const char *at = text;; at++) {
        if (list->count == VF_MAX_FORCED)
            return vf_fail(error, VF_USAGE, "--scheme: more than %d schemes", VF_MAX_FORCED);
        enum vf_status status = read_entry(&at, &list->entry[list->count++], error);
        if (status != VF_OK || *at == '\0')
            return status;
    }
}
