#include "support/graph_equal.h"
#include <stdio.h>
#include <string.h>

/* The attributes are compared field by field, and not by the table that printing and parsing go by. */

#define SAME(field)         (!memcmp(&a->field, &b->field, sizeof a->field))
#define SAME_LIST(field, n) (!memcmp(a->field, b->field, (size_t)(n) * sizeof *a->field))

static bool act_equal(const pz_activation *a, const pz_activation *b) {
  return SAME(kind) && SAME(alpha) && SAME(beta);
}

static bool conv_equal(const pz_attr_conv *a, const pz_attr_conv *b) {
  return SAME(group) && SAME(kernel) && SAME(stride) && SAME(dilation) && SAME(pad_lo) && SAME(pad_hi) &&
         SAME(output_pad) && SAME(pooled) && SAME(norm_groups) && act_equal(&a->act, &b->act);
}

static bool pool_equal(const pz_attr_pool *a, const pz_attr_pool *b) {
  return SAME(kind) && SAME(divisor) && SAME(ceil) && SAME(kernel) && SAME(stride) && SAME(dilation) &&
         SAME(pad_lo) && SAME(pad_hi);
}

static bool resize_equal(const pz_attr_resize *a, const pz_attr_resize *b) {
  return SAME(kind) && SAME(coordinate) && SAME(rounding) && SAME(size) && SAME(scale);
}

static bool extend_equal(const pz_attr_pad *a, const pz_attr_pad *b) {
  return SAME(kind) && SAME(value) && SAME(lo) && SAME(hi);
}

static bool group_norm_equal(const pz_attr_group_norm *a, const pz_attr_group_norm *b) {
  return SAME(groups) && SAME(eps) && act_equal(&a->act, &b->act);
}

static bool coeff_equal(const pz_attr_eltwise *a, const pz_attr_eltwise *b, int32_t n) {
  if (!a->coeff || !b->coeff) return a->coeff == b->coeff;
  return SAME_LIST(coeff, n);
}

static bool lrn_equal(const pz_attr_lrn *a, const pz_attr_lrn *b) {
  return SAME(size) && SAME(alpha) && SAME(beta) && SAME(k) && SAME(within_channel);
}

static bool inner_equal(const pz_attr_inner_product *a, const pz_attr_inner_product *b) {
  return SAME(axis) && SAME(transpose) && act_equal(&a->act, &b->act);
}

