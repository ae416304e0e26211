#include "formats/hdf5_check.h"

#include "formats/hdf5_check_parts.h"
#include "formats/hdf5_sum.h"

#include <string.h>

#define CHECK  PZ_HDF5_CHECK
#define get    pz_hdf5_get
#define inside pz_hdf5_inside
#define there  pz_hdf5_there

enum { BLOCKS = 64, SPACE = 1, TYPE = 3, LAYOUT = 8, ATTRIBUTE = 12, MORE = 16 };

typedef pz_hdf5_file file;

typedef struct block {
  uint64_t at, size;
} block;

pz_status pz_hdf5_broken(const pz_hdf5_file *f, uint64_t at, const char *what) {
  if (f->view->fault) return pz_view_fail(f->view, f->path, f->err);
  return pz_fail(f->err, PZ_ERROR_INPUT, "%s: truncated or damaged HDF5 file: %s at byte %llu", f->path, what,
                 (unsigned long long)at);
}

pz_status pz_hdf5_unknown(const pz_hdf5_file *f, uint64_t at, const char *what) {
  return pz_fail(f->err, PZ_ERROR_INPUT,
                 "%s: HDF5 file of a kind that is not read here: %s at byte %llu; expected what HDF5 1.10 "
                 "writes by default",
                 f->path, what, (unsigned long long)at);
}

/* ------------------------------------------------------------------ names */

/* The heap of a group's names: inside the file, and its list of free pieces ends. */
static pz_status check_heap(file *f, uint64_t at, block *names) {
  CHECK(there(f, at, 32) && memcmp(f->data + at, "HEAP\0", 5) == 0, at, "no heap of names");
  *names = (block){get(f->data + at + 24, 8), get(f->data + at + 8, 8)};
  CHECK(names->size > 0 && inside(f, names->at, names->size), at, "a heap of names outside of the file");
  uint64_t free = get(f->data + at + 16, 8), steps = 0;
  while (free != 1 && free != UINT64_MAX) {
    CHECK(free <= names->size && names->size - free >= 16 && ++steps <= names->size / 16, at,
          "a bad heap of names");
    pz_hdf5_rest(f);
    CHECK(there(f, names->at + free, 16), at, "a bad heap of names");
    const uint64_t size = get(f->data + names->at + free + 8, 8);
    CHECK(size >= 16 && size <= names->size - free, at, "a bad heap of names");
    free = get(f->data + names->at + free, 8);
  }
  return PZ_OK;
}

/* In steps, since nobody says how long it is. */
static pz_status check_name(file *f, const block *names, uint64_t offset, uint64_t at) {
  enum { STEP = 256, LONGEST = 1 << 20 };
  const uint64_t end =
      names->size < offset || names->size - offset < LONGEST ? names->size : offset + LONGEST;
  pz_hdf5_rest(f);
  for (uint64_t n; offset < end; offset += n) {
    n = end - offset < STEP ? end - offset : STEP;
    CHECK(there(f, names->at + offset, n), at, "a name outside of the file");
    if (memchr(f->data + names->at + offset, 0, n)) return PZ_OK;
  }
  return pz_hdf5_broken(f, at, "a name without an end");
}

/* ------------------------------------------------------------------ objects and groups */

/* The blocks of messages of one header; a message may lead to a further block. */
typedef struct header {
  int version;
  uint64_t prefix;   /* bytes in front of a message */
  uint64_t messages; /* how many the header says there are; version 2 does not */
  uint64_t bytes;    /* of all blocks */
  uint64_t seen;     /* so far: the library reads all that are in the blocks, whatever their number */
  block blocks[BLOCKS];
  int count;
} header;

