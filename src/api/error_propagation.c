#include "api/error_propagation.h"
#include "base/clock.h"
#include "pznet/network_abi.h"
#include "runtime/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOISE  0x1p-8 /* of weights: far above rounding errors, and its effect still in proportion */
#define MARGIN 1.5    /* what other inputs than the one that is run may make of errors */

typedef struct probe {
  const pz_plan *plan, *noisy; /* noisy: the same with noise on the weights of all layers */
  const char *network;
  int file;
  int64_t at; /* of the packed weights in the file, in bytes */
  pz_patch patch;
  float **results, **noisy_results; /* numbers: of the network as it is, and with noise */
} probe;

/* ---- the plan with noise ---- */

static bool has_choice(const pz_plan *plan, pz_node_id n) {
  const pz_choice *c = &plan->choices[n];
  double least = INFINITY, most = 0;
  for (int32_t i = 0; i < c->n; i++) {
    least = fmin(least, c->candidates[i].error);
    most = fmax(most, c->candidates[i].error);
  }
  return most > least;
}

static bool has_any_choice(const pz_plan *plan) {
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (has_choice(plan, n)) return true;
  return false;
}

/* Independent noise on each weight, as rounding errors of the products are independent of each other. */
static void add_noise(pz_graph *g, pz_tensor_id weights, uint64_t *random) {
  const int64_t n = pz_shape_elements(&g->tensors[weights].shape);
  float *data = pz_graph_constant_data(g, weights);
  for (int64_t i = 0; data && i < n; i++) data[i] *= 1 + (float)(NOISE * sqrt(3.0)) * pz_next_uniform(random);
}

/* A tensor of weights that several layers share gets it once. */
static void add_noise_to_all(pz_graph *g) {
  uint64_t random = PZ_SELF_TEST_SEED;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++)
    for (pz_node_id n = 0; n < g->n_nodes; n++)
      if (pz_is_convolution(&g->nodes[n]) && g->nodes[n].in[PZ_CONV_WEIGHT] == t) {
        add_noise(g, t, &random);
        break;
      }
}

static pz_status plan_noisy(const pz_plan *plan, const pz_plan_options *wanted, pz_graph **graph,
                            pz_plan **noisy, pz_error *err) {
  PZ_TRY(pz_graph_copy(plan->graph, graph, err));
  add_noise_to_all(*graph);
  return pz_plan_new(*graph, wanted, noisy, err);
}

/* ---- weights in the file ---- */

static pz_status find_weights(probe *t, pz_error *err) {
  pz_mapping file;
  pz_elf elf;
  const uint8_t *data = NULL;
  size_t size = 0;
  PZ_TRY(pz_file_map(t->network, &file, err));
  pz_status status = pz_elf_open(&file, t->network, &elf, err);
  if (status == PZ_OK) status = pz_elf_find(&elf, PZ_ABI_WEIGHTS_SECTION, &data, &size, err);
  if (status == PZ_OK && (!data || size < (size_t)t->plan->weight_bytes))
    status = pz_elf_damaged(&elf, "weights", err);
  if (data) t->at = data - file.data;
  pz_file_unmap(&file);
  if (status != PZ_OK) return status;
  t->file = open(t->network, O_WRONLY | O_CLOEXEC);
  return t->file < 0 ? pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s", t->network, strerror(errno)) : PZ_OK;
}

static pz_status write_weights(const probe *t, const char *weights, int64_t begin, int64_t end,
                               pz_error *err) {
  const char *from = weights + begin;
  off_t to = t->at + begin;
  for (size_t left = (size_t)(end - begin); left;) {
    const ssize_t n = pwrite(t->file, from, left, to);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return pz_fail(err, PZ_ERROR_OUTPUT, "%s: %s", t->network, strerror(n ? errno : ENOSPC));
    from += n, to += n, left -= (size_t)n;
  }
  return PZ_OK;
}

/* Where the packed tensor behind the one at `begin` begins. */
static int64_t end_of(const pz_plan *plan, int64_t begin) {
  int64_t end = plan->weight_bytes;
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t c = 0; c < plan->steps[i].n_calls; c++)
      for (int32_t a = 0; a < plan->steps[i].calls[c].n_args; a++) {
        const pz_pointer at = plan->steps[i].calls[c].args[a].at;
        if (at.space == PZ_SPACE_WEIGHTS && at.offset > begin && at.offset < end) end = at.offset;
      }
  return end;
}

/* What a layer has of them, from `weights`. */
static pz_status write_layer(const probe *t, const char *weights, pz_node_id node, pz_error *err) {
  for (int32_t i = 0; i < t->plan->n_steps; i++) {
    const pz_step *step = &t->plan->steps[i];
    for (int32_t c = 0; step->node == node && c < step->n_calls; c++)
      for (int32_t a = 0; a < step->calls[c].n_args; a++) {
        const pz_pointer at = step->calls[c].args[a].at;
        if (at.space == PZ_SPACE_WEIGHTS)
          PZ_TRY(write_weights(t, weights, at.offset, end_of(t->plan, at.offset), err));
      }
  }
  return PZ_OK;
}

