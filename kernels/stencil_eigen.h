/* Eigenvalues and eigenvectors of symmetric positive semidefinite tensors (VF_TENSOR components), without
 * iterations and branches. The trigonometric closed form alone errs by 1.5e-4 of the largest eigenvalue in
 * float32 where two coincide; this stays within 1e-6 (tests/test_stencil_eigen.c). */
#ifndef VF_STENCIL_EIGEN_H
#define VF_STENCIL_EIGEN_H

struct vf_eigen {
    REAL value[DIM];       /* descending, >= 0 */
    REAL vector[DIM][DIM]; /* [rank][axis x, y, z], unit length */
};

/* Of a tensor whose elements are below 4, what is smaller than this turns nothing that a result shows; its
 * third power is a normal number. */
#if REAL_BITS == 64
#define VF_EIGEN_NOTHING R(0x1p-60)
#else
#define VF_EIGEN_NOTHING R(0x1p-30)
#endif

/* The power of two just below a tensor's largest element: divided by twice that, squares of its elements
 * neither overflow nor vanish. What is not a normal number counts as the smallest one. */
VF_DEVICE REAL vf_tensor_size(REAL most)
{
    const vf_bits fraction = ((vf_bits)1 << VF_MANTISSA) - 1;
    return vf_from_bits(vf_to_bits(most < VF_SMALLEST_NORMAL ? VF_SMALLEST_NORMAL : most) & ~fraction);
}

/* 2 / size. */
VF_DEVICE REAL vf_tensor_scale(REAL size)
{
    return vf_from_bits(((vf_bits)(2 * VF_EXPONENT_BIAS + 1) << VF_MANTISSA) - vf_to_bits(size));
}

/* Of the tensor (m + d, b; b, m - d) / 2: how far its eigenvalues are apart; (c, s) is the vector of the
 * larger one, (-s, c) that of the smaller. */
struct vf_plane {
    REAL c, s, apart;
};

VF_DEVICE void vf_plane_part(struct vf_plane *k, REAL d, REAL b)
{
    const REAL squared = FMA(d, d, b * b);
    k->apart = squared * vf_inverse_root(squared);
}

VF_DEVICE void vf_plane_turn(struct vf_plane *k, REAL d, REAL b)
{
    const REAL near = k->apart < VF_EIGEN_NOTHING ? R(1.0) : ABS(d) + k->apart;
    const REAL inverse = vf_inverse_root(FMA(near, near, b * b)), large = near * inverse, small = b * inverse;
    k->c = d < R(0.0) ? small : large;
    k->s = d < R(0.0) ? large : small;
}

/* Newton's step towards length 1, for what is that within some units in the last place: axes become exact. */
VF_DEVICE void vf_make_unit(REAL *v)
{
    REAL left = R(1.0);
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) left = FMA(-v[axis], v[axis], left);
    VF_UNROLL for (int axis = 0; axis < DIM; axis++) v[axis] = FMA(R(0.5) * left, v[axis], v[axis]);
}

#if DIM == 3
/* The largest root of x^3 - 3 x - 2 h for h in [0, 1], 2 cos(acos(h) / 3): a polynomial that errs by 2e-8. */
VF_DEVICE REAL vf_largest_root(REAL h)
{
    REAL x = R(0.00112998527);
    x = FMA(x, h, R(-0.00600317992));
    x = FMA(x, h, R(0.0155465622));
    x = FMA(x, h, R(-0.0287288905));
    x = FMA(x, h, R(0.0488376948));
    x = FMA(x, h, R(-0.0961636334));
    x = FMA(x, h, R(0.333330654));
    x = FMA(x, h, R(1.73205083));
#if REAL_BITS == 64
    /* A step of Newton's. */
    const REAL left = FMA(x, FMA(x, x, -3.0), -2.0 * h);
    x -= left / FMA(3.0 * x, x, -3.0);
#endif
    return x;
}

