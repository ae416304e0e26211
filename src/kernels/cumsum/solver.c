/* solver.c: cumulative sums along an axis. */
#include "kernels/cumsum/cumsum.h"
#include "plan/solver.h"

static pz_cumsum_shape shape_of(const pz_query *q) {
  const pz_attr_cumsum *a = &q->problem->attr.cumsum;
  const pz_shape *x = &q->problem->in[0].shape;
  pz_cumsum_shape s = {.outer = 1, .axis = x->dim[a->axis], .inner = 1};
  for (int i = 0; i < x->rank; i++) {
    if (i < a->axis) s.outer *= x->dim[i];
    if (i > a->axis) s.inner *= x->dim[i];
  }
  s.exclusive = a->exclusive;
  s.reverse = a->reverse;
  return s;
}

static bool along_lines(const pz_query *q) { return shape_of(q).inner == 1; }
static bool along_others(const pz_query *q) { return !along_lines(q); }

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_cumsum_shape s = shape_of(q);
  const pz_arg args[] = {{.name = "in", .at = placed->in[0].at},
                         {.name = "out", .written = true, .at = placed->out[0].at}};
  pz_text shape = {0};
  pz_text_cumsum(&shape, &s);
  return pz_add_call(b, "kernels/cumsum/cumsum.h", along_lines(q) ? "pz_cumsum_line" : "pz_cumsum", &shape,
                     args, 2, err);
}
const pz_solver pz_solver_cumsum = {.name = "cumulative sum, NCHW",
                                    .op = PZ_OP_CUMSUM,
                                    .in = PZ_NCHW,
                                    .out = PZ_NCHW,
                                    .applies = along_others,
                                    .emit = build,
                                    .overwrites = pz_overwrites_first};
const pz_solver pz_solver_cumsum_line = {.name = "cumulative sum along lines, scalar",
                                         .op = PZ_OP_CUMSUM,
                                         .in = PZ_NCHW,
                                         .out = PZ_NCHW,
                                         .applies = along_lines,
                                         .emit = build,
                                         .overwrites = pz_overwrites_first};
