/* hdf5_check_text.c: the texts in an attribute. Those of any length lie in a global heap: a collection of numbered objects, each with
 * its size in front. */
#include "formats/hdf5_check_parts.h"

enum { STRING = 3, LIST = 9, MOST_TEXTS = 32, MOST_OBJECTS = 65536 };

#define get pz_hdf5_get

typedef struct output {
  char *at;
  size_t left;
} output;

/* A line, up to the first zero. */
static bool put(output *o, const uint8_t *text, uint64_t n, bool first) {
  const uint8_t *zero = n ? memchr(text, 0, n) : NULL;
  const size_t length = zero ? (size_t)(zero - text) : (size_t)n;
  if (length + 2 > o->left) return false;
  if (!first) *o->at++ = '\n', o->left--;
  if (length) memcpy(o->at, text, length);
  o->at += length, o->left -= length;
  *o->at = 0;
  return true;
}

static uint64_t padded(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/* Object `index` of the collection at `at`. */
static bool find_object(const pz_hdf5_file *f, uint64_t at, uint64_t index, pz_hdf5_bytes *object) {
  if (!pz_hdf5_there(f, at, 16) || memcmp(f->data + at, "GCOL\1", 5) != 0) return false;
  const uint64_t size = get(f->data + at + 8, 8);
  if (size < 16 || size > PZ_VIEW_REQUEST || !pz_hdf5_inside(f, at, size)) return false;
  uint64_t left = size - 16;
  const uint8_t *p = f->data + at + 16;
  for (int i = 0; i < MOST_OBJECTS && left >= 16; i++) {
    if (!pz_hdf5_there(f, (uint64_t)(p - f->data), 16)) return false;
    const uint64_t n = get(p + 8, 8), number = get(p, 2);
    if (number == 0 || n > left - 16) return false;
    if (number == index) {
      *object = (pz_hdf5_bytes){p + 16, n};
      return pz_hdf5_there(f, (uint64_t)(p + 16 - f->data), n);
    }
    const uint64_t step = 16 + padded(n, 8);
    if (step > left) return false;
    p += step, left -= step;
  }
  return false;
}

/* Length, address of a collection, number. */
static bool put_listed(const pz_hdf5_file *f, const uint8_t *element, output *o, bool first) {
  const uint64_t n = get(element, 4);
  pz_hdf5_bytes object;
  if (n == 0) return put(o, element, 0, first);
  if (!find_object(f, get(element + 4, 8), get(element + 12, 4), &object) || n > object.size) return false;
  return put(o, object.data, n, first);
}

/* No axes, or one. */
static bool count(const uint8_t *space, uint64_t *n) {
  const int rank = space[1], head = space[0] == 1 ? 8 : 4;
  *n = space[0] == 2 && space[3] == 2 ? 0 : rank == 0 ? 1 : get(space + head, 8);
  return rank <= 1 && *n <= MOST_TEXTS;
}

bool pz_hdf5_attribute_text(const pz_hdf5_file *f, pz_hdf5_bytes m, char *out, size_t size) {
  const uint8_t *p = m.data;
  const uint64_t to = p[0] == 1 ? 8 : 1, head = p[0] == 3 ? 9 : 8;
  const uint8_t *type = p + head + padded(get(p + 2, 2), to), *space = type + padded(get(p + 4, 2), to),
                *data = space + padded(get(p + 6, 2), to);
  const int class = type[0] & 15;
  const uint64_t element = get(type + 4, 4);
  output o = {out, size};
  uint64_t n;
  if (size == 0 || !count(space, &n)) return false;
  if (class != STRING && !(class == LIST && (type[1] & 15) == 1)) return false;
  *out = 0;
  for (uint64_t i = 0; i < n; i++, data += element) {
    pz_hdf5_rest(f);
    if (!pz_hdf5_there(f, pz_hdf5_where(f, m), m.size)) return false;
    if (!(class == STRING ? put(&o, data, element, i == 0) : put_listed(f, data, &o, i == 0))) return false;
  }
  return n > 0;
}