static pz_status add_block(file *f, header *h, uint64_t at, uint64_t size) {
  CHECK(inside(f, at, size), at, "an object outside of the file");
  h->bytes += size;
  CHECK(h->bytes <= PZ_VIEW_REQUEST, at, "an object that is too large");
  CHECK(there(f, at, size), at, "an object outside of the file");
  CHECK(h->version == 2 || size % 8 == 0, at, "an object of a wrong size");
  CHECK(h->count < BLOCKS, at, "an object in too many pieces");
  h->blocks[h->count++] = (block){at, size};
  return PZ_OK;
}

/* The checksum behind `size` bytes. */
static bool sums_up(const file *f, uint64_t at, uint64_t size) {
  return size <= f->size && there(f, at, size + 4) &&
         pz_hdf5_lookup3(f->data + at, size) == get(f->data + at + size, 4);
}

/* Version 2 has a signature in front of a further block and a checksum behind it. */
static pz_status follow(file *f, header *h, const uint8_t *m, uint64_t n) {
  CHECK(n >= 16, (uint64_t)(m - f->data), "a bad continuation");
  const uint64_t at = get(m, 8), size = get(m + 8, 8);
  CHECK(size >= 8 && inside(f, at, size), at, "an object outside of the file");
  if (h->version == 1) return add_block(f, h, at, size);
  CHECK(there(f, at, 4) && memcmp(f->data + at, "OCHK", 4) == 0 && sums_up(f, at, size - 4), at,
        "a wrong checksum");
  return add_block(f, h, at + 4, size - 8);
}

