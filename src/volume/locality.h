/* locality.h: what a network file's manifest says of what a result depends on (emit/locality.h), and what a grid of patches costs beside the ideal. */
#ifndef PZ_VOLUME_LOCALITY_H
#define PZ_VOLUME_LOCALITY_H

#include "base/arena.h"
#include "volume/grid.h"

enum { PZ_LARGER_PATCHES = 4 };

typedef struct pz_larger_patch {
  int64_t in[3], out[3];
  double multiply_adds; /* of a run */
} pz_larger_patch;

/* All zero where the file says nothing of it, as those of an older pznet. Along z, y and x. */
typedef struct pz_network_locality {
  bool known;      /* what a result depends on; without it all below but the layer is 0 */
  char layer[128]; /* that looks at all of space, as it is printed; "": there is none */
  char why[80];    /* "takes statistics over all of space" */
  int64_t stride[3], before[3], behind[3];
  int64_t coarser[3], finer[3];
  bool any_size[3];
  double ideal; /* multiply-adds for a voxel of the result, in a volume without end */
  double run;   /* of a run */
  pz_larger_patch larger[PZ_LARGER_PATCHES];
  int n_larger;
} pz_network_locality;

/* Of a manifest; what is not as it should be counts as not known. */
void pz_network_locality_read(const char *manifest, pz_network_locality *locality);

/* Of a network for exact tiles (optimise/exact_tile.h), along z, y and x: for a patch at place p its input is voxels p + first .. of the volume, `in` of them,
 * its results those of voxels p + result .., `out` of them. */
typedef struct pz_network_tiles {
  bool exact;     /* it is one */
  bool stream[3]; /* runs follow each other along this axis */
  bool whole
      [3]; /* a run makes all of the volume, which has to have the size that the network was compiled for */
  int64_t in[3], out[3], first[3], result[3];
  int64_t volume[3]; /* the size that it was compiled for, or all 0 */
  int64_t before
      [3]; /* by which the network's result is smaller at each end; 0: it looks at zeros beyond the volume */
} pz_network_tiles;

/* Of a manifest that a network file has; what is not as it should be is PZ_ERROR_INPUT. */
pz_status pz_network_tiles_read(const char *path, const char *manifest, pz_network_tiles *tiles,
                                pz_error *err);

/* The size that such a network is told of a volume of so many voxels along an axis: with what it looks at beyond, and up to what it can be applied to. */
int64_t pz_network_size(const pz_network_tiles *t, const pz_network_locality *l, int axis, int64_t voxels);

/* How many times the ideal arithmetic so many runs for so many voxels are; 0: not known. */
double pz_arithmetic(const pz_network_locality *l, double runs, double voxels);

/* The least of the larger patches that costs a quarter less than `times` with an overlap of as many voxels; NULL: there is none. rule: of the grid, for
 * patches of `out`. *costs: how many times the ideal. */
const pz_larger_patch *pz_larger_patch_find(const pz_network_locality *l, const int64_t size[3],
                                            const int64_t out[3], const pz_grid_rule *rule, double times,
                                            double *costs);

#endif
