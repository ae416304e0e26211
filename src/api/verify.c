/* verify.c: pz_verify: the self-test, and every tensor beside the double-precision reference. */
#include "api/api.h"
#include "base/json.h"
#include "base/memory.h"
#include "reference/reference.h"
#include "runtime/runtime.h"
#include "runtime/variant.h"
#include "volume/locality.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Error allowed against the reference: in results (DESIGN: 1e-5) this, or what the network was compiled with. Inside of the network what
 * is expected of all layers together, where that is more: results have a part of it, by which the compiler chose. */
#define LARGEST_ERROR 1e-5

typedef struct allowed {
  double result, inside;
} allowed;

/* What was expected of step i's layer; 0 where an earlier step, a band of the layer, has it. */
static double expected_error(const json_t *plan, size_t i) {
  const json_t *step = json_array_get(plan, i), *error = json_object_get(step, "expected_error");
  for (size_t k = 0; error && k < i; k++) {
    const json_t *before = json_array_get(plan, k);
    if (json_object_get(before, "expected_error") &&
        json_equal(json_object_get(before, "layer"), json_object_get(step, "layer")))
      return 0;
  }
  return json_number_value(error);
}

static json_t *read_manifest(pz_json *j, const pz_net *net) {
  const char *text = pz_net_manifest(net);
  return pz_json_read(j, text, strlen(text), 0, NULL);
}

static allowed allowed_errors(pz_json *j, const pz_net *net) {
  json_t *manifest = read_manifest(j, net);
  const json_t *plan = json_object_get(manifest, "plan");
  const double wanted = json_number_value(json_object_get(manifest, "max_error")),
               result = wanted > LARGEST_ERROR && wanted <= 1 ? wanted : LARGEST_ERROR;
  double squares = 0;
  for (size_t i = 0; i < json_array_size(plan); i++) {
    const double e = expected_error(plan, i);
    squares += e * e;
  }
  json_decref(manifest);
  return (allowed){result, fmax(result, sqrt(squares))};
}

/* ---- self_test ---- */

static pz_status check_self_test(pz_net *net, pz_json *j, json_t *report, bool *good, pz_error *err) {
  json_t *manifest = read_manifest(j, net);
  const json_t *self_test = json_object_get(manifest, "self_test");
  const bool none = !self_test || json_is_null(self_test);
  char *stored = none ? NULL : pz_json_print(j, self_test, 0), *now = NULL;
  json_decref(manifest);
  PZ_TRY(pz_json_end(j, "the manifest", err));
  if (none) {
    pz_json_set(j, report, "self_test",
                json_string("none stored: compiled on a machine that could not run it"));
    return PZ_OK;
  }
  if (!stored) return pz_fail_memory(err, "the manifest", 4096);
  bool equal = false;
  double difference = 0;
  pz_status status = pz_self_test_run(net, &now, err);
  if (status == PZ_OK) status = pz_self_test_compare(stored, now, &equal, &difference, err);
  free(stored);
  free(now);
  PZ_TRY(status);
  *good &= equal || difference <= 1e-4;
  pz_json_set(j, report, "self_test",
              json_string(equal   ? "equal, bit by bit"
                          : *good ? "equal within 1e-4"
                                  : "different"));
  if (!equal) pz_json_set(j, report, "golden_difference", pz_json_real(difference));
  return PZ_OK;
}

/* ---- every tensor: the network's results are kept step by step, then compared as the reference makes them ---- */

typedef struct kept {
  const pz_abi_tensor *tensor;
  float *values; /* dense */
  double error;
  bool seen;
} kept;

typedef struct comparison {
  pz_net *net;
  pz_patch patch;
  kept *kept; /* by step */
  int32_t n;
  pz_error *err;
} comparison;

static int64_t elements(const pz_abi_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dim[i];
  return n;
}

static pz_element element_of(const pz_abi_tensor *t) {
  return (pz_element){(pz_dtype)t->type, t->scale, t->zero_point};
}