/* Shared messages (flag 2) lie elsewhere: committed types, and what files with a table of shared messages have. */
static pz_status check_block(file *f, header *h, block b, pz_hdf5_object *o) {
  const uint64_t end = b.at + b.size;
  for (uint64_t i = b.at; end - i >= h->prefix; h->seen++) {
    const uint8_t *m = f->data + i;
    const bool old = h->version == 1;
    const int type = (int)get(m, old ? 2 : 1), flags = m[old ? 4 : 3];
    const uint64_t n = get(m + (old ? 2 : 1), 2);
    i += h->prefix;
    CHECK(n <= end - i && (!old || n % 8 == 0), i, "a message outside of its block");
    if (flags & 2 && type == ATTRIBUTE) o->plain_attributes = false;
    else if (flags & 2) return pz_hdf5_unknown(f, i, "a committed type or another shared message");
    const pz_hdf5_bytes content = {m + h->prefix, n};
    if (type == MORE) PZ_TRY(follow(f, h, content.data, n));
    else if (!(flags & 2)) PZ_TRY(pz_hdf5_check_message(f, type, content, o));
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
  CHECK(there(f, at, head + width), at, "an object outside of the file");
  *h = (header){.version = 2, .prefix = flags & 4 ? 6 : 4};
  const uint64_t size = get(f->data + at + head, (int)width);
  PZ_TRY(add_block(f, h, at + head + width, size));
  CHECK(sums_up(f, at, head + width + size), at, "a wrong checksum");
  return PZ_OK;
}

static pz_status check_header(file *f, uint64_t at, pz_hdf5_object *o) {
  header h;
  CHECK(there(f, at, 16), at, "no object");
  PZ_TRY(f->data[at] == 'O' ? begin_later(f, at, &h) : begin_old(f, at, &h));
  for (int i = 0; i < h.count; i++) PZ_TRY(check_block(f, &h, h.blocks[i], o));
  CHECK(h.seen >= h.messages, at, "an object with fewer messages than it says");
  return PZ_OK;
}

static pz_status check_symbols(file *f, uint64_t at, const block *names) {
  const uint64_t size = 8 + 2 * f->leaf_k * 40;
  CHECK(there(f, at, size) && memcmp(f->data + at, "SNOD\1", 5) == 0, at, "no list of symbols");
  const uint64_t n = get(f->data + at + 6, 2);
  CHECK(n > 0 && n <= 2 * f->leaf_k, at, "a list of symbols that is too long");
  for (uint64_t i = 0; i < n; i++) {
    CHECK(there(f, at, size), at, "no list of symbols");
    const uint8_t *entry = f->data + at + 8 + 40 * i;
    const uint64_t kind = get(entry + 16, 4), name = get(entry, 8), path = get(entry + 24, 4);
    CHECK(kind <= 2, at, "an unknown link");
    PZ_TRY(check_name(f, names, name, at));
    /* 2: a symbolic link, to a path in the heap */
    if (kind == 2) PZ_TRY(check_name(f, names, path, at));
  }
  return PZ_OK;
}

static pz_status check_tree(file *f, uint64_t at, const block *names, int level) {
  const uint64_t size = 24 + (2 * f->group_k + 1) * 8 + 2 * f->group_k * 8;
  pz_hdf5_rest(f);
  CHECK(there(f, at, size) && memcmp(f->data + at, "TREE\0", 5) == 0, at, "no tree of names");
  const uint8_t *node = f->data + at;
  const uint64_t n = get(node + 6, 2);
  const int height = node[5];
  CHECK(n <= 2 * f->group_k && ++f->nodes < PZ_HDF5_NODES, at, "too many entries in a tree of names");
  CHECK(level < 0 ? height < PZ_HDF5_DEPTH : height == level, at, "a wrong level in a tree of names");
  CHECK(n > 0 || level < 0, at, "an empty tree of names");
  for (uint64_t i = 0; i < n; i++) {
    CHECK(there(f, at, size), at, "no tree of names");
    const uint64_t child = get(node + 32 + 16 * i, 8), first = get(node + 24 + 16 * i, 8),
                   last = get(node + 40 + 16 * i, 8);
    PZ_TRY(check_name(f, names, first, at));
    PZ_TRY(check_name(f, names, last, at));
    PZ_TRY(height > 0 ? check_tree(f, child, names, height - 1) : check_symbols(f, child, names));
  }
  return PZ_OK;
}

static pz_status check_group(file *f, uint64_t tree, uint64_t heap) {
  block names;
  PZ_TRY(check_heap(f, heap, &names));
  return check_tree(f, tree, &names, -1);
}

static pz_status check_object(file *f, uint64_t at, pz_hdf5_object *o) {
  PZ_TRY(check_header(f, at, o));
  const uint32_t dataset = 1u << SPACE | 1u << TYPE;
  /* what has a shape and a type is a dataset for the library, which loses memory without a layout */
  CHECK((o->seen & dataset) != dataset || o->seen & 1u << LAYOUT, at, "a dataset without a layout");
  CHECK(!o->group || !(o->seen & (dataset | 1u << LAYOUT)), at, "a group that is a dataset");
  CHECK(o->layout.data == NULL || (o->seen & dataset) == dataset, at, "a layout of nothing");
  if (o->tree) PZ_TRY(check_group(f, o->tree, o->heap));
  if (o->links != PZ_HDF5_NONE) PZ_TRY(pz_hdf5_check_many_links(f, o->links, o->link_names));
  file quiet = *f; /* as a whole they can be done without */
  quiet.err = NULL;
  if (o->attributes != PZ_HDF5_NONE &&
      pz_hdf5_check_many_attributes(&quiet, o->attributes, o->attribute_names) != PZ_OK)
    o->plain_attributes = false;
  return o->layout.data ? pz_hdf5_check_layout(f, o) : PZ_OK;
}

static const pz_hdf5_object unseen = {
    .links = PZ_HDF5_NONE, .attributes = PZ_HDF5_NONE, .plain_attributes = true};

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
  CHECK(there(f, 0, at + 32 + 40), 0, "truncated");
  CHECK(s[9] == 0 && s[10] == 0 && s[12] == 0 && s[13] == 8 && s[14] == 8, 8, "unknown sizes or versions");
  f->leaf_k = get(s + 16, 2), f->group_k = get(s + 18, 2), f->chunk_k = s[8] == 1 ? get(s + 24, 2) : 32;
  PZ_TRY(check_tree_sizes(f));
  PZ_TRY(take_end(f, get(s + at, 8), get(s + at + 16, 8), at));
  CHECK(inside(f, 0, at + 32 + 40), 0, "truncated");
  CHECK(get(s + at + 24, 8) == UINT64_MAX, at, "a driver of its own");
  const uint8_t *entry = s + at + 32;
  CHECK(get(entry + 16, 4) <= 1, at, "a bad root");
  *root = get(entry + 8, 8);
  return get(entry + 16, 4) == 1 ? check_group(f, get(entry + 24, 8), get(entry + 32, 8)) : PZ_OK;
}

