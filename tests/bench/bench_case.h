/* One chain on one grid, ready to run any number of times, and what the plan predicts for it. */
#ifndef VF_BENCH_CASE_H
#define VF_BENCH_CASE_H

#include <stdbool.h>

#include "execute.h"

struct bench_grid {
    ptrdiff_t nx, ny, nz; /* nz 1: an image */
};

struct bench_case {
    struct bench_grid grid;
    enum vf_type type, result_type;
    struct vf_chain chain;
    struct vf_plan plan;  /* of `chain`, so a case stays where it was opened */
    struct vf_team *team; /* whose threads compute */
    double voxels;
    double predicted;   /* seconds of one execution */
    double sums;        /* multiply-adds of weighted sums, of all runs, at a voxel */
    double bytes_moved; /* all sources and sinks of every run, each once, as --explain prints them */
};

/* The program's own; a wrong option ends it with this. */
extern const char bench_usage[];

/* An option's value: a whole number from 1 to `most`; seconds, more than 0. */
int bench_read_count(const char *option, const char *text, long most);
double bench_read_seconds(const char *option, const char *text);
_Noreturn void bench_refuse(const char *option, const char *text);

/* Ends the program with the message unless `status` is VF_OK. */
void bench_must(enum vf_status status, const struct vf_error *error);

/* Ends the program if there is no memory. */
void *bench_alloc(size_t count, size_t size);

/* `scheme` is as --scheme takes it; NULL: the plan chooses. */
void bench_case_open(struct bench_case *c, const char *chain, struct bench_grid grid, enum vf_type type,
                     int threads, const char *scheme);
void bench_case_close(struct bench_case *c);

/* Random values over the type's range (floats: 0 to 255), the same each time. All its pages have been
 * touched. */
struct vf_volume bench_input(struct bench_grid grid, enum vf_type type, int threads);
/* Memory for the case's result. The pages of large ones have not been touched. */
struct vf_volume bench_result(const struct bench_case *c);

/* Seconds of one execution. */
double bench_case_run(const struct bench_case *c, const struct vf_volume *in, struct vf_volume *out);

/* Whether the chain gives the reference's bits on a small grid, in tiles of the plan's choice and in small
 * ones. */
bool bench_case_is_right(const char *chain, struct bench_grid grid, enum vf_type type, int threads);

#endif
