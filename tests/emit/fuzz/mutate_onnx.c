/* mutate_onnx.c: an ONNX model as a tree of its fields, of which the messages that matter are known. What is not protobuf, or not a known
 * message, stays bytes. */
#include "mutate.h"

#include <stdio.h>
#include <string.h>

typedef enum message {
  BYTES,
  MODEL,
  OPSET,
  GRAPH,
  NODE,
  ATTRIBUTE,
  TENSOR,
  INFO,
  TYPE,
  TENSOR_TYPE,
  SHAPE,
  DIM
} message;
enum { MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_INITIALISER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum {
  ATTRIBUTE_NAME = 1,
  ATTRIBUTE_F = 2,
  ATTRIBUTE_I = 3,
  ATTRIBUTE_S = 4,
  ATTRIBUTE_INTS = 8,
  ATTRIBUTE_TYPE = 20
};
enum { TENSOR_DIMS = 1, TENSOR_TYPE_OF = 2, TENSOR_FLOATS = 4, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { INFO_NAME = 1, TYPE_ELEMENT = 1, DIM_VALUE = 1, DIM_SYMBOL = 2 };

static const struct {
  message in;
  uint32_t number;
  message is;
} nested[] = {{MODEL, MODEL_GRAPH, GRAPH},
              {MODEL, MODEL_OPSET, OPSET},
              {GRAPH, GRAPH_NODE, NODE},
              {GRAPH, GRAPH_INITIALISER, TENSOR},
              {GRAPH, GRAPH_INPUT, INFO},
              {GRAPH, GRAPH_OUTPUT, INFO},
              {GRAPH, 13, INFO},
              {NODE, NODE_ATTRIBUTE, ATTRIBUTE},
              {ATTRIBUTE, 5, TENSOR},
              {ATTRIBUTE, 6, GRAPH},
              {INFO, 2, TYPE},
              {TYPE, 1, TENSOR_TYPE},
              {TENSOR_TYPE, 2, SHAPE},
              {SHAPE, 1, DIM}};

typedef struct field {
  message in, is;
  uint32_t number;
  int wire;
  uint64_t value; /* of wire type 0 */
  const uint8_t *bytes;
  size_t size;
  struct field *inside, *next; /* inside: of messages */
} field;

typedef struct mutant {
  pz_arena *arena;
  uint64_t random;
  field *root; /* the fields of the model */
  field **found;
  int64_t n_found, room;
} mutant;

/* ---- bytes to tree and back ---- */

typedef struct reader {
  const uint8_t *at, *end;
} reader;

static bool read_varint(reader *r, uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
    const uint8_t byte = *r->at++;
    *value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

static message inside_of(message in, uint32_t number) {
  for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
    if (nested[i].in == in && nested[i].number == number) return nested[i].is;
  return BYTES;
}

/* One field's own bytes; false where none is whole. */
static bool read_field(reader *r, field *f) {
  uint64_t tag, size = 0;
  if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return false;
  f->number = (uint32_t)(tag >> 3);
  f->wire = (int)(tag & 7);
  if (f->wire == 0) return read_varint(r, &f->value);
  if (f->wire == 2 && !read_varint(r, &size)) return false;
  if (f->wire != 1 && f->wire != 2 && f->wire != 5) return false;
  f->size = f->wire == 1 ? 8 : f->wire == 5 ? 4 : size;
  if (f->size > (size_t)(r->end - r->at)) return false;
  f->bytes = r->at;
  r->at += f->size;
  return true;
}

/* False where the bytes are no message; *fields is what was read before. */
static bool read_message(mutant *m, message is, const uint8_t *bytes, size_t size, int depth,
                         field **fields) {
  reader r = {bytes, bytes + size};
  *fields = NULL;
  while (r.at < r.end) {
    field *f = PZ_NEW(m->arena, field, 1);
    if (!f || depth > 12) return false;
    f->in = is;
    if (!read_field(&r, f)) return false;
    f->is = f->wire == 2 ? inside_of(is, f->number) : BYTES;
    if (f->is != BYTES && !read_message(m, f->is, f->bytes, f->size, depth + 1, &f->inside)) f->is = BYTES;
    *fields = f;
    fields = &f->next;
  }
  return true;
}

static void put_varint(pz_text *out, uint64_t value) {
  for (; value > 0x7F; value >>= 7) pz_text_append_bytes(out, &(char){(char)(value | 0x80)}, 1);
  pz_text_append_bytes(out, &(char){(char)value}, 1);
}

static void put_fields(const field *f, pz_text *out) {
  for (; f; f = f->next) {
    put_varint(out, (uint64_t)f->number << 3 | (uint64_t)f->wire);
    pz_text inside = {0};
    if (f->is != BYTES) put_fields(f->inside, &inside);
    const size_t size = f->is != BYTES ? inside.size : f->size;
    if (f->wire == 0) put_varint(out, f->value);
    if (f->wire == 2) put_varint(out, size);
    if (f->wire && size)
      pz_text_append_bytes(out, f->is != BYTES ? inside.data : (const char *)f->bytes, size);
    pz_text_free(&inside);
  }
}

/* ---- finding ---- */

static void keep(mutant *m, field *f) {
  if (m->n_found == m->room) {
    const int64_t room = m->room ? 2 * m->room : 64;
    field **more = PZ_NEW(m->arena, field *, (size_t)room);
    if (!more) return;
    if (m->room) memcpy(more, m->found, (size_t)m->room * sizeof *more);
    m->found = more;
    m->room = room;
  }
  m->found[m->n_found++] = f;
}

static void find_from(mutant *m, field *f, message in, uint32_t number) {
  for (; f; f = f->next) {
    if (f->in == in && f->number == number) keep(m, f);
    if (f->is != BYTES) find_from(m, f->inside, in, number);
  }
}

/* Of these fields alone. */
static void find_in(mutant *m, field *f, message in, uint32_t number) {
  for (; f; f = f->next)
    if (f->in == in && f->number == number) keep(m, f);
}

/* Any of them; NULL where there are none. */
static field *any(mutant *m, message in, uint32_t number) {
  m->n_found = 0;
  find_from(m, m->root, in, number);
  return m->n_found ? m->found[mutate_pick(&m->random, m->n_found)] : NULL;
}

/* A name of a value: an input, a constant, a result. */
static field *any_value(mutant *m) {
  m->n_found = 0;
  find_from(m, m->root, NODE, NODE_OUTPUT);
  find_from(m, m->root, TENSOR, TENSOR_NAME);
  find_from(m, m->root, INFO, INFO_NAME);
  return m->n_found ? m->found[mutate_pick(&m->random, m->n_found)] : NULL;
}

static field *graph_of(mutant *m) {
  for (field *f = m->root; f; f = f->next)
    if (f->is == GRAPH) return f;
  return NULL;
}

/* One that is there before the node; mostly. */
static field *earlier_value(mutant *m, const field *node) {
  const field *graph = graph_of(m);
  if (!graph || !mutate_pick(&m->random, 20)) return any_value(m);
  m->n_found = 0;
  for (field *f = graph->inside; f; f = f->next)
    if (f->is == TENSOR) find_in(m, f->inside, TENSOR, TENSOR_NAME);
    else if (f->is == INFO && f->number == GRAPH_INPUT) find_in(m, f->inside, INFO, INFO_NAME);
  for (field *f = graph->inside; f && f != node; f = f->next)
    if (f->is == NODE) find_in(m, f->inside, NODE, NODE_OUTPUT);
  return m->n_found ? m->found[mutate_pick(&m->random, m->n_found)] : NULL;
}

static field *first(field *f, uint32_t number) {
  while (f && f->number != number) f = f->next;
  return f;
}

/* ---- making ---- */

static void set_bytes(mutant *m, field *f, const void *bytes, size_t size) {
  uint8_t *copy = PZ_NEW(m->arena, uint8_t, size + 1);
  if (!copy) return;
  if (size) memcpy(copy, bytes, size);
  f->bytes = copy;
  f->size = size;
  f->wire = 2;
  f->is = BYTES;
}

/* At the end of a message. */
static field *append(mutant *m, field **fields, message in, uint32_t number) {
  field *f = PZ_NEW(m->arena, field, 1);
  if (!f) return NULL;
  *f = (field){.in = in, .number = number, .wire = 2, .is = inside_of(in, number)};
  while (*fields) fields = &(*fields)->next;
  return *fields = f;
}
static void append_text(mutant *m, field **fields, message in, uint32_t number, const void *text,
                        size_t size) {
  field *f = append(m, fields, in, number);
  if (f) set_bytes(m, f, text, size);
}
static void append_number(mutant *m, field **fields, message in, uint32_t number, int64_t value) {
  field *f = append(m, fields, in, number);
  if (f) f->wire = 0, f->is = BYTES, f->value = (uint64_t)value;
}

static field *copy_of(mutant *m, const field *f) {
  field *copy = PZ_NEW(m->arena, field, 1);
  if (!copy) return NULL;
  *copy = *f;
  copy->next = NULL;
  field **to = &copy->inside;
  *to = NULL;
  for (const field *k = f->is != BYTES ? f->inside : NULL; k; k = k->next)
    if ((*to = copy_of(m, k))) to = &(*to)->next;
  return copy;
}

static bool same(const field *a, const field *b) {
  return a->size == b->size && (!a->size || !memcmp(a->bytes, b->bytes, a->size));
}

/* In all that names values. */
static void rename_all(mutant *m, field *f, const field *from, const void *to, size_t size) {
  for (; f; f = f->next) {
    const bool names = (f->in == NODE && f->number <= NODE_OUTPUT) ||
                       (f->in == TENSOR && f->number == TENSOR_NAME) ||
                       (f->in == INFO && f->number == INFO_NAME);
    if (f != from && names && f->is == BYTES && f->wire == 2 && same(f, from)) set_bytes(m, f, to, size);
    if (f->is != BYTES) rename_all(m, f->inside, from, to, size);
  }
}

/* ---- sizes and numbers ---- */

static void size_of_port(mutant *m) {
  field *f = any(m, DIM, DIM_VALUE);
  if (f)
    f->value =
        (uint64_t)(mutate_pick(&m->random, 8) ? 1 + mutate_pick(&m->random, 24) : mutate_number(&m->random));
}

static void symbol_of_port(mutant *m) {
  field *f = any(m, SHAPE, 1);
  if (!f || f->is != DIM) return;
  const char *name = mutate_name(&m->random);
  f->inside = NULL;
  if (mutate_pick(&m->random, 2)) append_text(m, &f->inside, DIM, DIM_SYMBOL, name, strlen(name));
}

/* Gives a tensor as many floats or whole numbers as its sizes want, if these are few. */
static void fill(mutant *m, field *tensor) {
  int64_t n = 1, type = 1;
  for (field *f = tensor->inside; f; f = f->next) {
    if (f->number == TENSOR_DIMS && f->wire == 0 && __builtin_mul_overflow(n, (int64_t)f->value, &n)) return;
    if (f->number == TENSOR_TYPE_OF && f->wire == 0) type = (int64_t)f->value;
    if (n < 0 || n > 30000) return;
  }
  const size_t width = type == 7 || type == 11 ? 8 : type == 1 || type == 6 ? 4 : 0;
  uint8_t *bytes = width ? PZ_NEW(m->arena, uint8_t, (size_t)n * width + 1) : NULL;
  if (!bytes) return;
  for (int64_t i = 0; i < n; i++) {
    const float value = (float)(mutate_pick(&m->random, 2001) - 1000) / 1000.0f;
    const int64_t whole = mutate_pick(&m->random, 5) - 1;
    memcpy(bytes + (size_t)i * width, type == 1 ? (const void *)&value : (const void *)&whole,
           width == 4 ? 4 : 8);
  }
  for (field **at = &tensor->inside; *at;)
    if ((*at)->number >= TENSOR_FLOATS && (*at)->number != TENSOR_NAME) *at = (*at)->next;
    else at = &(*at)->next;
  append_text(m, &tensor->inside, TENSOR, TENSOR_RAW, bytes, (size_t)n * width);
}

static void size_of_tensor(mutant *m) {
  field *tensor = any(m, GRAPH, GRAPH_INITIALISER), *dims[8];
  int64_t n = 0;
  if (!tensor || tensor->is != TENSOR) return;
  for (field *f = tensor->inside; f && n < 8; f = f->next)
    if (f->number == TENSOR_DIMS && f->wire == 0) dims[n++] = f;
  if (n && mutate_pick(&m->random, 8))
    dims[mutate_pick(&m->random, n)]->value = (uint64_t)mutate_number(&m->random);
  else append_number(m, &tensor->inside, TENSOR, TENSOR_DIMS, 1 + mutate_pick(&m->random, 3));
  fill(m, tensor);
}

static void number_of_attribute(mutant *m) {
  field *f = any(m, ATTRIBUTE, mutate_pick(&m->random, 3) ? ATTRIBUTE_INTS : ATTRIBUTE_I);
  if (f && f->wire == 0) f->value = (uint64_t)mutate_number(&m->random);
  else if (f && f->size) { /* packed */ uint8_t *bytes = PZ_NEW(m->arena, uint8_t, f->size);
    if (!bytes) return;
    memcpy(bytes, f->bytes, f->size);
    bytes[mutate_pick(&m->random, (int64_t)f->size)] = (uint8_t)mutate_pick(&m->random, 9);
    f->bytes = bytes;
  }
}

static void float_of_attribute(mutant *m) {
  field *f = any(m, ATTRIBUTE, ATTRIBUTE_F);
  const float value = mutate_float(&m->random);
  if (!f) return;
  set_bytes(m, f, &value, sizeof value);
  f->wire = 5;
}

static void text_of_attribute(mutant *m) {
  static const char *const texts[] = {"SAME_UPPER", "SAME_LOWER",    "VALID",      "NOTSET",
                                      "linear",     "nearest",       "cubic",      "constant",
                                      "edge",       "reflect",       "wrap",       "DCR",
                                      "CRD",        "floor",         "ceil",       "round_prefer_ceil",
                                      "asymmetric", "align_corners", "half_pixel", "none",
                                      "tanh"};
  field *f = any(m, ATTRIBUTE, ATTRIBUTE_S);
  const char *text = texts[mutate_pick(&m->random, sizeof texts / sizeof *texts)];
  if (f) set_bytes(m, f, text, strlen(text));
}

static void values_of_tensor(mutant *m) {
  field *f = any(m, TENSOR, TENSOR_RAW);
  if (!f || f->size < 4 || f->wire != 2) return;
  const int64_t at = mutate_pick(&m->random, (int64_t)f->size / 4) * 4;
  const float value = mutate_float(&m->random);
  const int32_t whole = (int32_t)mutate_number(&m->random);
  uint8_t *bytes = PZ_NEW(m->arena, uint8_t, f->size);
  if (!bytes) return;
  memcpy(bytes, f->bytes, f->size);
  memcpy(bytes + at, mutate_pick(&m->random, 2) ? (const void *)&value : (const void *)&whole, 4);
  f->bytes = bytes;
}

static void type_of_tensor(mutant *m) {
  field *f = mutate_pick(&m->random, 2) ? any(m, TENSOR, TENSOR_TYPE_OF) : any(m, TENSOR_TYPE, TYPE_ELEMENT);
  if (f && f->wire == 0) f->value = (uint64_t)mutate_pick(&m->random, 24);
}

static void version(mutant *m) {
  field *f = any(m, OPSET, OPSET_VERSION);
  if (f && f->wire == 0) f->value = (uint64_t)(5 + mutate_pick(&m->random, 25));
}

/* ---- names and edges ---- */

/* Mostly none that another value has. */
static void name_of_value(mutant *m) {
  const field *f = any_value(m);
  char name[80];
  const int n = snprintf(name, sizeof name, "%s", mutate_name(&m->random));
  if (!f) return;
  const field from = *f;
  if (mutate_pick(&m->random, 10))
    snprintf(name + n, sizeof name - (size_t)n, "%d", (int)mutate_pick(&m->random, 100000));
  rename_all(m, m->root, &from, name, strlen(name));
}

static void name_of_node(mutant *m) {
  field *node = any(m, GRAPH, GRAPH_NODE);
  const char *text = mutate_name(&m->random);
  if (!node || node->is != NODE) return;
  field *name = first(node->inside, NODE_NAME);
  if (name) set_bytes(m, name, text, strlen(text));
  else append_text(m, &node->inside, NODE, NODE_NAME, text, strlen(text));
}

/* Of any input of a node: another value, mostly; or none; or one more input. */
static void edge(mutant *m) {
  field *node = any(m, GRAPH, GRAPH_NODE);
  const field *value;
  if (!node || node->is != NODE || !(value = earlier_value(m, node))) return;
  m->n_found = 0;
  find_in(m, node->inside, NODE, NODE_INPUT);
  if (!m->n_found || !mutate_pick(&m->random, 20)) {
    append_text(m, &node->inside, NODE, NODE_INPUT, value->bytes, value->size);
    return;
  }
  field *f = m->found[mutate_pick(&m->random, m->n_found)];
  if (mutate_pick(&m->random, 10)) set_bytes(m, f, value->bytes, value->size);
  else set_bytes(m, f, "", 0);
}

/* Without a shape, which would be another one. */
static void set_output(mutant *m, field *port, const field *value) {
  port->inside = NULL;
  append_text(m, &port->inside, INFO, INFO_NAME, value->bytes, value->size);
}

/* One more, or another one. */
static void output(mutant *m) {
  const field *value = any(m, NODE, NODE_OUTPUT);
  field *port = any(m, GRAPH, GRAPH_OUTPUT), *graph = graph_of(m);
  if (!value || !port || port->is != INFO || !graph) return;
  if (mutate_pick(&m->random, 2)) {
    field *more = copy_of(m, port), **to = &graph->inside;
    while (*to) to = &(*to)->next;
    if (more) *to = port = more;
  }
  set_output(m, port, value);
}

/* One only: what does not lead there is not looked at, and so refuses nothing. */
static void focus(mutant *m) {
  const field *value = any(m, NODE, NODE_OUTPUT);
  field *graph = graph_of(m);
  bool kept = false;
  for (field **at = graph && value ? &graph->inside : NULL; at && *at;) {
    if ((*at)->number != GRAPH_OUTPUT || (*at)->is != INFO) {
      at = &(*at)->next;
      continue;
    }
    if (kept) {
      *at = (*at)->next;
      continue;
    }
    kept = true;
    set_output(m, *at, value);
    at = &(*at)->next;
  }
}

/* ---- nodes ---- */

static const char *const unary[] = {"Relu",
                                    "Sigmoid",
                                    "Tanh",
                                    "Elu",
                                    "LeakyRelu",
                                    "Softmax",
                                    "GlobalAveragePool",
                                    "Abs",
                                    "Neg",
                                    "Exp",
                                    "Sqrt",
                                    "Identity",
                                    "Flatten",
                                    "Softplus",
                                    "HardSigmoid",
                                    "Ceil",
                                    "Floor",
                                    "Erf",
                                    "Selu",
                                    "LogSoftmax",
                                    "Transpose",
                                    "HardSwish",
                                    "Celu",
                                    "Reciprocal",
                                    "Log",
                                    "Sign",
                                    "Round",
                                    "Dropout",
                                    "Softsign",
                                    "GlobalMaxPool",
                                    "Mish",
                                    "Gelu",
                                    "MaxPool",
                                    "AveragePool",
                                    "ReduceMean",
                                    "ReduceMax",
                                    "ReduceSum",
                                    "ArgMax",
                                    "LRN",
                                    "DepthToSpace",
                                    "SpaceToDepth",
                                    "Shape",
                                    "Size",
                                    "Squeeze",
                                    "Cast",
                                    "LpNormalization",
                                    "MeanVarianceNormalization",
                                    "Not",
                                    "IsNaN"};
static const char *const binary[] = {
    "Add",     "Sub",    "Mul",   "Div",     "Max",    "Min",   "Pow",  "Concat",        "Sum",
    "Mean",    "Less",   "Equal", "Greater", "MatMul", "PRelu", "Conv", "ConvTranspose", "Gather",
    "Reshape", "Expand", "Tile",  "And",     "Mod",    "Where", "Gemm"};

static const char *const all[] = {
#define OPERATOR(op, since, min_in, max_in, types, build) #op,
#include "import/onnx/operators.inc"
#undef OPERATOR
};

static void operator_of_node(mutant *m) {
  field *f = any(m, NODE, NODE_OP);
  const int64_t kind = mutate_pick(&m->random, 3);
  const char *op = kind == 0   ? unary[mutate_pick(&m->random, sizeof unary / sizeof *unary)]
                   : kind == 1 ? binary[mutate_pick(&m->random, sizeof binary / sizeof *binary)]
                               : all[mutate_pick(&m->random, sizeof all / sizeof *all)];
  if (f) set_bytes(m, f, op, strlen(op));
}

static void fresh(mutant *m, char out[32]) {
  snprintf(out, 32, "new%llx", (unsigned long long)mutate_next(&m->random));
}

static void add_ints(mutant *m, field *node, const char *name, int n, int64_t most, int64_t least) {
  field *a = append(m, &node->inside, NODE, NODE_ATTRIBUTE);
  if (!a) return;
  append_text(m, &a->inside, ATTRIBUTE, ATTRIBUTE_NAME, name, strlen(name));
  for (int i = 0; i < n; i++)
    append_number(m, &a->inside, ATTRIBUTE, ATTRIBUTE_INTS,
                  least + mutate_pick(&m->random, most - least + 1));
  append_number(m, &a->inside, ATTRIBUTE, ATTRIBUTE_TYPE, 7);
}

static void add_int(mutant *m, field *node, const char *name, int64_t value) {
  field *a = append(m, &node->inside, NODE, NODE_ATTRIBUTE);
  if (!a) return;
  append_text(m, &a->inside, ATTRIBUTE, ATTRIBUTE_NAME, name, strlen(name));
  append_number(m, &a->inside, ATTRIBUTE, ATTRIBUTE_I, value);
  append_number(m, &a->inside, ATTRIBUTE, ATTRIBUTE_TYPE, 2);
}

/* How many spatial dimensions inputs of the model have. */
static int spatial(mutant *m) {
  field *f = any(m, TENSOR_TYPE, 2);
  int n = 0;
  for (field *d = f && f->is == SHAPE ? f->inside : NULL; d; d = d->next) n++;
  return n > 2 && n < 6 ? n - 2 : 2;
}

static void add_attributes(mutant *m, field *node, const char *op) {
  const int n = spatial(m);
  if (strstr(op, "Pool") && op[0] != 'G') {
    add_ints(m, node, "kernel_shape", n, 3, 1);
    if (mutate_pick(&m->random, 2)) add_ints(m, node, "strides", n, 3, 1);
    if (mutate_pick(&m->random, 2)) add_ints(m, node, "pads", 2 * n, 1, 0);
    if (mutate_pick(&m->random, 3) == 0) add_int(m, node, "ceil_mode", 1);
  }
  if (!strcmp(op, "Concat") || (!strcmp(op, "ArgMax") && mutate_pick(&m->random, 2)))
    add_int(m, node, "axis", mutate_pick(&m->random, n + 2));
  if (!strcmp(op, "LRN")) add_int(m, node, "size", 1 + 2 * mutate_pick(&m->random, 3));
  if (strstr(op, "DepthTo") || strstr(op, "ToDepth"))
    add_int(m, node, "blocksize", 1 + mutate_pick(&m->random, 3));
  if (!strncmp(op, "Conv", 4)) {
    if (mutate_pick(&m->random, 2)) add_ints(m, node, "strides", n, 3, 1);
    if (mutate_pick(&m->random, 2)) add_ints(m, node, "pads", 2 * n, 2, 0);
    if (mutate_pick(&m->random, 3) == 0) add_ints(m, node, "dilations", n, 2, 1);
    if (mutate_pick(&m->random, 3) == 0) add_int(m, node, "group", 1 + mutate_pick(&m->random, 4));
  }
}

/* Weights for a new convolution, of which chance knows the channels of the input. */
static void add_weights(mutant *m, field *node) {
  field *graph = graph_of(m), *tensor = graph ? append(m, &graph->inside, GRAPH, GRAPH_INITIALISER) : NULL;
  const field *channels = any(m, DIM, DIM_VALUE);
  const int n = spatial(m);
  char name[32];
  fresh(m, name);
  if (!tensor) return;
  append_number(m, &tensor->inside, TENSOR, TENSOR_DIMS, 1 + mutate_pick(&m->random, 20));
  append_number(m, &tensor->inside, TENSOR, TENSOR_DIMS,
                channels && channels->value < 50 ? (int64_t)channels->value : 1 + mutate_pick(&m->random, 4));
  for (int i = 0; i < n; i++)
    append_number(m, &tensor->inside, TENSOR, TENSOR_DIMS, 1 + mutate_pick(&m->random, 5));
  append_number(m, &tensor->inside, TENSOR, TENSOR_TYPE_OF, 1);
  append_text(m, &tensor->inside, TENSOR, TENSOR_NAME, name, strlen(name));
  fill(m, tensor);
  append_text(m, &node->inside, NODE, NODE_INPUT, name, strlen(name));
}

/* A node between a value and one of those that read it; the graph keeps the order, mostly. */
static void insert(mutant *m) {
  field *reader_node = any(m, GRAPH, GRAPH_NODE);
  field *use = reader_node && reader_node->is == NODE ? first(reader_node->inside, NODE_INPUT) : NULL;
  if (use && mutate_pick(&m->random, 2) && use->next && use->next->number == NODE_INPUT) use = use->next;
  if (!use) return;
  const bool one = mutate_pick(&m->random, 5) < 3;
  const char *op = one ? unary[mutate_pick(&m->random, sizeof unary / sizeof *unary)]
                       : binary[mutate_pick(&m->random, sizeof binary / sizeof *binary)];
  field *node = PZ_NEW(m->arena, field, 1);
  char name[32];
  fresh(m, name);
  if (!node) return;
  *node = (field){.in = GRAPH, .is = NODE, .number = GRAPH_NODE, .wire = 2};
  append_text(m, &node->inside, NODE, NODE_INPUT, use->bytes, use->size);
  const field *other = mutate_pick(&m->random, 3) ? use : earlier_value(m, reader_node);
  if (!strncmp(op, "Conv", 4)) add_weights(m, node);
  else if (!one && other) append_text(m, &node->inside, NODE, NODE_INPUT, other->bytes, other->size);
  append_text(m, &node->inside, NODE, NODE_OUTPUT, name, strlen(name));
  append_text(m, &node->inside, NODE, NODE_OP, op, strlen(op));
  add_attributes(m, node, op);
  set_bytes(m, use, name, strlen(name));
  field *graph = graph_of(m);
  for (field **at = graph ? &graph->inside : &node->next; *at; at = &(*at)->next)
    if (*at == reader_node) {
      node->next = *at;
      *at = node;
      return;
    }
}

static void duplicate(mutant *m) {
  field *node = any(m, GRAPH, GRAPH_NODE), *twin = node ? copy_of(m, node) : NULL;
  if (!twin || twin->is != NODE) return;
  twin->next = node->next;
  node->next = twin;
  field *out = first(twin->inside, NODE_OUTPUT), *use = any(m, NODE, NODE_INPUT);
  char name[32];
  fresh(m, name);
  if (out && mutate_pick(&m->random, 10)) set_bytes(m, out, name, strlen(name));
  if (out && use) set_bytes(m, use, out->bytes, out->size);
}

static void drop(mutant *m) {
  field *node = any(m, GRAPH, GRAPH_NODE), *graph = graph_of(m);
  if (!node || node->is != NODE || !graph) return;
  const field *in = first(node->inside, NODE_INPUT), *out = first(node->inside, NODE_OUTPUT);
  for (field **at = &graph->inside; *at; at = &(*at)->next)
    if (*at == node) {
      *at = node->next;
      break;
    }
  if (!in || !out || !mutate_pick(&m->random, 10)) return;
  m->n_found = 0;
  find_from(m, m->root, NODE, NODE_INPUT);
  for (int64_t i = 0; i < m->n_found; i++)
    if (same(m->found[i], out)) set_bytes(m, m->found[i], in->bytes, in->size);
}

static void swap(mutant *m) {
  field *a = any(m, GRAPH, GRAPH_NODE), *b = any(m, GRAPH, GRAPH_NODE);
  if (!a || !b || a->is != NODE || b->is != NODE) return;
  field *inside = a->inside;
  a->inside = b->inside;
  b->inside = inside;
}

static void attribute(mutant *m) {
  field *node = any(m, GRAPH, GRAPH_NODE);
  const field *a = any(m, NODE, NODE_ATTRIBUTE);
  if (!node || node->is != NODE || !a) return;
  field *more = copy_of(m, a), **at = &node->inside;
  if (mutate_pick(&m->random, 2)) { /* or away with one */
    for (; *at; at = &(*at)->next)
      if ((*at)->number == NODE_ATTRIBUTE) {
        *at = (*at)->next;
        return;
      }
  }
  while (*at) at = &(*at)->next;
  if (more) *at = more;
}

/* ---- all ---- */

static const struct {
  void (*change)(mutant *);
  int weight;
} changes[] = {{size_of_port, 8},
               {size_of_tensor, 3},
               {number_of_attribute, 8},
               {symbol_of_port, 1},
               {float_of_attribute, 4},
               {text_of_attribute, 2},
               {values_of_tensor, 4},
               {type_of_tensor, 1},
               {version, 1},
               {name_of_value, 6},
               {name_of_node, 6},
               {edge, 8},
               {output, 4},
               {focus, 2},
               {operator_of_node, 5},
               {insert, 24},
               {duplicate, 6},
               {drop, 4},
               {swap, 1},
               {attribute, 2}};

static void change(mutant *m) {
  int64_t sum = 0, i = 0;
  for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) sum += changes[k].weight;
  int64_t at = mutate_pick(&m->random, sum);
  for (; at >= changes[i].weight; i++) at -= changes[i].weight;
  changes[i].change(m);
}

void mutate_onnx(uint64_t seed, const uint8_t *data, size_t size, pz_text *out) {
  mutant m = {.arena = pz_arena_new(), .random = seed};
  if (!m.arena) return;
  (void)read_message(&m, MODEL, data, size, 0, &m.root);
  if (!mutate_pick(&m.random, 3)) focus(&m);
  do change(&m);
  while (mutate_pick(&m.random, 2));
  put_fields(m.root, out);
  pz_arena_free(m.arena);
}
