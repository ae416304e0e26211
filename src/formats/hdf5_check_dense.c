/* hdf5_check_dense.c: what the later format keeps of objects with many links or attributes: a heap ("fractal heap") of their
 * messages, and a tree ("version 2") of the messages' names. Of heaps only those of the sizes that the library itself chooses
 * are accepted, with nothing filtered, and nothing outside of their blocks. */
#include "formats/hdf5_check_parts.h"

#include <stdlib.h>

#define CHECK PZ_HDF5_CHECK
#define get   pz_hdf5_get

/* ------------------------------------------------------------------ trees */

/* Most records of a node, by its height above the leaves; bytes of the number of records of one, and of all below it. */
typedef struct tree {
  const pz_hdf5_records *records;
  uint64_t node, most[PZ_HDF5_DEPTH], all[PZ_HDF5_DEPTH];
  int count_bytes;
} tree;

static int bytes_of(uint64_t n) { return (63 - __builtin_clzll(n | 1)) / 8 + 1; }

static int all_bytes(const tree *t, int depth) { return depth > 0 ? bytes_of(t->all[depth]) : 0; }

static pz_status measure(const pz_hdf5_file *f, uint64_t at, tree *t, int depth) {
  const uint64_t record = t->records->size;
  t->most[0] = t->all[0] = (t->node - 10) / record;
  t->count_bytes = bytes_of(t->most[0]);
  for (int d = 1; d <= depth; d++) {
    const uint64_t pointer = 8 + (uint64_t)t->count_bytes + (uint64_t)all_bytes(t, d - 1);
    uint64_t below;
    t->most[d] = (t->node - 10 - pointer) / (record + pointer);
    CHECK(t->most[d] > 0 && !__builtin_mul_overflow(t->most[d] + 1, t->all[d - 1], &below) &&
              !__builtin_add_overflow(below, t->most[d], &t->all[d]),
          at, "a tree that is too deep");
  }
  return PZ_OK;
}

static pz_status check_node(pz_hdf5_file *f, uint64_t at, const tree *t, int depth, uint64_t n);

static pz_status check_entries(pz_hdf5_file *f, uint64_t at, const tree *t, int depth, uint64_t n,
                               const uint8_t *node) {
  const uint64_t record = t->records->size;
  const uint8_t *p = node + 6;
  CHECK(memcmp(node, depth ? "BTIN" : "BTLF", 4) == 0 && node[4] == 0 && node[5] == t->records->kind, at,
        "no node of a tree");
  CHECK(n <= t->most[depth] && ++f->nodes < PZ_HDF5_NODES, at, "too many entries in a tree");
  for (uint64_t i = 0; i < n && t->records->visit; i++) {
    pz_hdf5_rest(f);
    PZ_TRY(t->records->visit(f, at + 6 + i * record, p + i * record, t->records->host));
  }
  const uint64_t pointer = depth ? 8 + (uint64_t)t->count_bytes + (uint64_t)all_bytes(t, depth - 1) : 0;
  for (uint64_t i = 0; depth && i <= n; i++) {
    const uint8_t *child = p + n * record + i * pointer;
    PZ_TRY(check_node(f, get(child, 8), t, depth - 1, get(child + 8, t->count_bytes)));
  }
  return PZ_OK;
}

/* As of hdf5_layout.c's trees: a copy, which costs less than a page of the view. */
static pz_status check_node(pz_hdf5_file *f, uint64_t at, const tree *t, int depth, uint64_t n) {
  CHECK(pz_hdf5_inside(f, at, t->node), at, "no node of a tree");
  uint8_t *node = malloc(t->node);
  if (!node) return pz_fail_memory(f->err, "a tree", t->node);
  const pz_status status = pz_view_read(f->view, at, t->node, node)
                               ? check_entries(f, at, t, depth, n, node)
                               : pz_hdf5_broken(f, at, "no node of a tree");
  free(node);
  return status;
}

