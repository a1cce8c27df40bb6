#include "cgroup.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The group that a line names for a controller: "0::/job" is one of version 2, which has all controllers,
 * "4:cpu,cpuacct:/job" one of version 1. NULL: it is about others. */
static const char *group_of(const char *line, const char *controller, int *version)
{
    const char *list = strchr(line, ':'), *end = list == NULL ? NULL : strchr(list + 1, ':');
    const size_t length = strlen(controller);
    if (end == NULL)
        return NULL;
    *version = end == list + 1 ? 2 : 1;
    if (*version == 2)
        return end + 1;
    for (const char *name = list + 1; name < end; name += strcspn(name, ",:") + 1)
        if (strcspn(name, ",:") == length && memcmp(name, controller, length) == 0)
            return end + 1;
    return NULL;
}

/* In a container the groups above its own are out of sight. */
static size_t least_upwards(int version, vf_cgroup_limit *limit, const char *root, const char *group)
{
    char folder[PATH_MAX];
    const size_t length = strlen(root);
    size_t found = SIZE_MAX;
    if (snprintf(folder, sizeof folder, "%s%s", root, group) >= (int)sizeof folder)
        return found;
    for (char *slash = folder + strlen(folder); slash != NULL && slash >= folder + length;) {
        *slash = '\0';
        const size_t allowed = limit(version, folder);
        found = allowed < found ? allowed : found;
        slash = strrchr(folder, '/');
    }
    return found;
}

size_t vf_cgroup_least(const char *controller, vf_cgroup_limit *limit, const char *membership,
                       const char *mounted)
{
    char line[PATH_MAX], root[PATH_MAX];
    size_t found = SIZE_MAX;
    FILE *file = fopen(membership, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        int version;
        line[strcspn(line, "\n")] = '\0';
        const char *group = group_of(line, controller, &version);
        if (group == NULL)
            continue;
        snprintf(root, sizeof root, "%s%s%s", mounted, version == 1 ? "/" : "",
                 version == 1 ? controller : "");
        const size_t allowed = least_upwards(version, limit, root, group);
        found = allowed < found ? allowed : found;
    }
    if (file != NULL)
        fclose(file);
    return found;
}
