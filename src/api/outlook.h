/* outlook.h: the parts of compiling a network, what each is expected to take, and what the host is told of them: one time left for the whole.
 *
 * What C compilers have to do is known by kinds of kernels (emit/compile_work.h), measuring is bounded by its budget, the rest follows from
 * the plan's sizes. */
#ifndef PZ_API_OUTLOOK_H
#define PZ_API_OUTLOOK_H

#include "api/tuner.h"
#include "base/forecast.h"
#include "emit/emit.h"

/* In their order. Networks that are made for ERRORS and TRYING are of these parts. */
typedef enum pz_outlook_part {
  PZ_PART_MEASURING,
  PZ_PART_WRITING,
  PZ_PART_KERNELS,
  PZ_PART_LINKING,
  PZ_PART_ERRORS,
  PZ_PART_TRYING,
  PZ_PART_SELF_TEST,
  PZ_PART_DONE
} pz_outlook_part;
const char *pz_outlook_name(pz_outlook_part part);

typedef struct pz_outlook {
  pz_forecast forecast;
  pz_compile_work work; /* for pz_emit_options */
  const pz_tuner *tuner;
  const pz_plan *plan;
  double costs; /* of the plan's kernels */
} pz_outlook;

/* Nothing is told before pz_outlook_plan. `start`: of the whole work, as pz_now. */
void pz_outlook_begin(pz_outlook *o, const pz_tuner *tuner, pz_progress progress, void *host, double start);
/* The plan, which lives until the next one is told or KERNELS begins, and what its kernels cost that are not kept (pz_emit_costs): sets what all
 * parts are expected to take that have not begun. */
void pz_outlook_plan(pz_outlook *o, const pz_plan *plan, double costs);
/* The part begins, or goes on. Parts that are over stay so. */
void pz_outlook_tell(pz_outlook *o, pz_outlook_part part, const char *what);

#endif
