#include "api/worth.h"
#include "plan/solver.h"

#include <math.h>

/* Of one solver's candidates beside each other, times that of two solvers': what costs of a solver have wrong they have in common. */
#define WITHIN 0.33
#define LEAST  0.01 /* what is expected to win less is not measured first */

/* The standard deviation of the logarithm of the two candidates' times, beside that of their costs. */
static double deviation(const pz_target *target, const pz_candidate *c, int32_t i) {
  const double both = hypot(pz_cost_uncertainty(target, c[0].solver->family),
                            pz_cost_uncertainty(target, c[i].solver->family));
  return fmax(c[i].solver == c[0].solver ? WITHIN * both : both, 1e-6);
}

/* The expected improvement of a normally distributed difference: d is how much slower it is expected to be. */
static double improvement(double d, double s) {
  const double z = d / s;
  return s * exp(-z * z / 2) * 0.3989422804014327 - d * 0.5 * erfc(z * 0.7071067811865476);
}

double pz_worth_of(const pz_target *target, const pz_candidate *c, int32_t i) {
  if (i == 0 || !(c[0].cost > 0) || !(c[i].cost > 0)) return 0;
  return improvement(log(c[i].cost / c[0].cost), deviation(target, c, i));
}

bool pz_worth_leads(const pz_target *target, const pz_candidate *c, int32_t n, int32_t i) {
  int32_t before = 0;
  double best = 0;
  for (int32_t k = 1; k < n; k++) {
    const double worth = pz_worth_of(target, c, k);
    if (worth > best) best = worth;
    if (k != i && i)
      before += worth > pz_worth_of(target, c, i) || (k < i && !(worth < pz_worth_of(target, c, i)));
  }
  if (i == 0) return best >= LEAST;
  return pz_worth_of(target, c, i) >= LEAST && before < PZ_WORTH_MOST - 1;
}
