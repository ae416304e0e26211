/* error.c: how far a result is from the reference. */
#include "reference/reference.h"
#include <math.h>

double pz_relative_error(const float *a, const double *b, int64_t n) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < n; i++) {
    if (isfinite(a[i]) && isfinite(b[i])) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      norm += b[i] * b[i];
    } else if (!(isnan(a[i]) && isnan(b[i])) && !((double)a[i] == b[i])) {
      return INFINITY; /* a NaN or an infinity that the other has not */
    }
  }
  return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}
