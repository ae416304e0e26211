/* remove_sparsity.c: where convolutions of 1x1 read every other point alone, the layers that make their input make no others (IntelCaffe, figure 4).
 * The stride goes up through functions of one value and element-wise layers to the convolutions and poolings before them; a tensor that has other
 * readers, as the skip of a residual block, is thinned out by a pooling of 1x1 with that stride. */
#include "optimise/rewrite.h"
#include <string.h>

typedef struct thinning {
  pz_rewriter *rw;
  int32_t stride[PZ_SPATIAL];
} thinning;

static bool is_one(const int32_t v[PZ_SPATIAL]) { return v[0] == 1 && v[1] == 1 && v[2] == 1; }
static bool is_zero(const int32_t v[PZ_SPATIAL]) { return !v[0] && !v[1] && !v[2]; }

/* A convolution that reads points with a distance. */
static bool reads_points(const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  return node->op == PZ_OP_CONV && is_one(a->kernel) && !is_one(a->stride) && is_zero(a->pad_lo) &&
         is_zero(a->pad_hi);
}

/* All that read t read the same points alone. */
static bool all_read_points(const thinning *t, pz_tensor_id x) {
  const pz_graph *g = t->rw->g;
  if (pz_graph_is_output(g, x)) return false;
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op == PZ_OP_NONE) continue;
    for (int32_t k = 0; k < node->n_in; k++)
      if (node->in[k] == x && (k != PZ_CONV_X || !reads_points(node) ||
                               memcmp(node->attr.conv.stride, t->stride, sizeof t->stride) != 0))
        return false;
  }
  return true;
}

/* A function of each value by itself, and of its channel. */
static bool is_pointwise(const pz_graph *g, const pz_node *node) {
  if (node->op == PZ_OP_SCALE) {
    for (int32_t k = 1; k < node->n_in; k++)
      if (node->in[k] != PZ_NONE && g->tensors[node->in[k]].shape.rank > 1) return false;
    return node->attr.scale.axis == 1;
  }
  return node->op == PZ_OP_ACTIVATION || node->op == PZ_OP_BATCH_NORM || node->op == PZ_OP_POWER;
}

static bool is_elementwise(const pz_graph *g, const pz_node *node) {
  for (int32_t k = 0; node->op == PZ_OP_ELTWISE && k < node->n_in; k++)
    if (!pz_shape_equal(&g->tensors[node->in[k]].shape, &g->tensors[node->out[0]].shape)) return false;
  return node->op == PZ_OP_ELTWISE;
}

static bool multiply(int32_t stride[PZ_SPATIAL], const int32_t by[PZ_SPATIAL]) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (__builtin_mul_overflow(stride[i], by[i], &stride[i])) return false;
  return true;
}

/* A convolution or pooling that can leave points out. */
static bool can_stride(const thinning *t, const pz_node *node) {
  pz_attr_conv conv = node->attr.conv;
  pz_attr_pool pool = node->attr.pool;
  if (node->op == PZ_OP_POOL) return !pool.ceil && multiply(pool.stride, t->stride);
  return node->op == PZ_OP_CONV && pz_node_input(node, PZ_CONV_RESIDUAL) == PZ_NONE && is_zero(conv.pooled) &&
         !conv.norm_groups && multiply(conv.stride, t->stride);
}

/* Layers that a stride goes up through at most: a model may have a chain of any length. */
enum { MOST_LAYERS = 32 };

/* Some convolution or pooling, `layers` up at most, has less to do when whoever makes x makes the points alone. */
static bool is_worth(const thinning *t, pz_tensor_id x, int layers) {
  const pz_graph *g = t->rw->g;
  if (!layers || t->rw->producer[x] == PZ_NONE) return false;
  const pz_node *node = &g->nodes[t->rw->producer[x]];
  if (can_stride(t, node)) return true;
  const int32_t inputs = is_pointwise(g, node) ? 1 : is_elementwise(g, node) ? node->n_in : 0;
  for (int32_t k = 0; k < inputs; k++)
    if (pz_rewrite_sole_producer(t->rw, node->in[k]) != PZ_NONE && is_worth(t, node->in[k], layers - 1))
      return true;
  return false;
}

