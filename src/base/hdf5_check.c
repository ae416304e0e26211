#include "base/hdf5_check.h"

#include "base/hdf5_sum.h"

#include <string.h>

enum { OBJECTS = 1 << 16, DEPTH = 32, BLOCKS = 64, CHUNK_RANK = 33 };
enum {
  SPACE = 1,
  TYPE = 3,
  OLD_FILL = 4,
  FILL = 5,
  LINK = 6,
  OUTSIDE = 7,
  LAYOUT = 8,
  FILTERS = 11,
  ATTRIBUTE = 12,
  MORE = 16,
  GROUP = 17,
  TREES = 19
};

typedef struct file {
  const uint8_t *data;
  uint64_t size; /* as the superblock says, no more than the real one */
  const char *path;
  uint64_t leaf_k, group_k, chunk_k; /* half the entries of symbol nodes, group trees, chunk trees */
  int64_t objects, nodes;
  bool plain;
  bool alone; /* objects that one leads to are not looked at */
  pz_error *err;
} file;

typedef struct block {
  uint64_t at, size;
} block;

/* What the messages of one object say of each other. */
typedef struct object {
  uint32_t seen; /* types of messages, as bits */
  bool filtered;
  uint64_t points, element; /* of its array; 0 where unknown */
  const uint8_t *layout;
  uint64_t layout_size;
  uint64_t tree, heap; /* of a group */
  bool group;
  bool shaped; /* `points` and `rank` are known */
  int rank;
  int depth;
} object;

static uint64_t get(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
  return v;
}

static pz_status broken(const file *f, uint64_t at, const char *what) {
  return pz_fail(f->err, PZ_ERROR_INPUT, "%s: truncated or damaged HDF5 file: %s at byte %llu", f->path, what,
                 (unsigned long long)at);
}

static bool inside(const file *f, uint64_t at, uint64_t size) {
  return size <= f->size && at <= f->size - size;
}

#define CHECK(condition, at, what)                                                                           \
  do {                                                                                                       \
    if (!(condition)) return broken(f, at, what);                                                            \
  } while (0)

/* ------------------------------------------------------------------ chunks */

/* A chunk that no filter has changed is as large as the layout says, or the library would read behind it. */
static pz_status check_chunk(file *f, const uint8_t *key, uint64_t at, uint64_t raw, bool filtered) {
  const uint64_t size = get(key, 4);
  CHECK(inside(f, at, size), at, "a chunk outside of the file");
  CHECK(filtered || size == raw, at, "a chunk of the wrong size");
  CHECK(size > 0, at, "an empty chunk");
  return PZ_OK;
}

static pz_status check_chunks(file *f, uint64_t at, int rank, uint64_t raw, bool filtered, int level) {
  const uint64_t key = 8 + 8 * (uint64_t)rank, size = 24 + (2 * f->chunk_k + 1) * key + 2 * f->chunk_k * 8;
  CHECK(inside(f, at, size) && memcmp(f->data + at, "TREE\1", 5) == 0, at, "no tree of chunks");
  const uint8_t *node = f->data + at;
  const uint64_t entries = get(node + 6, 2);
  CHECK(entries <= 2 * f->chunk_k && ++f->nodes < OBJECTS * INT64_C(64), at,
        "too many entries in a tree of chunks");
  CHECK(level < 0 ? node[5] < DEPTH : node[5] == level, at, "a wrong level in a tree of chunks");
  for (uint64_t i = 0; i < entries; i++) {
    const uint8_t *k = node + 24 + i * (key + 8);
    if (node[5] > 0) PZ_TRY(check_chunks(f, get(k + key, 8), rank, raw, filtered, node[5] - 1));
    else PZ_TRY(check_chunk(f, k, get(k + key, 8), raw, filtered));
  }
  return PZ_OK;
}

