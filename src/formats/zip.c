#include "formats/zip.h"

#include "formats/io.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
  END = 22,
  COMMENT = 65535,
  LOCATOR = 20,
  END64 = 56,
  ENTRY = 46,
  LOCAL = 30,
  MOST_MEMBERS = 65536,
  MOST_DIRECTORY = 64 << 20
};
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1, INPUT = 1 << 16, MOST_RATIO = 1040 };

static uint64_t get(const uint8_t *at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << 8 * i;
  return v;
}

static pz_status damaged(const char *path, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: not a sound ZIP archive: %s", path, what);
}

/* ------------------------------------------------------------------ the directory */

typedef struct directory {
  uint64_t offset, bytes, members;
} directory;

/* The record of ZIP64 that a locator in front of the end points to; nothing changes where there is none. */
static pz_status find_end64(const pz_zip *z, int64_t end, directory *d, pz_error *err) {
  uint8_t b[END64];
  if (end < LOCATOR) return PZ_OK;
  PZ_TRY(pz_io_read(z->fd, z->path, b, LOCATOR, end - LOCATOR, err));
  if (memcmp(b, "PK\6\7", 4) != 0) return PZ_OK;
  const uint64_t at = get(b + 8, 8);
  if (z->size < END64 || at > (uint64_t)(z->size - END64))
    return damaged(z->path, "the end of its directory lies outside", err);
  PZ_TRY(pz_io_read(z->fd, z->path, b, END64, (int64_t)at, err));
  if (memcmp(b, "PK\6\6", 4) != 0) return damaged(z->path, "the end of its directory is damaged", err);
  d->members = get(b + 32, 8), d->bytes = get(b + 40, 8), d->offset = get(b + 48, 8);
  return PZ_OK;
}

/* The end's record is the last one that its comment's length fits. */
static pz_status find_end(const pz_zip *z, directory *d, pz_error *err) {
  const int64_t tail = z->size < END + COMMENT ? z->size : END + COMMENT;
  uint8_t *b = malloc((size_t)tail + 1);
  int64_t at = tail - END;
  if (!b) return pz_fail_memory(err, "the end of a ZIP archive", (unsigned long long)tail);
  pz_status status = pz_io_read(z->fd, z->path, b, tail, z->size - tail, err);
  while (status == PZ_OK && at >= 0 &&
         (memcmp(b + at, "PK\5\6", 4) != 0 || at + END + (int64_t)get(b + at + 20, 2) != tail))
    at--;
  if (status == PZ_OK && at < 0) status = damaged(z->path, "its directory is missing; is it whole?", err);
  if (status == PZ_OK)
    *d = (directory){
        .offset = get(b + at + 16, 4), .bytes = get(b + at + 12, 4), .members = get(b + at + 10, 2)};
  free(b);
  return status == PZ_OK ? find_end64(z, z->size - tail + at, d, err) : status;
}

/* Numbers of 8 bytes in place of those that are 0xffffffff, in this order. */
static bool take_zip64(const uint8_t *extra, uint64_t length, uint64_t *values[3]) {
  while (length >= 4) {
    const uint64_t kind = get(extra, 2), bytes = get(extra + 2, 2);
    if (bytes > length - 4) return false;
    if (kind == 1) {
      uint64_t at = 0;
      for (int i = 0; i < 3; i++) {
        if (*values[i] != UINT32_MAX) continue;
        if (at + 8 > bytes) return false;
        *values[i] = get(extra + 4 + at, 8);
        at += 8;
      }
      return true;
    }
    extra += 4 + bytes, length -= 4 + bytes;
  }
  return *values[0] != UINT32_MAX && *values[1] != UINT32_MAX && *values[2] != UINT32_MAX;
}

