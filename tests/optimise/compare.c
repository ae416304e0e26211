#include "compare.h"
#include "reference/reference.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* All tensors of the graph before, by its tensor ids. */
typedef struct record {
  const pz_graph *before;
  double **values;
  comparison result;
} record;

static uint64_t mix(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* The numbers of tensor t become the nearest that elements stand for. */
static void round_values(const pz_graph *g, pz_tensor_id t, pz_element to, double *values) {
  pz_node cast = pz_node_new(PZ_OP_CAST);
  const double *in = values;
  cast.attr.cast = (pz_attr_cast){to.type, to.scale, to.zero_point};
  cast.n_in = cast.n_out = 1, cast.in = cast.out = &t;
  assert_int_equal(pz_reference_node(g, &cast, &in, &values, NULL), PZ_OK);
}

static float **make_inputs(const pz_graph *g, uint64_t seed) {
  float **inputs = calloc((size_t)g->n_inputs + 1, sizeof *inputs);
  for (int32_t i = 0; i < g->n_inputs; i++) {
    int64_t n = pz_shape_elements(&g->tensors[g->inputs[i]].shape);
    inputs[i] = malloc((size_t)n * sizeof(float));
    double *values = malloc((size_t)n * sizeof *values);
    for (int64_t k = 0; k < n; k++) values[k] = (double)(mix(&seed) >> 11) * 0x1p-52 - 1;
    if (g->tensors[g->inputs[i]].type != PZ_F32)
      round_values(g, g->inputs[i], pz_tensor_element(&g->tensors[g->inputs[i]]), values);
    for (int64_t k = 0; k < n; k++) inputs[i][k] = (float)values[k];
    free(values);
  }
  return inputs;
}

static double *copy(const double *values, const float *floats, int64_t n) {
  double *to = malloc((size_t)n * sizeof *to);
  for (int64_t i = 0; i < n; i++) to[i] = values ? values[i] : floats[i];
  return to;
}

static double norm(const double *v, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += isfinite(v[i]) ? v[i] * v[i] : 0;
  return sqrt(sum);
}

/* ||a - b||, infinity where one has a NaN or an infinity that the other has not. */
static double distance(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) continue;
    if (!isfinite(a[i]) || !isfinite(b[i])) return INFINITY;
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return sqrt(sum);
}

/* The node without its activation and signs; false for operators that are no sums. */
static bool bare_sum(const pz_node *node, pz_node *bare) {
  *bare = *node;
  if (node->op == PZ_OP_REDUCE) return node->attr.reduce.kind <= PZ_REDUCE_SUM;
  if (node->op == PZ_OP_ELTWISE) {
    bare->attr.eltwise.coeff = NULL;
    return node->attr.eltwise.kind == PZ_ELT_SUM;
  }
  if (node->op == PZ_OP_INNER_PRODUCT) bare->attr.inner_product.act.kind = PZ_ACT_NONE;
  else if (node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV) bare->attr.conv.act.kind = PZ_ACT_NONE;
  else return false;
  return true;
}

/* The norm of a layer on the absolute values of its operands; 0 where it is no sum of products. */
static double norm_of_terms(const record *r, pz_tensor_id t) {
  const pz_graph *g = r->before;
  pz_node_id id = pz_graph_producer(g, t);
  pz_node bare;
  if (id == PZ_NONE || !bare_sum(&g->nodes[id], &bare)) return 0;
  double *in[PZ_CONV_INPUTS] = {NULL};
  if (bare.n_in > PZ_CONV_INPUTS) return 0;
  for (int32_t k = 0; k < bare.n_in; k++) {
    if (bare.in[k] == PZ_NONE) continue;
    const pz_tensor *operand = &g->tensors[bare.in[k]];
    int64_t n = pz_shape_elements(&operand->shape);
    in[k] = copy(r->values[bare.in[k]], operand->data, n);
    for (int64_t i = 0; i < n; i++) in[k][i] = fabs(in[k][i]);
  }
  int64_t n = pz_shape_elements(&g->tensors[t].shape);
  double *out = malloc((size_t)n * sizeof *out);
  assert_int_equal(pz_reference_node(g, &bare, (const double *const *)in, &out, NULL), PZ_OK);
  double result = norm(out, n);
  for (int32_t k = 0; k < bare.n_in; k++) free(in[k]);
  free(out);
  return result;
}