/* Half of the determinant. */
VF_DEVICE REAL vf_half_determinant(const REAL *b)
{
    const REAL xx = FMA(b[VF_YY], b[VF_ZZ], -(b[VF_YZ] * b[VF_YZ]));
    const REAL xy = FMA(b[VF_XZ], b[VF_YZ], -(b[VF_XY] * b[VF_ZZ]));
    const REAL xz = FMA(b[VF_XY], b[VF_YZ], -(b[VF_XZ] * b[VF_YY]));
    return R(0.5) * FMA(b[VF_XX], xx, FMA(b[VF_XY], xy, b[VF_XZ] * xz));
}

/* A multiple of the vector of the largest eigenvalue, `root`, of a tensor whose others are far from it: less
 * that, it has rank two, and its adjugate is a multiple of v v^T, of which the column with the largest
 * diagonal element is taken. */
VF_DEVICE void vf_vector_of(const REAL *b, REAL root, REAL *v)
{
    const REAL xx = b[VF_XX] - root, yy = b[VF_YY] - root, zz = b[VF_ZZ] - root;
    const REAL xy = b[VF_XY], xz = b[VF_XZ], yz = b[VF_YZ];
    const REAL of_x = FMA(yy, zz, -(yz * yz)), of_y = FMA(xx, zz, -(xz * xz)), of_z = FMA(xx, yy, -(xy * xy));
    const REAL of_xy = FMA(xz, yz, -(xy * zz)), of_xz = FMA(xy, yz, -(xz * yy)),
               of_yz = FMA(xy, xz, -(xx * yz));
    const int y_first = of_y > of_x, z_first = of_z > MAX(of_x, of_y);
    v[VF_X] = z_first ? of_xz : y_first ? of_xy : of_x;
    v[VF_Y] = z_first ? of_yz : y_first ? of_y : of_xy;
    v[VF_Z] = z_first ? of_z : y_first ? of_yz : of_xz;
}

/* A tensor on its way to its decomposition, in short steps, each of which needs what those before it made. */
struct vf_decomposing {
    /* Scaled: the tensor is a size / 2, and a is q I + p B, as below; squared is p^2. */
    REAL size, a[VF_TENSOR], q, squared;
    /* Shaped: inverse is 1 / p, or 0 where nothing is left beside q, and h is half of det B. */
    REAL p, inverse, h;
    /* Isolated: an eigenvalue far from the other two, the smallest where is_last is 1, else the largest; root
     * is that of B, or of -B where it is the smallest. */
    REAL root, value, is_last;
    /* Directed: a multiple of its vector, which is then made unit. */
    REAL v[3];
    /* Across v: the first of two vectors. */
    REAL u[3];
    /* Reduced: the tensor in their plane, (sum + d, b; b, sum - d) / 2. */
    REAL sum, d, b;
    /* Parted, then turned. */
    struct vf_plane plane;
};

/* What is left of the tensor without q on its diagonal: it has no trace. */
VF_DEVICE void vf_without_trace(const struct vf_decomposing *f, REAL *b)
{
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) b[k] = f->a[k];
    b[VF_XX] -= f->q;
    b[VF_YY] -= f->q;
    b[VF_ZZ] -= f->q;
}

/* The tensor is q I + p B, where B has no trace and eigenvalues of at most 2: roots of x^3 - 3 x - det B. */
VF_DEVICE void vf_eigen_scale(struct vf_decomposing *f, const REAL *tensor)
{
    f->size = vf_tensor_size(MAX(MAX(tensor[VF_XX], tensor[VF_YY]), tensor[VF_ZZ]));
    const REAL scale = vf_tensor_scale(f->size);
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) f->a[k] = tensor[k] * scale;
    f->q = (f->a[VF_XX] + f->a[VF_YY] + f->a[VF_ZZ]) * R(1.0 / 3.0);
    REAL b[VF_TENSOR];
    vf_without_trace(f, b);
    const REAL across = FMA(b[VF_XY], b[VF_XY], FMA(b[VF_XZ], b[VF_XZ], b[VF_YZ] * b[VF_YZ]));
    const REAL along = FMA(b[VF_XX], b[VF_XX], FMA(b[VF_YY], b[VF_YY], b[VF_ZZ] * b[VF_ZZ]));
    f->squared = FMA(R(2.0), across, along) * R(1.0 / 6.0);
}

