/* Eigen-decomposition by rows, for kernels/cpu_rows.c. Every rotation waits for the one before: a root, a
 * quotient, a root, a quotient, twelve times over; and those of one vector are more instructions than a
 * processor looks ahead. So a block of the row passes through short loops, one a rotation, whose iterations
 * are in work side by side. */
#ifndef VF_CPU_EIGEN_H
#define VF_CPU_EIGEN_H

#include "kernels/cpu_vector.h"

/* Small enough for the nearest cache, with all that is kept of a voxel from rotation to rotation: the size,
 * the elements and the vectors. */
#define EIGEN_BLOCK (1024 / (int)sizeof(REAL))
#define EIGEN_ELEMENT 1
#define EIGEN_VECTOR (EIGEN_ELEMENT + VF_TENSOR)
#define EIGEN_KEPT (EIGEN_VECTOR + DIM * DIM)

/* [kept][voxel of the block] */
typedef REAL eigen_block[EIGEN_BLOCK];

/* The end of the block from `begin` on; a row of n ends with a whole vector. */
VF_DEVICE ptrdiff_t eigen_block_end(ptrdiff_t begin, ptrdiff_t n)
{
    const ptrdiff_t left = (n - begin + VF_LANES - 1) / VF_LANES * VF_LANES;
    return begin + (left < EIGEN_BLOCK ? left : EIGEN_BLOCK);
}

#if DIM == 3
/* The rotation of axes p and q, r being the third, with or without what it does to the vectors. */
VF_DEVICE void eigen_rotate(eigen_block *kept, ptrdiff_t n, int vectors, int p, int q, const int *element)
{
    REAL *pp = kept[EIGEN_ELEMENT + element[0]], *qq = kept[EIGEN_ELEMENT + element[1]];
    REAL *pq = kept[EIGEN_ELEMENT + element[2]], *pr = kept[EIGEN_ELEMENT + element[3]];
    REAL *qr = kept[EIGEN_ELEMENT + element[4]];
    eigen_block *vector_p = kept + EIGEN_VECTOR + DIM * p, *vector_q = kept + EIGEN_VECTOR + DIM * q;
    _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++)
    {
        const struct vf_rotation k = vf_jacobi_rotate(pp + i, qq + i, pq + i, pr + i, qr + i);
        if (vectors)
            VF_UNROLL for (int axis = 0; axis < DIM; axis++)
                vf_rotate(k, &vector_p[axis][i], &vector_q[axis][i]);
    }
}

VF_DEVICE void eigen_sweep(eigen_block *kept, ptrdiff_t n, int vectors)
{
    static const int xy[] = {VF_XX, VF_YY, VF_XY, VF_XZ, VF_YZ}, xz[] = {VF_XX, VF_ZZ, VF_XZ, VF_XY, VF_YZ},
                     yz[] = {VF_YY, VF_ZZ, VF_YZ, VF_XY, VF_XZ};
    for (int sweep = 0; sweep < VF_SWEEPS; sweep++) {
        eigen_rotate(kept, n, vectors, VF_X, VF_Y, xy);
        eigen_rotate(kept, n, vectors, VF_X, VF_Z, xz);
        eigen_rotate(kept, n, vectors, VF_Y, VF_Z, yz);
    }
}

/* In the pass before the rotations the tensor is kept; in the one after them this is its decomposition. */
VF_DEVICE struct vf_eigen eigen_by_rows(enum pass pass, const REAL *tensor, eigen_block *kept, ptrdiff_t i)
{
    struct vf_eigen e;
    if (pass == WHOLE)
        return vf_eigen_of(tensor);
    if (pass == TENSORS) {
        const REAL size = vf_eigen_size(tensor), scale = R(1.0) / size;
        kept[0][i] = size;
        VF_UNROLL for (int c = 0; c < VF_TENSOR; c++) kept[EIGEN_ELEMENT + c][i] = tensor[c] * scale;
        VF_UNROLL for (int v = 0; v < DIM * DIM; v++) kept[EIGEN_VECTOR + v][i] =
            v % (DIM + 1) == 0 ? R(1.0) : R(0.0);
    }
    e.value[0] = kept[EIGEN_ELEMENT + VF_XX][i];
    e.value[1] = kept[EIGEN_ELEMENT + VF_YY][i];
    e.value[2] = kept[EIGEN_ELEMENT + VF_ZZ][i];
    VF_UNROLL for (int v = 0; v < DIM * DIM; v++) e.vector[v / DIM][v % DIM] = kept[EIGEN_VECTOR + v][i];
    vf_eigen_finish(&e, kept[0][i]);
    return e;
}
#else
#define eigen_sweep(kept, n, vectors) ((void)(vectors))
#define eigen_by_rows(pass, tensor, kept, i) vf_eigen_of(tensor)
#endif

#endif
