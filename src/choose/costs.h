/* costs.h: the two tables that choosing stands on (NeoCPU 3.3.2): what each candidate of each node costs, and on each edge what it costs to
 * bring the tensor from the layout that one node writes to the one that the next reads. They are data: whoever chooses reads them, and knows
 * neither solvers nor problems. The global search (choose.c) is their reader. */
#ifndef PZ_CHOOSE_COSTS_H
#define PZ_CHOOSE_COSTS_H

#include "plan/chosen.h"

/* A candidate as the tables have it. */
typedef struct pz_priced {
  double cost;       /* seconds, where anything was timed; else the cost model's multiply-adds of vectors */
  pz_layout in, out; /* in: of most inputs (pz_edge.reads) */
  bool any_layout;   /* reads its inputs in whichever layout there is */
  bool timed;        /* the cost is a time, not a guess */
  bool counted;      /* it is of amounts, not a rank: conversions can be weighed against it */
  bool pools;        /* convolutions: the epilogue's pooling is done with it, and has no step of its own */
} pz_priced;

/* A computed tensor on its way. */
typedef struct pz_edge {
  pz_tensor_id tensor;
  pz_node_id from,
      to; /* PZ_NONE: the network's caller, who has and wants it NCHW; constants too come from there */
  pz_reads reads; /* of `to` */
  double transform
      [2]
      [2]; /* [layout that it is written in][that it is read in], in the unit of costs; 0 where they are one */
  /* More than 0: `to` is the pooling that the epilogue of `from` is told of, and its own step is expected to cost this. */
  double pooling;
} pz_edge;

typedef struct pz_costs {
  int32_t n_nodes, n_edges;
  const pz_priced *const *node; /* [node][candidate], as in the plan's choices */
  const int32_t *candidates;    /* by node: how many */
  const int32_t *forced; /* by node: what the plan's chooser says: a candidate, PZ_BY_COST or PZ_BY_TIME */
  const pz_edge *edges;
  /* Edges into node n: edges[into[n]] to edges[into[n + 1] - 1]; those into PZ_NONE come last. Edges out of it: edges[out_of[i]], i from first_out[n]
   * to first_out[n + 1] - 1, those of one tensor together. */
  const int32_t *into, *out_of, *first_out;
  double byte; /* what reading a byte of memory costs */
} pz_costs;

/* Finds the candidates of all nodes that the bound on the error leaves, with their times as the options' chooser knows them, into
 * plan->choices, and the tables, in the plan's arena. */
pz_status pz_costs_of(pz_plan *plan, const pz_plan_options *options, pz_costs *costs, pz_error *err);

/* What it costs to convert a tensor, in multiply-adds of vectors at peak. */
double pz_transform_cost(const pz_shape *shape, const pz_target *target, pz_layout from, pz_layout to);

/* Edges cost the same with either candidate of a node. */
static inline bool pz_priced_alike(const pz_priced *a, const pz_priced *b) {
  return a->in == b->in && a->out == b->out && a->any_layout == b->any_layout && a->pools == b->pools;
}

/* The layouts at the ends of an edge, with candidate i of `from` and candidate j of `to`. */
static inline pz_layout pz_edge_written(const pz_costs *c, const pz_edge *e, int32_t i) {
  return e->from == PZ_NONE ? PZ_NCHW : c->node[e->from][i].out;
}
static inline pz_layout pz_edge_read(const pz_costs *c, const pz_edge *e, int32_t i, int32_t j) {
  if (e->to == PZ_NONE || e->reads == PZ_READS_NCHW) return PZ_NCHW;
  const pz_priced *to = &c->node[e->to][j];
  if (e->reads == PZ_READS_OUT) return to->out;
  return to->any_layout ? pz_edge_written(c, e, i) : to->in;
}
/* cost[layout][layout] of an edge. */
static inline double pz_edge_cost(const pz_costs *c, const pz_edge *e, int32_t i, int32_t j) {
  return e->transform[pz_edge_written(c, e, i)][pz_edge_read(c, e, i, j)];
}
/* What is spared of the cost of candidate j of `to`, a pooling, which candidate i of `from` does with its results. */
static inline double pz_edge_spares(const pz_costs *c, const pz_edge *e, int32_t i, int32_t j) {
  if (e->pooling <= 0 || !c->node[e->from][i].pools) return 0;
  return c->node[e->to][j].timed || c->node[e->to][j].counted ? c->node[e->to][j].cost : e->pooling;
}

#endif
