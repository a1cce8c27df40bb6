/* The CUDA driver and the run-time compiler, opened at run time: volfilter links neither. The declarations
 * are our own, of the few functions that are used, so that a build needs no CUDA toolkit; names, types and
 * values are those of NVIDIA's cuda.h and nvrtc.h (CUDA 11.2 and later). */
#ifndef VF_CUDA_DRIVER_H
#define VF_CUDA_DRIVER_H

#include <stddef.h>

#include "error.h"

/* ---- cuda.h ---- */

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NOT_READY = 600,
};

enum {
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13, /* kHz */
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,       /* kHz */
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37, /* bits */
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
    CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
    CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
};

enum {
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DEFAULT = 0, CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

typedef struct {
    size_t srcXInBytes, srcY;
    unsigned int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    unsigned int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

enum { CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

typedef struct {
    int id;
    char pad[4];
    union {
        char pad[64];
        int programmaticStreamSerializationAllowed;
    } value;
} CUlaunchAttribute;

typedef struct {
    unsigned int gridDimX, gridDimY, gridDimZ;
    unsigned int blockDimX, blockDimY, blockDimZ;
    unsigned int sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned int numAttrs;
} CUlaunchConfig;

/* ---- nvrtc.h ---- */

typedef int nvrtcResult;
typedef struct _nvrtcProgram *nvrtcProgram;

enum { NVRTC_SUCCESS = 0 };

/* ---- the functions ---- */

/* F(name, exported name, parameters): the exported name carries the version that is meant. */
#define VF_CUDA_FUNCTIONS(F)                                                                                 \
    F(cuInit, cuInit, (unsigned int flags))                                                                  \
    F(cuDriverGetVersion, cuDriverGetVersion, (int *version))                                                \
    F(cuGetErrorString, cuGetErrorString, (CUresult result, const char **text))                              \
    F(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                                      \
    F(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                            \
    F(cuDeviceGetName, cuDeviceGetName, (char *name, int room, CUdevice device))                             \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))              \
    F(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                              \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))            \
    F(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                            \
    F(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context))                                                 \
    F(cuCtxSynchronize, cuCtxSynchronize, (void))                                                            \
    F(cuMemGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                        \
    F(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                                      \
    F(cuMemFree, cuMemFree_v2, (CUdeviceptr pointer))                                                        \
    F(cuMemHostAlloc, cuMemHostAlloc, (void **pointer, size_t bytes, unsigned int flags))                    \
    F(cuMemFreeHost, cuMemFreeHost, (void *pointer))                                                         \
    F(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream s)) \
    F(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream s))       \
    F(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream))                     \
    F(cuMemsetD8Async, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream s))     \
    F(cuMemsetD2D8Async, cuMemsetD2D8Async,                                                                  \
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream))     \
    F(cuStreamCreate, cuStreamCreate, (CUstream * stream, unsigned int flags))                               \
    F(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream))                                                \
    F(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))                                           \
    F(cuEventCreate, cuEventCreate, (CUevent * event, unsigned int flags))                                   \
    F(cuEventDestroy, cuEventDestroy_v2, (CUevent event))                                                    \
    F(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))                                        \
    F(cuEventSynchronize, cuEventSynchronize, (CUevent event))                                               \
    F(cuEventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))             \
    F(cuModuleLoadData, cuModuleLoadData, (CUmodule * module, const void *image))                            \
    F(cuModuleUnload, cuModuleUnload, (CUmodule module))                                                     \
    F(cuModuleGetFunction, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))  \
    F(cuFuncGetAttribute, cuFuncGetAttribute, (int *value, int attribute, CUfunction function))              \
    F(cuFuncSetAttribute, cuFuncSetAttribute, (CUfunction function, int attribute, int value))               \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,              \
      (int *blocks, CUfunction function, int threads, size_t shared_bytes))                                  \
    F(cuLaunchKernel, cuLaunchKernel,                                                                        \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,                   \
       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,          \
       CUstream stream, void **params, void **extra))

/* NULL where the driver is older (CUDA 11.8). */
#define VF_CUDA_LATER_FUNCTIONS(F)        \
    F(cuLaunchKernelEx, cuLaunchKernelEx, \
      (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))

#define VF_NVRTC_FUNCTIONS(F)                                                                 \
    F(nvrtcVersion, nvrtcVersion, (int *major, int *minor))                                   \
    F(nvrtcCreateProgram, nvrtcCreateProgram,                                                 \
      (nvrtcProgram * program, const char *source, const char *name, int header_count,        \
       const char *const *headers, const char *const *include_names))                         \
    F(nvrtcDestroyProgram, nvrtcDestroyProgram, (nvrtcProgram * program))                     \
    F(nvrtcCompileProgram, nvrtcCompileProgram,                                               \
      (nvrtcProgram program, int option_count, const char *const *options))                   \
    F(nvrtcGetCUBINSize, nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))           \
    F(nvrtcGetCUBIN, nvrtcGetCUBIN, (nvrtcProgram program, char *cubin))                      \
    F(nvrtcGetPTXSize, nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))               \
    F(nvrtcGetPTX, nvrtcGetPTX, (nvrtcProgram program, char *ptx))                            \
    F(nvrtcGetProgramLogSize, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes)) \
    F(nvrtcGetProgramLog, nvrtcGetProgramLog, (nvrtcProgram program, char *log))

#define VF_CUDA_MEMBER(name, exported, parameters) CUresult(*name) parameters;
#define VF_NVRTC_MEMBER(name, exported, parameters) nvrtcResult(*name) parameters;

struct vf_cuda_api {
    VF_CUDA_FUNCTIONS(VF_CUDA_MEMBER)
    VF_CUDA_LATER_FUNCTIONS(VF_CUDA_MEMBER)
    void *library; /* as dlopen gave it */
};

struct vf_nvrtc_api {
    VF_NVRTC_FUNCTIONS(VF_NVRTC_MEMBER)
    void *library;
};

/* Open libcuda.so.1 and find its functions. VF_FAILED with a message that says what is missing and what to
 * install; nothing is held then. */
enum vf_status vf_cuda_api_open(struct vf_cuda_api *api, struct vf_error *error);
void vf_cuda_api_close(struct vf_cuda_api *api);

/* The same of libnvrtc: by its versioned names through the loader, then in $CUDA_HOME/lib64 and
 * /usr/local/cuda/lib64. */
enum vf_status vf_nvrtc_api_open(struct vf_nvrtc_api *api, struct vf_error *error);
void vf_nvrtc_api_close(struct vf_nvrtc_api *api);

/* VF_OK for CUDA_SUCCESS; else VF_DEVICE and a message: "what: the driver's text (error N)". So it is out of
 * device memory too; who must tell that apart looks at `result`. */
enum vf_status vf_cuda_check(const struct vf_cuda_api *api, CUresult result, const char *what,
                             struct vf_error *error);

#endif
