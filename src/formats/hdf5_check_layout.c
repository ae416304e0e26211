/* hdf5_check_layout.c: how an array is stored, and where its chunks are found. */
#include "formats/hdf5_check_parts.h"

#include <stdlib.h>

#define CHECK PZ_HDF5_CHECK
#define get   pz_hdf5_get

enum { COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL };

typedef struct chunks {
  int rank;
  uint64_t raw;         /* bytes of one */
  uint64_t count, most; /* of all, now and when the array is as large as it may be */
  int unlimited;        /* axes */
  bool filtered;
  uint64_t at; /* of the message */
} chunks;

/* ------------------------------------------------------------------ the default format */

/* A chunk that no filter has changed is as large as the layout says. */
static pz_status check_chunk(const pz_hdf5_file *f, const uint8_t *key, uint64_t at, const chunks *c) {
  const uint64_t size = get(key, 4);
  CHECK(pz_hdf5_inside(f, at, size), at, "a chunk outside of the file");
  CHECK(c->filtered || size == c->raw, at, "a chunk of the wrong size");
  CHECK(size > 0, at, "an empty chunk");
  return PZ_OK;
}

static pz_status check_tree(pz_hdf5_file *f, uint64_t at, const chunks *c, int level);

static pz_status check_node(pz_hdf5_file *f, uint64_t at, const chunks *c, int level, const uint8_t *node) {
  const uint64_t key = 8 + 8 * ((uint64_t)c->rank + 1), entries = get(node + 6, 2);
  CHECK(memcmp(node, "TREE\1", 5) == 0, at, "no tree of chunks");
  CHECK(entries <= 2 * f->chunk_k && ++f->nodes < PZ_HDF5_NODES, at, "too many entries in a tree of chunks");
  CHECK(level < 0 ? node[5] < PZ_HDF5_DEPTH : node[5] == level, at, "a wrong level in a tree of chunks");
  for (uint64_t i = 0; i < entries; i++) {
    const uint8_t *k = node + 24 + i * (key + 8);
    if (node[5] > 0) PZ_TRY(check_tree(f, get(k + key, 8), c, node[5] - 1));
    else PZ_TRY(check_chunk(f, k, get(k + key, 8), c));
  }
  return PZ_OK;
}

/* There may be a hundred thousand nodes, each far from the others and looked at once: a page for each would cost more than the look. */
static pz_status check_tree(pz_hdf5_file *f, uint64_t at, const chunks *c, int level) {
  const uint64_t key = 8 + 8 * ((uint64_t)c->rank + 1),
                 size = 24 + (2 * f->chunk_k + 1) * key + 2 * f->chunk_k * 8;
  CHECK(pz_hdf5_inside(f, at, size), at, "no tree of chunks");
  uint8_t *node = malloc(size);
  if (!node) return pz_fail_memory(f->err, "a tree of chunks", size);
  const pz_status status = pz_view_read(f->view, at, size, node) ? check_node(f, at, c, level, node)
                                                                 : pz_hdf5_broken(f, at, "no tree of chunks");
  free(node);
  return status;
}

/* ------------------------------------------------------------------ the later format: five kinds of index */

/* How many bytes the library gives the size of a filtered chunk. */
static int size_bytes(uint64_t raw) {
  const int bits = 64 - __builtin_clzll(raw), bytes = 1 + (bits - 1 + 8) / 8;
  return bytes > 8 ? 8 : bytes;
}

/* Of one chunk in an index. */
static uint64_t entry_bytes(const chunks *c) {
  return c->filtered ? 8 + (uint64_t)size_bytes(c->raw) + 4 : 8;
}

static pz_status check_implicit(const pz_hdf5_file *f, uint64_t at, const chunks *c) {
  uint64_t bytes;
  CHECK(!c->filtered && !__builtin_mul_overflow(c->most, c->raw, &bytes) && pz_hdf5_inside(f, at, bytes),
        c->at, "chunks outside of the file");
  return PZ_OK;
}

/* Signature, version 0, whether chunks are filtered, bytes of an entry: how headers of both arrays begin. */
static pz_status check_array_head(const pz_hdf5_file *f, uint64_t at, const char *name, uint64_t size,
                                  const chunks *c) {
  CHECK(pz_hdf5_there(f, at, size) && memcmp(f->data + at, name, 4) == 0, at, "no index of chunks");
  const uint8_t *p = f->data + at;
  CHECK(p[4] == 0 && p[5] == c->filtered && p[6] == entry_bytes(c), at, "a wrong index of chunks");
  return PZ_OK;
}

