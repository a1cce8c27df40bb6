/* The driver's and the compiler's libraries, opened at run time, and the texts that are compiled. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "src/alloc.h"
#include "src/nvrtc.h"
#include "src/sha256.h"

/* The command-line cases set the loader's path, and try libraries that are damaged or lack functions. */

static void expect_in(const char *text, const char *part)
{
    cr_assert_not_null(strstr(text, part), "no \"%s\" in: %s", part, text);
}

#define EXPECT_FOUND(name, exported, parameters) cr_assert(api.name != NULL, #exported);

Test(cuda_driver, opens_whole_or_says_what_to_install)
{
    struct vf_cuda_api api;
    struct vf_error error;
    if (vf_cuda_api_open(&api, &error) == VF_OK) {
        VF_CUDA_FUNCTIONS(EXPECT_FOUND)
        vf_cuda_api_close(&api);
    } else {
        expect_in(error.text, "libcuda.so.1");
        expect_in(error.text, "driver");
    }
    cr_assert_null(api.library);
    vf_cuda_api_close(&api);
}

static CUresult give_text(CUresult result, const char **text)
{
    *text = "out of memory";
    return result == 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Test(cuda_driver, message_has_the_drivers_text_and_number)
{
    const struct vf_cuda_api api = {.cuGetErrorString = give_text};
    struct vf_error error = {.text = "untouched"};
    cr_assert_eq(vf_cuda_check(&api, CUDA_SUCCESS, "this", &error), VF_OK);
    cr_assert_str_eq(error.text, "untouched");
    cr_assert_eq(vf_cuda_check(&api, CUDA_ERROR_OUT_OF_MEMORY, "this", &error), VF_DEVICE);
    cr_assert_str_eq(error.text, "this: out of memory (error 2)");
    cr_assert_eq(vf_cuda_check(&api, 12345, "that", &error), VF_DEVICE);
    cr_assert_str_eq(error.text, "that: unknown error (error 12345)");
}

/* ---- the texts that the program carries ---- */

Test(kernel_texts, are_the_files)
{
    for (int i = 0; i < vf_kernel_text_count; i++) {
        static char text[1 << 17];
        FILE *file = fopen(vf_kernel_texts[i].name, "rb");
        if (file == NULL)
            cr_skip_test("not at the top of the source tree");
        const size_t bytes = fread(text, 1, sizeof text - 1, file);
        cr_assert(bytes < sizeof text - 1 && feof(file));
        fclose(file);
        text[bytes] = '\0';
        cr_assert_str_eq(vf_kernel_texts[i].text, text, "%s", vf_kernel_texts[i].name);
    }
}

/* What is compiled of them is known by it. */
Test(kernel_texts, have_their_digest)
{
    struct vf_sha256 hash;
    uint8_t digest[VF_SHA256_BYTES];
    char text[VF_SHA256_DIGITS + 1];
    vf_sha256_begin(&hash);
    for (int i = 0; i < vf_kernel_text_count; i++) {
        const char *const part[] = {vf_kernel_texts[i].name, "\n", vf_kernel_texts[i].text, "\n"};
        for (int k = 0; k < 4; k++)
            vf_sha256_add(&hash, part[k], strlen(part[k]));
    }
    vf_sha256_end(&hash, digest);
    vf_sha256_text(digest, text);
    cr_assert_str_eq(vf_kernel_text_digest, text);
}

/* Whatever a carried text includes is carried too. */
Test(kernel_texts, are_all_that_they_include)
{
    int found = 0;
    for (int i = 0; i < vf_kernel_text_count; i++) {
        const char *at = vf_kernel_texts[i].text;
        while ((at = strstr(at, "\n#include \"")) != NULL) {
            at += strlen("\n#include \"");
            const size_t length = strcspn(at, "\"");
            bool is_carried = false;
            for (int k = 0; k < vf_kernel_text_count; k++)
                is_carried = is_carried || (strlen(vf_kernel_texts[k].name) == length &&
                                            memcmp(vf_kernel_texts[k].name, at, length) == 0);
            cr_assert(is_carried, "%s includes %.*s", vf_kernel_texts[i].name, (int)length, at);
            found++;
        }
    }
    cr_assert(found > 10, "%d includes", found);
}

/* ---- the compiler ---- */

static struct vf_nvrtc_api nvrtc;
static int nvrtc_version; /* 1300 for 13.0 */

/* False where there is none, which must be said well. */
static bool open_nvrtc(void)
{
    int major = 0, minor = 0;
    struct vf_error error;
    if (vf_nvrtc_api_open(&nvrtc, &error) != VF_OK) {
        expect_in(error.text, "libnvrtc.so");
        expect_in(error.text, "CUDA_HOME");
        cr_assert_null(nvrtc.library);
        return false;
    }
    cr_assert_eq(nvrtc.nvrtcVersion(&major, &minor), NVRTC_SUCCESS);
    nvrtc_version = 100 * major + minor;
    return true;
}

static enum vf_status compile(const char *text, const char *arch, void **code, size_t *bytes,
                              struct vf_error *error)
{
    return vf_nvrtc_compile(&nvrtc, text, "trial.cu", vf_kernel_texts, vf_kernel_text_count, arch, code,
                            bytes, error);
}

/* A carried header, whose functions do not say that they are the device's. */
#define TRIAL                                                     \
    "#include \"kernels/boundary.h\"\n"                           \
    "extern \"C\" __global__ void vf_kernel(float *out, int i)\n" \
    "{\n"                                                         \
    "    out[vf_boundary_index(VF_REFLECT, i, 8)] = 1;\n"         \
    "}\n"

Test(nvrtc, compiles_for_every_architecture_that_it_knows)
{
    static const struct {
        const char *arch;
        int since; /* NVRTC */
    } cases[] = {{"sm_75", 1000}, {"sm_80", 1100},  {"sm_86", 1101}, {"sm_89", 1108},
                 {"sm_90", 1108}, {"sm_100", 1208}, {"sm_120", 1208}};
    struct vf_error error;
    if (!open_nvrtc())
        cr_skip_test("no NVRTC");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        void *code;
        size_t bytes;
        if (nvrtc_version < cases[i].since)
            continue;
        cr_assert_eq(compile(TRIAL, cases[i].arch, &code, &bytes, &error), VF_OK, "%s", error.text);
        cr_assert(bytes > 4 && memcmp(code,
                                      "\x7f"
                                      "ELF",
                                      4) == 0,
                  "%s", cases[i].arch);
        vf_free(code);
    }
    vf_nvrtc_api_close(&nvrtc);
}