pz_status pz_hdf5_check_records(pz_hdf5_file *f, uint64_t at, const pz_hdf5_records *records) {
  CHECK(pz_hdf5_there(f, at, 38) && memcmp(f->data + at, "BTHD\0", 5) == 0, at, "no tree");
  const uint8_t *p = f->data + at;
  tree t = {.records = records, .node = get(p + 6, 4)};
  const int depth = (int)get(p + 12, 2);
  CHECK(p[5] == records->kind && get(p + 10, 2) == records->size, at, "a tree of another kind");
  CHECK(t.node >= 512 && t.node <= 1 << 16 && depth < PZ_HDF5_DEPTH, at, "a tree of a wrong size");
  PZ_TRY(measure(f, at, &t, depth));
  const uint64_t root = get(p + 16, 8), n = get(p + 24, 2);
  if (root == PZ_HDF5_NONE) {
    CHECK(depth == 0 && n == 0, at, "a tree without a root");
    return PZ_OK;
  }
  return check_node(f, root, &t, depth, n);
}

/* ------------------------------------------------------------------ heaps */

enum { WIDTH = 4, MOST_BLOCK = 1 << 16, HEAP_HEAD = 146 };

typedef struct heap {
  uint64_t at, start; /* bytes of the smallest block */
  uint64_t root;
  int rows; /* of the root; 0 where it is a block of values itself */
  int offset_bytes, length_bytes, id_bytes;
  bool sums;
} heap;

/* Where it is in the address space of the heap, how large it is. */
typedef struct piece {
  uint64_t at, begin, size;
} piece;

static uint64_t row_size(const heap *h, int row) { return row < 2 ? h->start : h->start << (row - 1); }

static pz_status take_heap(const pz_hdf5_file *f, uint64_t at, heap *h) {
  CHECK(pz_hdf5_there(f, at, HEAP_HEAD) && memcmp(f->data + at, "FRHP\0", 5) == 0, at, "no heap");
  const uint8_t *p = f->data + at;
  const uint64_t bits = get(p + 128, 2);
  *h = (heap){.at = at, .start = get(p + 112, 8), .root = get(p + 132, 8), .rows = (int)get(p + 140, 2)};
  h->id_bytes = (int)get(p + 5, 2), h->sums = p[9] & 2;
  h->offset_bytes = (int)(bits + 7) / 8, h->length_bytes = 2;
  CHECK(get(p + 7, 2) == 0, at, "a heap with filters");
  CHECK(get(p + 110, 2) == WIDTH && (h->start == 512 || h->start == 1024) && get(p + 120, 8) == MOST_BLOCK &&
            (bits == 32 || bits == 40) && get(p + 130, 2) == 1 && get(p + 10, 4) == 4096 &&
            (h->id_bytes == 7 || h->id_bytes == 8) && p[9] <= 3,
        at, "a heap of unusual sizes");
  CHECK(h->rows < 24 && get(p + 22, 8) == PZ_HDF5_NONE && get(p + 86, 8) == 0 && get(p + 102, 8) == 0, at,
        "a heap with values outside of it");
  return PZ_OK;
}

static pz_status check_piece(const pz_hdf5_file *f, const heap *h, const piece *b, const char *name,
                             uint64_t size) {
  CHECK(pz_hdf5_inside(f, b->at, size) && pz_hdf5_there(f, b->at, 13 + (uint64_t)h->offset_bytes) &&
            memcmp(f->data + b->at, name, 4) == 0 && f->data[b->at + 4] == 0 &&
            get(f->data + b->at + 5, 8) == h->at && get(f->data + b->at + 13, h->offset_bytes) == b->begin,
        b->at, "no block of a heap");
  return PZ_OK;
}

/* The block that holds `offset`, of those below a block of `rows` rows: four in a row, each row twice as large as the one
 * before but for the second; blocks larger than the largest of values are blocks of rows again. */
