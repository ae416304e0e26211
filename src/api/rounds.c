#include "api/rounds.h"
#include "base/ascending.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 }; /* rounds that are looked at */
#define UNSURE 0.02  /* a median ratio whose standard error is larger is noise */
#define FAR    1.25  /* times the fastest one's: where that does not matter */
#define UNEVEN 1.10  /* and so is a median of undisturbed times that is so far above their lower quartile */

bool pz_rounds_new(pz_arena *arena, int32_t n, int32_t most, bool trusting, pz_rounds *r) {
  const size_t cells = (size_t)n * (size_t)most;
  *r = (pz_rounds){.n = n, .most = most < MOST ? most : MOST, .trusting = trusting};
  r->seconds = PZ_NEW(arena, double, cells + 1);
  r->disturbed = PZ_NEW(arena, bool, cells + 1);
  r->times = PZ_NEW(arena, pz_rounds_time, (size_t)n);
  r->unsure = PZ_NEW(arena, double, (size_t)n);
  return r->seconds && r->disturbed && r->times && r->unsure;
}

void pz_rounds_set(pz_rounds *r, int32_t candidate, double seconds, bool disturbed) {
  if (r->rounds >= r->most) return;
  const size_t at = (size_t)candidate * (size_t)r->most + (size_t)r->rounds;
  r->seconds[at] = seconds, r->disturbed[at] = disturbed;
}

/* ---- statistics ---- */

/* Sorts. */
static double quantile(double *x, int32_t n, double part) {
  qsort(x, (size_t)n, sizeof *x, pz_ascending);
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
static pz_rounds_time beside(const pz_rounds *r, pz_rounds_time first, int32_t candidate, double *unsure) {
  const pz_rounds_time own = alone(r, candidate);
  const ratio of = ratio_of(r, 0, candidate);
  *unsure = 0;
  if (!of.quiet && !first.noisy && !own.noisy) return own;
  *unsure = of.error / of.median;
  return (pz_rounds_time){first.seconds * of.median, first.noisy || !of.quiet};
}

/* Of two: apart by more than noise, or alike. */
static bool is_clear(const pz_rounds *r, int32_t best, int32_t other) {
  const ratio of = ratio_of(r, best, other);
  const bool apart = of.median - 2 * of.error > PZ_ROUNDS_ALIKE,
             alike = of.median + 2 * of.error < PZ_ROUNDS_ALIKE;
  return of.quiet && (apart || alike);
}

/* How far a time is off matters only where it is near the fastest one's. */
void pz_rounds_judge(pz_rounds *r) {
  int32_t best = 0;
  r->times[0] = alone(r, 0);
  for (int32_t c = 1; c < r->n; c++) {
    r->times[c] = beside(r, r->times[0], c, &r->unsure[c]);
    if (r->times[c].seconds < r->times[best].seconds) best = c;
  }
  r->noisy = r->times[0].noisy, r->decided = r->rounds >= PZ_ROUNDS_LEAST && !r->noisy;
  for (int32_t c = 1; c < r->n; c++) {
    pz_rounds_time *t = &r->times[c];
    const bool far = t->seconds * (1 - 2 * r->unsure[c]) > FAR * r->times[best].seconds;
    t->noisy |= r->unsure[c] > UNSURE && !far;
    r->noisy |= t->noisy;
  }
  for (int32_t c = 0; c < r->n; c++)
    if (c != best) r->decided = r->decided && is_clear(r, best, c);
  for (int32_t c = 0; r->trusting && c < r->n; c++) r->times[c].noisy = r->noisy = false;
}
