/* Eigenvalues and eigenvectors of symmetric positive semidefinite tensors (VF_TENSOR components) by cyclic
 * Jacobi rotations, a fixed number of sweeps and no branches (Golub & Van Loan, Matrix Computations, 8.5).
 * The trigonometric closed form errs by 1.5e-4 of the largest in float32 where two coincide; this stays
 * within 1e-5. */
#ifndef VF_STENCIL_EIGEN_H
#define VF_STENCIL_EIGEN_H

struct vf_eigen {
    REAL value[DIM];       /* descending, >= 0 */
    REAL vector[DIM][DIM]; /* [rank][axis x, y, z], unit length */
};

/* Of a tensor whose largest element is 1, what is smaller than this turns nothing that a result shows. It is
 * left alone, so that its square and its quotient are never below the smallest normal number: such results
 * take processors several times as long. */
#if REAL_BITS == 64
#define VF_EIGEN_NOTHING R(0x1p-500)
#else
#define VF_EIGEN_NOTHING R(0x1p-60)
#endif

/* The rotation that zeroes the element between two axes: its tangent, cosine and sine. */
struct vf_rotation {
    REAL t, c, s;
};

VF_DEVICE struct vf_rotation vf_rotation_for(REAL pp, REAL qq, REAL pq)
{
    struct vf_rotation k;
    const REAL d = qq - pp, b = ABS(pq) < VF_EIGEN_NOTHING ? R(0.0) : pq + pq;
    const REAL root = SQRT(FMA(d, d, b * b));
    const REAL below = d < R(0.0) ? d - root : d + root;
    k.t = below == R(0.0) ? R(0.0) : b / below;
    k.c = R(1.0) / SQRT(FMA(k.t, k.t, R(1.0)));
    k.s = k.t * k.c;
    return k;
}

/* (p, q) -> (c p - s q, s p + c q): what a rotation does to a pair of elements. */
VF_DEVICE void vf_rotate(struct vf_rotation k, REAL *p, REAL *q)
{
    const REAL from_p = *p, from_q = *q;
    /* The product by a multiply-add, which does not mind that it may vanish. */
    *p = FMA(k.c, from_p, FMA(-k.s, from_q, R(-0.0)));
    *q = FMA(k.s, from_p, k.c * from_q);
}

/* Puts the larger of two eigenvalues, and its vector, first. */
VF_DEVICE void vf_order(REAL *value_a, REAL *value_b, REAL *a, REAL *b)
{
    const REAL va = *value_a, vb = *value_b;
    const int swap = vb > va;
    *value_a = swap ? vb : va;
    *value_b = swap ? va : vb;
    VF_UNROLL for (int axis = 0; axis < DIM; axis++)
    {
        const REAL from_a = a[axis], from_b = b[axis];
        a[axis] = swap ? from_b : from_a;
        b[axis] = swap ? from_a : from_b;
    }
}

#if DIM == 3
/* Both compute types have converged by then (tests/test_stencil_eigen.c). */
#define VF_SWEEPS 4

/* What a tensor's elements are divided by, so that squares neither overflow nor vanish; where 1 / most would
 * overflow, they stay below 1. */
VF_DEVICE REAL vf_eigen_size(const REAL *tensor)
{
    const REAL most = MAX(MAX(tensor[VF_XX], tensor[VF_YY]), tensor[VF_ZZ]);
    return most < VF_SMALLEST_NORMAL ? VF_SMALLEST_NORMAL : most;
}

/* Zeroes the element pq between axes p and q; r is the third. */
VF_DEVICE struct vf_rotation vf_jacobi_rotate(REAL *pp, REAL *qq, REAL *pq, REAL *pr, REAL *qr)
{
    const struct vf_rotation k = vf_rotation_for(*pp, *qq, *pq);
    *pp = FMA(-k.t, *pq, *pp);
    *qq = FMA(k.t, *pq, *qq);
    *pq = R(0.0);
    vf_rotate(k, pr, qr);
    return k;
}

