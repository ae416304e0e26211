/* least_squares.c: an active set over the normal equations. */
#include "choose/least_squares.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST = PZ_MOST_UNKNOWNS };
#define SINGULAR 1e-11 /* of a diagonal entry: what is left of one that depends on those before it */
#define NO_SLOPE 1e-11 /* of a right side */

void pz_least_squares_add(pz_least_squares *p, const double *row, double right, double weight) {
  for (int32_t i = 0; i < p->n; i++) {
    const double w = weight * row[i];
    if (w == 0) continue;
    for (int32_t k = 0; k < p->n; k++) p->matrix[i][k] += w * row[k];
    p->right[i] += w * right;
  }
}

/* The unknowns of a set, by Cholesky's decomposition, each scaled by its diagonal; one that depends on those before it is 0. */
typedef struct solution {
  int32_t at[MOST], n;
  double lower[MOST][MOST], scale[MOST], x[MOST];
} solution;

static void decompose(const pz_least_squares *p, solution *s) {
  for (int32_t i = 0; i < s->n; i++) {
    s->scale[i] = sqrt(p->matrix[s->at[i]][s->at[i]]);
    for (int32_t k = 0; k <= i; k++) {
      double sum = s->scale[i] > 0 && s->scale[k] > 0
                       ? p->matrix[s->at[i]][s->at[k]] / (s->scale[i] * s->scale[k])
                       : 0;
      for (int32_t j = 0; j < k; j++) sum -= s->lower[i][j] * s->lower[k][j];
      if (i == k) s->lower[i][i] = sum > SINGULAR ? sqrt(sum) : 0;
      else s->lower[i][k] = s->lower[k][k] > 0 ? sum / s->lower[k][k] : 0;
    }
  }
}

static void solve_set(const pz_least_squares *p, solution *s) {
  decompose(p, s);
  for (int32_t i = 0; i < s->n; i++) {
    double sum = s->scale[i] > 0 ? p->right[s->at[i]] / s->scale[i] : 0;
    for (int32_t k = 0; k < i; k++) sum -= s->lower[i][k] * s->x[k];
    s->x[i] = s->lower[i][i] > 0 ? sum / s->lower[i][i] : 0;
  }
  for (int32_t i = s->n - 1; i >= 0; i--) {
    double sum = s->x[i];
    for (int32_t k = i + 1; k < s->n; k++) sum -= s->lower[k][i] * s->x[k];
    s->x[i] = s->lower[i][i] > 0 ? sum / s->lower[i][i] : 0;
  }
  for (int32_t i = 0; i < s->n; i++)
    if (s->scale[i] > 0) s->x[i] /= s->scale[i];
}

/* How the sum falls as x[i] grows. */
static double slope(const pz_least_squares *p, const double *x, int32_t i) {
  double sum = p->right[i];
  for (int32_t k = 0; k < p->n; k++) sum -= p->matrix[i][k] * x[k];
  return sum;
}

static int32_t steepest(const pz_least_squares *p, const double *x, const bool *free) {
  int32_t best = -1;
  double most = 0;
  for (int32_t i = 0; i < p->n; i++) {
    if (free[i] || !(p->matrix[i][i] > 0)) continue;
    const double size = sqrt(p->matrix[i][i]), by = slope(p, x, i) / size;
    if (by > NO_SLOPE * fabs(p->right[i]) / size && by > most) most = by, best = i;
  }
  return best;
}

static void collect(const bool *free, int32_t n, solution *s) {
  s->n = 0;
  for (int32_t i = 0; i < n; i++)
    if (free[i]) s->at[s->n++] = i;
}

/* Towards the set's solution, until the first of x is 0, which then leaves the set. False: it is reached. */
static bool step_back(const solution *s, double *x, bool *free) {
  double part = 1;
  int32_t out = -1;
  for (int32_t i = 0; i < s->n; i++) {
    const double before = x[s->at[i]];
    if (s->x[i] > 0 || before <= 0) continue;
    const double here = before / (before - s->x[i]);
    if (here < part) part = here, out = i;
  }
  for (int32_t i = 0; i < s->n; i++) {
    double *value = &x[s->at[i]];
    *value += part * (s->x[i] - *value);
    if (i == out || *value <= 0) *value = 0, free[s->at[i]] = false;
  }
  return out >= 0;
}

void pz_least_squares_solve(const pz_least_squares *p, double *x) {
  static const solution none;
  solution s = none;
  bool free[MOST] = {false};
  memset(x, 0, (size_t)p->n * sizeof *x);
  for (int32_t round = 0; round < 3 * p->n; round++) {
    const int32_t in = steepest(p, x, free);
    if (in < 0) return;
    free[in] = true;
    for (bool back = true; back;) {
      collect(free, p->n, &s);
      solve_set(p, &s);
      back = step_back(&s, x, free);
    }
  }
}
