/* restore_activation.c: functions of one value that exporters take apart are put together again, so that they are
 * computed at once, and where a convolution ends:
 *
 *   silu        x * sigmoid(x)
 *   mish        x * tanh(softplus(x))
 *   gelu        x/2 * (1 + erf(x/sqrt(2)))
 *   gelu_tanh   x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715*x^3)))
 *   hard_swish  x * hard_sigmoid(x) of 1/6 and 1/2, also as x * clip(x + 3, 0, 6) / 6
 *   softplus    log(1 + exp(x))
 *   hard_sigmoid  clip(x + 3, 0, 6) / 6
 *
 * with the constant factors at any place of the product. The layer that makes the result becomes the function; what it
 * read is left to drop-dead. */
#include "optimise/match.h"
#include <math.h>

/* f is q*y + p with y an activation of some tensor. */
typedef struct bracket {
  const pz_node *inner; /* the activation */
  double q, p;
} bracket;

static bool is_tanh_of_cubic(const pz_rewriter *rw, pz_tensor_id t, pz_tensor_id x) {
  pz_affine a = pz_match_affine(rw, t);
  const pz_node *sum = pz_match_pair(rw, a.x, PZ_ELT_SUM);
  if (!sum || a.shift != 0 || !pz_match_near(a.scale, sqrt(M_2_PI))) return false;
  for (int k = 0; k < 2; k++) {
    pz_affine cube = pz_match_affine(rw, sum->in[1 - k]);
    if (sum->in[k] == x && cube.shift == 0 && pz_match_near(cube.scale, 0.044715) &&
        pz_match_monomial(rw, cube.x, x, 3))
      return true;
  }
  return false;
}

/* clip(a*x + b, 0, top) times `factor` is hard_sigmoid's clip(x/6 + 1/2, 0, 1). */
static bool is_hard_gate(const pz_rewriter *rw, const pz_node *inner, pz_tensor_id x, double factor) {
  const pz_activation *act = &inner->attr.activation.act;
  if (act->kind == PZ_ACT_HARD_SIGMOID)
    return inner->in[0] == x && pz_match_near(factor, 1) && pz_match_near((double)act->alpha, 1. / 6) &&
           act->beta == 0.5f;
  if (act->kind != PZ_ACT_CLIP || act->alpha != 0 || !(act->beta > 0 && act->beta < INFINITY)) return false;
  double top = act->beta;
  return pz_match_near(factor * top, 1) && pz_match_affine_of(rw, inner->in[0], x, top / 6, top / 2);
}

/* The function that k * x * (q*inner + p) is, or PZ_ACT_NONE. */
static pz_activation_kind product_kind(const pz_rewriter *rw, double k, pz_tensor_id x, const bracket *b) {
  pz_tensor_id from = b->inner->in[0];
  if (b->p == 0) {
    const pz_node *inside = pz_match_activation(rw, from, PZ_ACT_SOFTPLUS);
    if (is_hard_gate(rw, b->inner, x, k * b->q)) return PZ_ACT_HARD_SWISH;
    if (!pz_match_near(k * b->q, 1)) return PZ_ACT_NONE;
    if (b->inner->attr.activation.act.kind == PZ_ACT_SIGMOID && from == x) return PZ_ACT_SILU;
    bool mish = b->inner->attr.activation.act.kind == PZ_ACT_TANH && inside && inside->in[0] == x;
    return mish ? PZ_ACT_MISH : PZ_ACT_NONE;
  }
  if (!pz_match_near(b->p, b->q) || !pz_match_near(2 * k * b->p, 1)) return PZ_ACT_NONE;
  switch (b->inner->attr.activation.act.kind) {
  case PZ_ACT_ERF: return pz_match_affine_of(rw, from, x, M_SQRT1_2, 0) ? PZ_ACT_GELU : PZ_ACT_NONE;
  case PZ_ACT_TANH: return is_tanh_of_cubic(rw, from, x) ? PZ_ACT_GELU_TANH : PZ_ACT_NONE;
  default: return PZ_ACT_NONE;
  }
}

