/* hdf5_check_type.c: the description of a type, which may hold others. */
#include "formats/hdf5_check_parts.h"

#define CHECK PZ_HDF5_CHECK
#define get   pz_hdf5_get

enum { INTEGER, FLOAT, TIME, STRING, BITS, OPAQUE, COMPOUND, REFERENCE, ENUM, LIST, ARRAY };
enum { NESTED = 8, MOST_FLOAT = 16 };

typedef struct type {
  const uint8_t *at;
  uint64_t room;  /* bytes up to the end of what holds it */
  uint64_t taken; /* by its description */
  uint64_t size;  /* of an element */
  int class, version, depth;
  uint32_t flags;
} type;

static pz_status check(const pz_hdf5_file *f, type *t);

static pz_status inner(const pz_hdf5_file *f, const type *t, type *part) {
  *part = (type){.at = t->at + t->taken, .room = t->room - t->taken, .depth = t->depth + 1};
  return check(f, part);
}

static uint64_t where(const pz_hdf5_file *f, const type *t) { return (uint64_t)(t->at - f->data); }

static pz_status check_bits(const pz_hdf5_file *f, type *t) {
  const uint64_t at = where(f, t);
  CHECK(t->room >= 12, at, "a short type");
  const uint64_t offset = get(t->at + 8, 2), precision = get(t->at + 10, 2);
  CHECK(precision > 0 && offset + precision <= 8 * t->size, at, "a type with bits outside of it");
  t->taken = 12;
  return PZ_OK;
}

/* From low to high: mantissa, exponent, sign; none on top of another. */
static pz_status check_float(const pz_hdf5_file *f, type *t) {
  const uint64_t at = where(f, t);
  PZ_TRY(check_bits(f, t));
  CHECK(t->room >= 20 && t->size <= MOST_FLOAT && !(t->flags & 0x40) && (t->flags & 0x30) != 0x30, at,
        "an unknown kind of float");
  const uint8_t *p = t->at + 8;
  const unsigned low = (unsigned)get(p, 2), high = low + (unsigned)get(p + 2, 2), sign = t->at[2];
  const unsigned exponent = p[4], exponent_bits = p[5], mantissa = p[6], mantissa_bits = p[7];
  CHECK(exponent_bits > 0 && exponent_bits <= 16 && mantissa_bits > 0 && mantissa >= low &&
            mantissa + mantissa_bits <= exponent && exponent + exponent_bits <= sign && sign < high,
        at, "a float with bits outside of it");
  t->taken = 20;
  return PZ_OK;
}

static pz_status check_opaque(const pz_hdf5_file *f, type *t) {
  const uint64_t tag = t->flags & 0xff;
  CHECK(tag % 8 == 0 && tag <= t->room - 8, where(f, t), "a short type");
  t->taken = 8 + tag;
  return PZ_OK;
}

/* The name at the end of what was taken, padded to 8 bytes before version 3. */
static pz_status take_name(const pz_hdf5_file *f, type *t) {
  const uint8_t *name = t->at + t->taken, *end = memchr(name, 0, t->room - t->taken);
  CHECK(end && end > name, where(f, t), "a type with a name without an end");
  const uint64_t length = (uint64_t)(end - name) + 1;
  t->taken += t->version < 3 ? (length + 7) / 8 * 8 : length;
  CHECK(t->taken <= t->room, where(f, t), "a short type");
  return PZ_OK;
}

static pz_status take(const pz_hdf5_file *f, type *t, uint64_t bytes) {
  CHECK(bytes <= t->room - t->taken, where(f, t), "a short type");
  t->taken += bytes;
  return PZ_OK;
}

/* In version 1 a member may be an array of up to four axes. */
static pz_status check_member(const pz_hdf5_file *f, type *t) {
  const uint64_t at = where(f, t);
  int wide = 4;
  if (t->version == 3)
    for (wide = 1; wide < 4 && t->size >> 8 * wide;) wide++;
  PZ_TRY(take_name(f, t));
  const uint8_t *p = t->at + t->taken;
  PZ_TRY(take(f, t, t->version == 1 ? 32 : (uint64_t)wide));
  const uint64_t offset = get(p, wide);
  uint64_t bytes;
  type part;
  PZ_TRY(inner(f, t, &part));
  PZ_TRY(take(f, t, part.taken));
  bytes = part.size;
  if (t->version == 1) {
    CHECK(p[4] <= 4, at, "a type with too many axes");
    for (int i = 0; i < p[4]; i++)
      CHECK(get(p + 16 + 4 * i, 4) > 0 && !__builtin_mul_overflow(bytes, get(p + 16 + 4 * i, 4), &bytes), at,
            "a type that is too large");
  }
  CHECK(bytes <= t->size && offset <= t->size - bytes, at, "a type with a member outside of it");
  return PZ_OK;
}

