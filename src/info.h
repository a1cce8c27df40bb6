/* volfilter info FILE: what was understood of a file. */
#ifndef VF_INFO_H
#define VF_INFO_H

#include <stdbool.h>
#include <stdio.h>

#include "error.h"

/* Prints the file at `path` ("-": standard input) as a few lines or as one JSON object. Nothing is printed
 * when the file cannot be read. */
enum vf_status vf_info_print(const char *path, bool as_json, FILE *to, struct vf_error *error);

#endif