static float *read_tensor(const pz_abi_tensor *t, const char *base) {
  const pz_element element = element_of(t);
  const size_t bytes = (size_t)elements(t) * sizeof(float);
  float *out = pz_memory_allows(bytes) ? malloc(bytes) : NULL;
  if (!out) return NULL;
  pz_shape shape = {.rank = t->rank};
  memcpy(shape.dim, t->dim, sizeof shape.dim);
  const pz_shape5 s = pz_shape_as5(&shape);
  float *at = out;
  for (int64_t n = 0; n < s.n; n++)
    for (int64_t c = 0; c < s.c; c++)
      for (int64_t d = 0; d < s.s[0]; d++)
        for (int64_t h = 0; h < s.s[1]; h++) {
          const char *row = base + t->offset + n * t->stride_n + c / t->block * t->stride_c +
                            d * t->stride_d + h * t->stride_h + c % t->block * pz_dtype_bytes(element.type);
          for (int64_t w = 0; w < s.s[2]; w++) pz_elements_to(element, row + w * t->stride_w, 1, at++);
        }
  return out;
}

static void keep_step(void *host, int32_t step) {
  comparison *c = host;
  const pz_abi_network *abi = c->net->abi;
  const int32_t index = abi->steps[step].tensor;
  if (index < 0) return;
  const pz_abi_tensor *t = &abi->tensors[index];
  const void *base = t->space == PZ_ABI_ARENA   ? c->net->memory
                     : t->space == PZ_ABI_STATE ? c->net->state
                                                : c->patch.outputs[t->index];
  c->kept[step] = (kept){.tensor = t, .values = read_tensor(t, base), .error = NAN};
  if (!c->kept[step].values)
    pz_fail_memory(c->err, "a tensor to compare", (unsigned long long)elements(t) * 4);
}

/* Half the distance between the elements around x, which rounding alone may take: nothing is said of it. */
static double half_step(pz_element e, double x) {
  switch (e.type) {
  case PZ_F32: return 0;
  case PZ_F16: return fmax(fabs(x) * 0x1p-11, 0x1p-25);
  case PZ_BF16: return fabs(x) * 0x1p-8;
  default: return 0.5 * (double)e.scale;
  }
}

/* What the type has room for. */
static double within(pz_element e, double x) {
  if (e.type == PZ_F16) return fabs(x) > 65519 ? copysign(INFINITY, x) : x;
  if (!pz_dtype_is_integer(e.type)) return x;
  return fmin(fmax(x, (double)e.scale * (pz_dtype_least(e.type) - e.zero_point)),
              (double)e.scale * (pz_dtype_greatest(e.type) - e.zero_point));
}

/* As pz_relative_error, of what is more than rounding. */
static double error_of(const pz_abi_tensor *t, const float *is, const double *wanted) {
  const pz_element e = element_of(t);
  double difference = 0, norm = 0;
  if (e.type == PZ_F32) return pz_relative_error(is, wanted, elements(t));
  for (int64_t i = 0; i < elements(t); i++) {
    const double x = within(e, wanted[i]), y = (double)is[i];
    if (x == y || (isnan(x) && isnan(y))) continue;
    if (!isfinite(x) || !isfinite(y)) return INFINITY;
    const double d = fmax(0, fabs(x - y) - half_step(e, x));
    difference += d * d;
  }
  for (int64_t i = 0; i < elements(t); i++) norm += isfinite(wanted[i]) ? wanted[i] * wanted[i] : 0;
  return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

/* By which boxes are kept, in which order: that jumps where scores or overlaps differ by rounding alone. So the reference decides by the values that
 * the network has decided by, once they are compared, and its result has to be the same. */
static bool decides(const pz_graph *g, pz_tensor_id id) {
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_in; i++)
      if (g->nodes[n].op == PZ_OP_NON_MAX_SUPPRESSION && g->nodes[n].in[i] == id) return true;
  return false;
}

static pz_status compare_tensor(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  comparison *c = host;
  for (int32_t i = 0; i < c->n; i++) {
    kept *k = &c->kept[i];
    if (!k->values || k->seen || strcmp(k->tensor->name, g->tensors[id].name) ||
        elements(k->tensor) != pz_shape_elements(&g->tensors[id].shape))
      continue;
    k->error = error_of(k->tensor, k->values, values);
    k->seen = true;
    if (!decides(g, id)) continue;
    for (int64_t e = 0; e < elements(k->tensor); e++) values[e] = (double)k->values[e];
  }
  return PZ_OK;
}

static pz_status run_and_keep(comparison *c, pz_error *err) {
  pz_abi_call call = {.inputs = (const void *const *)c->patch.inputs,
                      .outputs = (void *const *)c->patch.outputs,
                      .observe = keep_step,
                      .observe_host = c};
  PZ_TRY(pz_runtime_run(c->net, &call, err));
  return err->status;
}

