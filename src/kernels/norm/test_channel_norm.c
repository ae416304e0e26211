/* Normalisation over channels against double precision. Tolerance 4e-6 of (1 + |want|), results having deviation 1 before gamma
 * (within 2): mean and deviation have an error below 1e-6, and x - mean is rounded once more where the mean is 1e3 deviations. */
#include "kernels/norm/channel_norm.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { ROUNDS = 300 };
#define TOLERANCE 4e-6

typedef struct problem {
  pz_channel_norm_shape s;
  pz_test_tensor in, out;
  pz_test_memory gamma, beta, slope;
} problem;

static problem random_problem(pz_test_random *r) {
  const int32_t n = pz_test_int(r, 1, 2), c = pz_test_int(r, 2, 4 * PZ_S + 3), d = pz_test_int(r, 1, 3),
                h = pz_test_int(r, 1, 4), w = pz_test_int(r, 1, 11);
  problem p = {.in = pz_test_tensor_random(r, PZ_S, n, c, d, h, w),
               .out = pz_test_tensor_random(r, PZ_S, n, c, d, h, w),
               .gamma = pz_test_channel_vector(r, PZ_S, c),
               .beta = pz_test_channel_vector(r, PZ_S, c),
               .slope = pz_test_channel_vector(r, PZ_S, c)};
  pz_channel_norm_shape *s = &p.s;
  *s = (pz_channel_norm_shape){.in = p.in.view, .eps = 1e-5f};
  s->has_gamma = pz_test_int(r, 0, 1), s->has_beta = pz_test_int(r, 0, 1);
  pz_test_smooth_activation(r, &s->act, &s->act_alpha, &s->act_beta);
  return p;
}
static void drop(problem *p) {
  pz_test_tensor_free(&p->in), pz_test_tensor_free(&p->out);
  pz_test_free(&p->gamma), pz_test_free(&p->beta), pz_test_free(&p->slope);
}

static void moments(const problem *p, int32_t n, int32_t d, int32_t h, int32_t w, double *mean,
                    double *variance) {
  const int32_t channels = p->s.in.c;
  *mean = *variance = 0;
  for (int32_t c = 0; c < channels; ++c) *mean += (double)*pz_test_at(&p->in, n, c, d, h, w) / channels;
  for (int32_t c = 0; c < channels; ++c)
    *variance += pow((double)*pz_test_at(&p->in, n, c, d, h, w) - *mean, 2) / channels;
}

static double *expected(const problem *p) {
  const pz_view *v = &p->s.in;
  double *want = pz_test_doubles(v), *to = want;
  PZ_TEST_EACH(*v, 0, v->c) {
    double mean, variance;
    moments(p, n, d, h, w, &mean, &variance);
    double y = (*pz_test_at(&p->in, n, c, d, h, w) - mean) / sqrt(variance + (double)p->s.eps);
    if (p->s.has_gamma) y *= (double)p->gamma.data[c];
    if (p->s.has_beta) y += (double)p->beta.data[c];
    *to++ = pz_test_activate(p->s.act, (double)p->s.act_alpha, (double)p->s.act_beta,
                             (double)p->slope.data[c], y);
  }
  return want;
}

static void check(problem *p, bool in_place) {
  pz_channel_norm_shape s = p->s;
  pz_test_tensor *target = in_place ? &p->in : &p->out;
  const float *gamma = s.has_gamma ? p->gamma.data : NULL, *beta = s.has_beta ? p->beta.data : NULL,
              *slope = s.act == PZ_K_ACT_PRELU ? p->slope.data : NULL;
  double *want = expected(p);
  bool same;
  s.out = target->view;
  PZ_TEST_WORKERS(same, target->memory,
                  pz_channel_norm(s, p->in.at, gamma, beta, slope, target->at, worker, workers));
  assert_true(same);
  assert_true(pz_test_equal(target, want, TOLERANCE));
  assert_true(pz_test_untouched(target, in_place));
  free(want);
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {61};
  static const float means[] = {0, 0, -3, 100, 1e3f};
  for (int round = 0; round < ROUNDS; ++round) {
    problem p = random_problem(&r);
    const float mean = means[pz_test_int(&r, 0, 4)];
    pz_test_fill(&p.in, &r, mean - 1.7f, mean + 1.7f);
    pz_test_poison_padding(&p.in);
    if (round % 3) check(&p, false);
    else check(&p, true);
    drop(&p);
  }
}

/* Values that are all the same become beta; an infinity makes its position NaN, and no other. */
static void test_special(void **state) {
  (void)state;
  pz_test_random r = {62};
  for (int round = 0; round < 20; ++round) {
    problem p = random_problem(&r);
    p.s.act = PZ_K_ACT_NONE;
    pz_test_fill(&p.in, &r, -1, 1);
    PZ_TEST_EACH(p.s.in, 0, p.s.in.c) * pz_test_at(&p.in, n, c, d, h, w) = 0.1f;
    if (round % 2) *pz_test_at(&p.in, 0, p.s.in.c / 2, 0, 0, 0) = INFINITY;
    check(&p, false);
    drop(&p);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_special)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
