/* Pictures of a plane and its result: what is in them, and that every way of a result gives the same one. */
#include "fixture.h"
#include "volume/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

typedef struct image {
  int64_t width, height;
  uint8_t *rows; /* each with its filter in front */
} image;

static uint32_t u32(const uint8_t *b) {
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Strictly as pznet writes them. */
static image decode(const char *path) {
  size_t size;
  uint8_t *file = fx_file(path, &size);
  image p = {.width = u32(file + 16), .height = u32(file + 20)};
  uLongf bytes = (uLongf)(p.height * (3 * p.width + 1));
  assert_memory_equal(file, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  const uint32_t packed = u32(file + 33);
  assert_memory_equal(file + 37, "IDAT", 4);
  assert_int_equal(size, 8 + 25 + 12 + packed + 12);
  assert_int_equal(u32(file + 41 + packed), crc32(0, file + 37, 4 + packed));
  assert_int_equal(u32(file + 29), crc32(0, file + 12, 17));
  p.rows = malloc(bytes);
  assert_int_equal(uncompress(p.rows, &bytes, file + 41, packed), Z_OK);
  assert_int_equal(bytes, p.height * (3 * p.width + 1));
  const int64_t row = 3 * p.width + 1;
  for (int64_t y = 1; y < p.height; y++)
    for (int64_t i = 1; i < row; i++) p.rows[y * row + i] += p.rows[(y - 1) * row + i];
  free(file);
  return p;
}

static const uint8_t *pixel(const image *p, int64_t y, int64_t x) {
  assert_true(y >= 0 && y < p->height && x >= 0 && x < p->width);
  return p->rows + y * (3 * p->width + 1) + 1 + 3 * x;
}

static void expect(const image *p, int64_t y, int64_t x, int r, int g, int b) {
  const uint8_t *at = pixel(p, y, x);
  if (at[0] != r || at[1] != g || at[2] != b)
    fail_msg("%lld, %lld: %d %d %d, not %d %d %d", (long long)y, (long long)x, at[0], at[1], at[2], r, g, b);
}

static image write_and_decode(const char *path, const pz_preview *v) {
  if (pz_preview_write(path, v) != PZ_OK) fail_msg("%s", pz_last_message());
  return decode(path);
}

enum { GAP = PZ_PICTURE_GAP };

/* A plane of 0..199 in 10 rows of 20: its percentiles are 1.99 and 197.01. */
static void levels_and_labels(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  float plane[200], values[600];
  uint8_t labels[200] = {0};
  for (int i = 0; i < 200; i++) plane[i] = (float)i;
  labels[21] = 1, labels[22] = 2, labels[23] = 20;
  plane[5] = NAN;
  pz_preview v = {.height = 10,
                  .width = 20,
                  .plane = plane,
                  .result = labels,
                  .dtype = PZ_U8,
                  .channels = 1,
                  .labels = true};
  image p = write_and_decode(fx_path(&f, "a.png"), &v);
  assert_true(p.width == 2 * 20 + GAP && p.height == 10);
  expect(&p, 0, 0, 0, 0, 0);
  expect(&p, 0, 5, 0, 0, 0);
  expect(&p, 9, 19, 255, 255, 255);
  const uint8_t grey = pixel(&p, 5, 0)[0];
  assert_true(abs(grey - (int)((100 - 1.98) / (197.02 - 1.98) * 255 + 0.5)) <= 1);
  for (int x = 0; x < GAP; x++) expect(&p, 3, 20 + x, 255, 255, 255);
  expect(&p, 5, 20 + GAP, grey, grey, grey); /* no label */
  const uint8_t one = pixel(&p, 1, 1)[0], two = pixel(&p, 1, 2)[0], again = pixel(&p, 1, 3)[0];
  expect(&p, 1, 21 + GAP, (one + 230) / 2, (one + 25) / 2, (one + 75) / 2);
  expect(&p, 1, 22 + GAP, (two + 60) / 2, (two + 180) / 2, (two + 75) / 2);
  expect(&p, 1, 23 + GAP, (again + 230) / 2, (again + 25) / 2, (again + 75) / 2); /* 19 colours */
  free(p.rows);
  /* probabilities: as they are; three channels are colours; of five the first */
  for (int i = 0; i < 600; i++) values[i] = (float)(i % 200) / 255 * (i < 200 ? 1 : 0.5f);
  v.result = values, v.dtype = PZ_F32, v.labels = false, v.channels = 3;
  p = write_and_decode(fx_path(&f, "a.png"), &v);
  expect(&p, 5, 20 + GAP, 100, 50, 50);
  free(p.rows);
  v.channels = 2;
  p = write_and_decode(fx_path(&f, "a.png"), &v);
  expect(&p, 5, 20 + GAP, 100, 50, 0);
  free(p.rows);
  v.channels = 1;
  p = write_and_decode(fx_path(&f, "a.png"), &v);
  expect(&p, 5, 20 + GAP, 100, 100, 100);
  free(p.rows);
  /* other values: from percentile to percentile */
  for (int i = 0; i < 200; i++) values[i] = 5 * plane[i] - 100;
  p = write_and_decode(fx_path(&f, "a.png"), &v);
  for (int y = 0; y < 10; y++)
    for (int x = 0; x < 20; x++) assert_true(abs(pixel(&p, y, x)[0] - pixel(&p, y, x + 20 + GAP)[0]) <= 1);
  free(p.rows);
  v.width = 0;
  assert_int_equal(pz_preview_write(fx_path(&f, "a.png"), &v), PZ_ERROR_USAGE);
  v.width = 20;
  assert_int_equal(pz_preview_write(fx_path(&f, "a.jpg"), &v), PZ_ERROR_USAGE);
  assert_int_equal(pz_preview_write(fx_path(&f, "no/a.png"), &v), PZ_ERROR_OUTPUT);
  fx_leave(&f);
}

/* 2050 x 7: by 3, to 684 x 3. Means on the left, voxels in the middle of their squares on the right. */
static void scaled(void **state) {
  (void)state;
  enum { X = 2050, Y = 7 };
  const fx_folder f = fx_enter();
  float *plane = malloc(X * Y * 4);
  uint16_t *result = calloc(X * Y, 2);
  for (int i = 0; i < X * Y; i++) plane[i] = (float)(i % X);
  result[1 * X + 1] = 65535, result[6 * X + 2049] = 32768, result[0] = 65535;
  const pz_preview v = {
      .height = Y, .width = X, .plane = plane, .result = result, .dtype = PZ_U16, .channels = 1};
  const image p = write_and_decode(fx_path(&f, "a.png"), &v);
  assert_true(p.width == 2 * 684 + GAP && p.height == 3);
  expect(&p, 0, 684 + GAP, 255, 255, 255);
  expect(&p, 0, 685 + GAP, 0, 0, 0);
  expect(&p, 2, 684 + GAP + 683, 128, 128, 128); /* the last square has one voxel */
  const int middle = pixel(&p, 1, 342)[0];
  assert_true(middle >= 126 && middle <= 129);
  free(p.rows), free(plane), free(result);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ of a run */

static const int64_t patch[3] = {3, 5, 6};
enum { Z = 8, Y = 23, X = 31 };

typedef struct scene {
  fx_folder f;
  char in[600], out[600], picture[600];
  void *want;
  size_t size;
} scene;

static bool take(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]) {
  (void)box, (void)voxels, (void)stride;
  return ++*(int *)host < 1000;
}

static pz_status go(const scene *s, const pz_volume_writer *output, pz_infer_options o, pz_pool *pool,
                    int *runs, pz_error *err) {
  fx_net net;
  pz_volume *v;
  fx_net_make(&net, FX_IDENTITY, 2, 2, patch, patch);
  net.function.pool = pool;
  o.preview = s->picture, o.overlap[1] = 2;
  *err = (pz_error){0};
  assert_int_equal(pz_volume_open(s->in, &v, err), PZ_OK);
  const pz_status status = pz_engine_run(&net.function, v, output, &o, NULL, NULL, err);
  pz_volume_close(v);
  *runs = net.runs;
  return status;
}

static void expect_same(scene *s, const char *name, pz_infer_options o, pz_pool *pool, int least) {
  pz_error err;
  size_t size;
  int runs, taken = 0;
  const pz_volume_writer file = {.path = name}, calls = {.write = take, .host = &taken, .step = {2, 7, 6}};
  if (go(s, name ? &file : &calls, o, pool, &runs, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_true(runs >= least && (least || !runs));
  void *got = fx_file(s->picture, &size);
  if (!s->want) s->want = got, s->size = size;
  else {
    assert_int_equal(size, s->size);
    assert_memory_equal(got, s->want, size);
    free(got);
  }
  assert_int_equal(unlink(s->picture), 0);
}

static scene make_scene(void) {
  scene s = {.f = fx_enter()};
  const pz_volume_info info = fx_info(PZ_F32, 2, Z, Y, X);
  void *data = fx_content(&info, 3);
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.f, "in.npy"));
  snprintf(s.picture, sizeof s.picture, "%s", fx_path(&s.f, "picture.png"));
  fx_save(s.in, &info, data);
  free(data);
  return s;
}

/* Files, compressed too, and callbacks; one thread and three; a run that finds its output finished. */
static void every_way(void **state) {
  (void)state;
  static const pz_store stores[] = {PZ_STORE_F32, PZ_STORE_ARGMAX, PZ_STORE_THRESHOLD, PZ_STORE_U8};
  pz_error err = {0};
  pz_pool *pool;
  assert_int_equal(pz_pool_new(3, false, &pool, &err), PZ_OK);
  for (size_t i = 0; i < sizeof stores / sizeof *stores; i++)
    for (int boxed = 0; boxed < 2; boxed++) {
      scene s = make_scene();
      pz_infer_options o = {.store = stores[i], .threshold = 0.4f};
      if (boxed) o.box = (pz_box){{2, 3, 4}, {3, 13, 0}};
      const char *const outs[] = {"a.npy", "a.h5:/b", "a.tif", "a.nii.gz"};
      for (int n = 0; n < 4; n++) {
        char out[600];
        snprintf(out, sizeof out, "%s", fx_path(&s.f, outs[n]));
        o.codec = n == 1 || n == 2 ? "gzip" : NULL;
        expect_same(&s, out, o, n % 2 ? pool : NULL, 1);
        o.resume = true;
        expect_same(&s, out, o, NULL, 0); /* nothing is done */
        o.resume = false;
      }
      o.codec = NULL;
      expect_same(&s, NULL, o, pool, 1);
      const image p = (fx_write_file(s.picture, s.want, s.size), decode(s.picture));
      assert_true(p.height == (boxed ? 13 : Y) && p.width == 2 * (boxed ? X - 4 : X) + GAP);
      free(p.rows), free(s.want);
      fx_leave(&s.f);
    }
  pz_pool_free(pool);
}

/* The left panel is the input's first channel, where the result is. */
static void the_plane_is_the_middle_one(void **state) {
  (void)state;
  scene s = make_scene();
  pz_volume_info info;
  char out[600];
  snprintf(out, sizeof out, "%s", fx_path(&s.f, "a.npy"));
  pz_infer_options o = {.box = {{2, 3, 4}, {3, 13, 0}}};
  expect_same(&s, out, o, NULL, 1);
  fx_write_file(s.picture, s.want, s.size);
  const image p = decode(s.picture);
  const float *in = fx_load(s.in, &info), *result = fx_load(out, &info);
  const float low = in[(3 * Y + 3) * X + 4], high = in[(3 * Y + 4) * X + 9];
  assert_int_equal(low < high, pixel(&p, 0, 0)[0] < pixel(&p, 1, 5)[0]);
  const int64_t width = X - 4;
  for (int64_t i = 0; i < 13 * width; i++) { /* channels 0 and 1 of plane 1: probabilities */
    const float *v = result + (1 * 13) * width + i;
    expect(&p, i / width, width + GAP + i % width, (int)(v[0] * 255 + 0.5f),
           (int)(v[3 * 13 * width] * 255 + 0.5f), 0);
  }
  free(p.rows), free(s.want), free((void *)in), free((void *)result);
  fx_leave(&s.f);
}

static void refused(void **state) {
  (void)state;
  scene s = make_scene();
  pz_error err;
  int runs, taken = 0;
  char out[600];
  const pz_volume_writer calls = {.write = take, .host = &taken};
  snprintf(out, sizeof out, "%s", fx_path(&s.f, "a.npy"));
  const pz_volume_writer file = {.path = out};
  snprintf(s.picture, sizeof s.picture, "%s", fx_path(&s.f, "missing/a.png"));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(go(&s, i ? &file : &calls, (pz_infer_options){0}, NULL, &runs, &err), PZ_ERROR_OUTPUT);
    assert_non_null(strstr(err.message, "missing/a.png"));
    assert_int_equal(runs, 0);
  }
  snprintf(s.picture, sizeof s.picture, "%s", fx_path(&s.f, "a.tif"));
  assert_int_equal(go(&s, &file, (pz_infer_options){0}, NULL, &runs, &err), PZ_ERROR_USAGE);
  assert_non_null(strstr(err.message, "expected a name that ends with .png"));
  assert_true(runs == 0 && !fx_exists(out));
  static const struct {
    const char *name, *codec, *says;
  } codecs[] = {{"a.npy", "gzip", "--codec compresses .h5 and .tif"},
                {"a.nii", "gzip:2", "--codec compresses .h5 and .tif"},
                {"a.nii.gz", "gzip", "is compressed in one way"},
                {"a.tif", "zstd", "expected gzip, gzip:LEVEL from 1 to 9, or none"},
                {"a.h5", "gzip:0", "expected gzip"}};
  snprintf(s.picture, sizeof s.picture, "%s", fx_path(&s.f, "a.png"));
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    snprintf(out, sizeof out, "%s", fx_path(&s.f, codecs[i].name));
    const pz_infer_options o = {.codec = codecs[i].codec};
    assert_int_equal(go(&s, &file, o, NULL, &runs, &err), PZ_ERROR_USAGE);
    if (!strstr(err.message, codecs[i].says)) fail_msg("%s", err.message);
  }
  const pz_infer_options codec = {.codec = "gzip"}, half = {.store = PZ_STORE_F16};
  assert_int_equal(go(&s, &calls, codec, NULL, &runs, &err), PZ_ERROR_USAGE);
  snprintf(out, sizeof out, "%s", fx_path(&s.f, "a.nii.gz"));
  assert_int_equal(go(&s, &file, half, NULL, &runs, &err), PZ_ERROR_USAGE);
  assert_non_null(strstr(err.message, "NIfTI has no floats of 16 bits"));
  fx_leave(&s.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_and_labels), cmocka_unit_test(scaled), cmocka_unit_test(every_way),
      cmocka_unit_test(the_plane_is_the_middle_one), cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
