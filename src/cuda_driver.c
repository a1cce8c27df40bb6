#include "cuda_driver.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ISO C has no conversion from what dlsym gives to a function: the pointer's bytes are stored in its place.
 */
_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "POSIX: a function's address fits a pointer");

/* Once loaded they stay: unloading them loses what their C++ run-time holds. */
#define OPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

struct function {
    const char *exported;
    size_t offset; /* of its pointer in the api */
};

#define CUDA_ENTRY(name, exported, parameters) {#exported, offsetof(struct vf_cuda_api, name)},
#define NVRTC_ENTRY(name, exported, parameters) {#exported, offsetof(struct vf_nvrtc_api, name)},
static const struct function cuda_functions[] = {VF_CUDA_FUNCTIONS(CUDA_ENTRY)};
static const struct function later_functions[] = {VF_CUDA_LATER_FUNCTIONS(CUDA_ENTRY)};
static const struct function nvrtc_functions[] = {VF_NVRTC_FUNCTIONS(NVRTC_ENTRY)};

/* Appends to a text of `room` bytes, as much as fits. */
static void append(char *text, size_t room, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%s", more);
}

/* Fills the api; `missing` lists the functions that the library lacks. */
static void find_functions(void *library, void *api, const struct function *function, size_t count,
                           char *missing, size_t room)
{
    missing[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, function[i].exported);
        memcpy((char *)api + function[i].offset, &found, sizeof found);
        if (found == NULL) {
            append(missing, room, missing[0] != '\0' ? ", " : "");
            append(missing, room, function[i].exported);
        }
    }
}

enum vf_status vf_cuda_api_open(struct vf_cuda_api *api, struct vf_error *error)
{
    char missing[512], ignored[512];
    memset(api, 0, sizeof *api);
    void *library = dlopen("libcuda.so.1", OPEN_FLAGS);
    if (library == NULL)
        return vf_fail(
            error, VF_FAILED,
            "no CUDA driver: %.300s; install NVIDIA's driver (in a container, start it with the GPU: "
            "docker run --gpus all)",
            dlerror());
    find_functions(library, api, cuda_functions, sizeof cuda_functions / sizeof *cuda_functions, missing,
                   sizeof missing);
    if (missing[0] != '\0') {
        dlclose(library);
        return vf_fail(error, VF_FAILED,
                       "libcuda.so.1 lacks %s; install a newer NVIDIA driver (CUDA 11.2 or later)", missing);
    }
    find_functions(library, api, later_functions, sizeof later_functions / sizeof *later_functions, ignored,
                   sizeof ignored);
    api->library = library;
    return VF_OK;
}

void vf_cuda_api_close(struct vf_cuda_api *api)
{
    if (api->library != NULL)
        dlclose(api->library);
    memset(api, 0, sizeof *api);
}

/* From an api that is whole, or not at all: then the message says why. */
static enum vf_status open_nvrtc(struct vf_nvrtc_api *api, const char *path, struct vf_error *error)
{
    char missing[512];
    void *library = dlopen(path, OPEN_FLAGS);
    if (library == NULL)
        return vf_fail(error, VF_FAILED, "%.300s", dlerror());
    find_functions(library, api, nvrtc_functions, sizeof nvrtc_functions / sizeof *nvrtc_functions, missing,
                   sizeof missing);
    if (missing[0] != '\0') {
        dlclose(library);
        return vf_fail(error, VF_FAILED, "%.300s lacks %s", path, missing);
    }
    api->library = library;
    return VF_OK;
}

enum vf_status vf_nvrtc_api_open(struct vf_nvrtc_api *api, struct vf_error *error)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    const char *home = getenv("CUDA_HOME");
    const char *const folders[] = {"", home != NULL ? home : "", "/usr/local/cuda"};
    char path[PATH_MAX];
    struct vf_error first;
    bool has_first = false;
    memset(api, 0, sizeof *api);
    for (size_t folder = 0; folder < sizeof folders / sizeof *folders; folder++) {
        if (folder > 0 && folders[folder][0] == '\0')
            continue;
        for (size_t name = 0; name < sizeof names / sizeof *names; name++) {
            const int length = snprintf(path, sizeof path, "%s%s%s", folders[folder],
                                        folder > 0 ? "/lib64/" : "", names[name]);
            if (length >= (int)sizeof path)
                continue;
            if (open_nvrtc(api, path, error) == VF_OK)
                return VF_OK;
            /* The newest one's message tells the most. */
            if (!has_first)
                first = *error;
            has_first = true;
        }
    }
    return vf_fail(error, VF_FAILED,
                   "no CUDA run-time compiler: %.700s; install the CUDA toolkit (its package cuda-nvrtc is "
                   "enough) and set CUDA_HOME to its location",
                   first.text);
}

void vf_nvrtc_api_close(struct vf_nvrtc_api *api)
{
    if (api->library != NULL)
        dlclose(api->library);
    memset(api, 0, sizeof *api);
}

enum vf_status vf_cuda_check(const struct vf_cuda_api *api, CUresult result, const char *what,
                             struct vf_error *error)
{
    const char *text = NULL;
    if (result == CUDA_SUCCESS)
        return VF_OK;
    if (api->cuGetErrorString(result, &text) != CUDA_SUCCESS || text == NULL)
        text = "unknown error";
    return vf_fail(error, VF_DEVICE, "%s: %s (error %d)", what, text, result);
}
