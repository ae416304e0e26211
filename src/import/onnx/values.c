/* values.c: names to values; constants and their room. */
#include "base/memory.h"
#include "import/onnx/onnx.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

int32_t pz_onnx_find_value(const pz_onnx *c, const char *name) {
  return pz_import_names_find(&c->index, name);
}

static bool grow(pz_onnx *c) {
  if (c->n_values < c->cap_values) return true;
  const int32_t room = c->cap_values ? 2 * c->cap_values : 256;
  pz_onnx_value *moved = PZ_NEW(c->arena, pz_onnx_value, room);
  if (!moved) return false;
  if (c->n_values) memcpy(moved, c->values, (size_t)c->n_values * sizeof *moved);
  c->values = moved;
  c->cap_values = room;
  return true;
}

pz_status pz_onnx_add_value(pz_onnx *c, const char *name, int32_t *index) {
  if (pz_onnx_find_value(c, name) >= 0)
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: two values are named '%.200s'", c->file, name);
  if (c->n_values >= PZ_MAX_TENSORS)
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: more than %d values", c->file, PZ_MAX_TENSORS);
  if (!grow(c) || !pz_import_names_put(&c->index, name, c->n_values)) return pz_onnx_no_memory(c);
  *index = c->n_values++;
  c->values[*index] = (pz_onnx_value){.name = name, .tensor = PZ_NONE};
  return PZ_OK;
}

/* ---- inputs of the current node ---- */

pz_onnx_value *pz_onnx_in(const pz_onnx *c, int32_t i) {
  if (i >= c->node->n_in || !*c->node->in[i]) return NULL;
  const int32_t at = pz_onnx_find_value(c, c->node->in[i]);
  return at < 0 ? NULL : &c->values[at];
}

bool pz_onnx_is_known(pz_onnx *c, int32_t i) {
  const pz_onnx_value *v = pz_onnx_in(c, i);
  c->guessed |= v && v->doubt == PZ_ONNX_CONSTANT;
  return v && v->known;
}

bool pz_onnx_all_known(pz_onnx *c) {
  for (int32_t i = 0; i < c->node->n_in; i++)
    if (pz_onnx_has(c, i) && !pz_onnx_is_known(c, i)) return false;
  return true;
}

pz_onnx_range pz_onnx_range_of(pz_onnx_type type) {
  const pz_onnx_type_traits *t = pz_onnx_type_get(type);
  if (!t || t->class == PZ_ONNX_FLOATING) return (pz_onnx_range){-(double)INFINITY, (double)INFINITY};
  if (type == PZ_ONNX_BOOL) return (pz_onnx_range){0, 1};
  const double half = ldexp(1, t->bits - 1);
  return t->class == PZ_ONNX_SIGNED ? (pz_onnx_range){-half, half - 1} : (pz_onnx_range){0, 2 * half - 1};
}

/* Of a constant that was not read yet: what its type says. */
pz_onnx_range pz_onnx_range_in(const pz_onnx *c, int32_t i) {
  const pz_onnx_value *v = pz_onnx_in(c, i);
  if (!v) return pz_onnx_range_of(PZ_ONNX_FLOAT);
  if (!v->known) return v->range;
  if (!v->constant || v->stored || !v->constant->elements) return pz_onnx_range_of(v->type);
  pz_onnx_range all = {(double)INFINITY, -(double)INFINITY};
  for (int64_t n = 0; n < v->constant->elements; n++) {
    const double number = pz_onnx_number(v->constant, n);
    all = (pz_onnx_range){fmin(all.low, number), fmax(all.high, number)};
  }
  return all;
}

pz_onnx_type pz_onnx_type_in(pz_onnx *c) {
  const pz_onnx_value *v = pz_onnx_in(c, 0);
  c->guessed |= v && v->state == PZ_ONNX_REFUSED;
  return v ? v->type : PZ_ONNX_FLOAT;
}

static const pz_shape guess = {4, {1, 8, 8, 8}}; /* of a value that was refused */

const pz_shape *pz_onnx_in_shape(pz_onnx *c, int32_t i) {
  const pz_onnx_value *v = pz_onnx_in(c, i);
  if (v->state == PZ_ONNX_REFUSED) {
    c->guessed = true;
    return &guess;
  }
  if (!v->known) return pz_onnx_shape(c, v->tensor);
  return v->stored ? &v->stored->shape : &v->constant->shape;
}

