/* The device that bench-gpu measures: random arrays on it, copies, and times by its own clock. */
#ifndef VF_BENCH_GPU_DEVICE_H
#define VF_BENCH_GPU_DEVICE_H

#include "bench_case.h"
#include "cuda_sweep.h"
#include "cuda_timer.h"

struct bench_device {
    struct vf_cuda *cuda;
    int repeats;   /* timed samples */
    unsigned seed; /* of this run's inputs */
    struct bench_copied {
        size_t bytes;
        double seconds;
    } copied[32]; /* copies measured before */
    int copied_count;
};

/* Whatever goes wrong ends the program, with the message. */
void bench_must_cuda(const struct bench_device *device, CUresult result, const char *what);

void bench_device_open(struct bench_device *device, int repeats);
void bench_device_close(struct bench_device *device);

/* Bytes of an array of the grid, its rows' padding included. */
size_t bench_array_bytes(struct bench_grid grid, enum vf_type type);
CUdeviceptr bench_array_alloc(struct bench_device *device, size_t bytes);
void bench_array_free(struct bench_device *device, CUdeviceptr array);

/* What random arrays hold: array `number` of this run, values from low to high. */
struct bench_random {
    unsigned seed;
    enum vf_type type;
    double low, high;
};
struct bench_random bench_random_of(const struct bench_device *device, int number, enum vf_type type,
                                    double low, double high);

/* The value at a cell, the same on the host as on the device. */
double bench_random_value(const struct bench_random *random, unsigned cell);

/* Fills an array; what is between its rows reads as NaN. */
void bench_array_fill(struct bench_device *device, CUdeviceptr array, struct bench_grid grid,
                      const struct bench_random *random);
/* Fills every byte with what no result is likely to be. */
void bench_array_poison(struct bench_device *device, CUdeviceptr array, size_t bytes);

/* Median seconds of one call, as vf_cuda_time. */
double bench_time(const struct bench_device *device, CUstream stream, const struct vf_cuda_work *work);

/* Seconds of a float4 copy from one array of that many bytes to another, neither of them left in L2. */
double bench_device_copy(struct bench_device *device, size_t bytes);

/* Arrays of `bytes` that must take turns so that none is found in L2. */
int bench_turns(const struct bench_device *device, size_t bytes);

#endif
