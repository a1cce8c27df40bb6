#include "value.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "suggest.h"
#include "weights.h"

static const struct {
    const char *name;
    enum vf_unit unit;
} unit_names[] = {
    /* The first name of a unit is the one that is written. */
    {"", VF_UNIT_BARE},
    {"vox", VF_UNIT_VOXEL},
    {"A", VF_UNIT_ANGSTROM},
    {"\xc3\x85", VF_UNIT_ANGSTROM},
    {"\xe2\x84\xab", VF_UNIT_ANGSTROM},
    {"nm", VF_UNIT_NM},
    {"um", VF_UNIT_UM},
    {"\xc2\xb5m", VF_UNIT_UM},
    {"\xce\xbcm", VF_UNIT_UM},
    {"mm", VF_UNIT_MM},
};

#define UNIT_NAME_COUNT (sizeof unit_names / sizeof unit_names[0])

bool vf_unit_read(const char *text, enum vf_unit *unit)
{
    for (size_t i = 0; i < UNIT_NAME_COUNT; i++) {
        if (strcmp(text, unit_names[i].name) == 0) {
            *unit = unit_names[i].unit;
            return true;
        }
    }
    return false;
}

const char *vf_unit_name(enum vf_unit unit)
{
    for (size_t i = 0; i < UNIT_NAME_COUNT; i++)
        if (unit_names[i].unit == unit)
            return unit_names[i].name;
    return "";
}

const char *vf_vector_read(const char *text, double vector[3], int *count)
{
    const char *at = vf_number_read(text, &vector[0]);
    for (*count = 1; at != NULL && *at == 'x' && *count < 3; (*count)++)
        at = vf_number_read(at + 1, &vector[*count]);
    return at;
}

/* ---- words ---- */

int vf_choice_index(const char *choices, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0; *choices != '\0'; i++) {
        size_t size = strcspn(choices, "|");
        if (size == length && strncmp(choices, word, size) == 0)
            return i;
        choices += size + (choices[size] == '|');
    }
    return -1;
}

bool vf_choice_is_form(const char *choice, size_t length)
{
    return memchr(choice, 'N', length) != NULL;
}

/* Adds to a text that may be cut, never overrun. */
static void append(char *text, size_t room, const char *more, size_t length)
{
    size_t used = strlen(text);
    snprintf(text + used, room - used, "%.*s", (int)length, more);
}

const char *vf_choices_text(const char *choices, char *text, size_t room)
{
    text[0] = '\0';
    while (*choices != '\0') {
        size_t size = strcspn(choices, "|");
        append(text, room, choices, size);
        choices += size + (choices[size] == '|');
        if (*choices != '\0')
            append(text, room, strchr(choices, '|') ? ", " : " or ", 4);
    }
    return text;
}

/* ---- what is allowed ---- */

/* After "a number" and the like. */
static void range_text(const struct vf_param *param, char *text, size_t room)
{
    char low[VF_NUMBER_TEXT], high[VF_NUMBER_TEXT];
    const char *unit = param->unit != NULL ? param->unit : "", *in = unit[0] ? ", in " : "";
    const bool has_least = param->min > -VF_UNBOUNDED, has_most = param->max < VF_UNBOUNDED;
    vf_number_text(low, param->min);
    vf_number_text(high, param->max);
    if (has_least && has_most)
        snprintf(text, room, " from %s to %s%s%s", low, high, unit[0] ? " " : "", unit);
    else if (has_least)
        snprintf(text, room, " of at least %s%s%s", low, in, unit);
    else if (has_most)
        snprintf(text, room, " of at most %s%s%s", high, in, unit);
    else
        snprintf(text, room, "%s%s", in, unit);
}

static void threshold_allowed(const struct vf_param *param, const char *range, char *text, size_t room)
{
    text[0] = '\0';
    if (vf_choice_index(param->choices, "auto") >= 0)
        append(text, room, "auto, ", 6);
    if (vf_choice_index(param->choices, "pN") >= 0)
        append(text, room, "pN (the Nth percentile, N from 0 to 100), ", 60);
    if (vf_choice_index(param->choices, "Nsd") >= 0)
        append(text, room, "Nsd (N standard deviations), ", 60);
    size_t used = strlen(text);
    if (used >= 2)
        text[used - 2] = '\0';
    append(text, room, used >= 2 ? " or a number" : "a number", 16);
    append(text, room, range, strlen(range));
}

