/* pz_tune_fit: from a database of made measurements of this CPU to a file of fits, and to what is chosen by it. */
#include "choose/choose.h"
#include "choose/cost_file.h"
#include "fixture.h"
#include "plan/solver.h"
#include "pznet/pznet.h"

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, ALL = 40 };

/* Here direct sums take a twentieth of what they are taken to, so that nothing else is worth it; a convolution of 3 x 3 x 3. */
static pz_cost_model truth(void) {
  pz_cost_model m = *pz_cost_model_default();
  m.factor[PZ_TERM_any_step] = 1000;
  m.factor[PZ_TERM_direct_products] = m.factor[PZ_TERM_direct_nchw] = 0.05;
  return m;
}

static void problem_text(int i, char text[256]) {
  static const int channels[] = {16, 24, 32, 48, 64};
  const int in = channels[i % 5], out = channels[i / 5 % 5], side = 16 + 4 * (i % 7), depth = 4 + 2 * (i % 3);
  snprintf(text, 256,
           "conv 1x%dx%dx%dx%d, %dx%dx3x3x3 weights, %d weights, _, _, _ to 1x%dx%dx%dx%d kernel 3,3,3 pad "
           "1,1,1:1,1,1 act relu bordered",
           in, depth, side, side, out, in, out, out, depth, side, side);
}

static pz_target planned(void) {
  pz_target t = pz_target_host();
  t.block = t.vector_width, t.workers = THREADS;
  return t;
}

/* All candidates of problem i, as a compile would keep them. Noisy ones are ten times too slow. */
static void measure(pz_tuning *t, int i, const char *cpu, const char *solvers, bool noisy) {
  const pz_cost_model model = truth();
  const pz_target target = planned();
  char text[256], hash[PZ_DIGEST_TEXT];
  pz_text whole = {0};
  pz_problem p;
  pz_candidates all;
  pz_error err = {0};
  pz_arena *arena = pz_arena_new();
  problem_text(i, text);
  if (pz_problem_parse(text, arena, &p, &err) != PZ_OK ||
      pz_problem_key(&p, &target, "", &whole, hash, &err) != PZ_OK ||
      pz_candidates_of(&p, &target, arena, &all, &err) != PZ_OK)
    fail_msg("%s", err.message);
  assert_string_equal(whole.data, text);
  for (int32_t k = 0; k < all.n; k++) {
    const pz_query q = {&p, &target, all.list[k].parameters};
    const pz_tuning_key at = {hash, text, cpu, "gcc 12", solvers, THREADS};
    pz_work work;
    pz_candidate_work(all.list[k].solver, &q, &work);
    const double seconds = (noisy ? 1e-9 : 1e-10) * pz_cost_of_work(&model, &work);
    if (pz_tuning_store(t, &at, all.list[k].label, seconds, noisy, &err) != PZ_OK)
      fail_msg("%s", err.message);
  }
  pz_text_free(&whole);
  pz_arena_free(arena);
}

/* Of n problems, and of `noisy` others. */
static void make_noisy_database(int n, int noisy, const char *other_cpu, const char *solvers) {
  char cpu[PZ_TUNING_CPU_TEXT];
  const pz_target target = planned();
  pz_tuning_cpu(pz_target_isa(&target), NULL, cpu);
  pz_tuning *t = open_new("d");
  for (int i = 0; i < n + noisy; i++) measure(t, i, other_cpu ? other_cpu : cpu, solvers, i >= n);
  pz_tuning_close(t);
}
static void make_database(int n, const char *other_cpu, const char *solvers) {
  make_noisy_database(n, 0, other_cpu, solvers);
}

static void refused(const pz_tune_fit_options *o, const char *words) {
  char *json = NULL;
  assert_int_equal(pz_tune_fit("d", o, &json), PZ_ERROR_INPUT);
  assert_null(json);
  if (!strstr(pz_last_message(), words)) fail_msg("'%s' is not in '%s'", words, pz_last_message());
  assert_null(strchr(pz_last_message(), '\n'));
}

static json_t *fitted(const pz_tune_fit_options *o) {
  char *text = NULL;
  if (pz_tune_fit("d", o, &text) != PZ_OK) fail_msg("%s", pz_last_message());
  json_t *json = json_loads(text, 0, NULL);
  assert_non_null(json);
  pz_free(text);
  return json;
}
static double number(const json_t *fit, const char *model, const char *what) {
  return json_number_value(json_object_get(json_object_get(json_object_get(fit, "all"), model), what));
}

/* ---- fits ---- */

