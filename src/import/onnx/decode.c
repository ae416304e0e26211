/* decode.c: the values of a tensor, raw (little-endian, dense) or typed (numbers of the wire format). */
#include "import/onnx/model.h"
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw data is copied as it is");

static float from_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* IEEE 754 binary16: subnormal numbers are their fraction times 2^-24. */
static float half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
  if (exponent == 31) return from_bits(sign | 0x7f800000 | fraction << 13);
  if (exponent) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
  const float tiny = (float)fraction * 0x1p-24f;
  return sign ? -tiny : tiny;
}

static float small_float(pz_onnx_type type, uint16_t bits) {
  return type == PZ_ONNX_FLOAT16 ? half_to_float(bits) : from_bits((uint32_t)bits << 16);
}

/* The low `bits` of a number as a signed or unsigned one. */
static int64_t extend(uint64_t value, const pz_onnx_type_traits *traits) {
  const int shift = 64 - traits->bits;
  return traits->class == PZ_ONNX_SIGNED ? (int64_t)(value << shift) >> shift
                                         : (int64_t)(value << shift >> shift);
}

/* ---- raw ---- */

static double raw_number(pz_onnx_type type, const uint8_t *bytes, int64_t i) {
  float single;
  double wide;
  if (type == PZ_ONNX_DOUBLE) {
    memcpy(&wide, bytes + 8 * i, sizeof wide);
    return wide;
  }
  if (type != PZ_ONNX_FLOAT)
    return (double)small_float(type, (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
  memcpy(&single, bytes + 4 * i, sizeof single);
  return (double)single;
}

static void raw_floats(pz_onnx_type type, const uint8_t *bytes, int64_t n, const pz_onnx_values *to) {
  if (type == PZ_ONNX_FLOAT && to->floats) {
    if (n) memcpy(to->floats, bytes, (size_t)n * sizeof *to->floats);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const double number = raw_number(type, bytes, i);
    if (to->doubles) to->doubles[i] = number;
    else to->floats[i] = (float)number;
  }
}

static void raw_ints(const pz_onnx_type_traits *traits, const uint8_t *bytes, int64_t n, int64_t *out) {
  const int width = traits->bits / 8;
  for (int64_t i = 0; i < n; i++) {
    uint64_t value = 0;
    if (width) memcpy(&value, bytes + width * i, (size_t)width);
    else value = bytes[i / 2] >> (i % 2 ? 4 : 0);
    out[i] = extend(value, traits);
  }
}

static pz_status decode_raw(const pz_onnx_tensor *t, const pz_onnx_type_traits *traits,
                            const pz_onnx_raw *raw, const char *label, const pz_onnx_values *to,
                            pz_error *err) {
  const int64_t need = (t->elements * traits->bits + 7) / 8;
  if ((int64_t)raw->size != need)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has %zu bytes of data, expected %lld for %lld elements of %s",
                   label, raw->size, (long long)need, (long long)t->elements, traits->name);
  if (traits->class == PZ_ONNX_FLOATING) raw_floats(traits->type, raw->bytes, t->elements, to);
  else raw_ints(traits, raw->bytes, t->elements, to->ints);
  return PZ_OK;
}

/* ---- typed ---- */

typedef struct typed {
  const pz_onnx_tensor *tensor;
  const pz_onnx_type_traits *traits;
  const pz_onnx_values *to;
  int64_t count;
} typed;

static void put(typed *d, int64_t value, double number) {
  if (d->count < d->tensor->elements) {
    if (d->traits->class != PZ_ONNX_FLOATING) d->to->ints[d->count] = value;
    else if (d->to->doubles) d->to->doubles[d->count] = number;
    else d->to->floats[d->count] = (float)number;
  }
  d->count++;
}

static void put_varint(typed *d, uint64_t value) {
  if (d->traits->class == PZ_ONNX_FLOATING) put(d, 0, (double)small_float(d->traits->type, (uint16_t)value));
  else put(d, extend(value, d->traits), 0);
  if (d->traits->bits == 4 && d->count < d->tensor->elements) put(d, extend(value >> 4, d->traits), 0);
}

/* Fixed width: float or double. */
static pz_status put_fixed(typed *d, const pz_wire_field *f, const pz_wire *wire, pz_error *err) {
  const size_t width = (size_t)d->traits->bits / 8;
  if (f->size % width) return pz_wire_fail(wire, f->bytes, "a tensor's data is cut off", err);
  for (size_t i = 0; i < f->size; i += width) {
    float single;
    double wide = 0;
    memcpy(&single, f->bytes + i, sizeof single);
    if (width == sizeof wide) memcpy(&wide, f->bytes + i, sizeof wide);
    put(d, 0, width == sizeof wide ? wide : (double)single);
  }
  return PZ_OK;
}

static pz_status put_field(typed *d, const pz_wire_field *f, const pz_wire *wire, pz_error *err) {
  const bool fixed = d->traits->type == PZ_ONNX_FLOAT || d->traits->type == PZ_ONNX_DOUBLE;
  if (fixed != (f->type != PZ_WIRE_VARINT) && f->type != PZ_WIRE_BYTES)
    return pz_wire_fail(wire, wire->next, "a tensor's data is of the wrong type", err);
  if (fixed) return put_fixed(d, f, wire, err);
  if (f->type == PZ_WIRE_VARINT) {
    put_varint(d, f->value);
    return PZ_OK;
  }
  if (f->type != PZ_WIRE_BYTES)
    return pz_wire_fail(wire, wire->next, "a tensor's data is of the wrong type", err);
  for (pz_wire inside = pz_wire_inside(wire, f); inside.next < inside.end;) {
    uint64_t value;
    PZ_TRY(pz_wire_varint(&inside, &value, err));
    put_varint(d, value);
  }
  return PZ_OK;
}

static pz_status decode_typed(typed *d, const char *label, pz_error *err) {
  pz_wire wire = d->tensor->message;
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, err));
    if (!f.number) break;
    if (f.number == d->traits->field) PZ_TRY(put_field(d, &f, &wire, err));
  }
  if (d->count == d->tensor->elements) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: has %lld values, but its shape has %lld elements", label,
                 (long long)d->count, (long long)d->tensor->elements);
}

pz_status pz_onnx_decode(const pz_onnx_tensor *t, const pz_onnx_raw *raw, const char *label,
                         const pz_onnx_values *to, pz_error *err) {
  const pz_onnx_type_traits *traits = pz_onnx_type_get(t->type);
  if (!traits)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is of ONNX's data type %lld, which is not read", label,
                   (long long)t->type);
  if (raw) return decode_raw(t, traits, raw, label, to, err);
  typed d = {t, traits, to, 0};
  return decode_typed(&d, label, err);
}