/* ---- constants ---- */

int64_t pz_onnx_elements(const pz_shape *shape) {
  int64_t product = 1;
  bool zero = false;
  for (int32_t i = 0; i < shape->rank; i++) zero |= shape->dim[i] == 0;
  for (int32_t i = 0; i < shape->rank && !zero; i++)
    if (!pz_mul_i64(product, shape->dim[i], &product)) return INT64_MAX;
  return zero ? 0 : product;
}

pz_status pz_onnx_check_shape(pz_onnx *c, const char *name, const pz_shape *shape) {
  int64_t product = 1;
  for (int32_t i = 0; i < shape->rank; i++)
    if (shape->dim[i] && (!pz_mul_i64(product, shape->dim[i], &product) || product > PZ_MAX_ELEMENTS))
      return pz_fail(c->err, PZ_ERROR_INPUT, "%s: '%.200s' has more than 2^40 elements", c->file, name);
  return PZ_OK;
}

static pz_status make_constant(pz_onnx *c, const char *name, pz_onnx_type type, const pz_shape *shape,
                               pz_onnx_space *space) {
  const int64_t elements = pz_onnx_elements(shape);
  PZ_TRY(pz_onnx_check_shape(c, name, shape));
  PZ_TRY(pz_onnx_take_elements(c, name, pz_onnx_words(type, elements)));
  pz_onnx_constant *k = PZ_NEW(c->arena, pz_onnx_constant, 1);
  *space = (pz_onnx_space){.constant = k};
  if (k && type == PZ_ONNX_DOUBLE) space->doubles = PZ_NEW(c->arena, double, elements);
  else if (k && pz_onnx_is_floating(type)) space->floats = PZ_NEW(c->arena, float, elements);
  else if (k) space->ints = PZ_NEW(c->arena, int64_t, elements);
  if (!space->floats && !space->doubles && !space->ints) return pz_onnx_no_memory(c);
  *k = (pz_onnx_constant){type, *shape, elements, space->floats, space->doubles, space->ints};
  return PZ_OK;
}

pz_status pz_onnx_new_constant(pz_onnx *c, pz_onnx_type type, const pz_shape *shape, pz_onnx_space *space) {
  PZ_TRY(pz_onnx_check_shape(c, c->node_name, shape));
  PZ_TRY(pz_onnx_take_made(c, pz_onnx_words(type, pz_onnx_elements(shape))));
  return make_constant(c, c->node_name, type, shape, space);
}

void pz_onnx_move(const pz_onnx_space *space, int64_t i, const pz_onnx_constant *k, int64_t from, int64_t n) {
  if (n < 1) return;
  if (k->floats) memcpy(space->floats + i, k->floats + from, (size_t)n * sizeof(float));
  else if (k->doubles) memcpy(space->doubles + i, k->doubles + from, (size_t)n * sizeof(double));
  else memcpy(space->ints + i, k->ints + from, (size_t)n * sizeof(int64_t));
}

/* All of a file beside the model, which was just opened. */
static pz_status digest_beside(pz_onnx *c, int64_t size) {
  enum { PIECE = 1 << 20 };
  char *part = malloc(PIECE);
  pz_status status = part ? PZ_OK : pz_onnx_no_memory(c);
  for (int64_t at = 0, n; at < size && status == PZ_OK; at += n) {
    n = size - at < PIECE ? size - at : PIECE;
    status = pz_arena_interrupted(c->arena) ? pz_fail_interrupted(c->err)
                                            : pz_onnx_files_read(&c->files, at, part, (size_t)n, c->err);
    if (status == PZ_OK) pz_digest_add(c->options->digest, part, (size_t)n);
  }
  free(part);
  return status;
}

/* *held: what the caller frees. Bytes of a wrong number are not read: the number is what decoding refuses. */
static pz_status read_external(pz_onnx *c, const pz_onnx_tensor *t, int64_t length, pz_onnx_raw *raw,
                               void **held) {
  const pz_onnx_type_traits *traits = pz_onnx_type_get(t->type);
  *raw = (pz_onnx_raw){(const uint8_t *)"", (size_t)length};
  if (!length || !traits || length != (t->elements * traits->bits + 7) / 8) return PZ_OK;
  *held = pz_memory_allows((uint64_t)length) ? malloc((size_t)length) : NULL;
  if (!*held) return pz_fail_memory(c->err, t->name, (unsigned long long)length);
  raw->bytes = *held;
  return pz_onnx_files_read(&c->files, t->offset, *held, (size_t)length, c->err);
}

