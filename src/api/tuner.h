/* tuner.h: effort of compiling: which candidates of a plan are timed, what they took, and the choice by that.
 *
 *   pz_tuner_open --> pz_plan_new with pz_tuner_choose: times from the database
 *                 --> pz_tuner_measure: the problems without times, on this machine, into the database
 *                 --> pz_plan_new again, where anything was measured
 *                 --> candidates that are near each other, timed in the network (autotune.h)
 *
 * All that measuring costs beyond the estimate is spent from a budget of seconds. Within one the problems are measured in the order of what is
 * expected to be won in a second of measuring (worth.h): first the candidates that lead, then the others that the effort asks for.
 */
#ifndef PZ_API_TUNER_H
#define PZ_API_TUNER_H

#include "api/objects.h"
#include "base/digest.h"
#include "tune/tuning.h"

/* LEADING is no effort that can be asked for: what is measured first. */
typedef enum pz_effort {
  PZ_EFFORT_ESTIMATE,
  PZ_EFFORT_LEADING,
  PZ_EFFORT_MEASURE,
  PZ_EFFORT_EXHAUSTIVE
} pz_effort;
const char *pz_effort_name(pz_effort effort);

/* What measuring has before it, for who tells of it. */
typedef struct pz_tuner_ahead {
  int32_t wanted, before; /* candidates that are timed when all is; those that were before it began */
  int32_t batch;          /* those of the graph that is under way */
  double begun, batch_begun;
  double foreseen;      /* seconds that all of it was expected to take when it began */
  double rounds;        /* when the graph's rounds are expected to end; 0: it is being compiled */
  pz_compile_work work; /* of the graph's compilers */
} pz_tuner_ahead;

typedef struct pz_tuner {
  const pz_compile_options *options;
  pz_objects *objects;     /* for kernels of candidates; or NULL */
  pz_effort asked, effort; /* effort: what is left of it where this machine cannot measure */
  pz_tuning *database;     /* NULL: nothing is found and kept but in `times` */
  pz_target target;        /* of all plans: that of one may have lost its tiles (pz_plan_spare_tiles) */
  pz_tuning_key key;       /* its hash and problem are set for each look-up */
  char cpu[PZ_TUNING_CPU_TEXT], compiler[PZ_COMPILER_TEXT];
  json_t *times;         /* {hash of a problem: {candidate: seconds}}; below zero: noisy */
  pz_json json;          /* of `times`: what is not known there because memory was short must not choose */
  const pz_graph *graph; /* of the last plan, and its digits (tuner.c) */
  char network[PZ_DIGEST_TEXT];
  void (*tell)(void *host, const char *what);
  void *tell_host;
  int32_t problems, measured, candidates; /* distinct ones; of them measured now; with so many candidates */
  pz_tuner_ahead ahead;
  int32_t left;         /* distinct ones for which the budget did not suffice, or that are noisy */
  int32_t tried;        /* layers whose candidates were timed in the network */
  double seconds;       /* spent on measuring problems */
  int32_t noisy;        /* of the candidates and those that were tried: with noisy times */
  double budget, spent; /* seconds: of all measuring (INFINITY: no bound), and of them gone */
  double slowness;      /* of compiling kernels, beside what is expected of a quiet machine; 0: not known */
  bool trusting;        /* $PZNET_ASSUME_QUIET: no time is called noisy */
  bool paced;           /* that was seen of kernels */
  pz_cost_model fitted; /* that is kept beside the database for this CPU */
  const char *costs;    /* whose the factors of costs are: "fitted", "core", "default" */
  char note[512];       /* one line: why something was not measured or not kept; "" */
} pz_tuner;

/* What a measurement is of: a problem of a plan, or (`where` not "") one in its network. */
typedef struct pz_tuner_problem {
  char hash[PZ_DIGEST_TEXT], text[PZ_TUNING_MOST_PROBLEM + 1];
} pz_tuner_problem;
pz_status pz_tuner_name(const pz_tuner *tuner, const pz_plan *plan, pz_node_id node, const char *where,
                        pz_tuner_problem *problem, pz_error *err);

