/* Modules, which hold one kernel each, and launches. */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

/* The bytes of a shared object, which ends with its table of sections; 0: it is none. */
static size_t image_bytes(const void *image)
{
    Elf64_Ehdr header;
    if (!image || memcmp(image, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&header, image, sizeof header);
    return header.e_type == ET_DYN ? header.e_shoff + (size_t)header.e_shentsize * header.e_shnum : 0;
}

/* From a file of its own: the loader knows objects by their files. */
static void *load(const void *image)
{
    const size_t bytes = image_bytes(image);
    const char *const directory = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/fake-cuda-XXXXXX.so", directory && *directory ? directory : "/tmp");
    const int file = bytes > 0 ? mkstemps(path, 3) : -1;
    if (file < 0)
        return NULL;
    const bool written = write(file, image, bytes) == (ssize_t)bytes;
    void *const library = close(file) == 0 && written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        fprintf(stderr, "fake cuda: cannot load a kernel: %s\n", written ? dlerror() : path);
    if (!getenv("FAKE_CUDA_KEEP"))
        unlink(path);
    return library;
}

/* Fills the module from the kernel's exports (machine.h). */
static bool bind_kernel(struct object *module)
{
    void *const run = dlsym(module->library, "vf_cpu_run");
    const struct fake_machine **const machine = dlsym(module->library, "vf_cpu_machine");
    const unsigned long *const bytes = dlsym(module->library, "vf_cpu_argument_size");
    if (!run || !machine || !bytes)
        return false;
    *machine = &fake_machine;
    memcpy(&module->run, &run, sizeof run);
    module->argument_bytes = *bytes;
    module->most_shared = SHARED_WITHOUT_ASKING;
    return true;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER(CUDA_ERROR_INVALID_IMAGE, CONTEXT);
    struct object *const object = fake_object_add(MODULE);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    object->library = load(image);
    if (!object->library || !bind_kernel(object)) {
        if (object->library)
            dlclose(object->library);
        fake_object_remove(object);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *module = (CUmodule)object;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    ENTER(FAKE_NEVER_FAILS, CONTEXT);
    struct object *const object = fake_object_find(MODULE, module);
    if (!object)
        return INVALID_HANDLE;
    fake_finish_all();
    dlclose(object->library);
    fake_object_remove(object);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER(NOT_FOUND, CONTEXT);
    if (!fake_object_find(MODULE, module))
        return INVALID_HANDLE;
    if (strcmp(name, "vf_kernel") != 0)
        return NOT_FOUND;
    *function = (CUfunction)module;
    return CUDA_SUCCESS;
}

static int registers_of_thread(void)
{
    return (int)fake_setting("FAKE_CUDA_REGISTERS", 32);
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    const struct object *const object = fake_object_find(MODULE, function);
    if (!object)
        return INVALID_HANDLE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)fake_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = registers_of_thread();
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = object->most_shared;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    struct object *const object = fake_object_find(MODULE, function);
    if (!object)
        return INVALID_HANDLE;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        (unsigned int)value > fake_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
        return CUDA_ERROR_INVALID_VALUE;
    object->most_shared = value;
    return CUDA_SUCCESS;
}

/* Registers are given to warps by 256, shared memory has 1 KiB more for each block. */
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared_bytes)
{
    ENTER(CUDA_ERROR_INVALID_VALUE, CONTEXT);
    if (!fake_object_find(MODULE, function))
        return INVALID_HANDLE;
    if (threads <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned int warps = ((unsigned int)threads + FAKE_CUDA_WARP - 1) / FAKE_CUDA_WARP,
                       of_warp = ((unsigned int)registers_of_thread() * FAKE_CUDA_WARP + 255) / 256 * 256;
    const size_t by[] = {
        fake_limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        fake_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / (warps * FAKE_CUDA_WARP),
        fake_limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / (warps * of_warp),
        fake_limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / (shared_bytes + 1024),
    };
    *blocks = (int)by[0];
    for (size_t i = 1; i < sizeof by / sizeof *by; i++)
        *blocks = by[i] < (size_t)*blocks ? (int)by[i] : *blocks;
    return CUDA_SUCCESS;
}

static bool fits(struct fake_index size, int first_limit)
{
    return size.x >= 1 && size.y >= 1 && size.z >= 1 && size.x <= fake_limit(first_limit) &&
           size.y <= fake_limit(first_limit + 1) && size.z <= fake_limit(first_limit + 2);
}

static CUresult check_launch(const struct object *kernel, const struct fake_launch *launch)
{
    const struct fake_index block = launch->block;
    if (!fits(launch->grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) || !fits(block, MAX_BLOCK_DIM_X) ||
        (unsigned long long)block.x * block.y * block.z >
            fake_limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
        launch->shared_bytes > (size_t)kernel->most_shared)
        return CUDA_ERROR_INVALID_VALUE;
    const unsigned int registers = block.x * block.y * block.z * (unsigned int)registers_of_thread();
    return registers > fake_limit(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)
               ? LAUNCH_OUT_OF_RESOURCES
               : CUDA_SUCCESS;
}

/* The argument is copied, as a device gets it: AddressSanitizer sees when it is smaller than the kernel's. */
static CUresult launch(CUfunction function, struct fake_index grid, struct fake_index block,
                       unsigned int shared_bytes, CUstream stream, void **params, void **extra)
{
    const struct object *const kernel = fake_object_find(MODULE, function);
    if (!kernel || !fake_is_stream(stream))
        return INVALID_HANDLE;
    if (!params || extra)
        return CUDA_ERROR_INVALID_VALUE;
    struct operation o = {
        .work = LAUNCH,
        .launch = {.run = kernel->run, .grid = grid, .block = block, .shared_bytes = shared_bytes},
    };
    const CUresult result = check_launch(kernel, &o.launch);
    if (result != CUDA_SUCCESS)
        return result;
    if (posix_memalign(&o.argument, ALIGNMENT, kernel->argument_bytes) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(o.argument, params[0], kernel->argument_bytes);
    o.launch.argument = o.argument;
    return fake_submit(stream, &o);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z,
                        unsigned int shared_bytes, CUstream stream, void **params, void **extra)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    return launch(function, (struct fake_index){grid_x, grid_y, grid_z},
                  (struct fake_index){block_x, block_y, block_z}, shared_bytes, stream, params, extra);
}

/* Kernels run one after another whatever the attributes say. */
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **params, void **extra)
{
    ENTER(ILLEGAL_ADDRESS, CONTEXT);
    for (unsigned int i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            return CUDA_ERROR_INVALID_VALUE;
    return launch(function, (struct fake_index){c->gridDimX, c->gridDimY, c->gridDimZ},
                  (struct fake_index){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes,
                  c->hStream, params, extra);
}