/* One entry; *at moves behind it. */
static pz_status take_entry(pz_arena *arena, pz_zip *z, const uint8_t *data, uint64_t bytes, uint64_t *at,
                            pz_error *err) {
  const uint8_t *e = data + *at;
  if (bytes - *at < ENTRY || memcmp(e, "PK\1\2", 4) != 0)
    return damaged(z->path, "its directory is damaged", err);
  const uint64_t name = get(e + 28, 2), extra = get(e + 30, 2), comment = get(e + 32, 2);
  if (bytes - *at - ENTRY < name + extra + comment) return damaged(z->path, "its directory is damaged", err);
  uint64_t size = get(e + 24, 4), stored = get(e + 20, 4), header = get(e + 42, 4);
  uint64_t *values[3] = {&size, &stored, &header};
  const uint64_t all = (uint64_t)z->size;
  if (!take_zip64(e + ENTRY + name, extra, values) || header > all || all - header < LOCAL || stored > all ||
      size > INT64_MAX / 4)
    return damaged(z->path, "a member that lies outside of it", err);
  pz_zip_member *m = &z->member[z->n++];
  *m = (pz_zip_member){.name = pz_arena_strndup(arena, (const char *)e + ENTRY, name),
                       .header = (int64_t)header,
                       .stored = (int64_t)stored,
                       .size = (int64_t)size,
                       .crc = (uint32_t)get(e + 16, 4),
                       .method = (int)get(e + 10, 2),
                       .flags = (int)get(e + 8, 2)};
  *at += ENTRY + name + extra + comment;
  return m->name ? PZ_OK : pz_fail_memory(err, "the names in a ZIP archive", name);
}

static pz_status read_directory(pz_arena *arena, pz_zip *z, const directory *d, pz_error *err) {
  uint64_t at = 0;
  if (d->members > MOST_MEMBERS || d->bytes > MOST_DIRECTORY)
    return damaged(z->path, "more than 65536 members", err);
  if (d->offset > (uint64_t)z->size || d->bytes > (uint64_t)z->size - d->offset ||
      d->bytes < d->members * ENTRY)
    return damaged(z->path, "its directory lies outside", err);
  z->member = PZ_NEW(arena, pz_zip_member, d->members);
  uint8_t *data = PZ_NEW(arena, uint8_t, d->bytes);
  if (!z->member || !data) return pz_fail_memory(err, "the directory of a ZIP archive", d->bytes);
  PZ_TRY(pz_io_read(z->fd, z->path, data, (int64_t)d->bytes, (int64_t)d->offset, err));
  for (uint64_t i = 0; i < d->members; i++) PZ_TRY(take_entry(arena, z, data, d->bytes, &at, err));
  return PZ_OK;
}

pz_status pz_zip_read(pz_arena *arena, const char *path, int fd, int64_t size, pz_zip *zip, pz_error *err) {
  directory d = {0};
  *zip = (pz_zip){.path = path, .fd = fd, .size = size};
  if (size < END) return damaged(path, "it is too short", err);
  PZ_TRY(find_end(zip, &d, err));
  return read_directory(arena, zip, &d, err);
}

/* ------------------------------------------------------------------ a member */

struct pz_zip_stream {
  const pz_zip *zip;
  const pz_zip_member *member;
  int64_t data;  /* where the member's bytes begin in the file */
  int64_t at;    /* in the content: what was given out so far, one after the other */
  int64_t taken; /* bytes of the file that inflate was given */
  uint32_t crc;  /* of the content up to `at`, while nothing was left out */
  bool whole;    /* nothing was left out */
  bool inflating;
  z_stream z;
  uint8_t input[INPUT];
};

static pz_status find_data(pz_zip_stream *s, pz_error *err) {
  const pz_zip *z = s->zip;
  const pz_zip_member *m = s->member;
  uint8_t b[LOCAL];
  PZ_TRY(pz_io_read(z->fd, z->path, b, LOCAL, m->header, err));
  s->data = m->header + LOCAL + (int64_t)get(b + 26, 2) + (int64_t)get(b + 28, 2);
  if (memcmp(b, "PK\3\4", 4) != 0 || s->data > z->size || m->stored > z->size - s->data)
    return damaged(z->path, "a member that lies outside of it", err);
  if ((m->flags | (int)get(b + 6, 2)) & ENCRYPTED)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its member %s is encrypted; save it without a password", z->path,
                   m->name);
  if (m->method != STORED && m->method != DEFLATED)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: its member %s is compressed by method %d; expected those of numpy.savez and savez_compressed",
        z->path, m->name, m->method);
  if (m->method == STORED ? m->stored != m->size : m->size / MOST_RATIO > m->stored)
    return damaged(z->path, "a member of another size than its directory says", err);
  return PZ_OK;
}

