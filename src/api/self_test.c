/* self_test.c: a stored run, so that a network file can be checked where it is used. */
#include "api/api.h"
#include "base/digest.h"
#include "base/memory.h"
#include "runtime/runtime.h"
#include "volume/locality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 32

/* splitmix64 (Steele, Lea, Flood 2014), to floats uniform in [-1, 1). */
float pz_next_uniform(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return (float)(int32_t)(z >> 40) * (1.0f / 8388608.0f) - 1.0f;
}

pz_element pz_port_element(const pz_net *net, bool input, int32_t index) {
  const pz_abi_port *port = input ? &net->abi->inputs[index] : &net->abi->outputs[index];
  return (pz_element){(pz_dtype)port->type, port->scale, port->zero_point};
}

/* Numbers in [-1, 1) become elements; of integers [-1, 1) is all of their range. */
static void fill_elements(pz_element e, uint64_t *state, int64_t n, void *out) {
  enum { PART = 1024 };
  float part[PART];
  const double greatest = pz_dtype_greatest(e.type), least = pz_dtype_least(e.type);
  const pz_element plain = {e.type, 1, 0};
  for (int64_t at = 0, many; at < n; at += many) {
    many = n - at < PART ? n - at : PART;
    for (int64_t i = 0; i < many; i++) part[i] = pz_next_uniform(state);
    for (int64_t i = 0; i < many && pz_dtype_is_integer(e.type); i++)
      part[i] = (float)(least + (greatest - least) * ((double)part[i] + 1) / 2);
    pz_elements_from(plain, part, many, (char *)out + at * pz_dtype_bytes(e.type));
  }
}

/* The second input of a network for exact tiles: a patch at a volume's first voxel. */
static bool fill_place(const pz_net *net, int32_t index, const pz_port *port, float *place) {
  pz_network_tiles tiles;
  if (index != 1 || port->rank != 1 || port->elements != 6 ||
      pz_network_tiles_read("", net->manifest, &tiles, NULL) != PZ_OK)
    return false;
  for (int i = 0; i < 6 && tiles.exact; i++) place[i] = i < 3 ? 0 : 65536;
  return tiles.exact;
}

static pz_status new_buffers(int32_t n, void ***list, pz_error *err) {
  *list = calloc((size_t)n + 1, sizeof **list);
  return *list ? PZ_OK : pz_fail_memory(err, "a patch", 64);
}

static pz_status fill(const pz_net *net, uint64_t seed, pz_patch *p, pz_error *err) {
  PZ_TRY(new_buffers(p->n_inputs, &p->inputs, err));
  PZ_TRY(new_buffers(p->n_outputs, &p->outputs, err));
  uint64_t state = seed;
  for (int32_t i = 0; i < p->n_inputs + p->n_outputs; i++) {
    const bool input = i < p->n_inputs;
    pz_port port;
    PZ_TRY(input ? pz_net_input(net, i, &port) : pz_net_output(net, i - p->n_inputs, &port));
    const pz_element e = pz_port_element(net, input, input ? i : i - p->n_inputs);
    const size_t bytes = (size_t)(port.elements * pz_dtype_bytes(e.type));
    void *data = pz_memory_allows(bytes) ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    if (!data) return pz_fail_memory(err, "a patch", bytes);
    *(input ? &p->inputs[i] : &p->outputs[i - p->n_inputs]) = data;
    if (input && fill_place(net, i, &port, data)) continue;
    if (input) fill_elements(e, &state, port.elements, data);
    else memset(data, 0, bytes);
  }
  return PZ_OK;
}

pz_status pz_patch_new(const pz_net *net, uint64_t seed, pz_patch *patch, pz_error *err) {
  *patch = (pz_patch){.n_inputs = pz_net_inputs(net), .n_outputs = pz_net_outputs(net)};
  pz_status status = pz_runtime_ask(net, err);
  if (status == PZ_OK) status = fill(net, seed, patch, err);
  if (status != PZ_OK) pz_patch_free(patch);
  return status;
}

void pz_patch_free(pz_patch *patch) {
  for (int32_t i = 0; patch->inputs && i < patch->n_inputs; i++) free(patch->inputs[i]);
  for (int32_t i = 0; patch->outputs && i < patch->n_outputs; i++) free(patch->outputs[i]);
  free(patch->inputs);
  free(patch->outputs);
  *patch = (pz_patch){0};
}

float *pz_patch_values(const pz_net *net, const pz_patch *patch, bool input, int32_t index) {
  pz_port port;
  if ((input ? pz_net_input : pz_net_output)(net, index, &port) != PZ_OK) return NULL;
  const size_t bytes = (size_t)port.elements * sizeof(float);
  float *values = pz_memory_allows(bytes) ? malloc(bytes + 1) : NULL;
  const void *elements = input ? patch->inputs[index] : patch->outputs[index];
  if (values) pz_elements_to(pz_port_element(net, input, index), elements, port.elements, values);
  return values;
}

