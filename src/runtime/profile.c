#include "runtime/profile.h"
#include <stdlib.h>

#define MAX_RUNS 1000000

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static double median_ns(int64_t *times, int32_t n) {
  qsort(times, (size_t)n, sizeof *times, ascending);
  return 0.5 * ((double)times[(n - 1) / 2] + (double)times[n / 2]);
}

/* times: a row of `runs` for each step. One run adds to `of_run`, from where its times go to their columns. */
static pz_status measure(struct pz_net *net, const void *const *inputs, void *const *outputs, int32_t runs,
                         int64_t *of_run, int64_t *times, pz_error *err) {
  for (int32_t run = 0; run < runs; run++) {
    for (int32_t i = 0; i < net->abi->n_steps; i++) of_run[i] = 0;
    pz_abi_call call = {.inputs = inputs, .outputs = outputs, .step_ns = of_run};
    PZ_TRY(pz_runtime_run(net, &call, err));
    for (int32_t i = 0; i < net->abi->n_steps; i++) times[(int64_t)i * runs + run] = of_run[i];
  }
  return PZ_OK;
}

pz_status pz_runtime_profile(struct pz_net *net, const void *const *inputs, void *const *outputs,
                             int32_t runs, pz_step_profile *steps, pz_error *err) {
  if (runs < 1 || runs > MAX_RUNS)
    return pz_fail(err, PZ_ERROR_USAGE, "%d runs to profile: expected 1 to %d", (int)runs, MAX_RUNS);
  size_t n = (size_t)net->abi->n_steps + 1; /* not 0, which malloc may answer with NULL */
  int64_t *times = calloc(n * ((size_t)runs + 1), sizeof *times);
  if (!times) return pz_fail_memory(err, "the times of the steps", n * ((size_t)runs + 1) * sizeof *times);
  pz_status status = measure(net, inputs, outputs, runs, times, times + n, err);
  for (int32_t i = 0; status == PZ_OK && i < net->abi->n_steps; i++) {
    const pz_abi_step *s = &net->abi->steps[i];
    steps[i] = (pz_step_profile){.name = s->name,
                                 .op = s->op,
                                 .algorithm = s->algorithm,
                                 .multiply_adds = s->multiply_adds,
                                 .bytes = s->bytes,
                                 .seconds = 1e-9 * median_ns(times + n + (int64_t)i * runs, runs)};
  }
  free(times);
  return status;
}
