/* reference.h: slow, plain, double-precision evaluation of every operator: the oracle of all tests. */
#ifndef PZ_REFERENCE_REFERENCE_H
#define PZ_REFERENCE_REFERENCE_H

#include "graph/graph.h"

/* Values are the numbers that elements stand for (graph.h), whatever the type.
 * All of it ends soon, with PZ_INTERRUPTED, once the flag that the graph's arena watches is set. */

/* Evaluates one node: in[i] and out[i] are dense C-order doubles of the tensors' shapes (in[i] NULL where the
 * optional input is absent). out is allocated by the caller. */
pz_status pz_reference_node(const pz_graph *g, const pz_node *node, const double *const *in,
                            double *const *out, pz_error *err);

/* Called after each node with its tensor, whose values it may change for the nodes behind; a status other than PZ_OK stops the evaluation and is
 * returned. */
typedef pz_status (*pz_reference_visit)(void *host, const pz_graph *g, pz_tensor_id id, double *values);

/* Evaluates the whole graph on inputs[i] (float, in the order of g->inputs). visit (may be NULL) sees every
 * computed tensor in topological order. outputs[i] (may be NULL) receive the graph's outputs, allocated by the
 * caller. A tensor's memory is freed after its last use. */
pz_status pz_reference_run(const pz_graph *g, const float *const *inputs, double *const *outputs,
                           pz_reference_visit visit, void *host, pz_error *err);

/* Relative L2 error ||a - b|| / ||b||; ||a|| when b is zero; infinity where a has a NaN that b has not. */
double pz_relative_error(const float *a, const double *b, int64_t n);

#endif