const char *vf_param_allowed(const struct vf_param *param, char text[VF_ALLOWED_TEXT])
{
    char range[VF_ALLOWED_TEXT / 2];
    range_text(param, range, sizeof range);
    switch (param->kind) {
    case VF_PARAM_NUMBER:
        snprintf(text, VF_ALLOWED_TEXT, "a number%s", range);
        break;
    case VF_PARAM_COUNT:
        snprintf(text, VF_ALLOWED_TEXT, "a whole number%s", range);
        break;
    case VF_PARAM_CHOICE:
        vf_choices_text(param->choices, text, VF_ALLOWED_TEXT);
        break;
    case VF_PARAM_LENGTHS:
        snprintf(
            text, VF_ALLOWED_TEXT,
            "a length%s, or one per axis as in 2x2x1, optionally followed by a unit (vox, A, nm, um, mm)",
            range);
        break;
    case VF_PARAM_THRESHOLD:
        threshold_allowed(param, range, text, VF_ALLOWED_TEXT);
        break;
    case VF_PARAM_BOX:
        snprintf(text, VF_ALLOWED_TEXT, "a box WxHxD+X+Y+Z (or WxH+X+Y) in whole voxels");
        break;
    case VF_PARAM_WEIGHTS:
        snprintf(text, VF_ALLOWED_TEXT, "the path of a text file, without ',' or ':'");
        break;
    }
    return text;
}

/* ---- reading ---- */

/* What is wrong with a value; the caller of the readers makes the message. */
enum fault { FINE, NOT_UNDERSTOOD, OUT_OF_RANGE };

static enum fault check_range(double value, double min, double max)
{
    return isfinite(value) && value >= min && value <= max ? FINE : OUT_OF_RANGE;
}

static enum fault read_number(const struct vf_param *param, const char *text, struct vf_value *value)
{
    const char *end = vf_number_read(text, &value->number);
    if (end == NULL || *end != '\0')
        return NOT_UNDERSTOOD;
    enum fault fault = check_range(value->number, param->min, param->max);
    if (fault == FINE && param->kind == VF_PARAM_COUNT && value->number != floor(value->number))
        return NOT_UNDERSTOOD;
    return fault;
}

static enum fault read_lengths(const struct vf_param *param, const char *text, struct vf_value *value)
{
    const char *end = vf_vector_read(text, value->length, &value->length_count);
    if (end == NULL || !vf_unit_read(end, &value->unit))
        return NOT_UNDERSTOOD;
    bool in_voxels = value->unit == VF_UNIT_BARE || value->unit == VF_UNIT_VOXEL;
    for (int i = 0; i < value->length_count; i++)
        if (check_range(value->length[i], in_voxels ? param->min : 0, in_voxels ? param->max : INFINITY))
            return OUT_OF_RANGE;
    return FINE;
}

static enum fault read_threshold(const struct vf_param *param, const char *text, struct vf_value *value)
{
    if (vf_choice_index(param->choices, "auto") >= 0 && strcmp(text, "auto") == 0) {
        value->threshold = VF_THRESHOLD_AUTO;
        return FINE;
    }
    if (text[0] == 'p' && vf_choice_index(param->choices, "pN") >= 0) {
        const char *end = vf_number_read(text + 1, &value->number);
        value->threshold = VF_THRESHOLD_PERCENTILE;
        return end == NULL || *end != '\0' ? NOT_UNDERSTOOD : check_range(value->number, 0, 100);
    }
    const char *end = vf_number_read(text, &value->number);
    if (end == NULL)
        return NOT_UNDERSTOOD;
    if (strcmp(end, "sd") == 0 && vf_choice_index(param->choices, "Nsd") >= 0) {
        value->threshold = VF_THRESHOLD_DEVIATIONS;
        return check_range(value->number, 0, INFINITY);
    }
    value->threshold = VF_THRESHOLD_NUMBER;
    return *end != '\0' ? NOT_UNDERSTOOD : check_range(value->number, param->min, param->max);
}

/* WxHxD+X+Y+Z or WxH+X+Y: as many places as sizes. */
static enum fault read_box(const char *text, struct vf_value *value)
{
    int axes = 0, places = 0;
    const char *at = vf_number_read_whole(text, &value->box_size[axes++]);
    while (at != NULL && *at == 'x' && axes < 3)
        at = vf_number_read_whole(at + 1, &value->box_size[axes++]);
    while (at != NULL && *at == '+' && places < axes)
        at = vf_number_read_whole(at + 1, &value->box_at[places++]);
    if (at == NULL || *at != '\0' || axes < 2 || places != axes)
        return NOT_UNDERSTOOD;
    value->box_axes = axes;
    if (axes == 2) {
        value->box_size[2] = 1;
        value->box_at[2] = 0;
    }
    for (int i = 0; i < 3; i++)
        if (value->box_size[i] < 1 || value->box_size[i] > INT32_MAX || value->box_at[i] > INT32_MAX)
            return OUT_OF_RANGE;
    return FINE;
}

