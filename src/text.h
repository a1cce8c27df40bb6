/* A text that grows. */
#ifndef VF_TEXT_H
#define VF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is an empty one. */
struct vf_text {
    char *data; /* owned; NUL-terminated; NULL while empty */
    size_t length, room;
    bool failed; /* out of memory: what was added since is lost */
};

void vf_text_add(struct vf_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vf_text_free(struct vf_text *text);

#endif
