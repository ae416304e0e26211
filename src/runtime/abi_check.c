#include "runtime/abi_check.h"
#include "base/arena.h"
#include "base/element.h"
#include <math.h>

#define MAX_PORTS    1024
#define MAX_TENSORS  (1 << 20)
#define MAX_STEPS    (1 << 20)
#define MAX_DIM      INT64_C(0x7fffffff)
#define MAX_ELEMENTS (INT64_C(1) << 40)
#define MAX_BYTES    (UINT64_C(1) << 46)
#define MAX_ALIGN    (UINT64_C(1) << 30)
#define MAX_BLOCK    64

/* 0: there is no such type. Numbers are those of pz_dtype (api.c). */
int64_t pz_abi_type_bytes(int32_t type) {
  return type >= 0 && type < PZ_ABI_TYPES ? pz_dtype_bytes((pz_dtype)type) : 0;
}

static pz_status bad(const char *path, const char *what, int32_t index, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: %s %d is not sound: compile it again", path, what, (int)index);
}

static bool count_is_sound(int32_t n, int32_t least, int32_t most, const void *array) {
  return n >= least && n <= most && (n == 0 || array);
}

static bool dims_are_sound(int32_t rank, const int64_t *dim) {
  if (rank < 0 || rank > PZ_ABI_MAX_RANK) return false;
  int64_t elements = 1;
  for (int i = 0; i < rank; i++)
    if (dim[i] < 1 || dim[i] > MAX_DIM || !pz_mul_i64(elements, dim[i], &elements) || elements > MAX_ELEMENTS)
      return false;
  return true;
}

int64_t pz_abi_port_elements(const pz_abi_port *port) {
  int64_t elements = 1;
  for (int i = 0; i < port->rank; i++) elements *= port->dim[i];
  return elements;
}

int64_t pz_abi_port_bytes(const pz_abi_port *port) {
  return pz_abi_port_elements(port) * pz_abi_type_bytes(port->type);
}

static bool element_is_sound(int32_t type, float scale, int32_t zero_point) {
  return pz_element_sound((pz_element){(pz_dtype)type, scale, zero_point});
}

static bool add_span(int64_t count, int64_t stride, int64_t *offset) {
  int64_t span;
  return stride >= 0 && pz_mul_i64(count, stride, &span) && pz_add_i64(*offset, span, offset);
}

/* Where a tensor's last element ends, in bytes from its base. */
static bool end_of(const pz_abi_tensor *t, int64_t size, int64_t *offset) {
  int64_t d[PZ_ABI_MAX_RANK] = {1, 1, 1, 1, 1}; /* n, c, d, h, w: the spatial ones from the right */
  for (int i = 0; i < t->rank; i++) d[i < 2 ? i : i + PZ_ABI_MAX_RANK - t->rank] = t->dim[i];
  *offset = t->offset;
  return t->offset >= 0 && add_span(d[0] - 1, t->stride_n, offset) &&
         add_span((d[1] - 1) / t->block, t->stride_c, offset) &&
         add_span((d[1] - 1) % t->block, size, offset) && add_span(d[2] - 1, t->stride_d, offset) &&
         add_span(d[3] - 1, t->stride_h, offset) && add_span(d[4] - 1, t->stride_w, offset) &&
         add_span(1, size, offset);
}

static bool tensor_is_sound(const pz_abi_network *net, const pz_abi_tensor *t) {
  const int64_t size = pz_abi_type_bytes(t->type);
  if (!t->name || !size || !dims_are_sound(t->rank, t->dim) || t->block < 1 || t->block > MAX_BLOCK ||
      !element_is_sound(t->type, t->scale, t->zero_point))
    return false;
  int64_t end, room;
  if (t->space == PZ_ABI_ARENA) room = (int64_t)net->arena_bytes;
  else if (t->space == PZ_ABI_STATE) room = (int64_t)net->state_bytes;
  else if (t->space == PZ_ABI_OUTPUT && t->index >= 0 && t->index < net->n_outputs)
    room = pz_abi_port_bytes(&net->outputs[t->index]);
  else return false;
  return end_of(t, size, &end) && end <= room;
}

