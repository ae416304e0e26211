/* hdf5_check_messages.c: the messages of an object header. Those that are not named here are refused. */
#include "formats/hdf5_check_parts.h"

#define CHECK PZ_HDF5_CHECK
#define get   pz_hdf5_get

enum {
  NOTHING = 0,
  SPACE = 1,
  LINKS = 2,
  TYPE = 3,
  OLD_FILL = 4,
  FILL = 5,
  LINK = 6,
  OUTSIDE = 7,
  LAYOUT = 8,
  GROUP_INFO = 10,
  FILTERS = 11,
  ATTRIBUTE = 12,
  COMMENT = 13,
  OLD_TIME = 14,
  GROUP = 17,
  TIME = 18,
  TREES = 19,
  ATTRIBUTES = 21,
  REFERENCES = 22,
  PAGES = 23
};

/* ------------------------------------------------------------------ shapes */

typedef struct shape {
  int rank;
  uint64_t points, dim[PZ_HDF5_RANK], most[PZ_HDF5_RANK];
} shape;

/* Version 2 says whether it is one value (0), an array (1) or nothing at all (2). */
static pz_status check_space(const pz_hdf5_file *f, pz_hdf5_bytes m, shape *s) {
  const uint64_t at = pz_hdf5_where(f, m);
  const uint8_t *p = m.data;
  CHECK(m.size >= 4 && (p[0] == 1 || p[0] == 2) && p[1] <= PZ_HDF5_RANK && p[2] <= 1, at, "a bad shape");
  const uint64_t head = p[0] == 1 ? 8 : 4, rank = p[1], flags = p[2];
  CHECK(p[0] == 1 || (p[3] <= 2 && (p[3] == 1) == (rank > 0)), at, "a bad shape");
  CHECK(m.size >= head + 8 * rank * (1 + flags), at, "a short shape");
  *s = (shape){.rank = (int)rank, .points = 1};
  for (uint64_t i = 0; i < rank; i++) {
    s->dim[i] = get(p + head + 8 * i, 8);
    s->most[i] = flags ? get(p + head + 8 * (rank + i), 8) : s->dim[i];
    CHECK(s->dim[i] <= s->most[i], at, "a shape that is larger than it may be");
    CHECK(!__builtin_mul_overflow(s->points, s->dim[i], &s->points), at, "a shape that is too large");
  }
  if (p[0] == 2 && p[3] == 2) s->points = 0;
  return PZ_OK;
}

static pz_status take_space(const pz_hdf5_file *f, pz_hdf5_bytes m, pz_hdf5_object *o) {
  shape s;
  PZ_TRY(check_space(f, m, &s));
  o->rank = s.rank, o->points = s.points;
  memcpy(o->dim, s.dim, sizeof s.dim), memcpy(o->most, s.most, sizeof s.most);
  return PZ_OK;
}

/* ------------------------------------------------------------------ attributes */

static uint64_t padded(uint64_t n, int version) { return version == 1 ? (n + 7) / 8 * 8 : n; }

pz_status pz_hdf5_check_attribute(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  const uint64_t at = pz_hdf5_where(f, m);
  const uint8_t *p = m.data;
  CHECK(m.size >= 9 && p[0] >= 1 && p[0] <= 3, at, "a bad attribute");
  const uint64_t name = get(p + 2, 2), type = get(p + 4, 2), space = get(p + 6, 2), head = p[0] == 3 ? 9 : 8;
  const uint64_t type_at = head + padded(name, p[0]), space_at = type_at + padded(type, p[0]);
  const uint64_t data_at = space_at + padded(space, p[0]);
  uint64_t element, bytes;
  shape s;
  CHECK(data_at <= m.size && name > 1 && p[head + name - 1] == 0 && !memchr(p + head, 0, name - 1), at,
        "a short attribute");
  CHECK(p[0] == 1 || p[1] == 0, at, "a type that is kept elsewhere");
  PZ_TRY(pz_hdf5_check_type(f, (pz_hdf5_bytes){p + type_at, type}, &element));
  PZ_TRY(check_space(f, (pz_hdf5_bytes){p + space_at, space}, &s));
  CHECK(!__builtin_mul_overflow(s.points, element, &bytes) && bytes <= m.size - data_at, at,
        "a short attribute");
  return PZ_OK;
}

/* The library looks into attributes when one is opened, not before. */
static pz_status take_attribute(const pz_hdf5_file *f, pz_hdf5_bytes m, pz_hdf5_object *o) {
  pz_hdf5_file quiet = *f;
  quiet.err = NULL;
  if (pz_hdf5_check_attribute(&quiet, m) != PZ_OK) o->plain_attributes = false;
  else if (o->wanted && strcmp((const char *)m.data + (m.data[0] == 3 ? 9 : 8), o->wanted) == 0) o->found = m;
  return PZ_OK;
}

