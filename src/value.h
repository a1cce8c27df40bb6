/* One parameter's value between text and struct vf_value, and what is allowed in words. The parameter tables
 * of filters/ are the only source of ranges, choices and units. */
#ifndef VF_VALUE_H
#define VF_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "filters/filter.h"

/* Room for any value in canonical form, and for what is allowed, with the final zero byte. */
#define VF_VALUE_TEXT (VF_MOST_PATH + VF_CHECKSUM_DIGITS + 2)
#define VF_ALLOWED_TEXT 320

/* Reads `text` into *value and checks it: a usage error names "filter: param=text", the nearest right word
 * and what is allowed. Lengths in a physical unit are checked for sign only: their range needs the file's
 * spacing. Weights are read from their file, and are the caller's to free. */
enum vf_status vf_value_read(const struct vf_param *param, const char *filter, const char *text,
                             struct vf_value *value, struct vf_error *error);

/* The value as vf_value_read reads it; "" for a parameter that was not given and has no default. Returns
 * `text`. */
const char *vf_value_text(const struct vf_param *param, const struct vf_value *value,
                          char text[VF_VALUE_TEXT]);

/* "0 to 100 voxels ...", "auto or a number from 0 to 1", "exp or quadratic". Returns `text`. */
const char *vf_param_allowed(const struct vf_param *param, char text[VF_ALLOWED_TEXT]);

/* Reads AxBxC, AxB or A (decimals): where it ends, or NULL. `count` is 1 to 3. */
const char *vf_vector_read(const char *text, double vector[3], int *count);

/* The unit that `text` is, all of it: A (also with a ring), nm, um (also with a micro sign), mm, vox, or ""
 * for none; and its name, without signs. */
bool vf_unit_read(const char *text, enum vf_unit *unit);
const char *vf_unit_name(enum vf_unit unit);

/* "a, b or c" from "a|b|c". Returns `text`. */
const char *vf_choices_text(const char *choices, char *text, size_t room);

/* Index of `word` in "a|b|c", or -1. */
int vf_choice_index(const char *choices, const char *word);

/* Whether one of these, of `length` bytes, is no word but a form with a number in it: pN, Nsd. */
bool vf_choice_is_form(const char *choice, size_t length);

#endif
