/* bands.h: chains of layers that run band by band (find_bands.c: which and when; build_bands.c: their steps). */
#ifndef PZ_PLACE_BANDS_H
#define PZ_PLACE_BANDS_H

#include "place/place.h"

/* In low-memory plans (inplace_conv.c), results of fewer bytes stay whole: their bands would be of few rows (doc/notes/2026-11-28-memory.md). */
#define PZ_INPLACE_LEAST    (6 << 20)
#define PZ_LOW_MEMORY_BANDS 6 /* at least, of larger ones */

/* Sizes of bands were measured with two workers (doc/notes/2026-11-28-memory.md). More do as much each between two barriers, so their bands are
 * larger (doc/notes/2026-11-29-threads.md); not where the smallest are asked for, or memory is bound and has no room. */
static inline double pz_band_growth(const pz_plan *plan) {
  if (plan->small_bands || plan->fuse_rows == PZ_FUSE_ROWS_ALWAYS || plan->target.workers <= 2) return 1;
  return plan->target.workers / 2.0;
}

/* A layer of a chain. Rows are counted along the height of its result. */
typedef struct pz_band_member {
  pz_node_id node;
  int32_t unit;       /* rows come in multiples of this */
  bool line_buffered; /* only the rows of the result that are needed are kept */
  bool replaces;      /* the result overwrites the sum that it starts from */
  int64_t *end;       /* by band: so many rows are made when it is done */
  int64_t *start;     /* line buffers, by band: the first row that is held; below 0: zero border */
  int64_t extent;     /* line buffers: rows that there is room for */
  int64_t run;        /* a solver is asked for so many rows at a time, and then for the rest of them */
  pz_layout layout;
  int32_t storage;                     /* of the whole result or of the line buffer */
  int64_t weights[2], weight_bytes[2]; /* as packed for the first run, and last; -1: not yet */
} pz_band_member;

typedef struct pz_band_chain {
  bool wanted;
  int64_t
      shift; /* not 0: one convolution, whose result lies over its input, so many rows away (inplace_conv.c) */
  pz_plan *plan;
  pz_node_id first;
  pz_band_member
      *members; /* `layers` of neighbouring nodes, then crops of their results, which stand anywhere behind */
  int32_t layers, n;
  int32_t bands, rows; /* rows of the last layer in a band */
} pz_band_chain;

/* The chain that begins with node `first`, with its schedule; n is 0 where there is none that keeps less. */
pz_status pz_bands_find(pz_plan *plan, pz_node_id first, pz_band_chain *chain, pz_error *err);
/* Bytes of a chain's weights that are read again, as far as they are far, and of normalisations that its layers take no part in, less those that lie
 * between its layers and are never written and read. Known when its steps have been built. */
double pz_bands_again(const pz_band_chain *chain);
/* Reading a chain's weights once a band costs more than half of what is saved by not writing and reading what lies between
 * its layers. Known when its steps have been built. */
bool pz_bands_cost(const pz_band_chain *chain);
/* The steps of all members. */
pz_status pz_bands_build(pz_plan *plan, pz_band_chain *chain, pz_error *err);
/* The calls of member i that make `rows` rows of its result from row `first` on, in band k. Weights that come out as those of
 * the run before are kept once. */
pz_status pz_bands_build_rows(pz_plan *plan, pz_band_chain *chain, int32_t i, int32_t k, int64_t first,
                              int64_t rows, pz_step *step, pz_error *err);

/* Node n would collect moments of its result, for the normalisation that reads it. Where memory comes first it does so only outside of chains. */
static inline bool pz_collects(const pz_plan *plan, pz_node_id n) {
  return plan->problems[n].epilogue.norm_stats && plan->fuse_rows != PZ_FUSE_ROWS_ALWAYS;
}
/* Whether node n's result could lie in the memory of its input. */
bool pz_may_be_inplace(const pz_plan *plan, pz_node_id n);
/* Sets rows and bands of a chain of one convolution that does so; n is 0 where it is too small to be worth it. */
void pz_inplace_conv_find(pz_band_chain *chain);
/* What the storages made for tensors are to have, so that those that replace them fit: plan->extents. */
void pz_inplace_conv_extents(pz_plan *plan);
/* Sets their lanes (channels_last.c). */
void pz_choose_channels_last(pz_plan *plan);
/* Its step; *done: there was room. */
pz_status pz_inplace_conv_build(pz_plan *plan, pz_band_chain *chain, bool *done, pz_error *err);

static inline const pz_node *pz_band_node(const pz_band_chain *c, int32_t i) {
  return &c->plan->graph->nodes[c->members[i].node];
}
/* The member that makes `id`, -1: none of them. */
static inline int32_t pz_band_maker(const pz_band_chain *c, pz_tensor_id id) {
  for (int32_t i = 0; i < c->n; i++)
    if (pz_band_node(c, i)->out[0] == id) return i;
  return -1;
}
static inline int64_t pz_band_height(const pz_plan *plan, pz_tensor_id id) {
  return pz_shape_as5(&plan->graph->tensors[id].shape).s[1];
}

#endif
