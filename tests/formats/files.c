#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

fx_folder fx_enter(void) {
  fx_folder f;
  /* In memory where there is such a place: the tests sync often. */
  const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(f.path, sizeof f.path, "%s/pznet-volume-XXXXXX", base);
  assert_non_null(mkdtemp(f.path));
  return f;
}

static int drop(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info, (void)type, (void)walk;
  return remove(path);
}
void fx_leave(const fx_folder *folder) { nftw(folder->path, drop, 16, FTW_DEPTH | FTW_PHYS); }

const char *fx_path(const fx_folder *folder, const char *name) {
  static char buffers[16][512];
  static int next;
  char *out = buffers[next++ % 16];
  snprintf(out, sizeof buffers[0], "%s/%s", folder->path, name);
  return out;
}

uint64_t fx_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}
int64_t fx_between(uint64_t *state, int64_t low, int64_t high) {
  return low + (int64_t)(fx_random(state) % (uint64_t)(high - low + 1));
}
float fx_unit(uint64_t *state) { return (float)(fx_random(state) >> 40) / (float)(1 << 24); }

pz_volume_info fx_info(pz_dtype dtype, int32_t channels, int64_t z, int64_t y, int64_t x) {
  return (pz_volume_info){
      .dtype = dtype, .channels = channels, .has_channels = channels > 1, .shape = {z, y, x}};
}

void *fx_content(const pz_volume_info *info, uint64_t seed) {
  const int64_t bytes = pz_volume_bytes(info);
  uint8_t *data = malloc((size_t)bytes);
  assert_non_null(data);
  const int64_t n = bytes / pz_dtype_bytes(info->dtype);
  if (info->dtype == PZ_F32)
    for (int64_t i = 0; i < n; i++) ((float *)data)[i] = fx_unit(&seed);
  else if (info->dtype == PZ_F64)
    for (int64_t i = 0; i < n; i++) ((double *)data)[i] = (double)(fx_random(&seed) >> 11) * 0x1p-53;
  else if (info->dtype == PZ_F16)
    for (int64_t i = 0; i < n; i++) ((uint16_t *)data)[i] = (uint16_t)(fx_random(&seed) % 0x3c01);
  else
    for (int64_t i = 0; i < bytes; i++)
      data[i] = (uint8_t)(fx_random(&seed) & (info->dtype == PZ_BOOL ? 1 : 255));
  return data;
}

static pz_status save_by(const pz_volume_path *p, const char *raw, const pz_volume_info *info,
                         const void *data, const fx_packing *packing, pz_error *err) {
  int64_t offset = 0;
  const bool converts = pz_volume_converts(p->format, packing->level);
  const char *laid = converts ? raw : p->file;
  if (!converts) PZ_TRY(p->format->lay_out(p->file, p->dataset, info, &offset, err));
  const int fd = open(laid, O_RDWR | O_CREAT, 0666);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, data, (size_t)pz_volume_bytes(info), offset), pz_volume_bytes(info));
  pz_status status = PZ_OK;
  pz_volume_source source = {
      .fd = fd, .path = laid, .info = info, .level = packing->level, .pool = packing->pool};
  if (converts) status = p->format->convert(p->file, p->dataset, &source, err);
  close(fd);
  unlink(raw);
  return status;
}

pz_status fx_try_pack(const char *path, const pz_volume_info *info, const void *data,
                      const fx_packing *packing, pz_error *err) {
  pz_arena *arena = pz_arena_new();
  pz_volume_path parts;
  char raw[600];
  pz_status status = pz_volume_parse_path(arena, path, &parts, err);
  if (status == PZ_OK) {
    snprintf(raw, sizeof raw, "%s.fixture", parts.file);
    status = save_by(&parts, raw, info, data, packing, err);
  }
  pz_arena_free(arena);
  return status;
}

pz_status fx_try_save(const char *path, const pz_volume_info *info, const void *data, pz_error *err) {
  return fx_try_pack(path, info, data, &(fx_packing){0}, err);
}

void fx_save(const char *path, const pz_volume_info *info, const void *data) {
  pz_error err = {0};
  if (fx_try_save(path, info, data, &err) != PZ_OK) fail_msg("%s", err.message);
}

void *fx_load(const char *path, pz_volume_info *info) {
  pz_error err = {0};
  pz_volume *v;
  if (pz_volume_open(path, &v, &err) != PZ_OK) fail_msg("%s", err.message);
  *info = v->info;
  char *data = malloc((size_t)pz_volume_bytes(info));
  assert_non_null(data);
  if (pz_volume_read_planes(v, 0, info->shape[0], data, pz_volume_bytes(info) / info->channels, &err) !=
      PZ_OK)
    fail_msg("%s", err.message);
  if (pz_volume_bytes(info) < 1 << 16) fx_check_boxes(v, 3, (uint64_t)pz_volume_bytes(info));
  pz_volume_close(v);
  return data;
}

/* Where voxel (c, z, y, x) lies. */
static int64_t place(const int64_t stride[3], int64_t element, const int64_t at[4]) {
  return at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2] + at[3] * element;
}

