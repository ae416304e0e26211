/* read_node.c: nodes and their attributes. */
#include "import/onnx/model.h"
#include <string.h>

enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE, NODE_DOMAIN = 7, NODE_FIELDS };
enum {
  ATTR_NAME = 1,
  ATTR_F,
  ATTR_I,
  ATTR_S,
  ATTR_T,
  ATTR_G,
  ATTR_FLOATS,
  ATTR_INTS,
  ATTR_TYPE = 20,
  ATTR_REFERENCE
};

/* ---- lists, packed or entry by entry ---- */

typedef struct list {
  uint32_t field;
  pz_wire_type type; /* of one entry: VARINT or 32 */
  pz_onnx_attribute *into;
} list;

static pz_status take_entry(const pz_onnx_reader *r, const list *l, pz_wire *wire, bool store,
                            int64_t *count) {
  uint64_t value = 0;
  float f = 0;
  if (l->type == PZ_WIRE_VARINT) PZ_TRY(pz_wire_varint(wire, &value, r->err));
  else {
    if (wire->end - wire->next < 4)
      return pz_wire_fail(wire, wire->next, "a list of floats is cut off", r->err);
    memcpy(&f, wire->next, sizeof f);
    wire->next += 4;
  }
  if (store && l->type == PZ_WIRE_VARINT) l->into->ints[*count] = (int64_t)value;
  if (store && l->type == PZ_WIRE_32) l->into->floats[*count] = f;
  ++*count;
  return PZ_OK;
}

static pz_status walk_list(const pz_onnx_reader *r, const list *l, pz_wire wire, bool store, int64_t *count) {
  *count = 0;
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number != l->field) continue;
    if (f.type == PZ_WIRE_VARINT && l->type == PZ_WIRE_VARINT) {
      if (store) l->into->ints[*count] = (int64_t)f.value;
      ++*count;
      continue;
    }
    if (f.type != PZ_WIRE_BYTES && f.type != l->type)
      return pz_wire_fail(&wire, wire.next, "a list with entries of the wrong type", r->err);
    for (pz_wire inside = pz_wire_inside(&wire, &f); inside.next < inside.end;)
      PZ_TRY(take_entry(r, l, &inside, store, count));
  }
}

static pz_status read_list(const pz_onnx_reader *r, const pz_wire *wire, pz_onnx_attribute *a,
                           uint32_t field) {
  const list l = {field, field == ATTR_INTS ? PZ_WIRE_VARINT : PZ_WIRE_32, a};
  int64_t count;
  PZ_TRY(walk_list(r, &l, *wire, false, &count));
  if (field == ATTR_INTS)
    PZ_TRY(pz_onnx_room(r, wire, "entries of a list", count, PZ_ONNX_MAX_LIST, sizeof *a->ints, &a->ints));
  else
    PZ_TRY(
        pz_onnx_room(r, wire, "entries of a list", count, PZ_ONNX_MAX_LIST, sizeof *a->floats, &a->floats));
  *(field == ATTR_INTS ? &a->n_ints : &a->n_floats) = (int32_t)count;
  return walk_list(r, &l, *wire, true, &count);
}

/* ---- attributes ---- */

static pz_status read_value(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                            pz_onnx_attribute *a) {
  switch (f->number) {
  case ATTR_NAME: return pz_onnx_read_text(r, wire, f, &a->name);
  case ATTR_F:
    if (f->type == PZ_WIRE_32) memcpy(&a->f, f->bytes, sizeof a->f);
    return PZ_OK;
  case ATTR_I: a->i = (int64_t)f->value; return PZ_OK;
  case ATTR_S:
    if (f->type == PZ_WIRE_BYTES && (!f->size || !memchr(f->bytes, 0, f->size)))
      return pz_onnx_read_text(r, wire, f, &a->s);
    return PZ_OK;
  case ATTR_T:
    if (f->type != PZ_WIRE_BYTES) return PZ_OK;
    a->tensor = PZ_NEW(r->arena, pz_onnx_tensor, 1);
    if (!a->tensor) return pz_fail_memory(r->err, wire->file, sizeof *a->tensor);
    return pz_onnx_read_tensor(r, pz_wire_inside(wire, f), a->tensor);
  case ATTR_G:
    if (f->type == PZ_WIRE_BYTES) a->graph = pz_wire_inside(wire, f);
    return PZ_OK;
  case ATTR_TYPE: a->kind = f->value < 64 ? (int32_t)f->value : 63; return PZ_OK;
  case ATTR_REFERENCE:
    return pz_wire_fail(wire, wire->next, "an attribute that refers to a function's, outside of a function",
                        r->err);
  default: return PZ_OK;
  }
}

