/* ascending.h: the order of doubles for qsort. */
#ifndef PZ_BASE_ASCENDING_H
#define PZ_BASE_ASCENDING_H

static inline int pz_ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#endif
