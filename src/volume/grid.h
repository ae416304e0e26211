/* grid.h: where patches lie.
 *
 * Along an axis output patches of `out` voxels are placed on a stretch of the volume, its span: all of it, or, for a
 * grid of whole inputs, what is left when each end loses the margin (in - out) / 2 that the network looks beyond its
 * output. Two placements:
 *
 *   flush  patches begin every `step` voxels; the last one is moved inward so that it ends with the span.
 *   even   the fewest patches whose distance is at most `step`, spread evenly: patch k of n begins at k * (span - out) /
 *          (n - 1), rounded to the nearest, halves to the even number.
 *
 * A span shorter than a patch has one patch. It begins where the span begins, or, centred, (out - span) / 2 before it,
 * rounded down, and reaches beyond the border: what is beyond is filled on the way in and cropped on the way out.
 *
 * The result is the volume without `crop` voxels at each end; patches that lie outside it are left out. Positions of
 * patches are relative to the result's first voxel, so that the first may be negative.
 *
 * An input patch is `in` >= out voxels and begins (in - out) / 2, rounded down, before its output patch: the output of
 * a valid network is the centre of its input.
 *
 * Beyond the volume the input is mirrored without repeating the edge (... 2 1 | 0 1 2 ...; a volume one voxel wide
 * repeats that voxel), or zero. */
#ifndef PZ_VOLUME_GRID_H
#define PZ_VOLUME_GRID_H

#include "base/status.h"

/* How patches are placed. Zero for all but `step` is the default of pznet. */
typedef struct pz_grid_rule {
  double step
      [3]; /* voxels from a patch to the next, at least 1, at most the output patch; whole numbers unless even */
  int64_t crop[3];
  bool even, centred;
  bool whole_inputs; /* input patches lie inside the volume; crop is at least the margin */
  /* Exact tiles: patch k is at place k * out, its input begins at place + first, its results are those from place + result on. Along streams each patch
   * is run behind the one before it, and those that end before the result are run too, up to `warm` voxels before it. */
  bool exact, stream[3];
  int64_t first[3], from[3], warm[3];
} pz_grid_rule;

typedef struct pz_axis {
  int64_t size, in, out;  /* of the volume, of an input patch, of an output patch */
  int64_t result, origin; /* voxels of the result; its first voxel in the volume */
  int64_t before;         /* margin of an input patch before its output */
  int64_t count;          /* patches */
  int64_t step, free; /* flush: voxels from one to the next; the place of the last patch of the whole span */
  double even;        /* even: voxels from one to the next; else 0 */
  int64_t skip, low;  /* patches left out at the beginning; what is subtracted from a place */
  int64_t warm;       /* of streams: patches that are run before the first whose result is wanted; else 0 */
} pz_axis;

typedef struct pz_grid {
  pz_axis axis[3]; /* z, y, x */
} pz_grid;

pz_status pz_grid_make(const int64_t size[3], const int64_t in[3], const int64_t out[3],
                       const pz_grid_rule *rule, pz_grid *grid, pz_error *err);
int64_t pz_grid_patches(const pz_grid *grid);

/* The first output voxel of patch k in the result, which may be outside it. */
int64_t pz_axis_start(const pz_axis *a, int64_t k);
/* Of exact tiles: the place of patch k in the volume. */
int64_t pz_axis_place(const pz_axis *a, int64_t k);
/* The part begin..end-1 of the result that patch k covers. */
static inline int64_t pz_axis_begin(const pz_axis *a, int64_t k) {
  const int64_t start = pz_axis_start(a, k);
  return start > 0 ? start : 0;
}
static inline int64_t pz_axis_end(const pz_axis *a, int64_t k) {
  const int64_t end = pz_axis_start(a, k) + a->out;
  return end < a->result ? end : a->result;
}
/* The first voxel of input patch k in the volume, which may be outside it. */
static inline int64_t pz_axis_input(const pz_axis *a, int64_t k) {
  return pz_axis_start(a, k) + a->origin - a->before;
}

/* The axis of voxels begin..end-1 of the result alone: the patches that cover them, and places relative to `begin`. Each of its voxels is covered
 * by the same patches in the same order as before. */
pz_axis pz_axis_part(const pz_axis *whole, int64_t begin, int64_t end);

/* At most how many patches cover a voxel of the result. */
int64_t pz_axis_coverage(const pz_axis *a);
/* The patches first..*last that cover voxel i of the result. */
int64_t pz_axis_covering(const pz_axis *a, int64_t i, int64_t *last);

/* The voxel that stands for i, which may be anything: i itself inside 0..n-1. */
int64_t pz_mirror(int64_t i, int64_t n);

/* The input voxels first..*last of the volume that patch k reads; with `mirror` the mirrored ones too. */
int64_t pz_axis_needs(const pz_axis *a, int64_t k, bool mirror, int64_t *last);
/* The same of all patches together. */
int64_t pz_axis_reads(const pz_axis *a, bool mirror, int64_t *last);

#endif
