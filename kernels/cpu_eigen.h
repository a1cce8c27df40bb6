/* Eigen-decomposition by rows, for kernels/cpu_rows.c. Its instructions wait for one another, and those of
 * one vector are more than a processor looks ahead. So a block of the row passes through two shorter loops,
 * whose iterations are in work side by side. */
#ifndef VF_CPU_EIGEN_H
#define VF_CPU_EIGEN_H

#include "kernels/cpu_vector.h"

/* Small enough for the nearest cache, with all that is kept of a voxel from one loop to the other. */
#define EIGEN_BLOCK (1024 / (int)sizeof(REAL))
enum {
    EIGEN_SIZE,
    EIGEN_VALUE,
    EIGEN_IS_LAST,
    EIGEN_A,
    EIGEN_V = EIGEN_A + VF_TENSOR,
    EIGEN_KEPT = EIGEN_V + DIM
};

/* [kept][voxel of the block] */
typedef REAL eigen_block[EIGEN_BLOCK];

/* The end of the block from `begin` on. */
VF_DEVICE ptrdiff_t eigen_block_end(ptrdiff_t begin, ptrdiff_t n)
{
    return n - begin < EIGEN_BLOCK ? n : begin + EIGEN_BLOCK;
}

#if DIM == 3
VF_DEVICE void eigen_keep(const struct vf_isolated *f, eigen_block *kept, ptrdiff_t i)
{
    kept[EIGEN_SIZE][i] = f->size;
    kept[EIGEN_VALUE][i] = f->value;
    kept[EIGEN_IS_LAST][i] = f->is_last;
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) kept[EIGEN_A + k][i] = f->a[k];
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) kept[EIGEN_V + axis][i] = f->v[axis];
}

VF_DEVICE struct vf_isolated eigen_kept(eigen_block *kept, ptrdiff_t i)
{
    struct vf_isolated f;
    f.size = kept[EIGEN_SIZE][i];
    f.value = kept[EIGEN_VALUE][i];
    f.is_last = kept[EIGEN_IS_LAST][i];
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) f.a[k] = kept[EIGEN_A + k][i];
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) f.v[axis] = kept[EIGEN_V + axis][i];
    return f;
}

/* In the first pass what is isolated is kept; in the second this is the decomposition. */
VF_DEVICE struct vf_eigen eigen_by_rows(enum pass pass, const REAL *tensor, eigen_block *kept, ptrdiff_t i)
{
    struct vf_isolated f = pass == DECOMPOSED ? eigen_kept(kept, i) : vf_eigen_isolate(tensor);
    if (pass == ISOLATED)
        eigen_keep(&f, kept, i);
    return vf_eigen_across(&f);
}
#else
#define eigen_by_rows(pass, tensor, kept, i) vf_eigen_of(tensor)
#endif

#endif