/* What another machine's rounding may make of a sample beside its own error: the distance between neighbours, as a part of
 * floats, else as it is. */
static void note_rounding(pz_json *j, json_t *output, pz_element e) {
  if (pz_dtype_is_integer(e.type)) pz_json_set(j, output, "step", pz_json_real((double)e.scale));
  else if (e.type != PZ_F32)
    pz_json_set(j, output, "unit", pz_json_real(e.type == PZ_F16 ? 0x1p-10 : 0x1p-7));
}

static json_t *describe(pz_json *j, pz_element element, const void *elements, const float *values,
                        int64_t n) {
  char digest[65];
  pz_digest hash;
  pz_digest_begin(&hash);
  pz_digest_add(&hash, elements, (size_t)(n * pz_dtype_bytes(element.type)));
  pz_digest_end_text(&hash, digest);
  double squares = 0;
  for (int64_t i = 0; i < n; i++) squares += (double)values[i] * values[i];
  json_t *samples = json_array();
  for (int i = 0; i < SAMPLES; i++) {
    const double v = values[(n - 1) * i / (SAMPLES - 1)];
    pz_json_append(j, samples, pz_json_real(v));
  }
  json_t *output = pz_json_pack(j, "{s:s, s:o, s:o}", "sha256", digest, "l2", pz_json_real(sqrt(squares)),
                                "samples", samples);
  note_rounding(j, output, element);
  return output;
}

pz_status pz_self_test_run(pz_net *net, char **json, pz_error *err) {
  pz_patch patch;
  PZ_TRY(pz_patch_new(net, PZ_SELF_TEST_SEED, &patch, err));
  pz_net_reset(net);
  pz_status status = pz_net_run(net, (const void *const *)patch.inputs, (void *const *)patch.outputs);
  if (status != PZ_OK) pz_fail(err, status, "%s", pz_last_message());
  pz_json j = {0};
  json_t *outputs = json_array();
  for (int32_t i = 0; status == PZ_OK && i < patch.n_outputs; i++) {
    pz_port port;
    pz_net_output(net, i, &port);
    float *values = pz_patch_values(net, &patch, false, i);
    if (values)
      pz_json_append(&j, outputs,
                     describe(&j, pz_port_element(net, false, i), patch.outputs[i], values, port.elements));
    else status = pz_fail_memory(err, "a self-test", (unsigned long long)port.elements * 4);
    free(values);
  }
  pz_patch_free(&patch);
  json_t *self_test = pz_json_pack(&j, "{s:i, s:o}", "seed", PZ_SELF_TEST_SEED, "outputs", outputs);
  if (status != PZ_OK) json_decref(self_test);
  return status != PZ_OK ? status : pz_json_out(&j, self_test, json, err);
}

static double sample_difference(const json_t *a, const json_t *b) {
  const double scale = json_number_value(json_object_get(a, "l2"));
  const json_t *x = json_object_get(a, "samples"), *y = json_object_get(b, "samples");
  double worst = json_array_size(x) == json_array_size(y) && json_array_size(x) ? 0 : INFINITY;
  for (size_t i = 0; i < json_array_size(x) && i < json_array_size(y); i++) {
    const double rounding =
        json_number_value(json_object_get(a, "step")) +
        json_number_value(json_object_get(a, "unit")) * fabs(json_number_value(json_array_get(x, i)));
    const double difference =
        fabs(json_number_value(json_array_get(x, i)) - json_number_value(json_array_get(y, i)));
    const double relative = fmax(0, difference - rounding) /
                            fmax(fabs(json_number_value(json_array_get(x, i))), 1e-3 * fmax(scale, 1e-30));
    if (relative > worst) worst = relative;
  }
  return worst;
}

pz_status pz_self_test_compare(const char *stored, const char *now, bool *bits_equal, double *difference,
                               pz_error *err) {
  pz_json j = {0};
  json_t *a = pz_json_read(&j, stored, strlen(stored), 0, NULL),
         *b = pz_json_read(&j, now, strlen(now), 0, NULL);
  const json_t *x = json_object_get(a, "outputs"), *y = json_object_get(b, "outputs");
  const bool fits = json_is_array(x) && json_is_array(y) && json_array_size(x) == json_array_size(y);
  *bits_equal = fits;
  *difference = 0;
  for (size_t i = 0; fits && i < json_array_size(x); i++) {
    const json_t *p = json_array_get(x, i), *q = json_array_get(y, i);
    const char *s = json_string_value(json_object_get(p, "sha256")),
               *t = json_string_value(json_object_get(q, "sha256"));
    if (!s || !t || strcmp(s, t)) {
      *bits_equal = false;
      *difference = fmax(*difference, sample_difference(p, q));
    }
  }
  json_decref(a);
  json_decref(b);
  PZ_TRY(pz_json_end(&j, "self-tests", err));
  return fits
             ? PZ_OK
             : pz_fail(err, PZ_ERROR_INPUT, "the manifest's self-test is damaged; compile the network again");
}
