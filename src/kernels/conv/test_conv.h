/* test_conv.h: checks printed instances (instance.h) against a plain loop in double precision. */
#ifndef PZ_KERNELS_CONV_TEST_CONV_H
#define PZ_KERNELS_CONV_TEST_CONV_H

#include "kernels/conv/instance.h"
#include "kernels/conv/test_expected.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/norm/test_norm_stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Sums of up to 40 * 75 products of values within 1, and an activation with error 2e-7: rounding errors add up like a
 * random walk to below 2e-6 of the output's norm. */
#define CONV_TOLERANCE 2e-6

/* Workers, more than the rows of some instances that have so many that fewer share rows alone (PZ_CONV_MANY_ROWS). */
#define CONV_MANY 150

typedef struct conv_case {
  bool transposed;
  const conv_instance *instance;
  pz_test_random random;
  pz_test_tensor tensor[CONV_TENSORS];
  float *plain_weights, *vectors[3]; /* bias, residual_scale, slope */
  pz_test_memory weights, packed_vectors[3], norm_stats;
} conv_case;

/* Phase `phase` of the view of out or residual. */
PZ_TEST_INLINE float *conv_at(const conv_case *t, int which, int32_t phase, const int32_t at[5]) {
  const pz_test_tensor *x = &t->tensor[which];
  return pz_test_at(x, at[0], at[1], at[2], at[3], at[4]) +
         phase * (x->view.stride_w / t->instance->shape.phases);
}

PZ_TEST_INLINE double conv_want(const conv_case *t, int32_t phase, const int32_t at[5]) {
  const pz_conv_direct_shape *s = &t->instance->shape;
  const int64_t weights = (int64_t)phase * s->out.c * (s->in.c / s->groups) * pz_conv_taps(s);
  double x = pz_test_conv_sum(s, t->transposed, &t->tensor[CONV_IN], t->plain_weights + weights, at) +
             (s->has_bias ? (double)t->vectors[0][at[1]] : 0);
  if (s->residual.c)
    x += (double)*conv_at(t, CONV_RESIDUAL, phase, at) *
         (s->has_residual_scale ? (double)t->vectors[1][at[1]] : 1);
  return pz_test_activate(s->act, (double)s->alpha, (double)s->beta, (double)t->vectors[2][at[1]], x);
}

/* One storage; points of phases and of other views that share it keep their poison. */
PZ_TEST_INLINE pz_test_tensor conv_tensor(const pz_view *v, conv_extent room, bool low) {
  pz_test_tensor t = {.view = *v, .memory = pz_test_alloc(room.floats, low)};
  t.at = t.memory.data + room.origin;
  return t;
}

PZ_TEST_INLINE void conv_fill_phases(conv_case *t, int which) {
  pz_test_tensor x = t->tensor[which];
  for (int32_t phase = 0; phase < t->instance->shape.phases; ++phase) {
    pz_test_fill(&x, &t->random, -1, 1);
    x.at += x.view.stride_w / t->instance->shape.phases;
  }
}

PZ_TEST_INLINE void conv_open(conv_case *t, const conv_instance *instance, uint64_t seed,
                              int64_t (*weight_floats)(const pz_conv_direct_shape *s),
                              void (*pack)(const pz_conv_direct_shape *s, const float *weights,
                                           float *packed)) {
  const pz_conv_direct_shape *s = &instance->shape;
  *t = (conv_case){.instance = instance, .random = {seed}};
  t->tensor[CONV_IN] = conv_tensor(&s->in, instance->room[CONV_IN], seed & 1);
  pz_test_fill(&t->tensor[CONV_IN], &t->random, -1, 1);
  t->tensor[CONV_OUT] = conv_tensor(&s->out, instance->room[CONV_OUT], seed & 1);
  t->tensor[CONV_RESIDUAL] = conv_tensor(&s->residual, instance->room[CONV_RESIDUAL], seed & 1);
  if (s->residual.c) conv_fill_phases(t, CONV_RESIDUAL);
  t->plain_weights =
      pz_test_floats(&t->random, (int64_t)s->phases * s->out.c * (s->in.c / s->groups) * pz_conv_taps(s));
  t->weights = pz_test_alloc(weight_floats(s), false);
  pack(s, t->plain_weights, t->weights.data);
  t->norm_stats = pz_test_alloc(pz_norm_floats(&s->out, s->stats_units), false);
  for (int i = 0; i < 3; ++i) {
    t->vectors[i] = pz_test_floats(&t->random, s->out.c);
    t->packed_vectors[i] = pz_test_alloc((s->out.c + s->out.block - 1) / s->out.block * s->out.block, false);
    if (i == 0 && s->stats_units && seed % 3 == 0)
      for (int32_t k = 0; k < s->out.c; ++k) t->vectors[0][k] += 3e3f; /* means far from zero */
    pz_pack_channels(t->vectors[i], s->out.c, s->out.block, t->packed_vectors[i].data);
  }
}

