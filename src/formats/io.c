#include "formats/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool writes(const char *doing) {
  return strcmp(doing, "reading") && strcmp(doing, "opening") && strcmp(doing, "looking at");
}

pz_status pz_io_fail(pz_error *err, const char *path, const char *doing, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
  char text[128];
  return pz_fail(err, writes(doing) ? PZ_ERROR_OUTPUT : PZ_ERROR_RUN, "%s: %s: %s%s", path, doing,
                 strerror_r(code, text, sizeof text),
                 full ? "; make room on the disk and run the same command with --resume" : "");
}

pz_status pz_io_open(const char *path, int *fd, int64_t *size, pz_error *err) {
  char text[128];
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: %s", path, strerror_r(errno, text, sizeof text));
  struct stat info;
  if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) {
    *size = info.st_size;
    return PZ_OK;
  }
  close(*fd);
  *fd = -1;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: not a regular file; a volume must be one", path);
}

bool pz_io_same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Linux moves at most this many bytes in one call. */
static size_t at_most(int64_t bytes) { return bytes > (1 << 30) ? 1u << 30 : (size_t)bytes; }

pz_status pz_io_read(int fd, const char *path, void *data, int64_t bytes, int64_t offset, pz_error *err) {
  char *to = data;
  while (bytes > 0) {
    const ssize_t got = pread(fd, to, at_most(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return pz_io_fail(err, path, "reading", errno);
    if (got == 0)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: ends after %lld bytes, %lld more were expected",
                     path, (long long)offset, (long long)bytes);
    to += got, offset += got, bytes -= got;
  }
  return PZ_OK;
}

pz_status pz_io_write(int fd, const char *path, const void *data, int64_t bytes, int64_t offset,
                      pz_error *err) {
  const char *from = data;
  while (bytes > 0) {
    const ssize_t put = pwrite(fd, from, at_most(bytes), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return pz_io_fail(err, path, "writing", put < 0 ? errno : ENOSPC);
    from += put, offset += put, bytes -= put;
  }
  return PZ_OK;
}

void pz_io_begin_sync(int fd, int64_t bytes, int64_t offset) {
  (void)sync_file_range(fd, offset, bytes, SYNC_FILE_RANGE_WRITE);
}

static pz_status sync_opened(const char *path, int flags, pz_error *err) {
  const int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) return pz_io_fail(err, path, "syncing", errno);
  const int code = fsync(fd) ? errno : 0;
  close(fd);
  /* Some file systems cannot sync a folder and say EINVAL: then there is nothing to wait for. */
  if (code && !(code == EINVAL && (flags & O_DIRECTORY))) return pz_io_fail(err, path, "syncing", code);
  return PZ_OK;
}

pz_status pz_io_sync_path(const char *path, pz_error *err) { return sync_opened(path, O_RDONLY, err); }

pz_status pz_io_sync_folder(const char *path, pz_error *err) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash - path) : 0;
  if (length >= sizeof folder) return pz_fail(err, PZ_ERROR_USAGE, "%s: the path is too long", path);
  memcpy(folder, path, length);
  folder[length] = 0;
  return sync_opened(!slash ? "." : length ? folder : "/", O_RDONLY | O_DIRECTORY, err);
}

void pz_io_swap(void *data, int64_t n, int64_t bytes) {
  uint16_t *half = data;
  uint32_t *word = data;
  uint64_t *wide = data;
  if (bytes == 2)
    for (int64_t i = 0; i < n; i++) half[i] = __builtin_bswap16(half[i]);
  if (bytes == 4)
    for (int64_t i = 0; i < n; i++) word[i] = __builtin_bswap32(word[i]);
  if (bytes == 8)
    for (int64_t i = 0; i < n; i++) wide[i] = __builtin_bswap64(wide[i]);
}

int pz_io_create(const char *path) {
  struct stat info;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || (fstat(fd, &info) == 0 && (info.st_size == 0 || ftruncate(fd, 0) == 0))) return fd;
  const int reason = errno;
  close(fd);
  return errno = reason, -1;
}
