/* A small JSON writer (RFC 8259): objects, arrays, strings, numbers, in the order of the calls. */
#ifndef VF_JSON_H
#define VF_JSON_H

#include <stdbool.h>
#include <stdio.h>

#define VF_JSON_DEPTH 16

/* `to` is borrowed. Errors of the stream stay in its ferror(), for the caller to look at when all is written.
 */
struct vf_json {
    FILE *to;
    int depth;
    bool has_items[VF_JSON_DEPTH]; /* of each open container */
    bool is_array[VF_JSON_DEPTH];
    bool on_lines[VF_JSON_DEPTH]; /* its items stand on lines of their own */
};

void vf_json_open(struct vf_json *json, FILE *to);

/* `key` names the value in an object; NULL in an array and for the outermost value. */
void vf_json_begin_object(struct vf_json *json, const char *key);
void vf_json_begin_array(struct vf_json *json, const char *key);

/* Closes the innermost object or array; the outermost one is followed by a newline. */
void vf_json_end(struct vf_json *json);

/* NULL is written as null, bytes that are no UTF-8 as U+FFFD. */
void vf_json_string(struct vf_json *json, const char *key, const char *text);

/* The shortest decimal that reads back as the same double; null when it is not finite. */
void vf_json_number(struct vf_json *json, const char *key, double value);
void vf_json_integer(struct vf_json *json, const char *key, long long value);
void vf_json_boolean(struct vf_json *json, const char *key, bool value);

#endif
