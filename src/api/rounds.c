#include "api/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 }; /* rounds that are looked at */
#define UNSURE 0.02  /* a median ratio whose standard error is larger is noise */
#define FAR    1.25  /* times the fastest one's: where that does not matter */
#define UNEVEN 1.10  /* and so is a median of undisturbed times that is so far above their lower quartile */

bool pz_rounds_new(pz_arena *arena, int32_t n, int32_t most, pz_rounds *r) {
  const size_t cells = (size_t)n * (size_t)most;
  *r = (pz_rounds){.n = n, .most = most < MOST ? most : MOST};
  r->seconds = PZ_NEW(arena, double, cells + 1);
  r->disturbed = PZ_NEW(arena, bool, cells + 1);
  return r->seconds && r->disturbed;
}

void pz_rounds_set(pz_rounds *r, int32_t candidate, double seconds, bool disturbed) {
  if (r->rounds >= r->most) return;
  const size_t at = (size_t)candidate * (size_t)r->most + (size_t)r->rounds;
  r->seconds[at] = seconds, r->disturbed[at] = disturbed;
}

/* ---- statistics ---- */

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts. */
static double quantile(double *x, int32_t n, double part) {
  qsort(x, (size_t)n, sizeof *x, ascending);
  const double at = part * (n - 1);
  const int32_t below = (int32_t)at;
  return below + 1 < n ? x[below] + (at - below) * (x[below + 1] - x[below]) : x[below];
}

static size_t cell(const pz_rounds *r, int32_t candidate, int32_t round) {
  return (size_t)candidate * (size_t)r->most + (size_t)round;
}

/* Of two candidates in the rounds in which neither was disturbed, or, where these are too few, in all: how many there are; *quiet: the former. */
static int32_t pairs_of(const pz_rounds *r, int32_t a, int32_t b, double *x, double *y, bool *quiet) {
  int32_t n = 0;
  for (int32_t k = 0; k < r->rounds; k++)
    if (!r->disturbed[cell(r, a, k)] && !r->disturbed[cell(r, b, k)])
      x[n] = r->seconds[cell(r, a, k)], y[n++] = r->seconds[cell(r, b, k)];
  *quiet = n >= PZ_ROUNDS_LEAST;
  if (*quiet) return n;
  for (n = 0; n < r->rounds; n++) x[n] = r->seconds[cell(r, a, n)], y[n] = r->seconds[cell(r, b, n)];
  return n;
}

/* b's times over a's: their median and the standard error of that, as for a normal distribution with the same median deviation. */
typedef struct ratio {
  double median, error;
  bool quiet;
} ratio;
static ratio ratio_of(const pz_rounds *r, int32_t a, int32_t b) {
  double x[MOST], y[MOST];
  ratio of = {.median = 1, .error = INFINITY};
  const int32_t n = pairs_of(r, a, b, x, y, &of.quiet);
  if (!n) return of;
  for (int32_t k = 0; k < n; k++) y[k] /= x[k];
  of.median = quantile(y, n, 0.5);
  for (int32_t k = 0; k < n; k++) y[k] = fabs(y[k] - of.median);
  if (n >= PZ_ROUNDS_LEAST) of.error = 1.25 * 1.4826 * quantile(y, n, 0.5) / sqrt(n);
  return of;
}

/* ---- answers ---- */

/* A candidate's own lower quartile: of the rounds in which it was not disturbed, or of all. */
static pz_rounds_time alone(const pz_rounds *r, int32_t candidate) {
  double x[MOST], y[MOST];
  bool quiet;
  const int32_t n = pairs_of(r, candidate, candidate, x, y, &quiet);
  const double low = n ? quantile(x, n, 0.25) : 0;
  return (pz_rounds_time){low, !quiet || quantile(x, n, 0.5) > UNEVEN * low};
}

/* By its ratio to candidate 0; where few rounds left both alone, but enough each of them, by its own times. */
static pz_rounds_time beside(const pz_rounds *r, int32_t candidate, double *unsure) {
  const pz_rounds_time first = alone(r, 0), own = alone(r, candidate);
  const ratio of = ratio_of(r, 0, candidate);
  *unsure = 0;
  if (!of.quiet && !first.noisy && !own.noisy) return own;
  *unsure = of.error / of.median;
  return (pz_rounds_time){first.seconds * of.median, first.noisy || !of.quiet};
}

/* How far a time is off matters only where it is near the fastest one's. */
pz_rounds_time pz_rounds_time_of(const pz_rounds *r, int32_t candidate) {
  double unsure, of_other, best = alone(r, 0).seconds;
  if (!candidate || best <= 0) return alone(r, 0);
  pz_rounds_time t = beside(r, candidate, &unsure);
  for (int32_t c = 1; c < r->n; c++) best = fmin(best, beside(r, c, &of_other).seconds);
  const bool far = t.seconds * (1 - 2 * unsure) > FAR * best;
  t.noisy |= unsure > UNSURE && !far;
  return t;
}

bool pz_rounds_decided(const pz_rounds *r) {
  int32_t best = 0;
  if (r->rounds < PZ_ROUNDS_LEAST || alone(r, 0).noisy) return false;
  for (int32_t c = 1; c < r->n; c++)
    if (pz_rounds_time_of(r, c).seconds < pz_rounds_time_of(r, best).seconds) best = c;
  for (int32_t c = 0; c < r->n; c++) {
    if (c == best) continue;
    const ratio of = ratio_of(r, best, c);
    const bool apart = of.median - 2 * of.error > PZ_ROUNDS_ALIKE,
               alike = of.median + 2 * of.error < PZ_ROUNDS_ALIKE;
    if (!of.quiet || (!apart && !alike)) return false;
  }
  return true;
}
