/* Times left of synthetic works, on a clock of the test's own: what is shown from a tenth of the way on, against what it then was. */
#include "base/forecast.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ALLOWED                                                                                              \
  0.2 /* of what is left, from a tenth of the way on (issue: "a time left that is true within 20%") */
#define TICK 0.1

/* What a work does: parts, each with units that take so long. */
typedef struct piece {
  double expected; /* what is said of it */
  int64_t units, skipped;
  double first, each; /* seconds of the first unit, of the others */
  double wave;        /* others differ by so much of it, up and down */
} piece;

static double seconds_of(const piece *p, int64_t unit) {
  if (unit == 0) return p->first;
  return p->each * (1 + p->wave * (unit % 2 ? 1 : -1));
}

static double length_of(const piece *p) {
  double all = 0;
  for (int64_t i = 0; i < p->units - p->skipped; i++) all += seconds_of(p, i);
  return all;
}

/* The worst deviation, of what is left, while that is shown and more than `least` seconds; *late: the share of the way at which it was shown first. */
static double worst_of(const piece *pieces, int n, double least, double *late) {
  pz_forecast f;
  double now = 100, whole = 0, worst = 0, at = 0;
  pz_forecast_begin(&f, NULL, NULL, now);
  *late = 1;
  for (int i = 0; i < n; i++) pz_forecast_add(&f, pieces[i].expected), whole += length_of(&pieces[i]);
  for (int i = 0; i < n; i++) {
    pz_forecast_enter(&f, i, now + at);
    pz_forecast_skip(&f, pieces[i].skipped);
    for (int64_t k = 0; k < pieces[i].units - pieces[i].skipped; k++) {
      const double until = at + seconds_of(&pieces[i], k);
      for (; at < until; at = fmin(at + TICK, until)) {
        const double shown = pz_forecast_shown(&f, now + at), left = whole - at;
        if (shown >= 0) *late = fmin(*late, at / whole);
        if (shown >= 0 && left > least && at >= 0.1 * whole) worst = fmax(worst, fabs(shown - left) / left);
      }
      pz_forecast_count(&f, pieces[i].skipped + k + 1, pieces[i].units, now + at);
    }
  }
  return worst;
}

static void knows_equal_units(void **state) {
  (void)state;
  double late;
  const piece patches[] = {{.expected = -1, .units = 40, .first = 1, .each = 1}};
  assert_true(worst_of(patches, 1, 2, &late) < 0.01);
  assert_true(late > 0.09 && late < 0.15);
}

static void a_slow_first_unit_does_not_count(void **state) {
  (void)state;
  double late;
  const piece patches[] = {{.expected = -1, .units = 60, .first = 3, .each = 1}};
  assert_true(worst_of(patches, 1, 2, &late) < ALLOWED);
}

static void uneven_units_are_averaged(void **state) {
  (void)state;
  double late;
  const piece patches[] = {{.expected = -1, .units = 50, .first = 1, .each = 1, .wave = 0.5}};
  assert_true(worst_of(patches, 1, 5, &late) < ALLOWED);
}

/* As a run that is resumed: nine tenths were there. */
static void what_was_there_before_does_not_count(void **state) {
  (void)state;
  double late;
  const piece patches[] = {{.expected = -1, .units = 400, .skipped = 360, .first = 1, .each = 1}};
  assert_true(worst_of(patches, 1, 2, &late) < 0.01);
  assert_true(late < 0.15);
}

static void later_parts_count(void **state) {
  (void)state;
  double late;
  const piece infer[] = {{.expected = 2, .units = 10, .first = 0.2, .each = 0.2},
                         {.expected = -1, .units = 40, .first = 1, .each = 1},
                         {.expected = 8, .units = 100, .first = 0.08, .each = 0.08}};
  assert_true(worst_of(infer, 3, 1, &late) < ALLOWED);
}

/* Its own seconds are what is wrong, and of what is left a small share until it comes. */
static void a_wrong_expectation_is_mended(void **state) {
  (void)state;
  double late;
  const piece parts[] = {{.expected = 5, .units = 100, .first = 0.1, .each = 0.1},
                         {.expected = 1, .units = 20, .first = 0.1, .each = 0.1}};
  assert_true(worst_of(parts, 2, 6, &late) < ALLOWED);
}

