/* What paired times say, what is measured first, and which times choose. But for the load of a core no clock is asked: times are made up. */
#include "api/rounds.h"
#include "base/clock.h"
#include "api/tuner.h"
#include "api/watch.h"
#include "api/worth.h"
#include "plan/solver.h"
#include "planner/planner.h"

#include <ftw.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- rounds ---- */

typedef struct fixture {
  pz_arena *arena;
  pz_rounds rounds;
  uint64_t random;
} fixture;

static fixture begin(int32_t n) {
  fixture f = {.arena = pz_arena_new(), .random = 7};
  assert_non_null(f.arena);
  assert_true(pz_rounds_new(f.arena, n, 100, false, &f.rounds));
  return f;
}

/* A round: what each takes, all of it times `pace`, within half a per cent. */
static void add_round(fixture *f, const double *seconds, double pace, const bool *disturbed) {
  for (int32_t c = 0; c < f->rounds.n; c++)
    pz_rounds_set(&f->rounds, c, seconds[c] * pace * (1 + 0.005 * (double)pz_next_uniform(&f->random)),
                  disturbed && disturbed[c]);
  f->rounds.rounds++;
}

static void assert_about(double is, double expected, double part) {
  if (fabs(is / expected - 1) > part) fail_msg("%g, expected %g", is, expected);
}

static void quiet_rounds(void **state) {
  (void)state;
  fixture f = begin(3);
  const double seconds[] = {1, 0.9, 1.3};
  for (int r = 0; r < 2; r++) add_round(&f, seconds, 1, NULL);
  pz_rounds_judge(&f.rounds);
  assert_false(f.rounds.decided); /* two are too few */
  assert_true(f.rounds.noisy);
  for (int r = 0; r < 6; r++) add_round(&f, seconds, 1, NULL);
  pz_rounds_judge(&f.rounds);
  assert_true(f.rounds.decided && !f.rounds.noisy);
  for (int c = 0; c < 3; c++) assert_about(f.rounds.times[c].seconds, seconds[c], 0.01);
  pz_arena_free(f.arena);
}

static void alike_is_decided_too(void **state) {
  (void)state;
  fixture f = begin(2);
  for (int r = 0; r < 20; r++) add_round(&f, (const double[]){1, 1.004}, 1, NULL);
  pz_rounds_judge(&f.rounds);
  assert_true(f.rounds.decided && !f.rounds.noisy);
  pz_arena_free(f.arena);
}

/* 3% apart, and each round 10% off by itself. */
static void what_noise_hides_is_not_decided(void **state) {
  (void)state;
  fixture f = begin(2);
  for (int r = 0; r < 10; r++) add_round(&f, (const double[]){1, 1.03 * (r % 2 ? 1.1 : 0.9)}, 1, NULL);
  pz_rounds_judge(&f.rounds);
  assert_true(!f.rounds.decided && f.rounds.noisy && f.rounds.times[1].noisy);
  f.rounds.trusting = true;
  pz_rounds_judge(&f.rounds);
  assert_false(f.rounds.noisy || f.rounds.times[1].noisy);
  pz_arena_free(f.arena);
}

static void a_pace_that_changes_cancels(void **state) {
  (void)state;
  fixture f = begin(3);
  const double seconds[] = {1, 0.95, 1.05};
  for (int r = 0; r < 12; r++) add_round(&f, seconds, r < 9 ? 1 : 1.6, NULL);
  pz_rounds_judge(&f.rounds);
  assert_true(f.rounds.decided);
  for (int c = 0; c < 3; c++) assert_about(f.rounds.times[c].seconds, seconds[c], 0.01);
  pz_arena_free(f.arena);
}

static void disturbed_rounds_do_not_count(void **state) {
  (void)state;
  fixture f = begin(2);
  for (int r = 0; r < 20; r++) {
    const bool disturbed[] = {r % 3 == 0, r % 3 == 1};
    add_round(&f, (const double[]){disturbed[0] ? 2 : 1, disturbed[1] ? 3 : 1.1}, 1, disturbed);
  }
  pz_rounds_judge(&f.rounds);
  assert_true(f.rounds.decided && !f.rounds.noisy);
  assert_about(f.rounds.times[0].seconds, 1, 0.01);
  assert_about(f.rounds.times[1].seconds, 1.1, 0.01);
  pz_arena_free(f.arena);
}

