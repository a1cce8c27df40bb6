#include "devices.h"

#include <dlfcn.h>
#include <link.h>

#include "cuda_device.h"
#include "json.h"
#include "size.h"

struct findings {
    struct vf_cuda_api cuda;
    struct vf_nvrtc_api nvrtc;
    bool has_driver, has_compiler;
    struct vf_error driver_error, compiler_error; /* why not */
    char driver_version[32], compiler_version[32];
    const char *compiler_path;
    int device_count;
    struct vf_cache cache;
    const char *cache_fault; /* NULL: none */
    int cache_entries;
    size_t cache_bytes;
    struct vf_precompiled precompiled;
    bool has_precompiled;
    int precompiled_kernels;
    size_t precompiled_bytes;
    struct vf_tuning tuning;
};

/* ---- finding ---- */

static enum vf_status start_driver(struct findings *found, struct vf_error *error)
{
    const struct vf_cuda_api *api = &found->cuda;
    enum vf_status status;
    int version = 0;
    VF_TRY(vf_cuda_api_open(&found->cuda, error));
    VF_TRY(vf_cuda_check(api, api->cuInit(0), "the CUDA driver does not start", error));
    VF_TRY(vf_cuda_check(api, api->cuDriverGetVersion(&version), "querying the driver's version", error));
    VF_TRY(vf_cuda_check(api, api->cuDeviceGetCount(&found->device_count), "counting the devices", error));
    snprintf(found->driver_version, sizeof found->driver_version, "%d.%d", version / 1000,
             version % 1000 / 10);
out:
    return status;
}

