/* solve_pool.c: maximum and average over windows; over the whole image as a reduction. */
#include "kernels/pool/pool.h"
#include "plan/reduction.h"

/* Windows that overlap, and have so many points that adding up columns first saves a third. */
static bool is_separable(const pz_attr_pool *a) {
  const int64_t column = (int64_t)a->kernel[0] * a->kernel[1];
  return 2 * column * a->kernel[2] > 3 * (column * a->stride[2] + a->kernel[2] + 1);
}

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_attr_pool *a = &node->attr.pool;
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &out, err));
  const bool apart = is_separable(a) && a->kernel[2] < in.view.w;
  pz_pointer scratch = {PZ_SPACE_NULL, 0, 0};
  if (apart) scratch = pz_add_scratch(plan, pz_pooling_scratch(&in.view));
  pz_text shape = {0};
  pz_text_view(&shape, "in", &in.view);
  pz_text_view(&shape, "out", &out.view);
  pz_text_printf(&shape, ".kind = %d, .divisor = %d, ", a->kind, a->divisor);
  pz_text_ints(&shape, "kernel", a->kernel, 3);
  pz_text_ints(&shape, "stride", a->stride, 3);
  pz_text_ints(&shape, "dilation", a->dilation, 3);
  pz_text_ints(&shape, "pad_lo", a->pad_lo, 3);
  pz_text_ints(&shape, "pad_hi", a->pad_hi, 3);
  pz_text_printf(&shape, ".separable = %d", apart);
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "scratch", .written = true, .at = scratch},
                         {.name = "out", .written = true, .at = out.at}};
  PZ_TRY(pz_set_algorithm(plan, step, err, "%s of %dx%dx%d%s", a->kind == PZ_POOL_MAX ? "maximum" : "average",
                          a->kernel[0], a->kernel[1], a->kernel[2], apart ? ", columns first" : ""));
  return pz_add_call(plan, step, "kernels/pool/pool.h", "pz_pooling", &shape, args, 3, err);
}
const pz_solver pz_solver_pool = {.name = "pooling",
                                  .op = PZ_OP_POOL,
                                  .in = PZ_BLOCKED,
                                  .out = PZ_BLOCKED,
                                  .build = build,
                                  .knows_tight = true};

/* Windows of one or two points along each axis, side by side, that leave nothing over. */
static bool is_simple(const pz_plan *plan, const pz_node *node) {
  const pz_attr_pool *a = &node->attr.pool;
  const pz_shape5 x = pz_shape_as5(&plan->graph->tensors[node->in[0]].shape);
  const pz_shape5 y = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->kernel[i] > 2 || a->stride[i] != a->kernel[i] || (a->kernel[i] > 1 && a->dilation[i] > 1) ||
        a->pad_lo[i] || a->pad_hi[i] || y.s[i] * a->kernel[i] != x.s[i])
      return false;
  return a->kind == PZ_POOL_MAX;
}

/* The first that it can: another one of the same result is a step. */
pz_node_id pz_pooling_of(const pz_plan *plan, pz_node_id n) {
  const pz_graph *g = plan->graph;
  const pz_solver *solver = plan->chosen[n];
  if (!solver->pools) return PZ_NONE;
  for (pz_node_id i = n + 1; i < g->n_nodes; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op == PZ_OP_POOL && node->in[0] == g->nodes[n].out[0] && plan->chosen[i] == &pz_solver_pool &&
        is_simple(plan, node) && solver->pools(plan, &g->nodes[n], node->attr.pool.kernel))
      return i;
  }
  return PZ_NONE;
}

pz_node_id pz_pooled_by(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  const pz_node_id maker = node->op == PZ_OP_POOL ? pz_graph_producer(plan->graph, node->in[0]) : PZ_NONE;
  return maker != PZ_NONE && pz_pooling_of(plan, maker) == n ? maker : PZ_NONE;
}

pz_status pz_add_pooled_border(pz_plan *plan, pz_step *step, pz_node_id n, pz_error *err) {
  const pz_node_id pool = pz_pooling_of(plan, n);
  if (pool == PZ_NONE) return PZ_OK;
  return pz_add_border_call(plan, step, pz_input_storage(plan, plan->graph->nodes[pool].out[0], PZ_BLOCKED),
                            err);
}

/* One window, and it is the input: many workers can share it. */
static bool is_global(const pz_plan *plan, const pz_node *node) {
  const pz_attr_pool *a = &node->attr.pool;
  const pz_shape5 x = pz_shape_as5(&plan->graph->tensors[node->in[0]].shape);
  const pz_shape5 y = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const bool dilated = a->kernel[i] > 1 && a->dilation[i] > 1;
    if (y.s[i] != 1 || a->kernel[i] != x.s[i] || dilated || a->pad_lo[i] || a->pad_hi[i]) return false;
  }
  return true;
}
static pz_status build_global(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_reduce_kind kind = node->attr.pool.kind == PZ_POOL_MAX ? PZ_REDUCE_MAX : PZ_REDUCE_MEAN;
  return pz_add_reduction(plan, node, step, kind, (const int32_t[5]){0, 0, 1, 1, 1}, err);
}
const pz_solver pz_solver_pool_global = {.name = "reduction of the whole image",
                                         .op = PZ_OP_POOL,
                                         .in = PZ_BLOCKED,
                                         .out = PZ_BLOCKED,
                                         .applies = is_global,
                                         .build = build_global};