/* All entries in one block, in pages of 1024 when there are more. */
static pz_status check_fixed(const pz_hdf5_file *f, uint64_t at, const chunks *c, const uint8_t *parameters) {
  const uint64_t page = 1024, entry = entry_bytes(c), n = c->most, pages = (n + page - 1) / page;
  PZ_TRY(check_array_head(f, at, "FAHD", 28, c));
  const uint8_t *p = f->data + at;
  CHECK(parameters[0] == 10 && p[7] == 10 && c->unlimited == 0 && get(p + 8, 8) == n && n < f->size, at,
        "a wrong index of chunks");
  const uint64_t block = get(p + 16, 8);
  if (block == PZ_HDF5_NONE) return PZ_OK;
  const uint64_t size = 18 + n * entry + (n > page ? (pages + 7) / 8 + 4 * pages : 0);
  CHECK(pz_hdf5_inside(f, block, size) && pz_hdf5_there(f, block, 14) &&
            memcmp(f->data + block, "FADB\0", 5) == 0 && f->data[block + 5] == c->filtered &&
            get(f->data + block + 6, 8) == at,
        block, "a wrong index of chunks");
  return PZ_OK;
}

/* An array that grows along one axis. Its blocks have the sizes that the five parameters say; the library writes no others. */
static pz_status check_growing(const pz_hdf5_file *f, uint64_t at, const chunks *c,
                               const uint8_t *parameters) {
  static const uint8_t usual[5] = {32, 4, 4, 16, 10}, in_header[5] = {32, 4, 16, 4, 10};
  PZ_TRY(check_array_head(f, at, "EAHD", 72, c));
  const uint8_t *p = f->data + at;
  CHECK(memcmp(parameters, usual, 5) == 0 && memcmp(p + 7, in_header, 5) == 0 && c->unlimited == 1, at,
        "a wrong index of chunks");
  return PZ_OK;
}

static pz_status check_scattered(pz_hdf5_file *f, uint64_t at, const chunks *c) {
  const uint64_t axes = 8 * (uint64_t)c->rank;
  const pz_hdf5_records records = {.kind = c->filtered ? 11 : 10, .size = axes + entry_bytes(c)};
  return pz_hdf5_check_records(f, at, &records);
}

static pz_status check_index(pz_hdf5_file *f, int kind, const uint8_t *parameters, uint64_t at,
                             const chunks *c) {
  if (at == PZ_HDF5_NONE) return PZ_OK;
  switch (kind) {
  case 1: CHECK(c->count <= 1 && at < f->size, c->at, "more than the one chunk that there is"); return PZ_OK;
  case 2: return check_implicit(f, at, c);
  case 3: return check_fixed(f, at, c, parameters);
  case 4: return check_growing(f, at, c, parameters);
  default: return check_scattered(f, at, c);
  }
}

/* ------------------------------------------------------------------ layouts */

/* Sizes of chunks, with the element as the last axis, of `wide` bytes each. */
static pz_status take_sizes(const pz_hdf5_file *f, const pz_hdf5_object *o, const uint8_t *sizes, int axes,
                            int wide, chunks *c) {
  c->raw = c->count = c->most = 1, c->filtered = o->filtered, c->rank = axes - 1;
  CHECK(c->rank == o->rank && c->rank >= 1, c->at, "chunks of another shape");
  for (int i = 0; i < axes; i++) {
    const uint64_t n = get(sizes + wide * i, wide);
    CHECK(n > 0 && !__builtin_mul_overflow(c->raw, n, &c->raw) && c->raw < UINT64_C(1) << 32, c->at,
          "chunks of a wrong size");
    if (i == c->rank) {
      CHECK(n == o->element, c->at, "chunks of another type");
      break;
    }
    const bool unlimited = o->most[i] == PZ_HDF5_UNLIMITED;
    const uint64_t now = o->dim[i] / n + (o->dim[i] % n != 0), most = o->most[i] / n + (o->most[i] % n != 0);
    CHECK(!__builtin_mul_overflow(c->count, now, &c->count), c->at, "too many chunks");
    if (unlimited) c->unlimited++;
    else CHECK(!__builtin_mul_overflow(c->most, most, &c->most), c->at, "too many chunks");
  }
  return PZ_OK;
}