/* No round leaves both alone, but some leave each: then their own times count. */
static void own_times_where_no_pair_is_left(void **state) {
  (void)state;
  fixture f = begin(2);
  for (int r = 0; r < 20; r++) {
    const bool disturbed[] = {r % 2 == 0, r % 2 == 1};
    add_round(&f, (const double[]){disturbed[0] ? 2 : 1, disturbed[1] ? 3 : 1.1}, 1, disturbed);
  }
  pz_rounds_judge(&f.rounds);
  assert_false(f.rounds.noisy);
  assert_about(f.rounds.times[1].seconds, 1.1, 0.01);
  pz_arena_free(f.arena);
}

static void all_disturbed_is_noisy_and_has_ratios(void **state) {
  (void)state;
  fixture f = begin(2);
  const bool disturbed[] = {true, true};
  for (int r = 0; r < 40; r++) add_round(&f, (const double[]){1, 1.5}, 1 + (r * 7 % 10) / 5.0, disturbed);
  pz_rounds_judge(&f.rounds);
  assert_true(!f.rounds.decided && f.rounds.times[0].noisy && f.rounds.times[1].noisy);
  assert_about(f.rounds.times[1].seconds / f.rounds.times[0].seconds, 1.5, 0.01);
  pz_arena_free(f.arena);
}

/* Three times as long, give or take a tenth: it will not be chosen. */
static void what_is_far_need_not_be_sure(void **state) {
  (void)state;
  fixture f = begin(2);
  for (int r = 0; r < 6; r++) add_round(&f, (const double[]){1, r % 2 ? 2.7 : 3.3}, 1, NULL);
  pz_rounds_judge(&f.rounds);
  assert_false(f.rounds.times[1].noisy);
  pz_arena_free(f.arena);
}

static void no_more_rounds_than_there_is_room_for(void **state) {
  (void)state;
  fixture f = begin(2);
  assert_int_equal(f.rounds.most, 100);
  for (int r = 0; r < 100; r++) add_round(&f, (const double[]){1, 2}, 1, NULL);
  pz_rounds_set(&f.rounds, 1, 1e9, false);
  pz_rounds_judge(&f.rounds);
  assert_about(f.rounds.times[1].seconds, 2, 0.01);
  pz_arena_free(f.arena);
}

/* ---- what is measured first ---- */

static const pz_solver solvers[] = {{.name = "1", .family = PZ_FAMILY_winograd},
                                    {.name = "2", .family = PZ_FAMILY_direct}};
static const pz_solver *const one = &solvers[0], *const other = &solvers[1];
static const pz_target target = {.block = 16};

static void the_leading_are_near_or_of_other_solvers(void **state) {
  (void)state;
  const pz_candidate c[] = {{.solver = one, .cost = 1},      {.solver = one, .cost = 1.03},
                            {.solver = one, .cost = 1.2},    {.solver = other, .cost = 1.25},
                            {.solver = other, .cost = 1.28}, {.solver = other, .cost = 3}};
  const bool leads[] = {true, false, false, true, true, false};
  for (int i = 0; i < 6; i++) assert_int_equal(pz_worth_leads(&target, c, 6, i), leads[i]);
  for (int i = 0; i < 3; i++) assert_int_equal(pz_worth_leads(&target, c, 3, i), i < 2);
  assert_false(pz_worth_leads(&target, c, 1, 0)); /* nothing to choose */
  assert_true(pz_worth_of(&target, c, 1) > pz_worth_of(&target, c, 2));
  assert_true(pz_worth_of(&target, c, 3) > pz_worth_of(&target, c, 2)); /* the model is less sure */
  assert_true(pz_worth_of(&target, c, 5) < 0.001);
  const pz_candidate far[] = {{.solver = one, .cost = 1}, {.solver = other, .cost = 2}};
  assert_false(pz_worth_leads(&target, far, 2, 0) || pz_worth_leads(&target, far, 2, 1));
  const pz_candidate free[] = {{.solver = one, .cost = 0}, {.solver = other, .cost = 0}};
  assert_false(pz_worth_leads(&target, free, 2, 0) || pz_worth_leads(&target, free, 2, 1));
}

static void equals_are_told_apart(void **state) {
  (void)state;
  const pz_candidate c[] = {{.solver = one, .cost = 1},
                            {.solver = one, .cost = 1},
                            {.solver = one, .cost = 1},
                            {.solver = one, .cost = 1},
                            {.solver = one, .cost = 1}};
  int32_t leading = 0;
  for (int i = 0; i < 5; i++) leading += pz_worth_leads(&target, c, 5, i);
  assert_int_equal(leading, PZ_WORTH_MOST);
}

