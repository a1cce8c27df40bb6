/* Chains on the device, whole: the plan's choice and the safe scheme give the reference's bits. */
#include <criterion/criterion.h>

#include "device.h"

static const char *const safe[] = {"global-read", NULL};
static const char *const planned[] = {"", NULL};

Test(cuda_run, one_filter_after_another)
{
    static const char *const chains[] = {
        "gaussian",
        "gradient",
        "structure-tensor:output=coherence",
        "perona-malik:iterations=3",
        "eed:iterations=2",
        "and:iterations=1",
        "gaussian,gradient:output=components",
    };
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct pipeline p = {
            .chain = chains[i], .nx = 37, .ny = 18, .nz = 9, .type = VF_F32, .result_type = VF_F32};
        device_check(&p, cuda, safe);
        device_check(&p, cuda, planned);
    }
    vf_cuda_close(cuda);
}

/* NaNs of any bits come out as one. */
Test(cuda_run, nan)
{
    static const char *const chains[] = {"gaussian:sigma=2", "structure-tensor:rho=1:output=coherence",
                                         "perona-malik:iterations=3:k=20", "gaussian,gradient"};
    struct vf_cuda *cuda = device_open();
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        const struct pipeline p = {.chain = chains[i],
                                   .nx = 37,
                                   .ny = 18,
                                   .nz = 9,
                                   .type = VF_F32,
                                   .has_nans = true,
                                   .result_type = VF_F32};
        device_check(&p, cuda, safe);
        device_check(&p, cuda, planned);
    }
    vf_cuda_close(cuda);
}