/* Sizes, flags, base, extension, end, root, checksum. The extension is an object of its own. */
static pz_status check_later(file *f, uint64_t *root) {
  const uint8_t *s = f->data;
  CHECK(there(f, 0, 48), 0, "truncated");
  CHECK(s[9] == 8 && s[10] == 8, 8, "unknown sizes");
  CHECK(sums_up(f, 0, 44), 44, "a wrong checksum");
  PZ_TRY(take_end(f, get(s + 12, 8), get(s + 28, 8), 12));
  f->leaf_k = 4, f->group_k = 16, f->chunk_k = 32;
  const uint64_t at = get(s + 20, 8);
  pz_hdf5_object extension = unseen;
  extension.extension = true;
  *root = get(s + 36, 8);
  if (at != PZ_HDF5_NONE) PZ_TRY(check_object(f, at, &extension));
  return check_tree_sizes(f);
}

static pz_status check_beginning(file *f, uint64_t *root) {
  if (f->size >= 8 && !there(f, 0, 8)) return pz_hdf5_broken(f, 0, "truncated");
  if (f->size < 8 || memcmp(f->data, "\x89HDF\r\n\x1a\n", 8) != 0)
    return pz_fail(f->err, PZ_ERROR_INPUT, "%s: not an HDF5 file: it does not begin with \\x89HDF", f->path);
  CHECK(there(f, 0, 48), 8, "truncated");
  CHECK(f->data[8] <= 3, 8, "an unknown version");
  return f->data[8] < 2 ? check_old(f, root) : check_later(f, root);
}

static pz_status begin(pz_view *view, const char *label, file *f, uint64_t *root, pz_error *err) {
  *f = (file){.data = view->data, .size = view->size, .view = view, .path = label, .err = err};
  pz_hdf5_rest(f);
  return check_beginning(f, root);
}

pz_status pz_hdf5_check(pz_view *view, const char *label, uint64_t *root, pz_error *err) {
  file f;
  pz_hdf5_object o = unseen;
  PZ_TRY(begin(view, label, &f, root, err));
  PZ_TRY(check_object(&f, *root, &o));
  return o.group ? PZ_OK : pz_hdf5_broken(&f, *root, "a root that is no group");
}

pz_status pz_hdf5_check_object(pz_view *view, const char *label, uint64_t address, pz_hdf5_about *about,
                               pz_error *err) {
  file f;
  uint64_t root;
  pz_hdf5_object o = unseen;
  PZ_TRY(begin(view, label, &f, &root, err));
  PZ_TRY(check_object(&f, address, &o));
  const pz_hdf5_kind other = o.layout.data ? PZ_HDF5_DATASET : PZ_HDF5_OTHER;
  *about = (pz_hdf5_about){o.group ? PZ_HDF5_GROUP : other, o.plain_attributes};
  return PZ_OK;
}

bool pz_hdf5_find_text(pz_view *view, uint64_t address, const char *name, char *out, size_t size) {
  file f;
  uint64_t root;
  pz_hdf5_object o = unseen;
  o.wanted = name;
  if (begin(view, "", &f, &root, NULL) != PZ_OK || check_header(&f, address, &o) != PZ_OK || !o.found.data)
    return false;
  return pz_hdf5_attribute_text(&f, o.found, out, size);
}