static bool attributes_equal(const pz_node *a, const pz_node *b, int32_t rank) {
  switch (a->op) {
  case PZ_OP_CONV:
  case PZ_OP_DECONV: return conv_equal(&a->attr.conv, &b->attr.conv);
  case PZ_OP_POOL: return pool_equal(&a->attr.pool, &b->attr.pool);
  case PZ_OP_BATCH_NORM: return SAME(attr.batch_norm.eps);
  case PZ_OP_SCALE: return SAME(attr.scale.axis);
  case PZ_OP_ACTIVATION: return act_equal(&a->attr.activation.act, &b->attr.activation.act);
  case PZ_OP_POWER: return SAME(attr.power);
  case PZ_OP_ELTWISE:
    return SAME(attr.eltwise.kind) && coeff_equal(&a->attr.eltwise, &b->attr.eltwise, a->n_in);
  case PZ_OP_CONCAT: return SAME(attr.concat.axis) && SAME(attr.concat.in_place);
  case PZ_OP_SLICE: return SAME(attr.slice.axis) && SAME_LIST(attr.slice.begin, a->n_out + 1);
  case PZ_OP_CROP: return SAME(attr.crop.offset) && SAME(attr.crop.size) && SAME(attr.crop.step);
  case PZ_OP_SOFTMAX: return SAME(attr.softmax.axis) && SAME(attr.softmax.log);
  case PZ_OP_LRN: return lrn_equal(&a->attr.lrn, &b->attr.lrn);
  case PZ_OP_INNER_PRODUCT: return inner_equal(&a->attr.inner_product, &b->attr.inner_product);
  case PZ_OP_RESHAPE: return pz_shape_equal(&a->attr.reshape.shape, &b->attr.reshape.shape);
  case PZ_OP_PERMUTE: return SAME_LIST(attr.permute.order, rank);
  case PZ_OP_GROUP_NORM: return group_norm_equal(&a->attr.group_norm, &b->attr.group_norm);
  case PZ_OP_CHANNEL_NORM:
    return SAME(attr.channel_norm.eps) && act_equal(&a->attr.channel_norm.act, &b->attr.channel_norm.act);
  case PZ_OP_RESIZE: return resize_equal(&a->attr.resize, &b->attr.resize);
  case PZ_OP_REDUCE: return SAME(attr.reduce.kind) && SAME(attr.reduce.axis);
  case PZ_OP_PAD: return extend_equal(&a->attr.pad, &b->attr.pad);
  case PZ_OP_DEPTH_TO_SPACE:
    return SAME(attr.depth_to_space.block) && SAME(attr.depth_to_space.columns_first) &&
           SAME(attr.depth_to_space.inverse);
  case PZ_OP_GATHER:
    return SAME(attr.gather.axis) && SAME(attr.gather.index.n) &&
           SAME_LIST(attr.gather.index.entries, a->attr.gather.index.n);
  case PZ_OP_ARGMAX: return SAME(attr.argmax.axis) && SAME(attr.argmax.last) && SAME(attr.argmax.to);
  case PZ_OP_CAST: return SAME(attr.cast.to) && SAME(attr.cast.scale) && SAME(attr.cast.zero_point);
  case PZ_OP_CUMSUM:
    return SAME(attr.cumsum.axis) && SAME(attr.cumsum.exclusive) && SAME(attr.cumsum.reverse);
  case PZ_OP_DETECTION_OUTPUT:
    return SAME(attr.detection_output.classes) && SAME(attr.detection_output.background) &&
           SAME(attr.detection_output.top_k) && SAME(attr.detection_output.keep) &&
           SAME(attr.detection_output.per_class) && SAME(attr.detection_output.coded) &&
           SAME(attr.detection_output.corners) && SAME(attr.detection_output.overlap) &&
           SAME(attr.detection_output.confidence);
  case PZ_OP_NON_MAX_SUPPRESSION:
    return SAME(attr.non_max_suppression.most) && SAME(attr.non_max_suppression.centre) &&
           SAME(attr.non_max_suppression.overlap) && SAME(attr.non_max_suppression.score);
  case PZ_OP_GATHER_ROWS: return SAME(attr.gather_rows.fill);
  case PZ_OP_VOLUME_BORDER:
    return SAME(attr.volume_border.value) && SAME(attr.volume_border.axes.n) &&
           SAME_LIST(attr.volume_border.axes.entries, a->attr.volume_border.axes.n);
  case PZ_OP_HISTORY: return SAME(attr.history.planes);
  case PZ_OP_IDENTITY:
  case PZ_OP_BORDER_COPY: return true;
  case PZ_OP_NONE:
  case PZ_OP_COUNT: break;
  }
  return false;
}

static bool tensor_equal(const pz_tensor *a, const pz_tensor *b) {
  if (strcmp(a->name, b->name) || !pz_shape_equal(&a->shape, &b->shape) || !a->data != !b->data) return false;
  if (!SAME(border_lo) || !SAME(border_hi)) return false;
  if (!SAME(type) || !SAME(scale) || !SAME(zero_point) || !SAME(wanted)) return false;
  return !a->data || SAME_LIST(data, pz_shape_elements(&a->shape));
}

static bool lists_equal(const pz_graph *a, const pz_tensor_id *list_a, int32_t n_a, const pz_graph *b,
                        const pz_tensor_id *list_b, int32_t n_b) {
  if (n_a != n_b) return false;
  for (int32_t i = 0; i < n_a; i++) {
    if ((list_a[i] == PZ_NONE) != (list_b[i] == PZ_NONE)) return false;
    if (list_a[i] != PZ_NONE && !tensor_equal(&a->tensors[list_a[i]], &b->tensors[list_b[i]])) return false;
  }
  return true;
}

static bool node_equal(const pz_graph *g, const pz_node *a, const pz_graph *h, const pz_node *b) {
  if (a->op != b->op || strcmp(a->name, b->name)) return false;
  return lists_equal(g, a->in, a->n_in, h, b->in, b->n_in) &&
         lists_equal(g, a->out, a->n_out, h, b->out, b->n_out) &&
         attributes_equal(a, b, g->tensors[a->in[0]].shape.rank);
}

bool pz_graphs_equal(const pz_graph *a, const pz_graph *b, char why[256]) {
  const char *what = NULL;
  if (strcmp(a->name, b->name)) what = "names";
  else if (a->n_tensors != b->n_tensors) what = "numbers of tensors";
  else if (a->n_nodes != b->n_nodes) what = "numbers of nodes";
  else if (!lists_equal(a, a->inputs, a->n_inputs, b, b->inputs, b->n_inputs)) what = "inputs";
  else if (!lists_equal(a, a->outputs, a->n_outputs, b, b->outputs, b->n_outputs)) what = "outputs";
  for (int32_t i = 0; !what && i < a->n_nodes; i++)
    if (!node_equal(a, &a->nodes[i], b, &b->nodes[i])) what = a->nodes[i].name;
  snprintf(why, 256, "%s differ", what ? what : "no");
  return !what;
}
