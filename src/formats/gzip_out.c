/* gzip_out.c: portions of a file are compressed side by side. Each ends on a whole byte (Z_FULL_FLUSH), so that they follow on each other as the blocks of
 * one stream of deflate (RFC 1951) in one member (RFC 1952), whose sum is made from theirs. */
#include "formats/gzip.h"

#include "formats/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { PORTION = 1 << 18, MOST_PORTIONS = 16, RAW_WINDOW = -15, ROOM = PORTION + PORTION / 256 + 1024 };

typedef struct portion {
  z_stream z;
  bool ready, failed;
  int64_t bytes, made;
  uLong sum;
  uint8_t in[PORTION], out[ROOM];
} portion;

struct pz_gzip_out {
  const char *path;
  int fd;
  pz_pool *pool;
  int64_t bytes, at; /* taken; of the file */
  uLong sum;
  int filling, n; /* the portion that takes what comes; portions */
  portion *portion;
};

static pz_status fail_memory(pz_error *err, int portions) {
  return pz_fail_memory(err, "compression", (unsigned long long)portions * sizeof(portion));
}

int64_t pz_gzip_most(int64_t bytes) { return bytes + bytes / 256 + 4096; }

static pz_status write_out(pz_gzip_out *g, const void *data, int64_t bytes, pz_error *err) {
  PZ_TRY(pz_io_write(g->fd, g->path, data, bytes, g->at, err));
  g->at += bytes;
  return PZ_OK;
}

static pz_status begin(pz_gzip_out *g, pz_error *err) {
  enum { DEFLATE = 8, FASTEST = 4, UNKNOWN = 255 };
  static const uint8_t header[10] = {0x1f, 0x8b, DEFLATE, 0, 0, 0, 0, 0, FASTEST, UNKNOWN};
  g->portion = calloc((size_t)g->n, sizeof *g->portion);
  if (!g->portion) return fail_memory(err, g->n);
  for (int i = 0; i < g->n; i++) {
    portion *p = &g->portion[i];
    p->ready = deflateInit2(&p->z, 1, Z_DEFLATED, RAW_WINDOW, 8, Z_RLE) == Z_OK;
    if (!p->ready) return fail_memory(err, g->n);
  }
  g->fd = pz_io_create(g->path);
  if (g->fd < 0) return pz_io_fail(err, g->path, "creating", errno);
  return write_out(g, header, sizeof header, err);
}

pz_status pz_gzip_create(const char *path, pz_pool *pool, pz_gzip_out **gzip, pz_error *err) {
  *gzip = NULL;
  pz_gzip_out *g = calloc(1, sizeof *g);
  if (!g) return fail_memory(err, 1);
  const int threads = pool ? pz_pool_threads(pool) : 1;
  *g = (pz_gzip_out){.path = path,
                     .fd = -1,
                     .pool = pool,
                     .sum = crc32(0, NULL, 0),
                     .n = threads < MOST_PORTIONS ? threads : MOST_PORTIONS};
  const pz_status status = begin(g, err);
  if (status == PZ_OK) *gzip = g;
  else pz_gzip_free(g);
  return status;
}

void pz_gzip_free(pz_gzip_out *g) {
  if (!g) return;
  for (int i = 0; g->portion && i < g->n; i++)
    if (g->portion[i].ready) deflateEnd(&g->portion[i].z);
  if (g->fd >= 0) close(g->fd);
  free(g->portion);
  free(g);
}

static void compress_one(void *arg, int32_t worker) {
  const pz_gzip_out *g = arg;
  if (worker >= g->n || !g->portion[worker].bytes) return;
  portion *p = &g->portion[worker];
  p->z.next_in = p->in, p->z.avail_in = (unsigned)p->bytes;
  p->z.next_out = p->out, p->z.avail_out = ROOM;
  p->failed =
      deflateReset(&p->z) != Z_OK || deflate(&p->z, Z_FULL_FLUSH) != Z_OK || p->z.avail_in || !p->z.avail_out;
  p->made = ROOM - p->z.avail_out;
  p->sum = crc32(crc32(0, NULL, 0), p->in, (unsigned)p->bytes);
}

/* All portions, to the file. */
static pz_status empty(pz_gzip_out *g, pz_error *err) {
  if (g->pool) pz_pool_run(g->pool, compress_one, g);
  else compress_one(g, 0);
  for (int i = 0; i < g->n && g->portion[i].bytes; i++) {
    portion *p = &g->portion[i];
    if (p->failed) return fail_memory(err, g->n);
    PZ_TRY(write_out(g, p->out, p->made, err));
    g->sum = crc32_combine(g->sum, p->sum, p->bytes);
    p->bytes = 0;
  }
  g->filling = 0;
  return PZ_OK;
}

pz_status pz_gzip_write(pz_gzip_out *g, const void *data, int64_t bytes, pz_error *err) {
  for (int64_t at = 0, part; at < bytes; at += part) {
    portion *p = &g->portion[g->filling];
    const int64_t room = PORTION - p->bytes;
    part = bytes - at < room ? bytes - at : room;
    memcpy(p->in + p->bytes, (const char *)data + at, (size_t)part);
    p->bytes += part;
    if (p->bytes == PORTION && ++g->filling == g->n) PZ_TRY(empty(g, err));
  }
  g->bytes += bytes;
  return PZ_OK;
}

pz_status pz_gzip_finish(pz_gzip_out *g, pz_error *err) {
  uint8_t end[10] = {3, 0}; /* a last block, empty */
  if (g->filling < g->n) PZ_TRY(empty(g, err));
  for (int i = 0; i < 4; i++)
    end[2 + i] = (uint8_t)(g->sum >> 8 * i), end[6 + i] = (uint8_t)(g->bytes >> 8 * i);
  PZ_TRY(write_out(g, end, sizeof end, err));
  const int closed = close(g->fd), reason = errno;
  g->fd = -1;
  return closed ? pz_io_fail(err, g->path, "closing", reason) : PZ_OK;
}
