/* grid.h: where patches lie.
 *
 * Along an axis of n voxels, output patches of `out` voxels begin every out - overlap voxels; the last one is moved
 * inward so that it ends at the volume's border. A volume shorter than a patch has one patch, which begins at 0
 * and reaches beyond the border; what is beyond is filled on the way in and cropped on the way out.
 *
 * An input patch is `in` >= out voxels and begins (in - out) / 2, rounded down, before its output patch: the output of
 * a valid network is the centre of its input.
 *
 * Beyond the volume the input is mirrored without repeating the edge (... 2 1 | 0 1 2 ...; a volume one voxel wide
 * repeats that voxel), or zero. */
#ifndef PZ_VOLUME_GRID_H
#define PZ_VOLUME_GRID_H

#include "base/status.h"

typedef struct pz_axis {
  int64_t size, in, out, overlap; /* given */
  int64_t count, step, before;    /* patches, output voxels from one to the next, margin before the output */
} pz_axis;

typedef struct pz_grid {
  pz_axis axis[3]; /* z, y, x */
} pz_grid;

pz_status pz_grid_make(const int64_t size[3], const int64_t in[3], const int64_t out[3],
                       const int32_t overlap[3], pz_grid *grid, pz_error *err);
int64_t pz_grid_patches(const pz_grid *grid);

/* The first output voxel of patch k. */
static inline int64_t pz_axis_start(const pz_axis *a, int64_t k) {
  const int64_t last = a->size > a->out ? a->size - a->out : 0;
  return k * a->step < last ? k * a->step : last;
}
/* Output voxels of a patch that are inside the volume. */
static inline int64_t pz_axis_inside(const pz_axis *a) { return a->out < a->size ? a->out : a->size; }

/* At most how many patches cover a voxel of the axis. */
int64_t pz_axis_coverage(const pz_axis *a);
/* The patches first..*last that cover voxel i. */
int64_t pz_axis_covering(const pz_axis *a, int64_t i, int64_t *last);

/* The voxel that stands for i, which may be anything: i itself inside 0..n-1. */
int64_t pz_mirror(int64_t i, int64_t n);

/* The input voxels first..*last of the volume that patch k reads; with `mirror` the mirrored ones too. */
int64_t pz_axis_needs(const pz_axis *a, int64_t k, bool mirror, int64_t *last);

#endif
