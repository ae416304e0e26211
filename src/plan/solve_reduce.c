/* solve_reduce.c: reductions over dimensions, and the index of the greatest value along one. */
#include "kernels/reduction/shape.h"
#include "plan/axes.h"
#include "plan/reduction.h"

#include <string.h>

static pz_status begin(pz_plan *plan, const pz_node *node, pz_storage *in, pz_storage *out, pz_text *shape,
                       pz_error *err) {
  *in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, out, err));
  pz_text_view(shape, "in", &in->view);
  pz_text_view(shape, "out", &out->view);
  return PZ_OK;
}

static void rest_of_shape(pz_text *text, const pz_reduction_shape *s) {
  pz_text_printf(text, ".kind = %d, ", s->kind);
  pz_text_ints(text, "over", s->over, 5);
}

/* ---- sum, mean, maximum, minimum ---- */

static pz_status add_join(pz_plan *plan, pz_step *step, const pz_reduction_shape *s, pz_pointer partial,
                          const pz_storage *out, pz_error *err) {
  pz_text shape = {0};
  const pz_arg args[] = {{.name = "partial", .at = partial}, {.name = "out", .written = true, .at = out->at}};
  pz_text_view(&shape, "in", &s->in);
  pz_text_view(&shape, "out", &s->out);
  rest_of_shape(&shape, s);
  PZ_TRY(pz_add_call(plan, step, "kernels/reduction/reduction.h", "pz_reduction_join", &shape, args, 2, err));
  pz_call_after_all(step);
  return PZ_OK;
}

pz_status pz_add_reduction(pz_plan *plan, const pz_node *node, pz_step *step, pz_reduce_kind kind,
                           const int32_t over[5], pz_error *err) {
  static const char *const kinds[] = {"mean", "sum", "maximum", "minimum"};
  pz_storage in, out;
  pz_text shape = {0};
  PZ_TRY(begin(plan, node, &in, &out, &shape, err));
  pz_reduction_shape s = {.in = in.view, .out = out.view, .kind = (int32_t)kind};
  memcpy(s.over, over, sizeof s.over);
  const int64_t slices = pz_reduction_slices(&s);
  pz_pointer partial = {PZ_SPACE_NULL, 0, 0};
  if (slices > 1) PZ_TRY(pz_add_buffer(plan, pz_reduction_floats(&s), &partial, err));
  rest_of_shape(&shape, &s);
  const pz_arg args[] = {
      {.name = "in", .at = in.at},
      {.name = "partial", .written = true, .at = partial},
      {.name = "out", .written = true, .at = slices > 1 ? (pz_pointer){PZ_SPACE_NULL, 0, 0} : out.at}};
  PZ_TRY(pz_set_algorithm(plan, step, err, slices > 1 ? "%s, %lld slices" : "%s", kinds[kind],
                          (long long)slices));
  PZ_TRY(pz_add_call(plan, step, "kernels/reduction/reduction.h", "pz_reduction", &shape, args, 3, err));
  return slices > 1 ? add_join(plan, step, &s, partial, &out, err) : PZ_OK;
}

static pz_status build_reduce(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  int32_t over[5] = {0};
  for (int i = 0; i < rank; i++) over[pz_axis5(rank, i)] = node->attr.reduce.axis[i];
  return pz_add_reduction(plan, node, step, node->attr.reduce.kind, over, err);
}
const pz_solver pz_solver_reduce = {
    .name = "reduction", .op = PZ_OP_REDUCE, .in = PZ_BLOCKED, .out = PZ_BLOCKED, .build = build_reduce};

/* ---- argmax ---- */

static pz_status build_argmax(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_attr_argmax *a = &node->attr.argmax;
  pz_storage in, out;
  pz_text shape = {0};
  PZ_TRY(begin(plan, node, &in, &out, &shape, err));
  pz_text_printf(&shape, ".axis = %d, .last = %d",
                 pz_axis5(plan->graph->tensors[node->in[0]].shape.rank, a->axis), a->last);
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(plan, step, "kernels/reduction/argmax.h", "pz_argmax", &shape, args, 2, err);
}
const pz_solver pz_solver_argmax = {
    .name = "argmax", .op = PZ_OP_ARGMAX, .in = PZ_BLOCKED, .out = PZ_BLOCKED, .build = build_argmax};