static pz_status keep(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  record *r = host;
  r->values[id] = copy(values, NULL, pz_shape_elements(&g->tensors[id].shape));
  return PZ_OK;
}

static double relative(double error, double size) { return size > 0 ? error / size : error; }

/* What was wanted of another type, and is that now, is compared with what it was, rounded so. */
static void round_as(const record *r, const pz_tensor *t, pz_tensor_id old) {
  const pz_tensor *before = &r->before->tensors[old];
  if (t->type == before->type || before->wanted != t->type || !r->values[old]) return;
  round_values(r->before, old, pz_tensor_element(t), r->values[old]);
}

static pz_status check(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  record *r = host;
  pz_tensor_id old = pz_graph_find_tensor(r->before, g->tensors[id].name);
  if (old == PZ_NONE) return PZ_OK;
  int64_t n = pz_shape_elements(&g->tensors[id].shape);
  const pz_tensor *before = &r->before->tensors[old];
  if (before->data && !r->values[old])
    r->values[old] = copy(NULL, before->data, pz_shape_elements(&before->shape));
  round_as(r, &g->tensors[id], old);
  bool fits = r->values[old] && n == pz_shape_elements(&r->before->tensors[old].shape);
  double error = fits ? distance(values, r->values[old], n) : INFINITY,
         size = fits ? norm(r->values[old], n) : 0;
  double terms = error > 0 ? norm_of_terms(r, old) : 0;
  double of_terms = relative(error, terms > size ? terms : size);
  if (of_terms > r->result.error_terms) r->result.error_terms = of_terms;
  if (relative(error, size) <= r->result.error) return PZ_OK;
  r->result.error = relative(error, size);
  r->result.worst = g->tensors[id].name;
  return PZ_OK;
}

static bool same_port(const pz_graph *a, pz_tensor_id x, const pz_graph *b, pz_tensor_id y) {
  return strcmp(a->tensors[x].name, b->tensors[y].name) == 0 &&
         pz_shape_equal(&a->tensors[x].shape, &b->tensors[y].shape);
}

/* Inputs and outputs have the same names in the same order; so that `check` sees every computed output. */
static bool same_ports(const pz_graph *a, const pz_graph *b) {
  if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs) return false;
  bool same = true;
  for (int32_t i = 0; i < a->n_inputs; i++) same &= same_port(a, a->inputs[i], b, b->inputs[i]);
  for (int32_t i = 0; i < a->n_outputs; i++) same &= same_port(a, a->outputs[i], b, b->outputs[i]);
  return same;
}

static pz_status run_both(record *r, const pz_graph *after, const float *const *inputs) {
  const pz_graph *g = r->before;
  for (int32_t i = 0; i < g->n_inputs; i++)
    r->values[g->inputs[i]] = copy(NULL, inputs[i], pz_shape_elements(&g->tensors[g->inputs[i]].shape));
  PZ_TRY(pz_reference_run(g, inputs, NULL, keep, r, NULL));
  return pz_reference_run(after, inputs, NULL, check, r, NULL);
}

comparison compare_graphs(const pz_graph *before, const pz_graph *after, uint64_t seed) {
  record r = {.before = before, .result = {.worst = ""}};
  if (!same_ports(before, after)) return (comparison){INFINITY, INFINITY, ""};
  r.values = calloc((size_t)before->n_tensors, sizeof *r.values);
  float **inputs = make_inputs(before, seed);
  if (run_both(&r, after, (const float *const *)inputs) != PZ_OK)
    r.result.error = r.result.error_terms = INFINITY;
  for (int32_t i = 0; i < before->n_inputs; i++) free(inputs[i]);
  for (int32_t i = 0; i < before->n_tensors; i++) free(r.values[i]);
  free(inputs);
  free(r.values);
  return r.result;
}
