/* The parameters that several filters share, some each with its own default. */
#ifndef VF_SHARED_PARAMS_H
#define VF_SHARED_PARAMS_H

#include "filters/filter.h"

/* In voxels. */
#define VF_MOST_WIDTH 1000

/* What other programs call the width of a Gaussian. */
#define VF_WORDS_OF_SIGMA "radius|std|stddev|sd|width"
/* And the radius of a box, though their sizes are 2r + 1. */
#define VF_WORDS_OF_RADIUS "size|r|ksize|kernelsize|footprint"
/* The width of a Gaussian: with its unit, its name, words for it elsewhere, and its help. */
#define VF_PARAM_WIDTH_IN(measure, called, words, value, text)                            \
    {                                                                                     \
        .name = called, .kind = VF_PARAM_LENGTHS, .initial = value, .max = VF_MOST_WIDTH, \
        .least = VF_LEAST_SIGMA, .unit = measure, .help = text, .known_as = words         \
    }
#define VF_ONE_OR_EACH "one value for all axes or one each for x, y and z"
#define VF_PARAM_WIDTH(called, words, value, text) VF_PARAM_WIDTH_IN("voxels", called, words, value, text)
/* The width of the Gaussian of filters that use tensors. */
#define VF_PARAM_SIGMA(value)                                                                               \
    VF_PARAM_WIDTH_IN("x-voxels", "sigma", VF_WORDS_OF_SIGMA, value,                                        \
                      "standard deviation of the Gaussian applied before the derivatives; a single number " \
                      "is in x-voxels (widths of a voxel along x), three numbers are each in voxels of "    \
                      "their own axis")
/* `note`: more of its help. Where it must smooth (vf_must_smooth_tensor) that is VF_RHO_NEEDED. */
#define VF_RHO_NEEDED "; must be at least " VF_LEAST_SIGMA_TEXT " voxels along some axis"
#define VF_PARAM_RHO(value, note)                                                                           \
    VF_PARAM_WIDTH_IN("x-voxels", "rho", NULL, value,                                                       \
                      "standard deviation of the Gaussian that averages the structure tensor: the size of " \
                      "the neighbourhood it describes" note)
/* `of`: what its percentiles are of. */
#define VF_PARAM_K(of)                                                                          \
    {                                                                                           \
        .name = "k", .kind = VF_PARAM_THRESHOLD, .initial = "auto", .max = VF_UNBOUNDED,        \
        .unit = "intensity per x-voxel", .choices = "auto|pN|Nsd",                              \
        .known_as = "kappa|threshold|contrast|lambda",                                          \
        .help = "edge threshold: larger gradients are treated as edges; percentiles are of " of \
                ", standard deviations of u (the filter's input); auto is p90"                  \
    }
#define VF_PARAM_ALPHA                                                                             \
    {                                                                                              \
        .name = "alpha", .kind = VF_PARAM_NUMBER, .initial = "0.001", .max = 1,                    \
        .help = "diffusivity across structures and where there are none; along structures it is 1" \
    }
#define VF_PARAM_C                                                                                           \
    {                                                                                                        \
        .name = "C", .kind = VF_PARAM_NUMBER, .initial = "1", .max = VF_UNBOUNDED,                           \
        .help =                                                                                              \
            "coherence threshold: the larger it is, the more coherent a structure must be to be "            \
            "smoothed along; (mu1 - mu3)^2, in 2D (mu1 - mu2)^2, of the structure tensor's eigenvalues, is " \
            "compared with C S^4, where S is the range of the input divided by 255; gold beads and hot "     \
            "pixels widen the range, so that less is smoothed: remove them, or lower C"                      \
    }
#define VF_PARAM_ITERATIONS                                                                    \
    {                                                                                          \
        .name = "iterations", .kind = VF_PARAM_COUNT, .initial = "10", .min = 1, .max = 10000, \
        .help = "number of time steps", .known_as = "n|it|iter|niter|steps|numberofiterations" \
    }
#define VF_PARAM_DT                                                                                         \
    {                                                                                                       \
        .name = "dt", .kind = VF_PARAM_THRESHOLD, .initial = "auto", .max = 0.5, .unit = "x-voxels^2",      \
        .choices = "auto", .known_as = "gamma|tau|step|timestep",                                           \
        .help = "time step, at most 1 / (2 sum 1/h^2), where h are the sides of a voxel in x-voxels; auto " \
                "is 0.9 of that"                                                                            \
    }

#endif
