#include "formats/gzip.h"

#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER = 1 << 17, SKIP = 1 << 16, GZIP_WINDOW = 15 + 16 };

struct pz_gzip {
  const char *path;
  int fd;
  bool ready;        /* zlib's state is there */
  bool plain, ended; /* reading: not compressed; the last member is behind us */
  int64_t in, at;    /* of the file, of what was compressed */
  z_stream z;
  uint8_t buffer[BUFFER], skipped[SKIP];
};

static pz_status fail_memory(pz_error *err) {
  return pz_fail_memory(err, "a gzip stream", sizeof(struct pz_gzip));
}

static pz_gzip *new_stream(const char *path, int fd) {
  pz_gzip *g = calloc(1, sizeof *g);
  if (g) g->path = path, g->fd = fd;
  return g;
}

void pz_gzip_close(pz_gzip *g) {
  if (!g) return;
  if (g->ready) inflateEnd(&g->z);
  free(g);
}

/* More of the file into the buffer, behind what zlib has not used; false at its end. */
static pz_status fill(pz_gzip *g, bool *more, pz_error *err) {
  memmove(g->buffer, g->z.next_in, g->z.avail_in);
  g->z.next_in = g->buffer;
  ssize_t n;
  do n = pread(g->fd, g->buffer + g->z.avail_in, BUFFER - g->z.avail_in, g->in);
  while (n < 0 && errno == EINTR);
  if (n < 0) return pz_io_fail(err, g->path, "reading", errno);
  g->in += n, g->z.avail_in += (unsigned)n;
  *more = n > 0;
  return PZ_OK;
}

static bool is_member(const pz_gzip *g) {
  return g->z.avail_in >= 2 && g->z.next_in[0] == 0x1f && g->z.next_in[1] == 0x8b;
}

static pz_status begin(pz_gzip *g, pz_error *err) {
  bool more = true;
  g->in = g->at = 0, g->ended = false;
  g->z.next_in = g->buffer, g->z.avail_in = 0;
  while (g->z.avail_in < 2 && more) PZ_TRY(fill(g, &more, err));
  g->plain = !is_member(g);
  const int code = g->ready ? inflateReset(&g->z) : inflateInit2(&g->z, GZIP_WINDOW);
  if (code != Z_OK) return fail_memory(err);
  g->ready = true;
  return PZ_OK;
}

pz_status pz_gzip_open(const char *path, int fd, pz_gzip **gzip, pz_error *err) {
  *gzip = NULL;
  pz_gzip *g = new_stream(path, fd);
  if (!g) return fail_memory(err);
  const pz_status status = begin(g, err);
  if (status == PZ_OK) *gzip = g;
  else pz_gzip_close(g);
  return status;
}

/* Behind a member: another one, or the end. */
static pz_status next_member(pz_gzip *g, pz_error *err) {
  bool more = true;
  while (g->z.avail_in < 2 && more) PZ_TRY(fill(g, &more, err));
  g->ended = !is_member(g);
  return g->ended || inflateReset(&g->z) == Z_OK ? PZ_OK : fail_memory(err);
}

static pz_status ends_early(const pz_gzip *g, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: the compressed data ends early", g->path);
}

/* One call of inflate. The checksum at a member's end is read with its last bytes. */
static pz_status step(pz_gzip *g, pz_error *err) {
  bool more = true;
  if (!g->z.avail_in) PZ_TRY(fill(g, &more, err));
  if (!more) return ends_early(g, err);
  const int code = inflate(&g->z, Z_NO_FLUSH);
  if (code == Z_STREAM_END) return next_member(g, err);
  if (code == Z_OK || code == Z_BUF_ERROR) return PZ_OK;
  if (code == Z_MEM_ERROR) return fail_memory(err);
  return pz_fail(err, PZ_ERROR_INPUT, "%s: damaged: %s", g->path,
                 g->z.msg ? g->z.msg : "not as gzip makes it");
}

static pz_status copy_plain(pz_gzip *g, uint8_t *to, int64_t bytes, int64_t *done, pz_error *err) {
  bool more = true;
  while (*done < bytes && !g->ended) {
    if (!g->z.avail_in) PZ_TRY(fill(g, &more, err));
    g->ended = !more;
    const int64_t n = bytes - *done < g->z.avail_in ? bytes - *done : g->z.avail_in;
    memcpy(to + *done, g->z.next_in, (size_t)n);
    g->z.next_in += n, g->z.avail_in -= (unsigned)n, *done += n;
  }
  return PZ_OK;
}

/* As many bytes as there are. When all of a member's are out its end is still read, so that its checksum is compared. */
static pz_status read_on(pz_gzip *g, void *to, int64_t bytes, int64_t *done, pz_error *err) {
  *done = 0;
  if (g->plain) return copy_plain(g, to, bytes, done, err);
  while (*done < bytes && !g->ended) {
    const int64_t left = bytes - *done;
    const unsigned part = left > (1 << 30) ? 1u << 30 : (unsigned)left;
    g->z.next_out = (uint8_t *)to + *done, g->z.avail_out = part;
    PZ_TRY(step(g, err));
    *done += part - g->z.avail_out;
  }
  return PZ_OK;
}

static pz_status skip_to(pz_gzip *g, int64_t offset, pz_error *err) {
  int64_t done = 1;
  if (offset < g->at) PZ_TRY(begin(g, err));
  while (g->at < offset && done > 0) {
    PZ_TRY(read_on(g, g->skipped, offset - g->at < SKIP ? offset - g->at : SKIP, &done, err));
    g->at += done;
  }
  return PZ_OK;
}

pz_status pz_gzip_read(pz_gzip *g, void *to, int64_t bytes, int64_t offset, int64_t *got, pz_error *err) {
  int64_t done = 0;
  PZ_TRY(skip_to(g, offset, err));
  if (g->at == offset) PZ_TRY(read_on(g, to, bytes, &done, err));
  g->at += done;
  if (got) *got = done;
  return got || done == bytes ? PZ_OK : ends_early(g, err);
}
