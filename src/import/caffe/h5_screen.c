/* h5_screen.c: after the HDF5 file format specification 3.0, II.A (superblock), III.D (local heap), IV.A (object headers). */
#include "import/caffe/h5_screen.h"
#include <string.h>

static bool inside(uint64_t end, uint64_t at, uint64_t size) { return at <= end && size <= end - at; }

static uint64_t little_endian(const uint8_t *bytes, int n) {
  uint64_t value = 0;
  while (n--) value = value << 8 | bytes[n];
  return value;
}

/* Offsets and lengths of 8 bytes, at fixed places for each version; addresses count from the file's begin. */
static const struct superblock {
  int sizes, base, end, root;
} superblocks[] = {
    {13, 24, 40, 64}, /* version 0: the root's symbol table entry has its header's address second */
    {13, 28, 44, 68}, /* version 1: four more bytes in front */
    {9, 12, 28, 36},  /* versions 2 and 3 */
    {9, 12, 28, 36},
};
#define SUPERBLOCK 80 /* bytes that hold all of that */

bool pz_h5_screen_file(const pz_mapping *map, uint64_t *end, uint64_t *root) {
  const uint8_t *data = map->data;
  if (map->size < SUPERBLOCK || data[8] >= sizeof superblocks / sizeof *superblocks) return false;
  const struct superblock *s = &superblocks[data[8]];
  if (data[s->sizes] != 8 || data[s->sizes + 1] != 8 || little_endian(data + s->base, 8) != 0) return false;
  *end = little_endian(data + s->end, 8);
  *root = little_endian(data + s->root, 8);
  return *end <= map->size && pz_h5_screen_object(map, *end, *root);
}

/* ---- the checksum of version 2: Jenkins's lookup3 ("hashlittle", 2006), initial value 0 ---- */

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

/* Turn by turn x, y, z stand for a, b, c, which is what the rounds' order of names comes to. */
static void mix(uint32_t v[3]) {
  static const int turns[6] = {4, 6, 8, 16, 19, 4};
  for (int i = 0; i < 6; i++) {
    uint32_t *x = &v[i % 3], *y = &v[(i + 1) % 3], *z = &v[(i + 2) % 3];
    *x -= *z;
    *x ^= rotate(*z, turns[i]);
    *z += *y;
  }
}

static void finish(uint32_t v[3]) {
  static const int turns[7] = {14, 11, 25, 16, 4, 14, 24};
  for (int i = 0; i < 7; i++) {
    uint32_t *x = &v[(i + 2) % 3], *y = &v[(i + 1) % 3];
    *x ^= *y;
    *x -= rotate(*y, turns[i]);
  }
}

static uint32_t checksum(const uint8_t *bytes, uint64_t size) {
  uint32_t v[3] = {0xdeadbeef + (uint32_t)size, 0xdeadbeef + (uint32_t)size, 0xdeadbeef + (uint32_t)size};
  for (; size > 12; size -= 12, bytes += 12) {
    for (int i = 0; i < 3; i++) v[i] += (uint32_t)little_endian(bytes + 4 * i, 4);
    mix(v);
  }
  for (uint64_t i = 0; i < size; i++) v[i / 4] += (uint32_t)bytes[i] << 8 * (i % 4);
  if (size) finish(v);
  return v[2];
}

/* ---- object headers: chunks of messages, one of which may lead to a further chunk ---- */

#define MAX_CHUNKS   64 /* of one header; the library's own files have two or three */
#define CONTINUATION 0x10
#define SYMBOL_TABLE 0x11

typedef struct chunk {
  uint64_t at, size; /* of its messages */
} chunk;

typedef struct header {
  const uint8_t *data;
  uint64_t end;
  int version;
  uint64_t prefix; /* bytes in front of a message */
  chunk chunks[MAX_CHUNKS];
  int n_chunks;
} header;

static bool add_chunk(header *h, uint64_t at, uint64_t size) {
  if (h->n_chunks == MAX_CHUNKS || !inside(h->end, at, size)) return false;
  h->chunks[h->n_chunks++] = (chunk){at, size};
  return true;
}

/* The checksum behind `size` bytes at `at`. */
static bool sums_up(const header *h, uint64_t at, uint64_t size) {
  return size <= h->end && inside(h->end, at, size + 4) &&
         checksum(h->data + at, size) == little_endian(h->data + at + size, 4);
}

/* Version 2 has a signature in front of a further chunk and a checksum behind it. */
static bool follow(header *h, uint64_t at, uint64_t size) {
  if (h->version == 1) return add_chunk(h, at, size);
  return size >= 8 && inside(h->end, at, size) && !memcmp(h->data + at, "OCHK", 4) &&
         sums_up(h, at, size - 4) && add_chunk(h, at + 4, size - 8);
}

/* A group of the old kind: the address of its B-tree, then that of the heap with its names, whose segment must be in the
 * file too. */
static bool screen_symbols(const header *h, uint64_t at, uint64_t size) {
  if (size < 16) return false;
  uint64_t heap = little_endian(h->data + at + 8, 8);
  if (!inside(h->end, heap, 32) || memcmp(h->data + heap, "HEAP", 4)) return false;
  return inside(h->end, little_endian(h->data + heap + 24, 8), little_endian(h->data + heap + 8, 8));
}

static bool screen_message(header *h, uint64_t at, uint64_t size, unsigned type) {
  if (type == SYMBOL_TABLE) return screen_symbols(h, at, size);
  if (type != CONTINUATION) return true;
  return size >= 16 && follow(h, little_endian(h->data + at, 8), little_endian(h->data + at + 8, 8));
}

/* Messages fill their chunk; less than a prefix may be left over at the end of it. */
static bool screen_chunk(header *h, chunk c) {
  uint64_t end = c.at + c.size;
  for (uint64_t at = c.at; end - at >= h->prefix;) {
    const uint8_t *m = h->data + at;
    unsigned type = h->version == 1 ? (unsigned)little_endian(m, 2) : m[0];
    uint64_t size = little_endian(m + (h->version == 1 ? 2 : 1), 2);
    at += h->prefix;
    if (!inside(end, at, size) || !screen_message(h, at, size, type)) return false;
    at += size;
  }
  return true;
}

/* Signature, version, flags, then times and phase changes where the flags say so, then the size. */
static bool begin_v2(header *h, uint64_t at) {
  const uint8_t *data = h->data + at;
  if (!inside(h->end, at, 6) || memcmp(data, "OHDR\2", 5)) return false;
  uint8_t flags = data[5];
  uint64_t prefix = 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0), width = UINT64_C(1) << (flags & 3);
  if (!inside(h->end, at, prefix + width)) return false;
  h->version = 2;
  h->prefix = flags & 4 ? 6 : 4;
  uint64_t size = little_endian(data + prefix, (int)width);
  return add_chunk(h, at + prefix + width, size) && sums_up(h, at, prefix + width + size);
}

/* Version, a reserved byte, the number of messages, of references, the size; messages begin at 16. */
static bool begin_v1(header *h, uint64_t at) {
  h->version = 1;
  h->prefix = 8;
  return h->data[at] == 1 && add_chunk(h, at + 16, little_endian(h->data + at + 8, 4));
}

bool pz_h5_screen_object(const pz_mapping *map, uint64_t end, uint64_t address) {
  header h = {.data = map->data, .end = end};
  if (!inside(end, address, 16)) return false;
  if (!(map->data[address] == 'O' ? begin_v2(&h, address) : begin_v1(&h, address))) return false;
  for (int i = 0; i < h.n_chunks; i++)
    if (!screen_chunk(&h, h.chunks[i])) return false;
  return true;
}
