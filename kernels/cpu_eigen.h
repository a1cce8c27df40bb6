/* Eigen-decomposition by rows, for kernels/cpu_bodies.c: a block of the row passes through a loop for each
 * step (kernels/cpu_body.h). */
#ifndef VF_CPU_EIGEN_H
#define VF_CPU_EIGEN_H

#include "kernels/cpu_vector.h"

#if DIM == 3
#define EIGEN_KEPT (sizeof(struct vf_decomposing) / sizeof(REAL))
#else
#define EIGEN_KEPT 1
#endif

#if DIM == 3
/* What each step makes of struct vf_decomposing. */
#define EIGEN_TENSOR(ACTION) ACTION(b[0]) ACTION(b[1]) ACTION(b[2]) ACTION(b[3]) ACTION(b[4]) ACTION(b[5])
#define EIGEN_SCALED(ACTION) ACTION(size) ACTION(q) ACTION(squared) EIGEN_TENSOR(ACTION)
#define EIGEN_SHAPED(ACTION) ACTION(p) ACTION(h) EIGEN_TENSOR(ACTION)
#define EIGEN_DISCRIMINATED(ACTION) ACTION(discriminant)
#define EIGEN_ROOTS_PARTED(ACTION) ACTION(root) ACTION(apart)
#define EIGEN_UNIT(ACTION) ACTION(v[0]) ACTION(v[1]) ACTION(v[2])
#define EIGEN_DIRECTED(ACTION) ACTION(root) EIGEN_UNIT(ACTION)
#define EIGEN_ACROSS(ACTION) ACTION(u[0]) ACTION(u[1]) ACTION(u[2])
#define EIGEN_REDUCED(ACTION) ACTION(d) ACTION(e)
#define EIGEN_PARTED(ACTION) ACTION(apart)
#define EIGEN_TURNED(ACTION) ACTION(c) ACTION(s)

#define EIGEN_PLACE(member) kept[offsetof(struct vf_decomposing, member) / sizeof(REAL)][i]
#define EIGEN_KEEP(member) EIGEN_PLACE(member) = f->member;
#define EIGEN_TAKE(member) f->member = EIGEN_PLACE(member);
#define EIGEN_STEP(step, make)   \
    if (pass == (step)) {        \
        make(f);                 \
        EIGEN_##step(EIGEN_KEEP) \
    }

/* The step of this pass. What a step does not need is not really taken: nothing depends on it. */
VF_DEVICE void eigen_step(enum vf_definite definite, struct vf_decomposing *f, enum pass pass,
                          const REAL *tensor, steps_block *kept, ptrdiff_t i)
{
    if (pass == SCALED) {
        vf_eigen_scale(definite, f, tensor);
        EIGEN_SCALED(EIGEN_KEEP)
    } else {
        EIGEN_SCALED(EIGEN_TAKE)
        EIGEN_SHAPED(EIGEN_TAKE)
        EIGEN_DISCRIMINATED(EIGEN_TAKE)
        EIGEN_DIRECTED(EIGEN_TAKE)
        EIGEN_ACROSS(EIGEN_TAKE)
        EIGEN_REDUCED(EIGEN_TAKE)
        EIGEN_PARTED(EIGEN_TAKE)
        EIGEN_TURNED(EIGEN_TAKE)
    }
    EIGEN_STEP(SHAPED, vf_eigen_shape)
    EIGEN_STEP(DISCRIMINATED, vf_eigen_discriminate)
    EIGEN_STEP(ROOTS_PARTED, vf_eigen_part_roots)
    EIGEN_STEP(DIRECTED, vf_eigen_direct)
    EIGEN_STEP(UNIT, vf_eigen_unit)
    EIGEN_STEP(ACROSS, vf_eigen_across)
    EIGEN_STEP(REDUCED, vf_eigen_reduce)
    EIGEN_STEP(PARTED, vf_eigen_part)
    EIGEN_STEP(TURNED, vf_eigen_turn)
}

/* In the last pass they are these. */
VF_DEVICE struct vf_eigenvalues eigenvalues_by_rows(enum vf_definite definite, enum pass pass,
                                                    const REAL *tensor, steps_block *kept, ptrdiff_t i)
{
    struct vf_decomposing f;
    eigen_step(definite, &f, pass, tensor, kept, i);
    return vf_eigenvalues_parted(definite, &f);
}

VF_DEVICE void eigenvector_by_rows(enum pass pass, const REAL *tensor, int rank, struct vf_eigenvector *e,
                                   steps_block *kept, ptrdiff_t i)
{
    struct vf_decomposing f;
    eigen_step(VF_SEMIDEFINITE, &f, pass, tensor, kept, i);
    vf_eigenvector_turned(&f, rank, e);
}
#else
#define eigenvalues_by_rows(definite, pass, tensor, kept, i) vf_eigenvalues_of(definite, tensor)
#define eigenvector_by_rows(pass, tensor, rank, e, kept, i) vf_eigenvector_of(tensor, rank, e)
#endif

#endif