static pz_status stored_raw(pz_onnx *c, const pz_onnx_tensor *t, const char *label, pz_onnx_raw *raw,
                            bool *is_raw, void **held) {
  *raw = (pz_onnx_raw){t->raw, t->raw_size};
  *is_raw = t->raw != NULL || t->external;
  if (!t->external) return PZ_OK;
  int64_t size;
  bool first;
  PZ_TRY(pz_onnx_files_get(&c->files, t->location, label, &size, &first, c->err));
  if (first && c->options->digest) PZ_TRY(digest_beside(c, size));
  const int64_t left = t->offset <= size ? size - t->offset : -1;
  const int64_t length = t->length < 0 ? left : t->length;
  if (left < 0 || length > left)
    return pz_fail(c->err, PZ_ERROR_INPUT,
                   "%s: its data is at bytes %lld to %llu of '%.200s', which has %lld bytes", label,
                   (long long)t->offset, (unsigned long long)t->offset + (uint64_t)(length < 0 ? 0 : length),
                   t->location, (long long)size);
  return read_external(c, t, length, raw, held);
}

static pz_status decode_own(pz_onnx *c, const char *name, const pz_onnx_tensor *t, const pz_onnx_values *to) {
  char label[512];
  pz_onnx_raw raw;
  bool is_raw;
  void *held = NULL;
  snprintf(label, sizeof label, "%.200s: tensor '%.200s'", c->file, name);
  pz_status status = stored_raw(c, t, label, &raw, &is_raw, &held);
  if (status == PZ_OK) status = pz_onnx_decode(t, is_raw ? &raw : NULL, label, to, c->err);
  free(held);
  return status;
}

static pz_status decode_stored(pz_onnx *c, const char *name, const pz_onnx_tensor *t,
                               const pz_onnx_values *to) {
  double number = 0;
  int64_t whole = 0;
  if (!t->fill) {
    PZ_TRY(decode_own(c, name, t, to));
    c->stored += pz_onnx_words((pz_onnx_type)t->type, t->elements);
    return PZ_OK;
  }
  PZ_TRY(decode_own(c, name, t->fill, &(pz_onnx_values){.doubles = &number, .ints = &whole}));
  for (int64_t i = 0; i < t->elements && to->floats; i++) to->floats[i] = (float)number;
  for (int64_t i = 0; i < t->elements && to->doubles; i++) to->doubles[i] = number;
  for (int64_t i = 0; i < t->elements && to->ints; i++) to->ints[i] = whole;
  return PZ_OK;
}

static pz_status check_stored(pz_onnx *c, const pz_onnx_value *v) {
  if (pz_onnx_type_get(v->stored->type)) return PZ_OK;
  return pz_fail(c->err, PZ_ERROR_INPUT,
                 "%s: tensor '%.200s' is of ONNX's data type %lld, which is not supported", c->file, v->name,
                 (long long)v->stored->type);
}

static pz_status read_value(pz_onnx *c, pz_onnx_value *v) {
  if (!v->stored) return PZ_OK;
  pz_onnx_space space;
  PZ_TRY(check_stored(c, v));
  if (v->stored->fill)
    PZ_TRY(pz_onnx_take_made(c, pz_onnx_words((pz_onnx_type)v->stored->type, v->stored->elements)));
  PZ_TRY(make_constant(c, v->name, (pz_onnx_type)v->stored->type, &v->stored->shape, &space));
  PZ_TRY(decode_stored(c, v->name, v->stored, &(pz_onnx_values){space.floats, space.doubles, space.ints}));
  v->constant = space.constant;
  v->stored = NULL;
  return PZ_OK;
}

pz_status pz_onnx_constant_in(pz_onnx *c, int32_t i, const pz_onnx_constant **constant) {
  pz_onnx_value *v = pz_onnx_in(c, i);
  if (!v) return pz_onnx_fail(c, "its input %d is missing", (int)i);
  c->guessed |= v->doubt != PZ_ONNX_COMPUTED;
  if (!v->known) return pz_onnx_refuse(c, "a computed input %d; it must be a constant", (int)i);
  PZ_TRY(read_value(c, v));
  *constant = v->constant;
  return PZ_OK;
}

