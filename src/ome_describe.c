/* What OME-XML says of the volume and its voxels. */
#include <ctype.h>
#include <string.h>

#include "io_tags.h"
#include "number.h"
#include "ome.h"

/* The first size that is said gives the unit; others are converted to it, or unknown where they cannot be. */
void vf_ome_describe(const struct vf_ome *ome, struct vf_info *info)
{
    bool begun = false;
    info->shape.nz = ome->nz;
    info->shape.nc = ome->nc;
    info->shape.nt = ome->nt;
    for (int i = 0; i < 4 && strcmp(ome->order, "XYCZT") != 0; i++)
        info->page_order[i] = (char)tolower((unsigned char)ome->order[2 + i]);
    for (int axis = 0; axis < 3; axis++) {
        const char *unit = "";
        double scale = 1;
        vf_unit_by_name(ome->unit[axis], &unit, &scale);
        if (ome->spacing[axis] == 0)
            continue;
        if (!begun)
            strcpy(info->unit, unit);
        else if (strcmp(unit, info->unit) != 0) {
            if (unit[0] == '\0' || info->unit[0] == '\0')
                continue;
            scale *= vf_unit_nanometres(unit) / vf_unit_nanometres(info->unit);
        }
        begun = true;
        info->spacing_known[axis] = true;
        info->spacing[axis] = ome->spacing[axis] * scale;
    }
}
