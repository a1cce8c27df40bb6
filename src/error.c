#include "error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum vf_status vf_fail(struct vf_error *error, enum vf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

enum vf_status vf_fail_in(struct vf_error *error, enum vf_status status, const char *prefix)
{
    char text[sizeof error->text];
    memcpy(text, error->text, sizeof text);
    const size_t room = sizeof text - 1, length = strlen(prefix), rest = strlen(text) + 2;
    /* Of what is too long together, the prefix's beginning goes: a path's end and the cause say more. */
    const size_t most = room > rest + 3 ? room - rest - 3 : 0;
    const bool whole = length + rest <= room;
    snprintf(error->text, sizeof error->text, "%s%s: %.*s", whole ? "" : "...",
             whole || length <= most ? prefix : prefix + length - most, (int)room, text);
    return status;
}