static pz_status begin(pz_zip_stream *s, pz_error *err) {
  s->at = s->taken = 0, s->crc = 0, s->whole = true;
  if (s->member->method == STORED) return PZ_OK;
  const int code = s->inflating ? inflateReset(&s->z) : inflateInit2(&s->z, -15);
  if (code != Z_OK) return pz_fail_memory(err, "a stream of a ZIP archive", PZ_ZIP_MEMORY);
  s->inflating = true;
  s->z.avail_in = 0;
  return PZ_OK;
}

pz_status pz_zip_open(const pz_zip *zip, const pz_zip_member *member, pz_zip_stream **stream, pz_error *err) {
  pz_zip_stream *s = *stream = calloc(1, sizeof *s);
  if (!s) return pz_fail_memory(err, "a stream of a ZIP archive", sizeof *s);
  s->zip = zip, s->member = member;
  PZ_TRY(find_data(s, err));
  return begin(s, err);
}

void pz_zip_close(pz_zip_stream *s) {
  if (s && s->inflating) inflateEnd(&s->z);
  free(s);
}

static pz_status more_input(pz_zip_stream *s, pz_error *err) {
  const int64_t left = s->member->stored - s->taken, n = left < INPUT ? left : INPUT;
  PZ_TRY(pz_io_read(s->zip->fd, s->zip->path, s->input, n, s->data + s->taken, err));
  s->taken += n;
  s->z.next_in = s->input, s->z.avail_in = (uInt)n;
  return PZ_OK;
}

static pz_status inflate_part(pz_zip_stream *s, uint8_t *to, int64_t bytes, pz_error *err) {
  enum { MOST = 1 << 30 };
  while (bytes > 0) {
    const uInt want = bytes > MOST ? MOST : (uInt)bytes;
    if (s->z.avail_in == 0) PZ_TRY(more_input(s, err));
    s->z.next_out = to, s->z.avail_out = want;
    const int code = inflate(&s->z, Z_NO_FLUSH);
    const int64_t got = want - s->z.avail_out;
    if (code == Z_MEM_ERROR) return pz_fail_memory(err, "a stream of a ZIP archive", PZ_ZIP_MEMORY);
    to += got, bytes -= got;
    const bool stuck = got == 0 && s->z.avail_in == 0 && s->taken == s->member->stored;
    if ((code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END) ||
        (bytes > 0 && (code == Z_STREAM_END || stuck)))
      return pz_fail(err, PZ_ERROR_INPUT, "%s: damaged: its member %s cannot be decompressed", s->zip->path,
                     s->member->name);
  }
  return PZ_OK;
}

/* The checksum is compared when the whole content went by, one byte after the other. */
static pz_status count(pz_zip_stream *s, const uint8_t *data, int64_t bytes, pz_error *err) {
  for (int64_t done = 0; s->whole && done < bytes;) {
    const uInt n = bytes - done > (1 << 30) ? 1u << 30 : (uInt)(bytes - done);
    s->crc = (uint32_t)crc32(s->crc, data + done, n);
    done += n;
  }
  s->at += bytes;
  if (!s->whole || s->at != s->member->size || s->crc == s->member->crc) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: damaged: the checksum of its member %s is another one",
                 s->zip->path, s->member->name);
}

static pz_status skip(pz_zip_stream *s, int64_t to, pz_error *err) {
  enum { PART = 1 << 15 };
  uint8_t part[PART];
  while (s->at < to) {
    const int64_t n = to - s->at < PART ? to - s->at : PART;
    PZ_TRY(inflate_part(s, part, n, err));
    PZ_TRY(count(s, part, n, err));
  }
  return PZ_OK;
}

pz_status pz_zip_fetch(pz_zip_stream *s, void *to, int64_t bytes, int64_t offset, pz_error *err) {
  if (s->member->method == STORED) {
    if (offset == 0 && s->at != 0) PZ_TRY(begin(s, err));
    s->whole = s->whole && offset == s->at;
    PZ_TRY(pz_io_read(s->zip->fd, s->zip->path, to, bytes, s->data + offset, err));
    return count(s, to, bytes, err);
  }
  if (offset < s->at) PZ_TRY(begin(s, err));
  PZ_TRY(skip(s, offset, err));
  PZ_TRY(inflate_part(s, to, bytes, err));
  return count(s, to, bytes, err);
}
