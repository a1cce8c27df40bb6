/* What every scheme that sweeps shallow cases is checked with, against the reference's bits. */
#ifndef VF_TESTS_TILE_CASES_H
#define VF_TESTS_TILE_CASES_H

#include "device.h"
#include "flow_case.h"

/* A tile's size along x, y, z, for shapes around it. */
struct tile_size {
    int x, y, z;
};

/* Weights on volumes, whole and as slabs, below, at and above the halo and the tile. */
void check_volumes(enum flow_taps shape, int radius, enum vf_boundary boundary, struct tile_size tile,
                   const char *const *scheme);

/* The same on images. */
void check_images(enum flow_taps shape, int radius, enum vf_boundary boundary, struct tile_size tile,
                  const char *const *scheme);

/* Each stored type, in and out. */
void check_types(const char *const *scheme);

/* Results of 8 and 16 bits of sums that are NaN, infinite, and of all magnitudes. */
void check_small_results(const char *const *scheme);

/* Computing in double; fluxes that stop at the faces, of seven inputs; inputs with halos along different
 * axes, in a slab; inputs of which one alone has a halo. `light` is for the bodies, of seven inputs. */
void check_inputs(const char *const *scheme, const char *const *light);

#endif
