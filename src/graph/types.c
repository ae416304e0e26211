/* types.c: types of elements: which tensors may have, and what an operator takes and gives. */
#include "graph/internal.h"
#include <stdio.h>

bool pz_element_valid(pz_element e) { return pz_type_of_tensors(e.type) && pz_element_sound(e); }

bool pz_element_equal(pz_element a, pz_element b) {
  return a.type == b.type && a.scale == b.scale && a.zero_point == b.zero_point;
}

const char *pz_element_text(pz_element e, char *out) {
  const char *name = (unsigned)e.type < PZ_DTYPES ? pz_dtype_name(e.type) : "of an unknown type";
  if (e.scale == 1 && e.zero_point == 0) snprintf(out, PZ_ELEMENT_TEXT, "%s", name);
  else snprintf(out, PZ_ELEMENT_TEXT, "%s scale %g zero_point %d", name, (double)e.scale, (int)e.zero_point);
  return out;
}

static pz_status infer_cast(const pz_node *node, pz_element *out, pz_error *err) {
  const pz_attr_cast *a = &node->attr.cast;
  char text[PZ_ELEMENT_TEXT];
  *out = (pz_element){a->to, a->scale, a->zero_point};
  if (pz_element_valid(*out)) return PZ_OK;
  return pz_fail_node(err, node, "elements cannot be %s: " PZ_ELEMENTS_IN_WORDS, pz_element_text(*out, text));
}

static pz_status infer_argmax(const pz_graph *g, const pz_node *node, pz_element *out, pz_error *err) {
  const pz_attr_argmax *a = &node->attr.argmax;
  *out = (pz_element){a->to, 1, 0};
  if (a->to != PZ_F32 && a->to != PZ_U8)
    return pz_fail_node(err, node, "an index is of f32 or u8, not %s",
                        (unsigned)a->to < PZ_DTYPES ? pz_dtype_name(a->to) : "of an unknown type");
  if (a->to == PZ_U8 && pz_in(g, node, 0)->shape.dim[a->axis] > 256)
    return pz_fail_node(err, node, "an index among %lld is no u8",
                        (long long)pz_in(g, node, 0)->shape.dim[a->axis]);
  return PZ_OK;
}

pz_status pz_infer_element(const pz_graph *g, const pz_node *node, pz_element *out, pz_error *err) {
  *out = PZ_FLOATS;
  for (int32_t i = 0; i < node->n_in && node->op != PZ_OP_CAST; i++) {
    const pz_tensor *t = pz_in(g, node, i);
    if (t && t->type != PZ_F32)
      return pz_fail_node(err, node, "its input '%s' is of %s; it takes f32: a cast must lie between",
                          t->name, pz_dtype_name(t->type));
  }
  if (node->op == PZ_OP_CAST) return infer_cast(node, out, err);
  return node->op == PZ_OP_ARGMAX ? infer_argmax(g, node, out, err) : PZ_OK;
}

pz_status pz_infer_CAST(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  (void)err;
  *out = pz_in(g, node, 0)->shape;
  return PZ_OK;
}