PZ_TEST_INLINE void conv_close(conv_case *t) {
  for (int i = 0; i < CONV_TENSORS; ++i) pz_test_tensor_free(&t->tensor[i]);
  for (int i = 0; i < 3; ++i) free(t->vectors[i]), pz_test_free(&t->packed_vectors[i]);
  free(t->plain_weights), pz_test_free(&t->weights), pz_test_free(&t->norm_stats);
}

PZ_TEST_INLINE conv_operands conv_operands_of(const conv_case *t) {
  const pz_conv_direct_shape *s = &t->instance->shape;
  return (conv_operands){.in = t->tensor[CONV_IN].at,
                         .weights = t->weights.data,
                         .bias = s->has_bias ? t->packed_vectors[0].data : NULL,
                         .residual = s->residual.c ? t->tensor[CONV_RESIDUAL].at : NULL,
                         .residual_scale = s->has_residual_scale ? t->packed_vectors[1].data : NULL,
                         .slope = s->act == PZ_K_ACT_PRELU ? t->packed_vectors[2].data : NULL,
                         .out = t->tensor[CONV_OUT].at,
                         .norm_stats = s->stats_units ? t->norm_stats.data : NULL};
}

/* Relative L2 error of the whole output; padding lanes zero; all checked floats are poisoned again, so that what is
 * not poison afterwards was written outside. */
PZ_TEST_INLINE bool conv_check(conv_case *t) {
  const pz_view *v = &t->instance->shape.out;
  int32_t lanes = pz_test_lanes(v);
  double error = 0, norm = 0;
  int64_t strays = 0;
  for (int32_t phase = 0; phase < t->instance->shape.phases; ++phase) PZ_TEST_EACH(*v, 0, lanes) {
      const int32_t at[5] = {n, c, d, h, w};
      float *got = conv_at(t, CONV_OUT, phase, at);
      double want = c < v->c ? conv_want(t, phase, at) : 0;
      error += ((double)*got - want) * ((double)*got - want), norm += want * want;
      if (c >= v->c && *got != 0.0f) ++strays;
      pz_test_poison(got, 1);
    }
  for (int64_t i = 0; i < t->tensor[CONV_OUT].memory.floats; ++i) {
    uint32_t bits;
    memcpy(&bits, t->tensor[CONV_OUT].memory.data + i, 4);
    strays += bits != PZ_TEST_POISON;
  }
  double relative = norm > 0 ? sqrt(error / norm) : sqrt(error);
  bool good = relative <= CONV_TOLERANCE && !strays;
  if (!good)
    fprintf(stderr, "%s: relative error %.3g, %lld strays\n", t->instance->name, relative, (long long)strays);
  return good;
}

PZ_TEST_INLINE bool conv_run(conv_case *t) {
  conv_operands o = conv_operands_of(t);
  bool same;
  PZ_TEST_MANY_WORKERS(same, t->tensor[CONV_OUT].memory, CONV_MANY, t->instance->run(&o, worker, workers));
  const pz_conv_direct_shape *s = &t->instance->shape;
  if (same && s->stats_units) {
    PZ_TEST_MANY_WORKERS(same, t->norm_stats, CONV_MANY, t->instance->run(&o, worker, workers));
    same &= pz_test_norm_stats(&t->tensor[CONV_OUT], t->norm_stats.data, s->stats_units, s->phases);
  }
  return conv_check(t) && same;
}

#endif
