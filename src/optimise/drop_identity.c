/* drop_identity.c: removes layers that change nothing, and the first of two reshapes, permutations or crops in a row. */
#include "optimise/rewrite.h"

static bool always(const pz_graph *g, const pz_node *node) { return (void)g, (void)node, true; }

static bool all_equal(const pz_graph *g, pz_tensor_id t, float value) {
  if (t == PZ_NONE) return true;
  if (!g->tensors[t].data) return false;
  int64_t n = pz_shape_elements(&g->tensors[t].shape);
  for (int64_t i = 0; i < n; i++)
    if (g->tensors[t].data[i] != value) return false;
  return true;
}

static bool idle_scale(const pz_graph *g, const pz_node *node) {
  return all_equal(g, pz_node_input(node, 1), 1) && all_equal(g, pz_node_input(node, 2), 0);
}

static bool idle_activation(const pz_graph *g, const pz_node *node) {
  const pz_activation *act = &node->attr.activation.act;
  return (void)g, act->kind == PZ_ACT_NONE || (act->kind == PZ_ACT_RELU && act->alpha == 1);
}

static bool idle_power(const pz_graph *g, const pz_node *node) {
  const pz_attr_power *a = &node->attr.power;
  return (void)g, a->power == 1 && a->scale == 1 && a->shift == 0;
}

static bool idle_concat(const pz_graph *g, const pz_node *node) { return (void)g, node->n_in == 1; }
static bool idle_slice(const pz_graph *g, const pz_node *node) { return (void)g, node->n_out == 1; }

static bool same_shape(const pz_graph *g, const pz_node *node) {
  return pz_shape_equal(&g->tensors[node->in[0]].shape, &g->tensors[node->out[0]].shape);
}

/* The sizes do not change, and no step goes backwards. */
static bool idle_crop(const pz_graph *g, const pz_node *node) {
  for (int i = 0; i < PZ_MAX_RANK; i++)
    if (node->attr.crop.step[i] < 0) return false;
  return same_shape(g, node);
}

static bool idle_gather(const pz_graph *g, const pz_node *node) {
  const pz_index_list *index = &node->attr.gather.index;
  for (int32_t i = 0; i < index->n; i++)
    if (index->entries[i] != i) return false;
  return same_shape(g, node);
}

static bool idle_permute(const pz_graph *g, const pz_node *node) {
  for (int i = 0; i < g->tensors[node->in[0]].shape.rank; i++)
    if (node->attr.permute.order[i] != i) return false;
  return true;
}

/* Windows of one point, all of them inside. */
static bool idle_pool(const pz_graph *g, const pz_node *node) {
  const pz_attr_pool *a = &node->attr.pool;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->kernel[i] != 1 || a->pad_lo[i] != 0 || a->pad_hi[i] != 0) return false;
  return same_shape(g, node);
}

static bool idle_pad(const pz_graph *g, const pz_node *node) { return same_shape(g, node); }

/* At the scale of the sizes, or 1, every output looks at its own input. */
static bool idle_resize(const pz_graph *g, const pz_node *node) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (node->attr.resize.scale[i] != 0 && node->attr.resize.scale[i] != 1) return false;
  return same_shape(g, node);
}

static bool idle_depth_to_space(const pz_graph *g, const pz_node *node) {
  const int32_t *block = node->attr.depth_to_space.block;
  return (void)g, block[0] == 1 && block[1] == 1 && block[2] == 1;
}

/* Sums of one entry each. */
static bool idle_cumsum(const pz_graph *g, const pz_node *node) {
  const pz_attr_cumsum *a = &node->attr.cumsum;
  return !a->exclusive && g->tensors[node->in[0]].shape.dim[a->axis] == 1;
}

static bool idle_cast(const pz_graph *g, const pz_node *node) {
  return pz_element_equal(pz_tensor_element(&g->tensors[node->in[0]]),
                          pz_tensor_element(&g->tensors[node->out[0]]));
}

