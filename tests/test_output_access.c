/* What a result keeps of the file that it replaces: mode, owner, access control list; and which files it may
 * not replace. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "access.h"
#include "io_samples.h"
#include "output_samples.h"

TestSuite(output_access, .init = samples_begin, .fini = samples_end, .timeout = 60);

static struct vf_error error;

static void check_modes(void)
{
    struct stat about;
    unlink(sample_path("new"));
    umask(027);
    output_write(sample_path("new"), "x");
    cr_assert_eq(stat(sample_path("new"), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0640);
    sample_put(sample_path("old"), "y", 1);
    cr_assert_eq(chmod(sample_path("old"), 0604), 0);
    output_write(sample_path("old"), "x");
    cr_assert_eq(stat(sample_path("old"), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0604);
}

Test(output_access, modes)
{
    check_modes();
    output_refuse_links();
    check_modes();
    output_refuse_nameless();
    check_modes();
}

/* Where the mount decides modes, and no file is given another. */
Test(output_access, modes_that_cannot_be_kept)
{
    sample_put(sample_path("out"), "old", 3);
    sample_put(sample_path("secret"), "old", 3);
    cr_assert_eq(chmod(sample_path("secret"), 0600), 0);
    umask(022);
    sample_refuse(SYS_fchmod, 1, UINT_MAX, EPERM);
    output_write(sample_path("out"), "new");
    output_check(sample_path("out"), "new");
    output_check_refused(sample_path("secret"), false, "permissions");
    output_check(sample_path("secret"), "old");
}

/* Where no file is given away, one of the same group keeps what the group may do. */
Test(output_access, owners_that_cannot_be_kept)
{
    struct stat about;
    sample_put(sample_path("out"), "old", 3);
    cr_assert_eq(chmod(sample_path("out"), 0660), 0);
    sample_refuse(SYS_fchown, 0, UINT_MAX, EPERM);
    output_write(sample_path("out"), "new");
    cr_assert_eq(stat(sample_path("out"), &about), 0);
    cr_expect_eq(about.st_mode & 07777, 0660);
}

/* A user's own entry, which the kernel takes for the tag of version 2: user::rw user:4711:rw group::---
 * mask::rw other::---. */
static const struct {
    uint32_t version;
    struct {
        uint16_t tag, permissions;
        uint32_t id;
    } entry[5];
} access_list = {
    2, {{1, 6, UINT32_MAX}, {2, 6, 4711}, {4, 0, UINT32_MAX}, {16, 6, UINT32_MAX}, {32, 0, UINT32_MAX}}};

static void check_access_list(void)
{
    static const char name[] = "system.posix_acl_access";
    char path[PATH_MAX], directory[PATH_MAX], found[2 * sizeof access_list];
    struct stat about;
    snprintf(directory, sizeof directory, "%s", sample_path("lists"));
    snprintf(path, sizeof path, "%s/old", directory);
    cr_assert(mkdir(directory, 0700) == 0 || errno == EEXIST);
    output_write(path, "x");
    if (setxattr(path, name, &access_list, sizeof access_list, 0) != 0)
        cr_skip_test("this file system has no access control lists");
    output_write(path, "y");
    cr_assert_eq(getxattr(path, name, found, sizeof found), (ssize_t)sizeof access_list);
    cr_expect_arr_eq(found, &access_list, sizeof access_list);
    cr_assert_eq(stat(path, &about), 0);
    cr_expect_eq(about.st_mode & 07777, 0660);
    /* A file that has none gets none from its directory. */
    cr_assert_eq(removexattr(path, name), 0);
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(setxattr(directory, "system.posix_acl_default", &access_list, sizeof access_list, 0), 0);
    output_write(path, "z");
    cr_expect_lt(getxattr(path, name, found, sizeof found), 0);
    cr_assert_eq(stat(path, &about), 0);
    cr_expect_eq(about.st_mode & 07777, 0640);
    cr_assert_eq(removexattr(directory, "system.posix_acl_default"), 0);
}

Test(output_access, access_lists)
{
    check_access_list();
    output_refuse_links();
    check_access_list();
    output_refuse_nameless();
    check_access_list();
}

/* As of users that are not known where the program runs: here it is no list. */
Test(output_access, a_list_that_cannot_be_kept)
{
    struct vf_access access = {.has_list = true, .list_bytes = 3};
    struct stat about;
    output_write(sample_path("new"), "x");
    cr_assert_eq(chmod(sample_path("new"), 0600), 0);
    const int fd = open(sample_path("new"), O_RDWR);
    cr_assert_eq(fstat(fd, &access.about), 0);
    access.about.st_mode = S_IFREG | 0674;
    cr_assert_eq(vf_access_keep(&access, fd, &error), VF_OK);
    cr_assert_eq(fstat(fd, &about), 0);
    cr_expect_eq(about.st_mode & 07777, 0644);
    close(fd);
}

/* The group's permissions are not those of another group. */
Test(output_access, a_group_that_cannot_be_kept)
{
    enum { NOBODY = 65534 };
    const char *path = sample_path("out");
    struct stat about;
    if (geteuid() != 0)
        cr_skip_test("only root gives a file to another group");
    output_write(path, "x");
    cr_assert(chown(path, NOBODY, 0) == 0 && chmod(path, 0674) == 0);
    cr_assert_eq(chmod(sample_path("."), 0777), 0);
    cr_assert(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    output_write(path, "y");
    cr_assert_eq(stat(path, &about), 0);
    cr_expect_eq(about.st_gid, NOBODY);
    cr_expect_eq(about.st_mode & 07777, 0644);
}

/* What could not be moved into place in the end is refused at once. */
Test(output_access, files_that_nobody_else_may_replace)
{
    enum { NOBODY = 65534 };
    if (geteuid() != 0)
        cr_skip_test("only root makes files of other users");
    sample_put(sample_path("theirs"), "old", 3);
    cr_assert(chmod(sample_path("theirs"), 0666) == 0 && chmod(sample_path("."), 01777) == 0);
    output_write(sample_path("theirs"), "root");
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        cr_skip_test("there is no other user here");
    output_write(sample_path("own"), "old");
    output_write(sample_path("own"), "new");
    output_check_refused(sample_path("theirs"), false, "another user's");
    output_check(sample_path("theirs"), "root");
}

#ifdef STATX_ATTR_MOUNT_ROOT
Test(output_access, a_file_that_is_mounted)
{
    const char *path = sample_path("out");
    struct statx about;
    sample_put(path, "old", 3);
    if (statx(AT_FDCWD, path, 0, 0, &about) != 0 || (about.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) == 0)
        cr_skip_test("this system does not say what is mounted");
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(path, path, NULL, MS_BIND, NULL) != 0)
        cr_skip_test("nothing can be mounted here");
    output_check_refused(path, false, "is mounted by itself");
    cr_assert_eq(umount(path), 0);
    output_write(path, "new");
}
#endif

/* The mode says nothing of the umask then. */
Test(output_access, no_umask)
{
    struct stat about;
    umask(0);
    output_write(sample_path("new"), "x");
    cr_assert_eq(stat(sample_path("new"), &about), 0);
    cr_assert_eq(about.st_mode & 07777, 0666);
}
