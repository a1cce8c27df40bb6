#include "access.h"

#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char list_name[] = "system.posix_acl_access";

static enum vf_status fail(int cause, struct vf_error *error)
{
    return vf_fail(error, VF_FAILED, "cannot preserve its permissions: %s", vf_cause(cause));
}

/* `got`: what reading the list returned. Some file systems have none. */
static enum vf_status take_list(struct vf_access *access, ssize_t got, struct vf_error *error)
{
    if (got < 0 && errno != ENODATA && errno != ENOTSUP && errno != ERANGE)
        return fail(errno, error);
    access->has_list = got >= 0 || errno == ERANGE;
    access->list_bytes = got < 0 ? 0 : (size_t)got;
    return VF_OK;
}

enum vf_status vf_access_of(struct vf_access *access, const char *path, struct vf_error *error)
{
    if (stat(path, &access->about) != 0)
        return fail(errno, error);
    return take_list(access, getxattr(path, list_name, access->list, sizeof access->list), error);
}

enum vf_status vf_access_of_descriptor(struct vf_access *access, int fd, struct vf_error *error)
{
    if (fstat(fd, &access->about) != 0)
        return fail(errno, error);
    return take_list(access, fgetxattr(fd, list_name, access->list, sizeof access->list), error);
}

static bool keep_list(const struct vf_access *access, int fd)
{
    return access->list_bytes > 0 && fsetxattr(fd, list_name, access->list, access->list_bytes, 0) == 0;
}

enum vf_status vf_access_keep(const struct vf_access *access, int fd, struct vf_error *error)
{
    const struct stat *about = &access->about;
    struct stat own;
    const bool keeps_group = fchown(fd, about->st_uid, about->st_gid) == 0 ||
                             fchown(fd, (uid_t)-1, about->st_gid) == 0 ||
                             (fstat(fd, &own) == 0 && own.st_gid == about->st_gid);
    const bool lists = keeps_group && access->has_list && keep_list(access, fd);
    mode_t mode = about->st_mode & 0777;
    if (!keeps_group || (access->has_list && !lists))
        mode &= ~(mode_t)070 | mode << 3;
    /* Its directory may have given it one. */
    if (!lists && fremovexattr(fd, list_name) != 0 && errno != ENODATA && errno != ENOTSUP)
        return fail(errno, error);
    /* Of a file that has a list the bits of the group bound that. */
    if (fchmod(fd, mode) == 0)
        return VF_OK;
    /* Where the mount decides them (CIFS, object stores), it does for both. */
    const int cause = errno;
    return fstat(fd, &own) == 0 && (own.st_mode & 0777 & ~mode) == 0 ? VF_OK : fail(cause, error);
}
