/* The public functions of open networks: each is a check of its arguments around one function of the runtime. */
#include "base/dtype.h"
#include "base/inert.h"
#include "pznet/pznet.h"
#include "runtime/abi_check.h"
#include "runtime/private.h"
#include "runtime/profile.h"
#include "runtime/runtime.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A port's type is a pz_dtype by another name. */
#define SAME(name) static_assert((int)PZ_ABI_##name == (int)PZ_##name, "types of the ABI and of the API")
SAME(F32);
SAME(U8);
SAME(U16);
SAME(I16);
SAME(I8);
SAME(U32);
SAME(I32);
SAME(U64);
SAME(I64);
SAME(F16);
SAME(F64);
SAME(BOOL);
SAME(BF16);
#undef SAME
static_assert((int)PZ_ABI_TYPES == (int)PZ_DTYPES, "a type is missing above");

static _Thread_local char last_message[sizeof((pz_error *)0)->message];

const char *pz_version(void) { return PZ_VERSION; }
const char *pz_last_message(void) { return last_message; }
const char *pz_printable(const char *text, char *out, int32_t size) {
  if (size > 0) pz_inert(text ? text : "", out, (size_t)size);
  return out;
}
void pz_free(void *memory) { free(memory); }

pz_status pz_public_status(const pz_error *err) {
  if (err->status != PZ_OK) memcpy(last_message, err->message, sizeof last_message);
  return err->status;
}

static pz_status wrong_use(const char *what) {
  pz_error err = {0};
  pz_fail(&err, PZ_ERROR_USAGE, "%s", what);
  return pz_public_status(&err);
}

pz_status pz_net_open(const char *path, const pz_net_options *options, pz_net **net) {
  if (!net) return wrong_use("pz_net_open: net is NULL");
  *net = NULL;
  if (!path) return wrong_use("pz_net_open: path is NULL");
  pz_error err = {0};
  pz_runtime_open(path, options, net, &err);
  return pz_public_status(&err);
}

void pz_net_close(pz_net *net) { pz_runtime_close(net); }

int32_t pz_net_inputs(const pz_net *net) { return net->abi->n_inputs; }
int32_t pz_net_outputs(const pz_net *net) { return net->abi->n_outputs; }
int32_t pz_net_threads(const pz_net *net) { return pz_pool_threads(net->pool); }
const char *pz_net_manifest(const pz_net *net) { return net->manifest; }
int64_t pz_net_memory(const pz_net *net) { return net->memory_bytes; }
int32_t pz_net_steps(const pz_net *net) { return net->abi->n_steps; }

pz_status pz_net_digest(pz_net *net, const char **digest) {
  pz_error err = {0};
  pz_runtime_digest(net, digest, &err);
  return pz_public_status(&err);
}

static pz_status describe(const pz_abi_port *ports, int32_t n, int32_t index, const char *what,
                          pz_port *port) {
  pz_error err = {0};
  if (index < 0 || index >= n)
    return pz_fail(&err, PZ_ERROR_USAGE, "%s %d: the network has %d", what, (int)index, (int)n),
           pz_public_status(&err);
  const pz_abi_port *p = &ports[index];
  *port = (pz_port){.name = p->name,
                    .dtype = (pz_dtype)p->type,
                    .rank = p->rank,
                    .elements = pz_abi_port_elements(p),
                    .bytes = pz_abi_port_bytes(p),
                    .scale = p->scale,
                    .zero_point = p->zero_point};
  memcpy(port->dim, p->dim, sizeof p->dim[0] * (size_t)p->rank);
  return PZ_OK;
}

pz_status pz_net_input(const pz_net *net, int32_t index, pz_port *port) {
  return describe(net->abi->inputs, net->abi->n_inputs, index, "input", port);
}

pz_status pz_net_output(const pz_net *net, int32_t index, pz_port *port) {
  return describe(net->abi->outputs, net->abi->n_outputs, index, "output", port);
}

static bool all_there(const void *const *buffers, int32_t n) {
  for (int32_t i = 0; buffers && i < n; i++)
    if (!buffers[i]) return false;
  return buffers != NULL;
}

static bool buffers_are_there(const pz_net *net, const void *const *inputs, void *const *outputs) {
  return all_there(inputs, net->abi->n_inputs) &&
         all_there((const void *const *)outputs, net->abi->n_outputs);
}

pz_status pz_net_run(pz_net *net, const void *const *inputs, void *const *outputs) {
  if (!buffers_are_there(net, inputs, outputs)) return wrong_use("pz_net_run: an input or output is NULL");
  pz_error err = {0};
  pz_abi_call call = {.inputs = inputs, .outputs = outputs};
  pz_runtime_run(net, &call, &err);
  return pz_public_status(&err);
}

void pz_net_reset(pz_net *net) { pz_runtime_reset(net); }

static bool takes_places(const pz_net *net) {
  const pz_abi_port *place = &net->abi->inputs[1];
  return net->abi->n_inputs == 2 && net->abi->n_outputs == 1 && place->rank == 1 && place->dim[0] == 6 &&
         place->type == PZ_ABI_F32 && net->more->exact;
}

/* Floats hold all whole numbers up to 2^24. */
static bool is_place(const int64_t place[3], const int64_t volume[3]) {
  for (int i = 0; i < 3; i++)
    if (place[i] < 0 || place[i] > 1 << 23 || volume[i] < 1 || volume[i] > 1 << 23) return false;
  return true;
}

pz_status pz_net_stream(pz_net *net, const int64_t place[3], const int64_t volume[3], const void *planes,
                        void *results) {
  pz_error err = {0};
  float at[6];
  if (!net || !place || !volume || !planes || !results)
    return wrong_use("pz_net_stream: net, place, volume, planes and results must be given");
  if (!takes_places(net)) {
    pz_fail(&err, PZ_ERROR_INPUT,
            "%s: was not compiled for exact tiles of volumes; compile it with --tiling exact",
            pz_runtime_path(net));
    return pz_public_status(&err);
  }
  if (!is_place(place, volume))
    return wrong_use("pz_net_stream: a place or a size that is negative or above 2^23");
  for (int i = 0; i < 3; i++) at[i] = (float)place[i], at[3 + i] = (float)volume[i];
  return pz_net_run(net, (const void *const[]){planes, at}, (void *const[]){results});
}

pz_status pz_net_profile(pz_net *net, const void *const *inputs, void *const *outputs, int32_t runs,
                         pz_step_profile *steps) {
  if (!buffers_are_there(net, inputs, outputs))
    return wrong_use("pz_net_profile: an input or output is NULL");
  pz_error err = {0};
  pz_runtime_profile(net, inputs, outputs, runs, steps, &err);
  return pz_public_status(&err);
}
