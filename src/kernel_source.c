#include "kernel_source.h"

static const char *const type_name[] = {
    [VF_U8] = "unsigned char", [VF_I8] = "signed char", [VF_U16] = "unsigned short", [VF_I16] = "short",
    [VF_U32] = "unsigned int", [VF_I32] = "int",        [VF_F32] = "float",          [VF_F64] = "double",
};

/* ---- constants ---- */

static void add_vector(struct vf_text *text, const char *name, const int xyz[3])
{
    for (int axis = 0; axis < 3; axis++)
        vf_text_add(text, "#define %s_%c %d\n", name, "XYZ"[axis], xyz[axis]);
}

/* VF_VARIANT_ and the name in capitals for each, 1 for the chosen one. */
static void add_variant(struct vf_text *text, const char *const *variants, int chosen)
{
    for (int i = 0; variants != NULL && variants[i] != NULL; i++) {
        vf_text_add(text, "#define VF_VARIANT_");
        for (const char *s = variants[i]; *s != '\0'; s++)
            vf_text_add(text, "%c", *s == '-' ? '_' : *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
        vf_text_add(text, " %d\n", i == chosen);
    }
}

/* Whether all inputs have fewer bytes than the compute type. */
static bool has_small_inputs(const struct vf_kernel_case *c)
{
    bool is_small = true;
    for (int k = 0; k < c->flow->source_count; k++)
        is_small = is_small && vf_type_size(c->source_type[k]) < vf_kernel_element(c);
    return is_small;
}

static void add_case_constants(const struct vf_kernel_case *c, struct vf_text *text)
{
    const struct vf_flow *flow = c->flow;
    vf_text_add(text, "#define REAL_BITS %d\n#define DIM %d\n#define VF_BOUNDARY %d\n",
                flow->is_double ? 64 : 32, flow->dim, (int)flow->boundary);
    vf_text_add(text, "#define VF_INPUTS %d\n#define VF_OUTPUTS %d\n#define VF_FIELDS %d\n",
                flow->source_count, flow->sink_count, flow->field_count);
    int bodies = 0;
    for (int s = 0; s < flow->stage_count; s++)
        bodies += flow->stage[s].stencil != VF_STENCIL_LINEAR;
    vf_text_add(text, "#define VF_SMALL_INPUTS %d\n#define VF_STAGES %d\n#define VF_BODIES %d\n",
                has_small_inputs(c), flow->stage_count, bodies);
    vf_text_add(text, "#define VF_PARAMS %zu\n#define VF_PARAM_TABLE %d\n#define VF_LOOPS_TABLE %d\n",
                c->param_count, c->param_count > VF_MOST_KERNEL_PARAMS, c->loops_table);
    add_vector(text, "VF_HALO", (const int[]){c->halo[2], c->halo[1], c->halo[0]});
}

static void add_constants(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                          const struct vf_kernel_config *config, struct vf_text *text)
{
    add_case_constants(c, text);
    add_vector(text, "VF_BLOCK", config->block);
    add_vector(text, "VF_WORK", config->work);
    vf_text_add(text, "#define VF_STREAM %d\n", config->stream);
    add_variant(text, scheme->variants, config->variant);
    vf_text_add(text, "#define VF_FLAT_GRID %d\n#define VF_VIRTUAL %d\n#define VF_INTERIOR %d\n",
                config->flat_grid, config->virtual_blocks, config->interior);
    if (scheme->define != NULL)
        scheme->define(c, config, text);
}

/* ---- inputs and outputs ---- */

static void add_memory(const struct vf_kernel_case *c, struct vf_text *text)
{
    const struct vf_flow *flow = c->flow;
    for (int k = 0; k < flow->source_count; k++)
        vf_text_add(text, "typedef %s vf_in_%d;\n", type_name[c->source_type[k]], k);
    for (int k = 0; k < flow->sink_count; k++)
        vf_text_add(text, "typedef %s vf_out_%d;\n", type_name[c->sink_type[k]], k);
    vf_define_each("VF_EACH_INPUT", 0, flow->source_count, text);
    vf_define_each("VF_EACH_OUTPUT", 0, flow->sink_count, text);
    vf_text_add(text, "VF_INLINE REAL vf_load(const VfArgs &args, int input, long long at)\n{\n");
    for (int k = 0; k < flow->source_count; k++)
        vf_text_add(text, "    if (input == %d) return (REAL)((const vf_in_%d *)args.in[%d])[at];\n", k, k,
                    k);
    vf_text_add(text, "    return REAL(0);\n}\n");
    int number[VF_KERNEL_MOST_FIELDS], kind[VF_KERNEL_MOST_FIELDS], sink[VF_KERNEL_MOST_FIELDS];
    vf_kernel_number_fields(flow, number);
    for (int f = 0; f < flow->field_count; f++)
        /* Another boundary does not ask what is outside. */
        kind[number[f]] = flow->boundary == VF_CONSTANT && flow->field_kind[f] == VF_FIELD_IMAGE;
    for (int k = 0; k < flow->sink_count; k++)
        sink[k] = number[flow->sink[k]];
    vf_define_function("VF_INLINE constexpr int vf_is_image", kind, flow->field_count, text);
    vf_text_add(text, "VF_INLINE REAL vf_outside(const VfArgs &args, int input) "
                      "{ return vf_is_image(input) ? (REAL)args.outside : REAL(0); }\n");
    /* The field that an output holds. */
    vf_define_function("VF_INLINE constexpr int vf_sink", sink, flow->sink_count, text);
    static const char *const halo_name[] = {"VF_INLINE constexpr int vf_input_halo_z",
                                            "VF_INLINE constexpr int vf_input_halo_y",
                                            "VF_INLINE constexpr int vf_input_halo_x"};
    for (int axis = 0; axis < 3; axis++) {
        int halo[VF_KERNEL_FIELDS];
        for (int k = 0; k < flow->source_count; k++)
            halo[k] = c->source_halo[k][axis];
        vf_define_function(halo_name[axis], halo, flow->source_count, text);
    }
}

/* ---- stages ---- */

static void add_tap_loop(const struct vf_taps *taps, int axis, struct vf_text *text)
{
    static const char *const offset[] = {"t, 0, 0", "0, t, 0", "0, 0, t"};
    vf_text_add(text, "    REAL sum = c.param(0) * c.at(k, %d * (%d), %d * (%d), %d * (%d));\n", axis == 0,
                -taps->halo[0], axis == 1, -taps->halo[1], axis == 2, -taps->halo[2]);
    vf_text_add(text, "    for (int t = %d; t <= %d; t++) sum = FMA(c.param(t + %d), c.at(k, %s), sum);\n",
                1 - taps->halo[axis], taps->halo[axis], taps->halo[axis], offset[axis]);
}

/* Row by row; where there are holes, NaN marks them. Rows that packs are taken of are written out. */
static void add_table_loop(const struct vf_stage *stage, struct vf_text *text)
{
    enum { MOST_WRITTEN = 65 };
    const int *const halo = stage->taps->halo, width = 2 * halo[2] + 1;
    vf_text_add(text,
                "    REAL sum = -REAL(0);\n    int t = %d;\n"
                "    VF_NO_UNROLL for (int dz = -%d; dz <= %d; dz++)\n"
                "    VF_NO_UNROLL for (int dy = -%d; dy <= %d; dy++, t += %d)\n"
                "    %s for (int dx = -%d; dx <= %d; dx++) {\n"
                "        const REAL weight = c.param(t + dx);\n"
                "        %ssum = FMA(weight, c.at(k, dz, dy, dx), sum);\n    }\n",
                halo[2], halo[0], halo[0], halo[1], halo[1], width,
                width <= MOST_WRITTEN ? "VF_UNROLL" : "VF_NO_UNROLL", halo[2], halo[2],
                vf_stage_param_count(stage) > stage->taps->count ? "if (weight == weight) " : "");
}

/* VF_TAPS_s(F): F(0, dz, dy, dx) F(1, ...) ... */
static void add_taps(const struct vf_taps *taps, int s, struct vf_text *text)
{
    vf_text_add(text, "#define VF_TAPS_%d(F)", s);
    for (int t = 0; t < taps->count; t++)
        vf_text_add(text, " F(%d, %d, %d, %d)", t, taps->tap[t].dz, taps->tap[t].dy, taps->tap[t].dx);
    vf_text_add(text, "\n");
}

static void add_linear(const struct vf_stage *stage, int s, struct vf_text *text)
{
    if (!vf_is_looped(stage))
        add_taps(stage->taps, s, text);
    vf_text_add(text, "template <class C> VF_INLINE void vf_linear_%d(C &c)\n{\n", s);
    vf_text_add(text, "    VF_UNROLL for (int k = 0; k < %d; k++) {\n", stage->input_count);
    if (vf_is_looped_table(stage))
        add_table_loop(stage, text);
    else if (vf_is_looped(stage))
        add_tap_loop(stage->taps, vf_line_axis(stage), text);
    else
        vf_text_add(text, "    REAL sum = REAL(0);\n    VF_TAPS_%d(VF_SUM_TAP)\n", s);
    vf_text_add(text, "    c.put(k, sum);\n    }\n}\n");
}

/* Bodies, each once, and linear stages as functions. */
static void add_bodies(const struct vf_flow *flow, struct vf_text *text)
{
    for (int s = 0; s < flow->stage_count; s++) {
        const struct vf_stage *stage = &flow->stage[s];
        const struct vf_stencil *stencil = vf_stage_stencil(stage);
        bool first = true;
        for (int i = 0; i < s; i++)
            first = first && vf_stage_stencil(&flow->stage[i]) != stencil;
        if (stage->stencil == VF_STENCIL_LINEAR)
            add_linear(stage, s, text);
        else if (first && stencil->text != NULL)
            vf_text_add(text, "%s", stencil->text);
        else if (first)
            vf_text_add(text, "#include \"filters/stencils/%s.h\"\n", stencil->name);
    }
}

/* A bit for each number that is 1 whatever the image, such as the distance of voxels: the compiler leaves out
 * multiplications by it. */
static unsigned ones_of(const struct vf_stage *stage)
{
    unsigned ones = 0;
    for (int i = 0; stage->stencil != VF_STENCIL_LINEAR && i < VF_MAX_STENCIL_PARAMS; i++)
        ones |= (unsigned)(stage->global[i] == 0 && stage->param[i] == 1) << i;
    return ones;
}

/* Whether all that a stage reads are whole numbers of 16 bits at most, and its first parameters are such that
 * the squares of their differences times these are 0 or ordinary (kernels/stencil_quotient.h). */
static bool has_whole_steps(const struct vf_kernel_case *c, const struct vf_stage *stage)
{
    bool whole = !c->flow->is_double && has_small_inputs(c) && c->flow->boundary != VF_CONSTANT;
    for (int k = 0; k < stage->input_count; k++)
        whole = whole && vf_flow_is_source(c->flow, stage->input[k]);
    for (int i = 0; i < c->flow->dim && stage->stencil != VF_STENCIL_LINEAR; i++)
        whole = whole && stage->global[i] == 0 && stage->param[i] >= 0x1p-40 && stage->param[i] <= 0x1p16;
    return whole;
}

/* What schemes must know of stage s at compile time. */
static void add_stage(const struct vf_kernel_case *c, int s, struct vf_text *text)
{
    const struct vf_flow *flow = c->flow;
    const struct vf_stage *stage = &flow->stage[s];
    int number[VF_KERNEL_MOST_FIELDS], in[VF_MAX_INPUTS], out[VF_MAX_OUTPUTS], halo[3] = {0, 0, 0};
    vf_kernel_number_fields(flow, number);
    for (int k = 0; k < stage->input_count; k++) {
        int own[3];
        vf_stage_halo(stage, flow->dim, k, own);
        in[k] = number[stage->input[k]];
        for (int axis = 0; axis < 3; axis++)
            halo[axis] = own[axis] > halo[axis] ? own[axis] : halo[axis];
    }
    for (int k = 0; k < stage->output_count; k++)
        out[k] = number[stage->output[k]];
    vf_text_add(text, "struct vf_stage_%d {\n", s);
    vf_text_add(text,
                "enum { number = %d, inputs = %d, outputs = %d, halo_z = %d, halo_y = %d, halo_x = %d, "
                "first_param = %d, ones = %u, whole_steps = %d };\n",
                s, stage->input_count, stage->output_count, halo[0], halo[1], halo[2],
                vf_stage_first_param(flow, s), ones_of(stage), has_whole_steps(c, stage));
    vf_define_function("static VF_MEMBER constexpr int in", in, stage->input_count, text);
    vf_define_function("static VF_MEMBER constexpr int out", out, stage->output_count, text);
    vf_text_add(text, "template <class C> static VF_MEMBER void compute(C &c) { ");
    if (stage->stencil == VF_STENCIL_LINEAR)
        vf_text_add(text, "vf_linear_%d(c); }\n};\n", s);
    else
        vf_text_add(text, "body_%s(c); }\n};\n", vf_stage_stencil(stage)->name);
}

static void add_stages(const struct vf_kernel_case *c, struct vf_text *text)
{
    for (int s = 0; s < c->flow->stage_count; s++)
        add_stage(c, s, text);
    vf_define_each("VF_EACH_STAGE", 0, c->flow->stage_count, text);
}

enum vf_status vf_kernel_source(const struct vf_kernel_case *c, const struct vf_gpu_scheme *scheme,
                                const struct vf_kernel_config *config, struct vf_text *text,
                                struct vf_error *error)
{
    add_constants(c, scheme, config, text);
    vf_text_add(text, "#include \"kernels/device.h\"\n");
    add_memory(c, text);
    add_bodies(c->flow, text);
    add_stages(c, text);
    vf_text_add(text, "#include \"%s\"\n", scheme->file);
    return text->failed ? vf_fail(error, VF_FAILED, "out of memory for a kernel's text") : VF_OK;
}

void vf_case_source(const struct vf_kernel_case *c, struct vf_text *text)
{
    add_case_constants(c, text);
    add_memory(c, text);
    add_bodies(c->flow, text);
    add_stages(c, text);
}