VF_DEVICE void vf_eigen_shape(struct vf_decomposing *f)
{
    const REAL over = vf_inverse_root(f->squared);
    REAL b[VF_TENSOR];
    vf_without_trace(f, b);
    f->p = f->squared * over;
    f->inverse = f->p < VF_EIGEN_NOTHING ? R(0.0) : over;
    f->h = vf_half_determinant(b) * f->inverse * f->inverse * f->inverse;
}

VF_DEVICE REAL vf_eigen_sign(const struct vf_decomposing *f)
{
    return f->h < R(0.0) ? R(-1.0) : R(1.0);
}

/* One of B's eigenvalues, of the sign of det B, is always far from the others, and so known to some units in
 * the last place, with its vector. */
VF_DEVICE void vf_eigen_isolate(struct vf_decomposing *f)
{
    const REAL sign = vf_eigen_sign(f);
    f->root = vf_largest_root(ABS(f->h));
    f->value = FMA(sign * f->p, f->root, f->q);
    f->is_last = R(0.5) - R(0.5) * sign;
}

VF_DEVICE void vf_eigen_direct(struct vf_decomposing *f)
{
    const REAL sign = vf_eigen_sign(f);
    REAL b[VF_TENSOR];
    vf_without_trace(f, b);
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) b[k] *= sign * f->inverse;
    vf_vector_of(b, f->root, f->v);
}

VF_DEVICE void vf_eigen_unit(struct vf_decomposing *f)
{
    const REAL x = f->v[VF_X], y = f->v[VF_Y], z = f->v[VF_Z];
    const REAL inverse = vf_inverse_root(FMA(x, x, FMA(y, y, z * z)));
    f->v[VF_X] = x * inverse;
    f->v[VF_Y] = y * inverse;
    f->v[VF_Z] = z * inverse;
}

/* w = v x u. */
VF_DEVICE void vf_vector_product(const REAL *v, const REAL *u, REAL *w)
{
    w[VF_X] = FMA(v[VF_Y], u[VF_Z], -(v[VF_Z] * u[VF_Y]));
    w[VF_Y] = FMA(v[VF_Z], u[VF_X], -(v[VF_X] * u[VF_Z]));
    w[VF_Z] = FMA(v[VF_X], u[VF_Y], -(v[VF_Y] * u[VF_X]));
}

/* The first of two unit vectors across v and each other. It has no part along z or x, whichever v has less
 * of, so that an axis that is decoupled from the others stays so, exactly. */
VF_DEVICE void vf_eigen_across(struct vf_decomposing *f)
{
    const REAL *v = f->v;
    REAL *u = f->u;
    const int flat = ABS(v[VF_X]) > ABS(v[VF_Z]);
    const REAL most = flat ? v[VF_X] : v[VF_Z], inverse = vf_inverse_root(FMA(most, most, v[VF_Y] * v[VF_Y]));
    const REAL along = most * inverse, across = v[VF_Y] * inverse;
    u[VF_X] = flat ? -across : R(0.0);
    u[VF_Y] = flat ? along : -along;
    u[VF_Z] = flat ? R(0.0) : across;
}

/* a . M b, for the tensor M. */
VF_DEVICE REAL vf_tensor_between(const REAL *m, const REAL *a, const REAL *b)
{
    const REAL x = FMA(m[VF_XX], b[VF_X], FMA(m[VF_XY], b[VF_Y], m[VF_XZ] * b[VF_Z]));
    const REAL y = FMA(m[VF_XY], b[VF_X], FMA(m[VF_YY], b[VF_Y], m[VF_YZ] * b[VF_Z]));
    const REAL z = FMA(m[VF_XZ], b[VF_X], FMA(m[VF_YZ], b[VF_Y], m[VF_ZZ] * b[VF_Z]));
    return FMA(a[VF_X], x, FMA(a[VF_Y], y, a[VF_Z] * z));
}

