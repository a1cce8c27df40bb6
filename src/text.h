/* A text that grows. */
#ifndef VF_TEXT_H
#define VF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

/* All zero is an empty one. */
struct vf_text {
    char *data; /* owned; NUL-terminated; NULL while empty */
    size_t length, room;
    bool failed; /* out of memory: what was added since is lost */
};

void vf_text_add(struct vf_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vf_text_free(struct vf_text *text);

/* What was added, "" for nothing, freed by vf_free; or, if memory was short, NULL with a message that names
 * `what`. The text is empty afterwards. */
char *vf_text_take(struct vf_text *text, const char *what, struct vf_error *error);

#endif
