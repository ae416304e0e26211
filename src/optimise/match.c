/* match.c: recognising chains of simple layers. */
#include "optimise/match.h"
#include <math.h>

bool pz_match_near(double a, double b) { return fabs(a - b) <= 1e-6 * fabs(b); }

const pz_node *pz_match_producer(const pz_rewriter *rw, pz_tensor_id t, pz_op op) {
  pz_node_id id = t == PZ_NONE ? PZ_NONE : rw->producer[t];
  return id != PZ_NONE && rw->g->nodes[id].op == op ? &rw->g->nodes[id] : NULL;
}

const pz_node *pz_match_activation(const pz_rewriter *rw, pz_tensor_id t, pz_activation_kind kind) {
  const pz_node *node = pz_match_producer(rw, t, PZ_OP_ACTIVATION);
  return node && node->attr.activation.act.kind == kind ? node : NULL;
}

const pz_node *pz_match_pair(const pz_rewriter *rw, pz_tensor_id t, pz_eltwise_kind kind) {
  const pz_node *node = pz_match_producer(rw, t, PZ_OP_ELTWISE);
  if (!node || node->attr.eltwise.kind != kind || node->n_in != 2) return NULL;
  const float *coeff = node->attr.eltwise.coeff;
  return !coeff || (coeff[0] == 1 && coeff[1] == 1) ? node : NULL;
}

bool pz_match_uniform(const pz_graph *g, pz_tensor_id t, float *value) {
  if (t == PZ_NONE || !g->tensors[t].data) return false;
  const float *data = g->tensors[t].data;
  int64_t n = pz_shape_elements(&g->tensors[t].shape);
  *value = data[0];
  for (int64_t i = 1; i < n; i++)
    if (data[i] != *value) return false;
  return true;
}

bool pz_match_affine_step(const pz_rewriter *rw, pz_affine *a) {
  const pz_node *node = pz_match_producer(rw, a->x, PZ_OP_POWER);
  if (!node || node->attr.power.power != 1) return false;
  a->shift += a->scale * (double)node->attr.power.shift;
  a->scale *= (double)node->attr.power.scale;
  a->x = node->in[0];
  return true;
}

pz_affine pz_match_affine(const pz_rewriter *rw, pz_tensor_id t) {
  pz_affine a = {t, 1, 0};
  while (pz_match_affine_step(rw, &a)) continue;
  return a;
}

bool pz_match_affine_of(const pz_rewriter *rw, pz_tensor_id t, pz_tensor_id x, double scale, double shift) {
  pz_affine a = {t, 1, 0};
  while (a.x != x)
    if (!pz_match_affine_step(rw, &a)) return false;
  return pz_match_near(a.scale, scale) && (shift == 0 ? a.shift == 0 : pz_match_near(a.shift, shift));
}

bool pz_match_monomial(const pz_rewriter *rw, pz_tensor_id t, pz_tensor_id x, int n) {
  if (n == 1) return t == x;
  const pz_node *power = pz_match_producer(rw, t, PZ_OP_POWER);
  if (power) {
    const pz_attr_power *a = &power->attr.power;
    return power->in[0] == x && a->power == (float)n && a->scale == 1 && a->shift == 0;
  }
  const pz_node *product = pz_match_pair(rw, t, PZ_ELT_PROD);
  if (!product) return false;
  for (int k = 0; k < 2; k++)
    if (product->in[k] == x && pz_match_monomial(rw, product->in[1 - k], x, n - 1)) return true;
  return false;
}
