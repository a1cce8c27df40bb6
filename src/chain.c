#include "chain.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "suggest.h"
#include "text.h"
#include "value.h"

/* More filters than any pipeline has, few enough to plan quickly. */
#define MAX_FILTERS 64

/* ---- messages ---- */

/* A parameter where a filter begins, or a filter that something else follows: "gaussian sigma". */
static bool is_misplaced(const char *name, size_t length)
{
    bool is = vf_filter_with_param(name, length) != NULL;
    for (size_t begun = 1; begun < length; begun++)
        is = is || (strchr(" ;|(/+", name[begun]) != NULL && vf_filter_by_name(name, begun) != NULL);
    return is;
}

static enum vf_status fail_unknown_filter(const char *name, size_t length, struct vf_error *error)
{
    char near[100];
    struct vf_suggestion suggestion;
    vf_suggestion_begin(&suggestion, name, length);
    vf_suggestion_consider_filters(&suggestion);
    if (!vf_suggest_choice(name, length, near, sizeof near))
        vf_suggestion_text(&suggestion, "", near, sizeof near);
    if (name[0] >= '0' && name[0] <= '9')
        snprintf(near, sizeof near,
                 "; commas separate filters: write decimals with a point, and vectors as 2x2x1");
    else if (is_misplaced(name, length))
        snprintf(near, sizeof near,
                 "; ':' begins a parameter and ',' a filter: write gaussian:sigma=2:truncate=3,gradient");
    return vf_fail(error, VF_USAGE, "unknown filter '%.*s'%s (volfilter list shows all filters)",
                   (int)(length < 80 ? length : 80), name, near);
}

/* "sigma, rho, k" */
static const char *param_names(const struct vf_filter *filter, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < filter->param_count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", filter->params[i].name);
    return text;
}

static enum vf_status fail_unknown_param(const struct vf_filter *filter, const char *name,
                                         struct vf_error *error)
{
    char near[80], names[256];
    if (filter->param_count == 0)
        return vf_fail(error, VF_USAGE, "%s: takes no parameters, not '%.80s'", filter->name, name);
    struct vf_suggestion suggestion;
    vf_suggestion_begin(&suggestion, name, strlen(name));
    for (int i = 0; i < filter->param_count; i++)
        vf_suggestion_consider_known(&suggestion, filter->params[i].name, filter->params[i].known_as);
    vf_suggestion_text(&suggestion, "", near, sizeof near);
    /* A letter or two, such as dt, is no option's beginning. */
    if (suggestion.best == NULL && strlen(name) > 2) {
        vf_suggestion_consider_options(&suggestion);
        vf_suggestion_text(&suggestion, "--", near, sizeof near);
    }
    return vf_fail(
        error, VF_USAGE, "%s: no parameter '%.80s'%s%s its parameters: %s (volfilter help %s explains them)",
        filter->name, name, near, near[0] ? "" : ";", param_names(filter, names, sizeof names), filter->name);
}

/* ---- one filter ---- */

static int param_index(const struct vf_filter *filter, const char *name)
{
    for (int i = 0; i < filter->param_count; i++)
        if (strcmp(filter->params[i].name, name) == 0)
            return i;
    return -1;
}

static enum vf_status set_param(struct vf_link *link, int index, const char *text, struct vf_error *error)
{
    const struct vf_param *param = &link->filter->params[index];
    struct vf_value *value = &link->value[index];
    char allowed[VF_ALLOWED_TEXT];
    if (value->given)
        return vf_fail(error, VF_USAGE, "%s: %s is given twice; give it once", link->filter->name,
                       param->name);
    if (text[0] == '\0')
        return vf_fail(error, VF_USAGE, "%s: %s needs a value; allowed: %s", link->filter->name, param->name,
                       vf_param_allowed(param, allowed));
    enum vf_status status = vf_value_read(param, link->filter->name, text, value, error);
    value->given = status == VF_OK;
    return status;
}

/* KEY=VALUE, or a bare VALUE as the first item. The item may be written to. */
static enum vf_status read_item(struct vf_link *link, char *item, bool is_first, struct vf_error *error)
{
    const struct vf_filter *filter = link->filter;
    char names[256];
    char *equals = strchr(item, '=');
    if (equals != NULL)
        *equals = '\0';
    int index = param_index(filter, item);
    if (index >= 0)
        return set_param(link, index, equals != NULL ? equals + 1 : "", error);
    if (equals != NULL || filter->param_count == 0)
        return fail_unknown_param(filter, item, error);
    if (is_first && item[0] != '\0')
        return set_param(link, 0, item, error);
    if (item[0] == '\0')
        return vf_fail(
            error, VF_USAGE,
            "%s: a parameter is empty, beside ':' or '='; write KEY=VALUE, with one of the keys %s",
            filter->name, param_names(filter, names, sizeof names));
    return vf_fail(error, VF_USAGE,
                   "%s: '%.80s' has no name, which only the first value may omit; write KEY=VALUE, with one "
                   "of the keys %s",
                   filter->name, item, param_names(filter, names, sizeof names));
}

static enum vf_status set_defaults(struct vf_link *link, struct vf_error *error)
{
    for (int i = 0; i < link->filter->param_count; i++) {
        const struct vf_param *param = &link->filter->params[i];
        if (param->initial[0] == '\0')
            continue;
        enum vf_status status =
            vf_value_read(param, link->filter->name, param->initial, &link->value[i], error);
        if (status != VF_OK)
            return status;
    }
    return VF_OK;
}

