/* diffusion_step in 3D as its flux comes, for kernels/cpu_rows.c: the formulae are the body's
 * (filters/stencils/diffusion_step.h). */
#ifndef VF_CPU_DIFFUSION_H
#define VF_CPU_DIFFUSION_H

#include "kernels/cpu_vector.h"

#if DIM == 3
#define ROW_PARAMS(row)                  \
    REAL param[VF_PDE_DT + 1];           \
    for (int k = 0; k <= VF_PDE_DT; k++) \
    param[k] = (REAL)(row)->param[k]

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
    ROW_PARAMS(row);
    VF_OVER_ROW for (ptrdiff_t i = -VF_LANES; i < n; i++) face_x[i] =
        VF_FLUX_BETWEEN(VF_X, dx[i], dx[i + 1], cross_x[i], cross_x[i + 1], u[i], u[i + 1]);
    VF_OVER_ROW for (ptrdiff_t i = 0; i < n; i++)
    {
        const ptrdiff_t to = i;
        const REAL above =
            VF_FLUX_BETWEEN(VF_Y, dy_before[i], dy[i], cross_before[i], cross_y[i], u_before[i], u[i]);
        inflow[i] = VF_INFLOW_BETWEEN(VF_Y, face_y[i], above) + inflow_x[i];
        inflow_x[i] = VF_INFLOW_BETWEEN(VF_X, face_x[i - 1], face_x[i]);
        face_y[i] = above;
        dy_before[i] = dy[i];
        cross_before[i] = cross_y[i];
    }
}

static void step_below(const struct vf_diffusion_row *of)
{
    const struct vf_diffusion_row own = *of, *const row = &own;
    const ptrdiff_t n = (row->n + VF_LANES - 1) & -(ptrdiff_t)VF_LANES;
    const REAL *const dz = row->diagonal[VF_Z], *const cross_z = row->cross[VF_Z];
    const REAL *const u = row->u, *const u_below = row->u_below, *const inflow = row->inflow;
    REAL *const dz_below = row->diagonal_z, *const cross_below = row->cross_z, *const face_z = row->face_z;
    ROW_PARAMS(row);
    for (ptrdiff_t at = 0; at < n; at += VF_LANES) {
        REAL result[VF_LANES];
        VF_OVER_LANES for (int lane = 0; lane < VF_LANES; lane++)
        {
            const ptrdiff_t i = at + lane, to = i;
            const REAL above =
                VF_FLUX_BETWEEN(VF_Z, dz_below[i], dz[i], cross_below[i], cross_z[i], u_below[i], u[i]);
            const REAL sum = VF_INFLOW_BETWEEN(VF_Z, face_z[i], above) + inflow[i];
            result[lane] = VF_STEPPED(u_below[i], sum);
            face_z[i] = above;
            dz_below[i] = dz[i];
            cross_below[i] = cross_z[i];
        }
        put_vector(row->out, at, vf_vector_load(result), row->place);
    }
}
#endif

#endif
