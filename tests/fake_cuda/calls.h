/* Counts the calls of the driver and of NVRTC, writes them down, and makes one of them fail. From the
 * environment:
 *   FAKE_CUDA_FAIL=N          the N-th counted call fails
 *   FAKE_CUDA_FAIL_WITH=CODE  with this error instead of the one that is likely for it
 *   FAKE_CUDA_STAYS=1         and so do all counted calls after it, as those of a device that is lost
 *   FAKE_CUDA_LOG=FILE        a line for each call: its number, or - when it is not counted, and its name
 * What frees, and cuGetErrorString, is not counted and never made to fail. */
#ifndef FAKE_CUDA_CALLS_H
#define FAKE_CUDA_CALLS_H

enum { FAKE_NEVER_FAILS = -1 };

/* Called by every function with its name: 0, or the error to return: `likely`, unless another is asked for.
 */
int fake_call(const char *name, int likely);

/* How many were counted so far. */
int fake_calls(void);

/* A number of the environment, or `otherwise`. */
long long fake_setting(const char *name, long long otherwise);

#endif
