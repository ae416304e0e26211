/* Volumes as boxes: every writer's files read as random boxes of odd sizes, results written as boxes in any order, and what
 * formats say of the boxes that they like. Readers of other programs' files are held to boxes in test_axes, test_formats and test_kin
 * (fx_check_boxes). */
#include "files.h"
#include "formats/calls.h"
#include "formats/sink.h"

#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

static fx_folder f;
static const char *at(const char *name) { return fx_path(&f, name); }

static const char *const names[] = {"a.npy", "a.h5", "a.tif", "a.nii", "a.nii.gz"};
enum { NAMES = sizeof names / sizeof *names };

/* As in test_formats.c. */
static bool holds(const char *name, pz_dtype dtype) {
  if (strstr(name, ".nii")) return dtype != PZ_F16 && dtype != PZ_BOOL;
  return dtype != PZ_BOOL || !strstr(name, ".tif");
}

/* ------------------------------------------------------------------ reading */

static pz_volume *opened(const char *path) {
  pz_error err = {0};
  pz_volume *v;
  if (pz_volume_open(path, &v, &err) != PZ_OK) fail_msg("%s", err.message);
  return v;
}

static void own_files(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1}, {7, 5, 9}, {3, 1, 31}, {2, 33, 1}, {5, 40, 311}};
  for (int n = 0; n < NAMES; n++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int channels = 1; channels <= 3; channels += 2)
        for (int d = 0; d < PZ_FILE_DTYPES; d += s == 4 ? 5 : 1) {
          const int64_t *shape = shapes[s];
          const pz_volume_info info = fx_info((pz_dtype)d, channels, shape[0], shape[1], shape[2]);
          if (!holds(names[n], info.dtype)) continue;
          void *data = fx_content(&info, (uint64_t)d);
          fx_save(at(names[n]), &info, data);
          pz_volume *v = opened(at(names[n]));
          fx_check_boxes(v, 12, s + 1);
          pz_volume_close(v);
          free(data);
        }
}

/* Chunks that divide nothing, one of which is not there; the layer that is kept, and boxes that find it or not. */
static void chunks(void **state) {
  (void)state;
  static const hsize_t dim[] = {2, 11, 13, 17}, chunk[] = {2, 4, 5, 6}, part[] = {2, 9, 13, 17};
  const hsize_t zero[4] = {0};
  const pz_volume_info info = fx_info(PZ_U16, 2, 11, 13, 17);
  const uint16_t fill = 777;
  uint16_t *data = fx_content(&info, 5);
  const hid_t file = H5Fcreate(at("chunks.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(4, dim, NULL), memory = H5Screate_simple(4, part, NULL),
              create = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(create, 4, chunk), H5Pset_shuffle(create), H5Pset_deflate(create, 1);
  H5Pset_fill_value(create, H5T_NATIVE_UINT16, &fill);
  const hid_t set = H5Dcreate2(file, "a", H5T_STD_U16BE, space, H5P_DEFAULT, create, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, zero, NULL, part, NULL);
  assert_true(H5Dwrite(set, H5T_NATIVE_UINT16, memory, space, H5P_DEFAULT, data) >= 0);
  H5Dclose(set), H5Pclose(create), H5Sclose(memory), H5Sclose(space), H5Fclose(file);
  for (int cached = 0; cached < 2; cached++) {
    pz_volume *v = opened(at("chunks.h5"));
    assert_true(v->step[0] == 4 && v->step[1] == 5 && v->step[2] == 6 && !v->sequential);
    if (!cached) assert_int_equal(pz_volume_uncached(v, NULL), PZ_OK);
    fx_check_boxes(v, 200, 1);
    /* After planes of a layer the layer is there: boxes of it, and of its neighbours. */
    const int64_t plane = pz_volume_plane_bytes(&v->info);
    char *planes = malloc((size_t)(2 * plane));
    for (int64_t z = 0; z < 11; z++) {
      assert_int_equal(pz_volume_read_planes(v, z, 1, planes, plane, NULL), PZ_OK);
      fx_check_boxes(v, 5, (uint64_t)z);
    }
    free(planes);
    pz_volume_close(v);
  }
  free(data);
}

static void save_slice(const char *path, int wide, int high, int samples, uint64_t seed) {
  const pz_volume_info info = fx_info(PZ_U16, samples, 1, high, wide);
  void *data = fx_content(&info, seed);
  TIFF *t = TIFFOpen(path, "w");
  assert_non_null(t);
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, wide), TIFFSetField(t, TIFFTAG_IMAGELENGTH, high);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 16), TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG), TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 4);
  for (int y = 0; y < high; y++)
    assert_true(TIFFWriteScanline(t, (char *)data + y * wide * samples * 2, (uint32_t)y, 0) == 1);
  TIFFClose(t);
  free(data);
}

