#include "error.h"

#include <stdarg.h>
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
    snprintf(error->text, sizeof error->text, "%s: %.*s", prefix, (int)sizeof text, text);
    return status;
}
