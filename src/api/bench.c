/* bench.c: pz_bench: a network file, timed, beside the multiply-add peak of the same minutes. */
#include "api/api.h"
#include "base/ascending.h"
#include "base/clock.h"
#include "base/json.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

/* Multiply-adds of step i's own algorithm, from the manifest's plan. A network file whose manifest does not tell them, or
 * tells nonsense, is judged by the direct algorithm's. */
static double multiply_adds_done(const json_t *plan, int32_t i, double direct) {
  const double done =
      json_number_value(json_object_get(json_array_get(plan, (size_t)i), "multiply_adds_done"));
  return done > 0 && done <= 1e18 ? done : direct;
}

static double rate(double amount, double seconds) { return seconds > 0 ? 1e-9 * amount / seconds : 0; }
static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static json_t *step_row(pz_json *j, const pz_step_profile *s, double done, double total, double peak) {
  const double effective = rate(2 * s->multiply_adds, s->seconds);
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"milliseconds", 1e3 * s->seconds},
                 {"share", 0.01 * percent(s->seconds, total)},
                 {"gflops", effective},
                 {"percent_of_peak", percent(effective, peak)},
                 {"percent_of_algorithm", percent(rate(2 * done, s->seconds), peak)},
                 {"multiply_adds", s->multiply_adds},
                 {"multiply_adds_done", done},
                 {"gbytes_per_second", rate(s->bytes, s->seconds)}};
  json_t *row = pz_json_pack(j, "{s:o, s:o, s:o}", "layer", pz_json_name(s->name), "op", pz_json_name(s->op),
                             "algorithm", pz_json_name(s->algorithm));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    pz_json_set(j, row, numbers[i].name, pz_json_real(numbers[i].value));
  return row;
}

/* The steps of a layer that runs band by band become its first one; returns how many there are then. */
static int32_t join_bands(pz_step_profile *steps, double *done, int32_t n) {
  int32_t rows = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t k = 0;
    while (k < rows && (strcmp(steps[k].name, steps[i].name) || strcmp(steps[k].op, steps[i].op))) k++;
    if (k == rows) {
      steps[rows] = steps[i], done[rows++] = done[i];
      continue;
    }
    steps[k].seconds += steps[i].seconds, steps[k].bytes += steps[i].bytes;
    steps[k].multiply_adds += steps[i].multiply_adds, done[k] += done[i];
  }
  return rows;
}

static json_t *step_rows(pz_json *j, const pz_net *net, pz_step_profile *steps, int32_t n, double peak) {
  double *done = calloc((size_t)n + 1, sizeof *done), total = 0;
  if (!done) return NULL;
  const char *text = pz_net_manifest(net);
  json_t *rows = json_array(), *manifest = pz_json_read(j, text, strlen(text), 0, NULL);
  const json_t *plan = json_object_get(manifest, "plan");
  for (int32_t i = 0; i < n; i++) {
    total += steps[i].seconds;
    done[i] = multiply_adds_done(plan, i, steps[i].multiply_adds);
  }
  const int32_t joined = join_bands(steps, done, n);
  for (int32_t i = 0; i < joined; i++) pz_json_append(j, rows, step_row(j, &steps[i], done[i], total, peak));
  json_decref(manifest);
  free(done);
  return rows;
}

typedef struct timing {
  pz_net *net;
  pz_patch patch;
  double *seconds, peak;
  pz_step_profile *steps;
  int32_t n_steps, runs;
} timing;

static pz_status one_run(timing *t, pz_error *err) {
  const pz_status status =
      pz_net_run(t->net, (const void *const *)t->patch.inputs, (void *const *)t->patch.outputs);
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", pz_last_message());
}

