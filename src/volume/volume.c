/* volume.c: the table of formats, and what all of them share. */
#include "volume/volume.h"

#include "volume/io.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longer suffixes first where one ends with another. */
static const pz_volume_format *const formats[] = {
    &pz_volume_npy, &pz_volume_hdf5, &pz_volume_tiff, &pz_volume_nifti_gz, &pz_volume_nifti,
};
enum { FORMATS = sizeof formats / sizeof *formats };

#define KNOWN_SUFFIXES ".npy, .h5:/dataset, .tif, .nii or .nii.gz"

int64_t pz_volume_plane_bytes(const pz_volume_info *info) {
  return info->shape[1] * info->shape[2] * pz_dtype_bytes(info->dtype);
}
int64_t pz_volume_bytes(const pz_volume_info *info) {
  return info->channels * info->shape[0] * pz_volume_plane_bytes(info);
}

pz_status pz_volume_check_info(const char *path, const pz_volume_info *info, pz_error *err) {
  int64_t bytes = pz_dtype_bytes(info->dtype);
  if (info->channels < 1 || info->channels > PZ_VOLUME_MAX_CHANNELS)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %d channels; expected 1 to %d", path, (int)info->channels,
                   PZ_VOLUME_MAX_CHANNELS);
  bool fits = pz_mul_i64(bytes, info->channels, &bytes);
  for (int i = 0; i < 3; i++) {
    if (info->shape[i] < 1)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: size %lld along %c; expected at least 1", path,
                     (long long)info->shape[i], "zyx"[i]);
    fits = fits && pz_mul_i64(bytes, info->shape[i], &bytes);
  }
  if (!fits || bytes >= INT64_C(1) << 62)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: the size %d x %lld x %lld x %lld is too large", path,
                   (int)info->channels, (long long)info->shape[0], (long long)info->shape[1],
                   (long long)info->shape[2]);
  return PZ_OK;
}

pz_status pz_volume_shape(const char *path, int rank, const int64_t *dim, pz_volume_info *info,
                          pz_error *err) {
  if (rank < 2 || rank > 4)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %d dimensions; expected [z, y, x] or [channels, z, y, x]", path,
                   rank);
  info->shape[0] = 1;
  for (int i = 0; i < 3 && i < rank; i++) info->shape[2 - i] = dim[rank - 1 - i];
  info->has_channels = rank == 4;
  info->channels = 1;
  if (rank == 4) info->channels = dim[0] > PZ_VOLUME_MAX_CHANNELS || dim[0] < 0 ? INT32_MAX : (int32_t)dim[0];
  return pz_volume_check_info(path, info, err);
}

static bool ends_with(const char *s, size_t length, const char *suffix) {
  const size_t n = strlen(suffix);
  return length >= n && strncasecmp(s + length - n, suffix, n) == 0;
}

static bool matches(const pz_volume_format *format, const char *path, size_t length) {
  for (int i = 0; i < 4 && format->suffixes[i]; i++)
    if (ends_with(path, length, format->suffixes[i])) return true;
  return false;
}

/* The length of the file's part of "file.h5:/dataset". The last colon that follows a suffix counts, since colons may
 * be in names of folders. */
static size_t file_length(const pz_volume_format *format, const char *path) {
  for (size_t i = strlen(path); i > 0; i--)
    if (path[i - 1] == ':' && matches(format, path, i - 1)) return i - 1;
  return strlen(path);
}

/* Where a suffix ends in front of a slash that leads into a file, as in "file.h5/raw"; 0: there is none. A folder may have
 * such a name too. */
static size_t length_before_slash(pz_arena *arena, const pz_volume_format *format, const char *path) {
  for (size_t i = 1; path[i]; i++) {
    struct stat info;
    const char *file = path[i] == '/' && matches(format, path, i) ? pz_arena_strndup(arena, path, i) : NULL;
    if (file && !(stat(file, &info) == 0 && S_ISDIR(info.st_mode))) return i;
  }
  return 0;
}