/* The other eigenvalues and vectors are those of the tensor in the plane across the vector that is known,
 * where they may coincide (after Eberly, A Robust Eigensolver for 3x3 Symmetric Matrices). */
VF_DEVICE void vf_eigen_reduce(struct vf_decomposing *f)
{
    REAL w[3];
    vf_vector_product(f->v, f->u, w);
    const REAL uu = vf_tensor_between(f->a, f->u, f->u), ww = vf_tensor_between(f->a, w, w);
    const REAL uw = vf_tensor_between(f->a, w, f->u);
    f->sum = uu + ww;
    f->d = uu - ww;
    f->b = uw + uw;
}

VF_DEVICE void vf_eigen_part(struct vf_decomposing *f)
{
    vf_plane_part(&f->plane, f->d, f->b);
}

VF_DEVICE void vf_eigen_turn(struct vf_decomposing *f)
{
    vf_plane_turn(&f->plane, f->d, f->b);
}

VF_DEVICE struct vf_eigen vf_eigen_decomposed(const struct vf_decomposing *f)
{
    const int is_last = f->is_last == R(1.0);
    const struct vf_plane k = f->plane;
    REAL w[3];
    vf_vector_product(f->v, f->u, w);
    const REAL larger = R(0.5) * (f->sum + k.apart), smaller = R(0.5) * (f->sum - k.apart);
    const REAL most = MAX(f->value, larger), least = MIN(f->value, smaller);
    struct vf_eigen e = {{is_last ? larger : most, is_last ? smaller : larger, is_last ? least : smaller},
                         {{R(0.0)}}};
    VF_UNROLL for (int rank = 0; rank < 3; rank++) e.value[rank] =
        (e.value[rank] < R(0.0) ? R(0.0) : R(0.5) * e.value[rank]) * f->size;
    VF_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const REAL of_larger = FMA(k.c, f->u[axis], k.s * w[axis]),
                   of_smaller = FMA(k.c, w[axis], -(k.s * f->u[axis]));
        e.vector[0][axis] = is_last ? of_larger : f->v[axis];
        e.vector[1][axis] = is_last ? of_smaller : of_larger;
        e.vector[2][axis] = is_last ? f->v[axis] : of_smaller;
    }
    VF_UNROLL for (int rank = 0; rank < 3; rank++) vf_make_unit(e.vector[rank]);
    return e;
}

VF_DEVICE struct vf_eigen vf_eigen_of(const REAL *tensor)
{
    struct vf_decomposing f;
    vf_eigen_scale(&f, tensor);
    vf_eigen_shape(&f);
    vf_eigen_isolate(&f);
    vf_eigen_direct(&f);
    vf_eigen_unit(&f);
    vf_eigen_across(&f);
    vf_eigen_reduce(&f);
    vf_eigen_part(&f);
    vf_eigen_turn(&f);
    return vf_eigen_decomposed(&f);
}
#else
VF_DEVICE struct vf_eigen vf_eigen_of(const REAL *tensor)
{
    const REAL size = vf_tensor_size(MAX(tensor[VF_XX], tensor[VF_YY])), scale = vf_tensor_scale(size);
    const REAL xx = tensor[VF_XX] * scale, yy = tensor[VF_YY] * scale, xy = tensor[VF_XY] * scale;
    const REAL sum = xx + yy;
    struct vf_plane k;
    vf_plane_part(&k, xx - yy, xy + xy);
    vf_plane_turn(&k, xx - yy, xy + xy);
    struct vf_eigen e = {{sum + k.apart, sum - k.apart}, {{k.c, k.s}, {-k.s, k.c}}};
    VF_UNROLL for (int rank = 0; rank < 2; rank++) e.value[rank] =
        (e.value[rank] < R(0.0) ? R(0.0) : R(0.25) * e.value[rank]) * size;
    VF_UNROLL for (int rank = 0; rank < 2; rank++) vf_make_unit(e.vector[rank]);
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
