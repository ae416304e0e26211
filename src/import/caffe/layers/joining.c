/* joining.c: Eltwise, Concat, MergeCrop, Merge. */
#include "import/caffe/net.h"

/* ---- Eltwise ---- */

static const pz_eltwise_kind kinds[] = {
    [CAFFE__ELTWISE_PARAMETER__OPERATION__PROD] = PZ_ELT_PROD,
    [CAFFE__ELTWISE_PARAMETER__OPERATION__SUM] = PZ_ELT_SUM,
    [CAFFE__ELTWISE_PARAMETER__OPERATION__MAX] = PZ_ELT_MAX,
    [CAFFE__ELTWISE_PARAMETER__OPERATION__DIV] = PZ_ELT_DIV,
};

pz_status pz_caffe_layer_eltwise(pz_caffe *c) {
  static const Caffe__EltwiseParameter none = CAFFE__ELTWISE_PARAMETER__INIT;
  const Caffe__EltwiseParameter *p = c->p->eltwise_param ? c->p->eltwise_param : &none;
  pz_node node = pz_node_new(PZ_OP_ELTWISE);
  node.attr.eltwise.kind = kinds[p->operation];
  if (p->n_coeff && p->operation != CAFFE__ELTWISE_PARAMETER__OPERATION__SUM)
    return pz_caffe_fail(c, "coeff is for operation: SUM only");
  if (p->n_coeff && p->n_coeff != (size_t)c->n_in)
    return pz_caffe_fail(c, "has %zu coeff, expected one for each of its %d bottoms", p->n_coeff,
                         (int)c->n_in);
  if (p->operation == CAFFE__ELTWISE_PARAMETER__OPERATION__DIV && c->n_in != 2)
    return pz_caffe_fail(c, "operation: DIV divides two bottoms, here are %d", (int)c->n_in);
  if (p->n_coeff) node.attr.eltwise.coeff = p->coeff;
  return pz_caffe_emit_simple(c, &node);
}

/* ---- Concat ---- */

pz_status pz_caffe_layer_concat(pz_caffe *c) {
  static const Caffe__ConcatParameter none = CAFFE__CONCAT_PARAMETER__INIT;
  const Caffe__ConcatParameter *p = c->p->concat_param ? c->p->concat_param : &none;
  pz_node node = pz_node_new(PZ_OP_CONCAT);
  if (p->has_axis && p->has_concat_dim) return pz_caffe_fail(c, "axis and concat_dim: give one of them");
  int64_t axis = p->has_concat_dim ? (int64_t)p->concat_dim : p->axis;
  PZ_TRY(pz_caffe_axis(c, "axis", axis, pz_caffe_in_shape(c, 0)->rank, &node.attr.concat.axis));
  return pz_caffe_emit_simple(c, &node);
}

/* ---- MergeCrop and Merge ---- */

static const Caffe__MergeParameter *merge_parameter(const pz_caffe *c) {
  static const Caffe__MergeParameter none = CAFFE__MERGE_PARAMETER__INIT;
  const Caffe__LayerParameter *p = c->p;
  const Caffe__MergeParameter *given = p->mergecrop_param ? p->mergecrop_param : p->merge_crop_param;
  if (!given) given = p->merge_param;
  return given ? given : &none;
}

/* Channels behind each other, or sums. */
static pz_status merge(pz_caffe *c, pz_tensor_id first, pz_tensor_id second) {
  bool add = merge_parameter(c)->operation == CAFFE__MERGE_PARAMETER__OPERATION__ADD;
  pz_node node = pz_node_new(add ? PZ_OP_ELTWISE : PZ_OP_CONCAT);
  pz_tensor_id in[] = {first, second};
  if (add) node.attr.eltwise.kind = PZ_ELT_SUM;
  return pz_caffe_emit(c, &node, 2, in, 1);
}

pz_status pz_caffe_layer_merge(pz_caffe *c) { return merge(c, c->in[0], c->in[1]); }

/* The centre of the second bottom, of the first one's size; where the rest is odd, the greater half is behind. */
static pz_status centre(pz_caffe *c, pz_attr_crop *window, bool *whole) {
  const pz_shape *to = pz_caffe_in_shape(c, 0), *x = pz_caffe_in_shape(c, 1);
  char first[PZ_SHAPE_TEXT], second[PZ_SHAPE_TEXT];
  bool fits = to->rank == x->rank;
  *whole = true;
  for (int32_t i = 0; i < x->rank && fits; i++) {
    window->size[i] = i < 2 ? x->dim[i] : to->dim[i];
    window->offset[i] = (x->dim[i] - window->size[i]) / 2;
    fits = window->size[i] <= x->dim[i];
    *whole &= window->size[i] == x->dim[i];
  }
  if (fits) return PZ_OK;
  return pz_caffe_fail(
      c, "its second bottom '%.100s' is %s and is cropped to the first, '%.100s' %s, but is not as large",
      c->p->bottom[1], pz_shape_text(x, second), c->p->bottom[0], pz_shape_text(to, first));
}

pz_status pz_caffe_layer_merge_crop(pz_caffe *c) {
  pz_node node = pz_node_new(PZ_OP_CROP);
  pz_tensor_id second = c->in[1];
  bool whole;
  PZ_TRY(centre(c, &node.attr.crop, &whole));
  if (!whole) PZ_TRY(pz_caffe_emit_part(c, &node, "crop", 1, &c->in[1], &second));
  return merge(c, c->in[0], second);
}
