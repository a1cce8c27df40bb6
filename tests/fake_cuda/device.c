/* The devices and their contexts. */
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

struct device fake_devices[MOST_DEVICES];
__thread struct device *fake_current;

/* An H200's. */
static const struct {
    int attribute, value;
} attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {MAX_BLOCK_DIM_X, 1024},
    {MAX_BLOCK_DIM_X + 1, 1024},
    {MAX_BLOCK_DIM_X + 2, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
    {MAX_GRID_DIM_Y, 65535},
    {MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SHARED_WITHOUT_ASKING},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, FAKE_CUDA_WARP},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 3201000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 6144},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 60 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
};

static int device_count(void)
{
    const long long count = fake_setting("FAKE_CUDA_DEVICES", 1);
    return count < 0 ? 0 : count > MOST_DEVICES ? MOST_DEVICES : (int)count;
}

size_t fake_memory_of_device(void)
{
    return (size_t)fake_setting("FAKE_CUDA_MEMORY", 8ll << 30);
}

static bool attribute_of_environment(int attribute, int *value)
{
    for (const char *rest = getenv("FAKE_CUDA_ATTRIBUTES"); rest && *rest;) {
        int number, setting, length = 0;
        if (sscanf(rest, "%d=%d%n", &number, &setting, &length) != 2)
            break;
        if (number == attribute) {
            *value = setting;
            return true;
        }
        rest += length + (rest[length] == ',');
    }
    return false;
}

static bool find_attribute(int attribute, int *value)
{
    const int capability = (int)fake_setting("FAKE_CUDA_CAPABILITY", 90);
    if (attribute_of_environment(attribute, value))
        return true;
    if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ||
        attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
        *value =
            attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability / 10 : capability % 10;
        return true;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
            return true;
        }
    return false;
}

unsigned int fake_limit(int attribute)
{
    int value = 0;
    find_attribute(attribute, &value);
    return (unsigned int)value;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER(INVALID_DEVICE, DRIVER);
    *count = device_count();
    return CUDA_SUCCESS;
}

static bool is_device(CUdevice device)
{
    return device >= 0 && device < device_count();
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER(INVALID_DEVICE, DRIVER);
    *device = ordinal;
    return is_device(ordinal) ? CUDA_SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    ENTER(INVALID_DEVICE, DRIVER);
    snprintf(name, (size_t)room, "Fake GPU");
    return is_device(device) ? CUDA_SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    ENTER(INVALID_DEVICE, DRIVER);
    if (!is_device(device))
        return INVALID_DEVICE;
    return find_attribute(attribute, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER(INVALID_DEVICE, DRIVER);
    *bytes = fake_memory_of_device();
    return is_device(device) ? CUDA_SUCCESS : INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    ENTER(CUDA_ERROR_OUT_OF_MEMORY, DRIVER);
    if (!is_device(device))
        return INVALID_DEVICE;
    fake_devices[device].retained++;
    *context = (CUcontext)&fake_devices[device];
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    ENTER(FAKE_NEVER_FAILS, DRIVER);
    if (!is_device(device))
        return INVALID_DEVICE;
    if (fake_devices[device].retained == 0)
        return INVALID_CONTEXT;
    fake_devices[device].retained--;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    ENTER(INVALID_CONTEXT, DRIVER);
    struct device *const device = (struct device *)context;
    if (device && (device < fake_devices || device >= fake_devices + MOST_DEVICES || device->retained == 0))
        return INVALID_CONTEXT;
    fake_current = device;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    fake_finish_all();
    return CUDA_SUCCESS;
}
