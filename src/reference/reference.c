/* reference.c: the table of operators, and the walk over a graph. */
#include "base/memory.h"
#include "reference/ops.h"
#include <stdlib.h>
#include <string.h>

typedef void (*op_function)(const pz_reference_call *call);
static const op_function functions[] = {
#define OP(id, name, min_in, max_in, attr_type, family, layouts) [PZ_OP_##id] = pz_reference_##id,
#include "graph/ops.inc"
#undef OP
};

void pz_reference_NONE(const pz_reference_call *call) { (void)call; }

pz_status pz_reference_node(const pz_graph *g, const pz_node *node, const double *const *in,
                            double *const *out, pz_error *err) {
  if (node->op <= PZ_OP_NONE || node->op >= PZ_OP_COUNT)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "layer \"%s\": a removed layer cannot be evaluated; compact the graph first", node->name);
  functions[node->op](&(pz_reference_call){g, node, in, out});
  return pz_arena_interrupted(g->arena) ? pz_fail_interrupted(err) : PZ_OK;
}

/* Invariant: values[t] is allocated from the node that makes t (an input: from the start) to its last use.
 * Constants are widened for the node that reads them and freed behind it. */
typedef struct walk {
  const pz_graph *g;
  double **values;
  int32_t *last_use; /* index of the last node that reads or makes the tensor; n_nodes for graph outputs */
  const double **in; /* one node's operands */
  double **out;
} walk;

static void *allocate(int64_t count, size_t size) { return calloc(count > 0 ? (size_t)count : 1, size); }

static int64_t elements(const pz_graph *g, pz_tensor_id t) { return pz_shape_elements(&g->tensors[t].shape); }

static pz_status new_values(walk *w, pz_tensor_id t, pz_error *err) {
  int64_t n = elements(w->g, t);
  w->values[t] = pz_memory_allows((uint64_t)n * sizeof(double)) ? allocate(n, sizeof(double)) : NULL;
  if (!w->values[t])
    return pz_fail_memory(err, "a tensor of the reference", (unsigned long long)n * sizeof(double));
  return PZ_OK;
}

static pz_status widen(walk *w, pz_tensor_id t, const float *from, pz_error *err) {
  PZ_TRY(new_values(w, t, err));
  int64_t n = elements(w->g, t);
  for (int64_t i = 0; i < n; i++) w->values[t][i] = from[i];
  return PZ_OK;
}

static void drop(walk *w, pz_tensor_id t) {
  free(w->values[t]);
  w->values[t] = NULL;
}

static void find_last_uses(walk *w) {
  const pz_graph *g = w->g;
  for (int32_t t = 0; t < g->n_tensors; t++) w->last_use[t] = -1;
  for (int32_t i = 0; i < g->n_nodes; i++) {
    for (int32_t k = 0; k < g->nodes[i].n_in; k++)
      if (g->nodes[i].in[k] != PZ_NONE) w->last_use[g->nodes[i].in[k]] = i;
    for (int32_t k = 0; k < g->nodes[i].n_out; k++) w->last_use[g->nodes[i].out[k]] = i;
  }
  for (int32_t i = 0; i < g->n_outputs; i++) w->last_use[g->outputs[i]] = g->n_nodes;
}

static void drop_finished(walk *w, int32_t index) {
  const pz_node *node = &w->g->nodes[index];
  for (int32_t k = 0; k < node->n_in; k++) {
    pz_tensor_id t = node->in[k];
    if (t != PZ_NONE && (w->g->tensors[t].data || w->last_use[t] <= index)) drop(w, t);
  }
  for (int32_t k = 0; k < node->n_out; k++)
    if (w->last_use[node->out[k]] <= index) drop(w, node->out[k]);
}

static pz_status gather_operands(walk *w, const pz_node *node, pz_error *err) {
  for (int32_t k = 0; k < node->n_in; k++) {
    pz_tensor_id t = node->in[k];
    if (t != PZ_NONE && !w->values[t]) {
      if (!w->g->tensors[t].data)
        return pz_fail(err, PZ_ERROR_INPUT,
                       "layer \"%s\" reads \"%s\" before it is made; the graph must be sorted", node->name,
                       w->g->tensors[t].name);
      PZ_TRY(widen(w, t, w->g->tensors[t].data, err));
    }
    w->in[k] = t == PZ_NONE ? NULL : w->values[t];
  }
  for (int32_t k = 0; k < node->n_out; k++) {
    PZ_TRY(new_values(w, node->out[k], err));
    w->out[k] = w->values[node->out[k]];
  }
  return PZ_OK;
}

static pz_status run_node(walk *w, int32_t index, pz_reference_visit visit, void *host, pz_error *err) {
  const pz_node *node = &w->g->nodes[index];
  PZ_TRY(gather_operands(w, node, err));
  PZ_TRY(pz_reference_node(w->g, node, w->in, w->out, err));
  for (int32_t k = 0; visit && k < node->n_out; k++) PZ_TRY(visit(host, w->g, node->out[k], w->out[k]));
  drop_finished(w, index);
  return PZ_OK;
}

static void copy_output(const walk *w, pz_tensor_id t, double *out) {
  int64_t n = elements(w->g, t);
  const pz_tensor *tensor = &w->g->tensors[t];
  if (w->values[t]) memcpy(out, w->values[t], (size_t)n * sizeof(double));
  else
    for (int64_t i = 0; i < n; i++) out[i] = tensor->data[i];
}

static pz_status run_all(walk *w, const float *const *inputs, double *const *outputs,
                         pz_reference_visit visit, void *host, pz_error *err) {
  const pz_graph *g = w->g;
  for (int32_t i = 0; i < g->n_inputs; i++) PZ_TRY(widen(w, g->inputs[i], inputs[i], err));
  for (int32_t i = 0; i < g->n_nodes; i++) PZ_TRY(run_node(w, i, visit, host, err));
  for (int32_t i = 0; outputs && i < g->n_outputs; i++) copy_output(w, g->outputs[i], outputs[i]);
  return PZ_OK;
}

static int32_t widest(const pz_graph *g, bool in) {
  int32_t most = 1;
  for (int32_t i = 0; i < g->n_nodes; i++) {
    int32_t n = in ? g->nodes[i].n_in : g->nodes[i].n_out;
    if (n > most) most = n;
  }
  return most;
}

pz_status pz_reference_run(const pz_graph *g, const float *const *inputs, double *const *outputs,
                           pz_reference_visit visit, void *host, pz_error *err) {
  walk w = {.g = g};
  w.values = allocate(g->n_tensors, sizeof *w.values);
  w.last_use = allocate(g->n_tensors, sizeof *w.last_use);
  w.in = allocate(widest(g, true), sizeof *w.in);
  w.out = allocate(widest(g, false), sizeof *w.out);
  pz_status status;
  if (!w.values || !w.last_use || !w.in || !w.out) {
    status =
        pz_fail_memory(err, "the reference's tables", (unsigned long long)g->n_tensors * sizeof(double *));
  } else {
    find_last_uses(&w);
    status = run_all(&w, inputs, outputs, visit, host, err);
  }
  for (int32_t t = 0; w.values && t < g->n_tensors; t++) free(w.values[t]);
  free(w.values);
  free(w.last_use);
  free(w.in);
  free(w.out);
  return status;
}
