/* forecast.h: how long a work will still take that has several parts, one after the other.
 *
 * Of each part it is said beforehand what it is expected to take. While it runs it counts its units, or says itself what is left of it;
 * the more of it is done the more that counts. A clock is handed in, so that tests have one of their own; all times are seconds. */
#ifndef PZ_BASE_FORECAST_H
#define PZ_BASE_FORECAST_H

#include "pznet/pznet.h"

enum { PZ_FORECAST_PARTS = 16 };

typedef struct pz_forecast_part {
  double expected; /* less than 0: nothing is known of it */
  double begun;
  double first, last; /* when the first unit was done, and the latest */
  int64_t done, total,
      skipped; /* units; skipped: of those done, what cost nothing, as what an interrupted run had done */
  double said, said_at; /* what the part itself says is left of it, and when */
  bool has_said, is_over, is_bounded;
  double end; /* where it is bounded */
} pz_forecast_part;

typedef struct pz_forecast {
  pz_progress progress; /* or NULL */
  void *host;
  double begun;
  pz_forecast_part parts[PZ_FORECAST_PARTS];
  int n, now; /* now: the part that runs; -1: none yet */
} pz_forecast;

void pz_forecast_begin(pz_forecast *f, pz_progress progress, void *host, double now);

/* One more part behind the others, of which nothing is known where `expected` is less than 0. Returns its index; those that there is no room for are the last one. */
int pz_forecast_add(pz_forecast *f, double expected);
/* What is expected of a part has changed. */
void pz_forecast_expect(pz_forecast *f, int part, double expected);
/* The part begins, and what was before it is over. */
void pz_forecast_enter(pz_forecast *f, int part, double now);

/* Of the part that runs: units that are done in all; units that were done without work; what it says is left of it. */
void pz_forecast_count(pz_forecast *f, int64_t done, int64_t total, double now);
void pz_forecast_skip(pz_forecast *f, int64_t units);
void pz_forecast_say(pz_forecast *f, double left, double now);
/* The part that runs is over then, whatever is left of it. */
void pz_forecast_bound(pz_forecast *f, double end);

/* Seconds that are left; less than 0: not known. */
double pz_forecast_left(const pz_forecast *f, double now);
/* The same, not known before a tenth of the time has passed: what is told of the first moments is seldom true. */
double pz_forecast_shown(const pz_forecast *f, double now);

/* Calls the host's progress, where there is one. What is left is pz_progress_left() during the call. */
void pz_forecast_tell(const pz_forecast *f, const char *what, int64_t done, int64_t total, double now);

#endif