/* The box as it was read, and the gaps, which nobody wrote to. */
static void compare_box(const pz_volume *v, const pz_box *b, const char *all, const char *got, int64_t bytes,
                        const int64_t stride[3]) {
  const pz_volume_info *i = &v->info;
  const int64_t element = pz_dtype_bytes(i->dtype), row = i->shape[2] * element, plane = i->shape[1] * row;
  const int64_t dense[3] = {i->shape[0] * plane, plane, row};
  char *want = malloc((size_t)bytes);
  assert_non_null(want);
  memset(want, 0x5a, (size_t)bytes);
  for (int64_t c = 0; c < i->channels; c++)
    for (int64_t z = 0; z < b->size[0]; z++)
      for (int64_t y = 0; y < b->size[1]; y++)
        memcpy(
            want + place(stride, element, (const int64_t[4]){c, z, y, 0}),
            all + place(dense, element, (const int64_t[4]){c, b->start[0] + z, b->start[1] + y, b->start[2]}),
            (size_t)(b->size[2] * element));
  if (memcmp(want, got, (size_t)bytes) != 0)
    fail_msg("%s: the box from %lld, %lld, %lld of %lld x %lld x %lld is read wrongly", v->path,
             (long long)b->start[0], (long long)b->start[1], (long long)b->start[2], (long long)b->size[0],
             (long long)b->size[1], (long long)b->size[2]);
  free(want);
}

pz_box fx_box(const int64_t shape[3], uint64_t *state) {
  pz_box b;
  for (int i = 0; i < 3; i++) {
    b.start[i] = fx_between(state, 0, shape[i] - 1);
    b.size[i] = fx_between(state, 1, shape[i] - b.start[i]);
    if (fx_between(state, 0, 3) == 0) b.start[i] = 0, b.size[i] = shape[i];
  }
  return b;
}

int64_t fx_strides(const pz_volume_info *info, const pz_box *box, uint64_t *state, int64_t stride[3]) {
  const int64_t element = pz_dtype_bytes(info->dtype);
  stride[2] = (box->size[2] + fx_between(state, 0, 1) * fx_between(state, 0, 3)) * element;
  stride[1] = box->size[1] * stride[2] + fx_between(state, 0, 1) * fx_between(state, 0, 5) * element;
  stride[0] = box->size[0] * stride[1] + fx_between(state, 0, 1) * fx_between(state, 0, 5) * element;
  return info->channels * stride[0];
}

static void read_box(pz_volume *v, const char *all, uint64_t *state) {
  const pz_box b = fx_box(v->info.shape, state);
  int64_t stride[3];
  const int64_t bytes = fx_strides(&v->info, &b, state, stride);
  pz_error err = {0};
  char *got = malloc((size_t)bytes);
  assert_non_null(got);
  memset(got, 0x5a, (size_t)bytes);
  if (pz_volume_read(v, &b, got, stride, &err) != PZ_OK) fail_msg("%s", err.message);
  compare_box(v, &b, all, got, bytes, stride);
  free(got);
}

void fx_check_boxes(pz_volume *v, int boxes, uint64_t seed) {
  const pz_volume_info *i = &v->info;
  const int64_t plane = pz_volume_plane_bytes(i), channel = i->shape[0] * plane;
  pz_error err = {0};
  char *all = malloc((size_t)pz_volume_bytes(i)), *one = malloc((size_t)(i->channels * plane));
  assert_true(all && one);
  for (int k = 0; k < 3; k++) assert_true(v->step[k] >= 1 && v->step[k] <= i->shape[k]);
  if (pz_volume_read_planes(v, 0, i->shape[0], all, channel, &err) != PZ_OK) fail_msg("%s", err.message);
  for (int64_t z = 0; z < i->shape[0] && z < 16; z++) {
    if (pz_volume_read_planes(v, z, 1, one, plane, &err) != PZ_OK) fail_msg("%s", err.message);
    for (int64_t c = 0; c < i->channels; c++)
      assert_memory_equal(one + c * plane, all + c * channel + z * plane, (size_t)plane);
  }
  for (int k = 0; k < boxes; k++) read_box(v, all, &seed);
  free(all), free(one);
}

/* A quarter of the middle plane. */
static pz_status read_middle(pz_volume *v, void *to, pz_error *err) {
  const int64_t *s = v->info.shape, high = (s[1] + 1) / 2, wide = (s[2] + 1) / 2,
                row = wide * pz_dtype_bytes(v->info.dtype);
  const pz_box box = {{s[0] / 2, s[1] / 2, s[2] / 2}, {1, high, wide}};
  return pz_volume_read(v, &box, to, (const int64_t[3]){high * row, high * row, row}, err);
}

pz_status fx_read_all(const char *path, int64_t portion, pz_error *err) {
  pz_volume *v;
  PZ_TRY(pz_volume_open(path, &v, err));
  const int64_t plane = pz_volume_plane_bytes(&v->info), planes = v->info.shape[0];
  pz_status status = PZ_OK;
  /* A damaged header may promise anything: what would not be worked on is not read. */
  char *data =
      plane * v->info.channels < (1 << 20) ? malloc((size_t)(plane * v->info.channels * portion)) : NULL;
  for (int64_t z = 0; data && z < planes && z < 64 && status == PZ_OK; z += portion)
    status =
        pz_volume_read_planes(v, z, portion < planes - z ? portion : planes - z, data, plane * portion, err);
  if (data && status == PZ_OK) status = read_middle(v, data, err);
  free(data);
  pz_volume_close(v);
  return status;
}

void *fx_file(const char *path, size_t *size) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  *size = (size_t)info.st_size;
  void *data = malloc(*size + 1);
  FILE *f = fopen(path, "rb");
  assert_true(f && data);
  assert_int_equal(fread(data, 1, *size, f), *size);
  fclose(f);
  return data;
}

void fx_write_file(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

bool fx_exists(const char *path) { return access(path, F_OK) == 0; }
