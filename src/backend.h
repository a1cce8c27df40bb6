/* A backend is a device and the schemes that it offers. */
#ifndef VF_BACKEND_H
#define VF_BACKEND_H

#include <stddef.h>

#include "kernels/scheme.h"

struct vf_backend {
    const char *name;
    const struct vf_scheme *const *schemes; /* NULL-terminated; the default one first */
};

extern const struct vf_backend vf_backend_cpu;

/* The scheme of a backend by its name's first `length` bytes; NULL when it has none. */
const struct vf_scheme *vf_backend_scheme(const struct vf_backend *backend, const char *name, size_t length);

#endif
