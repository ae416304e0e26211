/* fit.c: factors of terms from measurements.
 *
 * What is made small is the sum over candidates of the squares of r = ln(measured / expected): noise and error are parts of a time. Each step of Gauss
 * and Newton is linear in the factors: with e the expected seconds of now and x the amounts, (x . factors) / e is to be 1 + r. Errors beyond LARGE
 * count less and less (Cauchy's weights), so that a candidate that was measured beside other work bends nothing.
 *
 * A choice is among the candidates of a problem, and what they have in common decides nothing: of each problem's mean r only a part counts (1 - COMMON).
 * Those that nobody would take count less than those near the best (CHANCE).
 *
 * What measurements do not tell is the prior's: each factor is bound to it as by KEEP measurements, those that the prior has at 0 by their amounts in the
 * rows. So few rows, or terms that always come together, give factors near the prior's. */
#include "choose/fit.h"
#include "base/ascending.h"
#include "choose/least_squares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGE  0.4
#define COMMON 0.5
#define CHANCE 1.0
#define KEEP   0.03
enum { STEPS = 30, FIRST_STEPS = 3 /* without Cauchy's weights */ };
#define ENOUGH 1e-10

_Static_assert((int)PZ_COST_TERMS <= (int)PZ_MOST_UNKNOWNS, "a term is an unknown");

typedef struct fit {
  const pz_fit_row *rows;
  int32_t n, left_out; /* the fold whose rows do not count; -1: none */
  const pz_cost_model *prior;
  double unit; /* seconds */
  double factor[PZ_COST_TERMS];
  double *expected; /* by row, seconds */
  double *chance;   /* by row: its weight for being near the best */
} fit;

static bool counts(const fit *f, int32_t i) { return f->rows[i].fold != f->left_out; }

static int32_t end_of(const fit *f, int32_t first) {
  int32_t end = first;
  while (end < f->n && f->rows[end].problem == f->rows[first].problem) end++;
  return end;
}

/* ---- the unit ---- */

/* The seconds of the prior's unit: the median of what rows took. */
static double unit_of(const fit *f, double *room) {
  int32_t n = 0;
  for (int32_t i = 0; i < f->n; i++) {
    const double cost = counts(f, i) ? pz_cost_of_work(f->prior, &f->rows[i].work) : 0;
    if (cost > 0) room[n++] = f->rows[i].seconds / cost;
  }
  qsort(room, (size_t)n, sizeof *room, pz_ascending);
  return n ? room[n / 2] : 0;
}

/* ---- a step ---- */

static void expect(fit *f) {
  for (int32_t i = 0; i < f->n; i++) {
    double sum = 0;
    for (int32_t k = 0; k < PZ_COST_TERMS; k++) sum += f->factor[k] * f->rows[i].work.of[k];
    /* none is nothing: logarithms are taken */
    f->expected[i] = fmax(f->unit * sum, 1e-3 * f->rows[i].seconds);
  }
}

static void weigh_chances(fit *f) {
  for (int32_t first = 0, end; first < f->n; first = end) {
    double best = INFINITY;
    end = end_of(f, first);
    for (int32_t i = first; i < end; i++) best = fmin(best, f->rows[i].seconds);
    for (int32_t i = first; i < end; i++) f->chance[i] = pow(best / f->rows[i].seconds, CHANCE);
  }
}

static double weight_of(const fit *f, int32_t i, bool robust) {
  const double r = log(f->rows[i].seconds / f->expected[i]) / LARGE;
  return f->chance[i] * (robust ? 1 / (1 + r * r) : 1);
}

/* The equations of a problem's rows, less a part of what all have in common. */
static void add_problem(const fit *f, int32_t first, int32_t end, bool robust, pz_least_squares *to) {
  double mean[PZ_COST_TERMS] = {0}, mean_right = 0, weights = 0, row[PZ_COST_TERMS];
  for (int32_t i = first; i < end; i++) {
    const double w = weight_of(f, i, robust), scale = f->unit / f->expected[i];
    for (int32_t k = 0; k < PZ_COST_TERMS; k++) mean[k] += w * scale * f->rows[i].work.of[k];
    mean_right += w * (1 + log(f->rows[i].seconds / f->expected[i]));
    weights += w;
  }
  const double part = end - first > 1 ? COMMON / weights : 0;
  for (int32_t i = first; i < end; i++) {
    const double scale = f->unit / f->expected[i];
    for (int32_t k = 0; k < PZ_COST_TERMS; k++) row[k] = scale * f->rows[i].work.of[k] - part * mean[k];
    pz_least_squares_add(to, row, 1 + log(f->rows[i].seconds / f->expected[i]) - part * mean_right,
                         weight_of(f, i, robust));
  }
}

