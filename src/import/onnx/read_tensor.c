/* read_tensor.c: tensors: shape, type, and where the values lie. */
#include "import/onnx/model.h"
#include <string.h>

enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_SEGMENT = 3, TENSOR_NAME = 8, TENSOR_RAW = 9 };
enum { TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

static const pz_onnx_type_traits types[] = {
#define TYPE(id, number, name, class, bits, field) {PZ_ONNX_##id, name, PZ_ONNX_##class, bits, field},
#include "import/onnx/types.inc"
#undef TYPE
};

const pz_onnx_type_traits *pz_onnx_type_get(int64_t type) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == type) return &types[i];
  return NULL;
}

const char *pz_onnx_type_name(pz_onnx_type type) {
  const pz_onnx_type_traits *traits = pz_onnx_type_get(type);
  return traits ? traits->name : "another type";
}

bool pz_onnx_is_floating(pz_onnx_type type) {
  const pz_onnx_type_traits *traits = pz_onnx_type_get(type);
  return traits && traits->class == PZ_ONNX_FLOATING;
}

static pz_status add_dim(const pz_onnx_reader *r, const pz_wire *wire, uint64_t dim, pz_onnx_tensor *t) {
  if (t->shape.rank == PZ_MAX_RANK)
    return pz_wire_fail(wire, wire->next, "a tensor of more than 8 dimensions", r->err);
  if ((int64_t)dim < 0 || (int64_t)dim > PZ_MAX_DIM)
    return pz_wire_fail(wire, wire->next, "a tensor's size is not 0 to 2^31-1", r->err);
  t->shape.dim[t->shape.rank++] = (int64_t)dim;
  return PZ_OK;
}

static pz_status read_dims(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                           pz_onnx_tensor *t) {
  if (f->type == PZ_WIRE_VARINT) return add_dim(r, wire, f->value, t);
  if (f->type != PZ_WIRE_BYTES)
    return pz_wire_fail(wire, wire->next, "a tensor's sizes are of the wrong type", r->err);
  for (pz_wire dims = pz_wire_inside(wire, f); dims.next < dims.end;) {
    uint64_t dim;
    PZ_TRY(pz_wire_varint(&dims, &dim, r->err));
    PZ_TRY(add_dim(r, &dims, dim, t));
  }
  return PZ_OK;
}

/* A number of decimal digits. */
static pz_status read_number(const pz_onnx_reader *r, const pz_wire *wire, const char *text, int64_t *out) {
  *out = 0;
  for (const char *c = text; *c; c++)
    if (*c < '0' || *c > '9' || !pz_mul_i64(*out, 10, out) || !pz_add_i64(*out, *c - '0', out))
      return pz_wire_fail(wire, wire->next, "the offset or length of external data is no number", r->err);
  return PZ_OK;
}

static pz_status read_external(const pz_onnx_reader *r, pz_wire wire, pz_onnx_tensor *t) {
  const char *key = "", *value = "";
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) break;
    if (f.number == ENTRY_KEY) PZ_TRY(pz_onnx_read_text(r, &wire, &f, &key));
    if (f.number == ENTRY_VALUE) PZ_TRY(pz_onnx_read_text(r, &wire, &f, &value));
  }
  if (!strcmp(key, "location")) t->location = value;
  if (!strcmp(key, "offset")) return read_number(r, &wire, value, &t->offset);
  return strcmp(key, "length") ? PZ_OK : read_number(r, &wire, value, &t->length);
}

static pz_status read_part(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                           pz_onnx_tensor *t) {
  switch (f->number) {
  case TENSOR_DIMS: return read_dims(r, wire, f, t);
  case TENSOR_TYPE:
    if (f->type == PZ_WIRE_VARINT) t->type = (int64_t)f->value;
    return PZ_OK;
  case TENSOR_NAME: return pz_onnx_read_text(r, wire, f, &t->name);
  case TENSOR_SEGMENT: return pz_wire_fail(wire, wire->next, "a tensor in segments", r->err);
  case TENSOR_RAW:
    if (f->type != PZ_WIRE_BYTES) return pz_wire_fail(wire, wire->next, "raw data of the wrong type", r->err);
    t->raw = f->bytes;
    t->raw_size = f->size;
    return PZ_OK;
  case TENSOR_EXTERNAL:
    return f->type == PZ_WIRE_BYTES ? read_external(r, pz_wire_inside(wire, f), t) : PZ_OK;
  case TENSOR_LOCATION: t->external = f->type == PZ_WIRE_VARINT && f->value == 1; return PZ_OK;
  default: return PZ_OK;
  }
}

pz_status pz_onnx_read_tensor(const pz_onnx_reader *r, pz_wire wire, pz_onnx_tensor *t) {
  *t = (pz_onnx_tensor){.name = "", .location = "", .message = wire, .elements = 1, .length = -1};
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) break;
    PZ_TRY(read_part(r, &wire, &f, t));
  }
  bool empty = false;
  for (int32_t i = 0; i < t->shape.rank; i++) { /* sizes beside a 0 count too: nothing is to overflow */
    empty |= t->shape.dim[i] == 0;
    if (t->shape.dim[i] &&
        (!pz_mul_i64(t->elements, t->shape.dim[i], &t->elements) || t->elements > PZ_MAX_ELEMENTS))
      return pz_wire_fail(&t->message, t->message.next, "a tensor of more than 2^40 elements", r->err);
  }
  if (empty) t->elements = 0;
  return PZ_OK;
}
