#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"

/* Room for `more` bytes and the NUL. */
static bool make_room(struct vf_text *text, size_t more)
{
    if (text->failed || text->length + more + 1 <= text->room)
        return !text->failed;
    struct vf_error error;
    const size_t room = 2 * (text->length + more + 1);
    char *data = vf_alloc(room, 1, "text", &error);
    text->failed = data == NULL;
    if (data == NULL)
        return false;
    if (text->length > 0)
        memcpy(data, text->data, text->length);
    vf_free(text->data);
    text->data = data;
    text->room = room;
    return true;
}

void vf_text_add(struct vf_text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0 || !make_room(text, (size_t)length))
        return;
    va_start(list, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, list);
    va_end(list);
    text->length += (size_t)length;
}

void vf_text_free(struct vf_text *text)
{
    vf_free(text->data);
    *text = (struct vf_text){0};
}

char *vf_text_take(struct vf_text *text, const char *what, struct vf_error *error)
{
    char *data = make_room(text, 0) ? text->data : NULL;
    if (data == NULL) {
        vf_text_free(text);
        vf_fail(error, VF_FAILED, "%s: cannot allocate its text; free some memory", what);
        return NULL;
    }
    data[text->length] = '\0';
    *text = (struct vf_text){0};
    return data;
}
