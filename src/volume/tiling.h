/* tiling.h: named presets of overlap, placement, weights and border, as other packages have them (doc/volumes-tilings.md). */
#ifndef PZ_VOLUME_TILING_H
#define PZ_VOLUME_TILING_H

#include "volume/blend.h"
#include "volume/grid.h"
#include "volume/locality.h"

typedef struct pz_tiling_rules {
  pz_grid_rule grid;
  pz_weights weights;
  bool mirror; /* beyond the volume: mirrored; else zero */
  bool half;   /* sums in half precision */
  bool
      divided; /* integers of all kinds are divided by their greatest value where AUTO chooses the normalisation */
  int flips;       /* runs of the network for a patch */
  uint8_t flip[8]; /* their flipped axes: bit 0: z, 1: y, 2: x; the first is 0 */
} pz_tiling_rules;

/* What `options` mean for a network with such patches. `planar`: it is a 2D network, whose axes are y and x. A contradiction
 * is PZ_ERROR_USAGE. */
pz_status pz_tiling_resolve(const pz_infer_options *options, const int64_t in[3], const int64_t out[3],
                            bool planar, pz_tiling_rules *rules, pz_error *err);

/* The same for a network for exact tiles. */
pz_status pz_tiling_exact(const pz_infer_options *options, const pz_network_tiles *tiles,
                          const pz_network_locality *locality, pz_tiling_rules *rules, pz_error *err);

#endif
