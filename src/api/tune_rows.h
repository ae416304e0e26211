/* tune_rows.h: measurements of the tuning database as rows of a fit (choose/fit.h). */
#ifndef PZ_API_TUNE_ROWS_H
#define PZ_API_TUNE_ROWS_H

#include "choose/fit.h"
#include "target/target.h"
#include "tune/tuning.h"

/* Of one CPU with one number of threads. */
typedef struct pz_fit_group {
  char cpu[PZ_TUNING_CPU_TEXT];
  pz_isa isa;
  int32_t threads;
  pz_target target; /* that the rows were planned for */
  pz_fit_row *rows; /* in the arena */
  int32_t n, capacity;
} pz_fit_group;

typedef struct pz_fit_rows {
  pz_fit_group *groups; /* of this machine, in the arena */
  int32_t n, capacity;
  /* Measurements that are none of a fit: of other CPUs or targets, of other solvers, noisy ones, of what is no convolution or no candidate of this pznet's. */
  int64_t read, other_cpus, stale, noisy, others;
  char other_cpu[PZ_TUNING_CPU_TEXT]; /* one of those; "" */
} pz_fit_rows;

/* stale: measurements of other solvers than this pznet's count too. */
pz_status pz_fit_rows_of(pz_tuning *tuning, bool stale, pz_arena *arena, pz_fit_rows *rows, pz_error *err);

#endif