/* Puts what the rotations have left in order. */
VF_DEVICE void vf_eigen_finish(struct vf_eigen *e, REAL size)
{
    vf_order(&e->value[0], &e->value[1], e->vector[0], e->vector[1]);
    vf_order(&e->value[1], &e->value[2], e->vector[1], e->vector[2]);
    vf_order(&e->value[0], &e->value[1], e->vector[0], e->vector[1]);
    VF_UNROLL for (int rank = 0; rank < 3; rank++) e->value[rank] =
        (e->value[rank] < R(0.0) ? R(0.0) : e->value[rank]) * size;
}

VF_DEVICE struct vf_eigen vf_eigen_of(const REAL *tensor)
{
    const REAL size = vf_eigen_size(tensor), scale = R(1.0) / size;
    REAL xx = tensor[VF_XX] * scale, yy = tensor[VF_YY] * scale, zz = tensor[VF_ZZ] * scale;
    REAL xy = tensor[VF_XY] * scale, xz = tensor[VF_XZ] * scale, yz = tensor[VF_YZ] * scale;
    struct vf_eigen e = {{R(0.0)},
                         {{R(1.0), R(0.0), R(0.0)}, {R(0.0), R(1.0), R(0.0)}, {R(0.0), R(0.0), R(1.0)}}};
    VF_UNROLL for (int sweep = 0; sweep < VF_SWEEPS; sweep++)
    {
        struct vf_rotation k = vf_jacobi_rotate(&xx, &yy, &xy, &xz, &yz);
        VF_UNROLL for (int axis = 0; axis < 3; axis++) vf_rotate(k, &e.vector[0][axis], &e.vector[1][axis]);
        k = vf_jacobi_rotate(&xx, &zz, &xz, &xy, &yz);
        VF_UNROLL for (int axis = 0; axis < 3; axis++) vf_rotate(k, &e.vector[0][axis], &e.vector[2][axis]);
        k = vf_jacobi_rotate(&yy, &zz, &yz, &xy, &xz);
        VF_UNROLL for (int axis = 0; axis < 3; axis++) vf_rotate(k, &e.vector[1][axis], &e.vector[2][axis]);
    }
    e.value[0] = xx;
    e.value[1] = yy;
    e.value[2] = zz;
    vf_eigen_finish(&e, size);
    return e;
}
#else
/* One rotation diagonalises a 2x2 tensor. */
VF_DEVICE struct vf_eigen vf_eigen_of(const REAL *tensor)
{
    const REAL most = MAX(tensor[VF_XX], tensor[VF_YY]);
    const REAL size = most < VF_SMALLEST_NORMAL ? VF_SMALLEST_NORMAL : most;
    const REAL scale = R(1.0) / size;
    const REAL xx = tensor[VF_XX] * scale, yy = tensor[VF_YY] * scale, xy = tensor[VF_XY] * scale;
    const struct vf_rotation k = vf_rotation_for(xx, yy, xy);
    struct vf_eigen e = {{FMA(-k.t, xy, xx), FMA(k.t, xy, yy)}, {{k.c, -k.s}, {k.s, k.c}}};
    vf_order(&e.value[0], &e.value[1], e.vector[0], e.vector[1]);
    VF_UNROLL for (int rank = 0; rank < 2; rank++) e.value[rank] =
        (e.value[rank] < R(0.0) ? R(0.0) : e.value[rank]) * size;
    return e;
}
#endif

/* The tensor a I + b w w^T. */
VF_DEVICE void vf_tensor_about(REAL a, REAL b, const REAL *w, REAL *tensor)
{
#if DIM == 3
    const REAL bx = b * w[VF_X], by = b * w[VF_Y], bz = b * w[VF_Z];
    tensor[VF_XX] = FMA(bx, w[VF_X], a);
    tensor[VF_XY] = bx * w[VF_Y];
    tensor[VF_XZ] = bx * w[VF_Z];
    tensor[VF_YY] = FMA(by, w[VF_Y], a);
    tensor[VF_YZ] = by * w[VF_Z];
    tensor[VF_ZZ] = FMA(bz, w[VF_Z], a);
#else
    const REAL bx = b * w[VF_X], by = b * w[VF_Y];
    tensor[VF_XX] = FMA(bx, w[VF_X], a);
    tensor[VF_XY] = bx * w[VF_Y];
    tensor[VF_YY] = FMA(by, w[VF_Y], a);
#endif
}

#endif
