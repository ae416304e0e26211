/* Group normalisation against double precision. Tolerance 2e-6 of (1 + |want|), results having deviation 1 before gamma
 * (within 2): the deviation's error is below 5e-7, and so is the mean's relative to the deviation, also where the mean is 1e5
 * deviations; the rest is rounding and the activation (5e-7). */
#include "kernels/norm/group_norm.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { ROUNDS = 300 };
#define TOLERANCE 2e-6

typedef struct problem {
  pz_group_norm_shape s;
  pz_test_tensor in, out;
  pz_test_memory gamma, beta, slope;
} problem;

static int32_t random_groups(pz_test_random *r, int32_t c) {
  int32_t groups = pz_test_int(r, 0, 2) ? pz_test_int(r, 1, c) : c;
  while (c % groups) --groups;
  return groups;
}

static problem random_problem(pz_test_random *r, int32_t largest) {
  const int32_t n = pz_test_int(r, 1, 2), c = pz_test_int(r, 1, 2 * PZ_S + 3), d = pz_test_int(r, 1, 3),
                h = pz_test_int(r, 1, 6), w = pz_test_int(r, 1, largest);
  problem p = {.in = pz_test_tensor_random(r, PZ_S, n, c, d, h, w),
               .out = pz_test_tensor_random(r, PZ_S, n, c, d, h, w),
               .gamma = pz_test_channel_vector(r, PZ_S, c),
               .beta = pz_test_channel_vector(r, PZ_S, c),
               .slope = pz_test_channel_vector(r, PZ_S, c)};
  pz_group_norm_shape *s = &p.s;
  *s = (pz_group_norm_shape){.in = p.in.view, .groups = random_groups(r, c), .eps = 1e-5f};
  s->has_gamma = pz_test_int(r, 0, 1), s->has_beta = pz_test_int(r, 0, 1);
  pz_test_smooth_activation(r, &s->act, &s->act_alpha, &s->act_beta);
  return p;
}
static void drop(problem *p) {
  pz_test_tensor_free(&p->in), pz_test_tensor_free(&p->out);
  pz_test_free(&p->gamma), pz_test_free(&p->beta), pz_test_free(&p->slope);
}

/* Mean and variance of the group of channel `channel` in sample `sample`. */
static void moments(const problem *p, int32_t sample, int32_t channel, double *mean, double *variance) {
  const int32_t channels = p->s.in.c / p->s.groups, first = channel / channels * channels;
  double sum = 0, squares = 0, count = 0;
  for (int pass = 0; pass < 2; ++pass) {
    PZ_TEST_EACH(p->s.in, 0, p->s.in.c) {
      if (n != sample || c < first || c >= first + channels) continue;
      const double x = *pz_test_at(&p->in, n, c, d, h, w);
      if (pass) squares += (x - sum) * (x - sum);
      else sum += x, count += 1;
    }
    if (!pass) sum /= count;
  }
  *mean = sum, *variance = squares / count;
}

static double *expected(const problem *p) {
  const pz_view *v = &p->s.in;
  double *want = pz_test_doubles(v), *to = want;
  for (int32_t n = 0; n < v->n; ++n)
    for (int32_t c = 0; c < v->c; ++c) {
      double mean, variance;
      moments(p, n, c, &mean, &variance);
      for (int32_t d = 0; d < v->d; ++d)
        for (int32_t h = 0; h < v->h; ++h)
          for (int32_t w = 0; w < v->w; ++w) {
            double y = (*pz_test_at(&p->in, n, c, d, h, w) - mean) / sqrt(variance + (double)p->s.eps);
            if (p->s.has_gamma) y *= p->gamma.data[c];
            if (p->s.has_beta) y += p->beta.data[c];
            *to++ = pz_test_activate(p->s.act, (double)p->s.act_alpha, (double)p->s.act_beta,
                                     (double)p->slope.data[c], y);
          }
    }
  return want;
}

