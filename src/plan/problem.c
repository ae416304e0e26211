/* problem.c: the problems of a graph's nodes. */
#include "plan/plan.h"
#include "plan/solver.h"

#include "kernels/norm/whole.h"

#include <string.h>

/* By tensor. */
typedef struct scan {
  const pz_graph *g;
  pz_node_id *maker;
  int32_t *uses;
  bool *leaves; /* an output of the graph */
} scan;

static pz_status look_around(const pz_graph *g, pz_arena *arena, scan *s, pz_error *err) {
  const size_t tensors = (size_t)g->n_tensors + 1;
  *s = (scan){g, PZ_NEW(arena, pz_node_id, tensors), PZ_NEW(arena, int32_t, tensors),
              PZ_NEW(arena, bool, tensors)};
  if (!s->maker || !s->uses || !s->leaves) return pz_fail_memory(err, "the plan", tensors * 16);
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) s->maker[t] = PZ_NONE;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    for (int32_t i = 0; i < g->nodes[n].n_out; i++) s->maker[g->nodes[n].out[i]] = n;
    for (int32_t i = 0; i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] != PZ_NONE) s->uses[g->nodes[n].in[i]]++;
  }
  for (int32_t i = 0; i < g->n_outputs; i++)
    s->uses[g->outputs[i]] += !s->leaves[g->outputs[i]], s->leaves[g->outputs[i]] = true;
  return PZ_OK;
}

/* ---- operands ---- */

static bool is_one_sided(const pz_activation *act) {
  switch (act->kind) {
  case PZ_ACT_RELU: return act->alpha == 0;
  case PZ_ACT_SIGMOID:
  case PZ_ACT_HARD_SIGMOID:
  case PZ_ACT_SOFTPLUS:
  case PZ_ACT_EXP:
  case PZ_ACT_ABS: return true;
  default: return false;
  }
}
/* Integers from the number 0 on. */
static bool counts_up(const pz_tensor *t) {
  return !t->data && pz_dtype_kind(t->type) == 'u' && t->zero_point == 0;
}
static bool has_one_sign(const scan *s, pz_tensor_id id) {
  for (;;) {
    if (s->maker[id] == PZ_NONE) return counts_up(&s->g->tensors[id]);
    const pz_node *m = &s->g->nodes[s->maker[id]];
    switch (m->op) {
    case PZ_OP_CONV:
    case PZ_OP_DECONV: return is_one_sided(&m->attr.conv.act);
    case PZ_OP_ACTIVATION: return is_one_sided(&m->attr.activation.act);
    case PZ_OP_POOL:
    case PZ_OP_CONCAT:
    case PZ_OP_SLICE:
    case PZ_OP_CROP:
    case PZ_OP_IDENTITY:
    case PZ_OP_CAST:
    case PZ_OP_BORDER_COPY: id = m->in[0]; break;
    default: return false;
    }
  }
}

static bool comes_plain(const scan *s, pz_tensor_id id) {
  if (s->maker[id] == PZ_NONE) return true;
  const pz_node *m = &s->g->nodes[s->maker[id]];
  return (m->op == PZ_OP_BORDER_COPY || m->op == PZ_OP_CAST) && s->maker[m->in[0]] == PZ_NONE;
}

static bool scales_channels(const pz_graph *g, const pz_node *node) {
  if (node->attr.scale.axis != 1) return false;
  for (int32_t i = 1; i < node->n_in; i++)
    if (node->in[i] != PZ_NONE && (!g->tensors[node->in[i]].data || g->tensors[node->in[i]].shape.rank != 1))
      return false;
  return true;
}

/* Which inputs of a node are weights that the solver packs; the others are computed tensors to be read in its layout. */
static bool is_packed(const pz_graph *g, const pz_node *node, int32_t i) {
  switch (node->op) {
  case PZ_OP_CONV:
  case PZ_OP_DECONV: return i != PZ_CONV_X && i != PZ_CONV_RESIDUAL;
  case PZ_OP_BATCH_NORM:
  case PZ_OP_GROUP_NORM:
  case PZ_OP_CHANNEL_NORM:
  case PZ_OP_ACTIVATION: return i > 0;
  case PZ_OP_SCALE: return i > 0 && scales_channels(g, node);
  case PZ_OP_ELTWISE: return g->tensors[node->in[i]].data;
  default: return false;
  }
}