static void test_fit(void **state) {
  (void)state;
  make_database(ALL, NULL, pz_tuning_solvers());
  json_t *json = fitted(NULL), *fit = json_array_get(json_object_get(json, "fits"), 0);
  assert_int_equal(json_array_size(json_object_get(json, "fits")), 1);
  assert_int_equal(json_integer_value(json_object_get(fit, "problems")), ALL);
  assert_int_equal(json_integer_value(json_object_get(fit, "threads")), THREADS);
  assert_true(number(fit, "before", "regret") > 1.5);
  assert_true(number(fit, "unseen", "regret") < 1.02 && number(fit, "unseen", "rank") > 0.95);
  assert_true(number(fit, "unseen", "error") < number(fit, "before", "error") / 3);
  json_decref(json);
  /* the same database, the same bytes */
  char *first = read_words("d.costs");
  assert_int_equal(unlink("d.costs"), 0);
  json_decref(fitted(NULL));
  char *again = read_words("d.costs");
  assert_string_equal(first, again);
  free(first), free(again);
}

static void test_refusals(void **state) {
  (void)state;
  refused(NULL, "d: there is no such tuning database");
  make_database(0, NULL, pz_tuning_solvers());
  refused(NULL, "d: has no measurements of convolutions of this CPU (");
  make_database(2, "Other CPU (1.2.3), avx2", pz_tuning_solvers());
  refused(NULL, "but some of Other CPU (1.2.3), avx2");
  make_database(3, NULL, pz_tuning_solvers());
  refused(NULL, "of 3 problems are too few for a fit; it takes 40 of 8 at least");
  assert_int_equal(access("d.costs", F_OK), -1);
}

static void test_stale(void **state) {
  (void)state;
  make_database(ALL, NULL, "0123456789abcdef");
  refused(NULL, "are of other solvers than this pznet's; --stale takes them too");
  json_decref(fitted(&(pz_tune_fit_options){.stale = true}));
}

static void test_noisy(void **state) {
  (void)state;
  int64_t removed;
  make_noisy_database(0, ALL, NULL, pz_tuning_solvers());
  refused(NULL, "of this CPU were taken beside other work and are noisy");
  assert_int_equal(pz_tune_clear("d", false, &removed), PZ_OK);
  make_database(ALL / 2, NULL, pz_tuning_solvers());
  json_decref(fitted(NULL));
  char *quiet = read_words("d.costs");
  make_noisy_database(ALL / 2, ALL / 2, NULL, pz_tuning_solvers());
  json_t *json = fitted(NULL);
  assert_true(json_integer_value(json_object_get(json_object_get(json, "left_out"), "noisy")) > ALL / 2);
  char *beside_noise = read_words("d.costs");
  assert_string_equal(quiet, beside_noise);
  free(quiet), free(beside_noise);
  json_decref(json);
}

/* Texts whose hash is another problem's, that are no convolutions, that no graph could have, are left out. */
static void test_hostile_rows(void **state) {
  (void)state;
  static const char *const texts[] = {
      "conv",
      "conv to 1x1x1x1x1",
      "conv _ to _",
      "conv 1x4x4x4x4 as-9, _, _, _, _, _ to 1x4x4x4x4",
      "conv 1x4x4x4x4, 4x4x3x3x3 weights, _, _, _, _ to 1x9x9x9x9 kernel 3,3,3",
      "relu 1x4x4x4x4 to 1x4x4x4x4",
      "conv 9999999x99999999x99999x4x4, 4x4x3x3x3 weights, _, _, _, _ to 1x1"};
  char cpu[PZ_TUNING_CPU_TEXT];
  const pz_target target = planned();
  pz_error err = {0};
  make_database(ALL, NULL, pz_tuning_solvers());
  pz_tuning_cpu(pz_target_isa(&target), NULL, cpu);
  pz_tuning *t = open_new("d");
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const pz_tuning_key at = {HASH, texts[i], cpu, "gcc 12", pz_tuning_solvers(), THREADS};
    assert_int_equal(pz_tuning_store(t, &at, "direct", 1e-9, false, &err), PZ_OK);
  }
  pz_tuning_close(t);
  json_t *json = fitted(NULL), *out = json_object_get(json, "left_out");
  assert_true(json_integer_value(json_object_get(out, "others")) >= 1);
  assert_int_equal(
      json_integer_value(json_object_get(json_array_get(json_object_get(json, "fits"), 0), "problems")), ALL);
  json_decref(json);
}

static void test_export(void **state) {
  (void)state;
  make_database(ALL, NULL, pz_tuning_solvers());
  json_decref(fitted(&(pz_tune_fit_options){.to = "row.inc"}));
  char *row = read_words("row.inc");
  assert_non_null(strstr(row, "static const pz_cost_model fit_"));
  assert_non_null(strstr(row, "[PZ_TERM_direct_products] = "));
  assert_non_null(strstr(row, "[PZ_FAMILY_winograd] = "));
  free(row);
}

/* ---- what is chosen by them ---- */

static const char model[] =
    "layer { name: \"x\" type: \"Input\" top: \"x\" input_param { shape { dim: 1 dim: 32 dim: 8 dim: 32 dim: "
    "32 } } }\n"
    "layer { name: \"a\" type: \"Convolution\" bottom: \"x\" top: \"a\" convolution_param { num_output: 32 "
    "kernel_size: 3 pad: 1 weight_filler { type: \"xavier\" } } }\n"
    "layer { name: \"b\" type: \"Convolution\" bottom: \"a\" top: \"b\" convolution_param { num_output: 32 "
    "kernel_size: 3 pad: 1 weight_filler { type: \"xavier\" } } }\n";