static bool is_result(const pz_net *net, const char *tensor) {
  bool found = false;
  for (int32_t i = 0; i < pz_net_outputs(net); i++) {
    pz_port port;
    found |= pz_net_output(net, i, &port) == PZ_OK && !strcmp(port.name, tensor);
  }
  return found;
}

static json_t *rows(pz_json *j, const comparison *c, const allowed *most, double *worst, int32_t *compared,
                    bool *good) {
  json_t *all = json_array();
  for (int32_t i = 0; i < c->n; i++) {
    const kept *k = &c->kept[i];
    if (!k->seen) continue;
    ++*compared;
    if (!(k->error <= *worst)) *worst = k->error;
    *good &= k->error <= (is_result(c->net, k->tensor->name) ? most->result : most->inside);
    const pz_abi_step *s = &c->net->abi->steps[i];
    pz_json_append(j, all,
                   pz_json_pack(j, "{s:o, s:s, s:o, s:s, s:o}", "layer", pz_json_name(s->name), "op", s->op,
                                "tensor", pz_json_name(k->tensor->name), "algorithm", s->algorithm,
                                "relative_error", pz_json_real(k->error)));
  }
  return all;
}

static pz_status check_ports(const pz_net *net, const pz_graph *g, pz_error *err) {
  bool fits = pz_net_inputs(net) == g->n_inputs && pz_net_outputs(net) == g->n_outputs;
  for (int32_t i = 0; fits && i < g->n_inputs + g->n_outputs; i++) {
    const bool input = i < g->n_inputs;
    pz_port port;
    const pz_status s = input ? pz_net_input(net, i, &port) : pz_net_output(net, i - g->n_inputs, &port);
    const pz_shape *shape = &g->tensors[input ? g->inputs[i] : g->outputs[i - g->n_inputs]].shape;
    fits = s == PZ_OK && port.rank == shape->rank &&
           !memcmp(port.dim, shape->dim, sizeof(int64_t) * (size_t)port.rank);
  }
  return fits ? PZ_OK
              : pz_fail(err, PZ_ERROR_INPUT,
                        "the network file was not made from this model: inputs or outputs differ");
}

/* The network's tensors, and in double precision what the widest layer reads and makes. */
static int64_t bytes_to_compare(const pz_net *net, const pz_graph *g) {
  int64_t kept = 0, widest = 0;
  for (int32_t i = 0; i < net->abi->n_steps; i++)
    if (net->abi->steps[i].tensor >= 0)
      kept = pz_plus(kept, pz_times(4, elements(&net->abi->tensors[net->abi->steps[i].tensor])));
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    int64_t layer = 0;
    for (int32_t i = 0; i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] != PZ_NONE)
        layer = pz_plus(layer, pz_times(8, pz_shape_elements(&g->tensors[g->nodes[n].in[i]].shape)));
    for (int32_t i = 0; i < g->nodes[n].n_out; i++)
      layer = pz_plus(layer, pz_times(8, pz_shape_elements(&g->tensors[g->nodes[n].out[i]].shape)));
    if (layer > widest) widest = layer;
  }
  return pz_plus(kept, widest);
}

static pz_status run_reference(comparison *c, const pz_graph *g, pz_error *err) {
  float **inputs = calloc((size_t)c->patch.n_inputs + 1, sizeof *inputs);
  bool there = inputs != NULL;
  for (int32_t i = 0; there && i < c->patch.n_inputs; i++)
    there = (inputs[i] = pz_patch_values(c->net, &c->patch, true, i)) != NULL;
  const pz_status status =
      there ? pz_reference_run(g, (const float *const *)inputs, NULL, compare_tensor, c, err)
            : pz_fail_memory(err, "the network's inputs", 64);
  for (int32_t i = 0; inputs && i < c->patch.n_inputs; i++) free(inputs[i]);
  free(inputs);
  return status;
}

