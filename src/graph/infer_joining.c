/* infer_joining.c: operators that join several tensors: eltwise, concat, inner_product. */
#include "graph/internal.h"

static pz_status check_coeff(const pz_node *node, pz_error *err) {
  const pz_attr_eltwise *a = &node->attr.eltwise;
  if (!a->coeff) return PZ_OK;
  if (a->kind != PZ_ELT_SUM) return pz_fail_node(err, node, "coefficients are for sums only");
  for (int32_t i = 0; i < node->n_in; i++) PZ_TRY(pz_infer_finite(node, "a coefficient", a->coeff[i], err));
  return PZ_OK;
}

/* Takes t's dimensions that are not 1 into *out; false where one of them is another one. */
static bool join(const pz_shape *t, pz_shape *out) {
  if (t->rank != out->rank) return false;
  for (int32_t i = 0; i < t->rank; i++) {
    if (out->dim[i] == 1) out->dim[i] = t->dim[i];
    if (t->dim[i] != 1 && t->dim[i] != out->dim[i]) return false;
  }
  return true;
}

static pz_status check_count(const pz_node *node, pz_error *err) {
  const pz_eltwise_kind kind = node->attr.eltwise.kind;
  const bool any = kind == PZ_ELT_SUM || kind == PZ_ELT_PROD || kind == PZ_ELT_MAX || kind == PZ_ELT_MIN;
  const int32_t wanted = kind == PZ_ELT_SELECT ? 3 : 2;
  if (any || node->n_in == wanted) return PZ_OK;
  return pz_fail_node(err, node, "kind %s has %s inputs, not %d", pz_attr_enum_names(PZ_ATTR_ELTWISE)[kind],
                      wanted == 2 ? "two" : "three", (int)node->n_in);
}

pz_status pz_infer_ELTWISE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_eltwise *a = &node->attr.eltwise;
  const pz_tensor *first = pz_in(g, node, 0);
  if ((unsigned)a->kind > PZ_ELT_SELECT) return pz_fail_node(err, node, "unknown kind %d", (int)a->kind);
  PZ_TRY(check_count(node, err));
  PZ_TRY(check_coeff(node, err));
  *out = first->shape;
  for (int32_t i = 1; i < node->n_in; i++) {
    const pz_tensor *t = pz_in(g, node, i);
    if (!join(&t->shape, out))
      return pz_fail_node(err, node, "inputs '%s' %s and '%s' %s differ; sizes under pooling must divide",
                          first->name, PZ_SHAPE(&first->shape), t->name, PZ_SHAPE(&t->shape));
  }
  return PZ_OK;
}

static bool equal_but_for(const pz_shape *a, const pz_shape *b, int32_t axis) {
  for (int32_t i = 0; i < a->rank && a->rank == b->rank; i++)
    if (i != axis && a->dim[i] != b->dim[i]) return false;
  return a->rank == b->rank;
}

pz_status pz_infer_CONCAT(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_tensor *first = pz_in(g, node, 0);
  int32_t axis = node->attr.concat.axis;
  PZ_TRY(pz_infer_axis(node, axis, first->shape.rank, err));
  *out = first->shape;
  for (int32_t i = 1; i < node->n_in; i++) {
    const pz_tensor *t = pz_in(g, node, i);
    if (!equal_but_for(&first->shape, &t->shape, axis))
      return pz_fail_node(
          err, node, "inputs '%s' %s and '%s' %s differ outside of axis %d; sizes under pooling must divide",
          first->name, PZ_SHAPE(&first->shape), t->name, PZ_SHAPE(&t->shape), (int)axis);
    out->dim[axis] += t->shape.dim[axis]; /* at most PZ_MAX_TENSORS * PZ_MAX_DIM */
  }
  return PZ_OK;
}

pz_status pz_infer_INNER_PRODUCT(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_inner_product *a = &node->attr.inner_product;
  const pz_shape *x = &pz_in(g, node, 0)->shape, *w = &pz_in(g, node, 1)->shape;
  PZ_TRY(pz_infer_axis(node, a->axis, x->rank, err));
  PZ_TRY(pz_infer_activation(node, &a->act, 3, err));
  int64_t length = 1;
  *out = (pz_shape){.rank = a->axis + 1};
  for (int32_t i = 0; i < a->axis; i++) out->dim[i] = x->dim[i];
  for (int32_t i = a->axis; i < x->rank; i++) length *= x->dim[i];
  if (w->rank != 2 || w->dim[!a->transpose] != length)
    return pz_fail_node(
        err, node, "its weights are %s, expected %s for its input %s (%lld values from axis %d on)",
        PZ_SHAPE(w), a->transpose ? "X x K" : "K x X", PZ_SHAPE(x), (long long)length, (int)a->axis);
  out->dim[a->axis] = w->dim[a->transpose];
  PZ_TRY(pz_infer_vector(g, node, 2, out->dim[a->axis], "bias", err));
  return pz_infer_vector(g, node, 3, out->dim[a->axis], "slope", err);
}