/* The algorithm of layer a by the estimate; its note is in the table. */
static char *estimate(const char *tuning, const char *target) {
  char *text = NULL;
  const pz_compile_options o = {
      .weights = "init:1", .effort = "estimate", .tuning = tuning, .threads = THREADS, .target = target};
  if (pz_inspect("net.prototxt", &o, "table", &text) != PZ_OK) fail_msg("%s", pz_last_message());
  return text;
}
static bool is_direct(const char *table) { return strstr(table, "\n* direct ") != NULL; }

static void test_estimate(void **state) {
  (void)state;
  make_database(ALL, NULL, pz_tuning_solvers());
  write_words("net.prototxt", model);
  char *none = estimate("none", NULL), *before = estimate("d", NULL);
  assert_false(is_direct(none));
  assert_string_equal(none, before);
  json_decref(fitted(NULL));
  char *after = estimate("d", NULL), *still = estimate("none", NULL);
  assert_true(is_direct(after));
  assert_string_equal(none, still);
  /* not for another machine */
  char *other = estimate("d", "zen2"), *others = estimate("none", "zen2");
  assert_string_equal(other, others);
  free(none), free(before), free(after), free(still), free(other), free(others);
}

static void test_damaged(void **state) {
  (void)state;
  static const char *const damaged[] = {
      "",
      "{",
      "[]",
      "{\"pznet_costs\": 2, \"fits\": []}",
      "{\"pznet_costs\": 1, \"fits\": [{}]}",
      "{\"pznet_costs\": 1, \"fits\": [{\"cpu\": \"x\", \"threads\": 2, \"block\": 16, \"problems\": 1, "
      "\"candidates\": 1, \"seconds\": 1e-10, \"factors\": {\"direct.products\": -1}, \"errors\": {}}]}",
      "{\"pznet_costs\": 1, \"fits\": [{\"cpu\": \"x\", \"threads\": 2, \"block\": 16, \"problems\": 1, "
      "\"candidates\": 1, \"seconds\": 0, \"factors\": {}, \"errors\": {}}]}"};
  make_database(ALL, NULL, pz_tuning_solvers());
  write_words("net.prototxt", model);
  char *none = estimate("none", NULL);
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    write_words("d.costs", damaged[i]);
    char *table = estimate("d", NULL);
    const char *note = strstr(table, "d.costs: this fit of the cost model is damaged (");
    if (!note || !strstr(note, "): it is not used; `pznet tune --fit` makes it anew\n"))
      fail_msg("case %d: %s", (int)i, table);
    assert_memory_equal(table, none, (size_t)(note - table));
    free(table);
  }
  json_t *json = fitted(NULL);
  assert_int_equal(json_array_size(json_object_get(json, "notes")), 1);
  json_decref(json);
  char *after = estimate("d", NULL);
  assert_true(is_direct(after));
  free(after), free(none);
}

/* Fits of other CPUs stay; of the same one the nearest number of threads counts; clearing the database removes all. */
static void test_file(void **state) {
  (void)state;
  pz_cost_fit list[4] = {{.cpu = "A", .threads = 1}, {.cpu = "B", .threads = 4}, {.cpu = "A", .threads = 8}};
  pz_cost_fits fits = {list, 3}, read;
  pz_error err = {0};
  pz_arena *arena = pz_arena_new();
  for (int i = 0; i < 3; i++)
    list[i].model = truth(), list[i].model.seconds = 1e-10 * (i + 1), list[i].model.block = 16;
  assert_int_equal(pz_cost_file_write("d.costs", &fits, &err), PZ_OK);
  make_database(ALL, NULL, pz_tuning_solvers());
  json_decref(fitted(NULL));
  assert_int_equal(pz_cost_file_read("d.costs", arena, &read, &err), PZ_OK);
  assert_int_equal(read.n, 4);
  assert_true(pz_cost_fits_find(&read, "A", 2)->threads == 1 &&
              pz_cost_fits_find(&read, "A", 64)->threads == 8);
  assert_true(pz_cost_fits_find(&read, "B", 1)->model.seconds == 2e-10 && !pz_cost_fits_find(&read, "C", 1));
  for (int k = 0; k < PZ_COST_TERMS; k++)
    assert_true(read.list[1].model.factor[k] == list[1].model.factor[k]);
  int64_t removed;
  assert_int_equal(pz_tune_clear("d", true, &removed), PZ_OK);
  assert_int_equal(access("d.costs", F_OK), 0);
  assert_int_equal(pz_tune_clear("d", false, &removed), PZ_OK);
  assert_int_equal(access("d.costs", F_OK), -1);
  pz_arena_free(arena);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
  const struct CMUnitTest tests[] = {TEST(test_fit),      TEST(test_refusals),     TEST(test_stale),
                                     TEST(test_noisy),    TEST(test_hostile_rows), TEST(test_export),
                                     TEST(test_estimate), TEST(test_damaged),      TEST(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
