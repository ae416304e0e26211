/* reference.c: a node of constants, computed by the reference in double precision, whatever its operator: its builder makes
 * nodes of a graph that is only this node's, whose inputs are the constants. Integers are exact up to 2^53; each of the
 * node's floats is rounded once, as the network's are. */
#include "reference/reference.h"
#include "import/onnx/ops.h"
#include <stdlib.h>

#define EXACT INT64_C(0x20000000000000) /* integers up to here are exact in doubles */

/* ---- how much it is ---- */

static double elements_of(const pz_graph *g, pz_tensor_id id) {
  return (double)pz_shape_elements(&g->tensors[id].shape);
}

/* Values that a window of the node looks at, for each result. */
static double window_of(const pz_node *node) {
  double points = 1;
  const bool lrn = node->op == PZ_OP_LRN;
  for (int32_t i = 0; i < PZ_SPATIAL && (lrn || node->op == PZ_OP_POOL); i++)
    points *= lrn ? node->attr.lrn.size : node->attr.pool.kernel[i];
  return points;
}

static double work_of(const pz_graph *g, const pz_node *node) {
  double work = pz_node_multiply_adds(g, node);
  for (int32_t i = 0; i < node->n_in; i++)
    if (node->in[i] != PZ_NONE) work += elements_of(g, node->in[i]);
  for (int32_t i = 0; i < node->n_out; i++) work += elements_of(g, node->out[i]) * window_of(node);
  return work;
}

static pz_status take_work(pz_onnx *c) {
  double work = 0, elements = 0;
  for (int32_t i = 0; i < c->graph->n_nodes; i++) work += work_of(c->graph, &c->graph->nodes[i]);
  for (pz_tensor_id t = 0; t < c->graph->n_tensors; t++) elements += elements_of(c->graph, t);
  return pz_onnx_take_work(c, work, elements);
}

/* ---- values: one list for each tensor of the node's graph ---- */

static pz_status room(pz_onnx *c, pz_tensor_id id, double **values) {
  const int64_t n = pz_shape_elements(&c->graph->tensors[id].shape);
  values[id] = malloc((size_t)n * sizeof **values);
  return values[id] ? PZ_OK : pz_fail_memory(c->err, "a constant", (unsigned long long)n * sizeof **values);
}

static pz_status take_constant(pz_onnx *c, const pz_onnx_constant *k, double *to) {
  for (int64_t i = 0; i < k->elements; i++) {
    if (k->ints && (k->ints[i] > EXACT || k->ints[i] < -EXACT))
      return pz_onnx_refuse(c, "constant integers beyond 2^53");
    to[i] = pz_onnx_number(k, i);
  }
  return PZ_OK;
}

static pz_status take_inputs(pz_onnx *c, double **values) {
  const pz_graph *g = c->graph;
  for (int32_t i = 0; i < c->folding.n; i++) {
    PZ_TRY(room(c, c->folding.tensors[i], values));
    PZ_TRY(take_constant(c, c->folding.values[i]->constant, values[c->folding.tensors[i]]));
  }
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) {
    if (!g->tensors[t].data) continue;
    PZ_TRY(room(c, t, values));
    for (int64_t i = 0; i < pz_shape_elements(&g->tensors[t].shape); i++)
      values[t][i] = (double)g->tensors[t].data[i];
  }
  return PZ_OK;
}

/* Then the steps of a node are rounded as the network's are: a quotient that is rounded to a whole number tells. */
static bool computes_with_floats(pz_onnx *c) {
  const pz_onnx_type type = pz_onnx_type_in(c);
  return pz_onnx_is_floating(type) && type != PZ_ONNX_DOUBLE;
}

static pz_status run(pz_onnx *c, const pz_node *node, double **values) {
  const double **in = PZ_NEW(c->arena, const double *, node->n_in);
  double **out = PZ_NEW(c->arena, double *, node->n_out);
  if (!in || !out) return pz_onnx_no_memory(c);
  for (int32_t i = 0; i < node->n_in; i++) in[i] = node->in[i] == PZ_NONE ? NULL : values[node->in[i]];
  for (int32_t i = 0; i < node->n_out; i++) {
    PZ_TRY(room(c, node->out[i], values));
    out[i] = values[node->out[i]];
  }
  PZ_TRY(pz_reference_node(c->graph, node, in, out, c->err));
  for (int32_t i = 0; i < node->n_out && computes_with_floats(c); i++)
    for (int64_t n = 0; n < pz_shape_elements(&c->graph->tensors[node->out[i]].shape); n++)
      out[i][n] = (double)(float)out[i][n];
  return PZ_OK;
}

/* Output i becomes a constant. */
static pz_status keep(pz_onnx *c, int32_t i, double **values) {
  if (!pz_onnx_wants(c, i)) return PZ_OK;
  const pz_onnx_value *v = &c->values[pz_onnx_find_value(c, c->node->out[i])];
  pz_onnx_space space;
  if (v->known || v->tensor == PZ_NONE) return PZ_OK;
  const double *from = values[v->tensor];
  PZ_TRY(pz_onnx_new_constant(c, v->type, pz_onnx_shape(c, v->tensor), &space));
  for (int64_t n = 0; n < space.constant->elements; n++) {
    if (space.ints && !(from[n] <= (double)EXACT && from[n] >= -(double)EXACT))
      return pz_onnx_refuse(c, "constant integers beyond 2^53");
    pz_onnx_put(&space, n, from[n]);
  }
  return pz_onnx_give_constant(c, i, space.constant);
}

static pz_status evaluate(pz_onnx *c, double **values) {
  PZ_TRY(take_inputs(c, values));
  for (int32_t i = 0; i < c->graph->n_nodes; i++) PZ_TRY(run(c, &c->graph->nodes[i], values));
  for (int32_t i = 0; i < c->node->n_out; i++) PZ_TRY(keep(c, i, values));
  return PZ_OK;
}

/* ---- the node ---- */

static pz_status build_and_run(pz_onnx *c) {
  PZ_TRY(c->row->build(c));
  const int32_t n = c->graph->n_tensors;
  if (!n) return PZ_OK; /* the builder gave constants */
  PZ_TRY(take_work(c));
  double **values = calloc((size_t)n, sizeof *values);
  if (!values) return pz_onnx_no_memory(c);
  const pz_status status = evaluate(c, values);
  for (int32_t t = 0; t < n; t++) free(values[t]);
  free(values);
  return status;
}

pz_status pz_onnx_fold(pz_onnx *c) {
  pz_graph *whole = c->graph, *own;
  pz_onnx_folding *f = &c->folding;
  *f = (pz_onnx_folding){.on = true,
                         .values = PZ_NEW(c->arena, const pz_onnx_value *, c->node->n_in),
                         .tensors = PZ_NEW(c->arena, pz_tensor_id, c->node->n_in)};
  pz_status status = PZ_ERROR_MEMORY;
  if (!f->values || !f->tensors) pz_onnx_no_memory(c);
  else status = pz_graph_new("", &own, c->err);
  if (status == PZ_OK) {
    c->graph = own;
    c->first_tensor = 0;
    status = build_and_run(c);
    c->graph = whole;
    pz_graph_free(own);
  }
  f->on = false;
  return status;
}