static pz_status dataset_of(pz_arena *arena, const char *rest, const char *path, pz_volume_path *out,
                            pz_error *err) {
  out->dataset = NULL;
  if (!*rest) return PZ_OK;
  rest += *rest == ':';
  while (rest[0] == '/' && rest[1] == '/') rest++;
  if (!*rest || (rest[0] == '/' && !rest[1]) || rest[strlen(rest) - 1] == '/')
    return pz_fail(err, PZ_ERROR_USAGE,
                   "%s: expected the name of a dataset behind the file, as in file.h5:/main", path);
  out->dataset = pz_arena_printf(arena, "%s%s", *rest == '/' ? "" : "/", rest);
  return out->dataset ? PZ_OK : pz_fail_memory(err, "a path", strlen(rest));
}

static pz_status take_path(pz_arena *arena, const pz_volume_format *format, const char *path, size_t length,
                           pz_volume_path *out, pz_error *err) {
  out->format = format;
  out->file = pz_arena_strndup(arena, path, length);
  if (!out->file) return pz_fail_memory(err, "a path", length);
  return dataset_of(arena, path + length, path, out, err);
}

pz_status pz_volume_parse_path(pz_arena *arena, const char *path, pz_volume_path *out, pz_error *err) {
  for (int i = 0; i < FORMATS; i++) {
    const size_t length = formats[i]->has_dataset ? file_length(formats[i], path) : strlen(path);
    if (matches(formats[i], path, length)) return take_path(arena, formats[i], path, length, out, err);
  }
  for (int i = 0; i < FORMATS; i++) {
    const size_t length = formats[i]->has_dataset && *path ? length_before_slash(arena, formats[i], path) : 0;
    if (length) return take_path(arena, formats[i], path, length, out, err);
  }
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: unknown kind of volume; expected a name that ends with " KNOWN_SUFFIXES, path);
}

static pz_status open_in(pz_arena *arena, const char *path, pz_volume **volume, pz_error *err) {
  pz_volume *v = PZ_NEW(arena, pz_volume, 1);
  if (!v) return pz_fail_memory(err, "a volume", sizeof *v);
  pz_volume_path parts;
  PZ_TRY(pz_volume_parse_path(arena, path, &parts, err));
  v->arena = arena;
  v->format = parts.format;
  v->path = parts.file;
  v->dataset = parts.dataset;
  v->step = 1;
  pz_status status = v->format->open(v, err);
  if (status == PZ_OK) status = pz_volume_check_info(path, &v->info, err);
  if (status == PZ_OK) *volume = v;
  else v->format->close(v);
  return status;
}

pz_status pz_volume_open(const char *path, pz_volume **volume, pz_error *err) {
  *volume = NULL;
  pz_arena *arena = pz_arena_new();
  if (!arena) return pz_fail_memory(err, "a volume", sizeof(pz_volume));
  const pz_status status = open_in(arena, path, volume, err);
  if (status != PZ_OK) pz_arena_free(arena);
  return status;
}

void pz_volume_close(pz_volume *volume) {
  if (!volume) return;
  volume->format->close(volume);
  pz_arena_free(volume->arena);
}

pz_status pz_volume_read(pz_volume *volume, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                         pz_error *err) {
  return volume->format->read(volume, z, n, planes, channel_bytes, err);
}

pz_status pz_volume_uncached(pz_volume *volume, pz_error *err) {
  if (!volume->cache_memory) return PZ_OK;
  volume->memory -= volume->cache_memory;
  volume->cache_memory = 0;
  return volume->format->uncached(volume, err);
}

pz_status pz_volume_source_plane(pz_volume_source *source, int64_t channel, int64_t z, void *plane,
                                 pz_error *err) {
  const pz_volume_info *info = source->info;
  const int64_t bytes = pz_volume_plane_bytes(info);
  if (source->go_on && !source->go_on(source->host, source->done))
    return pz_fail(err, PZ_INTERRUPTED, "interrupted while writing");
  source->done++;
  return pz_io_read(source->fd, source->path, plane, bytes,
                    source->offset + (channel * info->shape[0] + z) * bytes, err);
}
