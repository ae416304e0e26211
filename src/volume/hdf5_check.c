#include "volume/hdf5_check.h"

#include "base/file.h"

#include <string.h>

enum { OBJECTS = 1 << 16, DEPTH = 32, BLOCKS = 64, CHUNK_RANK = 33 };
enum {
  SPACE = 1,
  TYPE = 3,
  OLD_FILL = 4,
  FILL = 5,
  LAYOUT = 8,
  FILTERS = 11,
  ATTRIBUTE = 12,
  MORE = 16,
  GROUP = 17
};

typedef struct file {
  const uint8_t *data;
  uint64_t size;
  const char *path;
  uint64_t leaf_k, group_k, chunk_k; /* half the entries of symbol nodes, group trees, chunk trees */
  int64_t objects, nodes;
  bool plain;
  pz_error *err;
} file;

/* What the messages of one object say of each other. */
typedef struct object {
  uint32_t seen; /* types of messages, as bits */
  bool filtered;
  uint64_t points, element; /* of its array; 0 where unknown */
  const uint8_t *layout;
  uint64_t layout_size;
  uint64_t tree, heap; /* of a group */
  bool group;
} object;

static uint64_t get(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
  return v;
}

static pz_status broken(const file *f, uint64_t at, const char *what) {
  return pz_fail(f->err, PZ_ERROR_INPUT, "%s: damaged HDF5 file: %s at byte %llu", f->path, what,
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

static pz_status check_message(file *f, int type, const uint8_t *m, uint64_t n, object *o) {
  const uint64_t at = (uint64_t)(m - f->data);
  bool ignored = true;
  /* The library takes the first of two, and we would not know which is looked at where. */
  if (type < 32 && type != 0 && type != ATTRIBUTE) {
    CHECK(!(o->seen & 1u << type), at, "a message that is there twice");
    o->seen |= 1u << type;
  }
  switch (type) {
  case SPACE: return check_space(f, m, n, at, &o->points);
  case TYPE: return check_type(f, m, n, at, &o->element, &ignored);
  case OLD_FILL: CHECK(n >= 4 && get(m, 4) <= n - 4, at, "a short fill value"); return PZ_OK;
  case FILL: return check_fill(f, m, n, at);
  case LAYOUT: o->layout = m, o->layout_size = n; return PZ_OK;
  case FILTERS: o->filtered = true; return check_filters(f, m, n, at);
  case ATTRIBUTE: return check_attribute(f, m, n, at);
  case GROUP:
    CHECK(n >= 16, at, "a short group");
    o->group = true, o->tree = get(m, 8), o->heap = get(m + 8, 8);
    return PZ_OK;
  /* bogus, group info, external files, ...: read by nobody; times, comments, links: a version and fixed fields */
  default:
    CHECK(type == 0 || type == 10 || type == 18 || type == 14 || type == 2, at, "an unknown message");
    return PZ_OK;
  }
}

/* ------------------------------------------------------------------ objects and groups */

static pz_status check_object(file *f, uint64_t at, int depth);

typedef struct block {
  uint64_t at, size;
} block;

static pz_status check_block(file *f, block b, uint64_t *messages, block *blocks, int *count, object *o) {
  uint64_t i = b.at;
  for (; *messages > 0 && b.at + b.size - i >= 8; (*messages)--) {
    const int type = (int)get(f->data + i, 2), flags = f->data[i + 4];
    const uint64_t n = get(f->data + i + 2, 2);
    CHECK(n % 8 == 0 && n <= b.at + b.size - i - 8, i, "a message outside of its block");
    CHECK(!(flags & 2) || type == ATTRIBUTE, i, "a shared message");
    if (type == MORE) {
      CHECK(n >= 16 && *count < BLOCKS, i, "a bad continuation");
      blocks[(*count)++] = (block){get(f->data + i + 8, 8), get(f->data + i + 16, 8)};
    } else PZ_TRY(check_message(f, type, f->data + i + 8, n, o));
    i += 8 + n;
  }
  return PZ_OK;
}

static pz_status check_header(file *f, uint64_t at, object *o) {
  block blocks[BLOCKS];
  int count = 1;
  CHECK(inside(f, at, 16) && f->data[at] == 1, at, "no object");
  uint64_t messages = get(f->data + at + 2, 2);
  blocks[0] = (block){at + 16, get(f->data + at + 8, 4)};
  for (int i = 0; i < count; i++) {
    CHECK(blocks[i].size >= 8 && inside(f, blocks[i].at, blocks[i].size), blocks[i].at,
          "an object outside of the file");
    PZ_TRY(check_block(f, blocks[i], &messages, blocks, &count, o));
  }
  CHECK(messages == 0, at, "an object with fewer messages than it says");
  return PZ_OK;
}

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

static pz_status check_symbols(file *f, uint64_t at, const block *names, int depth) {
  CHECK(inside(f, at, 8 + 2 * f->leaf_k * 40) && memcmp(f->data + at, "SNOD\1", 5) == 0, at,
        "no list of symbols");
  const uint64_t n = get(f->data + at + 6, 2);
  CHECK(n > 0 && n <= 2 * f->leaf_k, at, "a list of symbols that is too long");
  for (uint64_t i = 0; i < n; i++) {
    const uint8_t *entry = f->data + at + 8 + 40 * i;
    const uint64_t kind = get(entry + 16, 4);
    CHECK(kind <= 1, at, "a symbolic link or something unknown");
    PZ_TRY(check_name(f, names, get(entry, 8), at));
    PZ_TRY(check_object(f, get(entry + 8, 8), depth + 1));
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
  object o = {0};
  CHECK(depth < DEPTH && ++f->objects < OBJECTS, at, "groups inside of themselves");
  PZ_TRY(check_header(f, at, &o));
  if (o.group) return check_group(f, o.tree, o.heap, depth);
  return o.layout ? check_layout(f, &o) : PZ_OK;
}

/* ------------------------------------------------------------------ the beginning */

static pz_status check_old(file *f) {
  const uint8_t *s = f->data;
  const uint64_t at = s[8] == 1 ? 28 : 24; /* version 1 has four bytes more */
  CHECK(inside(f, 0, at + 32 + 40), 0, "truncated");
  CHECK(s[9] == 0 && s[10] == 0 && s[12] == 0 && s[13] == 8 && s[14] == 8, 8, "unknown sizes or versions");
  f->leaf_k = get(s + 16, 2), f->group_k = get(s + 18, 2), f->chunk_k = s[8] == 1 ? get(s + 24, 2) : 32;
  CHECK(f->leaf_k >= 1 && f->leaf_k < 4096 && f->group_k >= 1 && f->group_k < 4096, 16, "bad sizes of trees");
  CHECK(f->chunk_k >= 1 && f->chunk_k < 4096, 24, "bad sizes of trees");
  CHECK(get(s + at, 8) == 0 && get(s + at + 16, 8) <= f->size, at, "truncated");
  CHECK(get(s + at + 24, 8) == UINT64_MAX, at, "a driver of its own");
  const uint8_t *root = s + at + 32;
  CHECK(get(root + 16, 4) <= 1, at, "a bad root");
  if (get(root + 16, 4) == 1) PZ_TRY(check_group(f, get(root + 24, 8), get(root + 32, 8), 0));
  return check_object(f, get(root + 8, 8), 0);
}

static pz_status check_mapped(file *f) {
  if (f->size < 16 || memcmp(f->data, "\x89HDF\r\n\x1a\n", 8) != 0)
    return pz_fail(f->err, PZ_ERROR_INPUT, "%s: not an HDF5 file: it does not begin with \\x89HDF", f->path);
  if (f->data[8] == 2 || f->data[8] == 3) return PZ_OK;
  CHECK(f->data[8] < 2, 8, "an unknown version");
  return check_old(f);
}

pz_status pz_hdf5_check(const char *path, bool *plain_attributes, pz_error *err) {
  pz_mapping map;
  PZ_TRY(pz_file_map(path, &map, err));
  file f = {.data = map.data, .size = map.size, .path = path, .plain = true, .err = err};
  const pz_status status = check_mapped(&f);
  *plain_attributes = f.plain;
  pz_file_unmap(&map);
  return status;
}