static pz_status check_chunked(file *f, const object *o, uint64_t at) {
  const int rank = o->layout_size > 2 ? o->layout[2] : 0; /* with the element as the last axis */
  uint64_t raw = 1;
  CHECK(rank >= 2 && rank < CHUNK_RANK && o->layout_size >= 11 + 4 * (uint64_t)rank, at, "a short layout");
  for (int i = 0; i < rank; i++) {
    const uint64_t n = get(o->layout + 11 + 4 * i, 4);
    CHECK(n > 0 && !__builtin_mul_overflow(raw, n, &raw) && raw < UINT64_C(1) << 32, at,
          "chunks of a wrong size");
  }
  CHECK(!o->shaped || rank == o->rank + 1, at, "chunks of another shape");
  CHECK(o->element == 0 || get(o->layout + 11 + 4 * (rank - 1), 4) == o->element, at,
        "chunks of another type");
  const uint64_t tree = get(o->layout + 3, 8);
  return tree == UINT64_MAX ? PZ_OK : check_chunks(f, tree, rank, raw, o->filtered, -1);
}

static pz_status check_layout(file *f, const object *o) {
  const uint8_t *l = o->layout;
  const uint64_t at = (uint64_t)(l - f->data), n = o->layout_size;
  uint64_t need;
  CHECK(n >= 4 && l[0] == 3, at, "an unknown version of a layout");
  CHECK(!o->filtered || l[1] == 2, at, "filters without chunks");
  CHECK(!__builtin_mul_overflow(o->points, o->element, &need), at, "an array that is too large");
  if (l[1] == 2) return check_chunked(f, o, at);
  if (l[1] == 0) {
    const uint64_t size = get(l + 2, 2);
    CHECK(size <= n - 4 && size >= need, at, "an array that is shorter than its shape");
    return PZ_OK;
  }
  CHECK(l[1] == 1 && n >= 18, at, "an unknown layout");
  const uint64_t data = get(l + 2, 8), size = get(l + 10, 8);
  CHECK(size >= need && (data == UINT64_MAX || inside(f, data, size)), at, "an array outside of the file");
  return PZ_OK;
}

/* ------------------------------------------------------------------ names */

/* The heap of a group's names: inside the file, and its list of free pieces ends. */
static pz_status check_heap(file *f, uint64_t at, block *names) {
  CHECK(inside(f, at, 32) && memcmp(f->data + at, "HEAP\0", 5) == 0, at, "no heap of names");
  *names = (block){get(f->data + at + 24, 8), get(f->data + at + 8, 8)};
  CHECK(names->size > 0 && inside(f, names->at, names->size), at, "a heap of names outside of the file");
  uint64_t free = get(f->data + at + 16, 8), steps = 0;
  while (free != 1 && free != UINT64_MAX) {
    CHECK(free <= names->size && names->size - free >= 16 && ++steps <= names->size / 16, at,
          "a bad heap of names");
    const uint64_t size = get(f->data + names->at + free + 8, 8);
    CHECK(size >= 16 && size <= names->size - free, at, "a bad heap of names");
    free = get(f->data + names->at + free, 8);
  }
  return PZ_OK;
}

static pz_status check_name(file *f, const block *names, uint64_t offset, uint64_t at) {
  CHECK(offset < names->size && memchr(f->data + names->at + offset, 0, names->size - offset), at,
        "a name without an end");
  return PZ_OK;
}

/* ------------------------------------------------------------------ messages */

static pz_status check_space(file *f, const uint8_t *m, uint64_t n, uint64_t at, uint64_t *points) {
  CHECK(n >= 4 && (m[0] == 1 || m[0] == 2) && m[1] <= 32, at, "a bad shape");
  const uint64_t head = m[0] == 1 ? 8 : 4, rank = m[1], flags = m[2];
  CHECK(flags <= 1, at, "a bad shape");
  CHECK(n >= head + 8 * rank * (1 + flags), at, "a short shape");
  *points = 1;
  for (uint64_t i = 0; i < rank; i++)
    CHECK(!__builtin_mul_overflow(*points, get(m + head + 8 * i, 8), points), at,
          "a shape that is too large");
  if (m[0] == 2 && m[3] == 2 && rank == 0) *points = 0; /* a null space, which has no values at all */
  return PZ_OK;
}

/* Integers and floats are described by a fixed number of bytes; the rest is left to the library, and to nobody where it
 * is not needed. */