/* A fit says how far costs are off: where it is sure nothing else is worth measuring. */
static void what_is_sure_leads_alone(void **state) {
  (void)state;
  const pz_candidate c[] = {{.solver = one, .cost = 1}, {.solver = other, .cost = 1.25}};
  pz_cost_model fitted = *pz_cost_model_default();
  const pz_target sure = {.block = 16, .fitted = &fitted};
  fitted.block = 16;
  assert_true(pz_worth_of(&sure, c, 1) == pz_worth_of(&target, c, 1));
  fitted.error[PZ_FAMILY_winograd] = fitted.error[PZ_FAMILY_direct] = 0.05;
  assert_false(pz_worth_leads(&sure, c, 2, 0) || pz_worth_leads(&sure, c, 2, 1));
  fitted.error[PZ_FAMILY_direct] = 0.5;
  assert_true(pz_worth_of(&sure, c, 1) > pz_worth_of(&target, c, 1));
  fitted.error[PZ_FAMILY_winograd] = fitted.error[PZ_FAMILY_direct] = 0; /* of a damaged file, say */
  assert_true(pz_worth_of(&sure, c, 1) >= 0);
}

/* ---- the budget ---- */

static void compiling_is_foreseen_by_what_it_took(void **state) {
  (void)state;
  pz_tuner t = {.budget = 10};
  const double guess = pz_tuner_compiling(&t, 10);
  assert_true(guess > 0 && guess < pz_tuner_compiling(&t, 20));
  pz_tuner_compiled(&t, 10, 3 * guess);
  assert_true(t.paced);
  assert_about(pz_tuner_compiling(&t, 10), 3 * guess, 1e-6);
  pz_tuner_compiled(&t, 0, 1); /* all were there: that tells nothing of others */
  assert_about(pz_tuner_compiling(&t, 10), 3 * guess, 1e-6);
  assert_true(pz_tuner_left(&t) == 10);
  t.spent = 11;
  assert_true(pz_tuner_left(&t) == 0);
}

static void deadlines_stop_compilers(void **state) {
  (void)state;
  volatile int interrupt = 0;
  pz_emit_options emit = {.interrupt = &interrupt};
  pz_deadline d;
  pz_deadline_use(&d, INFINITY, &emit);
  emit.tick(emit.tick_host);
  assert_false(*emit.interrupt || pz_deadline_passed(&d));
  d.end = pz_now() - 1;
  emit.tick(emit.tick_host);
  assert_true(*emit.interrupt && pz_deadline_passed(&d));
  interrupt = 1; /* then it was the user */
  assert_false(pz_deadline_passed(&d));
}

/* ---- other work ---- */

/* The other process goes on until it is told: whatever else runs, half of the core is the most that is left. */
static void a_core_that_another_wants_is_seen(void **state) {
  (void)state;
  cpu_set_t all, one_core;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  int core = 0;
  while (!CPU_ISSET(core, &all)) core++;
  CPU_ZERO(&one_core);
  CPU_SET(core, &one_core);
  assert_int_equal(sched_setaffinity(0, sizeof one_core, &one_core), 0);
  const pid_t busy = fork();
  if (!busy)
    for (volatile int i = 0;; i = 1 - i) {}
  assert_true(busy > 0);
  double most = 0;
  for (int i = 0; i < 20 && most < 1.3; i++) most = fmax(most, pz_watch_load());
  kill(busy, SIGKILL);
  assert_int_equal(waitpid(busy, NULL, 0), busy);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_true(most >= 1.3);
}

/* ---- which times choose ---- */

static char folder[] = "/tmp/pznet-measuring-XXXXXX";

static int drop(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info, (void)type, (void)walk;
  return remove(path);
}

typedef struct chosen {
  pz_graph *graph;
  pz_plan *plan;
  pz_plan_options wanted;
  pz_compile_options options;
  pz_tuner tuner;
  pz_tuner_problem problem;
  char database[64];
} chosen;

static void plan_again(chosen *f) {
  pz_error err = {0};
  pz_plan_free(f->plan);
  if (pz_plan_new(f->graph, &f->wanted, &f->plan, &err) != PZ_OK) fail_msg("%s", err.message);
}

