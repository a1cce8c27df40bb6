/* Who may read and write a file: its owner, group, mode and POSIX access control list, which a file that
 * replaces it takes over. */
#ifndef VF_ACCESS_H
#define VF_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "error.h"

struct vf_access {
    struct stat about;
    bool has_list;     /* beside its mode */
    size_t list_bytes; /* 0: it has none, or one that is too long to be kept */
    char list[4096];
};

/* Of the file of a name, links resolved, or of an open one. */
enum vf_status vf_access_of(struct vf_access *access, const char *path, struct vf_error *error);
enum vf_status vf_access_of_descriptor(struct vf_access *access, int fd, struct vf_error *error);

/* For a new file that the user owns, as if the old one had been written to, as far as that can be: root alone
 * may keep another's owner. Where the group or the list cannot be kept, as of users that a container does not
 * know, the group gets no more than everybody has. */
enum vf_status vf_access_keep(const struct vf_access *access, int fd, struct vf_error *error);

#endif
