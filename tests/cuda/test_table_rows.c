/* table-rows: tables of many weights, with holes and without, on grids and slabs around the sizes of runs,
 * tiles and reaches; the reference's bits. */
#include <criterion/criterion.h>

#include "flow_case.h"

/* Runs of 4, 8 and 16, of as many rows as a thread may have, and few. */
static const char *const schemes[][2] = {
    {"table-rows:variant=loop:block=8x1x1:work=4x4x1", NULL},
    {"table-rows:variant=written:block=4x1x1:work=8x8x1:virtual=1", NULL},
    {"table-rows:variant=loop:block=3x1x1:work=16x1x1:grid=flat", NULL},
    {"table-rows:variant=written:block=5x1x1:work=4x6x1", NULL},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

struct table {
    enum flow_taps shape;
    int dim, radius[3]; /* z, y, x */
};

static void open_table(struct flow_case *c, const struct table *table, bool is_double,
                       enum vf_boundary boundary, int count)
{
    flow_case_open(c, table->dim, is_double, boundary);
    flow_case_sinks(c, flow_case_linear(c, table->shape, table->radius, flow_case_sources(c, count), count),
                    count);
}

static void check(struct flow_case *c, const char *const *scheme)
{
    static const int size[][3] = {{1, 1, 1}, {31, 7, 2}, {32, 8, 3}, {33, 9, 9}, {70, 5, 2}};
    flow_case_check_sizes(c, scheme, size, sizeof size / sizeof *size);
}

/* Weights among a kernel's arguments, and too many for them; few enough to be written out; planes, and tables
 * one cell wide. */
static const struct table tables[] = {
    {TAPS_BOX, 3, {3, 3, 3}},  {TAPS_EDGES, 3, {4, 4, 4}}, {TAPS_BOX, 3, {6, 6, 0}},
    {TAPS_BOX, 3, {1, 2, 3}},  {TAPS_BOX, 3, {0, 2, 14}},  {TAPS_BOX, 2, {0, 6, 6}},
    {TAPS_BOX, 2, {0, 15, 7}}, {TAPS_BOX, 2, {0, 2, 40}},
};
enum { TABLES = sizeof tables / sizeof *tables };

Test(table_rows, every_table_and_boundary)
{
    for (int boundary = 0; boundary < VF_BOUNDARY_COUNT; boundary++)
        for (int i = 0; i < TABLES; i++) {
            struct flow_case c;
            open_table(&c, &tables[i], false, (enum vf_boundary)boundary, 1);
            check(&c, schemes[(boundary + i) % SCHEMES]);
        }
}

/* Fields one after the other; NaN, infinities, which nothing may read where the table has a hole. */
Test(table_rows, fields_of_any_bits)
{
    for (int i = 0; i < TABLES; i++) {
        struct flow_case c;
        open_table(&c, &tables[i], false, VF_REFLECT, 2);
        c.has_any_bits = true;
        check(&c, schemes[i % SCHEMES]);
    }
}

Test(table_rows, doubles)
{
    static const char *const double_schemes[][2] = {
        {"table-rows:variant=loop:block=8x1x1:work=2x3x1", NULL},
        {"table-rows:variant=written:block=4x1x1:work=8x4x1", NULL},
    };
    for (int i = 0; i < TABLES; i++) {
        struct flow_case c;
        open_table(&c, &tables[i], true, (enum vf_boundary)(i % VF_BOUNDARY_COUNT), 1);
        check(&c, double_schemes[i % 2]);
    }
}

Test(table_rows, types)
{
    for (int type = 0; type < VF_TYPE_COUNT; type++) {
        struct flow_case c;
        open_table(&c, &tables[type % TABLES], false, (enum vf_boundary)(type % VF_BOUNDARY_COUNT), 2);
        for (int k = 0; k < 2; k++) {
            c.source_type[k] = (enum vf_type)type;
            c.sink_type[k] = (enum vf_type)((type + 4) % VF_TYPE_COUNT);
        }
        check(&c, schemes[type % SCHEMES]);
    }
}