/* A convolution with candidates of which several lead. */
static void begin_choice(chosen *f) {
  static const char text[] =
      "graph \"test\"\ninput %x 1x32x16x64x64\nconst %w 32x32x3x3x3 = seed 1 scale 0.05\n"
      "const %v 32x32x3x3x3 = seed 2 scale 0.05\n"
      "%a = conv \"first\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
      "%y = conv \"second\" %a, %v kernel 3,3,3 pad 1,1,1:1,1,1\noutput %y\n";
  pz_error err = {0};
  snprintf(f->database, sizeof f->database, "%s/d", folder);
  f->options = (pz_compile_options){.tuning = f->database, .effort = "measure", .isa = "avx2", .threads = 1};
  if (pz_graph_parse(text, strlen(text), "test", &f->graph, &err) != PZ_OK ||
      pz_plan_wanted(&f->options, &f->wanted, &err) != PZ_OK ||
      pz_tuner_open(&f->tuner, &f->options, &f->wanted, true, &err) != PZ_OK)
    fail_msg("%s", err.message);
  f->wanted.choose = pz_tuner_choose, f->wanted.choose_host = &f->tuner;
  f->wanted.max_error = 1e-2;
  plan_again(f);
  if (pz_tuner_name(&f->tuner, f->plan, 1, "", &f->problem, &err) != PZ_OK) fail_msg("%s", err.message);
}
static void end_choice(chosen *f) {
  pz_plan_free(f->plan);
  pz_graph_free(f->graph);
  pz_tuner_close(&f->tuner);
  remove(f->database);
}

/* The first takes a second, the last that leads `seconds`, others twice as long. Its number. */
static int32_t tell(chosen *f, double seconds, bool noisy) {
  const pz_choice *c = &f->plan->choices[1];
  int32_t last = 0;
  for (int32_t i = 0; i < c->n; i++)
    if (pz_worth_leads(&f->plan->target, c->candidates, c->n, i)) last = i;
  assert_true(last > 0);
  for (int32_t i = 0; i <= last; i++)
    if (pz_worth_leads(&f->plan->target, c->candidates, c->n, i))
      pz_tuner_keep(&f->tuner, &f->problem, c->candidates[i].label, i == last ? seconds : i ? 2 : 1, noisy);
  plan_again(f);
  return last;
}
static int32_t choice_of(const chosen *f) { return f->plan->choices[1].chosen; }

static void noisy_times_choose_where_they_are_clear(void **state) {
  (void)state;
  chosen f = {.graph = NULL};
  begin_choice(&f);
  const int32_t by_cost = choice_of(&f), last = tell(&f, 0.95, true);
  assert_int_equal(choice_of(&f), by_cost);
  assert_true(f.plan->choices[1].candidates[last].noisy);
  tell(&f, 0.5, true);
  assert_int_equal(choice_of(&f), last);
  tell(&f, 0.94, false); /* a quiet one takes their place, */
  assert_int_equal(choice_of(&f), last);
  tell(&f, 3, true); /* and no noisy one takes its */
  assert_int_equal(choice_of(&f), last);
  bool noisy = true;
  const char *label = f.plan->choices[1].candidates[last].label;
  assert_true(pz_tuner_seconds(&f.tuner, &f.problem, label, &noisy) == 0.94 && !noisy);
  json_object_clear(f.tuner.times); /* so it is in the database too */
  assert_true(pz_tuner_seconds(&f.tuner, &f.problem, label, &noisy) == 0.94 && !noisy);
  end_choice(&f);
}

static void some_times_do_not_choose(void **state) {
  (void)state;
  chosen f = {.graph = NULL};
  begin_choice(&f);
  const pz_choice *c = &f.plan->choices[1];
  const int32_t by_cost = choice_of(&f);
  for (int32_t i = c->n - 1; i > 0; i--)
    if (pz_worth_leads(&f.plan->target, c->candidates, c->n, i)) {
      pz_tuner_keep(&f.tuner, &f.problem, c->candidates[i].label, 1e-3, false);
      break;
    }
  plan_again(&f);
  assert_int_equal(choice_of(&f), by_cost);
  end_choice(&f);
}

static int make_folder(void **state) {
  (void)state;
  return !mkdtemp(folder);
}
static int remove_folder(void **state) {
  (void)state;
  return nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quiet_rounds),
      cmocka_unit_test(alike_is_decided_too),
      cmocka_unit_test(what_noise_hides_is_not_decided),
      cmocka_unit_test(a_pace_that_changes_cancels),
      cmocka_unit_test(disturbed_rounds_do_not_count),
      cmocka_unit_test(own_times_where_no_pair_is_left),
      cmocka_unit_test(all_disturbed_is_noisy_and_has_ratios),
      cmocka_unit_test(what_is_far_need_not_be_sure),
      cmocka_unit_test(no_more_rounds_than_there_is_room_for),
      cmocka_unit_test(the_leading_are_near_or_of_other_solvers),
      cmocka_unit_test(equals_are_told_apart),
      cmocka_unit_test(what_is_sure_leads_alone),
      cmocka_unit_test(compiling_is_foreseen_by_what_it_took),
      cmocka_unit_test(deadlines_stop_compilers),
      cmocka_unit_test(a_core_that_another_wants_is_seen),
      cmocka_unit_test(noisy_times_choose_where_they_are_clear),
      cmocka_unit_test(some_times_do_not_choose),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