pz_status pz_onnx_floats_in(pz_onnx *c, int32_t i, const pz_onnx_constant **constant) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  PZ_TRY(pz_onnx_constant_in(c, i, &k));
  *constant = k;
  if (k->floats) return PZ_OK;
  if (k->ints) return pz_onnx_fail(c, "its input %d must be of floats", (int)i);
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_FLOAT, &k->shape, &space));
  for (int64_t n = 0; n < k->elements; n++) space.floats[n] = (float)k->doubles[n];
  *constant = space.constant;
  return PZ_OK;
}

pz_status pz_onnx_ints_in(pz_onnx *c, int32_t i, const int64_t **ints, int32_t *count) {
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_constant_in(c, i, &k));
  if (!k->ints || k->shape.rank > 1 || k->elements > PZ_ONNX_MAX_LIST)
    return pz_onnx_fail(c, "its input %d must be a list of integers", (int)i);
  *ints = k->ints;
  *count = (int32_t)k->elements;
  return PZ_OK;
}

pz_status pz_onnx_number_in(pz_onnx *c, int32_t i, double *number) {
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_constant_in(c, i, &k));
  if (k->elements != 1) return pz_onnx_fail(c, "its input %d must be a single number", (int)i);
  *number = pz_onnx_number(k, 0);
  return PZ_OK;
}

bool pz_onnx_is_uniform(const pz_onnx_constant *k, double *number) {
  if (k->elements < 1) return false;
  *number = pz_onnx_number(k, 0);
  for (int64_t i = 1; i < k->elements; i++)
    if (k->ints ? k->ints[i] != k->ints[0] : pz_onnx_number(k, i) != *number) return false;
  return *number == *number;
}

/* ---- constants as tensors of the graph ---- */

/* An initialiser that nothing else has read goes straight from the file into the graph. */
static bool goes_straight(const pz_onnx_value *v) {
  return v->stored && pz_onnx_is_floating((pz_onnx_type)v->stored->type);
}

/* Before there is room in the graph for it. */
static pz_status take_tensor(pz_onnx *c, pz_onnx_value *v, int64_t elements) {
  const bool straight = goes_straight(v), made = !v->stored || v->stored->fill;
  if (straight || elements > c->max_elements) PZ_TRY(pz_onnx_take_elements(c, v->name, elements));
  if (made) PZ_TRY(pz_onnx_take_made(c, elements));
  return straight ? PZ_OK : read_value(c, v);
}

/* Weights of a model that will be refused are not read, so that it does not cost what a good one does: their pages stay
 * untouched. Small ones are, since layers look at the values of some. */
#define LARGE (1 << 16)

static pz_status fill_tensor(pz_onnx *c, const pz_onnx_value *v, pz_tensor_id id) {
  float *data = pz_graph_constant_data(c->graph, id);
  const pz_onnx_constant *k = v->constant;
  if (goes_straight(v) && pz_onnx_is_lost(c) && v->stored->elements >= LARGE) return PZ_OK;
  if (goes_straight(v)) return decode_stored(c, v->name, v->stored, &(pz_onnx_values){.floats = data});
  for (int64_t i = 0; i < k->elements; i++) {
    data[i] = (float)pz_onnx_number(k, i);
    if (k->ints && (double)data[i] != (double)k->ints[i])
      return pz_onnx_fail(c, "its input '%.200s' holds the integer %lld, which 32-bit floats do not", v->name,
                          (long long)k->ints[i]);
  }
  return PZ_OK;
}

/* While a node is folded: an input of its graph, as which the reference gets the values as they are. */
static pz_status bind(pz_onnx *c, const pz_onnx_value *v, const pz_shape *shape, pz_tensor_id *id) {
  pz_onnx_folding *f = &c->folding;
  for (int32_t i = 0; i < f->n; i++)
    if (f->values[i] == v) {
      *id = f->tensors[i];
      return PZ_OK;
    }
  const char *name = pz_onnx_fresh_name(c, v->name);
  if (!name) return pz_onnx_no_memory(c);
  if (!pz_onnx_elements(shape)) return pz_onnx_fail(c, "its input '%.200s' is empty", v->name);
  PZ_TRY(pz_graph_add_input(c->graph, name, shape, id, c->err));
  f->values[f->n] = v;
  f->tensors[f->n++] = *id;
  return PZ_OK;
}

