/* Inside batch.c: under which names the results of a batch go. */
#ifndef VF_BATCH_NAMES_H
#define VF_BATCH_NAMES_H

#include "batch.h"

/* The path without what begins it, '/' and './'. */
const char *vf_batch_inner_path(const char *path);

/* Sets the file's out, name, target and in_place. Its name is DIR/NAME, or with --tree DIR/PATH, with the
 * suffix before the ending, or in its place where it has its own. */
enum vf_status vf_batch_name_output(const struct vf_command_line *line, struct vf_batch_file *file,
                                    struct vf_error *error);

/* An error where two results have one name, or one would replace another's input or what the run writes
 * beside; sets result_of, where --resume knows that input as this very result. */
enum vf_status vf_batch_check_names(struct vf_batch *batch, const struct vf_command_line *line,
                                    struct vf_error *error);

#endif
