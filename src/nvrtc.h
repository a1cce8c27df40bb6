/* Compiling CUDA C++ at run time, for one device's architecture. */
#ifndef VF_NVRTC_H
#define VF_NVRTC_H

#include "cuda_driver.h"

/* A text that others #include by its name. */
struct vf_text_header {
    const char *name, *text;
};

/* The device code that the program carries: the .cu files of kernels/, the headers that they include, the
 * stencil bodies. Names are as #include has them: "kernels/stencil.h". Made by kernels/embed.sh. */
extern const struct vf_text_header vf_kernel_texts[];
extern const int vf_kernel_text_count;
extern const char vf_kernel_text_digest[]; /* changes with any of them */

/* What was measured of kernels on some devices (tuning.h): kernels/tuned.txt. */
extern const struct vf_text_header vf_tuned_texts[];
extern const int vf_tuned_text_count;

/* The options that every text is compiled with, separated by spaces: part of a compiled kernel's key. */
extern const char vf_nvrtc_options[];

/* Compiles `text` for `arch`, such as "sm_90", to machine code, or for "compute_75" to PTX: *code is freed
 * with vf_free. `name` stands for the text in the compiler's messages. VF_DEVICE: the compiler refuses the
 * text, as it will again, and the message has the first lines of its own; VF_FAILED: all else, such as
 * memory, or a compiler that says nothing. May be called from several threads at once. */
enum vf_status vf_nvrtc_compile(const struct vf_nvrtc_api *api, const char *text, const char *name,
                                const struct vf_text_header *header, int header_count, const char *arch,
                                void **code, size_t *bytes, struct vf_error *error);

/* Whether there is a compiler; the message says why not. Nothing is held afterwards. */
enum vf_status vf_nvrtc_find(struct vf_error *error);

#endif
