/* fit.h: a cost model from what was measured: factors of terms, none negative, that bring expected costs nearest to the seconds, and how near they are. */
#ifndef PZ_CHOOSE_FIT_H
#define PZ_CHOOSE_FIT_H

#include "base/arena.h"
#include "base/status.h"
#include "target/cost_model.h"

/* A candidate of a problem, and what it took. */
typedef struct pz_fit_row {
  int32_t problem; /* rows of one have one number, from 0 on, and stand together */
  int32_t fold;    /* from 0 to PZ_FIT_FOLDS - 1: those of a problem, and of all that are like it, have one */
  pz_cost_family family;
  double seconds;           /* greater than 0 */
  const char *text, *label; /* of the problem, of the candidate; not looked at */
  pz_work work;
} pz_fit_row;

enum { PZ_FIT_FOLDS = 5 };

/* The fewest that say anything. */
enum { PZ_FIT_LEAST_PROBLEMS = 8, PZ_FIT_LEAST_CANDIDATES = 40 };

/* The model of the rows, beside `prior`: its factors stay where rows say nothing, and what they say little of stays near them. Depends on the rows and
 * their order alone. Too few rows: PZ_ERROR_INPUT. */
pz_status pz_fit_costs(const pz_fit_row *rows, int32_t n, const pz_cost_model *prior, pz_cost_model *fitted,
                       pz_error *err);

/* How good a model's choices are: of all candidates, or of one family's beside each other. */
typedef struct pz_fit_quality {
  int32_t problems, candidates; /* problems with two candidates and more; their candidates */
  int32_t ranked;               /* of them those with three and more: */
  double
      rank; /* Spearman's correlation of expected and measured, the mean of the ranked ones; 0 where there is none */
  double
      regret; /* seconds of all first choices over those of all best candidates; of each problem: the mean, the worst */
  double regret_mean, regret_worst;
  double
      error; /* the standard deviation of ln(measured / expected) beside the other candidates of the problem */
} pz_fit_quality;

/* expected: by row, in any unit. family: PZ_COST_FAMILIES for all. */
void pz_fit_quality_of(const pz_fit_row *rows, const double *expected, int32_t n, pz_cost_family family,
                       pz_fit_quality *quality);
/* Spearman's rank correlation of n pairs, n > 0; equal values have the mean of their ranks. 0 where all of one side are equal. */
double pz_rank_correlation(const double *a, const double *b, int32_t n);

/* By family: the standard deviation of ln(measured / expected) of its candidates beside all of their problem; where there are few, nearer `prior`. */
void pz_fit_errors_of(const pz_fit_row *rows, const double *expected, int32_t n,
                      const double prior[PZ_COST_FAMILIES], double error[PZ_COST_FAMILIES]);

/* expected[i] of row i by a model that was fitted without its fold. */
pz_status pz_fit_unseen(const pz_fit_row *rows, int32_t n, const pz_cost_model *prior, double *expected,
                        pz_error *err);

#endif