static pz_status check_type(file *f, const uint8_t *m, uint64_t n, uint64_t at, uint64_t *element,
                            bool *plain) {
  CHECK(n >= 8 && m[0] >> 4 >= 1 && m[0] >> 4 <= 3, at, "a bad type");
  const int class = m[0] & 15;
  *element = get(m + 4, 4);
  CHECK(*element > 0, at, "a type of size 0");
  CHECK(class > 1 || n >= (class == 0 ? 12u : 20u), at, "a short type");
  if (class <= 1) {
    const uint64_t offset = get(m + 8, 2), precision = get(m + 10, 2);
    CHECK(precision > 0 && offset + precision <= 8 * *element, at, "a type with bits outside of it");
  }
  if (class == 1)
    CHECK(m[12] + m[13] <= (int)(8 * *element) && m[14] + m[15] <= (int)(8 * *element) && m[2] < 8 * *element,
          at, "a float with bits outside of it");
  /* 3: strings, 7: references; 9: lists and strings of any length, whose elements are described behind */
  if (class == 9) {
    uint64_t inner;
    return check_type(f, m + 8, n - 8, at, &inner, plain);
  }
  *plain = *plain && (class <= 1 || class == 3 || class == 7);
  return PZ_OK;
}

static pz_status check_filters(file *f, const uint8_t *m, uint64_t n, uint64_t at) {
  CHECK(n >= 2 && (m[0] == 1 || m[0] == 2) && m[1] >= 1 && m[1] <= 32, at, "bad filters");
  uint64_t i = m[0] == 1 ? 8 : 2;
  for (int k = 0; k < m[1]; k++) {
    CHECK(i + 8 <= n, at, "short filters");
    const uint64_t id = get(m + i, 2), named = m[0] == 1 || id >= 256;
    const uint64_t name = named ? get(m + i + 2, 2) : 0, values = get(m + i + (named ? 6 : 4), 2);
    CHECK(id < 4 || id > 6, at, "one of the filters szip, nbit and scale-offset, which are not read here,");
    CHECK(id != 0 && (m[0] == 2 || name % 8 == 0), at, "bad filters");
    i += (named ? 8 : 6) + name + 4 * values + (m[0] == 1 && values % 2 ? 4 : 0);
    CHECK(i <= n, at, "short filters");
  }
  return PZ_OK;
}

static uint64_t padded(uint64_t n, int version) { return version == 1 ? (n + 7) / 8 * 8 : n; }

static pz_status check_attribute(file *f, const uint8_t *m, uint64_t n, uint64_t at) {
  CHECK(n >= 9 && m[0] >= 1 && m[0] <= 3, at, "a bad attribute");
  const uint64_t name = get(m + 2, 2), type = get(m + 4, 2), space = get(m + 6, 2), head = m[0] == 3 ? 9 : 8;
  const uint64_t type_at = head + padded(name, m[0]), space_at = type_at + padded(type, m[0]);
  const uint64_t data_at = space_at + padded(space, m[0]);
  uint64_t points, element, bytes;
  CHECK(data_at <= n && name > 0 && memchr(m + head, 0, name), at, "a short attribute");
  if (m[0] > 1 && m[1] != 0) {
    f->plain = false; /* types that are kept elsewhere */
    return PZ_OK;
  }
  PZ_TRY(check_type(f, m + type_at, type, at, &element, &f->plain));
  PZ_TRY(check_space(f, m + space_at, space, at, &points));
  CHECK(!__builtin_mul_overflow(points, element, &bytes) && bytes <= n - data_at, at, "a short attribute");
  return PZ_OK;
}

static pz_status check_fill(file *f, const uint8_t *m, uint64_t n, uint64_t at) {
  CHECK(n >= 2 && m[0] >= 1 && m[0] <= 3, at, "a bad fill value");
  const uint64_t head = m[0] == 3 ? 2 : 4;
  const bool given = m[0] == 1 || (m[0] == 2 ? n >= 4 && m[3] != 0 : (m[1] & 0x20) != 0);
  CHECK(n >= head && (!given || (n >= head + 4 && get(m + head, 4) <= n - head - 4)), at,
        "a short fill value");
  return PZ_OK;
}

static pz_status check_object(file *f, uint64_t at, int depth);

