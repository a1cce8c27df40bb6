#include "nvrtc.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"

/* No contraction and no fast arithmetic, so that the device's bits are the CPU's. Stencil bodies do not say
 * where their functions run: on the device. */
#define OPTIONS(F)         \
    F("--std=c++17", " ")  \
    F("--fmad=false", " ") \
    F("--ftz=false", " ")  \
    F("--prec-div=true", " ") F("--prec-sqrt=true", " ") F("--device-as-default-execution-space", "")

#define IN_LIST(option, space) option,
#define IN_TEXT(option, space) option space
static const char *const options[] = {OPTIONS(IN_LIST)};
const char vf_nvrtc_options[] = OPTIONS(IN_TEXT);

enum {
    OPTION_COUNT = sizeof options / sizeof *options,
    RESULT_COMPILATION = 6, /* NVRTC_ERROR_COMPILATION: the log says why */
    LOG_SHOWN = 700,        /* bytes of the log in a message */
};

/* The length of the log's first lines, whole ones unless there is but one. */
static int shown_length(const char *log)
{
    size_t length = strlen(log);
    if (length > LOG_SHOWN) {
        length = LOG_SHOWN;
        while (length > 0 && log[length] != '\n')
            length--;
        if (length == 0)
            length = LOG_SHOWN;
    }
    while (length > 0 && log[length - 1] == '\n')
        length--;
    return (int)length;
}

static enum vf_status fail_compile(const struct vf_nvrtc_api *api, nvrtcProgram program, nvrtcResult result,
                                   const char *name, const char *arch, struct vf_error *error)
{
    size_t bytes = 0;
    struct vf_error ignored;
    char *log = NULL;
    if (api->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1)
        log = vf_alloc(bytes + 1, 1, "compiler's log", &ignored);
    if (log != NULL && api->nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
        log[0] = '\0';
    const bool is_told = log != NULL && log[0] != '\0';
    const char *said = is_told ? log : "no message";
    /* A device newer than the compiler ends here: its name is no valid option. */
    const char *advice = result == RESULT_COMPILATION
                             ? ""
                             : "; if the CUDA toolkit does not support the device, install a newer toolkit, "
                               "or for an old device an older one";
    vf_fail(error, VF_FAILED, "%.80s does not compile for %s (NVRTC error %d): %.*s%s", name, arch, result,
            shown_length(said), said, advice);
    vf_free(log);
    return result == RESULT_COMPILATION && is_told ? VF_DEVICE : VF_FAILED;
}

/* Machine code, or PTX for an architecture that no device has. */
static enum vf_status take_code(const struct vf_nvrtc_api *api, nvrtcProgram program, const char *name,
                                bool is_ptx, void **code, size_t *bytes, struct vf_error *error)
{
    nvrtcResult result = (is_ptx ? api->nvrtcGetPTXSize : api->nvrtcGetCUBINSize)(program, bytes);
    if (result == NVRTC_SUCCESS && *bytes > 0) {
        *code = vf_alloc(*bytes, 1, "compiled kernel", error);
        if (*code == NULL)
            return VF_FAILED;
        result = (is_ptx ? api->nvrtcGetPTX : api->nvrtcGetCUBIN)(program, *code);
        if (result == NVRTC_SUCCESS)
            return VF_OK;
        vf_free(*code);
        *code = NULL;
    }
    return vf_fail(error, VF_FAILED,
                   "%.80s compiled, but NVRTC returns no machine code for it (error %d); install another "
                   "version of the CUDA toolkit",
                   name, result);
}

/* The headers as NVRTC takes them, two lists in one block: the texts, then the names. */
static const char **list_headers(const struct vf_text_header *header, int count, struct vf_error *error)
{
    const char **list = vf_alloc(2 * (size_t)count + 1, sizeof *list, "list of kernel texts", error);
    for (int i = 0; list != NULL && i < count; i++) {
        list[i] = header[i].text;
        list[count + i] = header[i].name;
    }
    return list;
}

enum vf_status vf_nvrtc_compile(const struct vf_nvrtc_api *api, const char *text, const char *name,
                                const struct vf_text_header *header, int header_count, const char *arch,
                                void **code, size_t *bytes, struct vf_error *error)
{
    const char *arguments[OPTION_COUNT + 1];
    char arch_option[64];
    nvrtcProgram program = NULL;
    enum vf_status status = VF_FAILED;
    *code = NULL;
    *bytes = 0;
    memcpy(arguments, options, sizeof options);
    snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%.32s", arch);
    arguments[OPTION_COUNT] = arch_option;
    const char **headers = list_headers(header, header_count, error);
    if (headers == NULL)
        return VF_FAILED;
    nvrtcResult result =
        api->nvrtcCreateProgram(&program, text, name, header_count, headers, headers + header_count);
    if (result != NVRTC_SUCCESS) {
        vf_fail(error, VF_FAILED, "%.80s: NVRTC cannot accept the source (error %d)", name, result);
        goto out;
    }
    result = api->nvrtcCompileProgram(program, OPTION_COUNT + 1, arguments);
    if (result != NVRTC_SUCCESS)
        status = fail_compile(api, program, result, name, arch, error);
    else
        status = take_code(api, program, name, strncmp(arch, "compute_", 8) == 0, code, bytes, error);
    api->nvrtcDestroyProgram(&program);
out:
    vf_free(headers);
    return status;
}

enum vf_status vf_nvrtc_find(struct vf_error *error)
{
    struct vf_nvrtc_api api;
    int major, minor;
    enum vf_status status = vf_nvrtc_api_open(&api, error);
    if (status == VF_OK && api.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS)
        status =
            vf_fail(error, VF_FAILED, "the CUDA run-time compiler, libnvrtc, does not report its version");
    vf_nvrtc_api_close(&api);
    return status;
}