static pz_status compare(comparison *c, const pz_graph *g, pz_json *j, json_t *report, bool *good,
                         pz_error *err) {
  c->n = c->net->abi->n_steps;
  c->kept = calloc((size_t)c->n + 1, sizeof *c->kept);
  if (!c->kept) return pz_fail_memory(err, "tensors to compare", 64);
  PZ_TRY(check_ports(c->net, g, err));
  PZ_TRY(pz_patch_new(c->net, PZ_SELF_TEST_SEED, &c->patch, err));
  PZ_TRY(pz_memory_ask(bytes_to_compare(c->net, g), 0, "comparing every tensor with the reference", err));
  PZ_TRY(run_and_keep(c, err));
  PZ_TRY(run_reference(c, g, err));
  double worst = 0;
  int32_t compared = 0;
  const allowed most = allowed_errors(j, c->net);
  pz_json_set(j, report, "layers", rows(j, c, &most, &worst, &compared, good));
  pz_json_set(j, report, "compared", json_integer(compared));
  pz_json_set(j, report, "largest_relative_error", pz_json_real(worst));
  pz_json_set(j, report, "allowed_relative_error", json_real(most.result));
  pz_json_set(j, report, "allowed_inside", json_real(most.inside));
  *good &= compared > 0;
  return PZ_OK;
}

static void print_sizes(const int64_t n[3], bool planar, char to[80]) {
  if (planar) snprintf(to, 80, "%lld,%lld", (long long)n[1], (long long)n[2]);
  else snprintf(to, 80, "%lld,%lld,%lld", (long long)n[0], (long long)n[1], (long long)n[2]);
}

/* A file for exact tiles says itself of which, and of which volume runs make all along an axis. */
static void take_tiles(const pz_net *net, pz_compile_options *o, char patch[80], char volume[80]) {
  pz_network_tiles tiles;
  if (o->tiling || pz_network_tiles_read("", net->manifest, &tiles, NULL) != PZ_OK || !tiles.exact) return;
  const bool planar = net->abi->outputs[0].rank == 4;
  print_sizes(tiles.out, planar, patch), print_sizes(tiles.volume, planar, volume);
  o->tiling = "exact", o->patch = patch;
  if (tiles.volume[0]) o->volume = volume;
}

static pz_status check_model(pz_net *net, const char *path, const pz_compile_options *options, pz_json *j,
                             json_t *report, bool *good, pz_error *err) {
  pz_compile_options asked = PZ_COMPILE_OPTIONS;
  pz_model model;
  char patch[80], volume[80];
  if (options) asked = *options;
  take_tiles(net, &asked, patch, volume);
  PZ_TRY(pz_model_load(path, &asked, &model, err));
  pz_net_reset(net);
  comparison c = {.net = net, .err = err};
  const pz_status status = compare(&c, model.before, j, report, good, err);
  for (int32_t i = 0; c.kept && i < c.n; i++) free(c.kept[i].values);
  free(c.kept);
  pz_patch_free(&c.patch);
  pz_model_free(&model);
  return status;
}

static json_t *row_of(const json_t *manifest) {
  const json_t *index = json_object_get(manifest, "variant");
  return json_array_get(json_object_get(manifest, "variants"), (size_t)json_integer_value(index));
}

/* " (zen4)" of a file with several variants; else "". */
static void name_variant(pz_json *j, const pz_net *net, char *out, size_t size) {
  json_t *manifest = read_manifest(j, net);
  const char *target = json_string_value(json_object_get(row_of(manifest), "target"));
  *out = 0;
  if (target) snprintf(out, size, " (%s)", target);
  json_decref(manifest);
}

static pz_status verify(pz_net *net, const char *model, const pz_compile_options *options, pz_json *j,
                        json_t *report, pz_error *err) {
  bool good = true;
  char variant[80];
  pz_status status = check_self_test(net, j, report, &good, err);
  if (status == PZ_OK && model) status = check_model(net, model, options, j, report, &good, err);
  pz_json_set(j, report, "passed", json_boolean(status == PZ_OK && good));
  name_variant(j, net, variant, sizeof variant);
  if (status == PZ_OK) status = pz_json_end(j, "a report", err);
  if (status != PZ_OK || good) return status;
  return pz_fail(err, PZ_ERROR_RUN, "%s%s: its results differ from the %s; compile it again",
                 pz_runtime_path(net), variant, model ? "reference" : "stored self-test");
}

/* ---- several variants ---- */

typedef struct work {
  const char *path, *model;
  const pz_net_options *net;
  const pz_compile_options *options; /* or NULL */
  pz_json json;
} work;

/* The same file, whatever lies at its path now. */
static pz_status verify_other(work *w, const char *digest, const char *target, json_t *report,
                              pz_error *err) {
  pz_net_options how = *w->net;
  pz_net *net;
  how.target = target, how.digest = digest;
  PZ_TRY(pz_runtime_open(w->path, &how, &net, err));
  const pz_status status = verify(net, w->model, w->options, &w->json, report, err);
  pz_runtime_close(net);
  return status;
}