/* Opens the database, to write where `measures`, and gives the target of `wanted` the cost model that was fitted for this CPU; both must outlive plans. What stops it ends in the note, and the estimate is left; only wrong usage,
 * an interrupt and missing memory are failures. Close it in any case. */
pz_status pz_tuner_open(pz_tuner *tuner, const pz_compile_options *options, pz_plan_options *wanted,
                        bool measures, pz_error *err);
void pz_tuner_close(pz_tuner *tuner);

/* A pz_choose; host is the tuner. By time, where all that the effort asks for have one; else by cost. */
int32_t pz_tuner_choose(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *candidates,
                        int32_t n);
/* True where the effort asks for a time of candidate i of n; the target is the plan's. */
bool pz_tuner_wants(pz_effort effort, const pz_target *target, const pz_candidate *candidates, int32_t n,
                    int32_t i);
/* How many of them it asks for, and whether all have times. */
int32_t pz_tuner_count(pz_effort effort, const pz_target *target, const pz_candidate *candidates, int32_t n,
                       bool *complete);

/* Times the candidates of the problems of the plan that have no times yet, or noisy ones, as far as `left` seconds of the budget go (INFINITY: all of
 * it); tuner->tell hears of it (measure.c). What was measured is in the database, and the tuner chooses by it from then on: tuner->measured is then
 * not 0, and a new plan may be better. To go on later is to call it again, in this process or another. Fails only when interrupted. */
pz_status pz_tuner_measure(pz_tuner *tuner, const pz_plan *plan, double left, pz_error *err);
/* A noisy time takes no quiet one's place. */
void pz_tuner_keep(pz_tuner *tuner, const pz_tuner_problem *problem, const char *candidate, double seconds,
                   bool noisy);
/* What is known that a candidate takes; 0: nothing. */
double pz_tuner_seconds(pz_tuner *tuner, const pz_tuner_problem *problem, const char *candidate, bool *noisy);

/* Seconds that measuring will still take, budget aside. */
double pz_tuner_ahead_left(const pz_tuner *tuner, double now);

/* ---- the budget ---- */

double pz_tuner_left(const pz_tuner *tuner);
/* What was begun at `start` (pz_now) has been paid. */
void pz_tuner_spend(pz_tuner *tuner, double start);
/* Seconds that compiling so many new kernels is expected to take, by what it took before; and what it took, where so many were compiled. */
double pz_tuner_compiling(const pz_tuner *tuner, int32_t kernels);
void pz_tuner_compiled(pz_tuner *tuner, int64_t kernels, double seconds);

/* An end for the C compilers of a pz_emit_options: `stop` is set at `end`, or when the user interrupts. The tick and interrupt that the options have are
 * asked still. Where compiling ends with PZ_INTERRUPTED it was the end if pz_deadline_passed. */
typedef struct pz_deadline {
  double end;
  const volatile int *interrupt;
  void (*tick)(void *host);
  void *host;
  volatile int stop;
} pz_deadline;
void pz_deadline_use(pz_deadline *deadline, double end, pz_emit_options *emit);
bool pz_deadline_passed(const pz_deadline *deadline);

/* What a node's candidates took in the plan's network (autotune.h): whether any has such a time that is not noisy; a time, into the database where `stored`; none, as
 * far as the tuner remembers. */
bool pz_tuner_tried(pz_tuner *tuner, const pz_plan *plan, pz_node_id node);
void pz_tuner_keep_tried(pz_tuner *tuner, const pz_plan *plan, pz_node_id node, const char *candidate,
                         double seconds, bool noisy, bool stored);
void pz_tuner_forget_tried(pz_tuner *tuner, const pz_plan *plan, pz_node_id node);
void pz_tuner_note(pz_tuner *tuner, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "tuning" of a summary; NULL when out of memory. */
json_t *pz_tuner_json(pz_json *j, const pz_tuner *tuner);

#endif
