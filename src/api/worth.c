#include "api/worth.h"

#include <math.h>

/* Standard deviations of the logarithm of time over cost: of two candidates of one solver beside each other, and of two solvers'. */
#define WITHIN  0.10
#define BETWEEN 0.30
#define LEAST   0.01 /* what is expected to win less is not measured first */

static double deviation(const pz_candidate *c, int32_t i) {
  return c[i].solver == c[0].solver ? WITHIN : BETWEEN;
}

/* The expected improvement of a normally distributed difference: d is how much slower it is expected to be. */
static double improvement(double d, double s) {
  const double z = d / s;
  return s * exp(-z * z / 2) * 0.3989422804014327 - d * 0.5 * erfc(z * 0.7071067811865476);
}

double pz_worth_of(const pz_candidate *c, int32_t i) {
  if (i == 0 || !(c[0].cost > 0) || !(c[i].cost > 0)) return 0;
  return improvement(log(c[i].cost / c[0].cost), deviation(c, i));
}

bool pz_worth_leads(const pz_candidate *c, int32_t n, int32_t i) {
  int32_t before = 0;
  double best = 0;
  for (int32_t k = 1; k < n; k++) {
    const double worth = pz_worth_of(c, k);
    if (worth > best) best = worth;
    if (k != i && i) before += worth > pz_worth_of(c, i) || (k < i && !(worth < pz_worth_of(c, i)));
  }
  if (i == 0) return best >= LEAST;
  return pz_worth_of(c, i) >= LEAST && before < PZ_WORTH_MOST - 1;
}
