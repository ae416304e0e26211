/* fold_padding.c: a padding of spatial dimensions by a constant becomes the padding of the convolution or pooling that
 * reads it, where that pads with the same value: zeros for conv and for an average, -inf for a maximum. (fold, as the
 * extension goes into attributes; the storage is a matter of pad-inputs.)
 *
 * An average that counts what is inside of its input counted the extension: it must count its padding then, so that it
 * may not have had other padding before. */
#include "optimise/match.h"
#include <math.h>

/* Only spatial dimensions are extended, and those by the constant `value`. */
static bool extends_space(const pz_graph *g, const pz_node *node, float value) {
  const pz_attr_pad *a = &node->attr.pad;
  int32_t rank = g->tensors[node->in[0]].shape.rank;
  return rank >= 3 && rank <= 2 + PZ_SPATIAL && a->kind == PZ_PAD_CONSTANT && a->value == value &&
         a->lo[0] + a->hi[0] + a->lo[1] + a->hi[1] == 0;
}

static bool add_pads(const pz_attr_pad *a, int32_t rank, int32_t lo[PZ_SPATIAL], int32_t hi[PZ_SPATIAL]) {
  for (int32_t i = 2; i < rank; i++) {
    int32_t at = PZ_SPATIAL - rank + i;
    if (a->lo[i] > INT32_MAX - lo[at] || a->hi[i] > INT32_MAX - hi[at]) return false;
    lo[at] += (int32_t)a->lo[i];
    hi[at] += (int32_t)a->hi[i];
  }
  return true;
}

static bool pad_pool(const pz_attr_pad *pad, int32_t rank, pz_attr_pool *a) {
  bool unpadded = true;
  for (int32_t i = 0; i < PZ_SPATIAL; i++) unpadded &= a->pad_lo[i] == 0 && a->pad_hi[i] == 0;
  if (a->kind == PZ_POOL_AVE && a->divisor == PZ_DIVISOR_VALID) {
    if (!unpadded) return false;
    a->divisor = PZ_DIVISOR_CAFFE;
  }
  return add_pads(pad, rank, a->pad_lo, a->pad_hi);
}

/* Sizes and limits of the padded layer are what inference says of it. */
static bool same_result(const pz_rewriter *rw, const pz_node *now) {
  pz_error err = {0};
  pz_shape shape;
  return pz_node_infer(rw->g, now, &shape, &err) == PZ_OK &&
         pz_shape_equal(&shape, &rw->g->tensors[now->out[0]].shape);
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  pz_node now = rw->g->nodes[id];
  if (now.op != PZ_OP_CONV && now.op != PZ_OP_POOL) return PZ_OK;
  const pz_node *pad = pz_match_producer(rw, now.in[0], PZ_OP_PAD);
  bool maximum = now.op == PZ_OP_POOL && now.attr.pool.kind == PZ_POOL_MAX;
  if (!pad || !extends_space(rw->g, pad, maximum ? -INFINITY : 0)) return PZ_OK;
  const pz_attr_pad *a = &pad->attr.pad;
  int32_t rank = rw->g->tensors[pad->in[0]].shape.rank;
  bool fits = now.op == PZ_OP_POOL ? pad_pool(a, rank, &now.attr.pool)
                                   : add_pads(a, rank, now.attr.conv.pad_lo, now.attr.conv.pad_hi);
  pz_tensor_id *in = rw->g->nodes[id].in, before = in[0];
  in[0] = pad->in[0];
  if (fits && same_result(rw, &now)) {
    rw->g->nodes[id].attr = now.attr;
    rw->changes++;
  } else {
    in[0] = before;
  }
  return PZ_OK;
}

pz_status pz_pass_fold_padding(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
