#include "backend.h"

#include <string.h>

static const struct vf_scheme *const schemes[] = {&vf_cpu_row_stream, &vf_cpu_reference, NULL};

const struct vf_backend vf_backend_cpu = {.name = "cpu", .schemes = schemes};

const struct vf_scheme *vf_backend_scheme(const struct vf_backend *backend, const char *name, size_t length)
{
    for (const struct vf_scheme *const *scheme = backend->schemes; *scheme != NULL; scheme++)
        if (strlen((*scheme)->name) == length && memcmp((*scheme)->name, name, length) == 0)
            return *scheme;
    return NULL;
}
