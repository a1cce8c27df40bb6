/* The vocabulary of stencil bodies: the common subset of C and CUDA C++ that filters/stencils/ is written in.
 *
 * A scheme that compiles bodies defines, before it includes them:
 *   REAL, REAL_BITS          the compute type and its width, 32 or 64
 *   VF_WHOLE_NUMBERS         optional, 1: REAL is an integer type, of 8 or 16 bits. Bodies that only put
 *                            values in order may be compiled so, by LESSER and GREATER, without heed of NaN
 *   DIM                      2 or 3
 *   VF_STENCIL(name)         the head of the function that computes one voxel
 *   AT(k, dz, dy, dx)        input k at an offset (2D: dz = 0); constant arguments
 *   PUT(k, value)            output k
 *   PARAM(i)                 the stage's parameter i
 *   OPEN_LO(axis), OPEN_HI(axis)   whether flux may cross the lower, upper face along VF_X, VF_Y or VF_Z
 *   LOWER_FACE(axis, upper, lower)   optional: what belongs to the voxel's lower face along an axis. `lower`
 *                            computes it, and is what the voxel before has as `upper`, where a scheme that
 *                            computes voxels one after another may have it from; once a body and axis
 *   UPPER_FACE(axis, upper)  optional: what belongs to the upper face, which a scheme may have computed
 *                            before; it is what goes into LOWER_FACE
 *   OF_COLUMN(k, dx, value)  optional: value k of those that the inputs at x + dx alone give, where a scheme
 *                            that computes voxels along x may have it from; each once a body
 *   EIGENVALUES(definite, tensor), EIGENVECTOR(tensor, rank)   optional: vf_eigenvalues_of,
 *                            vf_eigenvector_of; one of them, once a body
 *   SHORT_WAY, DOUBT(value), VF_NEAR_RECIPROCAL(x), VF_NEAR_INVERSE_ROOT(x)   optional: stencil_quotient.h
 *   SQRT(x)                  optional, of floats: the root, rounded to nearest
 *   ROOT_OF_STEPS(squares)   optional: SQRT of a sum of squares, each of two inputs' difference times one of
 *                            the first DIM parameters, which is 0 where an image is flat and never tiny else
 *                            where inputs are whole numbers
 *   VF_DEVICE                what functions that bodies call are declared with
 *   VF_UNROLL                optional: asks the compiler to unroll the short loop that follows it
 *
 * Arithmetic is part of a filter's definition. Bodies use + - x / and FMA, SQRT, ABS, comparisons, LESSER,
 * GREATER and the functions of stencil_math.h only, each rounded once as IEEE 754 says; selections are
 * written with ?:, never branches, so that every lane does the same. What divides much may do it by
 * stencil_quotient.h, the same bits. No compiler may contract or reassociate them. */
#ifndef VF_STENCIL_H
#define VF_STENCIL_H

enum { VF_X, VF_Y, VF_Z };

/* Components of a symmetric tensor, in the order of results: 3D xx xy xz yy yz zz, 2D xx xy yy. */
#if DIM == 3
enum { VF_XX, VF_XY, VF_XZ, VF_YY, VF_YZ, VF_ZZ, VF_TENSOR };
#else
enum { VF_XX, VF_XY, VF_YY, VF_TENSOR };
#endif

#ifndef VF_UNROLL
#ifdef __clang__ /* which passes GCC's over: a loop that is left in a body keeps it from being vectorised */
#define VF_UNROLL _Pragma("unroll")
#else
#define VF_UNROLL _Pragma("GCC unroll 32")
#endif
#endif

/* NVRTC has no builtins by GCC's names. */
#ifdef __CUDACC_RTC__
#define VF_REAL_FUNCTION(name) name
#else
#define VF_REAL_FUNCTION(name) __builtin_##name
#endif

#ifndef UPPER_FACE
#define UPPER_FACE(axis, upper) (upper)
#endif

#ifndef SHORT_WAY
#define SHORT_WAY 0
#define DOUBT(value) ((void)(value))
#endif

#ifndef LOWER_FACE
#define LOWER_FACE(axis, upper, lower) (lower)
#endif

#ifndef OF_COLUMN
#define OF_COLUMN(k, dx, value) (value)
#endif

#ifndef EIGENVALUES
#define EIGENVALUES(definite, tensor) vf_eigenvalues_of(definite, tensor)
#define EIGENVECTOR(tensor, rank) vf_eigenvector_of(tensor, rank)
#endif

#ifndef VF_WHOLE_NUMBERS
#define VF_WHOLE_NUMBERS 0
#endif

#define R(literal) ((REAL)(literal))

#if VF_WHOLE_NUMBERS
/* No functions of numbers. */
#elif REAL_BITS == 64
typedef unsigned long long vf_bits;
#define FMA(a, b, c) VF_REAL_FUNCTION(fma)(a, b, c)
#define VF_ROOT(a) VF_REAL_FUNCTION(sqrt)(a)
#define ABS(a) VF_REAL_FUNCTION(fabs)(a)
#define VF_MANTISSA 52
#define VF_EXPONENT_BIAS 1023
#define VF_SMALLEST_NORMAL 0x1p-1022
#else
typedef unsigned int vf_bits;
#define FMA(a, b, c) VF_REAL_FUNCTION(fmaf)(a, b, c)
#define VF_ROOT(a) VF_REAL_FUNCTION(sqrtf)(a)
#define ABS(a) VF_REAL_FUNCTION(fabsf)(a)
#define VF_MANTISSA 23
#define VF_EXPONENT_BIAS 127
#define VF_SMALLEST_NORMAL 0x1p-126f
#endif

#ifndef SQRT
#define SQRT(a) VF_ROOT(a)
#endif

#ifndef ROOT_OF_STEPS
#define ROOT_OF_STEPS(squares) SQRT(squares)
#endif

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

/* The lesser and the greater of two numbers; either where they are equal, zeros of both signs too, or one is
 * NaN. One instruction each: of a comparison and a choice on x86, of C's functions on ARM and, for floats, on
 * a GPU, which has none for doubles. */
#if defined(__aarch64__) && !defined(__cplusplus) && !VF_WHOLE_NUMBERS
#define LESSER(a, b) _Generic(a, float : __builtin_fminf, double : __builtin_fmin)(a, b)
#define GREATER(a, b) _Generic(a, float : __builtin_fmaxf, double : __builtin_fmax)(a, b)
#elif defined(__CUDACC_RTC__) && REAL_BITS == 32
#define LESSER(a, b) fminf(a, b)
#define GREATER(a, b) fmaxf(a, b)
#else
#define LESSER(a, b) MIN(a, b)
#define GREATER(a, b) MAX(a, b)
#endif

#if !VF_WHOLE_NUMBERS
#include "kernels/stencil_math.h"
#include "kernels/stencil_quotient.h"
#include "kernels/stencil_eigen.h"
#endif

#endif
