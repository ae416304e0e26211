/* volume.c: the formats of formats.inc, and what all of them share. */
#include "formats/volume.h"

#include "formats/codec.h"
#include "formats/io.h"
#include "formats/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const pz_volume_format *const formats[] = {
#define FORMAT(id, shown) &pz_volume_##id,
#include "formats/formats.inc"
#undef FORMAT
};
enum { FORMATS = sizeof formats / sizeof *formats };

int64_t pz_volume_plane_bytes(const pz_volume_info *info) {
  return info->shape[1] * info->shape[2] * pz_dtype_bytes(info->dtype);
}
int64_t pz_volume_bytes(const pz_volume_info *info) {
  return info->channels * info->shape[0] * pz_volume_plane_bytes(info);
}

pz_box pz_volume_planes(const pz_volume_info *info, int64_t z, int64_t n) {
  return (pz_box){.start = {z, 0, 0}, .size = {n, info->shape[1], info->shape[2]}};
}

int64_t pz_volume_strip_rows(const pz_volume_info *info) {
  enum { STRIP = 1 << 18 };
  const int64_t row = info->shape[2] * pz_dtype_bytes(info->dtype), rows = row < STRIP ? STRIP / row : 1;
  return rows < info->shape[1] ? rows : info->shape[1];
}

int64_t pz_volume_strip_bytes(const pz_volume_info *info) {
  return pz_volume_strip_rows(info) * info->shape[2] * pz_dtype_bytes(info->dtype);
}

pz_status pz_volume_check_info(const char *path, const pz_volume_info *info, pz_error *err) {
  int64_t bytes = pz_dtype_bytes(info->dtype);
  if ((int)info->dtype >= PZ_FILE_DTYPES)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: elements of %s; expected " PZ_DTYPES_IN_WORDS, path,
                   pz_dtype_name(info->dtype));
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

void pz_volume_hold(const pz_volume_format *format, pz_volume_info *info, pz_notes *notes) {
  pz_geometry *g = &info->geometry;
  char words[PZ_GEOMETRY_WORDS];
  if (format->hold) {
    format->hold(g, info, notes);
    return;
  }
  if (g->known)
    pz_notes_add(notes, "%s holds no voxel size: %s is left out of the output", format->suffixes[0],
                 pz_geometry_words(g, words));
  memset(g, 0, sizeof *g);
}

/* Of an array that is too large for the types of the info, what pz_volume_check_info refuses. */
static void take_shape(pz_volume *v) {
  const pz_axes *a = &v->axes;
  pz_volume_info *info = &v->info;
  info->channels =
      a->channels >= 0 && a->channels <= PZ_VOLUME_MAX_CHANNELS ? (int32_t)a->channels : INT32_MAX;
  info->has_channels = info->channels > 1;
  memcpy(info->shape, a->shape, sizeof info->shape);
  memcpy(v->step, (const int64_t[3]){1, a->shape[1], a->shape[2]}, sizeof v->step);
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
  return pz_kin_refuse(path, err);
}

pz_status pz_volume_parse_output(pz_arena *arena, const char *path, pz_volume_path *out, pz_error *err) {
  PZ_TRY(pz_volume_parse_path(arena, path, out, err));
  if (out->format->lay_out || out->format->convert) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_USAGE,
      "%s: such files are read but not written; give the result a name that ends with .npy, .h5:/dataset, "
      ".tif, .nii or .nii.gz",
      path);
}

bool pz_volume_converts(const pz_volume_format *format, int level) {
  return format->convert && (!format->lay_out || level > 0);
}

pz_status pz_volume_choose_codec(const pz_volume_format *format, const char *path, const char *codec,
                                 int *level, pz_error *err) {
  PZ_TRY(pz_codec_parse(codec, level, err));
  if (!codec || format->packs || (*level == 0 && format->lay_out)) return PZ_OK;
  if (format == &pz_volume_nifti_gz)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "%s: .nii.gz is compressed in one way; leave --codec away, or name the result .nii", path);
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: --codec compresses .h5 and .tif; name the result so, or .nii.gz, or leave --codec away",
                 path);
}