static void find_compiler(struct findings *found)
{
    int major = 0, minor = 0;
    struct link_map *map = NULL;
    if (vf_nvrtc_api_open(&found->nvrtc, &found->compiler_error) != VF_OK)
        return;
    found->has_compiler = true;
    found->nvrtc.nvrtcVersion(&major, &minor);
    snprintf(found->compiler_version, sizeof found->compiler_version, "%d.%d", major, minor);
    if (dlinfo(found->nvrtc.library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL)
        found->compiler_path = map->l_name;
}

static void find_all(struct findings *found)
{
    *found = (struct findings){0};
    found->has_driver = start_driver(found, &found->driver_error) == VF_OK;
    find_compiler(found);
    vf_cache_open(&found->cache);
    found->cache_fault = vf_cache_fault(&found->cache);
    vf_cache_measure(&found->cache, &found->cache_entries, &found->cache_bytes);
    found->has_precompiled = vf_precompiled_open(&found->precompiled);
    if (found->has_precompiled)
        vf_cache_measure(&found->precompiled.folder, &found->precompiled_kernels, &found->precompiled_bytes);
    struct vf_error ignored;
    vf_tuning_open(&found->tuning, &found->cache, &ignored);
}

static enum vf_status describe(const struct findings *found, int ordinal, struct vf_gpu *gpu,
                               struct vf_error *error)
{
    CUdevice device;
    enum vf_status status =
        vf_cuda_check(&found->cuda, found->cuda.cuDeviceGet(&device, ordinal), "finding the device", error);
    return status == VF_OK ? vf_cuda_describe(&found->cuda, device, gpu, error) : status;
}

/* ---- as text ---- */

static void print_device(const struct findings *found, int ordinal, FILE *to)
{
    struct vf_gpu gpu;
    struct vf_error error;
    fprintf(to, "device %d  ", ordinal);
    if (describe(found, ordinal, &gpu, &error) != VF_OK) {
        fprintf(to, "%s\n", error.text);
        return;
    }
    fprintf(to, "%s\n", gpu.name);
    fprintf(to, "  capability    %d.%d%s\n", gpu.capability / 10, gpu.capability % 10,
            gpu.capability < VF_CUDA_LEAST_CAPABILITY ? ", too old to use" : "");
    fprintf(to, "  memory        %.1f GiB, %.1f MiB of L2\n", (double)gpu.memory / (1 << 30),
            vf_mib((double)gpu.l2));
    fprintf(to, "  bandwidth     %.0f GB/s, as reached by a copy\n", gpu.bandwidth / 1e9);
    fprintf(to, "  multiproc.    %d at %.2f GHz, each with %d threads, %d registers, %.0f KiB shared\n",
            gpu.multiprocessors, gpu.clock / 1e9, gpu.sm_threads, gpu.sm_registers,
            (double)gpu.sm_shared / (1 << 10));
    fprintf(to, "  double        1/%.0f the speed of float\n", gpu.double_ratio);
    int own, shipped;
    vf_tuning_count(&found->tuning, &gpu, &own, &shipped);
    fprintf(to, "  tuning        %d kernel%s measured here, %d shipped\n", own, own == 1 ? "" : "s", shipped);
}

static void print_costs(FILE *to)
{
    const struct vf_cuda_costs *costs = &vf_cuda_costs;
    fprintf(to, "costs     assumed by --backend auto\n");
    fprintf(to, "  start         %g s for the driver, %g s for a device\n", costs->driver_init,
            costs->context);
    fprintf(to, "  transfer      %g GB/s for whole volumes, %g GB/s for slabs, through pinned memory\n",
            costs->staged / 1e9, costs->pinned / 1e9);
    fprintf(to, "  compiling     %g s for the compiler, %g s per kernel and %g ms per operation in it\n",
            costs->compiler, costs->kernel, costs->operation * 1e3);
}

static void print_text(const struct findings *found, FILE *to)
{
    char shown[2 * PATH_MAX];
    if (found->has_driver)
        fprintf(to, "driver    CUDA %s, %d device%s\n", found->driver_version, found->device_count,
                found->device_count == 1 ? "" : "s");
    else
        fprintf(to, "driver    unavailable: %s\n", found->driver_error.text);
    if (found->has_compiler)
        fprintf(to, "compiler  NVRTC %s%s%s\n", found->compiler_version,
                found->compiler_path != NULL ? ", " : "",
                found->compiler_path != NULL ? found->compiler_path : "");
    else
        fprintf(to, "compiler  unavailable: %s\n", found->compiler_error.text);
    const char *cache = vf_show_controls(found->cache.path, shown, sizeof shown);
    if (found->cache_fault != NULL)
        fprintf(to, "cache     %s is not used: %s\n", cache, found->cache_fault);
    else if (found->cache.path[0] != '\0')
        fprintf(to, "cache     %s, %d entries, %.1f of %.0f MiB\n", cache, found->cache_entries,
                vf_mib((double)found->cache_bytes), vf_mib((double)found->cache.bound));
    else
        fprintf(to, "cache     none: VOLFILTER_CACHE is empty, or HOME is not set\n");
    if (found->has_precompiled)
        fprintf(to, "shipped   %s, %d kernels, %.1f MiB, used where there is no compiler\n",
                vf_show_controls(found->precompiled.folder.path, shown, sizeof shown),
                found->precompiled_kernels, vf_mib((double)found->precompiled_bytes));
    else
        fprintf(to, "shipped   no kernels ('make precompiled' builds them)\n");
    for (int i = 0; i < found->device_count; i++)
        print_device(found, i, to);
    print_costs(to);
}

/* ---- as JSON ---- */

static void print_json_device(const struct findings *found, int ordinal, struct vf_json *json)
{
    struct vf_gpu gpu;
    struct vf_error error;
    char capability[24];
    vf_json_begin_object(json, NULL);
    vf_json_integer(json, "ordinal", ordinal);
    if (describe(found, ordinal, &gpu, &error) != VF_OK) {
        vf_json_string(json, "error", error.text);
    } else {
        vf_json_string(json, "name", gpu.name);
        snprintf(capability, sizeof capability, "%d.%d", gpu.capability / 10, gpu.capability % 10);
        vf_json_string(json, "capability", capability);
        vf_json_boolean(json, "usable", gpu.capability >= VF_CUDA_LEAST_CAPABILITY);
        vf_json_integer(json, "memory_bytes", (long long)gpu.memory);
        vf_json_integer(json, "l2_bytes", (long long)gpu.l2);
        vf_json_number(json, "copy_bytes_per_second", gpu.bandwidth);
        vf_json_integer(json, "multiprocessors", gpu.multiprocessors);
        vf_json_number(json, "clock_hertz", gpu.clock);
        vf_json_integer(json, "multiprocessor_threads", gpu.sm_threads);
        vf_json_integer(json, "multiprocessor_blocks", gpu.sm_blocks);
        vf_json_integer(json, "multiprocessor_registers", gpu.sm_registers);
        vf_json_integer(json, "multiprocessor_shared_bytes", (long long)gpu.sm_shared);
        vf_json_integer(json, "block_threads", gpu.block_threads);
        vf_json_integer(json, "block_shared_bytes", (long long)gpu.block_shared);
        vf_json_number(json, "double_ratio", gpu.double_ratio);
        int own, shipped;
        vf_tuning_count(&found->tuning, &gpu, &own, &shipped);
        vf_json_integer(json, "kernels_tuned", own);
        vf_json_integer(json, "kernels_shipped", shipped);
    }
    vf_json_end(json);
}

static void print_json_costs(struct vf_json *json)
{
    vf_json_begin_object(json, "costs");
    vf_json_number(json, "driver_seconds", vf_cuda_costs.driver_init);
    vf_json_number(json, "device_seconds", vf_cuda_costs.context);
    vf_json_number(json, "pinned_bytes_per_second", vf_cuda_costs.pinned);
    vf_json_number(json, "staged_bytes_per_second", vf_cuda_costs.staged);
    vf_json_number(json, "compiler_seconds", vf_cuda_costs.compiler);
    vf_json_number(json, "kernel_compile_seconds", vf_cuda_costs.kernel);
    vf_json_number(json, "operation_seconds", vf_cuda_costs.operation);
    vf_json_end(json);
}

static void print_json(const struct findings *found, FILE *to)
{
    struct vf_json json;
    vf_json_open(&json, to);
    vf_json_begin_object(&json, NULL);
    vf_json_string(&json, "driver", found->has_driver ? found->driver_version : NULL);
    if (!found->has_driver)
        vf_json_string(&json, "driver_error", found->driver_error.text);
    vf_json_string(&json, "compiler", found->has_compiler ? found->compiler_version : NULL);
    vf_json_string(&json, found->has_compiler ? "compiler_path" : "compiler_error",
                   found->has_compiler ? found->compiler_path : found->compiler_error.text);
    vf_json_begin_array(&json, "devices");
    for (int i = 0; i < found->device_count; i++)
        print_json_device(found, i, &json);
    vf_json_end(&json);
    vf_json_begin_object(&json, "cache");
    vf_json_string(&json, "folder", found->cache.path[0] != '\0' ? found->cache.path : NULL);
    vf_json_string(&json, "fault", found->cache_fault);
    vf_json_integer(&json, "entries", found->cache_entries);
    vf_json_integer(&json, "bytes", (long long)found->cache_bytes);
    vf_json_integer(&json, "bound_bytes", (long long)found->cache.bound);
    vf_json_end(&json);
    vf_json_begin_object(&json, "precompiled");
    vf_json_string(&json, "folder", found->has_precompiled ? found->precompiled.folder.path : NULL);
    vf_json_integer(&json, "kernels", found->precompiled_kernels);
    vf_json_integer(&json, "bytes", (long long)found->precompiled_bytes);
    vf_json_end(&json);
    print_json_costs(&json);
    vf_json_end(&json);
}

void vf_devices_print(bool as_json, FILE *to)
{
    struct findings found;
    find_all(&found);
    if (as_json)
        print_json(&found, to);
    else
        print_text(&found, to);
    vf_tuning_free(&found.tuning);
    vf_precompiled_close(&found.precompiled);
    vf_nvrtc_api_close(&found.nvrtc);
    vf_cuda_api_close(&found.cuda);
}
