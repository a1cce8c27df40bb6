/* The device that bench-gpu measures, with random arrays on it, copies, and times by the device's clock. */
#ifndef VF_BENCH_GPU_DEVICE_H
#define VF_BENCH_GPU_DEVICE_H

#include "bench_case.h"
#include "cuda_sweep.h"
#include "cuda_timer.h"

struct bench_device {
    struct vf_cuda *cuda;
    int repeats;   /* how many samples are timed */
    unsigned seed; /* of this run's inputs */
    struct bench_copied {
        size_t bytes;
        double seconds;
    } copied[32]; /* copies that have been measured */
    int copied_count;
};

/* Ends the program with a message that names `what`, unless `result` is CUDA_SUCCESS. */
void bench_must_cuda(const struct bench_device *device, CUresult result, const char *what);

void bench_device_open(struct bench_device *device, int repeats);
void bench_device_close(struct bench_device *device);

/* Bytes of an array of the grid, with the padding of its rows. */
size_t bench_array_bytes(struct bench_grid grid, enum vf_type type);
CUdeviceptr bench_array_alloc(struct bench_device *device, size_t bytes);
void bench_array_free(struct bench_device *device, CUdeviceptr array);

/* What a random array holds: values from low to high, which depend on the run's seed and the array's number.
 */
struct bench_random {
    unsigned seed;
    enum vf_type type;
    double low, high;
};
struct bench_random bench_random_of(const struct bench_device *device, int number, enum vf_type type,
                                    double low, double high);

/* The value at a cell; the same on the host and on the device. */
double bench_random_value(const struct bench_random *random, unsigned cell);

/* Fills an array. The padding between its rows is filled with NaN if it is `poisoned`, which makes some
 * bodies slow; else with 0, as for a file. */
void bench_array_fill(struct bench_device *device, CUdeviceptr array, struct bench_grid grid, bool poisoned,
                      const struct bench_random *random);
/* Fills an array with bytes that no result is likely to have. */
void bench_array_poison(struct bench_device *device, CUdeviceptr array, size_t bytes);

/* The median of the seconds that one call takes, by vf_cuda_time. */
double bench_time(const struct bench_device *device, CUstream stream, const struct vf_cuda_work *work);

/* Seconds of a copy by float4 from one array of so many bytes to another, if neither is in L2. */
double bench_device_copy(struct bench_device *device, size_t bytes);

/* How many sets of arrays, of `bytes` in all each, must take turns so that none is still in L2; no more than
 * BENCH_MOST_TURNS. */
#define BENCH_MOST_TURNS 8
int bench_turns(const struct bench_device *device, size_t bytes);

#endif