static pz_status check_old_group(file *f, const uint8_t *m, uint64_t n, uint64_t at, object *o) {
  CHECK(n >= 16, at, "a short group");
  o->group = true, o->tree = get(m, 8), o->heap = get(m + 8, 8);
  return PZ_OK;
}

/* The value of a link that is not hard. 64: to another file, whose name and path are ended. */
static pz_status check_link_value(file *f, const uint8_t *m, uint64_t n, uint64_t at, int kind) {
  CHECK(n >= 2 && get(m, 2) <= n - 2, at, "a short link");
  const uint64_t size = get(m, 2);
  const uint8_t *end = kind == 64 && size > 2 ? memchr(m + 3, 0, size - 1) : NULL;
  CHECK(kind != 64 || (end && end + 1 < m + 2 + size && m[2 + size - 1] == 0), at,
        "a link's name without an end");
  return PZ_OK;
}

/* Version, flags, then kind, order and alphabet where the flags say so, the length of the name, the name. */
static pz_status check_link(file *f, const uint8_t *m, uint64_t n, uint64_t at, const object *o) {
  CHECK(n >= 2 && m[0] == 1, at, "a bad link");
  const uint8_t flags = m[1];
  const uint64_t width = UINT64_C(1) << (flags & 3);
  const uint64_t head = 2 + (flags & 8 ? 1 : 0) + (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
  CHECK(n >= head + width, at, "a short link");
  const uint64_t length = get(m + head, (int)width), i = head + width + length;
  CHECK(length > 0 && length <= n - head - width, at, "a short link");
  const int kind = flags & 8 ? m[2] : 0;
  if (kind != 0) return check_link_value(f, m + i, n - i, at, kind);
  CHECK(n - i >= 8, at, "a short link");
  return check_object(f, get(m + i, 8), o->depth + 1);
}

/* The library (1.10) loses memory over damaged lists of other files. */
static pz_status refuse_outside(const file *f, uint64_t at) {
  return pz_fail(f->err, PZ_ERROR_INPUT,
                 "%s: a dataset (byte %llu) has its values in another file; copy it into this one", f->path,
                 (unsigned long long)at);
}

/* Half the entries of nodes, where they are not the usual ones. */
static pz_status check_trees(file *f, const uint8_t *m, uint64_t n, uint64_t at) {
  CHECK(n >= 7 && m[0] == 0, at, "bad sizes of trees");
  f->chunk_k = get(m + 1, 2), f->group_k = get(m + 3, 2), f->leaf_k = get(m + 5, 2);
  return PZ_OK;
}

/* Of a header with a checksum: what leads on to other objects, or to blocks that have none. */
static pz_status check_later_message(file *f, int type, const uint8_t *m, uint64_t n, object *o) {
  const uint64_t at = (uint64_t)(m - f->data);
  switch (type) {
  case LINK: return check_link(f, m, n, at, o);
  case OUTSIDE: return refuse_outside(f, at);
  case GROUP: return check_old_group(f, m, n, at, o);
  case TREES: return check_trees(f, m, n, at);
  case FILTERS: o->filtered = true; return PZ_OK;
  case LAYOUT:
    if (!o->layout && n >= 4 && m[0] == 3) o->layout = m, o->layout_size = n;
    return PZ_OK;
  default: return PZ_OK;
  }
}

static pz_status check_message(file *f, int type, const uint8_t *m, uint64_t n, object *o) {
  const uint64_t at = (uint64_t)(m - f->data);
  bool ignored = true;
  /* The library takes the first of two, and we would not know which is looked at where. */
  const bool many = type >= 32 || type == 0 || type == ATTRIBUTE || type == LINK;
  CHECK(many || !(o->seen & 1u << type), at, "a message that is there twice");
  switch (type) {
  case SPACE: o->shaped = true, o->rank = n > 1 ? m[1] : 0; return check_space(f, m, n, at, &o->points);
  case TYPE: return check_type(f, m, n, at, &o->element, &ignored);
  case OLD_FILL: CHECK(n >= 4 && get(m, 4) <= n - 4, at, "a short fill value"); return PZ_OK;
  case FILL: return check_fill(f, m, n, at);
  case LAYOUT: o->layout = m, o->layout_size = n; return PZ_OK;
  case FILTERS: o->filtered = true; return check_filters(f, m, n, at);
  case ATTRIBUTE: return check_attribute(f, m, n, at);
  case GROUP: return check_old_group(f, m, n, at, o);
  case LINK: return check_link(f, m, n, at, o);
  case OUTSIDE: return refuse_outside(f, at);
  /* bogus, group info, ...: read by nobody; times, comments: a version and fixed fields */
  default:
    CHECK(type == 0 || type == 10 || type == 18 || type == 14 || type == 2, at, "an unknown message");
    return PZ_OK;
  }
}

/* ------------------------------------------------------------------ objects and groups */

/* The blocks of messages of one header; a message may lead to a further block. */
typedef struct header {
  int version;
  uint64_t prefix;   /* bytes in front of a message */
  uint64_t messages; /* how many the header says there are; version 2 does not */
  uint64_t seen;     /* so far: the library reads all that are in the blocks, whatever their number */
  block blocks[BLOCKS];
  int count;
} header;

static pz_status add_block(file *f, header *h, uint64_t at, uint64_t size) {
  CHECK(inside(f, at, size), at, "an object outside of the file");
  CHECK(h->version == 2 || size % 8 == 0, at, "an object of a wrong size");
  CHECK(h->count < BLOCKS, at, "an object in too many pieces");
  h->blocks[h->count++] = (block){at, size};
  return PZ_OK;
}

/* The checksum behind `size` bytes. */
static bool sums_up(const file *f, uint64_t at, uint64_t size) {
  return size <= f->size && inside(f, at, size + 4) &&
         pz_hdf5_lookup3(f->data + at, size) == get(f->data + at + size, 4);
}

/* Version 2 has a signature in front of a further block and a checksum behind it. */
static pz_status follow(file *f, header *h, const uint8_t *m, uint64_t n) {
  CHECK(n >= 16, (uint64_t)(m - f->data), "a bad continuation");
  const uint64_t at = get(m, 8), size = get(m + 8, 8);
  CHECK(size >= 8 && inside(f, at, size), at, "an object outside of the file");
  if (h->version == 1) return add_block(f, h, at, size);
  CHECK(memcmp(f->data + at, "OCHK", 4) == 0 && sums_up(f, at, size - 4), at, "a wrong checksum");
  return add_block(f, h, at + 4, size - 8);
}

static pz_status check_block(file *f, header *h, block b, object *o) {
  const uint64_t end = b.at + b.size;
  for (uint64_t i = b.at; end - i >= h->prefix; h->seen++) {
    const uint8_t *m = f->data + i;
    const bool old = h->version == 1;
    const int type = (int)get(m, old ? 2 : 1), flags = m[old ? 4 : 3];
    const uint64_t n = get(m + (old ? 2 : 1), 2);
    i += h->prefix;
    CHECK(n <= end - i && (!old || n % 8 == 0), i, "a message outside of its block");
    CHECK(!(flags & 2) || !old || type == ATTRIBUTE, i, "a shared message");
    if (type == MORE) PZ_TRY(follow(f, h, m + h->prefix, n));
    else if (old) PZ_TRY(check_message(f, type, m + h->prefix, n, o));
    else if (!(flags & 2)) PZ_TRY(check_later_message(f, type, m + h->prefix, n, o));
    if (type < 32) o->seen |= 1u << type;
    i += n;
  }
  return PZ_OK;
}

/* Version, a reserved byte, the number of messages, of references, the size; messages begin at 16. */
static pz_status begin_old(file *f, uint64_t at, header *h) {
  CHECK(f->data[at] == 1, at, "no object");
  *h = (header){.version = 1, .prefix = 8, .messages = get(f->data + at + 2, 2)};
  const uint64_t size = get(f->data + at + 8, 4);
  CHECK(size >= 8, at, "an empty object");
  return add_block(f, h, at + 16, size);
}

/* Signature, version, flags, then times and phase changes where the flags say so, then the size. */
static pz_status begin_later(file *f, uint64_t at, header *h) {
  const uint8_t flags = f->data[at + 5];
  const uint64_t head = 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0), width = UINT64_C(1)
                                                                                      << (flags & 3);
  CHECK(memcmp(f->data + at, "OHDR\2", 5) == 0, at, "no object");
  CHECK(inside(f, at, head + width), at, "an object outside of the file");
  *h = (header){.version = 2, .prefix = flags & 4 ? 6 : 4};
  const uint64_t size = get(f->data + at + head, (int)width);
  PZ_TRY(add_block(f, h, at + head + width, size));
  CHECK(sums_up(f, at, head + width + size), at, "a wrong checksum");
  return PZ_OK;
}

