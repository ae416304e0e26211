#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe must not block the open, so O_NONBLOCK; it does nothing to regular files. */
pz_status pz_file_open(const char *path, int *fd, struct stat *info, pz_error *err) {
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be opened: %m", path);
  pz_status status = PZ_OK;
  if (fstat(*fd, info)) status = pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be examined: %m", path);
  else if (S_ISDIR(info->st_mode))
    status = pz_fail(err, PZ_ERROR_INPUT, "%s: is a folder, expected a file", path);
  else if (!S_ISREG(info->st_mode)) status = pz_fail(err, PZ_ERROR_INPUT, "%s: is not a regular file", path);
  if (status != PZ_OK) close(*fd);
  return status;
}

static pz_status open_regular(const char *path, int *fd, size_t *size, pz_error *err) {
  struct stat st = {0};
  PZ_TRY(pz_file_open(path, fd, &st, err));
  *size = (size_t)st.st_size;
  return PZ_OK;
}

pz_status pz_file_map(const char *path, pz_mapping *mapping, pz_error *err) {
  int fd = -1;
  size_t size = 0;
  *mapping = (pz_mapping){(const uint8_t *)"", 0};
  PZ_TRY(open_regular(path, &fd, &size, err));
  pz_status status = PZ_OK;
  if (size > 0) {
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
      status =
          pz_fail(err, errno == ENOMEM ? PZ_ERROR_MEMORY : PZ_ERROR_RUN, "%s: cannot be mapped: %m", path);
    else *mapping = (pz_mapping){data, size};
  }
  close(fd);
  return status;
}

void pz_file_unmap(pz_mapping *mapping) {
  if (mapping->size > 0) munmap((void *)(uintptr_t)mapping->data, mapping->size);
  *mapping = (pz_mapping){NULL, 0};
}

static pz_status fail_cut(pz_error *err, const char *path) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: became shorter while it was read", path);
}

static pz_status read_all(int fd, const char *path, char *data, size_t size, pz_error *err) {
  for (size_t done = 0; done < size;) {
    ssize_t n = read(fd, data + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return pz_fail(err, PZ_ERROR_RUN, "%s: cannot be read: %m", path);
    if (n == 0) return fail_cut(err, path);
    done += (size_t)n;
  }
  return PZ_OK;
}

pz_status pz_file_read(pz_arena *arena, const char *path, size_t limit, char **data, size_t *size,
                       pz_error *err) {
  int fd = -1;
  size_t bytes = 0;
  PZ_TRY(open_regular(path, &fd, &bytes, err));
  pz_status status = PZ_OK;
  char *text = NULL;
  if (bytes > limit)
    status = pz_fail(err, PZ_ERROR_INPUT, "%s: has %zu bytes, at most %zu are accepted", path, bytes, limit);
  else if (!(text = pz_arena_alloc(arena, bytes + 1, 1))) status = pz_fail_memory(err, path, bytes);
  else status = read_all(fd, path, text, bytes, err);
  close(fd);
  if (status != PZ_OK) return status;
  *data = text;
  *size = bytes;
  return PZ_OK;
}

pz_status pz_file_fetch(int fd, const char *path, int64_t offset, void *to, size_t size, pz_error *err) {
  while (size > 0) {
    const ssize_t n = pread(fd, to, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be read: %m", path);
    if (n == 0) return fail_cut(err, path);
    offset += n, to = (char *)to + n, size -= (size_t)n;
  }
  return PZ_OK;
}

static pz_status load(const pz_arena *arena, int fd, const char *path, uint8_t *to, size_t size,
                      pz_error *err) {
  enum { PIECE = 4 << 20 };
  for (size_t at = 0, n; at < size; at += n) {
    n = size - at < PIECE ? size - at : PIECE;
    if (pz_arena_interrupted(arena)) return pz_fail_interrupted(err);
    PZ_TRY(pz_file_fetch(fd, path, (int64_t)at, to + at, n, err));
  }
  return PZ_OK;
}

pz_status pz_file_load(pz_arena *arena, const char *path, pz_mapping *content, pz_error *err) {
  int fd = -1;
  size_t size = 0;
  uint8_t *data = NULL;
  pz_status status = PZ_OK;
  *content = (pz_mapping){NULL, 0};
  PZ_TRY(open_regular(path, &fd, &size, err));
  if (size > PZ_FILE_LOAD)
    status = pz_fail(err, PZ_ERROR_INPUT,
                     "%s: has %zu bytes, at most %zu are accepted: a protobuf message is smaller than 2 GiB",
                     path, size, PZ_FILE_LOAD);
  else if (pz_arena_interrupted(arena)) status = pz_fail_interrupted(err);
  else if (!(data = pz_arena_alloc(arena, size, 1))) status = pz_fail_memory(err, path, size);
  else status = load(arena, fd, path, data, size, err);
  close(fd);
  if (status == PZ_OK) *content = (pz_mapping){data, size};
  return status;
}
