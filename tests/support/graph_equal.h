/* graph_equal.h: two graphs compared in all that means something. */
#ifndef PZ_TESTS_GRAPH_EQUAL_H
#define PZ_TESTS_GRAPH_EQUAL_H

#include "graph/graph.h"

/* Name, inputs and outputs, nodes in their order with attributes and the names of their tensors, shapes and borders, bits
 * of constants. Indices of tensors and places may differ. Where not equal, `why` says what differs first. */
bool pz_graphs_equal(const pz_graph *a, const pz_graph *b, char why[256]);

#endif
