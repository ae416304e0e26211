/* external.c: files beside the model that hold values. Only what lies in the model's own folder, or below it, is opened: a
 * location is a relative path without "..", and no part of it is a link. */
#include "import/onnx/model.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *flaw(const char *location) {
  if (!*location) return "has no name";
  if (*location == '/') return "is an absolute path";
  for (const char *part = location; part;) {
    const char *slash = strchr(part, '/');
    const size_t size = slash ? (size_t)(slash - part) : strlen(part);
    if (size == 2 && !memcmp(part, "..", 2)) return "leaves the model's folder";
    if (size > 255) return "has too long a name";
    part = slash ? slash + 1 : NULL;
  }
  return NULL;
}

static int open_model_folder(const char *model) {
  char folder[4096];
  const char *slash = strrchr(model, '/');
  const size_t size = slash ? (size_t)(slash - model) + 1 : 0;
  if (size >= sizeof folder) return errno = ENAMETOOLONG, -1;
  memcpy(folder, model, size);
  folder[size] = 0;
  return open(size ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Opens a checked location below a folder, part by part, and closes the folder. */
static int open_below(int folder, const char *location) {
  for (const char *part = location;;) {
    char name[256];
    const char *slash = strchr(part, '/');
    const size_t size = slash ? (size_t)(slash - part) : strlen(part);
    memcpy(name, part, size);
    name[size] = 0;
    const int kind = slash ? O_DIRECTORY : O_NONBLOCK; /* a pipe must not block the open */
    const int next = openat(folder, size ? name : ".", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
    const int reason = errno;
    close(folder);
    errno = reason;
    if (next < 0 || !slash) return next;
    folder = next;
    part = slash + 1;
  }
}

static pz_status map_file(int fd, const char *location, const char *label, pz_mapping *map, pz_error *err) {
  struct stat st;
  if (fstat(fd, &st) || !S_ISREG(st.st_mode))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its data file '%.200s' is not a regular file", label, location);
  *map = (pz_mapping){(const uint8_t *)"", 0};
  if (!st.st_size) return PZ_OK;
  void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return pz_fail(err, errno == ENOMEM ? PZ_ERROR_MEMORY : PZ_ERROR_RUN,
                   "%s: its data file '%.200s' cannot be mapped: %m", label, location);
  *map = (pz_mapping){data, (size_t)st.st_size};
  return PZ_OK;
}

static pz_status open_file(const pz_onnx_files *files, const char *location, const char *label,
                           pz_mapping *map, pz_error *err) {
  const char *wrong = flaw(location);
  if (wrong)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: its data file '%.200s' %s; data is read from the model's folder only", label,
                   location, wrong);
  int fd = open_model_folder(files->model);
  if (fd >= 0) fd = open_below(fd, location);
  if (fd < 0)
    return pz_fail(err, PZ_ERROR_INPUT,
                   errno == ELOOP || errno == ENOTDIR
                       ? "%s: its data file '%.200s' is a link, or lies behind one: links are not followed"
                       : "%s: its data file '%.200s' cannot be opened: %m",
                   label, location);
  const pz_status status = map_file(fd, location, label, map, err);
  close(fd);
  return status;
}

/* The list doubles where its count is a power of two. */
static bool grow(pz_onnx_files *files) {
  const int32_t n = files->n_files;
  if (n & (n - 1)) return true;
  pz_onnx_file *moved = PZ_NEW(files->arena, pz_onnx_file, n ? 2 * (size_t)n : 1);
  if (!moved) return false;
  if (n) memcpy(moved, files->files, (size_t)n * sizeof *moved);
  files->files = moved;
  return true;
}

pz_status pz_onnx_files_get(pz_onnx_files *files, const char *location, const char *label,
                            const pz_mapping **map, bool *opened, pz_error *err) {
  *opened = false;
  for (int32_t i = files->n_files - 1; i >= 0; i--)
    if (!strcmp(files->files[i].location, location)) {
      *map = &files->files[i].map;
      return PZ_OK;
    }
  if (!grow(files)) return pz_fail_memory(err, label, sizeof *files->files);
  pz_onnx_file *file = &files->files[files->n_files];
  file->location = location;
  PZ_TRY(open_file(files, location, label, &file->map, err));
  files->n_files++;
  *opened = true;
  *map = &file->map;
  return PZ_OK;
}

void pz_onnx_files_close(pz_onnx_files *files) {
  for (int32_t i = 0; i < files->n_files; i++) pz_file_unmap(&files->files[i].map);
  files->n_files = 0;
}