static pz_status check_old_chunks(pz_hdf5_file *f, const pz_hdf5_object *o, uint64_t at) {
  const uint8_t *l = o->layout.data;
  const int axes = l[2];
  chunks c = {.at = at};
  CHECK(o->layout.size >= 11 + 4 * (uint64_t)axes, at, "a short layout");
  PZ_TRY(take_sizes(f, o, l + 11, axes, 4, &c));
  const uint64_t tree = get(l + 3, 8);
  return tree == PZ_HDF5_NONE ? PZ_OK : check_tree(f, tree, &c, -1);
}

/* Flags: 1: filters are left out at the edges, 2: the only chunk is filtered. */
static pz_status check_later_chunks(pz_hdf5_file *f, const pz_hdf5_object *o, uint64_t at) {
  static const int parameters[6] = {0, 0, 0, 1, 5, 6}; /* bytes, by kind of index */
  const uint8_t *l = o->layout.data;
  CHECK(o->layout.size >= 5, at, "a short layout");
  const int flags = l[2], axes = l[3], wide = l[4];
  const uint64_t head = 5 + (uint64_t)axes * (uint64_t)wide;
  chunks c = {.at = at};
  if (flags & 1) return pz_hdf5_unknown(f, at, "chunks at the edges without filters");
  CHECK(flags <= 3 && wide >= 1 && wide <= 8 && o->layout.size >= head + 1, at, "a short layout");
  PZ_TRY(take_sizes(f, o, l + 5, axes, wide, &c));
  const int kind = l[head];
  CHECK(kind >= 1 && kind <= 5, at, "an unknown index of chunks");
  CHECK((flags & 2) == 0 || (kind == 1 && c.filtered), at, "a bad layout");
  CHECK(kind != 1 || c.filtered == (flags >> 1), at, "a bad layout");
  const uint64_t n = kind == 1 ? (flags & 2 ? 12u : 0u) : (uint64_t)parameters[kind];
  CHECK(o->layout.size >= head + 1 + n + 8, at, "a short layout");
  const uint8_t *p = l + head + 1;
  return check_index(f, kind, p, get(p + n, 8), &c);
}

static pz_status check_fill(const pz_hdf5_file *f, const pz_hdf5_object *o, uint64_t at) {
  CHECK(o->fill.size == 0 || o->fill.size == o->element, at, "a fill value of another type");
  CHECK(o->old_fill.size == 0 || o->old_fill.size == o->element, at, "a fill value of another type");
  return PZ_OK;
}

pz_status pz_hdf5_check_layout(pz_hdf5_file *f, const pz_hdf5_object *o) {
  const uint8_t *l = o->layout.data;
  const uint64_t at = pz_hdf5_where(f, o->layout), n = o->layout.size;
  uint64_t need;
  CHECK(n >= 4 && pz_hdf5_there(f, at, n), at, "a short layout");
  if (l[0] != 3 && l[0] != 4) return pz_hdf5_unknown(f, at, "a layout of a version that is not 3 or 4");
  if (l[0] == 4 && l[1] == VIRTUAL)
    return pz_fail(f->err, PZ_ERROR_INPUT,
                   "%s: a dataset (byte %llu) has its values in others; copy it into this one", f->path,
                   (unsigned long long)at);
  PZ_TRY(check_fill(f, o, at));
  CHECK(!o->filtered || l[1] == CHUNKED, at, "filters without chunks");
  CHECK(!__builtin_mul_overflow(o->points, o->element, &need), at, "an array that is too large");
  if (l[1] == CHUNKED) return l[0] == 3 ? check_old_chunks(f, o, at) : check_later_chunks(f, o, at);
  if (l[1] == COMPACT) {
    const uint64_t size = get(l + 2, 2);
    CHECK(size <= n - 4 && size >= need, at, "an array that is shorter than its shape");
    return PZ_OK;
  }
  CHECK(l[1] == CONTIGUOUS && n >= 18, at, "an unknown layout");
  const uint64_t data = get(l + 2, 8), size = get(l + 10, 8);
  CHECK(size >= need && (data == PZ_HDF5_NONE || pz_hdf5_inside(f, data, size)), at,
        "an array outside of the file");
  return PZ_OK;
}