static pz_status find_block(const pz_hdf5_file *f, const heap *h, uint64_t offset, piece *b) {
  *b = (piece){.at = h->root, .size = h->start};
  for (int rows = h->rows; rows > 0;) {
    const uint64_t entries = (uint64_t)rows * WIDTH;
    PZ_TRY(check_piece(f, h, b, "FHIB", 17 + (uint64_t)h->offset_bytes + 8 * entries));
    uint64_t begin = b->begin;
    int row = 0;
    while (row < rows && offset - begin >= WIDTH * row_size(h, row)) begin += WIDTH * row_size(h, row++);
    CHECK(row < rows, b->at, "an entry outside of its heap");
    CHECK(pz_hdf5_there(f, b->at, 17 + (uint64_t)h->offset_bytes + 8 * entries), b->at, "no block of a heap");
    const uint64_t size = row_size(h, row), column = (offset - begin) / size;
    const uint8_t *entry = f->data + b->at + 13 + h->offset_bytes + 8 * ((uint64_t)row * WIDTH + column);
    *b = (piece){.at = get(entry, 8), .begin = begin + column * size, .size = size};
    rows = size > MOST_BLOCK ? 1 : 0;
    while (rows > 0 && WIDTH * h->start << (rows - 1) < size) rows++;
  }
  return check_piece(f, h, b, "FHDB", b->size);
}

/* What stands at an identifier: flags (0: inside of a block), offset, length. */
static pz_status find(const pz_hdf5_file *f, const heap *h, uint64_t where, const uint8_t *id,
                      pz_hdf5_bytes *out) {
  const uint64_t offset = get(id + 1, h->offset_bytes), size = get(id + 1 + h->offset_bytes, h->length_bytes);
  const uint64_t head = 13 + (uint64_t)h->offset_bytes + (h->sums ? 4 : 0);
  piece b;
  CHECK(id[0] == 0, where, "a value outside of its heap");
  PZ_TRY(find_block(f, h, offset, &b));
  CHECK(offset >= b.begin + head && size > 0 && offset - b.begin < b.size &&
            size <= b.size - (offset - b.begin),
        where, "an entry outside of its heap");
  *out = (pz_hdf5_bytes){f->data + b.at + (offset - b.begin), size};
  CHECK(pz_hdf5_there(f, b.at + (offset - b.begin), size), where, "an entry outside of its heap");
  return PZ_OK;
}

/* ------------------------------------------------------------------ links, attributes */

/* The name's checksum, then the identifier. */
static pz_status visit_link(pz_hdf5_file *f, uint64_t at, const uint8_t *record, void *host) {
  pz_hdf5_bytes link;
  PZ_TRY(find(f, host, at + 4, record + 4, &link));
  return pz_hdf5_check_link(f, link);
}

/* The identifier, flags, order of creation, the name's checksum. */
static pz_status visit_attribute(pz_hdf5_file *f, uint64_t at, const uint8_t *record, void *host) {
  pz_hdf5_bytes attribute;
  CHECK(!(record[8] & 2), at, "a shared attribute");
  PZ_TRY(find(f, host, at, record, &attribute));
  return pz_hdf5_check_attribute(f, attribute);
}

pz_status pz_hdf5_check_many_links(pz_hdf5_file *f, uint64_t at, uint64_t names) {
  heap h;
  PZ_TRY(take_heap(f, at, &h));
  CHECK(h.id_bytes == 7 && h.offset_bytes == 4, at, "a heap of unusual sizes");
  const pz_hdf5_records records = {.kind = 5, .size = 11, .visit = visit_link, .host = &h};
  return pz_hdf5_check_records(f, names, &records);
}

pz_status pz_hdf5_check_many_attributes(pz_hdf5_file *f, uint64_t at, uint64_t names) {
  heap h;
  PZ_TRY(take_heap(f, at, &h));
  CHECK(h.id_bytes == 8 && h.offset_bytes == 5, at, "a heap of unusual sizes");
  const pz_hdf5_records records = {.kind = 8, .size = 17, .visit = visit_attribute, .host = &h};
  return pz_hdf5_check_records(f, names, &records);
}