/* Each slice is a file of its own. */
static void slices(void **state) {
  (void)state;
  for (int samples = 1; samples <= 3; samples += 2) {
    const char *const folder = samples == 1 ? "grey" : "rgb";
    char name[64];
    mkdir(at(folder), 0777);
    for (int z = 0; z < 5; z++) {
      snprintf(name, sizeof name, "%s/%d.tif", folder, z);
      save_slice(at(name), 17, 13, samples, (uint64_t)z + 1);
    }
    static const char *const orders[] = {"zyx", "zxy", "yzx", "xyz"};
    for (int i = 0; i < 4; i++) {
      char axes[8];
      pz_axes_choice choice;
      pz_volume *v;
      pz_error err = {0};
      snprintf(axes, sizeof axes, samples == 1 ? "%.3s" : "%.1sc%s", orders[i], orders[i] + 1);
      assert_int_equal(pz_axes_choose(axes, NULL, &choice, &err), PZ_OK);
      if (pz_volume_open_as(at(folder), &choice, &v, &err) != PZ_OK) fail_msg("%s", err.message);
      assert_true(v->info.channels == samples && v->info.shape[0] == (i < 2 ? 5 : i == 2 ? 13 : 17));
      assert_true(v->step[0] == (i < 2    ? 1
                                 : i == 2 ? 4
                                          : 17) &&
                  v->step[1] == (i == 0   ? 4
                                 : i == 1 ? 17
                                 : i == 2 ? 1
                                          : 4));
      fx_check_boxes(v, 40, (uint64_t)i);
      pz_volume_close(v);
    }
  }
}

static void outside(void **state) {
  (void)state;
  static const pz_box bad[] = {{{-1, 0, 0}, {1, 1, 1}}, {{0, 0, 0}, {4, 1, 1}},        {{3, 0, 0}, {1, 1, 1}},
                               {{0, 4, 0}, {1, 1, 1}},  {{0, 0, 4}, {1, 1, 2}},        {{0, 0, 0}, {1, 0, 1}},
                               {{0, 0, 0}, {1, 1, -1}}, {{2, 0, 0}, {INT64_MAX, 1, 1}}};
  const pz_volume_info info = fx_info(PZ_U8, 1, 3, 4, 5);
  void *data = fx_content(&info, 1);
  for (int n = 0; n < NAMES; n++) {
    fx_save(at(names[n]), &info, data);
    pz_volume *v = opened(at(names[n]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      char voxels[64];
      pz_error err = {0};
      assert_int_equal(pz_volume_read(v, &bad[i], voxels, (const int64_t[3]){60, 20, 5}, &err),
                       PZ_ERROR_USAGE);
      assert_non_null(strstr(err.message, "a box that is not inside the volume"));
    }
    pz_volume_close(v);
  }
  free(data);
}

/* ------------------------------------------------------------------ what is liked */

static void expect_step(const char *path, int64_t z, int64_t y, int64_t x, bool sequential) {
  pz_volume *v = opened(path);
  if (v->step[0] != z || v->step[1] != y || v->step[2] != x || v->sequential != sequential)
    fail_msg("%s: %lld x %lld x %lld%s", path, (long long)v->step[0], (long long)v->step[1],
             (long long)v->step[2], v->sequential ? ", sequential" : "");
  pz_volume_close(v);
}

static void save_tiles(const char *path) {
  TIFF *t = TIFFOpen(path, "w");
  static const uint8_t tile[32 * 16];
  for (int z = 0; z < 2; z++) {
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, 70), TIFFSetField(t, TIFFTAG_IMAGELENGTH, 20);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 8), TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_TILEWIDTH, 32), TIFFSetField(t, TIFFTAG_TILELENGTH, 16);
    for (uint32_t i = 0; i < 6; i++)
      TIFFWriteEncodedTile(t, i, (void *)(uintptr_t)tile, sizeof tile); /* it is only read */
    TIFFWriteDirectory(t);
  }
  TIFFClose(t);
}

static void steps(void **state) {
  (void)state;
  const pz_volume_info info = fx_info(PZ_F32, 2, 3, 7, 5), wide = fx_info(PZ_F32, 1, 2, 90, 1024);
  void *data = fx_content(&info, 1), *more = fx_content(&wide, 1);
  for (int n = 0; n < NAMES; n++) fx_save(at(names[n]), &info, data);
  expect_step(at("a.npy"), 1, 1, 5, false);
  expect_step(at("a.h5"), 1, 1, 5, false);
  expect_step(at("a.nii"), 1, 1, 5, false);
  expect_step(at("a.nii.gz"), 1, 1, 5, true);
  expect_step(at("a.tif"), 1, 7, 5, false); /* a strip is the page */
  fx_save(at("wide.tif"), &wide, more);
  expect_step(at("wide.tif"), 1, 64, 1024, false);
  save_tiles(at("tiles.tif"));
  expect_step(at("tiles.tif"), 1, 16, 32, false);
  free(data), free(more);
}

