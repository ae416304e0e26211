/* bench.c: pz_bench: a network file, timed, beside the multiply-add peak of the same minutes. */
#include "api/api.h"

#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static json_t *step_rows(const pz_step_profile *steps, int32_t n, double peak) {
  json_t *rows = json_array();
  double total = 0;
  for (int32_t i = 0; i < n; i++) total += steps[i].seconds;
  for (int32_t i = 0; i < n; i++) {
    const double rate = steps[i].seconds > 0 ? 2e-9 * steps[i].multiply_adds / steps[i].seconds : 0;
    json_array_append_new(
        rows, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f}", "layer", steps[i].name, "op", steps[i].op,
                        "algorithm", steps[i].algorithm, "milliseconds", 1e3 * steps[i].seconds, "share",
                        total > 0 ? steps[i].seconds / total : 0.0, "gflops", rate, "percent_of_peak",
                        peak > 0 ? 100 * rate / peak : 0.0, "gbytes_per_second",
                        steps[i].seconds > 0 ? 1e-9 * steps[i].bytes / steps[i].seconds : 0.0));
  }
  return rows;
}

typedef struct timing {
  pz_net *net;
  pz_patch patch;
  double *seconds, peak, open_seconds;
  pz_step_profile *steps;
  int32_t n_steps, runs;
} timing;

static pz_status one_run(timing *t, pz_error *err) {
  const pz_status status = pz_net_run(t->net, (const float *const *)t->patch.inputs, t->patch.outputs);
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", pz_last_message());
}

/* Peak before, between and after, so that a machine whose speed drifts is judged by the same minutes. */
static pz_status time_runs(timing *t, int32_t warmup, pz_error *err) {
  const int threads = pz_net_threads(t->net);
  for (int32_t i = 0; i < warmup; i++) PZ_TRY(one_run(t, err));
  t->peak = pz_measure_peak(threads, 0.3);
  for (int32_t i = 0; i < t->runs; i++) {
    const double start = now();
    PZ_TRY(one_run(t, err));
    t->seconds[i] = now() - start;
  }
  const double again = pz_measure_peak(threads, 0.3);
  if (again > t->peak) t->peak = again;
  qsort(t->seconds, (size_t)t->runs, sizeof *t->seconds, ascending);
  const int32_t profiled = t->runs < 20 ? t->runs : 20;
  const pz_status status =
      pz_net_profile(t->net, (const float *const *)t->patch.inputs, t->patch.outputs, profiled, t->steps);
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", pz_last_message());
}

static json_t *report(const timing *t) {
  double multiply_adds = 0;
  for (int32_t i = 0; i < t->n_steps; i++) multiply_adds += t->steps[i].multiply_adds;
  const double median = t->seconds[t->runs / 2], rate = 2e-9 * multiply_adds / median;
  return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:o}", "threads",
                   pz_net_threads(t->net), "runs", t->runs, "median_ms", 1e3 * median, "min_ms",
                   1e3 * t->seconds[0], "max_ms", 1e3 * t->seconds[t->runs - 1], "gflops", rate,
                   "peak_gflops", t->peak, "percent_of_peak", t->peak > 0 ? 100 * rate / t->peak : 0.0,
                   "multiply_adds", multiply_adds, "memory_bytes", (json_int_t)pz_net_memory(t->net),
                   "open_ms", 1e3 * t->open_seconds, "layers", step_rows(t->steps, t->n_steps, t->peak));
}

static pz_status bench(timing *t, const char *network, int32_t threads, int32_t warmup, char **json,
                       pz_error *err) {
  const pz_net_options options = {.threads = threads};
  const double start = now();
  pz_status status = pz_net_open(network, &options, &t->net);
  if (status != PZ_OK) return pz_fail(err, status, "%s", pz_last_message());
  t->open_seconds = now() - start;
  t->n_steps = pz_net_steps(t->net);
  t->seconds = calloc((size_t)t->runs, sizeof *t->seconds);
  t->steps = calloc((size_t)t->n_steps + 1, sizeof *t->steps);
  if (!t->seconds || !t->steps) return pz_fail_memory(err, "timings", 64);
  PZ_TRY(pz_patch_new(t->net, PZ_GOLDEN_SEED, &t->patch, err));
  PZ_TRY(time_runs(t, warmup, err));
  return pz_json_out(report(t), json, err);
}

pz_status pz_bench(const char *network, int32_t threads, int32_t runs, int32_t warmup, char **json) {
  pz_error err = {0};
  *json = NULL;
  if (runs < 1 || warmup < 0 || threads < 0)
    return pz_public_end(
        pz_fail(&err, PZ_ERROR_USAGE, "runs must be at least 1, warm-up runs and threads at least 0"), &err);
  timing t = {.runs = runs};
  const pz_status status = bench(&t, network, threads, warmup, json, &err);
  pz_patch_free(&t.patch);
  free(t.seconds);
  free(t.steps);
  pz_net_close(t.net);
  return pz_public_end(status, &err);
}
