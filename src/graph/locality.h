/* locality.h: what a voxel of the result depends on, for a network with one input and one output that is applied to volumes in patches.
 *
 * Along each axis a tensor has a scale, voxels of the input from one of its elements to the next, and, where no layer looks at all of space, each element
 * depends on a range of the input's. Shifted by the total stride, or by a multiple of it, the whole network is shifted: it is the least number of voxels
 * that makes whole elements of every tensor. */
#ifndef PZ_GRAPH_LOCALITY_H
#define PZ_GRAPH_LOCALITY_H

#include "graph/graph.h"

typedef struct pz_locality {
  /* The first layer by which a result depends on all of the input, and in what way ("takes statistics over all of space"); PZ_NONE: there is none. */
  pz_node_id node;
  const char *why;
  bool known; /* what follows is; else the result is no map of the input, as classes are none */
  int64_t stride[PZ_SPATIAL]; /* the total stride */
  int64_t before
      [PZ_SPATIAL]; /* of a patch, from its first voxel to that of its result's first: as pz_infer places it */
  int64_t reach_lo
      [PZ_SPATIAL]; /* voxels in front of a result's own that it depends on, at most; not only through `node` */
  int64_t reach_hi[PZ_SPATIAL]; /* and behind it */
  int64_t coarser[PZ_SPATIAL],
      finer[PZ_SPATIAL]; /* the result's scale: coarser / finer voxels; 1 and 1: the input's */
  /* Sizes that are no multiples of the stride are ones that the network can be applied to, too: it has rules of its own for its far end. */
  bool any_size[PZ_SPATIAL];
  double multiply_adds; /* of the direct algorithm, for a voxel of the result, in a volume without end */
} pz_locality;

/* Of a network with one input and one output; of others `known` is false. Fails only when out of memory. */
pz_status pz_graph_locality(const pz_graph *g, pz_locality *locality, pz_error *err);

/* The same network for `in` voxels along one axis: the size of its result there, and what each node then does beside what it does in g, with which parts[node] is
 * multiplied. *fits: it can be applied to so many. Of a network whose locality is known. */
pz_status pz_graph_scale(const pz_graph *g, int32_t axis, int64_t in, int64_t *out, double *parts, bool *fits,
                         pz_error *err);

/* The same network for a patch of in[0] x in[1] x in[2] voxels: the size of its result, and the multiply-adds of the direct algorithm. *fits: it can be
 * applied to such a patch. Of a network whose locality is known. */
pz_status pz_graph_arithmetic(const pz_graph *g, const int64_t in[PZ_SPATIAL], int64_t out[PZ_SPATIAL],
                              double *multiply_adds, bool *fits, pz_error *err);

#endif
