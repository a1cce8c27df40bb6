#include "error.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

enum vf_status vf_fail(struct vf_error *error, enum vf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->in_file = false;
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

enum vf_status vf_in_file(struct vf_error *error, enum vf_status status, const char *name)
{
    if (status == VF_OK || error->in_file)
        return status;
    error->in_file = true;
    return vf_fail_in(error, status, name);
}

const char *vf_cause(int error)
{
    return error == EMFILE  ? "Too many open files (ulimit -n raises the limit)"
           : error == EFBIG ? "File too large for its file system, or for the limit that ulimit -f shows"
                            : strerror(error);
}

struct vf_short_path vf_short_path(const char *path)
{
    struct vf_short_path shown;
    const size_t length = strlen(path), most = sizeof shown.text - sizeof "...";
    const char *end = length < sizeof shown.text ? path : path + length - most;
    while (end != path && (*end & 0xc0) == 0x80) /* in a letter of UTF-8 */
        end++;
    snprintf(shown.text, sizeof shown.text, "%s%s", end == path ? "" : "...", end);
    return shown;
}

/* Bytes of the control character at `text`, two of those that UTF-8 has beyond ASCII; 0: it is none. What is
 * not UTF-8 has those in one byte. */
static int control_length(const char *text, int utf8)
{
    const unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];
    if (utf8 == 2)
        return c == 0xc2 && next < 0xa0 ? 2 : 0;
    return c < ' ' || c == 0x7f || (utf8 == 0 && c >= 0x80 && c < 0xa0);
}

const char *vf_show_controls(const char *text, char *shown, size_t room)
{
    char *to = shown;
    enum { MOST = sizeof "\\x00\\x00" };
    for (int bytes; *text != '\0' && room > MOST; text += bytes) {
        const char *letter = strchr("\nn\tt\rr", *text);
        const int utf8 = vf_utf8_length((const unsigned char *)text);
        int length = bytes = utf8 > 1 ? utf8 : 1;
        const int control = control_length(text, utf8);
        if (control == 0)
            memcpy(to, text, (size_t)bytes);
        else if (control == 2)
            length = snprintf(to, room, "\\x%02x\\x%02x", (unsigned char)text[0], (unsigned char)text[1]);
        else if (letter != NULL)
            length = snprintf(to, room, "\\%c", letter[1]);
        else
            length = snprintf(to, room, "\\x%02x", (unsigned char)*text);
        to += length;
        room -= (size_t)length;
    }
    *to = '\0';
    return shown;
}

void vf_say(const char *format, ...)
{
    char text[2 * PATH_MAX + 1024], shown[sizeof text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "volfilter: %s\n", vf_show_controls(text, shown, sizeof shown));
}

int vf_flush(FILE *to)
{
    static atomic_int first;
    int none = 0;
    if (fflush(to) != 0)
        atomic_compare_exchange_strong(&first, &none, errno);
    return first;
}
