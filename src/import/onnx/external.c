/* external.c: files beside the model that hold values. Only what lies in the model's own folder, or below it, is opened: a
 * location is a relative path without "..", and no part of it is a link. */
#include "import/onnx/model.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

static pz_status open_file(const pz_onnx_files *files, const char *location, const char *label, int *fd,
                           pz_error *err) {
  const char *wrong = flaw(location);
  if (wrong)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: its data file '%.200s' %s; data is read from the model's folder only", label,
                   location, wrong);
  *fd = open_model_folder(files->model);
  if (*fd >= 0) *fd = open_below(*fd, location);
  if (*fd >= 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 errno == ELOOP || errno == ENOTDIR
                     ? "%s: its data file '%.200s' is a link, or lies behind one: links are not followed"
                     : "%s: its data file '%.200s' cannot be opened: %m",
                 label, location);
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

static bool same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* What is open becomes file `i`; the last one where it is new. */
static pz_status take(pz_onnx_files *files, int32_t i, const char *location, const char *label,
                      pz_error *err) {
  struct stat now;
  if (fstat(files->fd, &now) || !S_ISREG(now.st_mode))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its data file '%.200s' is not a regular file", label, location);
  files->current = i;
  if (i < files->n_files) {
    if (same(&files->files[i].noted, &now)) return PZ_OK;
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its data file '%.200s' was changed while it was read; run again",
                   label, location);
  }
  if (!grow(files)) return pz_fail_memory(err, label, sizeof *files->files);
  files->files[files->n_files++] = (pz_onnx_file){location, now};
  return PZ_OK;
}

void pz_onnx_files_close(pz_onnx_files *files) {
  if (files->fd >= 0) close(files->fd);
  files->fd = -1;
}

pz_status pz_onnx_files_get(pz_onnx_files *files, const char *location, const char *label, int64_t *size,
                            bool *first, pz_error *err) {
  int32_t i = files->n_files - 1;
  while (i >= 0 && strcmp(files->files[i].location, location)) i--;
  *first = i < 0;
  if (files->fd < 0 || i < 0 || files->current != i) {
    pz_onnx_files_close(files);
    PZ_TRY(open_file(files, location, label, &files->fd, err));
    pz_status status = take(files, i < 0 ? files->n_files : i, location, label, err);
    if (status != PZ_OK) return pz_onnx_files_close(files), status;
  }
  *size = files->files[files->current].noted.st_size;
  return PZ_OK;
}

pz_status pz_onnx_files_read(const pz_onnx_files *files, int64_t offset, void *to, size_t size,
                             pz_error *err) {
  return pz_file_fetch(files->fd, files->files[files->current].location, offset, to, size, err);
}
