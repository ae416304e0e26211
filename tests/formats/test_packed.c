/* Results that are compressed: what is read back is what was written, the file does not depend on the number of threads, and takes no more room than
 * was set aside. */
#include "files.h"
#include "formats/codec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct scene {
  fx_folder folder;
  pz_pool *pool;
} scene;

static const char *const names[] = {"a.h5", "a.h5:/group/data", "a.tif"};
enum { NAMES = sizeof names / sizeof *names };

/* Not all that is random: bytes that deflate makes smaller. */
static void *content(const pz_volume_info *info, bool smooth) {
  uint8_t *data = fx_content(info, 7);
  const int64_t bytes = pz_volume_bytes(info), element = pz_dtype_bytes(info->dtype);
  for (int64_t i = 0; smooth && i < bytes; i++)
    if (i / element % 8) data[i] = 0;
  return data;
}

/* The bytes of the file. */
static char *write_packed(const scene *s, const char *name, const pz_volume_info *info, const void *data,
                          const fx_packing *packing, size_t *size) {
  pz_error err = {0};
  char file[600];
  snprintf(file, sizeof file, "%s", fx_path(&s->folder, name));
  if (fx_try_pack(file, info, data, packing, &err) != PZ_OK) fail_msg("%s", err.message);
  if (strchr(name, ':')) *strrchr(file, ':') = 0;
  return fx_file(file, size);
}

static void check(const scene *s, const char *name, const pz_volume_info *info, bool smooth) {
  char *data = content(info, smooth);
  size_t size[2];
  pz_volume_info got;
  char *one = write_packed(s, name, info, data, &(fx_packing){1, NULL}, &size[0]);
  char *several = write_packed(s, name, info, data, &(fx_packing){1, s->pool}, &size[1]);
  char *back = fx_load(fx_path(&s->folder, name), &got);
  assert_int_equal(got.dtype, info->dtype);
  assert_int_equal(got.channels, info->channels);
  assert_memory_equal(got.shape, info->shape, sizeof got.shape);
  assert_memory_equal(back, data, (size_t)pz_volume_bytes(info));
  assert_int_equal(size[0], size[1]);
  assert_memory_equal(one, several, size[0]);
  pz_volume_path parts;
  pz_arena *arena = pz_arena_new();
  assert_int_equal(pz_volume_parse_path(arena, name, &parts, NULL), PZ_OK);
  assert_true((int64_t)size[0] <= parts.format->most(info));
  if (smooth && pz_volume_bytes(info) > 1 << 17)
    assert_true((int64_t)size[0] < pz_volume_bytes(info) * 4 / 5);
  pz_arena_free(arena);
  free(data), free(one), free(several), free(back);
}

/* Chunks and strips at all ends, one and several of each; types of each size. */
static void round_trips(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 1, 1}, {17, 130, 260}, {1, 513, 700}, {3, 5, 300}, {33, 20, 129}};
  static const pz_dtype dtypes[] = {PZ_F32, PZ_U8, PZ_U16, PZ_F16, PZ_I32, PZ_I16, PZ_I8};
  pz_error err = {0};
  scene s = {.folder = fx_enter()};
  assert_int_equal(pz_pool_new(3, false, &s.pool, &err), PZ_OK);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
      for (int n = 0; n < NAMES; n++) {
        const int64_t *z = shapes[i];
        const pz_volume_info info = fx_info(dtypes[d], i % 2 && z[0] < 17 ? 3 : 1, z[0], z[1], z[2]);
        if (i == 1 && d > 3) continue; /* the largest */
        check(&s, names[n], &info, (i + d) % 2);
      }
  pz_pool_free(s.pool);
  fx_leave(&s.folder);
}

static bool stop(void *host, int64_t plane) {
  (void)host, (void)plane;
  return false;
}

static void interrupted(void **state) {
  (void)state;
  const pz_volume_info info = fx_info(PZ_U8, 1, 4, 5, 6);
  const fx_folder folder = fx_enter();
  pz_arena *arena = pz_arena_new();
  void *data = fx_content(&info, 3);
  fx_write_file(fx_path(&folder, "raw"), data, 120);
  for (int n = 0; n < NAMES; n++) {
    pz_volume_path parts;
    pz_error err = {0};
    assert_int_equal(pz_volume_parse_path(arena, fx_path(&folder, names[n]), &parts, &err), PZ_OK);
    FILE *raw = fopen(fx_path(&folder, "raw"), "r");
    pz_volume_source source = {.fd = fileno(raw), .path = "raw", .info = &info, .level = 1, .go_on = stop};
    assert_int_equal(parts.format->convert(parts.file, parts.dataset, &source, &err), PZ_INTERRUPTED);
    fclose(raw);
    /* A result that ends too early is found, whichever thread reads it. */
    assert_int_equal(truncate(fx_path(&folder, "raw"), 100), 0);
    raw = fopen(fx_path(&folder, "raw"), "r");
    source.fd = fileno(raw), source.go_on = NULL;
    err = (pz_error){0};
    assert_int_equal(parts.format->convert(parts.file, parts.dataset, &source, &err), PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, "raw: truncated"));
    fclose(raw);
    fx_write_file(fx_path(&folder, "raw"), data, 120);
  }
  free(data);
  pz_arena_free(arena);
  fx_leave(&folder);
}

static void words(void **state) {
  (void)state;
  static const char *const bad[] = {"",        "gz",   "gzip:",  "gzip:0", "gzip:10",
                                    "gzip:1 ", "zstd", "none:1", "GZIP"};
  pz_error err = {0};
  int level = 5;
  assert_int_equal(pz_codec_parse(NULL, &level, &err), PZ_OK);
  assert_int_equal(level, 0);
  assert_true(pz_codec_parse("none", &level, &err) == PZ_OK && level == 0);
  assert_true(pz_codec_parse("gzip", &level, &err) == PZ_OK && level == 1);
  assert_true(pz_codec_parse("gzip:9", &level, &err) == PZ_OK && level == 9);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(pz_codec_parse(bad[i], &level, &err), PZ_ERROR_USAGE);
    assert_non_null(strstr(err.message, "gzip:LEVEL from 1 to 9"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(round_trips), cmocka_unit_test(interrupted),
                                     cmocka_unit_test(words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
