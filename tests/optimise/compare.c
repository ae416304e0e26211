#include "compare.h"
#include "reference/reference.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* All computed tensors of the graph before, by its tensor ids. */
typedef struct record {
  const pz_graph *before;
  double **values;
  double error;
  const char *worst;
} record;

static uint64_t mix(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static float **make_inputs(const pz_graph *g, uint64_t seed) {
  float **inputs = calloc((size_t)g->n_inputs + 1, sizeof *inputs);
  for (int32_t i = 0; i < g->n_inputs; i++) {
    int64_t n = pz_shape_elements(&g->tensors[g->inputs[i]].shape);
    inputs[i] = malloc((size_t)n * sizeof(float));
    for (int64_t k = 0; k < n; k++) inputs[i][k] = (float)((double)(mix(&seed) >> 11) * 0x1p-52 - 1);
  }
  return inputs;
}

static pz_status keep(void *host, const pz_graph *g, pz_tensor_id id, const double *values) {
  record *r = host;
  size_t bytes = (size_t)pz_shape_elements(&g->tensors[id].shape) * sizeof *values;
  r->values[id] = memcpy(malloc(bytes), values, bytes);
  return PZ_OK;
}

static double difference(const double *a, const double *b, int64_t n) {
  double sum = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) {
    if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) {
      norm += isfinite(b[i]) ? b[i] * b[i] : 0;
      continue;
    }
    if (!isfinite(a[i]) || !isfinite(b[i])) return INFINITY;
    sum += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return norm > 0 ? sqrt(sum / norm) : sqrt(sum);
}

static pz_status check(void *host, const pz_graph *g, pz_tensor_id id, const double *values) {
  record *r = host;
  pz_tensor_id old = pz_graph_find_tensor(r->before, g->tensors[id].name);
  if (old == PZ_NONE) return PZ_OK;
  const pz_shape *a = &g->tensors[id].shape, *b = &r->before->tensors[old].shape;
  double error = !r->values[old] || !pz_shape_equal(a, b)
                     ? INFINITY
                     : difference(values, r->values[old], pz_shape_elements(a));
  if (error > r->error) {
    r->error = error;
    r->worst = g->tensors[id].name;
  }
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

double compare_graphs(const pz_graph *before, const pz_graph *after, uint64_t seed, const char **worst) {
  if (!same_ports(before, after)) return INFINITY;
  record r = {.before = before, .values = calloc((size_t)before->n_tensors, sizeof *r.values)};
  float **inputs = make_inputs(before, seed);
  pz_error err = {0};
  pz_status status = pz_reference_run(before, (const float *const *)inputs, NULL, keep, &r, &err);
  if (status == PZ_OK) status = pz_reference_run(after, (const float *const *)inputs, NULL, check, &r, &err);
  for (int32_t i = 0; i < before->n_inputs; i++) free(inputs[i]);
  for (int32_t i = 0; i < before->n_tensors; i++) free(r.values[i]);
  free(inputs);
  free(r.values);
  if (worst) *worst = r.worst;
  return status == PZ_OK ? r.error : INFINITY;
}
