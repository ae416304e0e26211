/* random_graph.h: small random networks as tests of the reference, the passes and the planner need them. */
#ifndef PZ_TESTS_RANDOM_GRAPH_H
#define PZ_TESTS_RANDOM_GRAPH_H

#include "graph/graph.h"

/* A verified network of 1 to 3 spatial dimensions (mostly 2 and 3), one or two inputs, one or more outputs and less
 * than 2e6 multiply-adds, the same for the same seed on every machine: chains, residual sums, U-Nets, branches, with
 * layers that do nothing and layers that nobody uses among them, all of Caffe's operators. For inputs in [-1, 1) the
 * values stay of order 1, no denominator comes near 0 and no power has a negative base but the square. The caller
 * frees it with pz_graph_free. */
pz_status pz_random_graph(uint64_t seed, pz_graph **g, pz_error *err);

/* The same with blocks as exporters to ONNX write them; all other operators but `pad` and `argmax`, whose value jumps. */
pz_status pz_random_exported_graph(uint64_t seed, pz_graph **g, pz_error *err);

#define PZ_RANDOM_GRAPH_MULTIPLY_ADDS 2e6

/* n numbers, uniform in [-1, 1). */
void pz_random_values(uint64_t seed, int64_t n, float *out);

#endif
