/* Output files as tests write and look at them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io_samples.h"
#include "output_samples.h"

static struct vf_error error;

struct vf_output_file *output_open(const char *path, bool no_clobber)
{
    struct vf_output_file *file;
    cr_assert_eq(vf_output_file_open(&file, path, no_clobber, &error), VF_OK, "%s", error.text);
    return file;
}

void output_fill(struct vf_output_file *file, const char *text)
{
    cr_assert_eq(write(vf_output_file_descriptor(file), text, strlen(text)), (ssize_t)strlen(text));
}

void output_write(const char *path, const char *text)
{
    struct vf_output_file *file = output_open(path, false);
    output_fill(file, text);
    cr_assert_eq(vf_output_file_finish(file, false, &error), VF_OK, "%s", error.text);
    vf_output_file_close(file);
}

void output_check(const char *path, const char *expected)
{
    size_t size;
    char *text = sample_get(path, &size);
    text[size] = '\0';
    cr_assert_str_eq(text, expected);
    free(text);
}

void output_check_refused(const char *path, bool no_clobber, const char *word)
{
    struct vf_output_file *file;
    cr_assert_neq(vf_output_file_open(&file, path, no_clobber, &error), VF_OK);
    cr_assert_null(file);
    cr_assert(strstr(error.text, word), "\"%s\" is not in: %s", word, error.text);
}

void output_refuse_nameless(void)
{
    sample_refuse(SYS_openat, 2, O_TMPFILE & ~O_DIRECTORY, EOPNOTSUPP);
}

void output_refuse_links(void)
{
    sample_refuse(SYS_linkat, 4, AT_SYMLINK_FOLLOW, EPERM);
}