static pz_status check_header(file *f, uint64_t at, object *o) {
  header h;
  CHECK(inside(f, at, 16), at, "no object");
  PZ_TRY(f->data[at] == 'O' ? begin_later(f, at, &h) : begin_old(f, at, &h));
  for (int i = 0; i < h.count; i++) PZ_TRY(check_block(f, &h, h.blocks[i], o));
  CHECK(h.seen >= h.messages, at, "an object with fewer messages than it says");
  return PZ_OK;
}

static pz_status check_symbols(file *f, uint64_t at, const block *names, int depth) {
  CHECK(inside(f, at, 8 + 2 * f->leaf_k * 40) && memcmp(f->data + at, "SNOD\1", 5) == 0, at,
        "no list of symbols");
  const uint64_t n = get(f->data + at + 6, 2);
  CHECK(n > 0 && n <= 2 * f->leaf_k, at, "a list of symbols that is too long");
  for (uint64_t i = 0; i < n; i++) {
    const uint8_t *entry = f->data + at + 8 + 40 * i;
    const uint64_t kind = get(entry + 16, 4);
    CHECK(kind <= 2, at, "an unknown link");
    PZ_TRY(check_name(f, names, get(entry, 8), at));
    /* 2: a symbolic link, to a path in the heap */
    PZ_TRY(kind == 2 ? check_name(f, names, get(entry + 24, 4), at)
                     : check_object(f, get(entry + 8, 8), depth + 1));
  }
  return PZ_OK;
}

