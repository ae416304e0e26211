/* least_squares.h: least squares whose unknowns are not negative. */
#ifndef PZ_CHOOSE_LEAST_SQUARES_H
#define PZ_CHOOSE_LEAST_SQUARES_H

#include <stdint.h>

enum { PZ_MOST_UNKNOWNS = 128 };

/* The sum over equations of the weighted squares of (row . x - right), as its normal matrix and right side. Zero before the first. */
typedef struct pz_least_squares {
  int32_t n; /* unknowns, at most PZ_MOST_UNKNOWNS */
  double matrix[PZ_MOST_UNKNOWNS][PZ_MOST_UNKNOWNS], right[PZ_MOST_UNKNOWNS];
} pz_least_squares;

void pz_least_squares_add(pz_least_squares *problem, const double *row, double right, double weight);
/* x[i] >= 0 where the sum is least, by an active set (Lawson and Hanson 1974, on the normal matrix as Bro and De Jong 1997). Unknowns that no equation
 * has, or that others stand for as well, are 0. */
void pz_least_squares_solve(const pz_least_squares *problem, double *x);

#endif