/* ---- runs ---- */

/* Of outputs that are not of floats: with their rounding, which makes a small change larger rather than smaller. */
static pz_status keep_values(const pz_net *net, const pz_patch *patch, float ***values, pz_error *err) {
  if (!*values) *values = calloc((size_t)patch->n_outputs + 1, sizeof **values);
  if (!*values) return pz_fail_memory(err, "results", 64);
  for (int32_t i = 0; i < patch->n_outputs; i++) {
    free((*values)[i]);
    if (!((*values)[i] = pz_patch_values(net, patch, false, i))) return pz_fail_memory(err, "results", 64);
  }
  return PZ_OK;
}

static pz_status run(probe *t, float ***values, pz_error *err) {
  pz_net *net;
  PZ_TRY(pz_open_compiled(t->network, 0, &net, err));
  pz_status status = t->patch.inputs ? PZ_OK : pz_patch_new(net, PZ_SELF_TEST_SEED, &t->patch, err);
  if (status == PZ_OK && (status = pz_net_run(net, (const void *const *)t->patch.inputs,
                                              (void *const *)t->patch.outputs)) != PZ_OK)
    pz_fail(err, status, "%s", pz_last_message());
  if (status == PZ_OK) status = keep_values(net, &t->patch, values, err);
  pz_net_close(net);
  return status;
}

static int64_t elements(const probe *t, int32_t output) {
  const pz_graph *g = t->plan->graph;
  return pz_shape_elements(&g->tensors[g->outputs[output]].shape);
}

/* The largest relative L2 difference of a result; not finite where a result is zero or not finite itself. */
static double difference(const probe *t) {
  double largest = 0;
  for (int32_t i = 0; i < t->patch.n_outputs; i++) {
    const float *was = t->results[i], *is = t->noisy_results[i];
    double change = 0, size = 0;
    for (int64_t k = 0; k < elements(t, i); k++) {
      const double d = (double)is[k] - (double)was[k];
      change += d * d, size += (double)was[k] * (double)was[k];
    }
    const double relative = sqrt(change / size);
    if (!(relative <= largest)) largest = relative;
  }
  return largest;
}

/* The layer not looked at yet that costs most, or PZ_NONE. */
static pz_node_id next_of(const pz_plan *plan, const bool *done) {
  pz_node_id best = PZ_NONE;
  double most = -1;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    if (done[n] || !has_choice(plan, n) || pz_plan_candidate(plan, n)->cost <= most) continue;
    most = pz_plan_candidate(plan, n)->cost, best = n;
  }
  return best;
}

static pz_status measure(probe *t, pz_status (*tick)(void *, pz_error *), void *host, double seconds,
                         double *error_propagation, pz_error *err) {
  const double start = pz_now();
  bool *done = PZ_NEW(t->plan->arena, bool, (size_t)t->plan->graph->n_nodes + 1);
  if (!done) return pz_fail_memory(err, "errors", (size_t)t->plan->graph->n_nodes);
  if (t->plan->weight_bytes == 0)
    return PZ_OK; /* no layer has a choice of errors, and the file no section of weights */
  PZ_TRY(find_weights(t, err));
  PZ_TRY(run(t, &t->results, err));
  for (pz_node_id n; pz_now() - start < seconds && (n = next_of(t->plan, done)) != PZ_NONE;) {
    done[n] = true;
    PZ_TRY(tick(host, err));
    PZ_TRY(write_layer(t, t->noisy->weights, n, err));
    PZ_TRY(run(t, &t->noisy_results, err));
    PZ_TRY(write_layer(t, t->plan->weights, n, err));
    const double d = difference(t);
    if (isfinite(d)) error_propagation[n] = MARGIN * d / NOISE;
  }
  return PZ_OK;
}

static void free_probe(probe *t) {
  if (t->file >= 0) close(t->file);
  for (int32_t i = 0; t->results && i < t->patch.n_outputs; i++) free(t->results[i]);
  for (int32_t i = 0; t->noisy_results && i < t->patch.n_outputs; i++) free(t->noisy_results[i]);
  free(t->results), free(t->noisy_results);
  pz_patch_free(&t->patch);
}

pz_status pz_measure_error_propagation(const pz_plan *plan, const pz_plan_options *wanted,
                                       const char *network, pz_status (*tick)(void *host, pz_error *err),
                                       void *host, double seconds, double *error_propagation, pz_error *err) {
  pz_graph *graph = NULL;
  pz_plan *noisy = NULL;
  if (!has_any_choice(plan)) return PZ_OK; /* there may be no weights at all */
  pz_status status = plan_noisy(plan, wanted, &graph, &noisy, err);
  if (status == PZ_OK && noisy->weight_bytes == plan->weight_bytes && noisy->n_steps == plan->n_steps) {
    probe t = {.plan = plan, .noisy = noisy, .network = network, .file = -1};
    status = measure(&t, tick, host, seconds, error_propagation, err);
    free_probe(&t);
  }
  pz_plan_free(noisy);
  pz_graph_free(graph);
  return status;
}