static pz_status become(pz_rewriter *rw, pz_node_id id, pz_tensor_id x, pz_activation act) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.n_in = 1;
  node.in = &x;
  node.attr.activation.act = act;
  return pz_rewrite_become(rw, id, &node);
}

/* k * t * f: every x that t is a multiple of is tried. */
static pz_status try_product(pz_rewriter *rw, pz_node_id id, double k, pz_tensor_id t, pz_tensor_id f,
                             bool *done) {
  pz_affine gate = pz_match_affine(rw, f);
  bracket b = {pz_match_producer(rw, gate.x, PZ_OP_ACTIVATION), gate.scale, gate.shift};
  if (!b.inner) return PZ_OK;
  pz_affine a = {t, 1, 0};
  do {
    pz_activation_kind kind = a.shift == 0 ? product_kind(rw, k * a.scale, a.x, &b) : PZ_ACT_NONE;
    *done = kind != PZ_ACT_NONE;
    if (*done) return become(rw, id, a.x, (pz_activation){.kind = kind});
  } while (pz_match_affine_step(rw, &a));
  return PZ_OK;
}

/* The layer is a product, or a multiple of one. */
static pz_status visit_product(pz_rewriter *rw, pz_node_id id) {
  pz_affine a = pz_match_affine(rw, rw->g->nodes[id].out[0]);
  const pz_node *product = pz_match_pair(rw, a.x, PZ_ELT_PROD);
  bool done = false;
  if (!product || a.shift != 0) return PZ_OK;
  pz_tensor_id in[2] = {product->in[0], product->in[1]};
  for (int i = 0; i < 2 && !done; i++) PZ_TRY(try_product(rw, id, a.scale, in[i], in[1 - i], &done));
  return PZ_OK;
}

static pz_status visit_softplus(pz_rewriter *rw, pz_node_id id) {
  pz_affine a = pz_match_affine(rw, rw->g->nodes[id].in[0]);
  const pz_node *exponential = pz_match_activation(rw, a.x, PZ_ACT_EXP);
  if (!exponential || a.scale != 1 || a.shift != 1) return PZ_OK;
  return become(rw, id, exponential->in[0], (pz_activation){.kind = PZ_ACT_SOFTPLUS});
}

/* q * clip(x + 3, 0, 6) with q = 1/6: hard_sigmoid, whose alpha and beta are q*scale and q*shift. */
static pz_status visit_hard_sigmoid(pz_rewriter *rw, pz_node_id id) {
  pz_affine a = pz_match_affine(rw, rw->g->nodes[id].out[0]);
  const pz_node *clip = pz_match_activation(rw, a.x, PZ_ACT_CLIP);
  if (!clip || a.shift != 0) return PZ_OK;
  pz_activation act = clip->attr.activation.act;
  if (act.alpha != 0 || !pz_match_near(a.scale * (double)act.beta, 1)) return PZ_OK;
  pz_affine inside = pz_match_affine(rw, clip->in[0]);
  float alpha = (float)(a.scale * inside.scale), beta = (float)(a.scale * inside.shift);
  return become(rw, id, inside.x, (pz_activation){.kind = PZ_ACT_HARD_SIGMOID, .alpha = alpha, .beta = beta});
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  int before = rw->changes;
  if (node->op == PZ_OP_ELTWISE || node->op == PZ_OP_POWER) PZ_TRY(visit_product(rw, id));
  if (rw->changes == before && node->op == PZ_OP_POWER) return visit_hard_sigmoid(rw, id);
  if (node->op == PZ_OP_ACTIVATION && node->attr.activation.act.kind == PZ_ACT_LOG)
    return visit_softplus(rw, id);
  return PZ_OK;
}

pz_status pz_pass_restore_activation(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
