/* Eigenvalues of symmetric tensors (VF_TENSOR components), and of positive semidefinite ones the eigenvector
 * of the largest or the smallest one, without iterations and branches. The trigonometric closed form alone
 * errs by 1.5e-4 of the largest eigenvalue in float32 where two coincide; this stays within 1e-6
 * (tests/test_stencil_eigen.c). */
#ifndef VF_STENCIL_EIGEN_H
#define VF_STENCIL_EIGEN_H

/* What is known of a tensor: where it is semidefinite no element is larger than the diagonal's, and what
 * rounding leaves below 0 is 0. */
enum vf_definite { VF_SEMIDEFINITE, VF_INDEFINITE };

struct vf_eigenvalues {
    REAL value[DIM]; /* descending, in units of `unit`; semidefinite: >= 0, the largest is 0 or above 2^-54 */
    REAL unit;       /* a power of two */
};

struct vf_eigenvector {
    REAL vector[DIM]; /* [axis x, y, z], unit length */
    REAL spread;      /* the largest eigenvalue minus the smallest */
};

/* Of a tensor whose elements are below 4, what is smaller than this turns nothing that a result shows; its
 * third power is a normal number. */
#if REAL_BITS == 64
#define VF_EIGEN_NOTHING R(0x1p-60)
#else
#define VF_EIGEN_NOTHING R(0x1p-30)
#endif

/* A tensor's largest element, without its sign. */
VF_DEVICE REAL vf_tensor_most(enum vf_definite definite, const REAL *tensor)
{
    if (definite == VF_SEMIDEFINITE)
#if DIM == 3
        return MAX(MAX(tensor[VF_XX], tensor[VF_YY]), tensor[VF_ZZ]);
#else
        return MAX(tensor[VF_XX], tensor[VF_YY]);
#endif
    REAL most = ABS(tensor[0]);
    VF_UNROLL for (int k = 1; k < VF_TENSOR; k++) most = MAX(most, ABS(tensor[k]));
    return most;
}

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

/* What an eigenvalue is, of what the arithmetic leaves of it. */
VF_DEVICE REAL vf_eigenvalue_bounded(enum vf_definite definite, REAL value)
{
    return definite == VF_SEMIDEFINITE && value < R(0.0) ? R(0.0) : value;
}

/* Of the tensor (m + d, e; e, m - d) / 2: how far its eigenvalues are apart. */
VF_DEVICE REAL vf_plane_apart(REAL d, REAL e)
{
    const REAL squared = FMA(d, d, e * e);
    return squared * vf_inverse_root(squared);
}

/* (c, s) is the vector of the larger one, (-s, c) that of the smaller. */
VF_DEVICE void vf_plane_turn(REAL d, REAL e, REAL apart, REAL *c, REAL *s)
{
    const REAL near = apart < VF_EIGEN_NOTHING ? R(1.0) : ABS(d) + apart;
    const REAL inverse = vf_inverse_root(FMA(near, near, e * e)), large = near * inverse, small = e * inverse;
    *c = d < R(0.0) ? small : large;
    *s = d < R(0.0) ? large : small;
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

/* A tensor on its way to its decomposition, in short steps, each of which needs what those before it made. */
struct vf_decomposing {
    /* Scaled: the tensor is (q I + B) size / 2, where B has no trace; squared is p^2, a sixth of the sum of
     * its squares. */
    REAL size, q, b[VF_TENSOR], squared;
    /* Shaped: B is divided by p, or 0 where nothing is left beside q: its eigenvalues, at most 2, are the
     * roots of x^3 - 3 x - 2 h. */
    REAL p, h;
    /* For eigenvalues, discriminated: a ninth of the square of the product of their differences. Parted: the
     * root that is far from the other two, of B or, where h < 0, of -B; how far those are apart. */
    REAL discriminant, root, apart;
    /* For a vector, directed: that root of B; a multiple of its vector, which is then made unit. */
    REAL v[3];
    /* Across v: the first of two vectors. */
    REAL u[3];
    /* Reduced: B in their plane, (m + d, e; e, m - d) / 2. */
    REAL d, e;
    /* Parted: apart. Turned: the vector of the larger of the other two is c u + s w, w = v x u. */
    REAL c, s;
};

VF_DEVICE void vf_eigen_scale(enum vf_definite definite, struct vf_decomposing *f, const REAL *tensor)
{
    REAL *b = f->b;
    f->size = vf_tensor_size(vf_tensor_most(definite, tensor));
    const REAL scale = vf_tensor_scale(f->size);
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) b[k] = tensor[k] * scale;
    f->q = (b[VF_XX] + b[VF_YY] + b[VF_ZZ]) * R(1.0 / 3.0);
    b[VF_XX] -= f->q;
    b[VF_YY] -= f->q;
    b[VF_ZZ] -= f->q;
    const REAL across = FMA(b[VF_XY], b[VF_XY], FMA(b[VF_XZ], b[VF_XZ], b[VF_YZ] * b[VF_YZ]));
    const REAL along = FMA(b[VF_XX], b[VF_XX], FMA(b[VF_YY], b[VF_YY], b[VF_ZZ] * b[VF_ZZ]));
    f->squared = FMA(R(2.0), across, along) * R(1.0 / 6.0);
}