static pz_status take_guess(pz_onnx *c, pz_onnx_value *v) {
  const char *name = pz_onnx_fresh_name(c, v->name);
  c->guessed = true;
  if (!name) return pz_onnx_no_memory(c);
  return v->tensor == PZ_NONE ? pz_graph_add_input(c->graph, name, &guess, &v->tensor, c->err) : PZ_OK;
}

pz_status pz_onnx_tensor_in(pz_onnx *c, int32_t i, pz_tensor_id *id) {
  pz_onnx_value *v = pz_onnx_in(c, i);
  if (!v) return pz_onnx_fail(c, "its input %d is missing", (int)i);
  if (v->state == PZ_ONNX_REFUSED) PZ_TRY(take_guess(c, v));
  if (c->folding.on) {
    const pz_onnx_constant *k = NULL;
    PZ_TRY(pz_onnx_constant_in(c, i, &k));
    return bind(c, v, &k->shape, id);
  }
  if (v->tensor == PZ_NONE) {
    if (v->stored) PZ_TRY(check_stored(c, v));
    const pz_shape shape = *pz_onnx_in_shape(c, i);
    if (!pz_onnx_elements(&shape)) return pz_onnx_fail(c, "its input '%.200s' is empty", v->name);
    pz_tensor_id made;
    PZ_TRY(take_tensor(c, v, pz_onnx_elements(&shape)));
    PZ_TRY(pz_graph_add_constant(c->graph, v->name, &shape, NULL, &made, c->err));
    PZ_TRY(fill_tensor(c, v, made));
    v->tensor = made;
  }
  *id = v->tensor;
  return PZ_OK;
}

/* ---- outputs of the current node ---- */

bool pz_onnx_wants(const pz_onnx *c, int32_t i) { return i < c->node->n_out && *c->node->out[i]; }

static pz_onnx_value *output(const pz_onnx *c, int32_t i) {
  return &c->values[pz_onnx_find_value(c, c->node->out[i])];
}

pz_status pz_onnx_give_constant(pz_onnx *c, int32_t i, const pz_onnx_constant *constant) {
  if (!pz_onnx_wants(c, i)) return PZ_OK;
  pz_onnx_value *v = output(c, i);
  v->state = PZ_ONNX_READY;
  v->known = true;
  v->tensor = PZ_NONE;
  v->constant = constant;
  v->type = constant->type;
  return PZ_OK;
}

/* Values that are moved stay in the range of those that they come from. */
static pz_onnx_range inherited(const pz_onnx *c, pz_onnx_type type) {
  const bool moves = c->row && c->row->types == PZ_ONNX_ANY && type != PZ_ONNX_BOOL;
  pz_onnx_range all = {(double)INFINITY, -(double)INFINITY};
  for (int32_t i = 0; i < c->node->n_in && moves; i++) {
    const pz_onnx_value *v = pz_onnx_in(c, i);
    if (!v || v->type != type) continue;
    const pz_onnx_range one = pz_onnx_range_in(c, i);
    all = (pz_onnx_range){fmin(all.low, one.low), fmax(all.high, one.high)};
  }
  return all.low <= all.high ? all : pz_onnx_range_of(type);
}

/* What the node made gets the value's name; what it was given is passed on by an identity. */
pz_status pz_onnx_give(pz_onnx *c, int32_t i, pz_tensor_id id, pz_onnx_type type) {
  if (!pz_onnx_wants(c, i)) return PZ_OK;
  if (c->folding.on) {
    *output(c, i) =
        (pz_onnx_value){.name = c->node->out[i], .state = PZ_ONNX_READY, .type = type, .tensor = id};
    return PZ_OK;
  }
  if (id < c->first_tensor || c->graph->tensors[id].data) {
    pz_node node = pz_node_new(PZ_OP_IDENTITY);
    PZ_TRY(pz_onnx_apply(c, &node, "result", &id));
  }
  PZ_TRY(pz_graph_rename_tensor(c->graph, id, c->node->out[i], c->err));
  pz_onnx_value *v = output(c, i);
  v->state = PZ_ONNX_READY;
  v->type = type;
  v->tensor = id;
  v->range = inherited(c, type);
  return PZ_OK;
}

pz_status pz_onnx_give_in(pz_onnx *c, int32_t i, pz_tensor_id id, pz_onnx_type type, pz_onnx_range range) {
  PZ_TRY(pz_onnx_give(c, i, id, type));
  if (pz_onnx_wants(c, i)) output(c, i)->range = range;
  return PZ_OK;
}
