/* What every scheme that sweeps shallow cases is checked with. */
#ifndef VF_TESTS_TILE_CASES_H
#define VF_TESTS_TILE_CASES_H

#include "device.h"

/* A tile's size along x, y, z, for shapes around it. */
struct tile_size {
    int x, y, z;
};

/* Runs `chain` with every scheme over shapes below, at and above the halo and the tile. */
void check_shapes(const char *chain, enum vf_boundary boundary, struct tile_size tile,
                  const char *const *scheme);

/* Each stored type, in and out, under `boundary`. */
void check_types(enum vf_boundary boundary, const char *const *scheme);

/* Computing in double; images of a stack (2D); several iterations with fluxes that stop at the faces. */
void check_double(const char *const *scheme);
void check_slices(struct tile_size tile, const char *const *scheme);
void check_fluxes(const char *const *scheme);

#endif