/* Version, flags, an index where the flags say so, the heap, the tree of names, another tree where the flags say so. */
static pz_status take_places(const pz_hdf5_file *f, pz_hdf5_bytes m, uint64_t index, uint64_t *heap,
                             uint64_t *names) {
  const uint64_t at = pz_hdf5_where(f, m);
  CHECK(m.size >= 2 && m.data[0] == 0 && m.data[1] <= 3, at, "bad places of links or attributes");
  const uint64_t head = 2 + (m.data[1] & 1 ? index : 0);
  CHECK(m.size >= head + 16 + (m.data[1] & 2 ? 8 : 0), at, "short places of links or attributes");
  *heap = get(m.data + head, 8), *names = get(m.data + head + 8, 8);
  CHECK((*heap == PZ_HDF5_NONE) == (*names == PZ_HDF5_NONE), at, "bad places of links or attributes");
  return PZ_OK;
}

/* ------------------------------------------------------------------ fill values, filters */

/* A value, behind the four bytes of its length. */
static pz_status take_value(const pz_hdf5_file *f, pz_hdf5_bytes m, uint64_t head, pz_hdf5_bytes *value) {
  CHECK(m.size >= head + 4 && get(m.data + head, 4) <= m.size - head - 4, pz_hdf5_where(f, m),
        "a short fill value");
  *value = (pz_hdf5_bytes){m.data + head + 4, get(m.data + head, 4)};
  return PZ_OK;
}

/* When room is made (1 to 3; 0 by default), when it is filled (0 to 2), whether there is a value. */
static pz_status check_fill(const pz_hdf5_file *f, pz_hdf5_bytes m, pz_hdf5_object *o) {
  const uint64_t at = pz_hdf5_where(f, m);
  const uint8_t *p = m.data;
  CHECK(m.size >= 2 && p[0] >= 1 && p[0] <= 3, at, "a bad fill value");
  if (p[0] == 3) {
    CHECK(p[1] < 0x40 && (p[1] & 0x30) != 0x30 && (p[1] >> 2 & 3) <= 2, at, "a bad fill value");
    return p[1] & 0x20 ? take_value(f, m, 2, &o->fill) : PZ_OK;
  }
  CHECK(m.size >= 4 && p[1] <= 3 && p[2] <= 2 && p[3] <= 2, at, "a bad fill value");
  return p[3] || p[0] == 1 ? take_value(f, m, 4, &o->fill) : PZ_OK;
}

