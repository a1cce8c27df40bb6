/* Control groups, by which containers and batch systems limit what a process may use. */
#ifndef VF_CGROUP_H
#define VF_CGROUP_H

#include <stddef.h>

/* What the group in a folder allows; SIZE_MAX: it has no limit. The files have other names in version 1 and 2
 * of control groups. */
typedef size_t vf_cgroup_limit(int version, const char *folder);

/* The least that is allowed by the group that `membership` (/proc/self/cgroup) names for a controller, such
 * as "memory", and by those above it, whose folders are below `mounted`. */
size_t vf_cgroup_least(const char *controller, vf_cgroup_limit *limit, const char *membership,
                       const char *mounted);

#endif