static pz_status check_compound(const pz_hdf5_file *f, type *t) {
  const unsigned members = t->flags & 0xffff;
  CHECK(members > 0, where(f, t), "a type without members");
  for (unsigned i = 0; i < members; i++) PZ_TRY(check_member(f, t));
  return PZ_OK;
}

static pz_status check_reference(const pz_hdf5_file *f, type *t) {
  CHECK(t->flags <= 1 && t->size == (t->flags ? 12 : 8), where(f, t), "an unknown kind of reference");
  return PZ_OK;
}

static pz_status check_enum(const pz_hdf5_file *f, type *t) {
  const unsigned members = t->flags & 0xffff;
  type part;
  PZ_TRY(inner(f, t, &part));
  CHECK(members > 0 && part.class == INTEGER && part.size == t->size, where(f, t), "a bad enumeration");
  PZ_TRY(take(f, t, part.taken));
  for (unsigned i = 0; i < members; i++) PZ_TRY(take_name(f, t));
  CHECK(t->size <= t->room, where(f, t), "a short type");
  return take(f, t, members * t->size);
}

/* Of any length: sequences, strings. An element is a length, the address of a heap, a number. */
static pz_status check_list(const pz_hdf5_file *f, type *t) {
  type part;
  CHECK((t->flags & 15) <= 1 && t->size == 16, where(f, t), "a bad list");
  PZ_TRY(inner(f, t, &part));
  return take(f, t, part.taken);
}

static pz_status check_array(const pz_hdf5_file *f, type *t) {
  const uint64_t at = where(f, t);
  type part;
  uint64_t bytes;
  CHECK(t->version >= 2 && t->room >= 12, at, "a bad array");
  const uint64_t rank = t->at[8], head = t->version == 2 ? 4 : 1;
  CHECK(rank >= 1 && rank <= PZ_HDF5_RANK, at, "a type with too many axes");
  PZ_TRY(take(f, t, head + 4 * rank * (t->version == 2 ? 2 : 1)));
  PZ_TRY(inner(f, t, &part));
  PZ_TRY(take(f, t, part.taken));
  bytes = part.size;
  for (uint64_t i = 0; i < rank; i++)
    CHECK(!__builtin_mul_overflow(bytes, get(t->at + 8 + head + 4 * i, 4), &bytes), at,
          "a type that is too large");
  CHECK(bytes == t->size, at, "an array of a wrong size");
  return PZ_OK;
}

static pz_status check(const pz_hdf5_file *f, type *t) {
  const uint64_t at = where(f, t);
  CHECK(t->depth < NESTED, at, "types inside of types inside of types");
  CHECK(t->room >= 8, at, "a short type");
  if (t->at[0] >> 4 < 1 || t->at[0] >> 4 > 3)
    return pz_hdf5_unknown(f, at, "a type of a version that is not 1, 2 or 3");
  t->class = t->at[0] & 15, t->version = t->at[0] >> 4, t->taken = 8;
  t->flags = (uint32_t)get(t->at + 1, 3), t->size = get(t->at + 4, 4);
  CHECK(t->size > 0 && t->size <= INT32_MAX, at, "a type of a wrong size");
  switch (t->class) {
  case INTEGER: CHECK(t->flags <= 15, at, "a bad type"); return check_bits(f, t);
  case FLOAT: return check_float(f, t);
  case STRING: CHECK((t->flags & 15) <= 2 && t->flags >> 4 <= 1, at, "a bad type"); return PZ_OK;
  case BITS: CHECK(t->flags <= 7, at, "a bad type"); return check_bits(f, t);
  case OPAQUE: return check_opaque(f, t);
  case COMPOUND: return check_compound(f, t);
  case REFERENCE: return check_reference(f, t);
  case ENUM: return check_enum(f, t);
  case LIST: return check_list(f, t);
  case ARRAY: return check_array(f, t);
  default: return pz_hdf5_broken(f, at, "an unknown type");
  }
}

pz_status pz_hdf5_check_type(const pz_hdf5_file *f, pz_hdf5_bytes m, uint64_t *element) {
  type t = {.at = m.data, .room = m.size};
  PZ_TRY(check(f, &t));
  *element = t.size;
  return PZ_OK;
}