static bool (*const does_nothing[PZ_OP_COUNT])(const pz_graph *g, const pz_node *node) = {
    [PZ_OP_IDENTITY] = always,
    [PZ_OP_SCALE] = idle_scale,
    [PZ_OP_ACTIVATION] = idle_activation,
    [PZ_OP_POWER] = idle_power,
    [PZ_OP_CONCAT] = idle_concat,
    [PZ_OP_SLICE] = idle_slice,
    [PZ_OP_CROP] = idle_crop,
    [PZ_OP_GATHER] = idle_gather,
    [PZ_OP_RESHAPE] = same_shape,
    [PZ_OP_PERMUTE] = idle_permute,
    [PZ_OP_POOL] = idle_pool,
    [PZ_OP_PAD] = idle_pad,
    [PZ_OP_RESIZE] = idle_resize,
    [PZ_OP_REDUCE] = same_shape,
    [PZ_OP_DEPTH_TO_SPACE] = idle_depth_to_space,
    [PZ_OP_CAST] = idle_cast,
    [PZ_OP_CUMSUM] = idle_cumsum,
};

static void skip_reshapes(pz_rewriter *rw, pz_node *reshape) {
  for (;;) {
    pz_node_id before = rw->producer[reshape->in[0]];
    if (before == PZ_NONE || rw->g->nodes[before].op != PZ_OP_RESHAPE) return;
    reshape->in[0] = rw->g->nodes[before].in[0];
    rw->changes++;
  }
}

/* A permutation that leaves the dimensions of more than one entry in their order is a reshape, a view. */
static void turn_into_reshape(pz_rewriter *rw, pz_node *permute) {
  const pz_shape *x = &rw->g->tensors[permute->in[0]].shape;
  const int32_t *order = permute->attr.permute.order;
  int32_t last = -1;
  for (int32_t i = 0; i < x->rank; i++) {
    if (x->dim[order[i]] == 1) continue;
    if (order[i] < last) return;
    last = order[i];
  }
  permute->op = PZ_OP_RESHAPE;
  permute->attr.reshape.shape = rw->g->tensors[permute->out[0]].shape;
  rw->changes++;
}

/* y[i..] = x[order of the second], of which dimension k is dimension first[k] of what the first reads. */
static void skip_permute(pz_rewriter *rw, pz_node *permute) {
  pz_node_id id = rw->producer[permute->in[0]];
  if (id == PZ_NONE || rw->g->nodes[id].op != PZ_OP_PERMUTE) return;
  const pz_node *before = &rw->g->nodes[id];
  int32_t *order = permute->attr.permute.order;
  for (int i = 0; i < rw->g->tensors[permute->in[0]].shape.rank; i++)
    order[i] = before->attr.permute.order[order[i]];
  permute->in[0] = before->in[0];
  rw->changes++;
}

static void skip_crop(pz_rewriter *rw, pz_node *crop) {
  pz_node_id id = rw->producer[crop->in[0]];
  if (id == PZ_NONE || rw->g->nodes[id].op != PZ_OP_CROP) return;
  const pz_attr_crop *before = &rw->g->nodes[id].attr.crop;
  pz_attr_crop *a = &crop->attr.crop, both = *a;
  for (int i = 0; i < rw->g->tensors[crop->in[0]].shape.rank; i++) {
    both.offset[i] = before->offset[i] + a->offset[i] * before->step[i];
    both.step[i] = a->step[i] * before->step[i];
    if (both.step[i] > PZ_MAX_DIM || both.step[i] < -PZ_MAX_DIM) return;
  }
  *a = both;
  crop->in[0] = rw->g->nodes[id].in[0];
  rw->changes++;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  pz_node *node = &rw->g->nodes[id];
  if (node->op == PZ_OP_PERMUTE) skip_permute(rw, node);
  if (node->op == PZ_OP_PERMUTE && !idle_permute(rw->g, node)) turn_into_reshape(rw, node);
  if (node->op == PZ_OP_RESHAPE) skip_reshapes(rw, node);
  if (node->op == PZ_OP_CROP) skip_crop(rw, node);
  if (does_nothing[node->op] && does_nothing[node->op](rw->g, node)) pz_rewrite_bypass(rw, id);
  return PZ_OK;
}

pz_status pz_pass_drop_identity(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