static void free_link(struct vf_link *link)
{
    for (int i = 0; i < VF_MAX_PARAMS; i++)
        vf_free(link->value[i].weights);
}

static enum vf_status check_needed(const struct vf_link *link, struct vf_error *error)
{
    const struct vf_filter *filter = link->filter;
    char allowed[VF_ALLOWED_TEXT];
    for (int i = 0; i < filter->param_count; i++) {
        const struct vf_param *param = &filter->params[i];
        if (param->kind == VF_PARAM_WEIGHTS && !link->value[i].given)
            return vf_fail(error, VF_USAGE, "%s: %s is missing; write %s:%s=PATH, %s", filter->name,
                           param->name, filter->name, param->name, vf_param_allowed(param, allowed));
    }
    return VF_OK;
}

/* NAME[:ITEM{:ITEM}] or NAME=ITEM{:ITEM}; the text may be written to. */
static enum vf_status read_link(struct vf_link *link, char *text, struct vf_error *error)
{
    size_t length = strcspn(text, ":=");
    if (length == 0)
        return vf_fail(error, VF_USAGE,
                       "'%.80s': a filter's name is missing (volfilter list shows all filters)", text);
    memset(link, 0, sizeof *link);
    link->filter = vf_filter_by_name(text, length);
    if (link->filter == NULL)
        return fail_unknown_filter(text, length, error);
    if (link->filter->param_count > VF_MAX_PARAMS)
        return vf_fail(error, VF_FAILED, "%s: more parameters than a chain holds; this is a bug in volfilter",
                       link->filter->name);
    enum vf_status status = set_defaults(link, error);
    char *item = text[length] != '\0' ? text + length + 1 : NULL;
    for (bool is_first = true; status == VF_OK && item != NULL; is_first = false) {
        char *colon = strchr(item, ':');
        if (colon != NULL)
            *colon = '\0';
        status = read_item(link, item, is_first, error);
        item = colon != NULL ? colon + 1 : NULL;
    }
    if (status == VF_OK)
        status = check_needed(link, error);
    if (status != VF_OK)
        free_link(link);
    return status;
}

/* ---- the chain ---- */

/* Room for `more` links. */
static enum vf_status grow(struct vf_chain *chain, int more, struct vf_error *error)
{
    if (more > MAX_FILTERS - chain->count)
        return vf_fail(error, VF_USAGE, "a chain of %d filters is too long; the maximum is %d",
                       chain->count + more, MAX_FILTERS);
    struct vf_link *link = vf_alloc((size_t)(chain->count + more), sizeof *link, "filter chain", error);
    if (link == NULL)
        return VF_FAILED;
    if (chain->count > 0)
        memcpy(link, chain->link, (size_t)chain->count * sizeof *link);
    vf_free(chain->link);
    chain->link = link;
    return VF_OK;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\n", text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

enum vf_status vf_chain_append(struct vf_chain *chain, const char *text, struct vf_error *error)
{
    enum vf_status status;
    int stages = 1, before = chain->count;
    for (const char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ','))
        stages++;
    char *copy = vf_strdup(text, error);
    if (copy == NULL)
        return VF_FAILED;
    VF_TRY(grow(chain, stages, error));
    for (char *stage = copy; stage != NULL;) {
        char *comma = strchr(stage, ',');
        if (comma != NULL)
            *comma = '\0';
        char *word = trim(stage);
        if (word[0] == '\0') {
            status =
                vf_fail(error, VF_USAGE,
                        stages == 1 ? "the chain is empty; name a filter (volfilter list shows all filters)"
                                    : "chain '%.80s': a filter is missing before or after a comma",
                        text);
            goto out;
        }
        VF_TRY(read_link(&chain->link[chain->count], word, error));
        chain->count++;
        stage = comma != NULL ? comma + 1 : NULL;
    }
out:
    while (status != VF_OK && chain->count > before)
        free_link(&chain->link[--chain->count]);
    vf_free(copy);
    return status;
}

int vf_chain_float_link(const struct vf_chain *chain)
{
    int link = chain->count - 1;
    while (link >= 0 && chain->link[link].filter->keeps_type)
        link--;
    return link;
}

void vf_chain_free(struct vf_chain *chain)
{
    for (int i = 0; i < chain->count; i++)
        free_link(&chain->link[i]);
    vf_free(chain->link);
    *chain = (struct vf_chain){0};
}

static void add_link(struct vf_text *text, const struct vf_link *link, bool all)
{
    char value[VF_VALUE_TEXT];
    vf_text_add(text, "%s", link->filter->name);
    for (int i = 0; i < link->filter->param_count; i++) {
        vf_value_text(&link->filter->params[i], &link->value[i], value);
        if (value[0] != '\0' && (all || link->value[i].given))
            vf_text_add(text, ":%s=%s", link->filter->params[i].name, value);
    }
}

static char *write_chain(const struct vf_chain *chain, bool all, struct vf_error *error)
{
    struct vf_text text = {0};
    for (int i = 0; i < chain->count; i++) {
        if (i > 0)
            vf_text_add(&text, ",");
        add_link(&text, &chain->link[i], all);
    }
    return vf_text_take(&text, "chain", error);
}

char *vf_chain_text(const struct vf_chain *chain, struct vf_error *error)
{
    return write_chain(chain, true, error);
}

char *vf_chain_given_text(const struct vf_chain *chain, struct vf_error *error)
{
    return write_chain(chain, false, error);
}
