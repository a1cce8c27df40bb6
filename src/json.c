#include "json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "number.h"
#include "utf8.h"

void vf_json_open(struct vf_json *json, FILE *to)
{
    memset(json, 0, sizeof *json);
    json->to = to;
}

static void new_line(struct vf_json *json)
{
    fprintf(json->to, "\n%*s", 2 * json->depth, "");
}

static void write_string(FILE *to, const char *text)
{
    putc('"', to);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int length = vf_utf8_length(at);
        if (length == 0)
            fputs("\\ufffd", to);
        else if (*at == '"' || *at == '\\')
            fprintf(to, "\\%c", *at);
        else if (*at == '\n')
            fputs("\\n", to);
        else if (*at == '\t')
            fputs("\\t", to);
        else if (*at < 0x20 || *at == 0x7f)
            fprintf(to, "\\u%04x", *at);
        else
            fwrite(at, 1, (size_t)length, to);
        at += length > 0 ? length : 1;
    }
    putc('"', to);
}

/* What stands before a value: comma, line and key. Arrays of plain values stay on one line. */
static void before_value(struct vf_json *json, const char *key, bool is_container)
{
    if (json->depth == 0)
        return;
    int level = json->depth - 1;
    if (json->has_items[level])
        putc(',', json->to);
    if (key != NULL || is_container) {
        json->on_lines[level] = true;
        new_line(json);
    } else if (json->has_items[level]) {
        putc(' ', json->to);
    }
    json->has_items[level] = true;
    if (key != NULL) {
        write_string(json->to, key);
        fputs(": ", json->to);
    }
}

static void begin(struct vf_json *json, const char *key, char bracket)
{
    before_value(json, key, true);
    putc(bracket, json->to);
    assert(json->depth < VF_JSON_DEPTH); /* our own nesting, never a file's */
    json->has_items[json->depth] = json->on_lines[json->depth] = false;
    json->is_array[json->depth++] = bracket == '[';
}

void vf_json_begin_object(struct vf_json *json, const char *key)
{
    begin(json, key, '{');
}

void vf_json_begin_array(struct vf_json *json, const char *key)
{
    begin(json, key, '[');
}

void vf_json_end(struct vf_json *json)
{
    if (json->depth == 0)
        return;
    json->depth--;
    if (json->on_lines[json->depth])
        new_line(json);
    putc(json->is_array[json->depth] ? ']' : '}', json->to);
    if (json->depth == 0)
        putc('\n', json->to);
}

void vf_json_string(struct vf_json *json, const char *key, const char *text)
{
    before_value(json, key, false);
    if (text == NULL)
        fputs("null", json->to);
    else
        write_string(json->to, text);
}

void vf_json_number(struct vf_json *json, const char *key, double value)
{
    char text[VF_NUMBER_TEXT];
    before_value(json, key, false);
    if (!isfinite(value)) {
        fputs("null", json->to);
        return;
    }
    vf_number_text(text, value);
    fputs(text, json->to);
}

void vf_json_integer(struct vf_json *json, const char *key, long long value)
{
    before_value(json, key, false);
    fprintf(json->to, "%lld", value);
}

void vf_json_boolean(struct vf_json *json, const char *key, bool value)
{
    before_value(json, key, false);
    fputs(value ? "true" : "false", json->to);
}
