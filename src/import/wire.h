/* wire.h: protobuf's wire format, read in place with every bound checked: nothing is allocated or copied. */
#ifndef PZ_IMPORT_WIRE_H
#define PZ_IMPORT_WIRE_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

typedef enum pz_wire_type {
  PZ_WIRE_VARINT = 0,
  PZ_WIRE_64 = 1,
  PZ_WIRE_BYTES = 2,
  PZ_WIRE_32 = 5
} pz_wire_type;

/* A message, or the rest of it. */
typedef struct pz_wire {
  const uint8_t *next, *end;
  const uint8_t *begin; /* of the file, for messages */
  const char *file;
  const char *format; /* what the file should be: ".caffemodel", "ONNX model" */
} pz_wire;

typedef struct pz_wire_field {
  uint32_t number;
  pz_wire_type type;
  uint64_t value;       /* PZ_WIRE_VARINT */
  const uint8_t *bytes; /* the others: in the file, unaligned, `size` of them */
  size_t size;
} pz_wire_field;

/* The next field; field numbers are at least 1, and *field has number 0 at the end of the message. */
pz_status pz_wire_next(pz_wire *wire, pz_wire_field *field, pz_error *err);
/* A field's bytes as a message. */
pz_wire pz_wire_inside(const pz_wire *wire, const pz_wire_field *field);
pz_status pz_wire_varint(pz_wire *wire, uint64_t *value, pz_error *err);
/* "file: byte N: ..." */
pz_status pz_wire_fail(const pz_wire *wire, const uint8_t *at, const char *what, pz_error *err);

#endif
