/* Fits of cost models: known factors come out of made measurements, and what is told of a model is what it is. */
#include "choose/fit.h"
#include "choose/least_squares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROBLEMS = 60, EACH = 8, ROWS = PROBLEMS * EACH };
#define UNIT 2e-10

/* What candidates are made of here, with the factors that are to be found; those of the terms that have 0 in the table too. */
static const struct {
  pz_cost_term term;
  double factor;
} truth[] = {{PZ_TERM_any_step, 5000},         {PZ_TERM_winograd_inputs, 0.5},
             {PZ_TERM_winograd_products, 1.4}, {PZ_TERM_winograd_along_in, 0.3},
             {PZ_TERM_bf16x2_products, 0.8},   {PZ_TERM_bf16x2_outputs, 2.5},
             {PZ_TERM_direct_products, 1.1},   {PZ_TERM_direct_results, 7}};
enum { TRUTHS = sizeof truth / sizeof *truth };

static double uniform(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) / 9007199254740992.0;
}

static void set(pz_fit_row *row, pz_cost_term term, double amount) { row->work.of[term] = amount; }

static void count(pz_fit_row *row, uint64_t *state) {
  const double size = 1e5 * pow(10, 2 * uniform(state));
  set(row, PZ_TERM_any_step, 1);
  switch (row->family) {
  case PZ_FAMILY_winograd:
    set(row, PZ_TERM_winograd_inputs, size * uniform(state));
    set(row, PZ_TERM_winograd_products, size * uniform(state));
    set(row, PZ_TERM_winograd_along_in, size * uniform(state));
    return;
  case PZ_FAMILY_bf16x2:
    set(row, PZ_TERM_bf16x2_products, size * uniform(state));
    set(row, PZ_TERM_bf16x2_outputs, 0.3 * size * uniform(state));
    return;
  default:
    set(row, PZ_TERM_direct_products, size * (0.3 + uniform(state)));
    set(row, PZ_TERM_direct_results, 0.1 * size * uniform(state));
  }
}

/* noise: how far seconds are off, at most; outliers: the part of the rows that took five times as long. */
static pz_fit_row *make(double noise, double outliers) {
  static const pz_cost_family families[] = {PZ_FAMILY_winograd, PZ_FAMILY_winograd, PZ_FAMILY_bf16x2,
                                            PZ_FAMILY_direct};
  pz_fit_row *rows = calloc(ROWS, sizeof *rows);
  uint64_t state = 1;
  for (int i = 0; i < ROWS; i++) {
    rows[i].problem = i / EACH, rows[i].fold = i / EACH % PZ_FIT_FOLDS, rows[i].family = families[i % 4];
    count(&rows[i], &state);
    for (int k = 0; k < TRUTHS; k++)
      rows[i].seconds += UNIT * truth[k].factor * rows[i].work.of[truth[k].term];
    rows[i].seconds *= 1 + noise * (2 * uniform(&state) - 1);
    if (uniform(&state) < outliers) rows[i].seconds *= 5;
  }
  return rows;
}

static double largest_error(const pz_cost_model *m) {
  double most = 0;
  for (int k = 0; k < TRUTHS; k++)
    most = fmax(most, fabs(m->factor[truth[k].term] * m->seconds / (UNIT * truth[k].factor) - 1));
  return most;
}

static pz_cost_model fit(const pz_fit_row *rows, int32_t n) {
  pz_cost_model m;
  pz_error err = {0};
  if (pz_fit_costs(rows, n, pz_cost_model_default(), &m, &err) != PZ_OK) fail_msg("%s", err.message);
  for (int k = 0; k < PZ_COST_TERMS; k++) assert_true(isfinite(m.factor[k]) && m.factor[k] >= 0);
  assert_true(m.seconds > 0);
  return m;
}

