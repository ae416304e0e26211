/* blocks.h: a result that is made block by block.
 *
 * A block is a box of the result: all of its planes, and a part along y and x. It is computed by itself, from the patches of the whole grid
 * that cover it, so that it has the bits of the whole. Patches that reach into two blocks are computed for both; what blocks cost is
 * counted here. Blocks begin at multiples of what is written at once (a chunk, a shard), or, where that is of no account, where patches
 * begin, since then the fewest of them reach into two blocks. */
#ifndef PZ_VOLUME_BLOCKS_H
#define PZ_VOLUME_BLOCKS_H

#include "base/arena.h"
#include "pznet/pznet.h"
#include "volume/grid.h"

/* Where blocks begin along an axis. */
typedef struct pz_cuts {
  int64_t n, *at;   /* at[0] = 0 .. at[n] = the result's size */
  int64_t most_out; /* voxels of the largest part */
  int64_t most_in;  /* of input that a part reads at most */
  int64_t patches;  /* of all parts: those in two count twice */
  int64_t reads;    /* voxels of input that parts read, likewise */
} pz_cuts;

/* About `wanted` parts, no more than that, which begin at multiples of `align` (1: where patches begin). PZ_ERROR_MEMORY. */
pz_status pz_cuts_make(pz_arena *arena, const pz_axis *axis, int64_t wanted, int64_t align, bool mirror,
                       pz_cuts *cuts, pz_error *err);

/* A part for each patch, which must not overlap. */
pz_status pz_cuts_by_patch(pz_arena *arena, const pz_axis *axis, bool mirror, pz_cuts *cuts, pz_error *err);

/* Of the part with the most patches. */
int64_t pz_cuts_most(const pz_axis *axis, const pz_cuts *cuts);

typedef struct pz_block {
  int64_t index;
  pz_box result;   /* its place in the result */
  pz_grid grid;    /* its patches, whose places are relative to its first voxel */
  pz_box input;    /* what they read of the volume that is tiled */
  pz_box own;      /* a part of that: own boxes of blocks do not overlap */
  int64_t patches; /* of a layer */
} pz_block;

/* Block `index` in the order of y, then x. grid: of the whole result. */
void pz_block_make(const pz_grid *grid, const pz_cuts *y, const pz_cuts *x, int64_t index, bool mirror,
                   pz_block *block);

#endif
