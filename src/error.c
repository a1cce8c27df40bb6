#include "error.h"

#include <limits.h>
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

/* `room` is at least 1; what does not fit is left out. */
static void show_controls(const char *text, char *shown, size_t room)
{
    enum { MOST = sizeof "\\x00" };
    for (; *text != '\0' && room > MOST; text++) {
        const unsigned char c = (unsigned char)*text;
        const char *letter = strchr("\nn\tt\rr", c);
        int length = 1;
        if (c >= ' ' && c != 0x7f)
            *shown = *text;
        else if (letter != NULL)
            length = snprintf(shown, room, "\\%c", letter[1]);
        else
            length = snprintf(shown, room, "\\x%02x", c);
        shown += length;
        room -= (size_t)length;
    }
    *shown = '\0';
}

void vf_say(const char *format, ...)
{
    char text[2 * PATH_MAX + 1024], shown[sizeof text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    show_controls(text, shown, sizeof shown);
    fprintf(stderr, "volfilter: %s\n", shown);
}
