#include "import/caffe/weights.h"
#include "base/file.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *pz_caffe_file_shape_text(const pz_caffe_file_shape *shape, char *out) {
  size_t used = 0;
  for (int32_t i = 0; i < shape->rank; i++)
    used += (size_t)snprintf(out + used, PZ_CAFFE_FILE_SHAPE_TEXT - used, "%s%lld", i ? "x" : "",
                             (long long)shape->dim[i]);
  if (!shape->rank) snprintf(out, PZ_CAFFE_FILE_SHAPE_TEXT, "scalar");
  return out;
}

static int32_t leading_ones(const int64_t *dim, int32_t rank) {
  int32_t n = 0;
  while (n < rank && dim[n] == 1) n++;
  return n;
}

bool pz_caffe_file_shape_fits(const pz_caffe_file_shape *file, const pz_shape *wanted) {
  int32_t a = leading_ones(file->dim, file->rank), b = leading_ones(wanted->dim, wanted->rank);
  if (file->rank - a != wanted->rank - b) return false;
  for (; a < file->rank; a++, b++)
    if (file->dim[a] != wanted->dim[b]) return false;
  return true;
}

/* ---- opening ---- */

static pz_status open_init(pz_caffe_weights *w, const char *seed, pz_error *err) {
  bool ok = *seed != 0;
  for (const char *s = seed; *s && ok; s++)
    ok = *s >= '0' && *s <= '9' && !__builtin_mul_overflow(w->seed, UINT64_C(10), &w->seed) &&
         !__builtin_add_overflow(w->seed, (uint64_t)(*s - '0'), &w->seed);
  if (!ok)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "weights 'init:%s': expected init:SEED with a number of at most 2^64-1, as in "
                   "init:1",
                   seed);
  return PZ_OK;
}

static pz_status open_file(pz_caffe_weights *w, pz_error *err) {
  static const uint8_t h5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  uint8_t begin[sizeof h5] = {0};
  struct stat info;
  int fd;
  PZ_TRY(pz_file_open(w->name, &fd, &info, err));
  bool is_h5 = pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof h5 && !memcmp(begin, h5, sizeof h5);
  size_t length = strlen(w->name);
  close(fd);
  if (is_h5) return pz_caffe_open_h5(w, err);
  if (length > 3 && !strcmp(w->name + length - 3, ".h5"))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is no HDF5 file, though its name says so", w->name);
  return pz_caffe_open_binary(w, err);
}

pz_status pz_caffe_weights_open(const char *spec, pz_arena *arena, pz_caffe_weights **out, pz_error *err) {
  pz_caffe_weights *w = PZ_NEW(arena, pz_caffe_weights, 1);
  *out = NULL;
  if (!w) return pz_fail_memory(err, spec, sizeof *w);
  w->arena = arena;
  w->name = spec;
  *out = w;
  return strncmp(spec, "init:", 5) ? open_file(w, err) : open_init(w, spec + 5, err);
}

void pz_caffe_weights_close(pz_caffe_weights *w) {
  if (w && w->source) w->source->close(w);
}
