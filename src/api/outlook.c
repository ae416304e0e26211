#include "api/outlook.h"
#include "base/clock.h"
#include "base/cpu.h"

#include <math.h>

/* Seconds on the machine that compile_costs.inc was made on. Weights are packed, written, linked, copied, digested. */
#define WRITING_STEP   0.001 /* each step's C */
#define WRITING_RATE   1.0e9 /* bytes of weights a second */
#define LINKING        0.05
#define LINKING_RATE   0.4e9
#define SELF_TEST      0.05 /* beside linking again and two runs */
#define SELF_TEST_RATE 0.4e9
/* Of what is left of a budget when the network is made: for errors, and for candidates in the network. Without one: seconds, beside compiling a part of
 * the kernels again. */
#define BUDGET_FOR_ERRORS 0.4
#define BUDGET_FOR_TRYING 0.4
#define RUNS_FOR_TRYING   60
#define AGAIN             0.3

const char *pz_outlook_name(pz_outlook_part part) {
  static const char *const names[] = {"measuring",        "writing C",
                                      "compiling C",      "linking",
                                      "measuring errors", "trying candidates in the network",
                                      "self-test",        "done"};
  return names[part];
}

void pz_outlook_begin(pz_outlook *o, const pz_tuner *tuner, pz_progress progress, void *host, double start) {
  o->tuner = tuner;
  pz_forecast_begin(&o->forecast, progress, host, start);
  for (int part = 0; part <= PZ_PART_DONE; part++) pz_forecast_add(&o->forecast, 0);
}

/* ---- what parts take ---- */

/* Multiply-adds of the direct algorithm a second of a thread, two thirds of what Symmetric was seen to do (295, 283, 188 and 73 G); ResNet-50 does a quarter of
 * it on AMX. Of NEON, which nobody has measured: as of SSE4.2, whose vectors are as wide. */
static double run_rate(const pz_plan *plan) {
  static const double rates[PZ_ISA_COUNT] = {[PZ_ISA_AMX] = 200e9,
                                             [PZ_ISA_AVX512] = 190e9,
                                             [PZ_ISA_AVX2] = 125e9,
                                             [PZ_ISA_SSE4] = 50e9,
                                             [PZ_ISA_NEON] = 50e9};
  return rates[pz_target_isa(&plan->target)];
}

/* Of a run: by times that are known, else by what there is to do. */
static double run_seconds(const pz_plan *plan) {
  double known = 0, of_known = 0;
  const int workers = pz_cpu_usable();
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    const pz_candidate *c = plan->choices[n].n > 1 ? pz_plan_candidate(plan, n) : NULL;
    if (!c || c->seconds <= 0) continue;
    known += c->seconds, of_known += pz_node_multiply_adds(plan->graph, &plan->graph->nodes[n]);
  }
  return known + fmax(plan->multiply_adds - of_known, 0) / (run_rate(plan) * workers);
}

static int32_t layers_with_choice(const pz_plan *plan) {
  int32_t n = 0;
  for (pz_node_id i = 0; i < plan->graph->n_nodes; i++) n += plan->choices[i].n > 1;
  return n;
}

/* A budget is for measuring first. */
static double left_behind_measuring(const pz_outlook *o, double measuring) {
  return fmax(pz_tuner_left(o->tuner) - measuring, 0);
}

static bool measures(const pz_outlook *o, const pz_plan *plan) {
  return o->tuner->effort != PZ_EFFORT_ESTIMATE && pz_target_runs_here(&plan->target);
}

/* On this machine beside what else it does, as compilers of measuring have found it. */
static double kernels_seconds(const pz_outlook *o) {
  const pz_compile_work *seen = &o->tuner->ahead.work;
  return o->costs * pz_compile_work_pace(seen) / pz_compile_work_share(seen, pz_now()) / pz_cpu_usable();
}

static void look_at_parts(pz_outlook *o) {
  const pz_plan *plan = o->plan;
  const double weights = (double)plan->weight_bytes, run = run_seconds(plan),
               linking = LINKING + weights / LINKING_RATE, kernels = kernels_seconds(o),
               measuring = fmin(o->tuner->ahead.foreseen, pz_tuner_left(o->tuner)),
               left = left_behind_measuring(o, measuring);
  const bool bounded = isfinite(o->tuner->budget);
  const double errors = run * (1 + layers_with_choice(plan)) + AGAIN * kernels + linking,
               trying = RUNS_FOR_TRYING * run + 2 * AGAIN * kernels + 2 * linking;
  const double seconds[] = {
      [PZ_PART_MEASURING] = measuring,
      [PZ_PART_WRITING] = WRITING_STEP * plan->n_steps + weights / WRITING_RATE,
      [PZ_PART_KERNELS] = kernels,
      [PZ_PART_LINKING] = linking,
      [PZ_PART_ERRORS] = bounded ? fmin(BUDGET_FOR_ERRORS * left, errors) : errors,
      [PZ_PART_TRYING] = bounded ? fmin(BUDGET_FOR_TRYING * left, trying) : trying,
      [PZ_PART_SELF_TEST] = SELF_TEST + 2 * run + linking + weights / SELF_TEST_RATE,
  };
  for (int part = 0; part < PZ_PART_DONE; part++) {
    const bool asked =
        measures(o, plan) || (part != PZ_PART_MEASURING && part != PZ_PART_ERRORS && part != PZ_PART_TRYING);
    if (part > o->forecast.now) pz_forecast_expect(&o->forecast, part, asked ? seconds[part] : 0);
  }
}

void pz_outlook_plan(pz_outlook *o, const pz_plan *plan, double costs) {
  o->plan = plan, o->costs = costs;
  look_at_parts(o);
}

/* ---- telling ---- */

/* No longer than the budget goes, of which a part's seconds are gone when it is over. */
static void bound(pz_outlook *o) {
  const int part = o->forecast.now;
  if (part == PZ_PART_MEASURING || part == PZ_PART_ERRORS || part == PZ_PART_TRYING)
    pz_forecast_bound(&o->forecast, o->forecast.parts[part].begun + pz_tuner_left(o->tuner));
}

static void say_of_measuring(pz_outlook *o, double now) {
  const pz_tuner *t = o->tuner;
  if (o->plan) look_at_parts(o);
  pz_forecast_say(&o->forecast, pz_tuner_ahead_left(t, now), now);
}

void pz_outlook_tell(pz_outlook *o, pz_outlook_part part, const char *what) {
  const double now = pz_now();
  const int before = o->forecast.now;
  if ((int)part > before) pz_forecast_enter(&o->forecast, (int)part, now);
  if (part == PZ_PART_WRITING && before < PZ_PART_WRITING)
    o->work.pace = pz_compile_work_pace(&o->tuner->ahead.work);
  if (o->forecast.now == PZ_PART_MEASURING) say_of_measuring(o, now);
  if (o->forecast.now == PZ_PART_KERNELS && o->work.n)
    pz_forecast_say(&o->forecast, pz_compile_work_left(&o->work, now), now);
  bound(o);
  pz_forecast_tell(&o->forecast, what ? what : pz_outlook_name(part), o->forecast.now, PZ_PART_DONE, now);
}
