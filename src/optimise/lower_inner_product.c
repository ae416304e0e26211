/* lower_inner_product.c: an inner product is a convolution whose kernel is as large as its input.
 *
 * x is flattened from `axis` on to [outer, inner]. A tensor of the same elements that has dim[0] == outer and spatial
 * dimensions is convolved as it is (weight [K, inner] in C order is [K, C, spatial...]); the search for one
 * goes up through reshapes, so that Flatten before an inner product costs nothing. Otherwise x is reshaped to
 * [outer, inner, 1, 1]. The convolution's result is reshaped to the inner product's. */
#include "optimise/rewrite.h"
#include <string.h>

enum { X, WEIGHT, BIAS, SLOPE };

typedef struct sizes {
  int64_t outer, inner, channels;
} sizes;

static sizes sizes_of(const pz_graph *g, const pz_node *node) {
  const pz_shape *x = &g->tensors[node->in[X]].shape, *weight = &g->tensors[node->in[WEIGHT]].shape;
  sizes s = {1, 1, weight->dim[node->attr.inner_product.transpose ? 1 : 0]};
  for (int i = 0; i < x->rank; i++) *(i < node->attr.inner_product.axis ? &s.outer : &s.inner) *= x->dim[i];
  return s;
}

static pz_tensor_id find_spatial(const pz_rewriter *rw, pz_tensor_id t, int64_t outer) {
  for (;;) {
    const pz_shape *s = &rw->g->tensors[t].shape;
    if (s->rank >= 3 && s->dim[0] == outer) return t;
    if (rw->producer[t] == PZ_NONE || rw->g->nodes[rw->producer[t]].op != PZ_OP_RESHAPE) return PZ_NONE;
    t = rw->g->nodes[rw->producer[t]].in[0];
  }
}

/* Adds a node of one input list and one output, both named after `base`. */
static pz_status add_node(pz_rewriter *rw, pz_node *node, const char *out_name, pz_tensor_id *out) {
  if (!node->name || !out_name) return pz_fail_memory(rw->err, "a layer's name", 0);
  return pz_graph_add_node(rw->g, node, 1, &out_name, out, rw->err);
}

static pz_status make_spatial(pz_rewriter *rw, pz_node_id id, const sizes *s, pz_tensor_id *x) {
  const pz_node *node = &rw->g->nodes[id];
  *x = find_spatial(rw, node->in[X], s->outer);
  if (*x != PZ_NONE) return PZ_OK;
  pz_tensor_id from = node->in[X];
  pz_node reshape = {.name = pz_rewrite_name(rw, node->name, "flatten"),
                     .op = PZ_OP_RESHAPE,
                     .n_in = 1,
                     .in = &from,
                     .place = node->place};
  reshape.attr.reshape.shape = (pz_shape){4, {s->outer, s->inner, 1, 1}};
  return add_node(rw, &reshape, pz_rewrite_name(rw, rw->g->tensors[from].name, "flat"), x);
}

static pz_status make_weight(pz_rewriter *rw, pz_node_id id, const sizes *s, pz_tensor_id x,
                             pz_tensor_id *weight) {
  const pz_node *node = &rw->g->nodes[id];
  pz_tensor_id from = node->in[WEIGHT];
  bool transpose = node->attr.inner_product.transpose;
  pz_shape shape = rw->g->tensors[x].shape;
  shape.dim[0] = s->channels;
  if (!transpose && rw->uses[from] == 1) {
    rw->g->tensors[ *weight = from].shape = shape;
    return PZ_OK;
  }
  PZ_TRY(pz_rewrite_new_constant(rw, rw->g->tensors[from].name, node->name, &shape, weight));
  const float *w = rw->g->tensors[from].data;
  float *to = pz_graph_constant_data(rw->g, *weight);
  for (int64_t k = 0; k < s->channels; k++)
    for (int64_t i = 0; i < s->inner; i++)
      to[k * s->inner + i] = w[transpose ? i * s->channels + k : k * s->inner + i];
  return PZ_OK;
}

static pz_attr_conv conv_over(const pz_shape *x, pz_activation act) {
  pz_attr_conv a = {.group = 1, .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .act = act};
  for (int i = 2; i < x->rank; i++) a.kernel[PZ_SPATIAL - x->rank + i] = (int32_t)x->dim[i];
  return a;
}

/* The inner product's node becomes the reshape behind the convolution, which takes its name. */
static pz_status lower(pz_rewriter *rw, pz_node_id id) {
  sizes s = sizes_of(rw->g, &rw->g->nodes[id]);
  pz_tensor_id in[PZ_CONV_INPUTS] = {PZ_NONE, PZ_NONE, PZ_NONE, PZ_NONE, PZ_NONE, PZ_NONE}, out;
  PZ_TRY(make_spatial(rw, id, &s, &in[PZ_CONV_X]));
  PZ_TRY(make_weight(rw, id, &s, in[PZ_CONV_X], &in[PZ_CONV_WEIGHT]));
  pz_node *node = &rw->g->nodes[id];
  pz_tensor_id result = node->out[0];
  in[PZ_CONV_BIAS] = pz_node_input(node, BIAS);
  in[PZ_CONV_SLOPE] = pz_node_input(node, SLOPE);
  pz_node conv = {
      .name = node->name, .op = PZ_OP_CONV, .n_in = PZ_CONV_INPUTS, .in = in, .place = node->place};
  conv.attr.conv = conv_over(&rw->g->tensors[in[PZ_CONV_X]].shape, node->attr.inner_product.act);
  node->name = pz_rewrite_name(rw, conv.name, "reshape");
  if (!node->name) return pz_fail_memory(rw->err, "a layer's name", strlen(conv.name));
  node->op = PZ_OP_RESHAPE;
  node->n_in = 1;
  node->attr.reshape.shape = rw->g->tensors[result].shape;
  PZ_TRY(add_node(rw, &conv, pz_rewrite_name(rw, rw->g->tensors[result].name, "conv"), &out));
  rw->g->nodes[id].in[0] = out;
  rw->changes++;
  return pz_rewrite_take_name(rw, out, result);
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  if (node->op != PZ_OP_INNER_PRODUCT) return PZ_OK;
  if (!rw->g->tensors[node->in[WEIGHT]].data)
    return pz_fail(rw->err, PZ_ERROR_INPUT,
                   "layer \"%s\": an inner product with computed weights is not supported", node->name);
  return lower(rw, id);
}

pz_status pz_pass_lower_inner_product(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
