/* Which vector level this process uses. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu_rows.h"

#define VF_DECLARE(level)                                                                               \
    extern const struct vf_rows vf_rows_f32_2d_##level, vf_rows_f32_3d_##level, vf_rows_f64_2d_##level, \
        vf_rows_f64_3d_##level;
#define VF_TABLES(level)                                     \
    {                                                        \
        {&vf_rows_f32_2d_##level, &vf_rows_f32_3d_##level},  \
        {                                                    \
            &vf_rows_f64_2d_##level, &vf_rows_f64_3d_##level \
        }                                                    \
    }

VF_DECLARE(baseline)
#ifdef VF_X86_LEVELS
VF_DECLARE(v3)
VF_DECLARE(v4)
#endif

/* Slowest first. */
static const struct vf_rows *const levels[][2][2] = {
    VF_TABLES(baseline),
#ifdef VF_X86_LEVELS
    VF_TABLES(v3),
    VF_TABLES(v4),
#endif
};

static bool processor_runs(size_t level)
{
#ifdef VF_X86_LEVELS
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (level == 1)
        return v3;
    if (level == 2)
        return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return level == 0;
}

const struct vf_rows *vf_rows_choose(int dim, bool is_double)
{
    const char *forced = getenv("VOLFILTER_ISA");
    size_t best = 0;
    for (size_t level = 0; level < sizeof levels / sizeof levels[0]; level++) {
        if (!processor_runs(level))
            continue;
        best = level;
        if (forced != NULL && strcmp(forced, levels[level][0][0]->level) == 0)
            break;
    }
    return levels[best][is_double][dim - 2];
}

const char *vf_rows_level(void)
{
    return vf_rows_choose(3, false)->level;
}
