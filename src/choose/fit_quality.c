/* fit_quality.c: how good the choices of a cost model are beside what was measured. */
#include "choose/fit.h"

#include <math.h>
#include <stdlib.h>

/* The rank of value i, from 1 on; equal ones share the mean of theirs. */
static double rank_of(const double *values, int32_t n, int32_t i) {
  int32_t less = 0, equal = 0;
  for (int32_t k = 0; k < n; k++) less += values[k] < values[i], equal += values[k] == values[i];
  return less + (equal + 1) / 2.0;
}

double pz_rank_correlation(const double *a, const double *b, int32_t n) {
  const double mean = (n + 1) / 2.0;
  double of_a = 0, of_b = 0, both = 0;
  for (int32_t i = 0; i < n; i++) {
    const double x = rank_of(a, n, i) - mean, y = rank_of(b, n, i) - mean;
    of_a += x * x, of_b += y * y, both += x * y;
  }
  return of_a > 0 && of_b > 0 ? both / sqrt(of_a * of_b) : 0;
}

/* Sums over problems. */
typedef struct sums {
  pz_fit_quality quality;
  double chosen, best, squares;
  int32_t free; /* candidates less one each problem */
} sums;

/* expected, seconds: of a problem's candidates that count. */
static void add_problem(sums *s, const double *expected, const double *seconds, int32_t n) {
  int32_t first = 0;
  double best = seconds[0], mean = 0, squares = 0;
  if (n < 2) return;
  for (int32_t i = 0; i < n; i++) {
    if (expected[i] < expected[first]) first = i;
    best = fmin(best, seconds[i]);
    mean += log(seconds[i] / expected[i]) / n;
  }
  for (int32_t i = 0; i < n; i++) squares += pow(log(seconds[i] / expected[i]) - mean, 2);
  const double regret = seconds[first] / best;
  s->quality.problems++, s->quality.candidates += n;
  s->chosen += seconds[first], s->best += best;
  s->quality.regret_mean += regret;
  s->quality.regret_worst = fmax(s->quality.regret_worst, regret);
  s->squares += squares, s->free += n - 1;
  if (n < 3) return;
  s->quality.ranked++;
  s->quality.rank += pz_rank_correlation(expected, seconds, n);
}

void pz_fit_quality_of(const pz_fit_row *rows, const double *expected, int32_t n, pz_cost_family family,
                       pz_fit_quality *quality) {
  sums s = {.chosen = 0};
  enum { MOST = 1024 };
  double of_problem[MOST], seconds[MOST];
  int32_t count = 0;
  for (int32_t i = 0; i < n; i++) {
    if (i && rows[i].problem != rows[i - 1].problem) add_problem(&s, of_problem, seconds, count), count = 0;
    if ((family != PZ_COST_FAMILIES && rows[i].family != family) || count == MOST || !(expected[i] > 0))
      continue;
    of_problem[count] = expected[i], seconds[count++] = rows[i].seconds;
  }
  if (count) add_problem(&s, of_problem, seconds, count);
  *quality = s.quality;
  if (quality->problems)
    quality->regret = s.chosen / s.best, quality->regret_mean /= quality->problems,
    quality->error = sqrt(s.squares / s.free);
  if (quality->ranked) quality->rank /= quality->ranked;
}

#define PRIOR_CANDIDATES 10

void pz_fit_errors_of(const pz_fit_row *rows, const double *expected, int32_t n,
                      const double prior[PZ_COST_FAMILIES], double error[PZ_COST_FAMILIES]) {
  double squares[PZ_COST_FAMILIES], counts[PZ_COST_FAMILIES];
  for (int i = 0; i < PZ_COST_FAMILIES; i++)
    counts[i] = PRIOR_CANDIDATES, squares[i] = PRIOR_CANDIDATES * prior[i] * prior[i];
  for (int32_t first = 0, end; first < n; first = end) {
    double mean = 0;
    for (end = first; end < n && rows[end].problem == rows[first].problem; end++) {}
    for (int32_t i = first; i < end; i++) mean += log(rows[i].seconds / expected[i]) / (end - first);
    for (int32_t i = first; i < end && end - first > 1; i++) {
      squares[rows[i].family] += pow(log(rows[i].seconds / expected[i]) - mean, 2);
      counts[rows[i].family] += 1 - 1.0 / (end - first);
    }
  }
  for (int i = 0; i < PZ_COST_FAMILIES; i++) error[i] = sqrt(squares[i] / counts[i]);
}