/* Files before IR version 2 do not say the kind: the field that is there does. */
static int32_t kind_of(uint32_t field) {
  static const uint8_t kinds[] = {
      [ATTR_F] = PZ_ONNX_ATTR_FLOAT,  [ATTR_I] = PZ_ONNX_ATTR_INT,   [ATTR_S] = PZ_ONNX_ATTR_STRING,
      [ATTR_T] = PZ_ONNX_ATTR_TENSOR, [ATTR_G] = PZ_ONNX_ATTR_GRAPH, [ATTR_FLOATS] = PZ_ONNX_ATTR_FLOATS,
      [ATTR_INTS] = PZ_ONNX_ATTR_INTS};
  return field < sizeof kinds ? kinds[field] : PZ_ONNX_ATTR_NONE;
}

static pz_status read_attribute(const pz_onnx_reader *r, pz_wire wire, pz_onnx_attribute *a) {
  const pz_wire whole = wire;
  bool ints = false, floats = false;
  int32_t seen = PZ_ONNX_ATTR_NONE;
  *a = (pz_onnx_attribute){.name = "", .s = ""};
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) break;
    ints |= f.number == ATTR_INTS;
    floats |= f.number == ATTR_FLOATS;
    if (kind_of(f.number)) seen = kind_of(f.number);
    PZ_TRY(read_value(r, &wire, &f, a));
  }
  if (!a->kind) a->kind = seen;
  if (ints) PZ_TRY(read_list(r, &whole, a, ATTR_INTS));
  return floats ? read_list(r, &whole, a, ATTR_FLOATS) : PZ_OK;
}

/* ---- nodes ---- */

static pz_status make_room(const pz_onnx_reader *r, const pz_wire *wire, pz_onnx_node *n) {
  int64_t counts[NODE_FIELDS] = {0};
  PZ_TRY(pz_onnx_count_fields(r, *wire, NODE_FIELDS, counts));
  PZ_TRY(pz_onnx_room(r, wire, "inputs of a node", counts[NODE_INPUT], PZ_ONNX_MAX_NAMES, sizeof *n->in,
                      &n->in));
  PZ_TRY(pz_onnx_room(r, wire, "outputs of a node", counts[NODE_OUTPUT], PZ_ONNX_MAX_NAMES, sizeof *n->out,
                      &n->out));
  return pz_onnx_room(r, wire, "attributes of a node", counts[NODE_ATTRIBUTE], PZ_ONNX_MAX_NAMES,
                      sizeof *n->attributes, &n->attributes);
}

static pz_status read_part(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                           pz_onnx_node *n) {
  if (f->type != PZ_WIRE_BYTES) return PZ_OK;
  switch (f->number) {
  case NODE_INPUT: return pz_onnx_read_text(r, wire, f, &n->in[n->n_in++]);
  case NODE_OUTPUT: return pz_onnx_read_text(r, wire, f, &n->out[n->n_out++]);
  case NODE_NAME: return pz_onnx_read_text(r, wire, f, &n->name);
  case NODE_OP: return pz_onnx_read_text(r, wire, f, &n->op);
  case NODE_DOMAIN: return pz_onnx_read_text(r, wire, f, &n->domain);
  case NODE_ATTRIBUTE: return read_attribute(r, pz_wire_inside(wire, f), &n->attributes[n->n_attributes++]);
  default: return PZ_OK;
  }
}

pz_status pz_onnx_read_node(const pz_onnx_reader *r, pz_wire wire, pz_onnx_node *n) {
  *n = (pz_onnx_node){.name = "", .op = "", .domain = ""};
  PZ_TRY(make_room(r, &wire, n));
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    PZ_TRY(read_part(r, &wire, &f, n));
  }
}
