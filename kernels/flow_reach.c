/* How far the stages of a flow reach in each field, added up from the last stage back. */
#include "kernels/scheme.h"

static void widen(int reach[3], const int by[3], const int halo[3])
{
    for (int axis = 0; axis < 3; axis++)
        if (by[axis] + halo[axis] > reach[axis])
            reach[axis] = by[axis] + halo[axis];
}

void vf_stages_reach(const struct vf_flow *flow, int begin, int end, int (*reach)[3])
{
    static const int none[3] = {0, 0, 0};
    for (int s = end - 1; s >= begin; s--) {
        const struct vf_stage *stage = &flow->stage[s];
        int made[3] = {0, 0, 0};
        for (int k = 0; k < stage->output_count; k++)
            widen(made, reach[stage->output[k]], none);
        for (int k = 0; k < stage->input_count; k++) {
            int halo[3];
            vf_stage_halo(stage, flow->dim, k, halo);
            widen(reach[stage->input[k]], made, halo);
        }
    }
}

int vf_sweeps_reach(const struct vf_flow *flow, int cut, int (*reach)[3])
{
    int most = 0;
    vf_stages_reach(flow, cut, flow->stage_count, reach);
    for (int s = 0; s < cut; s++)
        for (int k = 0; k < flow->stage[s].output_count; k++)
            most = reach[flow->stage[s].output[k]][0] > most ? reach[flow->stage[s].output[k]][0] : most;
    for (int s = 0; s < cut; s++)
        for (int k = 0; k < flow->stage[s].output_count; k++)
            reach[flow->stage[s].output[k]][0] = most;
    vf_stages_reach(flow, 0, cut, reach);
    return most;
}
