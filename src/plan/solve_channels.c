/* solve_channels.c: softmax and local response normalisation. */
#include "plan/solver.h"

static void in_and_out(pz_text *shape, const pz_storage *in, const pz_storage *out) {
  pz_text_view(shape, "in", &in->view);
  pz_text_view(shape, "out", &out->view);
}

static pz_status begin(pz_plan *plan, const pz_node *node, pz_storage *in, pz_storage *out, pz_error *err) {
  *in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  return pz_output_storage(plan, node->out[0], PZ_BLOCKED, out, err);
}

static pz_status add(pz_plan *plan, pz_step *step, const char *header, const char *function, pz_text *shape,
                     const pz_storage *in, const pz_storage *out, pz_error *err) {
  const pz_arg args[] = {{.name = "in", .at = in->at}, {.name = "out", .written = true, .at = out->at}};
  return pz_add_call(plan, step, header, function, shape, args, 2, err);
}

/* ---- softmax ---- */

static bool over_maps(const pz_plan *plan, const pz_node *node) {
  (void)plan;
  return node->attr.softmax.axis == 1;
}
static pz_status build_softmax(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_storage in, out;
  pz_text shape = {0};
  PZ_TRY(begin(plan, node, &in, &out, err));
  in_and_out(&shape, &in, &out);
  pz_text_printf(&shape, ".log = %d", node->attr.softmax.log);
  if (node->attr.softmax.log) step->algorithm = "logarithm of softmax over maps";
  return add(plan, step, "kernels/softmax/softmax.h", "pz_softmax", &shape, &in, &out, err);
}
const pz_solver pz_solver_softmax = {.name = "softmax over maps",
                                     .op = PZ_OP_SOFTMAX,
                                     .in = PZ_BLOCKED,
                                     .out = PZ_BLOCKED,
                                     .applies = over_maps,
                                     .build = build_softmax};

static bool without_border(const pz_plan *plan, const pz_node *node) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (plan->border_lo[node->in[0]][i] || plan->border_hi[node->in[0]][i]) return false;
  return node->attr.softmax.axis != 1;
}
static pz_status build_softmax_plain(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_PLAIN);
  const pz_shape *s = &plan->graph->tensors[node->in[0]].shape;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < s->rank; i++) {
    if (i < node->attr.softmax.axis) outer *= s->dim[i];
    if (i > node->attr.softmax.axis) inner *= s->dim[i];
  }
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_PLAIN, &out, err));
  pz_text shape = {0};
  pz_text_printf(&shape, ".outer = %lld, .axis = %lld, .inner = %lld, .log = %d", (long long)outer,
                 (long long)s->dim[node->attr.softmax.axis], (long long)inner, node->attr.softmax.log);
  if (node->attr.softmax.log) step->algorithm = "logarithm of softmax, plain layout";
  return add(plan, step, "kernels/softmax/softmax.h", "pz_softmax_plain", &shape, &in, &out, err);
}
const pz_solver pz_solver_softmax_plain = {.name = "softmax, plain layout",
                                           .op = PZ_OP_SOFTMAX,
                                           .in = PZ_PLAIN,
                                           .out = PZ_PLAIN,
                                           .applies = without_border,
                                           .build = build_softmax_plain};

/* ---- local response normalisation ---- */

static pz_status build_lrn(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_attr_lrn *a = &node->attr.lrn;
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  pz_storage in, out;
  pz_text shape = {0};
  PZ_TRY(begin(plan, node, &in, &out, err));
  in_and_out(&shape, &in, &out);
  if (a->within_channel)
    pz_text_printf(&shape, ".window = {%d, %d, %d}, ", rank > 4 ? a->size : 1, rank > 3 ? a->size : 1,
                   a->size);
  else pz_text_printf(&shape, ".size = %d, ", a->size);
  pz_text_float(&shape, "alpha", a->alpha);
  pz_text_float(&shape, "beta", a->beta);
  pz_text_float(&shape, "k", a->k);
  step->algorithm = a->within_channel ? "normalisation within maps" : "normalisation across maps";
  return add(plan, step, "kernels/lrn/lrn.h", a->within_channel ? "pz_lrn_within" : "pz_lrn", &shape, &in,
             &out, err);
}
const pz_solver pz_solver_lrn = {
    .name = "normalisation", .op = PZ_OP_LRN, .in = PZ_BLOCKED, .out = PZ_BLOCKED, .build = build_lrn};