/* ------------------------------------------------------------------ writing */

typedef struct boxes {
  pz_box box[256];
  int n;
} boxes;

/* Cuts a box in two until it is small, or by chance. */
static void cut(const pz_box *b, boxes *to, uint64_t *state) {
  const int axis = (int)fx_between(state, 0, 2);
  if (to->n < 30 && b->size[axis] > 1 && fx_between(state, 0, 9)) {
    pz_box one = *b, two = *b;
    one.size[axis] = fx_between(state, 1, b->size[axis] - 1);
    two.start[axis] += one.size[axis], two.size[axis] -= one.size[axis];
    cut(&one, to, state), cut(&two, to, state);
    return;
  }
  assert_true(to->n < 256);
  to->box[to->n++] = *b;
}

static void shuffle(boxes *b, uint64_t *state) {
  for (int i = b->n - 1; i > 0; i--) {
    const int k = (int)fx_between(state, 0, i);
    const pz_box kept = b->box[i];
    b->box[i] = b->box[k], b->box[k] = kept;
  }
}

static void put(const pz_sink *sink, const char *data, const pz_box *b, uint64_t *state) {
  const pz_volume_info *i = sink->info;
  const int64_t element = pz_dtype_bytes(i->dtype), row = i->shape[2] * element, plane = i->shape[1] * row;
  int64_t stride[3];
  const int64_t bytes = fx_strides(i, b, state, stride);
  pz_error err = {0};
  char *voxels = malloc((size_t)bytes);
  assert_non_null(voxels);
  memset(voxels, 0x5a, (size_t)bytes);
  for (int64_t c = 0; c < i->channels; c++)
    for (int64_t z = 0; z < b->size[0]; z++)
      for (int64_t y = 0; y < b->size[1]; y++)
        memcpy(voxels + c * stride[0] + z * stride[1] + y * stride[2],
               data + (c * i->shape[0] + b->start[0] + z) * plane + (b->start[1] + y) * row +
                   b->start[2] * element,
               (size_t)(b->size[2] * element));
  if (sink->write(sink, b, voxels, stride, &err) != PZ_OK) fail_msg("%s", err.message);
  free(voxels);
}

static void put_all(const pz_sink *sink, const void *data, bool in_order, uint64_t *state) {
  const pz_box whole = pz_volume_planes(sink->info, 0, sink->info->shape[0]);
  boxes b = {.n = 0};
  if (in_order)
    for (int64_t z = 0; z < sink->info->shape[0]; z++) b.box[b.n++] = pz_volume_planes(sink->info, z, 1);
  else {
    cut(&whole, &b, state);
    shuffle(&b, state);
  }
  for (int i = 0; i < b.n; i++) put(sink, data, &b.box[i], state);
}

/* As the engine does: raw planes that are the file, or that it is written from. */
static void save_in_boxes(const char *path, const pz_volume_info *info, const void *data, bool in_order,
                          uint64_t *state) {
  pz_arena *arena = pz_arena_new();
  pz_volume_path p;
  pz_error err = {0};
  int64_t offset = 0;
  assert_int_equal(pz_volume_parse_output(arena, path, &p, &err), PZ_OK);
  const bool converts = pz_volume_converts(p.format, 0);
  const char *raw = converts ? at("raw") : p.file;
  unlink(raw);
  if (!converts) assert_int_equal(p.format->lay_out(raw, "/main", info, &offset, &err), PZ_OK);
  const int fd = open(raw, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  assert_true(fd >= 0);
  const pz_sink sink = pz_sink_to_file(info, fd, raw, offset);
  assert_true(sink.step[0] == 1 && sink.step[1] == 1 && sink.step[2] == info->shape[2]);
  put_all(&sink, data, in_order, state);
  pz_volume_source source = {.fd = fd, .path = raw, .info = info};
  if (converts && p.format->convert(p.file, "/main", &source, &err) != PZ_OK) fail_msg("%s", err.message);
  if (converts) assert_int_equal(source.done, info->channels * info->shape[0]);
  close(fd);
  pz_arena_free(arena);
}

static void results(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1}, {9, 6, 7}, {4, 1, 17}, {3, 90, 1024}};
  uint64_t random = 3;
  for (int n = 0; n < NAMES; n++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int channels = 1; channels <= 3; channels += 2)
        for (int round = 0; round < 4; round++) {
          const pz_dtype dtype = round % 2 ? PZ_U8 : PZ_F32;
          const pz_volume_info info = fx_info(dtype, channels, shapes[s][0], shapes[s][1], shapes[s][2]);
          pz_volume_info got;
          void *data = fx_content(&info, s);
          size_t size[2];
          char *bytes[2];
          fx_save(at(names[n]), &info, data);
          bytes[0] = fx_file(at(names[n]), &size[0]);
          save_in_boxes(at(names[n]), &info, data, round == 0, &random);
          bytes[1] = fx_file(at(names[n]), &size[1]);
          assert_int_equal(size[0], size[1]);
          assert_memory_equal(bytes[0], bytes[1], size[0]);
          void *back = fx_load(at(names[n]), &got);
          assert_memory_equal(data, back, (size_t)pz_volume_bytes(&info));
          free(data), free(back), free(bytes[0]), free(bytes[1]);
        }
}

