/* Row functions of the stencils' bodies. Compiled for each compute type (REAL_BITS 32, 64), DIM (2, 3) and
 * vector level: the Makefile names the table, VF_BODIES. The compiler vectorises the loops over x. */
#include <stdint.h>

/* As wide as the compute type: vectors of either have the same number of lanes. */
#if REAL_BITS == 64
typedef int64_t lane_index;
#else
typedef int32_t lane_index;
#endif

#define EIGENVALUES(definite, tensor) eigenvalues_by_rows(definite, pass, tensor, kept, i - begin)
#define EIGENVECTOR(tensor, rank, e) eigenvector_by_rows(pass, tensor, rank, e, kept, i - begin)

#include "kernels/cpu_body.h"
#include "kernels/cpu_eigen.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "stencil_bodies.h"

#include "kernels/cpu_diffusion.h"

#if DIM == 3
#define OF_DIM(in_2d, in_3d) (in_3d)
#else
#define OF_DIM(in_2d, in_3d) (in_2d)
#endif
#define VF_STENCIL_DEF(name, in_2d, in_3d, out_2d, out_3d, centre_2d, centre_3d, star_2d, star_3d, axial_2d, \
                       axial_3d, z, y, x, cost, share, branches, word)                                       \
    _Static_assert(VF_WORD_##word != VF_WORD_IN_STEP || OF_DIM(in_2d, in_3d) != 1,                           \
                   #name ": a step reads no copies of a row's ends, which a single input may have");         \
    _Static_assert((share) == 0 || VF_WORD_##word == VF_WORD_NONE || VF_WORD_##word == VF_WORD_OF_COLUMN,    \
                   #name ": passes that share faces compute no word of bodies");                             \
    BODY_PASS(name, z, y, OF_DIM(in_2d, in_3d), OF_DIM(out_2d, out_3d))                                      \
    static void row_##name(const struct vf_body_row *row)                                                    \
    {                                                                                                        \
        const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES;                                  \
        REAL param[VF_MAX_STENCIL_PARAMS];                                                                   \
        for (int i = 0; i < VF_MAX_STENCIL_PARAMS; i++)                                                      \
            param[i] = (REAL)row->param[i];                                                                  \
        const enum vf_stencil_word says = VF_WORD_##word;                                                    \
        if (DIM == 3 && (says == VF_WORD_EIGENVALUES || says == VF_WORD_EIGENVECTOR)) {                      \
            _Alignas(VF_VECTOR_BYTES) steps_block kept[EIGEN_KEPT];                                          \
            for (ptrdiff_t begin = 0, end; begin < n; begin = end) {                                         \
                end = MIN(n, begin + STEPS_BLOCK);                                                           \
                pass_##name(row, param, SCALED, kept, begin, end);                                           \
                pass_##name(row, param, SHAPED, kept, begin, end);                                           \
                if (says == VF_WORD_EIGENVALUES) {                                                           \
                    pass_##name(row, param, DISCRIMINATED, kept, begin, end);                                \
                    pass_##name(row, param, ROOTS_PARTED, kept, begin, end);                                 \
                } else {                                                                                     \
                    pass_##name(row, param, DIRECTED, kept, begin, end);                                     \
                    pass_##name(row, param, UNIT, kept, begin, end);                                         \
                    pass_##name(row, param, ACROSS, kept, begin, end);                                       \
                    pass_##name(row, param, REDUCED, kept, begin, end);                                      \
                    pass_##name(row, param, PARTED, kept, begin, end);                                       \
                    pass_##name(row, param, TURNED, kept, begin, end);                                       \
                }                                                                                            \
                pass_##name(row, param, DECOMPOSED, kept, begin, end);                                       \
            }                                                                                                \
        } else if (says == VF_WORD_OF_COLUMN) {                                                              \
            TAKE_COLUMNS(name, row, param, n);                                                               \
        } else if (DIM == 3 && says == VF_WORD_IN_STEP) {                                                    \
            _Alignas(VF_VECTOR_BYTES) steps_block kept[VF_MOST_IN_STEPS];                                    \
            for (ptrdiff_t begin = 0, end; begin < n; begin = end) {                                         \
                end = MIN(n, begin + STEPS_BLOCK);                                                           \
                pass_##name(row, param, FIRST_STEP, kept, begin, end);                                       \
                pass_##name(row, param, SECOND_STEP, kept, begin, end);                                      \
                pass_##name(row, param, STEPS_TAKEN, kept, begin, end);                                      \
            }                                                                                                \
        } else if ((share) > 0) {                                                                            \
            pass_##name(row, param, FACES_ALONG_X, NULL, -VF_LANES, n);                                      \
            if (row->follows)                                                                                \
                pass_##name(row, param, FACES_TAKEN, NULL, 0, n);                                            \
            else                                                                                             \
                pass_##name(row, param, FACES_KEPT, NULL, 0, n);                                             \
        } else {                                                                                             \
            pass_##name(row, param, WHOLE, NULL, 0, n);                                                      \
        }                                                                                                    \
    }
#include "filters/stencils.def"
#undef VF_STENCIL_DEF

extern const struct vf_row_bodies VF_BODIES;
const struct vf_row_bodies VF_BODIES = {
    .body =
        {
#define VF_STENCIL_DEF(name, ...) [VF_STENCIL_##name] = row_##name,
#include "filters/stencils.def"
#undef VF_STENCIL_DEF
        },
#if DIM == 3
    .take_flux = take_flux,
    .step_below = step_below,
#endif
};