Test(nvrtc, failing_text_is_told_with_the_compilers_words)
{
    struct vf_error error;
    char many[8192] = "";
    void *code;
    size_t bytes;
    if (!open_nvrtc())
        cr_skip_test("no NVRTC");
    cr_assert_eq(
        compile("extern \"C\" __global__ void vf_kernel() { nonsense = 1; }", "sm_90", &code, &bytes, &error),
        VF_DEVICE);
    cr_assert_null(code);
    expect_in(error.text, "trial.cu");
    expect_in(error.text, "sm_90");
    expect_in(error.text, "nonsense");
    for (int i = 0; i < 100; i++)
        sprintf(many + strlen(many), "int f%d() { return nonsense%d; }\n", i, i);
    cr_assert_eq(compile(many, "sm_90", &code, &bytes, &error), VF_DEVICE);
    expect_in(error.text, "nonsense0");
    cr_assert(strlen(error.text) < 900);
    cr_assert_neq(error.text[strlen(error.text) - 1], '\n');
    cr_assert_eq(compile("#include \"kernels/missing.h\"\n", "sm_90", &code, &bytes, &error), VF_DEVICE);
    expect_in(error.text, "kernels/missing.h");
    vf_nvrtc_api_close(&nvrtc);
}

Test(nvrtc, unknown_architecture_asks_for_a_newer_toolkit)
{
    struct vf_error error;
    void *code;
    size_t bytes;
    if (!open_nvrtc())
        cr_skip_test("no NVRTC");
    cr_assert_eq(compile(TRIAL, "sm_999", &code, &bytes, &error), VF_FAILED);
    expect_in(error.text, "sm_999");
    expect_in(error.text, "newer toolkit");
    vf_nvrtc_api_close(&nvrtc);
}

Test(nvrtc, options_keep_the_bits)
{
    expect_in(vf_nvrtc_options, "--fmad=false");
    expect_in(vf_nvrtc_options, "--ftz=false");
    expect_in(vf_nvrtc_options, "--prec-div=true");
    expect_in(vf_nvrtc_options, "--prec-sqrt=true");
    cr_assert_null(strstr(vf_nvrtc_options, "fast"));
}

/* ---- a compiler that misbehaves ---- */

static nvrtcResult staged_result[6]; /* create, compile, size, code, log size, log */
static size_t staged_bytes;
static int staged_programs;

static nvrtcResult staged_create(nvrtcProgram *program, const char *source, const char *name,
                                 int header_count, const char *const *headers,
                                 const char *const *include_names)
{
    cr_assert_str_eq(source, "text");
    cr_assert_str_eq(name, "trial.cu");
    cr_assert_eq(header_count, 1);
    cr_assert_str_eq(headers[0], "the header");
    cr_assert_str_eq(include_names[0], "its/name.h");
    *program = (nvrtcProgram)&staged_programs;
    staged_programs += staged_result[0] == NVRTC_SUCCESS;
    return staged_result[0];
}