static void nothing_is_shown_that_is_not_known(void **state) {
  (void)state;
  pz_forecast f;
  pz_forecast_begin(&f, NULL, NULL, 0);
  assert_true(pz_forecast_left(&f, 0) <= 0);
  const int first = pz_forecast_add(&f, 1), second = pz_forecast_add(&f, -1);
  pz_forecast_enter(&f, first, 0);
  assert_true(pz_forecast_left(&f, 0.5) < 0);
  pz_forecast_expect(&f, second, 9);
  assert_true(fabs(pz_forecast_left(&f, 0.5) - 9.5) < 1e-9);
  assert_true(pz_forecast_shown(&f, 0.5) < 0); /* a twentieth has passed */
  assert_true(fabs(pz_forecast_shown(&f, 0.999) - 9.001) < 0.1 || pz_forecast_shown(&f, 0.999) < 0);
  pz_forecast_enter(&f, second, 2);
  assert_true(fabs(pz_forecast_shown(&f, 2) - 9) < 1e-9);
  assert_true(pz_forecast_shown(&f, 50) > 0); /* it should be over, and is not */
  pz_forecast_bound(&f, 51);
  assert_true(fabs(pz_forecast_shown(&f, 50.5) - 0.5) < 1e-9);
  pz_forecast_bound(&f, 1000);
  pz_forecast_say(&f, 3, 50);
  assert_true(fabs(pz_forecast_shown(&f, 51) - 2) < 1e-9);
  assert_true(pz_forecast_shown(&f, 60) >= 0);
}

static void hear(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  double *heard = host;
  (void)what;
  assert_true(done == 1 && total == 2 && seconds > 0);
  *heard = pz_progress_left();
}

static void the_host_is_told(void **state) {
  (void)state;
  pz_forecast f;
  double heard = 0;
  pz_forecast_begin(&f, hear, &heard, 0);
  pz_forecast_enter(&f, pz_forecast_add(&f, 10), 0);
  pz_forecast_tell(&f, "", 1, 2, 0.5);
  assert_true(heard < 0);
  pz_forecast_tell(&f, "", 1, 2, 5);
  assert_true(fabs(heard - 5) < 1e-9);
  assert_true(pz_progress_left() < 0);
}

/* A host that tells of other work, and asks in another thread. */
static void *ask(void *left) {
  *(double *)left = pz_progress_left();
  return NULL;
}
static void hear_and_tell(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  double inner = 0, elsewhere = 0, *heard = host;
  pz_forecast f;
  pthread_t other;
  (void)what, (void)done, (void)total, (void)seconds;
  pz_forecast_begin(&f, hear, &inner, 0);
  pz_forecast_enter(&f, pz_forecast_add(&f, 100), 0);
  pz_forecast_tell(&f, "", 1, 2, 50);
  assert_true(fabs(inner - 50) < 1e-9);
  assert_int_equal(pthread_create(&other, NULL, ask, &elsewhere), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
  assert_true(elsewhere < 0);
  *heard = pz_progress_left();
}

static void each_thread_is_told_of_its_innermost_work(void **state) {
  (void)state;
  pz_forecast f;
  double heard = 0;
  pz_forecast_begin(&f, hear_and_tell, &heard, 0);
  pz_forecast_enter(&f, pz_forecast_add(&f, 10), 0);
  pz_forecast_tell(&f, "", 1, 2, 5);
  assert_true(fabs(heard - 5) < 1e-9 && pz_progress_left() < 0);
}

static void too_many_parts_are_the_last_one(void **state) {
  (void)state;
  pz_forecast f;
  pz_forecast_begin(&f, NULL, NULL, 0);
  for (int i = 0; i < 3 * PZ_FORECAST_PARTS; i++) assert_true(pz_forecast_add(&f, 1) < PZ_FORECAST_PARTS);
  assert_true(pz_forecast_left(&f, 0) <= PZ_FORECAST_PARTS);
  pz_forecast_enter(&f, 1000, 0);
  pz_forecast_expect(&f, -3, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_equal_units),
      cmocka_unit_test(a_slow_first_unit_does_not_count),
      cmocka_unit_test(uneven_units_are_averaged),
      cmocka_unit_test(what_was_there_before_does_not_count),
      cmocka_unit_test(later_parts_count),
      cmocka_unit_test(a_wrong_expectation_is_mended),
      cmocka_unit_test(nothing_is_shown_that_is_not_known),
      cmocka_unit_test(the_host_is_told),
      cmocka_unit_test(each_thread_is_told_of_its_innermost_work),
      cmocka_unit_test(too_many_parts_are_the_last_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