/* adj B + I, which has no trace either, as the trace of adj B is -3. */
VF_DEVICE void vf_eigen_cofactors(const REAL *b, REAL *c)
{
    c[VF_XX] = FMA(-b[VF_YZ], b[VF_YZ], FMA(b[VF_YY], b[VF_ZZ], R(1.0)));
    c[VF_YY] = FMA(-b[VF_XZ], b[VF_XZ], FMA(b[VF_XX], b[VF_ZZ], R(1.0)));
    c[VF_ZZ] = FMA(-b[VF_XY], b[VF_XY], FMA(b[VF_XX], b[VF_YY], R(1.0)));
    c[VF_XY] = FMA(b[VF_XZ], b[VF_YZ], -(b[VF_XY] * b[VF_ZZ]));
    c[VF_XZ] = FMA(b[VF_XY], b[VF_YZ], -(b[VF_XZ] * b[VF_YY]));
    c[VF_YZ] = FMA(b[VF_XY], b[VF_XZ], -(b[VF_XX] * b[VF_YZ]));
}

VF_DEVICE void vf_eigen_shape(struct vf_decomposing *f)
{
    const REAL over = vf_inverse_root(f->squared);
    f->p = f->squared * over;
    const REAL inverse = f->p < VF_EIGEN_NOTHING ? R(0.0) : over;
    REAL *b = f->b, c[VF_TENSOR];
    VF_UNROLL for (int k = 0; k < VF_TENSOR; k++) b[k] *= inverse;
    vf_eigen_cofactors(b, c);
    const REAL determinant = FMA(b[VF_XX], c[VF_XX] - R(1.0), FMA(b[VF_XY], c[VF_XY], b[VF_XZ] * c[VF_XZ]));
    f->h = R(0.5) * determinant;
}

/* One of B's eigenvalues, of the sign of h, is always far from the others, and so known to some units in the
 * last place, with its vector: the largest, or the smallest where h < 0. */
VF_DEVICE REAL vf_eigen_sign(const struct vf_decomposing *f)
{
    return f->h < R(0.0) ? R(-1.0) : R(1.0);
}

/* The product of the eigenvalues' differences vanishes where two coincide, and 1 - h^2, which it is but for a
 * factor, is lost to rounding there. As a sum of squares it is not: those of the coefficients of the cubic
 * form det(n, B n, adj(B) n), which in the eigenvectors' frame is that product times xyz (the sum of seven
 * squares is Kummer's, 1843). */
VF_DEVICE void vf_eigen_discriminate(struct vf_decomposing *f)
{
    const REAL *b = f->b;
    REAL c[VF_TENSOR];
    vf_eigen_cofactors(b, c);
    const REAL xxx = FMA(b[VF_XY], c[VF_XZ], -(b[VF_XZ] * c[VF_XY]));
    const REAL yyy = FMA(b[VF_YZ], c[VF_XY], -(b[VF_XY] * c[VF_YZ]));
    const REAL zzz = FMA(b[VF_XZ], c[VF_YZ], -(b[VF_YZ] * c[VF_XZ]));
    const REAL xyz = FMA(b[VF_XX], c[VF_YY], -(b[VF_YY] * c[VF_XX]));
    const REAL of_x = FMA(b[VF_YZ], c[VF_XX], -(b[VF_XX] * c[VF_YZ]));
    const REAL of_y = FMA(b[VF_XZ], c[VF_YY], -(b[VF_YY] * c[VF_XZ]));
    const REAL of_z = FMA(b[VF_XY], c[VF_ZZ], -(b[VF_ZZ] * c[VF_XY]));
    const REAL cubes = FMA(xxx, xxx, FMA(yyy, yyy, zzz * zzz));
    const REAL mixed = FMA(xyz, xyz, FMA(of_x, of_x, FMA(of_y, of_y, of_z * of_z)));
    f->discriminant = FMA(R(5.0 / 3.0), cubes, mixed);
}

