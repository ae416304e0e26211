/* solver.c: convolution to few channels by sums over lanes of input channels (kernels/conv_dot/dot.h). */
#include "kernels/conv_dot/pack.h"
#include "kernels/conv_dot/solver.h"
#include "kernels/conv_dot/tail.h"

static void schedule_dot(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_dot_schedule(s, m->registers);
}

const pz_conv_method pz_conv_dot_method = {
    "direct, lanes over input channels", "kernels/conv_dot/dot.h", "pz_conv_dot",  schedule_dot,
    pz_conv_dot_weight_floats,           pz_conv_dot_pack,         .streams = true};

static pz_status build_dot(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return pz_conv_build(q, placed, b, &pz_conv_dot_method, err);
}

/* As the tail of a direct convolution, and then nothing is left to be converted. */
static void dot_work(const pz_query *q, pz_work *w) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int32_t in = (int32_t)pz_conv_cin(q), out = (int32_t)pz_conv_cout(q);
  const int32_t taps = a->kernel[0] * a->kernel[1] * a->kernel[2];
  w->of[PZ_TERM_dot_inputs] = pz_conv_input_vectors(q);
  w->of[PZ_TERM_dot_products] =
      0.99 * pz_conv_vectors(q, 1, 1) / taps * pz_conv_tail_cost(out, in, q->target->block, taps);
}

/* Pieces are rows. */
static double uneven(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  return pz_uneven((double)(out.n * out.s[0] * out.s[1]), q->target->workers);
}

const pz_solver pz_solver_conv_dot = {.name = "direct, lanes over input channels",
                                      .direct = true,
                                      .overwrites = pz_conv_overwrites,
                                      .op = PZ_OP_CONV,
                                      .in = PZ_NCHWC,
                                      .out = PZ_NCHW,
                                      .applies = pz_conv_small_cout,
                                      .family = PZ_FAMILY_dot,
                                      .work = dot_work,
                                      .uneven = uneven,
                                      .emit = build_dot};
