/* What is left while compilers run, on a clock of the test's own: a machine with its own pace and its own load. */
#include "emit/compile_work.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TICK 0.1

/* A machine: how many compilers at a time, what of a processor each gets, and the seconds that an expected one is. */
typedef struct machine {
  int width;
  double share, pace;
} machine;

/* By when all tasks are over; *worst: how far, of what is left, what was told was off while more than `least` seconds were left and a tenth was over. */
static double simulate(pz_compile_work *w, const machine *m, const double *cost, int n, double least,
                       double *worst) {
  static double told[100000];
  double had[PZ_COMPILE_TASKS] = {0}, now = 0;
  int begun = 0, running = 0, over = 0, ticks = 0;
  pz_compile_work_begin(w, m->width);
  for (int i = 0; i < n; i++) pz_compile_work_add(w, cost[i]);
  for (; over < n; now += TICK, ticks++) {
    for (; running < m->width && begun < n; running++) pz_compile_work_start(w, begun++, now);
    told[ticks] = pz_compile_work_left(w, now);
    for (int i = 0; i < begun; i++) {
      if (w->tasks[i].is != PZ_TASK_RUNS) continue;
      had[i] += TICK * m->share;
      if (had[i] < cost[i] * m->pace) pz_compile_work_sample(w, i, had[i]);
      else pz_compile_work_end(w, i, had[i], now + TICK), running--, over++;
    }
  }
  *worst = 0;
  for (int i = 0; i < ticks; i++) {
    const double left = now - TICK * i;
    if (left > least && TICK * i > 0.1 * now) *worst = fmax(*worst, fabs(told[i] - left) / left);
  }
  return now;
}

static const double many[] = {8, 7, 6, 5, 4, 4, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0.5, 0.5, 0.5};
enum { MANY = sizeof many / sizeof *many };

static void a_machine_as_expected(void **state) {
  (void)state;
  for (int width = 1; width <= 8; width *= 2) {
    pz_compile_work w = {.n = 0};
    double worst;
    simulate(&w, &(machine){width, 1, 1}, many, MANY, 2, &worst);
    assert_true(worst < 0.1);
  }
}

static void a_busy_machine(void **state) {
  (void)state;
  for (double share = 0.25; share < 1; share *= 2) {
    pz_compile_work w = {.n = 0};
    double worst;
    simulate(&w, &(machine){2, share, 1}, many, MANY, 2, &worst);
    assert_true(worst < 0.1);
  }
}

/* Until the first have ended it is not known; the next work is told right from the start. */
static void a_slow_machine_is_learned(void **state) {
  (void)state;
  pz_compile_work w = {.n = 0};
  double worst;
  const double all = simulate(&w, &(machine){2, 1, 2}, many, MANY, 2, &worst);
  assert_true(all > 40 && worst < 0.6);
  assert_true(fabs(pz_compile_work_pace(&w) - 2) < 0.1);
  simulate(&w, &(machine){2, 1, 2}, many, MANY, 2, &worst);
  assert_true(worst < 0.1);
}

/* Two long ones side by side, as kernels in two groups: what they have had counts, though none ends. */
static void two_long_tasks(void **state) {
  (void)state;
  pz_compile_work w = {.n = 0};
  double worst;
  simulate(&w, &(machine){2, 0.5, 1.02}, (const double[]){20, 18}, 2, 5, &worst);
  assert_true(worst < 0.2);
}

static void what_takes_longer_than_expected_is_not_over(void **state) {
  (void)state;
  pz_compile_work w = {.n = 0};
  pz_compile_work_begin(&w, 1);
  pz_compile_work_add(&w, 1);
  pz_compile_work_start(&w, 0, 0);
  pz_compile_work_sample(&w, 0, 30);
  assert_true(pz_compile_work_left(&w, 30) > 1);
  pz_compile_work_end(&w, 0, 31, 31);
  assert_true(pz_compile_work_left(&w, 31) <= 0);
}

static void there_may_be_very_many(void **state) {
  (void)state;
  pz_compile_work w = {.n = 0};
  pz_compile_work_begin(&w, 1000);
  for (int i = 0; i < 3 * PZ_COMPILE_TASKS; i++) assert_true(pz_compile_work_add(&w, 1) < PZ_COMPILE_TASKS);
  assert_true(pz_compile_work_left(&w, 0) > 0);
}

static void kinds_have_costs(void **state) {
  (void)state;
  assert_true(pz_compile_cost("pz_winograd", NULL) > pz_compile_cost("pz_border_zero", NULL));
  assert_true(pz_compile_cost("pz_winograd", NULL) > pz_compile_cost("pz_winograd", "pz_winograd"));
  assert_true(pz_compile_cost("pz_winograd", "pz_copy") > pz_compile_cost("pz_winograd", "pz_winograd"));
  assert_true(pz_compile_cost("pz_no_such_kernel", NULL) > 0);
  assert_true(pz_compile_cost_of_some(1, 1) >=
              PZ_COMPILE_COST_OF_FILE + pz_compile_cost("pz_winograd", NULL));
  assert_true(pz_compile_cost_of_some(9, 1) > pz_compile_cost_of_some(9, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_machine_as_expected),
      cmocka_unit_test(a_busy_machine),
      cmocka_unit_test(a_slow_machine_is_learned),
      cmocka_unit_test(two_long_tasks),
      cmocka_unit_test(what_takes_longer_than_expected_is_not_over),
      cmocka_unit_test(there_may_be_very_many),
      cmocka_unit_test(kinds_have_costs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