/* The isolated root's differences from the others have the product 3 (root^2 - 1). */
VF_DEVICE void vf_eigen_part_roots(struct vf_decomposing *f)
{
    f->root = vf_largest_root(ABS(f->h));
    const REAL others = FMA(f->root, f->root, R(-1.0));
    f->apart = f->discriminant * vf_inverse_root(f->discriminant * others * others);
}

/* In descending order even when rounded: half of what the others are apart is less than half of the root. */
VF_DEVICE struct vf_eigenvalues vf_eigenvalues_parted(enum vf_definite definite,
                                                      const struct vf_decomposing *f)
{
    const int is_last = f->h < R(0.0);
    const REAL p = vf_eigen_sign(f) * f->p;
    const REAL value = FMA(p, f->root, f->q), middle = FMA(R(-0.5) * p, f->root, f->q);
    const REAL half = R(0.5) * f->p * f->apart, larger = middle + half, smaller = middle - half;
    struct vf_eigenvalues e = {
        {is_last ? larger : value, is_last ? smaller : larger, is_last ? value : smaller}, R(0.5) * f->size};
    VF_UNROLL for (int rank = 1; rank < 3; rank++) e.value[rank] =
        vf_eigenvalue_bounded(definite, e.value[rank]);
    return e;
}

VF_DEVICE struct vf_eigenvalues vf_eigenvalues_of(enum vf_definite definite, const REAL *tensor)
{
    struct vf_decomposing f;
    vf_eigen_scale(definite, &f, tensor);
    vf_eigen_shape(&f);
    vf_eigen_discriminate(&f);
    vf_eigen_part_roots(&f);
    return vf_eigenvalues_parted(definite, &f);
}

/* Without its root, B has rank two, and its adjugate is a multiple of v v^T, of which the column with the
 * largest diagonal element is taken. */
