/* solve_norm.c: group normalisation, with instance and layer normalisation as its ends. In place where its input has no other
 * use. */
#include "kernels/norm/shape.h"
#include "plan/solver.h"

/* A worker's share of the second-level cache, so that a span is read from memory once. */
#define WHOLE_BYTES (256 << 10)
/* So many spans keep workers busy; a tensor smaller than this is done before they have met. */
#define MANY_SPANS  8
#define SMALL_BYTES (64 << 10)

typedef struct parts {
  pz_storage in, out;
  pz_pointer gamma, beta, slope;
} parts;

static bool is_constant_or_absent(const pz_graph *g, pz_tensor_id id) {
  return id == PZ_NONE || g->tensors[id].data;
}
static bool constants(const pz_plan *plan, const pz_node *node) {
  for (int32_t i = PZ_GROUP_NORM_GAMMA; i < PZ_GROUP_NORM_INPUTS; i++)
    if (!is_constant_or_absent(plan->graph, node->in[i])) return false;
  return true;
}

/* The tensor's sizes in blocks; strides and border do not matter to spans. */
static pz_view sizes(const pz_plan *plan, const pz_node *node) {
  const pz_shape5 s = pz_shape_as5(&plan->graph->tensors[node->in[0]].shape);
  return (pz_view){.n = (int32_t)s.n,
                   .c = (int32_t)s.c,
                   .d = (int32_t)s.s[0],
                   .h = (int32_t)s.s[1],
                   .w = (int32_t)s.s[2],
                   .block = plan->block};
}
static bool spans_are_small(const pz_plan *plan, const pz_node *node) {
  const pz_view v = sizes(plan, node);
  const int64_t span = pz_norm_span(&v, node->attr.group_norm.groups);
  const double bytes = (double)span * v.d * v.h * v.w * v.block * 4,
               spans = span ? (double)v.n * pz_blocks(&v) / span : 0;
  return constants(plan, node) && span && bytes <= WHOLE_BYTES &&
         (spans >= MANY_SPANS || spans * bytes <= SMALL_BYTES);
}

static pz_status begin(pz_plan *plan, const pz_node *node, parts *p, pz_error *err) {
  bool done;
  p->in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  PZ_TRY(pz_make_in_place(plan, node->in[0], node->out[0], PZ_BLOCKED, &done, err));
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &p->out, err));
  PZ_TRY(pz_add_channel_vector(plan, node->in[PZ_GROUP_NORM_GAMMA], p->in.view.c, &p->gamma, err));
  PZ_TRY(pz_add_channel_vector(plan, node->in[PZ_GROUP_NORM_BETA], p->in.view.c, &p->beta, err));
  return pz_add_channel_vector(plan, node->in[PZ_GROUP_NORM_SLOPE], p->in.view.c, &p->slope, err);
}

static pz_status add_norm(pz_plan *plan, const pz_node *node, pz_step *step, const parts *p,
                          const char *function, const pz_gathered *statistics, pz_error *err) {
  const pz_attr_group_norm *a = &node->attr.group_norm;
  pz_text shape = {0};
  pz_arg args[6] = {{.name = "in", .at = p->in.at}};
  int32_t n = 1;
  pz_text_view(&shape, "in", &p->in.view);
  pz_text_view(&shape, "out", &p->out.view);
  if (statistics) pz_text_printf(&shape, ".units = %d, ", statistics->units);
  pz_text_printf(&shape, ".groups = %d, .has_gamma = %d, .has_beta = %d, ", a->groups,
                 p->gamma.space != PZ_SPACE_NULL, p->beta.space != PZ_SPACE_NULL);
  pz_text_float(&shape, "eps", a->eps);
  pz_text_printf(&shape, ".act = %d, ", (int)a->act.kind);
  pz_text_float(&shape, "act_alpha", a->act.alpha);
  pz_text_float(&shape, "act_beta", a->act.beta);
  if (statistics) args[n++] = (pz_arg){.name = "statistics", .at = statistics->at};
  args[n++] = (pz_arg){.name = "gamma", .at = p->gamma};
  args[n++] = (pz_arg){.name = "beta", .at = p->beta};
  args[n++] = (pz_arg){.name = "slope", .at = p->slope};
  args[n++] = (pz_arg){.name = "out", .written = true, .at = p->out.at};
  return pz_add_call(plan, step, "kernels/norm/group_norm.h", function, &shape, args, n, err);
}

/* ---- statistics, then results ---- */

extern const pz_solver pz_solver_group_norm;

bool pz_wants_moments(const pz_plan *plan, const pz_node *node) {
  const pz_graph *g = plan->graph;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (plan->chosen[n] == &pz_solver_group_norm && g->nodes[n].in[0] == node->out[0]) return true;
  return false;
}

pz_status pz_gather_moments(pz_plan *plan, const pz_node *node, const pz_view *out, int32_t units,
                            pz_pointer *at, pz_error *err) {
  PZ_TRY(pz_add_buffer(plan, pz_norm_floats(out, units), at, err));
  plan->gathered[node->out[0]] = (pz_gathered){*at, units};
  return PZ_OK;
}

/* A pass over the tensor. */
static pz_status add_statistics(pz_plan *plan, pz_step *step, const parts *p, pz_gathered *to,
                                pz_error *err) {
  to->units = (int32_t)pz_norm_units(&p->in.view);
  PZ_TRY(pz_add_buffer(plan, pz_norm_floats(&p->in.view, to->units), &to->at, err));
  const pz_arg args[] = {{.name = "in", .at = p->in.at},
                         {.name = "statistics", .written = true, .at = to->at}};
  pz_text shape = {0};
  pz_text_view(&shape, "in", &p->in.view);
  return pz_add_call(plan, step, "kernels/norm/group_norm.h", "pz_group_statistics", &shape, args, 2, err);
}

static pz_status build_group_norm(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  parts p;
  PZ_TRY(begin(plan, node, &p, err));
  pz_gathered statistics = plan->gathered[node->in[0]];
  const bool gathered = statistics.units > 0;
  if (!gathered) PZ_TRY(add_statistics(plan, step, &p, &statistics, err));
  PZ_TRY(add_norm(plan, node, step, &p, "pz_group_norm", &statistics, err));
  if (!gathered) pz_call_after_all(step);
  return pz_set_algorithm(plan, step, err, "statistics of %d units a block%s, %d groups", statistics.units,
                          gathered ? ", gathered by the convolution" : "", node->attr.group_norm.groups);
}
static double last_choice(const pz_plan *plan, const pz_node *node) {
  (void)plan;
  (void)node;
  return 1;
}
const pz_solver pz_solver_group_norm = {.name = "group normalisation",
                                        .op = PZ_OP_GROUP_NORM,
                                        .in = PZ_BLOCKED,
                                        .out = PZ_BLOCKED,
                                        .applies = constants,
                                        .cost = last_choice,
                                        .build = build_group_norm};

/* ---- a worker does whole groups ---- */

static pz_status build_group_norm_whole(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  parts p;
  PZ_TRY(begin(plan, node, &p, err));
  return add_norm(plan, node, step, &p, "pz_group_norm_whole", NULL, err);
}
const pz_solver pz_solver_group_norm_whole = {.name = "whole groups, one after the other",
                                              .op = PZ_OP_GROUP_NORM,
                                              .in = PZ_BLOCKED,
                                              .out = PZ_BLOCKED,
                                              .applies = spans_are_small,
                                              .build = build_group_norm_whole};
