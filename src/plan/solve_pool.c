/* solve_pool.c: maximum and average over windows. */
#include "plan/solver.h"

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_attr_pool *a = &node->attr.pool;
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &out, err));
  pz_text shape = {0};
  pz_text_view(&shape, "in", &in.view);
  pz_text_view(&shape, "out", &out.view);
  pz_text_printf(&shape, ".kind = %d, .divisor = %d, ", a->kind, a->divisor);
  pz_text_ints(&shape, "kernel", a->kernel, 3);
  pz_text_ints(&shape, "stride", a->stride, 3);
  pz_text_ints(&shape, "pad_lo", a->pad_lo, 3);
  pz_text_ints(&shape, "pad_hi", a->pad_hi, 3);
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  PZ_TRY(pz_set_algorithm(plan, step, err, "%s of %dx%dx%d", a->kind == PZ_POOL_MAX ? "maximum" : "average",
                          a->kernel[0], a->kernel[1], a->kernel[2]));
  return pz_add_call(plan, step, "kernels/pool/pool.h", "pz_pooling", &shape, args, 2, err);
}
const pz_solver pz_solver_pool = {
    .name = "pooling", .op = PZ_OP_POOL, .in = PZ_BLOCKED, .out = PZ_BLOCKED, .build = build};