static pz_status check_filters(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  const uint64_t at = pz_hdf5_where(f, m);
  const uint8_t *p = m.data;
  CHECK(m.size >= 2 && (p[0] == 1 || p[0] == 2) && p[1] >= 1 && p[1] <= 32, at, "bad filters");
  uint64_t i = p[0] == 1 ? 8 : 2;
  for (int k = 0; k < p[1]; k++) {
    CHECK(i + 8 <= m.size || (p[0] == 2 && i + 6 <= m.size), at, "short filters");
    const uint64_t id = get(p + i, 2), named = p[0] == 1 || id >= 256;
    CHECK(!named || i + 8 <= m.size, at, "short filters");
    const uint64_t name = named ? get(p + i + 2, 2) : 0, values = get(p + i + (named ? 6 : 4), 2);
    CHECK(id != 0 && (p[0] == 2 || name % 8 == 0), at, "bad filters");
    i += named ? 8 : 6;
    CHECK(name <= m.size && i + name <= m.size && (name == 0 || memchr(p + i, 0, name)), at, "bad filters");
    i += name + 4 * values + (p[0] == 1 && values % 2 ? 4 : 0);
    CHECK(i <= m.size, at, "short filters");
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ links */

/* The value of a link that is not hard. 64: to another file, whose name and path are ended. */
static pz_status check_link_value(const pz_hdf5_file *f, pz_hdf5_bytes m, int kind) {
  const uint64_t at = pz_hdf5_where(f, m);
  CHECK(m.size >= 2 && get(m.data, 2) > 0 && get(m.data, 2) <= m.size - 2, at, "a short link");
  const uint64_t size = get(m.data, 2);
  const uint8_t *end = kind == 64 && size > 2 ? memchr(m.data + 3, 0, size - 1) : NULL;
  CHECK(kind != 64 || (end && end + 1 < m.data + 2 + size && m.data[2 + size - 1] == 0), at,
        "a link's name without an end");
  return PZ_OK;
}

/* Version, flags, then kind, order and alphabet where the flags say so, the length of the name, the name. */
pz_status pz_hdf5_check_link(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  const uint64_t at = pz_hdf5_where(f, m);
  CHECK(m.size >= 3 && m.data[0] == 1 && m.data[1] < 0x20, at, "a bad link");
  const uint8_t flags = m.data[1];
  const uint64_t width = UINT64_C(1) << (flags & 3);
  const uint64_t head = 2 + (flags & 8 ? 1 : 0) + (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
  CHECK(m.size >= head + width, at, "a short link");
  const uint64_t length = get(m.data + head, (int)width), i = head + width + length;
  CHECK(length > 0 && length <= m.size - head - width, at, "a short link");
  const int kind = flags & 8 ? m.data[2] : 0;
  CHECK(kind <= 1 || kind >= 64, at, "an unknown link");
  const pz_hdf5_bytes value = {m.data + i, m.size - i};
  if (kind != 0) return check_link_value(f, value, kind);
  CHECK(value.size >= 8, at, "a short link");
  return PZ_OK;
}

static pz_status check_old_group(const pz_hdf5_file *f, pz_hdf5_bytes m, pz_hdf5_object *o) {
  CHECK(m.size >= 16, pz_hdf5_where(f, m), "a short group");
  o->group = true, o->tree = get(m.data, 8), o->heap = get(m.data + 8, 8);
  return PZ_OK;
}

/* ------------------------------------------------------------------ others */

/* The library (1.10) loses memory over damaged lists of other files. */
static pz_status refuse_outside(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  return pz_fail(f->err, PZ_ERROR_INPUT,
                 "%s: a dataset (byte %llu) has its values in another file; copy it into this one", f->path,
                 (unsigned long long)pz_hdf5_where(f, m));
}

/* Half the entries of nodes, where they are not the usual ones. */
static pz_status take_trees(pz_hdf5_file *f, pz_hdf5_bytes m, const pz_hdf5_object *o) {
  CHECK(o->extension && m.size >= 7 && m.data[0] == 0, pz_hdf5_where(f, m), "bad sizes of trees");
  f->chunk_k = get(m.data + 1, 2), f->group_k = get(m.data + 3, 2), f->leaf_k = get(m.data + 5, 2);
  return PZ_OK;
}

/* How room in the file is managed: 29 bytes, when no account of free pieces is kept in it. */
static pz_status check_pages(const pz_hdf5_file *f, pz_hdf5_bytes m, const pz_hdf5_object *o) {
  const uint64_t at = pz_hdf5_where(f, m);
  CHECK(o->extension && m.size >= 29 && m.data[0] == 1 && m.data[1] <= 3 && m.data[2] == 0, at,
        "an unknown way to manage its room");
  const uint64_t page = get(m.data + 11, 8);
  CHECK(page >= 512 && page <= 1 << 30, at, "pages of a wrong size");
  return PZ_OK;
}

static pz_status check_comment(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  CHECK(memchr(m.data, 0, m.size), pz_hdf5_where(f, m), "a comment without an end");
  return PZ_OK;
}

static pz_status check_length(const pz_hdf5_file *f, pz_hdf5_bytes m, int version, uint64_t size) {
  CHECK(m.size >= size && (version < 0 || m.data[0] == version), pz_hdf5_where(f, m), "a bad message");
  return PZ_OK;
}

static pz_status check_group_info(const pz_hdf5_file *f, pz_hdf5_bytes m) {
  PZ_TRY(check_length(f, m, 0, 2));
  CHECK(m.data[1] <= 3, pz_hdf5_where(f, m), "a bad message");
  return check_length(f, m, 0, 2 + (m.data[1] & 1 ? 4u : 0u) + (m.data[1] & 2 ? 4u : 0u));
}

pz_status pz_hdf5_check_message(pz_hdf5_file *f, int type, pz_hdf5_bytes m, pz_hdf5_object *o) {
  /* The library takes the first of two, and we would not know which is looked at where. */
  const bool many = type == NOTHING || type == ATTRIBUTE || type == LINK;
  CHECK(type < 32 && (many || !(o->seen & 1u << type)), pz_hdf5_where(f, m),
        "a message that is unknown or there twice");
  o->seen |= 1u << type;
  switch (type) {
  case NOTHING: return PZ_OK;
  case SPACE: return take_space(f, m, o);
  case LINKS: o->group = true; return take_places(f, m, 8, &o->links, &o->link_names);
  case TYPE: return pz_hdf5_check_type(f, m, &o->element);
  case OLD_FILL: return take_value(f, m, 0, &o->old_fill);
  case FILL: return check_fill(f, m, o);
  case LINK: return pz_hdf5_check_link(f, m);
  case OUTSIDE: return refuse_outside(f, m);
  case LAYOUT: o->layout = m; return PZ_OK;
  case GROUP_INFO: return check_group_info(f, m);
  case FILTERS: o->filtered = true; return check_filters(f, m);
  case ATTRIBUTE: return take_attribute(f, m, o);
  case COMMENT: return check_comment(f, m);
  case OLD_TIME: return check_length(f, m, -1, 16);
  case GROUP: return check_old_group(f, m, o);
  case TIME: return check_length(f, m, 1, 8);
  case TREES: return take_trees(f, m, o);
  case ATTRIBUTES: return take_places(f, m, 2, &o->attributes, &o->attribute_names);
  case REFERENCES: return check_length(f, m, 0, 5);
  case PAGES: return check_pages(f, m, o);
  default: return pz_hdf5_broken(f, pz_hdf5_where(f, m), "an unknown message");
  }
}