/* Runs it in one way, in place or not, with 1, 2 and 3 workers; in is left as it was. */
static void check(problem *p, const double *want, bool whole, bool in_place) {
  pz_group_norm_shape s = p->s;
  pz_test_tensor *target = in_place ? &p->in : &p->out;
  const float *gamma = s.has_gamma ? p->gamma.data : NULL, *beta = s.has_beta ? p->beta.data : NULL,
              *slope = s.act == PZ_K_ACT_PRELU ? p->slope.data : NULL;
  float *before = pz_test_snapshot(&p->in.memory);
  bool same;
  s.out = target->view;
  if (whole) {
    PZ_TEST_WORKERS(same, target->memory,
                    pz_group_norm_whole(s, p->in.at, gamma, beta, slope, target->at, worker, workers));
  } else {
    s.units = (int32_t)pz_norm_units(&s.in);
    pz_test_memory norm_stats = pz_test_alloc(pz_norm_floats(&s.in, s.units), false);
    PZ_TEST_WORKERS(same, norm_stats,
                    pz_norm_stats_of_units((pz_norm_stats_of_units_shape){s.in}, p->in.at, norm_stats.data,
                                           worker, workers));
    assert_true(same);
    PZ_TEST_WORKERS(
        same, target->memory,
        pz_group_norm(s, p->in.at, norm_stats.data, gamma, beta, slope, target->at, worker, workers));
    pz_test_free(&norm_stats);
  }
  assert_true(same);
  assert_true(pz_test_equal(target, want, TOLERANCE));
  assert_true(pz_test_untouched(target, in_place));
  memcpy(p->in.memory.data, before, (size_t)p->in.memory.floats * 4);
  free(before);
}
static void check_all(problem *p) {
  double *want = expected(p);
  for (int way = 0; way < 4; ++way) {
    if (way & 1 && !pz_norm_span(&p->s.in, p->s.groups)) continue;
    check(p, want, way & 1, way & 2);
  }
  free(want);
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {51};
  static const float means[] = {0, 0, -3, 1e3f, 1e5f};
  for (int round = 0; round < ROUNDS; ++round) {
    problem p = random_problem(&r, 9);
    const float mean = means[pz_test_int(&r, 0, 4)];
    pz_test_fill(&p.in, &r, mean - 1.7f, mean + 1.7f);
    pz_test_poison_padding(&p.in);
    check_all(&p);
    drop(&p);
  }
}

/* Many units and pieces; rows longer than a piece; a first value far from all others. */
static void test_large(void **state) {
  (void)state;
  pz_test_random r = {52};
  for (int round = 0; round < 12; ++round) {
    problem p = random_problem(&r, round % 2 ? 40 : 3 * PZ_NORM_PIECE);
    pz_test_tensor_free(&p.in), pz_test_tensor_free(&p.out);
    p.in = pz_test_tensor_random(&r, PZ_S, 1, p.s.in.c, 5, round % 2 ? 73 : 7, p.s.in.w);
    p.out = pz_test_tensor_random(&r, PZ_S, 1, p.s.in.c, 5, round % 2 ? 73 : 7, p.s.in.w);
    p.s.in = p.in.view;
    pz_test_fill(&p.in, &r, 98.3f, 101.7f);
    if (round % 3 == 0)
      for (int32_t c = 0; c < p.s.in.c; ++c) *pz_test_at(&p.in, 0, c, 0, 0, 0) = 0;
    check_all(&p);
    drop(&p);
  }
}

/* Values that are all the same become beta; an infinity makes its group NaN, and no other. */
static void test_special(void **state) {
  (void)state;
  pz_test_random r = {53};
  for (int round = 0; round < 20; ++round) {
    problem p = random_problem(&r, 9);
    p.s.act = PZ_K_ACT_NONE;
    pz_test_fill(&p.in, &r, -1, 1);
    PZ_TEST_EACH(p.s.in, 0, p.s.in.c) * pz_test_at(&p.in, n, c, d, h, w) = 0.1f;
    if (round % 2) *pz_test_at(&p.in, 0, p.s.in.c / 2, 0, 0, 0) = INFINITY;
    check_all(&p);
    drop(&p);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_large),
                                     cmocka_unit_test(test_special)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