/* Each has its results compared, also where those of another differ. *worst: what the first of them fails with. */
static pz_status verify_row(work *w, const char *digest, const json_t *row, json_t *rows, pz_status *worst,
                            pz_error *err) {
  pz_json *j = &w->json;
  const char *target = json_string_value(json_object_get(row, "target"));
  json_t *one = json_object();
  pz_status status = PZ_OK;
  pz_json_set(j, one, "target", json_incref(json_object_get(row, "target")));
  pz_json_set(j, one, "isa", json_incref(json_object_get(row, "isa")));
  if (json_is_true(json_object_get(row, "runs_here"))) status = verify_other(w, digest, target, one, err);
  else pz_json_set(j, one, "self_test", json_string("not run: this machine has not its instruction set"));
  pz_json_append(j, rows, one);
  if (status != PZ_OK && *worst == PZ_OK) *worst = status;
  return status == PZ_ERROR_RUN ? PZ_OK : status;
}

/* Those beside the one that is open. */
static pz_status verify_others(work *w, pz_net *net, const json_t *manifest, json_t *report, pz_error *err) {
  const json_t *all = json_object_get(manifest, "variants");
  json_t *rows = json_array();
  const char *digest;
  pz_status worst = PZ_OK;
  PZ_TRY(pz_runtime_digest(net, &digest, err));
  for (const char *const *key = (const char *const[]){"target", "isa", NULL}; *key; key++)
    pz_json_set(&w->json, report, *key, json_incref(json_object_get(manifest, *key)));
  pz_json_set(&w->json, report, "variants", rows);
  for (size_t i = 0; i < json_array_size(all); i++)
    if ((json_int_t)i != json_integer_value(json_object_get(manifest, "variant")))
      PZ_TRY(verify_row(w, digest, json_array_get(all, i), rows, &worst, err));
  return worst;
}

static pz_status verify_all(work *w, pz_net *net, json_t *report, pz_error *err) {
  const pz_status status = verify(net, w->model, w->options, &w->json, report, err);
  json_t *manifest = read_manifest(&w->json, net);
  const bool others =
      json_object_get(manifest, "variants") && !w->net->target && !pz_mask_of_environment().name;
  pz_status other = PZ_OK;
  if (others && (status == PZ_OK || status == PZ_ERROR_RUN))
    other = verify_others(w, net, manifest, report, err);
  json_decref(manifest);
  return status == PZ_OK ? other : status;
}

/* ---- reports ---- */

/* The report is made also where the verification failed. */
static pz_status report_of(work *w, pz_net *net, char **report, pz_error *err) {
  json_t *json = json_object();
  if (report) *report = NULL;
  if (!json) return pz_fail_memory(err, "a report", 64);
  pz_status status =
      w->net ? verify_all(w, net, json, err) : verify(net, w->model, w->options, &w->json, json, err);
  if (w->options) status = pz_interrupted_end(w->options->interrupt, "verifying", status, err);
  if (!report || (status != PZ_OK && status != PZ_ERROR_RUN)) return json_decref(json), status;
  const pz_status out = pz_json_out(&w->json, json, report, err);
  return status == PZ_OK ? out : status;
}

static pz_status verify_file(work *w, char **report, pz_error *err) {
  pz_net *net;
  if (report) *report = NULL;
  if (!w->path) return pz_fail(err, PZ_ERROR_USAGE, "pz_verify: name a network file");
  PZ_TRY(pz_runtime_open(w->path, w->net, &net, err));
  const pz_status status = report_of(w, net, report, err);
  pz_runtime_close(net);
  return status;
}

pz_status pz_verify_net(pz_net *net, const char *model, const pz_compile_options *options, char **report) {
  pz_error err = {0};
  work w = {.model = model, .options = options};
  return pz_public_end(report_of(&w, net, report, &err), &err);
}

pz_status pz_verify_file(const char *network, const pz_net_options *net, const char *model,
                         const pz_compile_options *options, char **report) {
  static const pz_net_options defaults = PZ_NET_OPTIONS;
  pz_error err = {0};
  work w = {.path = network, .model = model, .net = net ? net : &defaults, .options = options};
  return pz_public_end(verify_file(&w, report, &err), &err);
}

pz_status pz_verify(const char *network, const char *model, const pz_compile_options *options,
                    int32_t threads, char **report) {
  return pz_verify_file(network, &(pz_net_options){.threads = threads}, model, options, report);
}
