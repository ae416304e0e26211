/* solver.c: softmax and local response normalisation. */
#include "kernels/lrn/lrn.h"
#include "kernels/softmax/softmax.h"
#include "plan/solver.h"

static void begin(const pz_placed *placed, pz_storage *in, pz_storage *out) {
  *in = placed->in[0];
  *out = placed->out[0];
}

static pz_status add(pz_builder *b, const char *header, const char *function, pz_text *shape,
                     const pz_storage *in, const pz_storage *out, pz_error *err) {
  const pz_arg args[] = {{.name = "in", .at = in->at}, {.name = "out", .written = true, .at = out->at}};
  return pz_add_call(b, header, function, shape, args, 2, err);
}

/* ---- softmax ---- */

static bool over_channels(const pz_query *q) { return q->problem->attr.softmax.axis == 1; }
static pz_status build_softmax(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_storage in, out;
  pz_text shape = {0};
  begin(placed, &in, &out);
  pz_text_softmax(&shape,
                  &(pz_softmax_shape){.in = in.view, .out = out.view, .log = q->problem->attr.softmax.log});
  if (q->problem->attr.softmax.log) b->step->algorithm = "logarithm of softmax over channels";
  return add(b, "kernels/softmax/softmax.h", "pz_softmax", &shape, &in, &out, err);
}
const pz_solver pz_solver_softmax = {.name = "softmax over channels",
                                     .op = PZ_OP_SOFTMAX,
                                     .in = PZ_NCHWC,
                                     .out = PZ_NCHWC,
                                     .applies = over_channels,
                                     .emit = build_softmax};

static bool over_others(const pz_query *q) { return !over_channels(q); }
static pz_status build_softmax_nd(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_storage in = placed->in[0];
  const pz_shape *s = &q->problem->in[0].shape;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < s->rank; i++) {
    if (i < q->problem->attr.softmax.axis) outer *= s->dim[i];
    if (i > q->problem->attr.softmax.axis) inner *= s->dim[i];
  }
  const pz_storage out = placed->out[0];
  pz_text shape = {0};
  pz_text_softmax_nd(&shape, &(pz_softmax_nd_shape){.outer = outer,
                                                    .axis = s->dim[q->problem->attr.softmax.axis],
                                                    .inner = inner,
                                                    .log = q->problem->attr.softmax.log});
  if (q->problem->attr.softmax.log) b->step->algorithm = "logarithm of softmax, NCHW";
  return add(b, "kernels/softmax/softmax.h", "pz_softmax_nd", &shape, &in, &out, err);
}
const pz_solver pz_solver_softmax_nd = {.name = "softmax, NCHW",
                                        .op = PZ_OP_SOFTMAX,
                                        .in = PZ_NCHW,
                                        .out = PZ_NCHW,
                                        .applies = over_others,
                                        .emit = build_softmax_nd};

/* ---- local response normalisation ---- */

static pz_status build_lrn(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_attr_lrn *a = &q->problem->attr.lrn;
  const int rank = q->problem->in[0].shape.rank;
  pz_storage in, out;
  pz_text shape = {0};
  begin(placed, &in, &out);
  if (a->within_channel)
    pz_text_lrn_within(
        &shape, &(pz_lrn_within_shape){.in = in.view,
                                       .out = out.view,
                                       .window = {rank > 4 ? a->size : 1, rank > 3 ? a->size : 1, a->size},
                                       .alpha = a->alpha,
                                       .beta = a->beta,
                                       .k = a->k});
  else
    pz_text_lrn(
        &shape,
        &(pz_lrn_shape){
            .in = in.view, .out = out.view, .size = a->size, .alpha = a->alpha, .beta = a->beta, .k = a->k});
  b->step->algorithm = a->within_channel ? "normalisation within channels" : "normalisation across channels";
  return add(b, "kernels/lrn/lrn.h", a->within_channel ? "pz_lrn_within" : "pz_lrn", &shape, &in, &out, err);
}
const pz_solver pz_solver_lrn = {
    .name = "normalisation", .op = PZ_OP_LRN, .in = PZ_NCHWC, .out = PZ_NCHWC, .emit = build_lrn};
