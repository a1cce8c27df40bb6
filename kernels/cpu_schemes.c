/* The CPU's schemes (cpu_schemes.def), by name. */
#include <stdio.h>
#include <string.h>

#include "kernels/scheme.h"

const struct vf_scheme *const vf_cpu_schemes[] = {
#define VF_CPU_SCHEME_DEF(name) &vf_cpu_##name,
#include "cpu_schemes.def"
#undef VF_CPU_SCHEME_DEF
    NULL,
};

const char *vf_cpu_scheme_names(char *text, size_t room)
{
    size_t length = 0;
    for (const struct vf_scheme *const *scheme = vf_cpu_schemes; *scheme != NULL && length < room; scheme++)
        length += (size_t)snprintf(text + length, room - length, "%s%s",
                                   length == 0         ? ""
                                   : scheme[1] == NULL ? " and "
                                                       : ", ",
                                   (*scheme)->name);
    return text;
}

const struct vf_scheme *vf_cpu_scheme(const char *name, size_t length)
{
    for (const struct vf_scheme *const *scheme = vf_cpu_schemes; *scheme != NULL; scheme++)
        if (strlen((*scheme)->name) == length && memcmp((*scheme)->name, name, length) == 0)
            return *scheme;
    return NULL;
}
