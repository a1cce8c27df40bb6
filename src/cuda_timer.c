#include "cuda_timer.h"

#include <stdlib.h>

/* A sample lasts at least this long: events count in half microseconds. */
#define SAMPLE_SECONDS 4e-4
#define MOST_INNER 256

#define TRY_CUDA(call) VF_TRY(vf_cuda_check(&timer->cuda->api, timer->cuda->api.call, #call, error))

struct timer {
    const struct vf_cuda *cuda;
    CUstream stream;
    CUevent begin, end;
    const struct vf_cuda_work *work;
    int turn;
};

/* Seconds of one of `inner` calls. */
static enum vf_status sample(struct timer *timer, int inner, double *seconds, struct vf_error *error)
{
    float milliseconds;
    enum vf_status status;
    TRY_CUDA(cuEventRecord(timer->begin, timer->stream));
    for (int i = 0; i < inner; i++)
        VF_TRY(timer->work->start(timer->work->context, timer->turn++, error));
    TRY_CUDA(cuEventRecord(timer->end, timer->stream));
    TRY_CUDA(cuEventSynchronize(timer->end));
    TRY_CUDA(cuEventElapsedTime(&milliseconds, timer->begin, timer->end));
    *seconds = 1e-3 * (double)milliseconds / inner;
out:
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, compare);
    return count % 2 != 0 ? value[count / 2] : 0.5 * (value[count / 2 - 1] + value[count / 2]);
}

static enum vf_status take_samples(struct timer *timer, int samples, double *seconds, struct vf_error *error)
{
    double sampled[VF_CUDA_MOST_SAMPLES], once;
    int inner = 1;
    enum vf_status status;
    VF_TRY(sample(timer, 1, &once, error));
    VF_TRY(sample(timer, 1, &once, error));
    while (inner < MOST_INNER && inner * once < SAMPLE_SECONDS)
        inner *= 2;
    for (int i = 0; i < samples; i++)
        VF_TRY(sample(timer, inner, &sampled[i], error));
    *seconds = median(sampled, samples);
out:
    return status;
}

enum vf_status vf_cuda_time(const struct vf_cuda *cuda, CUstream stream, const struct vf_cuda_work *work,
                            int samples, double *seconds, struct vf_error *error)
{
    struct timer state = {.cuda = cuda, .stream = stream, .work = work}, *timer = &state;
    enum vf_status status;
    TRY_CUDA(cuEventCreate(&timer->begin, CU_EVENT_DEFAULT));
    TRY_CUDA(cuEventCreate(&timer->end, CU_EVENT_DEFAULT));
    VF_TRY(take_samples(timer, samples, seconds, error));
out:
    if (timer->begin != NULL)
        cuda->api.cuEventDestroy(timer->begin);
    if (timer->end != NULL)
        cuda->api.cuEventDestroy(timer->end);
    return status;
}
