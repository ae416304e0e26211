/* solver.c: images of other sizes, by nearest neighbours or linear interpolation; coordinates and weights are
 * computed here, in double precision. */
#include "kernels/resize/resize.h"
#include "plan/axes.h"
#include "kernels/gather/solver_tables.h"

/* ---- nearest ---- */

static bool is_nearest(const pz_query *q) { return q->problem->attr.resize.kind == PZ_RESIZE_NEAREST; }

static int64_t source(const pz_query *q, int32_t axis, int64_t o) {
  const pz_shape *x = &q->problem->in[0].shape;
  const int32_t spatial = PZ_SPATIAL - x->rank + axis;
  return axis < 2 ? o : pz_resize_nearest(&q->problem->attr.resize, spatial, x->dim[axis], o);
}
static pz_status build_nearest(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return pz_gather_nchwc(q, placed, b, source, 0, err);
}
const pz_solver pz_solver_resize_nearest = {.name = "nearest neighbours",
                                            .op = PZ_OP_RESIZE,
                                            .in = PZ_NCHWC,
                                            .out = PZ_NCHWC,
                                            .applies = is_nearest,
                                            .emit = build_nearest};

/* ---- linear ---- */

static bool is_linear(const pz_query *q) { return !is_nearest(q); }

static pz_resize_taps taps_at(const pz_attr_resize *a, int32_t axis, int32_t in, int32_t o) {
  const double position = pz_resize_position(a, axis, in, o);
  pz_resize_taps t = {.lo = (int32_t)position};
  t.hi = t.lo + 1 < in ? t.lo + 1 : t.lo;
  t.weight_hi = t.hi > t.lo ? (float)(position - t.lo) : 0;
  t.weight_lo = t.hi > t.lo ? (float)(1 - (position - t.lo)) : 1;
  return t;
}

/* lo, hi, weight_lo, weight_hi of the axis, each for all of the `out` positions. */
static float *put_taps(const pz_attr_resize *a, int32_t axis, int32_t in, int32_t out, float *table) {
  for (int32_t o = 0; o < out; o++) {
    const pz_resize_taps t = taps_at(a, axis, in, o);
    memcpy(table + o, &t.lo, sizeof t.lo);
    memcpy(table + out + o, &t.hi, sizeof t.hi);
    table[2 * (int64_t)out + o] = t.weight_lo;
    table[3 * (int64_t)out + o] = t.weight_hi;
  }
  return table + 4 * (int64_t)out;
}

/* What pz_resize_doubled does. */
static bool doubles(const pz_attr_resize *a, int32_t in, int32_t out) {
  if (out != 2 * in) return false;
  for (int32_t o = 0; o < out; o++) {
    const pz_resize_taps t = taps_at(a, 2, in, o);
    const bool inside = o > 0 && o + 1 < out;
    if (inside && (t.lo != (o - 1) / 2 || t.weight_hi != (o % 2 ? 0.25f : 0.75f))) return false;
    if (!inside && (t.lo != o / 2 || t.weight_hi != 0)) return false;
  }
  return true;
}

static pz_status add_linear(const pz_query *q, pz_builder *b, const pz_storage *in, const pz_storage *out,
                            pz_pointer tables, pz_error *err) {
  const bool twice = doubles(&q->problem->attr.resize, in->view.w, out->view.w);
  pz_text shape = {0};
  pz_text_resize_linear(&shape, &(pz_resize_linear_shape){.in = in->view,
                                                          .out = out->view,
                                                          .stream = pz_passes_caches(q->target, &out->view),
                                                          .doubles = twice});
  const pz_arg args[] = {
      {.name = "in", .at = in->at},
      {.name = "tables", .at = tables},
      {.name = "scratch", .written = true, .at = pz_add_scratch(b, PZ_F32, pz_resize_scratch(&in->view))},
      {.name = "out", .written = true, .at = out->at}};
  PZ_TRY(pz_set_algorithm(b, err, "linear interpolation%s", twice ? ", doubled in registers" : ""));
  return pz_add_call(b, "kernels/resize/resize.h", "pz_resize_linear", &shape, args, 4, err);
}

static pz_status build_linear(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_attr_resize *a = &q->problem->attr.resize;
  const pz_storage in = placed->in[0];
  pz_pointer tables;
  void *data;
  const pz_storage out = placed->out[0];
  PZ_TRY(pz_add_weights(b, PZ_F32, 4 * ((int64_t)out.view.d + out.view.h + out.view.w), &tables, &data, err));
  if (data) {
    float *table = data;
    table = put_taps(a, 0, in.view.d, out.view.d, table);
    table = put_taps(a, 1, in.view.h, out.view.h, table);
    put_taps(a, 2, in.view.w, out.view.w, table);
  }
  return add_linear(q, b, &in, &out, tables, err);
}
const pz_solver pz_solver_resize_linear = {.name = "linear interpolation",
                                           .op = PZ_OP_RESIZE,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHWC,
                                           .applies = is_linear,
                                           .emit = build_linear};
