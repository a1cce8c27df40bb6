/* The device of the tests: the fake one, or, under make test-gpu, the machine's own. */
#ifndef VF_TESTS_DEVICE_H
#define VF_TESTS_DEVICE_H

#include <stdio.h>

#include "../pipeline.h"
#include "cuda_device.h"

/* Opens it, strict: what it fails at fails the test. Aborts the test when there is none. */
struct vf_cuda *device_open(void);

/* Whether a case is run: CUDA_TESTS_SHARE=N takes one in N, the same ones each time, and each test's first
 * one, but under sanitizers, by which a kernel takes seconds to compile. `scheme`, `what` and `number` tell
 * cases apart that need kernels of their own. */
bool device_takes(const char *scheme, const char *what, unsigned number);

/* Runs the chain on the device with each of `scheme` (NULL-terminated; an entry may be "": the plan's choice)
 * and compares every bit with the CPU's reference. */
void device_check(const struct pipeline *p, struct vf_cuda *cuda, const char *const *scheme);

/* The next call of a FAKE_CUDA_LOG: its number, 0 if it is not counted, and its name. False at the end. */
bool next_call(FILE *log, int *number, char name[64]);

#endif