static pz_status make_thin(const thinning *t, pz_tensor_id x, int layers);

/* A tensor of the points of x. */
static pz_status pool_points(const thinning *t, pz_tensor_id x, pz_tensor_id *to) {
  pz_rewriter *rw = t->rw;
  const char *base = rw->g->tensors[x].name;
  pz_node pool = {.name = pz_rewrite_name(rw, base, "points"),
                  .op = PZ_OP_POOL,
                  .n_in = 1,
                  .in = &x,
                  .place = rw->producer[x] == PZ_NONE ? (pz_place){0} : rw->g->nodes[rw->producer[x]].place};
  pool.attr.pool = (pz_attr_pool){.kind = PZ_POOL_MAX, .kernel = {1, 1, 1}, .dilation = {1, 1, 1}};
  memcpy(pool.attr.pool.stride, t->stride, sizeof t->stride);
  const char *name = pool.name ? pz_graph_fresh_name(rw->g, pool.name) : NULL;
  if (!name) return pz_fail_memory(rw->err, "a layer's name", strlen(base));
  return pz_graph_add_node(rw->g, &pool, 1, &name, to, rw->err);
}

static pz_status thin_input(const thinning *t, pz_node_id id, int32_t k, int layers) {
  const pz_tensor_id x = t->rw->g->nodes[id].in[k];
  pz_tensor_id to = x;
  if (pz_rewrite_sole_producer(t->rw, x) != PZ_NONE && is_worth(t, x, layers))
    PZ_TRY(make_thin(t, x, layers));
  else PZ_TRY(pool_points(t, x, &to));
  t->rw->g->nodes[id].in[k] = to;
  return PZ_OK;
}

/* Whoever makes x makes the points alone. */
static pz_status make_thin(const thinning *t, pz_tensor_id x, int layers) {
  pz_graph *g = t->rw->g;
  const pz_node_id id = t->rw->producer[x];
  pz_node *node = &g->nodes[id];
  const int32_t inputs = is_pointwise(g, node) ? 1 : is_elementwise(g, node) ? node->n_in : 0;
  if (node->op == PZ_OP_CONV) multiply(node->attr.conv.stride, t->stride);
  if (node->op == PZ_OP_POOL) multiply(node->attr.pool.stride, t->stride);
  for (int32_t k = 0; k < inputs; k++) PZ_TRY(thin_input(t, id, k, layers - 1));
  pz_shape *shape = &g->tensors[x].shape;
  for (int32_t i = 2; i < shape->rank; i++)
    shape->dim[i] = (shape->dim[i] - 1) / t->stride[PZ_SPATIAL - shape->rank + i] + 1;
  return pz_rewrite_rename(t->rw, x);
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  thinning t = {.rw = rw};
  if (!reads_points(node)) return PZ_OK;
  const pz_tensor_id x = node->in[PZ_CONV_X];
  memcpy(t.stride, node->attr.conv.stride, sizeof t.stride);
  if (!all_read_points(&t, x) || !is_worth(&t, x, MOST_LAYERS)) return PZ_OK;
  for (int32_t i = 0; i < rw->g->n_nodes; i++) {
    pz_node *reader = &rw->g->nodes[i];
    if (reader->op == PZ_OP_CONV && reader->in[PZ_CONV_X] == x)
      for (int k = 0; k < PZ_SPATIAL; k++) reader->attr.conv.stride[k] = 1;
  }
  PZ_TRY(make_thin(&t, x, MOST_LAYERS));
  rw->changes++;
  return PZ_OK;
}

/* From the end on, since what a stride goes up to may be read by points alone then. */
pz_status pz_pass_remove_sparsity(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  for (pz_node_id id = g->n_nodes - 1; id >= 0 && status == PZ_OK; id--) {
    const int before = rw.changes;
    if (g->nodes[id].op != PZ_OP_NONE) status = visit(&rw, id);
    if (status == PZ_OK && rw.changes > before) status = pz_rewriter_reindex(&rw);
  }
  return pz_rewriter_end(&rw, status, changes);
}
