/* Output files as tests write and look at them; each stops the test where that fails. */
#ifndef OUTPUT_SAMPLES_H
#define OUTPUT_SAMPLES_H

#include <stdbool.h>

#include "output_file.h"

/* Closed by the caller. */
struct vf_output_file *output_open(const char *path, bool no_clobber);

void output_fill(struct vf_output_file *file, const char *text);

/* Opens, fills, finishes and closes it. */
void output_write(const char *path, const char *text);

/* Its whole content. */
void output_check(const char *path, const char *expected);

/* It does not open, and the message has `word`. */
void output_check_refused(const char *path, bool no_clobber, const char *word);

/* From now on there are no files without a name; they cannot be given one. */
void output_refuse_nameless(void);
void output_refuse_links(void);

#endif