static bool cost_is_sound(double x) { return isfinite(x) && x >= 0; }

/* Earlier steps, ascending. */
static bool needs_are_sound(const pz_abi_step *s, int32_t step) {
  if (!count_is_sound(s->n_needs, 0, step, s->needs)) return false;
  for (int32_t i = 0; i < s->n_needs; i++)
    if (s->needs[i] < (i ? s->needs[i - 1] + 1 : 0) || s->needs[i] >= step) return false;
  return true;
}

static bool step_is_sound(const pz_abi_network *net, int32_t step) {
  const pz_abi_step *s = &net->steps[step];
  return s->name && s->op && s->algorithm && cost_is_sound(s->multiply_adds) && cost_is_sound(s->bytes) &&
         s->tensor >= -1 && s->tensor < net->n_tensors && needs_are_sound(s, step);
}

static bool align_is_sound(uint64_t align) {
  return align > 0 && align <= MAX_ALIGN && !(align & (align - 1));
}

static bool sizes_are_sound(const pz_abi_network *net) {
  return net->arena_bytes <= MAX_BYTES && net->worker_bytes <= MAX_BYTES && net->state_bytes <= MAX_BYTES &&
         align_is_sound(net->arena_align) && (!net->state_bytes || align_is_sound(net->state_align));
}

/* The sizes of all structs, as the network's compiler counted them. */
static bool structs_are_ours(const pz_abi_network *net) {
  return net->struct_bytes == sizeof *net && net->port_bytes == sizeof *net->inputs &&
         net->tensor_bytes == sizeof *net->tensors && net->step_bytes == sizeof *net->steps &&
         net->call_bytes == sizeof(pz_abi_call);
}

static bool counts_are_sound(const pz_abi_network *net) {
  return count_is_sound(net->n_inputs, 1, MAX_PORTS, net->inputs) &&
         count_is_sound(net->n_outputs, 1, MAX_PORTS, net->outputs) &&
         count_is_sound(net->n_tensors, 0, MAX_TENSORS, net->tensors) &&
         count_is_sound(net->n_steps, 0, MAX_STEPS, net->steps);
}

static bool port_is_sound(const pz_abi_port *p) {
  return p->name && dims_are_sound(p->rank, p->dim) && element_is_sound(p->type, p->scale, p->zero_point);
}

static pz_status check_ports(const pz_abi_port *ports, int32_t n, const char *path, const char *what,
                             pz_error *err) {
  for (int32_t i = 0; i < n; i++)
    if (!port_is_sound(&ports[i])) return bad(path, what, i, err);
  return PZ_OK;
}

pz_status pz_abi_check(const pz_abi_network *net, const char *path, pz_error *err) {
  if (!net) return pz_fail(err, PZ_ERROR_INPUT, "%s: describes no network: compile it again", path);
  if (net->abi_version != PZ_ABI_VERSION)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has network ABI %u, this pznet reads ABI %d: compile it again",
                   path, (unsigned)net->abi_version, PZ_ABI_VERSION);
  if (!structs_are_ours(net))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its structs are not those of network ABI %d: compile it again",
                   path, PZ_ABI_VERSION);
  if (!net->run || !sizes_are_sound(net) || !counts_are_sound(net))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: sizes or counts are not sound: compile it again", path);
  PZ_TRY(check_ports(net->inputs, net->n_inputs, path, "input", err));
  PZ_TRY(check_ports(net->outputs, net->n_outputs, path, "output", err));
  for (int32_t i = 0; i < net->n_tensors; i++)
    if (!tensor_is_sound(net, &net->tensors[i])) return bad(path, "tensor", i, err);
  for (int32_t i = 0; i < net->n_steps; i++)
    if (!step_is_sound(net, i)) return bad(path, "step", i, err);
  return PZ_OK;
}