static pz_status check_tree(file *f, uint64_t at, const block *names, int level, int depth) {
  const uint64_t size = 24 + (2 * f->group_k + 1) * 8 + 2 * f->group_k * 8;
  CHECK(inside(f, at, size) && memcmp(f->data + at, "TREE\0", 5) == 0, at, "no tree of names");
  const uint8_t *node = f->data + at;
  const uint64_t n = get(node + 6, 2);
  CHECK(n <= 2 * f->group_k && ++f->nodes < OBJECTS * INT64_C(64), at, "too many entries in a tree of names");
  CHECK(level < 0 ? node[5] < DEPTH : node[5] == level, at, "a wrong level in a tree of names");
  CHECK(n > 0 || level < 0, at, "an empty tree of names");
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t child = get(node + 32 + 16 * i, 8);
    PZ_TRY(check_name(f, names, get(node + 24 + 16 * i, 8), at));
    PZ_TRY(check_name(f, names, get(node + 40 + 16 * i, 8), at));
    PZ_TRY(node[5] > 0 ? check_tree(f, child, names, node[5] - 1, depth)
                       : check_symbols(f, child, names, depth));
  }
  return PZ_OK;
}

static pz_status check_group(file *f, uint64_t tree, uint64_t heap, int depth) {
  block names;
  PZ_TRY(check_heap(f, heap, &names));
  return check_tree(f, tree, &names, -1, depth);
}

static pz_status check_object(file *f, uint64_t at, int depth) {
  object o = {.depth = depth};
  if (f->alone && depth > 0) return PZ_OK;
  CHECK(depth < DEPTH && ++f->objects < OBJECTS, at, "groups inside of themselves");
  PZ_TRY(check_header(f, at, &o));
  if (o.group) return check_group(f, o.tree, o.heap, depth);
  /* what has a shape and a type is a dataset for the library, which loses memory without a layout */
  const uint32_t dataset = 1u << SPACE | 1u << TYPE;
  CHECK((o.seen & dataset) != dataset || o.seen & 1u << LAYOUT, at, "a dataset without a layout");
  return o.layout ? check_layout(f, &o) : PZ_OK;
}

