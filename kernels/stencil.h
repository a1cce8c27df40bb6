/* The vocabulary of stencil bodies: the common subset of C and CUDA C++ that filters/stencils/ is written in.
 *
 * A scheme that compiles bodies defines, before it includes them:
 *   REAL, REAL_BITS          the compute type and its width, 32 or 64
 *   VF_WHOLE_NUMBERS         optional, 1: REAL is an integer type of 8 or 16 bits, or a word of two, without
 *                            NaN. Only bodies that do no arithmetic are compiled so: the medians, by LESSER
 *                            and GREATER, which such a scheme may define itself
 *   DIM                      2 or 3
 *   VF_STENCIL(name)         the head of the function that computes one voxel
 *   AT(k, dz, dy, dx)        input k at an offset (2D: dz = 0); constant arguments
 *   PUT(k, value)            output k
 *   PARAM(i)                 the stage's parameter i
 *   OPEN_LO(axis), OPEN_HI(axis)   whether flux may cross the lower, upper face along VF_X, VF_Y or VF_Z
 *   VF_DEVICE                what functions that bodies call are declared with
 *   VF_UNROLL                optional: asks the compiler to unroll the short loop that follows it
 * and optionally, so that what voxels have in common is computed once:
 *   LOWER_FACE(axis, upper, lower)   a value that belongs to the voxel's lower face along an axis, which
 *                            `lower` computes. `upper` is the value of the upper face, which is the lower one
 *                            of the next voxel: a scheme that goes along the axis keeps it, and need not
 *                            compute `lower` there. Once for each axis in a body
 *   UPPER_FACE(axis, upper)  the value of the upper face, for LOWER_FACE, which `upper` computes
 *   OF_COLUMN(k, dx, value)  value number k < VF_MOST_OF_COLUMN (kernels/cpu_rows.h), which `value` computes
 *                            from inputs at x + dx only, and through which alone a body reads other
 *                            columns than its own: a scheme may have it from another voxel. Each once in a
 *                            body
 *   IN_STEP(step, k, value)  value number k < VF_MOST_IN_STEPS (kernels/cpu_rows.h), which `value` computes
 *                            from inputs, and from values of step number `step` and those before it. Of the
 *                            steps, 0 and 1, a scheme may take each for many voxels ahead of the rest
 *   EIGENVALUES(definite, tensor), EIGENVECTOR(tensor, rank, e)   vf_eigenvalues_of, vf_eigenvector_of;
 *                            at most one of them in a body, once
 *   SHORT_WAY, DOUBT(value), VF_NEAR_RECIPROCAL(x), VF_NEAR_INVERSE_ROOT(x)   see stencil_quotient.h
 *   SQRT(x)                  the root of a float, rounded to nearest
 *   ROOT_OF_STEPS(squares)   SQRT of a sum of squares, each of a difference of two inputs times one of the
 *                            first DIM parameters: of whole numbers it is 0 or far from underflow
 *
 * This file defines
 *   R(0.5)                   a constant of the compute type: without it, the sum that it is in is a double's
 *   VF_X, VF_Y, VF_Z         the axes
 *   VF_XX, VF_XY ... VF_TENSOR   a symmetric tensor's components, and how many there are
 *
 * Arithmetic is part of a filter's definition. Bodies use + - x / and FMA, SQRT, ABS, comparisons, MIN, MAX,
 * LESSER, GREATER and the functions of stencil_math.h only, each rounded once as IEEE 754 says; no compiler
 * may contract or reassociate them. A sum of products is a chain of FMA that starts with a product, in the
 * order z, y, x. What divides much may do it by stencil_quotient.h, the same bits. Choices
 * are written with ?:, never with branches, so that all lanes of a vector do the same. MIN and MAX give their
 * second operand where either is a NaN: the one that may be a NaN stands there, as in MAX(limit, value).
 *
 * All bodies are compiled in one file: what a header defines beside its body has a name of its own there, and
 * a header that several bodies include has a guard. */
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

#ifndef IN_STEP
#define IN_STEP(step, k, value) (value)
#endif

#ifndef EIGENVALUES
#define EIGENVALUES(definite, tensor) vf_eigenvalues_of(definite, tensor)
#define EIGENVECTOR(tensor, rank, e) vf_eigenvector_of(tensor, rank, e)
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

/* The lesser and the greater of two numbers. If they are equal, as 0 and -0 are, or one is a NaN, it depends
 * on the processor which of them comes out: a body that uses these makes its result independent of that, as
 * the medians do. Each is one instruction: on x86 a comparison and a choice become it, on ARM and, for
 * floats, on a GPU C's functions; a GPU has none for doubles. */
#ifdef LESSER
/* The scheme's own. */
#elif defined(__aarch64__) && !defined(__cplusplus) && !VF_WHOLE_NUMBERS
#define LESSER(a, b) _Generic(a, float : __builtin_fminf, double : __builtin_fmin)(a, b)
#define GREATER(a, b) _Generic(a, float : __builtin_fmaxf, double : __builtin_fmax)(a, b)
#elif defined(__clang__) && VF_WHOLE_NUMBERS /* which would compute a choice of 8 or 16 bits in 32 */
#define LESSER(a, b) __builtin_elementwise_min(a, b)
#define GREATER(a, b) __builtin_elementwise_max(a, b)
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
