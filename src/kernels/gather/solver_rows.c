/* solver_rows.c: rows by computed numbers. */
#include "kernels/gather/gather_rows.h"
#include "plan/solver.h"

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_shape *x = &q->problem->in[0].shape;
  const int64_t rows = x->dim[0];
  const pz_gather_rows_shape s = {.rows = (int32_t)rows,
                                  .each = pz_shape_elements(x) / rows,
                                  .n = pz_shape_elements(&q->problem->in[1].shape),
                                  .fill = q->problem->attr.gather_rows.fill};
  const pz_arg args[] = {{.name = "in", .at = placed->in[0].at},
                         {.name = "index", .at = placed->in[1].at},
                         {.name = "out", .written = true, .at = placed->out[0].at}};
  pz_text shape = {0};
  pz_text_gather_rows(&shape, &s);
  return pz_add_call(b, "kernels/gather/gather_rows.h", "pz_gather_rows", &shape, args, 3, err);
}

const pz_solver pz_solver_gather_rows = {
    .name = "rows by number", .op = PZ_OP_GATHER_ROWS, .in = PZ_NCHW, .out = PZ_NCHW, .emit = build};
