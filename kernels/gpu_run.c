#include "kernels/gpu_run.h"

#include "src/size.h"

int vf_run_parts(int reach, int run)
{
    return (2 * reach + 2 * run - 1) / run;
}

int vf_row_pad(const struct vf_kernel_case *c)
{
    return (int)vf_ceil_div(c->halo[2], vf_kernel_pack(c)) * vf_kernel_pack(c);
}

ptrdiff_t vf_row_cells(const struct vf_kernel_case *c, const struct vf_kernel_config *config)
{
    const ptrdiff_t run = config->work[0],
                    runs = vf_ceil_div(config->block[0] * run + 2 * (ptrdiff_t)vf_row_pad(c), run);
    return runs * (run + vf_kernel_pack(c));
}

const char *vf_run_limits(const struct vf_kernel_case *c, const struct vf_gpu *gpu,
                          const struct vf_kernel_config *config, size_t shared, int registers)
{
    const char *const reason = vf_kernel_limits(c, gpu, config, shared);
    if (reason != NULL)
        return reason;
    return registers > VF_THREAD_REGISTERS ? "work needs more registers than a thread has" : NULL;
}

const char *vf_fields_refuse(const struct vf_kernel_case *c, const struct vf_stage *stage)
{
    const struct vf_flow *flow = c->flow;
    for (int k = 0; k < stage->input_count; k++)
        if (stage->input_count != flow->source_count || stage->input_count != flow->sink_count ||
            flow->source[k] != stage->input[k] || flow->sink[k] != stage->output[k])
            return "what is read and written must be the stage's own fields";
    for (int k = 1; k < stage->input_count; k++)
        if (c->source_type[k] != c->source_type[0] || c->sink_type[k] != c->sink_type[0])
            return "its fields have different types";
    return NULL;
}

int vf_whole_steps(ptrdiff_t places, int step)
{
    return (int)vf_smaller(vf_ceil_div(places, step), VF_MOST_STREAM / step) * step;
}

void vf_candidates_add_chunks(struct vf_candidate_list *list, const struct vf_kernel_config *like, int axis,
                              ptrdiff_t least)
{
    static const int chunks[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64};
    const int step = like->block[axis] * like->work[axis];
    const ptrdiff_t places = axis == 1 ? list->c->ny : list->c->nz;
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        const ptrdiff_t chunk = vf_ceil_div(places, chunks[i]);
        struct vf_kernel_config config = *like;
        config.stream = vf_whole_steps(chunk, step);
        if (i > 0 && chunk < least)
            break;
        vf_candidate_add(list, &config);
    }
}

void vf_count_whole_lines(struct vf_kernel_traffic *traffic)
{
    const double sectors = traffic->read_sectors + traffic->halo_sectors[0] + traffic->halo_sectors[1] +
                           traffic->halo_sectors[2] + traffic->written_sectors;
    traffic->global_wavefronts = sectors * VF_SECTOR_BYTES / VF_LINE_BYTES;
}

void vf_define_least_blocks(const struct vf_kernel_config *config, int registers, struct vf_text *text)
{
    enum { MOST = 32 };
    const int threads = config->block[0] * config->block[1] * config->block[2],
              blocks = VF_SM_REGISTERS / (registers * threads);
    vf_text_add(text, "#define VF_LEAST_BLOCKS %d\n", blocks < 1 ? 1 : blocks < MOST ? blocks : MOST);
}
