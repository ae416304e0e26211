/* solver.c: planes of the runs before (kernels/history/history.h). */
#include "kernels/history/history.h"
#include "plan/solver.h"

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_history_shape s = {
      .in = placed->in[0].view, .out = placed->out[0].view, .planes = q->problem->attr.history.planes};
  const pz_arg args[] = {
      {.name = "in", .at = placed->in[0].at},
      {.name = "state", .written = true, .at = pz_add_state(b, PZ_F32, pz_history_floats(&s))},
      {.name = "out", .written = true, .at = placed->out[0].at}};
  pz_text shape = {0};
  pz_text_history(&shape, &s);
  return pz_add_call(b, "kernels/history/history.h", "pz_history", &shape, args, 3, err);
}

const pz_solver pz_solver_history = {
    .name = "planes of the runs before", .op = PZ_OP_HISTORY, .in = PZ_NCHWC, .out = PZ_NCHWC, .emit = build};