/* A folder is one of slices, unless its name is that of a file or of another kind of folders. */
static pz_status parse_input(pz_arena *arena, const char *path, pz_volume_path *out, pz_error *err) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return pz_volume_parse_path(arena, path, out, err);
  if (pz_volume_parse_path(arena, path, out, NULL) == PZ_OK) return PZ_OK; /* refused when it is opened */
  if (pz_kin_is_picture(path)) return pz_kin_refuse(path, err);
  *out = (pz_volume_path){.format = &pz_volume_folder, .file = pz_arena_strdup(arena, path)};
  return out->file ? PZ_OK : pz_fail_memory(err, "a path", strlen(path));
}

static pz_status list_files(pz_volume *v, char text[PZ_DIGEST_TEXT], pz_error *err) {
  pz_digest digest;
  pz_digest_begin(&digest);
  const pz_status status = v->format->identify(v, &digest, err);
  pz_digest_end_text(&digest, text);
  return status;
}

pz_status pz_volume_identify_file(const char *path, pz_digest *digest, pz_error *err) {
  struct stat info;
  char text[160];
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool known = fd >= 0 && pz_identity_settle(fd, &info);
  const int code = errno;
  if (fd >= 0) close(fd);
  if (!known) return pz_io_fail(err, path, "looking at", code);
  const int n =
      snprintf(text, sizeof text, "%llu %llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)info.st_dev,
               (unsigned long long)info.st_ino, (long long)info.st_size, (long long)info.st_mtim.tv_sec,
               (long)info.st_mtim.tv_nsec, (long long)info.st_ctim.tv_sec, (long)info.st_ctim.tv_nsec);
  pz_digest_add(digest, path, strlen(path) + 1);
  pz_digest_add(digest, text, (size_t)n + 1);
  return PZ_OK;
}

/* What the format opened by its name is what was looked at before. */
static pz_status note_identity(pz_volume *v, pz_error *err) {
  if (v->format->identify) return list_files(v, v->files, err);
  PZ_TRY(pz_identity_leads_here(&v->identity, v->path, err));
  return pz_identity_check(&v->identity, v->path, err);
}

pz_status pz_volume_confirm(pz_volume *v, const char *digest, pz_error *err) {
  char now[PZ_DIGEST_TEXT];
  if (!v->format->identify) return pz_identity_confirm(&v->identity, v->path, digest, err);
  PZ_TRY(list_files(v, now, err));
  if (strcmp(now, v->files) == 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: was changed while it was read; run again when nobody writes to it",
                 v->path);
}

pz_status pz_volume_digest(pz_volume *v, char *block, char text[PZ_DIGEST_TEXT], pz_error *err) {
  memcpy(text, v->files, PZ_DIGEST_TEXT);
  return v->identity.known ? pz_identity_digest(&v->identity, v->path, block, text, err) : PZ_OK;
}

static void close_all(pz_volume *v) {
  v->format->close(v);
  pz_identity_end(&v->identity);
}

/* What a file says of sizes along z, y and x holds for its own axes alone. */
static void check_geometry(pz_volume *v) {
  const bool known = v->info.geometry.known || v->info.geometry.nifti.known;
  if (!known || pz_axes_keep_geometry(&v->array, &v->axes)) return;
  memset(&v->info.geometry, 0, sizeof v->info.geometry);
  pz_notes_add(&v->notes, "the voxel size is left out: z, y and x are not the axes that the file says it of");
}

/* Sizes below 0 or above 2^62 elements are refused before anything is computed from them. */
static pz_status check_array(const pz_volume *v, pz_error *err) {
  char words[PZ_AXES_WORDS];
  int64_t bytes = pz_dtype_bytes(v->info.dtype);
  bool fits = true;
  for (int i = 0; i < v->array.rank; i++) {
    if (v->array.size[i] < 1)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: an array of %s; expected sizes of at least 1", v->path,
                     pz_axes_words(&v->array, words));
    fits = fits && pz_mul_i64(bytes, v->array.size[i], &bytes);
  }
  if (fits && bytes < INT64_C(1) << 62) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: an array of %s is too large for any file", v->path,
                 pz_axes_words(&v->array, words));
}

