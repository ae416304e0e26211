/* positions.h: what operators do to positions along an axis. */
#ifndef PZ_GRAPH_POSITIONS_H
#define PZ_GRAPH_POSITIONS_H

#include "graph/graph.h"

/* Element o of a node's result reads elements floor((o*mul + lo) / div) .. floor((o*mul + hi) / div) of its input, or, first_up, ceil for the first. A
 * result has floor((n*grow + more) / shrink) + 1 elements of n. */
typedef struct pz_position_rule {
  int64_t mul, lo, hi, div;
  bool first_up;
  int64_t grow, more, shrink;
} pz_position_rule;

/* From a node's first input, whose rank is the network's, along axis i of z, y and x. False: it has none, as what looks at all of space. */
bool pz_position_rule_of(const pz_graph *g, const pz_node *node, int32_t i, pz_position_rule *rule);

/* Whether input i lies beside the result, as the first one does, and summands, and what is joined. */
bool pz_joins(const pz_node *node, int32_t i);

/* The dimension of a tensor that is an axis of z, y and x; its size. */
int32_t pz_dim_of(const pz_graph *g, pz_tensor_id id, int32_t axis);
int64_t pz_size_along(const pz_graph *g, pz_tensor_id id, int32_t axis);

/* b > 0 */
int64_t pz_gcd(int64_t a, int64_t b);
int64_t pz_floor_of(int64_t a, int64_t b);
int64_t pz_ceil_of(int64_t a, int64_t b);

#endif
