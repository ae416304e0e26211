/* solver.c: direct convolution in NCHW (kernels/conv_nchw/nchw.h). */
#include "kernels/conv/solver.h"
#include "kernels/conv_nchw/pack.h"

static bool applies(const pz_query *q) { return q->problem->attr.conv.group == 1; }

static pz_conv_nchw_shape shape_for(const pz_query *q, const pz_conv_direct_shape *conv) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  pz_conv_nchw_shape s = {.conv = *conv, .lanes = q->target->block};
  s.conv.stream = 0;
  pz_conv_nchw_schedule(&s, &machine);
  return s;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(q, &p);
  const pz_conv_nchw_shape s = shape_for(q, &conv);
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_conv_nchw_weight_floats(&s), &weights, &packed, err));
  if (!b->dry && !b->unpacked) pz_conv_nchw_pack(&s, q->problem->in[PZ_CONV_WEIGHT].data, packed);
  pz_text shape = {0};
  pz_text_conv_nchw(&shape, &s);
  PZ_TRY(pz_conv_add_scratch_call(b, &p, weights, PZ_F32, "kernels/conv_nchw/nchw.h", "pz_conv_nchw", &shape,
                                  false, pz_conv_nchw_scratch(&s), err));
  return pz_set_algorithm(b, err, "direct in NCHW %dx%dx%d, %d channels x %d vectors", s.conv.kernel[0],
                          s.conv.kernel[1], s.conv.kernel[2], s.conv.kb, s.conv.rw);
}

/* The sizes alone: what schedule and amounts rest on. */
static pz_conv_direct_shape outline(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 in = pz_shape_as5(&q->problem->in[PZ_CONV_X].shape),
                  out = pz_shape_as5(&q->problem->out[0].shape);
  pz_conv_direct_shape s = {.groups = 1, .phases = 1};
  s.in = (pz_view){.c = (int32_t)in.c, .w = (int32_t)in.s[2], .block = 1};
  s.out = (pz_view){.n = (int32_t)out.n,
                    .c = (int32_t)out.c,
                    .d = (int32_t)out.s[0],
                    .h = (int32_t)out.s[1],
                    .w = (int32_t)out.s[2],
                    .block = 1};
  for (int i = 0; i < PZ_SPATIAL; i++)
    s.kernel[i] = a->kernel[i], s.stride[i] = a->stride[i], s.dilation[i] = a->dilation[i];
  return s;
}

static void work(const pz_query *q, pz_work *w) {
  const pz_conv_direct_shape conv = outline(q);
  const pz_conv_nchw_shape s = shape_for(q, &conv);
  const double rows = (double)s.conv.out.n * s.conv.out.d * s.conv.out.h, vectors = pz_conv_nchw_vectors(&s);
  w->of[PZ_TERM_nchw_products] = 2 * pz_conv_nchw_cycles(&s);
  w->of[PZ_TERM_nchw_lines] = rows * s.conv.in.c * (double)pz_conv_nchw_lines(&s) / s.lanes;
  w->of[PZ_TERM_nchw_results] = rows * s.conv.out.c * vectors;
}

/* Rows are shared. */
static double uneven(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  return pz_uneven((double)(out.n * out.s[0] * out.s[1]), q->target->workers);
}

static double weight_bytes(const pz_query *q) {
  return 4.0 * (double)pz_conv_cin(q) * (double)pz_conv_cout(q) * pz_conv_taps_of(q);
}

const pz_solver pz_solver_conv_nchw = {.name = "direct in NCHW",
                                       .direct = true,
                                       .overwrites = pz_conv_overwrites,
                                       .op = PZ_OP_CONV,
                                       .in = PZ_NCHW,
                                       .out = PZ_NCHW,
                                       .applies = applies,
                                       .family = PZ_FAMILY_nchw,
                                       .work = work,
                                       .uneven = uneven,
                                       .weight_bytes = weight_bytes,
                                       .emit = build,
                                       .caps = PZ_CAP_DEPTH_BORDER | PZ_CAP_WHOLE};
