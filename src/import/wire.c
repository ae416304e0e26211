#include "import/wire.h"

pz_status pz_wire_fail(const pz_wire *wire, const uint8_t *at, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: byte %zu: %s", wire->file, (size_t)(at - wire->begin), what);
}

/* The same, and that the file may be of another kind. */
static pz_status wrong_format(const pz_wire *wire, const uint8_t *at, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: byte %zu: %s: this is no %s, or it is damaged", wire->file,
                 (size_t)(at - wire->begin), what, wire->format);
}

pz_status pz_wire_varint(pz_wire *wire, uint64_t *value, pz_error *err) {
  const uint8_t *at = wire->next;
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (wire->next == wire->end) return pz_wire_fail(wire, at, "the file is truncated or damaged", err);
    uint8_t byte = *wire->next++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return PZ_OK;
  }
  return wrong_format(wire, at, "a number longer than 64 bits", err);
}

static pz_status take_bytes(pz_wire *wire, uint64_t size, pz_wire_field *field, pz_error *err) {
  size_t left = (size_t)(wire->end - wire->next);
  if (size > left)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: byte %zu: a field of %llu bytes, but only %zu are left: truncated or damaged",
                   wire->file, (size_t)(wire->next - wire->begin), (unsigned long long)size, left);
  field->bytes = wire->next;
  field->size = (size_t)size;
  wire->next += size;
  return PZ_OK;
}

pz_status pz_wire_next(pz_wire *wire, pz_wire_field *field, pz_error *err) {
  *field = (pz_wire_field){0};
  if (wire->next == wire->end) return PZ_OK;
  const uint8_t *at = wire->next;
  uint64_t tag, size = 0;
  PZ_TRY(pz_wire_varint(wire, &tag, err));
  field->number = (uint32_t)(tag >> 3 & 0x1fffffff);
  field->type = (pz_wire_type)(tag & 7);
  if (tag >> 32 || !field->number) return wrong_format(wire, at, "no field of a message", err);
  switch (field->type) {
  case PZ_WIRE_VARINT: return pz_wire_varint(wire, &field->value, err);
  case PZ_WIRE_64: return take_bytes(wire, 8, field, err);
  case PZ_WIRE_32: return take_bytes(wire, 4, field, err);
  case PZ_WIRE_BYTES: PZ_TRY(pz_wire_varint(wire, &size, err)); return take_bytes(wire, size, field, err);
  }
  return wrong_format(wire, at, "a field of a type that is not used", err);
}

pz_wire pz_wire_inside(const pz_wire *wire, const pz_wire_field *field) {
  return (pz_wire){field->bytes, field->bytes + field->size, wire->begin, wire->file, wire->format};
}