/* ------------------------------------------------------------------ callbacks */

typedef struct memory {
  const pz_volume_info *info;
  char *data;
  pz_box last;
} memory;

static void move(memory *m, const pz_box *b, char *voxels, const int64_t stride[3], bool read) {
  const int64_t element = pz_dtype_bytes(m->info->dtype), row = m->info->shape[2] * element;
  m->last = *b;
  for (int64_t c = 0; c < m->info->channels; c++)
    for (int64_t z = 0; z < b->size[0]; z++)
      for (int64_t y = 0; y < b->size[1]; y++) {
        char *here = voxels + c * stride[0] + z * stride[1] + y * stride[2];
        char *there =
            m->data +
            ((c * m->info->shape[0] + b->start[0] + z) * m->info->shape[1] + b->start[1] + y) * row +
            b->start[2] * element;
        memcpy(read ? here : there, read ? there : here, (size_t)(b->size[2] * element));
      }
}
static bool read_memory(void *host, const pz_box *b, void *voxels, const int64_t stride[3]) {
  return move(host, b, voxels, stride, true), true;
}
static bool write_memory(void *host, const pz_box *b, const void *voxels, const int64_t stride[3]) {
  return move(host, b, (char *)(uintptr_t)voxels, stride, false), true;
}
static bool write_nothing(void *host, const pz_box *b, const void *voxels, const int64_t stride[3]) {
  return (void)host, (void)b, (void)voxels, (void)stride, false;
}

static void callbacks(void **state) {
  (void)state;
  const pz_volume_info info = fx_info(PZ_I16, 3, 6, 7, 11);
  void *data = fx_content(&info, 8);
  memory from = {&info, data, {{0}, {0}}},
         to = {&info, calloc(1, (size_t)pz_volume_bytes(&info)), {{0}, {0}}};
  const pz_volume_reader reader = {.dtype = PZ_I16,
                                   .channels = 3,
                                   .shape = {6, 7, 11},
                                   .read = read_memory,
                                   .host = &from,
                                   .step = {4, 0, 100}};
  pz_volume *v;
  assert_int_equal(pz_volume_from_calls(&reader, &v, NULL), PZ_OK);
  assert_true(v->step[0] == 4 && v->step[1] == 7 && v->step[2] == 11);
  fx_check_boxes(v, 100, 2);
  const pz_box box = {{1, 2, 3}, {5, 4, 3}};
  int16_t voxels[3 * 5 * 4 * 3];
  assert_int_equal(pz_volume_read(v, &box, voxels, (const int64_t[3]){120, 24, 6}, NULL), PZ_OK);
  assert_memory_equal(&from.last, &box, sizeof box);
  pz_volume_close(v);

  const pz_volume_writer writer = {.write = write_memory, .host = &to, .step = {0, 2, 0}};
  const pz_sink sink = pz_sink_to_calls(&info, &writer);
  assert_true(sink.step[0] == 1 && sink.step[1] == 2 && sink.step[2] == 1);
  uint64_t random = 4;
  for (int round = 0; round < 8; round++) {
    memset(to.data, 0, (size_t)pz_volume_bytes(&info));
    put_all(&sink, data, round == 0, &random);
    assert_memory_equal(to.data, data, (size_t)pz_volume_bytes(&info));
  }
  pz_error err = {0};
  const pz_volume_writer broken = {.write = write_nothing};
  const pz_sink fails = pz_sink_to_calls(&info, &broken);
  assert_int_equal(fails.write(&fails, &box, voxels, (const int64_t[3]){120, 24, 6}, &err), PZ_ERROR_RUN);
  assert_non_null(strstr(err.message, "its writer failed at planes 1 to 5"));
  free(data), free(to.data);
}

static int enter(void **state) { return (void)state, f = fx_enter(), 0; }
static int leave(void **state) { return (void)state, fx_leave(&f), 0; }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(own_files), cmocka_unit_test(chunks),
                                     cmocka_unit_test(slices),    cmocka_unit_test(outside),
                                     cmocka_unit_test(steps),     cmocka_unit_test(results),
                                     cmocka_unit_test(callbacks)};
  return cmocka_run_group_tests(tests, enter, leave);
}
