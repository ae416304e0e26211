/* solver.c: convolution and deconvolution channel by channel (kernels/conv_depthwise/depthwise.h). */
#include "kernels/conv_depthwise/pack.h"
#include "kernels/deconv/solver.h"
#include "kernels/norm/shape.h"

static void schedule_depthwise(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_depthwise_schedule(s, m->registers);
}
static int32_t units_of(const pz_conv_direct_shape *s) { return (int32_t)pz_norm_units(&s->out); }
static const pz_conv_method depthwise = {
    "depthwise",        "kernels/conv_depthwise/depthwise.h", "pz_conv_depthwise",
    schedule_depthwise, pz_conv_depthwise_weight_floats,      pz_conv_depthwise_pack,
    .units = units_of};

static pz_status build_depthwise(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return pz_conv_build(q, placed, b, &depthwise, err);
}
static pz_status build_deconv_depthwise(const pz_query *q, const pz_placed *placed, pz_builder *b,
                                        pz_error *err) {
  return pz_deconv_build(q, placed, b, &depthwise, err);
}

static bool is_depthwise(const pz_query *q) {
  return q->problem->attr.conv.group > 1 && q->problem->attr.conv.group == pz_conv_cin(q) &&
         pz_conv_cin(q) == pz_conv_cout(q);
}

static void depthwise_work(const pz_query *q, pz_work *w) {
  w->of[PZ_TERM_depthwise_results] = pz_conv_result_vectors(q);
  w->of[PZ_TERM_depthwise_products] =
      pz_conv_vectors(q, 1, pz_block_count(pz_conv_cout(q), q->target->block));
}

const pz_solver pz_solver_conv_depthwise = {.name = "depthwise",
                                            .direct = true,
                                            .overwrites = pz_conv_overwrites,
                                            .op = PZ_OP_CONV,
                                            .in = PZ_NCHWC,
                                            .out = PZ_NCHWC,
                                            .applies = is_depthwise,
                                            .family = PZ_FAMILY_depthwise,
                                            .work = depthwise_work,
                                            .emit = build_depthwise};

const pz_solver pz_solver_deconv_depthwise = {.name = "depthwise in phases",
                                              .direct = true,
                                              .overwrites = pz_conv_overwrites,
                                              .op = PZ_OP_DECONV,
                                              .in = PZ_NCHWC,
                                              .out = PZ_NCHWC,
                                              .applies = is_depthwise,
                                              .family = PZ_FAMILY_depthwise,
                                              .work = depthwise_work,
                                              .emit = build_deconv_depthwise};