static pz_status describe(pz_volume *v, pz_error *err) {
  PZ_TRY(v->format->open(v, err));
  PZ_TRY(check_array(v, err));
  PZ_TRY(pz_axes_resolve(v->path, &v->array, &v->choice, &v->axes, err));
  take_shape(v);
  PZ_TRY(pz_volume_check_info(v->path, &v->info, err));
  PZ_TRY(v->format->ready(v, err));
  check_geometry(v);
  return note_identity(v, err);
}

static pz_status open_in(pz_arena *arena, const char *path, const pz_axes_choice *choice, bool settled,
                         pz_volume **volume, pz_error *err) {
  pz_volume *v = PZ_NEW(arena, pz_volume, 1);
  if (!v) return pz_fail_memory(err, "a volume", sizeof *v);
  pz_volume_path parts;
  PZ_TRY(parse_input(arena, path, &parts, err));
  v->arena = v->notes.arena = arena;
  v->format = parts.format;
  v->path = parts.file;
  v->dataset = parts.dataset;
  if (choice) v->choice = *choice;
  if (!v->format->identify) PZ_TRY(pz_identity_begin(v->path, settled, &v->identity, err));
  const pz_status status = describe(v, err);
  if (status == PZ_OK) *volume = v;
  else {
    pz_kin_explain(v->path, v->format->name, err);
    close_all(v);
  }
  return status;
}

static pz_status open_new(const char *path, const pz_axes_choice *choice, bool settled, pz_volume **volume,
                          pz_error *err) {
  *volume = NULL;
  pz_arena *arena = pz_arena_new();
  if (!arena) return pz_fail_memory(err, "a volume", sizeof(pz_volume));
  const pz_status status = open_in(arena, path, choice, settled, volume, err);
  if (status != PZ_OK) pz_arena_free(arena);
  return status;
}

pz_status pz_volume_open(const char *path, pz_volume **volume, pz_error *err) {
  return open_new(path, NULL, false, volume, err);
}
pz_status pz_volume_open_as(const char *path, const pz_axes_choice *choice, pz_volume **volume,
                            pz_error *err) {
  return open_new(path, choice, false, volume, err);
}
pz_status pz_volume_open_settled(const char *path, pz_volume **volume, pz_error *err) {
  return open_new(path, NULL, true, volume, err);
}
pz_status pz_volume_open_chosen(const char *path, const pz_axes_choice *choice, pz_volume **volume,
                                pz_error *err) {
  return open_new(path, choice, true, volume, err);
}

void pz_volume_close(pz_volume *volume) {
  if (!volume) return;
  close_all(volume);
  pz_arena_free(volume->arena);
}

static bool inside(const pz_volume_info *info, const pz_box *box) {
  for (int i = 0; i < 3; i++)
    if (box->start[i] < 0 || box->size[i] < 1 || box->start[i] >= info->shape[i] ||
        box->size[i] > info->shape[i] - box->start[i])
      return false;
  return true;
}

pz_status pz_volume_read(pz_volume *volume, const pz_box *box, void *voxels, const int64_t stride[3],
                         pz_error *err) {
  pz_error reading = {0};
  if (!inside(&volume->info, box))
    return pz_fail(err, PZ_ERROR_USAGE, "%s: a box that is not inside the volume", volume->path);
  const pz_array_box part =
      pz_axes_box(&volume->array, &volume->axes, box, pz_dtype_bytes(volume->info.dtype), stride);
  PZ_TRY(pz_identity_check(&volume->identity, volume->path, err));
  const pz_status status = volume->format->read(volume, &part, voxels, &reading);
  /* A file that was changed explains why it could not be read. */
  PZ_TRY(pz_identity_check(&volume->identity, volume->path, err));
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", reading.message);
}

pz_status pz_volume_read_planes(pz_volume *volume, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                                pz_error *err) {
  const pz_volume_info *info = &volume->info;
  const pz_box box = pz_volume_planes(info, z, n);
  const int64_t stride[3] = {channel_bytes, pz_volume_plane_bytes(info),
                             info->shape[2] * pz_dtype_bytes(info->dtype)};
  return pz_volume_read(volume, &box, planes, stride, err);
}

pz_status pz_volume_uncached(pz_volume *volume, pz_error *err) {
  if (!volume->cache_memory) return PZ_OK;
  volume->memory -= volume->cache_memory;
  volume->cache_memory = 0;
  return volume->format->uncached(volume, err);
}