/* ------------------------------------------------------------------ the beginning */

static pz_status check_tree_sizes(file *f) {
  const uint64_t k[] = {f->leaf_k, f->group_k, f->chunk_k};
  for (int i = 0; i < 3; i++) CHECK(k[i] >= 1 && k[i] < 4096, 0, "bad sizes of trees");
  return PZ_OK;
}

/* Base address, end of the file: what is behind it is not the library's. */
static pz_status take_end(file *f, uint64_t base, uint64_t end, uint64_t at) {
  CHECK(base == 0 && end <= f->size, at, "truncated");
  f->size = end;
  return PZ_OK;
}

static pz_status check_old(file *f, uint64_t *root) {
  const uint8_t *s = f->data;
  const uint64_t at = s[8] == 1 ? 28 : 24; /* version 1 has four bytes more */
  CHECK(inside(f, 0, at + 32 + 40), 0, "truncated");
  CHECK(s[9] == 0 && s[10] == 0 && s[12] == 0 && s[13] == 8 && s[14] == 8, 8, "unknown sizes or versions");
  f->leaf_k = get(s + 16, 2), f->group_k = get(s + 18, 2), f->chunk_k = s[8] == 1 ? get(s + 24, 2) : 32;
  PZ_TRY(check_tree_sizes(f));
  PZ_TRY(take_end(f, get(s + at, 8), get(s + at + 16, 8), at));
  CHECK(inside(f, 0, at + 32 + 40), 0, "truncated");
  CHECK(get(s + at + 24, 8) == UINT64_MAX, at, "a driver of its own");
  const uint8_t *entry = s + at + 32;
  CHECK(get(entry + 16, 4) <= 1, at, "a bad root");
  *root = get(entry + 8, 8);
  return get(entry + 16, 4) == 1 && !f->alone ? check_group(f, get(entry + 24, 8), get(entry + 32, 8), 0)
                                              : PZ_OK;
}

/* Sizes, flags, base, extension, end, root, checksum. The extension is an object of its own. */
static pz_status check_later(file *f, uint64_t *root) {
  const uint8_t *s = f->data;
  CHECK(inside(f, 0, 48), 0, "truncated");
  CHECK(s[9] == 8 && s[10] == 8, 8, "unknown sizes");
  CHECK(sums_up(f, 0, 44), 44, "a wrong checksum");
  PZ_TRY(take_end(f, get(s + 12, 8), get(s + 28, 8), 12));
  f->leaf_k = 4, f->group_k = 16, f->chunk_k = 32;
  if (get(s + 20, 8) != UINT64_MAX) PZ_TRY(check_object(f, get(s + 20, 8), 0));
  *root = get(s + 36, 8);
  return check_tree_sizes(f);
}

static pz_status check_beginning(file *f, uint64_t *root) {
  if (f->size < 8 || memcmp(f->data, "\x89HDF\r\n\x1a\n", 8) != 0)
    return pz_fail(f->err, PZ_ERROR_INPUT, "%s: not an HDF5 file: it does not begin with \\x89HDF", f->path);
  CHECK(f->size >= 48, 8, "truncated");
  CHECK(f->data[8] <= 3, 8, "an unknown version");
  return f->data[8] < 2 ? check_old(f, root) : check_later(f, root);
}

pz_status pz_hdf5_check(const char *path, bool *plain_attributes, pz_error *err) {
  pz_mapping map;
  uint64_t root;
  PZ_TRY(pz_file_map(path, &map, err));
  file f = {.data = map.data, .size = map.size, .path = path, .plain = true, .err = err};
  pz_status status = check_beginning(&f, &root);
  if (status == PZ_OK) status = check_object(&f, root, 0);
  if (plain_attributes) *plain_attributes = f.plain;
  pz_file_unmap(&map);
  return status;
}

pz_status pz_hdf5_check_object(const pz_mapping *map, const char *path, uint64_t address, pz_error *err) {
  uint64_t root;
  file f = {.data = map->data, .size = map->size, .path = path, .plain = true, .alone = true, .err = err};
  PZ_TRY(check_beginning(&f, &root));
  return check_object(&f, address, 0);
}
