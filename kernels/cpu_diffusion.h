/* diffusion_step in 3D as its flux comes, for kernels/cpu_bodies.c: the formulae are the body's
 * (filters/stencils/diffusion_step.h), included before, whose words PARAM, OPEN_LO and OPEN_HI read the
 * locals `param`, `row` and `to`. */
#ifndef VF_CPU_DIFFUSION_H
#define VF_CPU_DIFFUSION_H

#include "kernels/cpu_vector.h"

#if DIM == 3
/* What PARAM reads. */
#define STEP_PARAMS(row)                                                                                  \
    const REAL param[] = {(REAL)(row)->param[VF_PDE_INVERSE_H], (REAL)(row)->param[VF_PDE_INVERSE_H + 1], \
                          (REAL)(row)->param[VF_PDE_INVERSE_H + 2], (REAL)(row)->param[VF_PDE_DT]}

static void take_flux(const struct vf_diffusion_row *of)
{
    const struct vf_diffusion_row own = *of, *const row = &own;
    const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES;
    const REAL *const dx = row->diagonal[VF_X], *const cross_x = row->cross[VF_X];
    const REAL *const dy = row->diagonal[VF_Y], *const cross_y = row->cross[VF_Y];
    const REAL *const u = row->u, *const u_before = row->u_before;
    REAL *const face_x = row->face_x, *const face_y = row->face_y, *const inflow_x = row->inflow_x;
    REAL *const dy_before = row->diagonal_y, *const cross_before = row->cross_y,
                *const inflow = row->inflow_before;
    STEP_PARAMS(row);
    VF_OVER_ROW for (ptrdiff_t i = -VF_LANES; i < n; i++) face_x[i] =
        VF_FLUX_BETWEEN(VF_X, dx[i], dx[i + 1], cross_x[i], cross_x[i + 1], u[i], u[i + 1]);
    VF_OVER_ROW for (ptrdiff_t to = 0; to < n; to++)
    {
        const REAL above =
            VF_FLUX_BETWEEN(VF_Y, dy_before[to], dy[to], cross_before[to], cross_y[to], u_before[to], u[to]);
        inflow[to] = VF_INFLOW_BETWEEN(VF_Y, face_y[to], above) + inflow_x[to];
        inflow_x[to] = VF_INFLOW_BETWEEN(VF_X, face_x[to - 1], face_x[to]);
        face_y[to] = above;
        dy_before[to] = dy[to];
        cross_before[to] = cross_y[to];
    }
}

static void step_below(const struct vf_diffusion_row *of)
{
    const struct vf_diffusion_row own = *of, *const row = &own;
    const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES;
    const REAL *const dz = row->diagonal[VF_Z], *const cross_z = row->cross[VF_Z];
    const REAL *const u = row->u, *const u_below = row->u_below, *const inflow = row->inflow;
    REAL *const dz_below = row->diagonal_z, *const cross_below = row->cross_z, *const face_z = row->face_z;
    STEP_PARAMS(row);
    for (ptrdiff_t at = 0; at < n; at += VF_LANES) {
        REAL result[VF_LANES];
        VF_OVER_LANES for (int lane = 0; lane < VF_LANES; lane++)
        {
            const ptrdiff_t to = at + lane;
            const REAL above =
                VF_FLUX_BETWEEN(VF_Z, dz_below[to], dz[to], cross_below[to], cross_z[to], u_below[to], u[to]);
            const REAL sum = VF_INFLOW_BETWEEN(VF_Z, face_z[to], above) + inflow[to];
            result[lane] = VF_DIFFUSED(u_below[to], sum);
            face_z[to] = above;
            dz_below[to] = dz[to];
            cross_below[to] = cross_z[to];
        }
        put_vector(row->out, at, vf_vector_load(result), row->place);
    }
}
#endif

#endif