VF_DEVICE void vf_eigen_direct(struct vf_decomposing *f)
{
    const REAL *b = f->b;
    REAL c[VF_TENSOR];
    vf_eigen_cofactors(b, c);
    f->root = vf_eigen_sign(f) * vf_largest_root(ABS(f->h));
    const REAL more = FMA(f->root, f->root, R(-1.0));
    const REAL xx = FMA(f->root, b[VF_XX], c[VF_XX] + more), yy = FMA(f->root, b[VF_YY], c[VF_YY] + more),
               zz = FMA(f->root, b[VF_ZZ], c[VF_ZZ] + more);
    const REAL xy = FMA(f->root, b[VF_XY], c[VF_XY]), xz = FMA(f->root, b[VF_XZ], c[VF_XZ]),
               yz = FMA(f->root, b[VF_YZ], c[VF_YZ]);
    const int y_first = yy > xx, z_first = zz > MAX(xx, yy);
    f->v[VF_X] = z_first ? xz : y_first ? xy : xx;
    f->v[VF_Y] = z_first ? yz : y_first ? yy : xy;
    f->v[VF_Z] = z_first ? zz : y_first ? yz : xz;
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

VF_DEVICE REAL vf_scalar_product(const REAL *a, const REAL *b)
{
    return FMA(a[VF_X], b[VF_X], FMA(a[VF_Y], b[VF_Y], a[VF_Z] * b[VF_Z]));
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

/* The other vectors are those of B in the plane across the vector that is known, where they may coincide
 * (after Eberly, A Robust Eigensolver for 3x3 Symmetric Matrices). Its trace there is minus the root. */
VF_DEVICE void vf_eigen_reduce(struct vf_decomposing *f)
{
    const REAL *b = f->b, *u = f->u;
    const REAL bu[] = {FMA(b[VF_XX], u[VF_X], FMA(b[VF_XY], u[VF_Y], b[VF_XZ] * u[VF_Z])),
                       FMA(b[VF_XY], u[VF_X], FMA(b[VF_YY], u[VF_Y], b[VF_YZ] * u[VF_Z])),
                       FMA(b[VF_XZ], u[VF_X], FMA(b[VF_YZ], u[VF_Y], b[VF_ZZ] * u[VF_Z]))};
    REAL w[3];
    vf_vector_product(f->v, u, w);
    f->d = FMA(R(2.0), vf_scalar_product(u, bu), f->root);
    f->e = R(2.0) * vf_scalar_product(w, bu);
}

VF_DEVICE void vf_eigen_part(struct vf_decomposing *f)
{
    f->apart = vf_plane_apart(f->d, f->e);
}

VF_DEVICE void vf_eigen_turn(struct vf_decomposing *f)
{
    vf_plane_turn(f->d, f->e, f->apart, &f->c, &f->s);
}

/* `rank` is 0 or 2. Not returned: four floats come back from a function, even from one that is inlined, as
 * two vectors of two by clang, which then does not vectorise the loop that they are in. */
VF_DEVICE void vf_eigenvector_turned(const struct vf_decomposing *f, int rank, struct vf_eigenvector *e)
{
    const int is_known = (f->h < R(0.0)) == (rank == 2);
    const REAL *u = f->u;
    REAL w[3];
    vf_vector_product(f->v, u, w);
    VF_UNROLL for (int axis = 0; axis < 3; axis++)
    {
        const REAL other =
            rank == 0 ? FMA(f->c, u[axis], f->s * w[axis]) : FMA(f->c, w[axis], -(f->s * u[axis]));
        e->vector[axis] = is_known ? f->v[axis] : other;
    }
    vf_make_unit(e->vector);
    e->spread = R(0.25) * f->p * FMA(R(3.0), ABS(f->root), f->apart) * f->size;
}

VF_DEVICE void vf_eigenvector_of(const REAL *tensor, int rank, struct vf_eigenvector *e)
{
    struct vf_decomposing f;
    vf_eigen_scale(VF_SEMIDEFINITE, &f, tensor);
    vf_eigen_shape(&f);
    vf_eigen_direct(&f);
    vf_eigen_unit(&f);
    vf_eigen_across(&f);
    vf_eigen_reduce(&f);
    vf_eigen_part(&f);
    vf_eigen_turn(&f);
    vf_eigenvector_turned(&f, rank, e);
}
#else
/* Scaled as in 3D: the trace, and the tensor (sum + d, e; e, sum - d) / 2 in units of size / 2. */
struct vf_decomposing {
    REAL size, sum, d, e;
};

VF_DEVICE void vf_eigen_scale(enum vf_definite definite, struct vf_decomposing *f, const REAL *tensor)
{
    f->size = vf_tensor_size(vf_tensor_most(definite, tensor));
    const REAL scale = vf_tensor_scale(f->size);
    const REAL xx = tensor[VF_XX] * scale, yy = tensor[VF_YY] * scale, xy = tensor[VF_XY] * scale;
    f->sum = xx + yy;
    f->d = xx - yy;
    f->e = xy + xy;
}

VF_DEVICE struct vf_eigenvalues vf_eigenvalues_of(enum vf_definite definite, const REAL *tensor)
{
    struct vf_decomposing f;
    vf_eigen_scale(definite, &f, tensor);
    const REAL apart = vf_plane_apart(f.d, f.e), least = f.sum - apart;
    const struct vf_eigenvalues e = {{f.sum + apart, vf_eigenvalue_bounded(definite, least)},
                                     R(0.25) * f.size};
    return e;
}

/* `rank` is 0 or 1. */
VF_DEVICE void vf_eigenvector_of(const REAL *tensor, int rank, struct vf_eigenvector *e)
{
    struct vf_decomposing f;
    vf_eigen_scale(VF_SEMIDEFINITE, &f, tensor);
    const REAL apart = vf_plane_apart(f.d, f.e);
    REAL c, s;
    vf_plane_turn(f.d, f.e, apart, &c, &s);
    e->vector[VF_X] = rank == 0 ? c : -s;
    e->vector[VF_Y] = rank == 0 ? s : c;
    e->spread = R(0.5) * apart * f.size;
    vf_make_unit(e->vector);
}
#endif

#endif