static void add_prior(const fit *f, pz_least_squares *to) {
  for (int32_t k = 0; k < PZ_COST_TERMS; k++) {
    const double factor = f->prior->factor[k];
    double row[PZ_COST_TERMS] = {0}, squares = 0;
    int32_t with = 0;
    for (int32_t i = 0; i < f->n; i++) {
      const double share = f->unit * f->rows[i].work.of[k] / f->expected[i];
      if (counts(f, i) && share > 0) squares += share * share, with++;
    }
    row[k] = factor > 0 ? 1 / factor : with ? sqrt(squares / with) : 0;
    if (row[k] > 0) pz_least_squares_add(to, row, factor > 0 ? 1 : 0, KEEP);
  }
}

/* How much the factors have changed. */
static double step(fit *f, bool robust, pz_least_squares *equations) {
  double before[PZ_COST_TERMS], change = 0, size = 0;
  memset(equations, 0, sizeof *equations);
  equations->n = PZ_COST_TERMS;
  memcpy(before, f->factor, sizeof before);
  expect(f);
  for (int32_t first = 0, end; first < f->n; first = end) {
    end = end_of(f, first);
    if (counts(f, first)) add_problem(f, first, end, robust, equations);
  }
  add_prior(f, equations);
  pz_least_squares_solve(equations, f->factor);
  for (int32_t k = 0; k < PZ_COST_TERMS; k++)
    change = fmax(change, fabs(f->factor[k] - before[k])), size = fmax(size, f->factor[k]);
  return size > 0 ? change / size : 0;
}

/* Terms of which no row has any, and rows that say nothing of them, leave the prior's factor. */
static void keep_unseen(fit *f) {
  for (int32_t k = 0; k < PZ_COST_TERMS; k++) {
    bool seen = false;
    for (int32_t i = 0; i < f->n && !seen; i++) seen = counts(f, i) && f->rows[i].work.of[k] > 0;
    if (!seen) f->factor[k] = f->prior->factor[k];
  }
}

static pz_status solve(fit *f, pz_error *err) {
  pz_least_squares *equations = malloc(sizeof *equations);
  double *room = malloc(((size_t)f->n + 1) * 3 * sizeof *room);
  pz_status status = equations && room ? PZ_OK : pz_fail_memory(err, "a fit", (size_t)f->n * sizeof *room);
  if (status == PZ_OK) {
    f->expected = room, f->chance = room + f->n;
    f->unit = unit_of(f, room + 2 * (size_t)f->n);
    memcpy(f->factor, f->prior->factor, sizeof f->factor);
    weigh_chances(f);
    double change = 1;
    for (int32_t i = 0; i < STEPS && f->unit > 0 && (i < 2 * FIRST_STEPS || change > ENOUGH); i++)
      change = step(f, i >= FIRST_STEPS, equations);
    keep_unseen(f);
  }
  free(equations);
  free(room);
  return status;
}

/* ---- what others call ---- */

static int32_t count_problems(const pz_fit_row *rows, int32_t n) {
  int32_t problems = 0;
  for (int32_t i = 0; i < n; i++) problems += !i || rows[i].problem != rows[i - 1].problem;
  return problems;
}

pz_status pz_fit_costs(const pz_fit_row *rows, int32_t n, const pz_cost_model *prior, pz_cost_model *fitted,
                       pz_error *err) {
  fit f = {.rows = rows, .n = n, .left_out = -1, .prior = prior};
  const int32_t problems = count_problems(rows, n);
  if (problems < PZ_FIT_LEAST_PROBLEMS || n < PZ_FIT_LEAST_CANDIDATES)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%d candidates of %d problems are too few for a fit; it takes %d of %d at least", (int)n,
                   (int)problems, PZ_FIT_LEAST_CANDIDATES, PZ_FIT_LEAST_PROBLEMS);
  PZ_TRY(solve(&f, err));
  *fitted = *prior;
  memcpy(fitted->factor, f.factor, sizeof f.factor);
  fitted->seconds = f.unit;
  return PZ_OK;
}

pz_status pz_fit_unseen(const pz_fit_row *rows, int32_t n, const pz_cost_model *prior, double *expected,
                        pz_error *err) {
  for (int32_t fold = 0; fold < PZ_FIT_FOLDS; fold++) {
    fit f = {.rows = rows, .n = n, .left_out = fold, .prior = prior};
    pz_cost_model model = *prior;
    PZ_TRY(solve(&f, err));
    memcpy(model.factor, f.factor, sizeof f.factor);
    for (int32_t i = 0; i < n; i++)
      if (rows[i].fold == fold) expected[i] = f.unit * pz_cost_of_work(&model, &rows[i].work);
  }
  return PZ_OK;
}
