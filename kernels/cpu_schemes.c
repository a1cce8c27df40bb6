/* The CPU's schemes, by name. */
#include <string.h>

#include "kernels/scheme.h"

const struct vf_scheme *const vf_cpu_schemes[] = {&vf_cpu_row_stream, &vf_cpu_reference, NULL};

const struct vf_scheme *vf_cpu_scheme(const char *name, size_t length)
{
    for (const struct vf_scheme *const *scheme = vf_cpu_schemes; *scheme != NULL; scheme++)
        if (strlen((*scheme)->name) == length && memcmp((*scheme)->name, name, length) == 0)
            return *scheme;
    return NULL;
}
