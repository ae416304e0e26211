/* exact_tile.h: a network made one for exact tiles of a volume: every result is what the evaluation of the whole volume gives.
 *
 * Each axis is treated in one of three ways:
 *   tile    the patch is what `out` results depend on, along which every layer makes only what later layers need (convolutions without padding);
 *   stream  runs follow each other along the axis, z alone: each is given `out` new planes; layers keep the planes that later results need (history);
 *   whole   as it was: the patch is as long as the volume.
 * Along tiles and streams a patch has a place, a second input of six numbers: z, y and x of where its results lie, each a multiple of the total
 * stride, and the size of the volume. Before a layer looks beyond a tensor's end, what lies outside of the whole volume's tensor there becomes what the
 * layer's own padding is (volume_border). So the same file takes tiles at any place of volumes of any size.
 * Where the sizes that the network can be applied to are multiples of the stride (pz_locality.any_size), the volume's is to be rounded up to one. */
#ifndef PZ_OPTIMISE_EXACT_TILE_H
#define PZ_OPTIMISE_EXACT_TILE_H

#include "graph/graph.h"

typedef enum pz_tile_way { PZ_TILE_WHOLE, PZ_TILE_TILE, PZ_TILE_STREAM } pz_tile_way;

typedef struct pz_exact_options {
  pz_tile_way way[PZ_SPATIAL];
  int64_t out[PZ_SPATIAL]; /* results of a run, a multiple of the total stride; not along whole axes */
} pz_exact_options;

/* Along each axis, for a patch at place p: its input is voxels p + first .. p + first + in - 1 of the volume, zeros outside of it; its results are those
 * of voxels p + result .. p + result + out - 1, of which those outside of the volume are nothing. */
typedef struct pz_exact_tile {
  pz_tile_way way[PZ_SPATIAL];
  int64_t in[PZ_SPATIAL], out[PZ_SPATIAL], first[PZ_SPATIAL], result[PZ_SPATIAL];
  int64_t before
      [PZ_SPATIAL]; /* voxels by which the network's result is smaller at each end: the volume's size is to be told with them */
} pz_exact_tile;

/* *tile is the caller's. A network that looks at all of space, or has a layer of which no tiles are made, is PZ_ERROR_INPUT, which names the layer. */
pz_status pz_exact_tile_make(const pz_graph *g, const pz_exact_options *options, pz_graph **tile,
                             pz_exact_tile *facts, pz_error *err);

/* What such a tile's run costs, without making it. parts[axis]: of each node of g what a run makes along the axis as a part of all that g does there, 1 along axes
 * left whole; multiplied with each other and with the node's multiply-adds it is the run's. Room for n_nodes of each axis; errors as above. */
pz_status pz_exact_tile_parts(const pz_graph *g, const pz_exact_options *options,
                              double *const parts[PZ_SPATIAL], pz_exact_tile *facts, pz_error *err);

#endif
