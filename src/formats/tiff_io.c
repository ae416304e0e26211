#include "formats/tiff_io.h"

#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static tmsize_t fail(pz_tiff_io *io, int reason) {
  if (!io->reason) io->reason = reason;
  errno = reason;
  return -1;
}

/* Less than was asked for only at the end of the file. */
static tmsize_t read_bytes(thandle_t host, void *data, tmsize_t size) {
  pz_tiff_io *io = host;
  tmsize_t done = 0;
  while (done < size) {
    const ssize_t n = pread(io->fd, (char *)data + done, (size_t)(size - done), io->at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(io, errno);
    if (n == 0) break;
    done += n, io->at += n;
  }
  return done;
}

static tmsize_t write_bytes(thandle_t host, void *data, tmsize_t size) {
  pz_tiff_io *io = host;
  tmsize_t done = 0;
  while (done < size) {
    const ssize_t n = pwrite(io->fd, (const char *)data + done, (size_t)(size - done), io->at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail(io, n ? errno : ENOSPC);
    done += n, io->at += n;
  }
  return done;
}

static toff_t size_of(thandle_t host) {
  pz_tiff_io *io = host;
  struct stat st;
  if (fstat(io->fd, &st) == 0) return (toff_t)st.st_size;
  fail(io, errno);
  return 0;
}

/* A place beyond what files can have is none: libtiff takes -1 for a failure. */
static toff_t seek(thandle_t host, toff_t to, int from) {
  pz_tiff_io *io = host;
  const uint64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? (uint64_t)io->at : size_of(host);
  if (base + to > INT64_MAX) return (toff_t)-1;
  io->at = (int64_t)(base + to);
  return (toff_t)io->at;
}

static int close_file(thandle_t host) {
  pz_tiff_io *io = host;
  return close(io->fd) ? (int)fail(io, errno) : 0;
}

static int map_nothing(thandle_t host, void **base, toff_t *size) {
  (void)host, (void)base, (void)size;
  return 0;
}
static void unmap_nothing(thandle_t host, void *base, toff_t size) { (void)host, (void)base, (void)size; }

TIFF *pz_tiff_open(pz_tiff_io *io, const char *path, const char *mode, TIFFOpenOptions *options) {
  *io = (pz_tiff_io){.fd = mode[0] == 'w' ? pz_io_create(path) : open(path, O_RDONLY | O_CLOEXEC)};
  if (io->fd < 0) return fail(io, errno), NULL;
  TIFF *file = TIFFClientOpenExt(path, mode, io, read_bytes, write_bytes, seek, close_file, size_of,
                                 map_nothing, unmap_nothing, options);
  if (!file) close(io->fd);
  return file;
}
