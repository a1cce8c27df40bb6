/* Which vector level this process uses. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu_rows.h"

#define VF_DECLARE(type, level)                           \
    extern const struct vf_rows vf_rows_##type##_##level; \
    extern const struct vf_row_bodies vf_bodies_##type##_2d_##level, vf_bodies_##type##_3d_##level;
#define VF_DECLARE_ALL(level) \
    VF_DECLARE(u8, level)     \
    VF_DECLARE(i8, level)     \
    VF_DECLARE(u16, level)    \
    VF_DECLARE(i16, level)    \
    VF_DECLARE(f32, level)    \
    VF_DECLARE(f64, level)

VF_DECLARE_ALL(baseline)
#ifdef VF_HAS_v3
VF_DECLARE_ALL(v3)
#endif
#ifdef VF_HAS_v4
VF_DECLARE_ALL(v4)
#endif

struct tables {
    const struct vf_rows *rows;
    const struct vf_row_bodies *bodies[2]; /* 2D, 3D */
};
#define VF_TABLES(type, level)                                             \
    {                                                                      \
        &vf_rows_##type##_##level,                                         \
        {                                                                  \
            &vf_bodies_##type##_2d_##level, &vf_bodies_##type##_3d_##level \
        }                                                                  \
    }
#define VF_LEVEL_TABLES(level)                                                                            \
    {                                                                                                     \
        [VF_U8] = VF_TABLES(u8, level), [VF_I8] = VF_TABLES(i8, level), [VF_U16] = VF_TABLES(u16, level), \
        [VF_I16] = VF_TABLES(i16, level), [VF_F32] = VF_TABLES(f32, level),                               \
        [VF_F64] = VF_TABLES(f64, level),                                                                 \
    }

/* Slowest first. */
static const struct tables levels[][VF_TYPE_COUNT] = {
    VF_LEVEL_TABLES(baseline),
#ifdef VF_HAS_v3
    VF_LEVEL_TABLES(v3),
#endif
#ifdef VF_HAS_v4
    VF_LEVEL_TABLES(v4),
#endif
};

static bool processor_runs(const char *level)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (strcmp(level, "v3") == 0)
        return v3;
    if (strcmp(level, "v4") == 0)
        return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return strcmp(level, "baseline") == 0;
}

static const struct tables *choose(enum vf_type cell)
{
    const char *forced = getenv("VOLFILTER_ISA");
    size_t best = 0;
    for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
        const char *name = levels[level][cell].rows->level;
        if (!processor_runs(name))
            continue;
        best = level;
        if (forced != NULL && strcmp(forced, name) == 0)
            break;
    }
    return &levels[best][cell];
}

const struct vf_rows *vf_rows_choose(enum vf_type cell)
{
    return choose(cell)->rows;
}

const struct vf_row_bodies *vf_row_bodies_choose(int dim, enum vf_type cell)
{
    return choose(cell)->bodies[dim - 2];
}

const char *vf_rows_level(void)
{
    return vf_rows_choose(VF_F32)->level;
}

bool vf_rows_by_strips(const struct vf_rows *rows)
{
#ifdef __x86_64__
    __builtin_cpu_init();
    return !rows->whole_lines && __builtin_cpu_is("amd");
#else
    (void)rows;
    return false;
#endif
}
