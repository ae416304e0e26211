/* solver.c: reductions over dimensions, and the index of the greatest value along one. */
#include "kernels/reduction/argmax.h"
#include "kernels/reduction/shape.h"
#include "plan/axes.h"
#include "kernels/reduction/solver.h"

#include <string.h>

/* ---- sum, mean, maximum, minimum ---- */

static pz_status add_join(pz_builder *b, const pz_reduction_shape *s, pz_pointer partial,
                          const pz_storage *out, pz_error *err) {
  pz_text shape = {0};
  const pz_arg args[] = {{.name = "partial", .at = partial}, {.name = "out", .written = true, .at = out->at}};
  pz_text_reduction(&shape, s);
  PZ_TRY(pz_add_call(b, "kernels/reduction/reduction.h", "pz_reduction_join", &shape, args, 2, err));
  pz_call_after_all(b);
  return PZ_OK;
}

pz_status pz_add_reduction(const pz_placed *placed, pz_builder *b, pz_reduce_kind kind, const int32_t over[5],
                           pz_error *err) {
  static const char *const kinds[] = {"mean", "sum", "maximum", "minimum"};
  const pz_storage in = placed->in[0], out = placed->out[0];
  pz_text shape = {0};
  pz_reduction_shape s = {.in = in.view, .out = out.view, .kind = (int32_t)kind};
  memcpy(s.over, over, sizeof s.over);
  const int64_t slices = pz_reduction_slices(&s);
  pz_pointer partial = {PZ_SPACE_NULL, 0, 0};
  if (slices > 1) PZ_TRY(pz_add_buffer(b, PZ_F32, pz_reduction_floats(&s), &partial, err));
  pz_text_reduction(&shape, &s);
  const pz_arg args[] = {
      {.name = "in", .at = in.at},
      {.name = "partial", .written = true, .at = partial},
      {.name = "out", .written = true, .at = slices > 1 ? (pz_pointer){PZ_SPACE_NULL, 0, 0} : out.at}};
  PZ_TRY(pz_set_algorithm(b, err, slices > 1 ? "%s, %lld slices" : "%s", kinds[kind], (long long)slices));
  PZ_TRY(pz_add_call(b, "kernels/reduction/reduction.h", "pz_reduction", &shape, args, 3, err));
  return slices > 1 ? add_join(b, &s, partial, &out, err) : PZ_OK;
}

static pz_status build_reduce(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const int rank = q->problem->in[0].shape.rank;
  int32_t over[5] = {0};
  for (int i = 0; i < rank; i++) over[pz_axis5(rank, i)] = q->problem->attr.reduce.axis[i];
  return pz_add_reduction(placed, b, q->problem->attr.reduce.kind, over, err);
}
const pz_solver pz_solver_reduce = {
    .name = "reduction", .op = PZ_OP_REDUCE, .in = PZ_NCHWC, .out = PZ_NCHWC, .emit = build_reduce};

/* ---- argmax ---- */

/* Bytes lie plain, and are made where the axis is the channels. */
static bool gives_floats(const pz_query *q) { return q->problem->out[0].element.type == PZ_F32; }
static bool gives_bytes(const pz_query *q) {
  const pz_problem *p = q->problem;
  return p->out[0].element.type == PZ_U8 && pz_axis5(p->in[0].shape.rank, p->attr.argmax.axis) == 1;
}

static pz_status build_argmax(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_attr_argmax *a = &q->problem->attr.argmax;
  const pz_storage in = placed->in[0], out = placed->out[0];
  pz_text shape = {0};
  pz_text_argmax(&shape, &(pz_argmax_shape){.in = placed->in[0].view,
                                            .out = placed->out[0].view,
                                            .axis = pz_axis5(q->problem->in[0].shape.rank, a->axis),
                                            .last = a->last});
  const bool bytes = out.element.type == PZ_U8;
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "out", .written = true, .at = out.at, .type = out.element.type}};
  return pz_add_call(b, "kernels/reduction/argmax.h", bytes ? "pz_argmax_u8" : "pz_argmax", &shape, args, 2,
                     err);
}
const pz_solver pz_solver_argmax = {.name = "argmax",
                                    .op = PZ_OP_ARGMAX,
                                    .in = PZ_NCHWC,
                                    .out = PZ_NCHWC,
                                    .applies = gives_floats,
                                    .emit = build_argmax};
const pz_solver pz_solver_argmax_u8 = {.name = "argmax, bytes",
                                       .op = PZ_OP_ARGMAX,
                                       .in = PZ_NCHWC,
                                       .out = PZ_NCHW,
                                       .applies = gives_bytes,
                                       .emit = build_argmax};
