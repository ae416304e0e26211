/* hdf5_scaleoffset.c: the filter scale-offset. A chunk is a head of 21 bytes (bits of an element, the size of the least value,
 * that value), then the elements' differences from the least value, so many bits each, the highest bit first. All bits set
 * stand for the fill value where there is one. Floats are integers times a power of ten ("D-scale"). */
#include "formats/hdf5_undo.h"

#include <math.h>
#include <string.h>

/* Places of the filter's parameters, and what they may be. */
enum { SCALE_TYPE, FACTOR, COUNT, CLASS, SIZE, SIGN, ORDER, FILLED, FILL, HEAD = 21 };
enum { FLOAT_D = 0, INTEGER_SCALE = 2, INTEGER = 0, FLOAT = 1, BIG = 1 };

const char *pz_hdf5_scaleoffset_problem(const pz_hdf5_filter *f, int64_t element) {
  const unsigned *v = f->value;
  if (f->values < FILL + 2) return "have wrong parameters for scale-offset";
  if (v[SIZE] != element || v[ORDER] > 1 || v[FILLED] > 1) return "have wrong parameters for scale-offset";
  if (v[CLASS] == INTEGER && v[SCALE_TYPE] == INTEGER_SCALE) return NULL;
  if (v[CLASS] == FLOAT && v[SCALE_TYPE] == FLOAT_D && (element == 4 || element == 8)) return NULL;
  return "have wrong parameters for scale-offset";
}

/* Of a chunk, from its head and the parameters. */
typedef struct chunk {
  int64_t element;
  unsigned bits;
  bool filled, big;
  uint64_t least, fill, all; /* all: every bit of an element set */
  double divide;
} chunk;

static uint64_t little(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << 8 * i;
  return v;
}

static bool take_head(const pz_hdf5_filter *f, int64_t element, const uint8_t *in, chunk *c) {
  *c = (chunk){.element = element, .bits = (unsigned)little(in, 4), .filled = f->value[FILLED] == 1};
  c->big = f->value[ORDER] == BIG;
  c->least = little(in + 5, in[4] < 8 ? in[4] : 8);
  c->fill = f->value[FILL] | (uint64_t)f->value[FILL + 1] << 32;
  c->all = c->bits < 64 ? (UINT64_C(1) << c->bits) - 1 : UINT64_MAX;
  return c->bits <= 8 * (uint64_t)element;
}

/* The next `bits` bits of the stream, of which *at are used up. */
static uint64_t next(const uint8_t *in, int64_t *at, unsigned bits) {
  uint64_t v = 0;
  while (bits > 0) {
    const unsigned free = 8 - (unsigned)(*at & 7), n = bits < free ? bits : free;
    v = v << n | (in[*at >> 3] >> (free - n) & ((1u << n) - 1));
    *at += n, bits -= n;
  }
  return v;
}

static uint64_t float_value(const chunk *c, uint64_t difference) {
  float least, v;
  uint32_t bits = (uint32_t)c->least;
  memcpy(&least, &bits, 4);
  v = (float)(int32_t)(uint32_t)difference / (float)c->divide + least;
  memcpy(&bits, &v, 4);
  return bits;
}

static uint64_t double_value(const chunk *c, uint64_t difference) {
  double least, v;
  uint64_t bits;
  memcpy(&least, &c->least, 8);
  v = (double)(int64_t)difference / c->divide + least;
  memcpy(&bits, &v, 8);
  return bits;
}

static void store(const chunk *c, uint64_t v, uint8_t *out) {
  for (int64_t b = 0; b < c->element; b++) out[c->big ? c->element - 1 - b : b] = (uint8_t)(v >> 8 * b);
}

static uint64_t value(const chunk *c, int class, uint64_t difference) {
  if (c->filled && difference == c->all) return c->fill;
  if (class == INTEGER) return c->least + difference;
  return c->element == 4 ? float_value(c, difference) : double_value(c, difference);
}

int64_t pz_hdf5_undo_scaleoffset(const pz_hdf5_filter *f, int64_t element, const char *in, int64_t size,
                                 char *out, int64_t room) {
  const uint8_t *from = (const uint8_t *)in;
  const int64_t n = f->value[COUNT], whole = 8 * element;
  const int class = (int)f->value[CLASS];
  chunk c;
  if (n > room / element) return -1;
  if (class == INTEGER &&
      f->value[FACTOR] == (unsigned)whole) { /* as many bits as there are: left as it was */
    if (size > room) return -1;
    memcpy(out, in, (size_t)size);
    return size;
  }
  if (size < HEAD || !take_head(f, element, from, &c) || (n * c.bits + 7) / 8 > size - HEAD) return -1;
  c.divide = pow(10, (int)f->value[FACTOR]);
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    uint8_t *to = (uint8_t *)out + i * element;
    if (c.bits == whole) store(&c, little(from + HEAD + i * element, (int)element), to);
    else store(&c, value(&c, class, next(from + HEAD, &at, c.bits)), to);
  }
  return n * element;
}