static pz_operand input_of(const scan *s, const pz_node *node, int32_t i) {
  const pz_tensor_id id = node->in[i];
  pz_operand o = {.same = i};
  if (id == PZ_NONE) return o;
  const pz_tensor *t = &s->g->tensors[id];
  o.present = true, o.shape = t->shape, o.element = pz_tensor_element(t), o.data = t->data,
  o.packed = is_packed(s->g, node, i);
  for (o.same = 0; node->in[o.same] != id; o.same++) {}
  o.nchw = !o.packed && comes_plain(s, id);
  o.one_sign = (node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV) && i == PZ_CONV_X && has_one_sign(s, id);
  return o;
}

static pz_operand output_of(const scan *s, const pz_node *node, int32_t i) {
  const pz_tensor_id id = node->out[i];
  return (pz_operand){.present = true,
                      .shape = s->g->tensors[id].shape,
                      .element = pz_tensor_element(&s->g->tensors[id]),
                      .same = i,
                      .nchw = s->leaves[id] && s->uses[id] == 1};
}

/* ---- epilogues ---- */

/* As the passes fuse-pool and norm-stats have told the node. */
static pz_epilogue epilogue_of(const pz_problem *p, const pz_target *target) {
  pz_epilogue e = {.normalised = false};
  if (p->op != PZ_OP_CONV && p->op != PZ_OP_DECONV) return e;
  const pz_attr_conv *a = &p->attr.conv;
  const pz_shape5 y = pz_shape_as5(&p->out[0].shape);
  const pz_view sizes = {.n = (int32_t)y.n,
                         .c = (int32_t)y.c,
                         .d = (int32_t)y.s[0],
                         .h = (int32_t)y.s[1],
                         .w = (int32_t)y.s[2],
                         .block = target->block};
  for (int i = 0; i < PZ_SPATIAL && p->op == PZ_OP_CONV; i++) e.pools |= a->pooled[i] > 0;
  if (e.pools) memcpy(e.pool, a->pooled, sizeof e.pool);
  e.normalised = a->norm_groups > 0;
  e.norm_stats = e.normalised && !pz_norm_is_whole(&sizes, a->norm_groups);
  return e;
}

/* ---- problems ---- */

static pz_status problem_of(const scan *s, pz_node_id n, const pz_target *target, pz_arena *arena,
                            pz_problem *p, pz_error *err) {
  const pz_node *node = &s->g->nodes[n];
  const size_t operands = (size_t)(node->n_in + node->n_out);
  pz_operand *in = PZ_NEW(arena, pz_operand, operands + 1), *out = in + node->n_in;
  if (!in) return pz_fail_memory(err, "the plan", operands * sizeof *in);
  *p = (pz_problem){
      .op = node->op, .attr = node->attr, .n_in = node->n_in, .n_out = node->n_out, .in = in, .out = out};
  for (int32_t i = 0; i < node->n_in; i++) in[i] = input_of(s, node, i);
  for (int32_t i = 0; i < node->n_out; i++) out[i] = output_of(s, node, i);
  p->epilogue = epilogue_of(p, target);
  p->padded = (node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV) && pz_problem_is_padded(s->g, node);
  return PZ_OK;
}

pz_status pz_problems_of(const pz_graph *graph, const pz_target *target, pz_arena *arena,
                         const pz_problem **problems, pz_error *err) {
  scan s;
  pz_problem *all = PZ_NEW(arena, pz_problem, (size_t)graph->n_nodes + 1);
  if (!all) return pz_fail_memory(err, "the plan", (size_t)graph->n_nodes * sizeof *all);
  PZ_TRY(look_around(graph, arena, &s, err));
  for (pz_node_id n = 0; n < graph->n_nodes; n++) PZ_TRY(problem_of(&s, n, target, arena, &all[n], err));
  *problems = all;
  return PZ_OK;
}

bool pz_problem_is_padded(const pz_graph *graph, const pz_node *node) {
  const pz_tensor *x = &graph->tensors[node->in[PZ_CONV_X]];
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL];
  pz_node_input_border(graph, node, lo, hi);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (x->border_lo[i] < lo[i] || x->border_hi[i] < hi[i]) return false;
  return true;
}

pz_node_id pz_told_pooling(const pz_graph *g, const pz_problem *problem, pz_node_id n) {
  const int32_t *window = problem->epilogue.pool;
  for (pz_node_id i = n + 1; problem->epilogue.pools && i < g->n_nodes; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op == PZ_OP_POOL && node->in[0] == g->nodes[n].out[0] && pz_node_pools_simply(g, node) &&
        !memcmp(node->attr.pool.kernel, window, sizeof node->attr.pool.kernel))
      return i;
  }
  return PZ_NONE;
}