/* Peak before, between and after, so that a machine whose speed drifts is judged by the same minutes. */
static pz_status time_runs(timing *t, int32_t warmup, pz_error *err) {
  const int threads = pz_net_threads(t->net);
  for (int32_t i = 0; i < warmup; i++) PZ_TRY(one_run(t, err));
  t->peak = pz_measure_peak(threads, 0.3);
  for (int32_t i = 0; i < t->runs; i++) {
    const double start = pz_now();
    PZ_TRY(one_run(t, err));
    t->seconds[i] = pz_now() - start;
  }
  const double again = pz_measure_peak(threads, 0.3);
  if (again > t->peak) t->peak = again;
  qsort(t->seconds, (size_t)t->runs, sizeof *t->seconds, pz_ascending);
  const int32_t profiled = t->runs < 20 ? t->runs : 20;
  const pz_status status = pz_net_profile(t->net, (const void *const *)t->patch.inputs,
                                          (void *const *)t->patch.outputs, profiled, t->steps);
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", pz_last_message());
}

static json_t *report(pz_json *j, const timing *t) {
  double multiply_adds = 0;
  for (int32_t i = 0; i < t->n_steps; i++) multiply_adds += t->steps[i].multiply_adds;
  const double median = t->seconds[t->runs / 2], effective = rate(2 * multiply_adds, median);
  return pz_json_pack(
      j, "{s:i, s:i, s:f, s:f, s:f, s:o, s:f, s:o, s:o, s:I, s:f, s:o}", "threads", pz_net_threads(t->net),
      "runs", t->runs, "median_ms", 1e3 * median, "min_ms", 1e3 * t->seconds[0], "max_ms",
      1e3 * t->seconds[t->runs - 1], "gflops", pz_json_real(effective), "peak_gflops", t->peak,
      "percent_of_peak", pz_json_real(percent(effective, t->peak)), "multiply_adds",
      pz_json_real(multiply_adds), "memory_bytes", (json_int_t)pz_net_memory(t->net), "open_ms",
      1e3 * t->net->open_seconds, "layers", step_rows(j, t->net, t->steps, t->n_steps, t->peak));
}

static pz_status bench(timing *t, int32_t warmup, char **json, pz_error *err) {
  t->n_steps = pz_net_steps(t->net);
  t->seconds = calloc((size_t)t->runs, sizeof *t->seconds);
  t->steps = calloc((size_t)t->n_steps + 1, sizeof *t->steps);
  if (!t->seconds || !t->steps) return pz_fail_memory(err, "timings", 64);
  PZ_TRY(pz_patch_new(t->net, PZ_SELF_TEST_SEED, &t->patch, err));
  PZ_TRY(time_runs(t, warmup, err));
  pz_json j = {0};
  json_t *all = report(&j, t);
  return pz_json_out(&j, all, json, err);
}

static pz_status check_counts(int32_t threads, int32_t runs, int32_t warmup, pz_error *err) {
  if (runs >= 1 && warmup >= 0 && threads >= 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE, "runs must be at least 1, warm-up runs and threads at least 0");
}

static pz_status bench_net(pz_net *net, int32_t runs, int32_t warmup, char **json, pz_error *err) {
  PZ_TRY(check_counts(0, runs, warmup, err));
  timing t = {.net = net, .runs = runs};
  const pz_status status = bench(&t, warmup, json, err);
  pz_patch_free(&t.patch);
  free(t.seconds);
  free(t.steps);
  return status;
}

static pz_status bench_file(const char *network, int32_t threads, int32_t runs, int32_t warmup, char **json,
                            pz_error *err) {
  const pz_net_options options = {.threads = threads};
  pz_net *net;
  PZ_TRY(check_counts(threads, runs, warmup, err));
  PZ_TRY(pz_runtime_open(network, &options, &net, err));
  const pz_status status = bench_net(net, runs, warmup, json, err);
  pz_runtime_close(net);
  return status;
}

pz_status pz_bench_net(pz_net *net, int32_t runs, int32_t warmup, char **json) {
  pz_error err = {0};
  *json = NULL;
  return pz_public_end(bench_net(net, runs, warmup, json, &err), &err);
}

pz_status pz_bench(const char *network, int32_t threads, int32_t runs, int32_t warmup, char **json) {
  pz_error err = {0};
  *json = NULL;
  return pz_public_end(bench_file(network, threads, runs, warmup, json, &err), &err);
}