static enum fault read_kind(const struct vf_param *param, const char *text, struct vf_value *value)
{
    switch (param->kind) {
    case VF_PARAM_NUMBER:
    case VF_PARAM_COUNT:
        return read_number(param, text, value);
    case VF_PARAM_CHOICE:
        value->choice = vf_choice_index(param->choices, text);
        return value->choice >= 0 ? FINE : NOT_UNDERSTOOD;
    case VF_PARAM_LENGTHS:
        return read_lengths(param, text, value);
    case VF_PARAM_THRESHOLD:
        return read_threshold(param, text, value);
    case VF_PARAM_BOX:
        return read_box(text, value);
    case VF_PARAM_WEIGHTS:
        break; /* has reasons of its own */
    }
    return NOT_UNDERSTOOD;
}

enum vf_status vf_value_read(const struct vf_param *param, const char *filter, const char *text,
                             struct vf_value *value, struct vf_error *error)
{
    char allowed[VF_ALLOWED_TEXT], near[80] = "";
    memset(value, 0, sizeof *value);
    if (param->kind == VF_PARAM_WEIGHTS)
        return vf_weights_read(text, filter, param->name, &value->weights, error);
    enum fault fault = read_kind(param, text, value);
    if (fault == FINE)
        return VF_OK;
    if (param->choices != NULL && param->choices[0] != '\0') {
        struct vf_suggestion suggestion;
        vf_suggestion_begin(&suggestion, text, strlen(text));
        vf_suggestion_consider_choices(&suggestion, param->choices);
        vf_suggestion_text(&suggestion, "", near, sizeof near);
    }
    /* Of that bound what is allowed says nothing. */
    const bool is_number = param->kind != VF_PARAM_LENGTHS && value->threshold == VF_THRESHOLD_NUMBER;
    const bool is_huge = is_number && param->max == VF_UNBOUNDED && value->number > VF_UNBOUNDED;
    const bool is_least = is_number && param->min == -VF_UNBOUNDED && value->number < -VF_UNBOUNDED;
    return vf_fail(error, VF_USAGE, "%s: %s=%.80s %s%s%s allowed: %s", filter, param->name, text,
                   fault == NOT_UNDERSTOOD ? "is not understood"
                   : is_huge               ? "exceeds 1e30"
                   : is_least              ? "is less than -1e30"
                                           : "is out of range",
                   near, near[0] ? "" : ";", vf_param_allowed(param, allowed));
}

/* ---- writing ---- */

static void lengths_text(const struct vf_value *value, char *text)
{
    char number[VF_NUMBER_TEXT];
    for (int i = 0; i < value->length_count; i++) {
        vf_number_text(number, value->length[i]);
        append(text, VF_VALUE_TEXT, i > 0 ? "x" : "", 1);
        append(text, VF_VALUE_TEXT, number, sizeof number);
    }
    append(text, VF_VALUE_TEXT, vf_unit_name(value->unit), 4);
}

static void threshold_text(const struct vf_value *value, char *text)
{
    char number[VF_NUMBER_TEXT];
    vf_number_text(number, value->number);
    if (value->threshold == VF_THRESHOLD_AUTO)
        snprintf(text, VF_VALUE_TEXT, "auto");
    else
        snprintf(text, VF_VALUE_TEXT, "%s%s%s", value->threshold == VF_THRESHOLD_PERCENTILE ? "p" : "",
                 number, value->threshold == VF_THRESHOLD_DEVIATIONS ? "sd" : "");
}

static void choice_text(const struct vf_param *param, int choice, char *text)
{
    const char *at = param->choices;
    for (int i = 0; i < choice && strchr(at, '|') != NULL; i++)
        at = strchr(at, '|') + 1;
    append(text, VF_VALUE_TEXT, at, strcspn(at, "|"));
}

const char *vf_value_text(const struct vf_param *param, const struct vf_value *value,
                          char text[VF_VALUE_TEXT])
{
    text[0] = '\0';
    if (!value->given && param->initial[0] == '\0')
        return text;
    switch (param->kind) {
    case VF_PARAM_NUMBER:
    case VF_PARAM_COUNT:
        vf_number_text(text, value->number);
        break;
    case VF_PARAM_CHOICE:
        choice_text(param, value->choice, text);
        break;
    case VF_PARAM_LENGTHS:
        lengths_text(value, text);
        break;
    case VF_PARAM_THRESHOLD:
        threshold_text(value, text);
        break;
    case VF_PARAM_BOX:
        if (value->box_axes == 2)
            snprintf(text, VF_VALUE_TEXT, "%ldx%ld+%ld+%ld", value->box_size[0], value->box_size[1],
                     value->box_at[0], value->box_at[1]);
        else
            snprintf(text, VF_VALUE_TEXT, "%ldx%ldx%ld+%ld+%ld+%ld", value->box_size[0], value->box_size[1],
                     value->box_size[2], value->box_at[0], value->box_at[1], value->box_at[2]);
        break;
    case VF_PARAM_WEIGHTS:
        /* Other weights under the same name make another chain. */
        snprintf(text, VF_VALUE_TEXT, "%s#%s", value->weights->path, value->weights->checksum);
        break;
    }
    return text;
}
