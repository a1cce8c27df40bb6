/* A diffusion tensor D = a I + b w w^T by w, of length 1 or 0, in outputs VF_X.., and b in output VF_ALONG,
 * from which a follows (diffusion_tensor.h): fewer fields than D has. */
#ifndef VF_DIRECTION_H
#define VF_DIRECTION_H
#define VF_ALONG DIM
#endif