/* The prior pulls a little; noise of 10% leaves less than that; one candidate of ten that was disturbed bends little. */
static void test_known_factors(void **state) {
  (void)state;
  static const struct {
    double noise, outliers, within;
  } cases[] = {{0, 0, 0.05}, {0.1, 0, 0.1}, {0.02, 0.1, 0.2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_fit_row *rows = make(cases[i].noise, cases[i].outliers);
    const pz_cost_model m = fit(rows, ROWS), again = fit(rows, ROWS);
    if (largest_error(&m) > cases[i].within)
      fail_msg("case %d: a factor is off by %.3f", (int)i, largest_error(&m));
    assert_memory_equal(&m, &again, sizeof m);
    free(rows);
  }
}

/* Of terms that no row has the model says what it said before. */
static void test_unseen_terms(void **state) {
  (void)state;
  pz_fit_row *rows = make(0, 0);
  const pz_cost_model m = fit(rows, ROWS), *before = pz_cost_model_default();
  assert_true(m.factor[PZ_TERM_fft_products] == before->factor[PZ_TERM_fft_products]);
  assert_true(m.factor[PZ_TERM_any_converted] == before->factor[PZ_TERM_any_converted]);
  assert_true(m.factor[PZ_TERM_dot_inputs] == 0);
  free(rows);
}

/* Of two terms that always come together no measurement tells which it is: the sum is right, and neither is far from the other. */
static void test_terms_together(void **state) {
  (void)state;
  pz_fit_row *rows = make(0, 0);
  for (int i = 0; i < ROWS; i++) {
    if (rows[i].family != PZ_FAMILY_bf16x2) continue;
    rows[i].work.of[PZ_TERM_bf16x2_outputs] = rows[i].work.of[PZ_TERM_bf16x2_products];
    rows[i].seconds = UNIT * (truth[0].factor + 3 * rows[i].work.of[PZ_TERM_bf16x2_products]);
  }
  const pz_cost_model m = fit(rows, ROWS);
  const double products = m.factor[PZ_TERM_bf16x2_products] * m.seconds / UNIT,
               outputs = m.factor[PZ_TERM_bf16x2_outputs] * m.seconds / UNIT;
  assert_true(fabs(products + outputs - 3) < 0.1);
  assert_true(fabs(products - outputs) < 0.2);
  free(rows);
}

static void test_too_few(void **state) {
  (void)state;
  pz_fit_row *rows = make(0, 0);
  pz_cost_model m;
  pz_error err = {0};
  assert_int_equal(pz_fit_costs(rows, 0, pz_cost_model_default(), &m, &err), PZ_ERROR_INPUT);
  err = (pz_error){0};
  assert_int_equal(pz_fit_costs(rows, 7 * EACH, pz_cost_model_default(), &m, &err), PZ_ERROR_INPUT);
  assert_string_equal(err.message,
                      "56 candidates of 7 problems are too few for a fit; it takes 40 of 8 at least");
  /* exactly enough: what the rows say already leads */
  const pz_cost_model few = fit(rows, PZ_FIT_LEAST_PROBLEMS * EACH);
  double expected[PZ_FIT_LEAST_PROBLEMS * EACH];
  pz_fit_quality q;
  for (int i = 0; i < PZ_FIT_LEAST_PROBLEMS * EACH; i++) expected[i] = pz_cost_of_work(&few, &rows[i].work);
  pz_fit_quality_of(rows, expected, PZ_FIT_LEAST_PROBLEMS * EACH, PZ_COST_FAMILIES, &q);
  assert_true(q.rank > 0.95 && q.error < 0.15);
  free(rows);
}

/* A fit that has not seen a problem is as good there, where problems are alike; and what it expects of one does not depend on its times. */
static void test_unseen_problems(void **state) {
  (void)state;
  pz_fit_row *rows = make(0.02, 0);
  double expected[ROWS], again[ROWS];
  pz_fit_quality q;
  pz_error err = {0};
  assert_int_equal(pz_fit_unseen(rows, ROWS, pz_cost_model_default(), expected, &err), PZ_OK);
  pz_fit_quality_of(rows, expected, ROWS, PZ_COST_FAMILIES, &q);
  assert_true(q.problems == PROBLEMS && q.candidates == ROWS && q.rank > 0.98 && q.regret < 1.02);
  for (int i = 0; i < ROWS; i++)
    if (rows[i].fold == 2) rows[i].seconds *= 3 + i % 5;
  assert_int_equal(pz_fit_unseen(rows, ROWS, pz_cost_model_default(), again, &err), PZ_OK);
  for (int i = 0; i < ROWS; i++)
    if (rows[i].fold == 2) assert_true(expected[i] == again[i]);
  free(rows);
}

/* ---- what is told ---- */

static void test_rank(void **state) {
  (void)state;
  static const double up[] = {1, 2, 3, 4}, down[] = {9, 7, 5, 1}, ties[] = {1, 2, 2, 3},
                      same[] = {5, 5, 5, 5};
  assert_true(pz_rank_correlation(up, up, 4) == 1);
  assert_true(pz_rank_correlation(up, down, 4) == -1);
  assert_true(fabs(pz_rank_correlation(up, ties, 4) - 4.5 / sqrt(5 * 4.5)) < 1e-12);
  assert_true(pz_rank_correlation(ties, ties, 4) == 1);
  assert_true(pz_rank_correlation(up, same, 4) == 0);
}

/* Three problems: the best is chosen; the second best is; one candidate alone, which is no choice. */
static void test_quality(void **state) {
  (void)state;
  pz_fit_row rows[6] = {{.problem = 0, .seconds = 1, .family = PZ_FAMILY_direct},
                        {.problem = 0, .seconds = 2, .family = PZ_FAMILY_fft},
                        {.problem = 1, .seconds = 4, .family = PZ_FAMILY_direct},
                        {.problem = 1, .seconds = 5, .family = PZ_FAMILY_fft},
                        {.problem = 1, .seconds = 8, .family = PZ_FAMILY_fft},
                        {.problem = 2, .seconds = 3, .family = PZ_FAMILY_fft}};
  static const double expected[] = {10, 20, 50, 40, 80, 1};
  pz_fit_quality q;
  pz_fit_quality_of(rows, expected, 6, PZ_COST_FAMILIES, &q);
  assert_true(q.problems == 2 && q.candidates == 5 && q.ranked == 1);
  assert_true(fabs(q.rank - 0.5) < 1e-12);
  assert_true(fabs(q.regret - 6.0 / 5) < 1e-12);
  assert_true(fabs(q.regret_mean - (1 + 1.25) / 2) < 1e-12 && q.regret_worst == 1.25);
  /* of the first problem all are off alike; of the second by ln 1.25, 0 and -ln 1.25 beside each other, less their mean */
  const double a = log(4 / 50.0), b = log(5 / 40.0), c = log(0.1), mean = (a + b + c) / 3;
  assert_true(fabs(q.error - sqrt((pow(a - mean, 2) + pow(b - mean, 2) + pow(c - mean, 2)) / 3)) < 1e-12);
  /* of one algorithm beside itself; the first of equal expectations is the choice */
  pz_fit_quality_of(rows, expected, 6, PZ_FAMILY_fft, &q);
  assert_true(q.problems == 1 && q.candidates == 2 && q.ranked == 0 && q.rank == 0 && q.regret == 1);
  static const double equal[] = {1, 1, 1, 1, 1, 1};
  rows[0].seconds = 6;
  pz_fit_quality_of(rows, equal, 6, PZ_COST_FAMILIES, &q);
  assert_true(q.regret_worst == 3 && fabs(q.regret - 10.0 / 6) < 1e-12 && q.rank == 0);
  pz_fit_quality_of(rows, equal, 6, PZ_FAMILY_winograd, &q);
  assert_true(q.problems == 0 && q.regret == 0);
}

/* A family whose costs are off beside others has the error; one with few candidates mostly the prior's. */
static void test_errors(void **state) {
  (void)state;
  pz_fit_row *rows = make(0, 0);
  double expected[ROWS], error[PZ_COST_FAMILIES];
  for (int i = 0; i < ROWS; i++)
    expected[i] = rows[i].seconds * (rows[i].family != PZ_FAMILY_bf16x2 ? 1 : rows[i].problem % 2 ? 2 : 0.5);
  pz_fit_errors_of(rows, expected, ROWS, pz_cost_model_default()->error, error);
  assert_true(error[PZ_FAMILY_bf16x2] > 0.4 && error[PZ_FAMILY_bf16x2] < 0.7);
  assert_true(error[PZ_FAMILY_winograd] < error[PZ_FAMILY_bf16x2] / 2);
  assert_true(error[PZ_FAMILY_fft] == pz_cost_model_default()->error[PZ_FAMILY_fft]);
  free(rows);
}

/* ---- least squares ---- */

static void test_least_squares(void **state) {
  (void)state;
  pz_least_squares *p = calloc(1, sizeof *p);
  double x[3];
  p->n = 3;
  /* x0 + x1 = 3, x0 - x1 = 1: 2 and 1; the third has no equation */
  pz_least_squares_add(p, (const double[3]){1, 1, 0}, 3, 1);
  pz_least_squares_add(p, (const double[3]){1, -1, 0}, 1, 4);
  pz_least_squares_solve(p, x);
  assert_true(fabs(x[0] - 2) < 1e-12 && fabs(x[1] - 1) < 1e-12 && x[2] == 0);
  /* x0 + x1 = 1, x1 = -1: x1 would be negative */
  memset(p, 0, sizeof *p);
  p->n = 2;
  pz_least_squares_add(p, (const double[2]){1, 1}, 1, 1);
  pz_least_squares_add(p, (const double[2]){0, 1}, -1, 1);
  pz_least_squares_solve(p, x);
  assert_true(fabs(x[0] - 1) < 1e-12 && x[1] == 0);
  /* one column twice: the sum is right */
  memset(p, 0, sizeof *p);
  p->n = 2;
  pz_least_squares_add(p, (const double[2]){1, 1}, 4, 1);
  pz_least_squares_add(p, (const double[2]){2, 2}, 8, 1);
  pz_least_squares_solve(p, x);
  assert_true(fabs(x[0] + x[1] - 4) < 1e-9 && x[0] >= 0 && x[1] >= 0);
  /* nothing is wanted */
  memset(p, 0, sizeof *p);
  p->n = 2;
  pz_least_squares_add(p, (const double[2]){1, 2}, 0, 1);
  pz_least_squares_solve(p, x);
  assert_true(x[0] == 0 && x[1] == 0);
  free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_factors),   cmocka_unit_test(test_unseen_terms),
      cmocka_unit_test(test_terms_together),  cmocka_unit_test(test_too_few),
      cmocka_unit_test(test_unseen_problems), cmocka_unit_test(test_rank),
      cmocka_unit_test(test_quality),         cmocka_unit_test(test_errors),
      cmocka_unit_test(test_least_squares)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