static nvrtcResult staged_destroy(nvrtcProgram *program)
{
    cr_assert_eq(*program, (nvrtcProgram)&staged_programs);
    staged_programs--;
    return NVRTC_SUCCESS;
}

/* All of vf_nvrtc_options, and the architecture. */
static nvrtcResult staged_compile(nvrtcProgram program, int option_count, const char *const *options)
{
    char text[512] = "";
    (void)program;
    for (int i = 0; i < option_count - 1; i++)
        sprintf(text + strlen(text), "%s%s", i > 0 ? " " : "", options[i]);
    cr_assert_str_eq(text, vf_nvrtc_options);
    cr_assert_str_eq(options[option_count - 1], "--gpu-architecture=sm_75");
    return staged_result[1];
}

static nvrtcResult staged_size(nvrtcProgram program, size_t *bytes)
{
    (void)program;
    *bytes = staged_bytes;
    return staged_result[2];
}

static nvrtcResult staged_code(nvrtcProgram program, char *code)
{
    (void)program;
    memset(code, 'c', staged_bytes);
    return staged_result[3];
}

static nvrtcResult staged_log_size(nvrtcProgram program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof "first\nsecond\n";
    return staged_result[4];
}

static nvrtcResult staged_log(nvrtcProgram program, char *log)
{
    (void)program;
    strcpy(log, "first\nsecond\n");
    return staged_result[5];
}

static enum vf_status compile_staged(void **code, size_t *bytes, struct vf_error *error)
{
    const struct vf_nvrtc_api api = {.nvrtcCreateProgram = staged_create,
                                     .nvrtcDestroyProgram = staged_destroy,
                                     .nvrtcCompileProgram = staged_compile,
                                     .nvrtcGetCUBINSize = staged_size,
                                     .nvrtcGetCUBIN = staged_code,
                                     .nvrtcGetProgramLogSize = staged_log_size,
                                     .nvrtcGetProgramLog = staged_log};
    const struct vf_text_header header = {"its/name.h", "the header"};
    return vf_nvrtc_compile(&api, "text", "trial.cu", &header, 1, "sm_75", code, bytes, error);
}

Test(nvrtc, every_failure_is_told_and_leaves_nothing)
{
    static const struct {
        nvrtcResult result[6];
        size_t bytes;
        enum vf_status status; /* VF_DEVICE: the compiler refuses the text, as it will again, and says why */
        const char *message;
    } cases[] = {
        {{1}, 8, VF_FAILED, "trial.cu: NVRTC cannot accept the source (error 1)"},
        {{0, 6}, 8, VF_DEVICE, "trial.cu does not compile for sm_75 (NVRTC error 6): first\nsecond"},
        {{0, 6, 0, 0, 1}, 8, VF_FAILED, "trial.cu does not compile for sm_75 (NVRTC error 6): no message"},
        {{0, 6, 0, 0, 0, 1}, 8, VF_FAILED, "trial.cu does not compile for sm_75 (NVRTC error 6): no message"},
        {{0, 5, 0, 0, 1},
         8,
         VF_FAILED,
         "trial.cu does not compile for sm_75 (NVRTC error 5): no message; if the CUDA toolkit does "
         "not support the device, install a newer toolkit, or for an old device an older one"},
        {{0, 0, 7},
         8,
         VF_FAILED,
         "trial.cu compiled, but NVRTC returns no machine code for it (error 7); install another version of "
         "the "
         "CUDA toolkit"},
        {{0},
         0,
         VF_FAILED,
         "trial.cu compiled, but NVRTC returns no machine code for it (error 0); install another version of "
         "the "
         "CUDA toolkit"},
        {{0, 0, 0, 9},
         8,
         VF_FAILED,
         "trial.cu compiled, but NVRTC returns no machine code for it (error 9); install another version of "
         "the "
         "CUDA toolkit"},
    };
    struct vf_error error;
    void *code;
    size_t bytes;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(staged_result, cases[i].result, sizeof staged_result);
        staged_bytes = cases[i].bytes;
        cr_assert_eq(compile_staged(&code, &bytes, &error), cases[i].status);
        cr_assert_str_eq(error.text, cases[i].message);
        cr_assert_null(code);
        cr_assert_eq(staged_programs, 0);
    }
    memset(staged_result, 0, sizeof staged_result);
    staged_bytes = 8;
    cr_assert_eq(compile_staged(&code, &bytes, &error), VF_OK);
    cr_assert_eq(bytes, 8);
    cr_assert_arr_eq(code, "cccccccc", 8);
    cr_assert_eq(staged_programs, 0);
    vf_free(code);
}
