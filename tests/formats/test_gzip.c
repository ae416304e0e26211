/* gzip.c: what gzip, bgzip and cat of two files write, read forward and back in parts of any size; every byte changed, every length cut. */
#include "files.h"
#include "formats/gzip.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { N = 1000000 };
static uint8_t data[N], got[N + 64];

static void fill(void) {
  uint32_t x = 1;
  for (int i = 0; i < N; i++) {
    x = x * 1664525u + 1013904223u;
    data[i] = i % 1000 < 400 ? 7 : (uint8_t)(x >> 24);
  }
}

static void append(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "ab");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static void append_member(const char *path, const uint8_t *from, size_t n) {
  gzFile f = gzopen(path, "ab6");
  assert_non_null(f);
  assert_int_equal(n ? gzwrite(f, from, (unsigned)n) : 0, (int)n);
  assert_int_equal(gzclose(f), Z_OK);
}

/* All of it in parts, then a part before. */
static pz_status read_all(const char *path, int64_t part, int64_t *size, pz_error *err) {
  pz_gzip *g;
  int64_t at = 0, n = 1;
  const int fd = open(path, O_RDONLY);
  *err = (pz_error){0};
  *size = 0;
  pz_status status = pz_gzip_open(path, fd, &g, err);
  for (; status == PZ_OK && n > 0 && at < N + 1; at += n)
    status = pz_gzip_read(g, got + at, at + part <= N + 64 ? part : 1, at, &n, err);
  *size = at;
  if (status == PZ_OK && at > 200) {
    uint8_t again[100];
    status = pz_gzip_read(g, again, 100, 50, NULL, err);
    if (status == PZ_OK) assert_memory_equal(again, got + 50, 100);
  }
  pz_gzip_close(g);
  close(fd);
  return status;
}

static void expect(const char *path, size_t size) {
  static const int64_t parts[] = {1 << 20, 65536, 4099, 61};
  for (int i = 0; i < 4; i++) {
    pz_error err;
    int64_t n;
    if (read_all(path, parts[i] > N ? N : parts[i], &n, &err) != PZ_OK) fail_msg("%s", err.message);
    assert_int_equal(n, size);
    assert_memory_equal(got, data, size);
  }
}

static void kinds(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  fill();
  append_member(fx_path(&f, "one.gz"), data, N);
  expect(fx_path(&f, "one.gz"), N);
  for (int i = 0; i < 5; i++) append_member(fx_path(&f, "many.gz"), data + i * (N / 5), N / 5);
  append_member(fx_path(&f, "many.gz"), NULL, 0); /* bgzip's end */
  expect(fx_path(&f, "many.gz"), N);
  append(fx_path(&f, "many.gz"), "\0\0\0behind", 9); /* tapes are filled up */
  expect(fx_path(&f, "many.gz"), N);
  append(fx_path(&f, "plain.gz"), data, 1000);
  expect(fx_path(&f, "plain.gz"), 1000);
  append(fx_path(&f, "none.gz"), "", 0);
  expect(fx_path(&f, "none.gz"), 0);
  fx_leave(&f);
}

static void write_parts(const char *path, pz_pool *pool, int64_t part) {
  pz_error err = {0};
  pz_gzip_out *g;
  assert_int_equal(pz_gzip_create(path, pool, &g, &err), PZ_OK);
  for (int64_t at = 0; at < N; at += part)
    assert_int_equal(pz_gzip_write(g, data + at, at + part < N ? part : N - at, &err), PZ_OK);
  assert_int_equal(pz_gzip_finish(g, &err), PZ_OK);
  pz_gzip_free(g);
}

static void written(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_error err = {0};
  pz_gzip_out *g;
  size_t size = 0, first_size;
  fill();
  write_parts(fx_path(&f, "w.gz"), NULL, N);
  char *first = fx_file(fx_path(&f, "w.gz"), &first_size);
  for (int threads = 1; threads <= 3; threads++) {
    pz_pool *pool;
    assert_int_equal(pz_pool_new(threads, false, &pool, &err), PZ_OK);
    for (int64_t part = 1000; part <= N; part *= 17) {
      write_parts(fx_path(&f, "w.gz"), pool, part);
      expect(fx_path(&f, "w.gz"), N);
      gzFile z = gzopen(fx_path(&f, "w.gz"), "rb"); /* as zlib sees it */
      assert_int_equal(gzread(z, got, N + 1), N);
      assert_memory_equal(got, data, N);
      assert_int_equal(gzclose(z), Z_OK);
      char *bytes = fx_file(fx_path(&f, "w.gz"), &size);
      assert_int_equal(size, first_size);
      assert_memory_equal(bytes, first, size);
      free(bytes);
    }
    pz_pool_free(pool);
  }
  free(first);
  assert_true((int64_t)size <= pz_gzip_most(N));
  assert_int_equal(pz_gzip_create(fx_path(&f, "no/w.gz"), NULL, &g, &err), PZ_ERROR_OUTPUT);
  assert_null(g);
  fx_leave(&f);
}

static void damaged(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_error err;
  int64_t n;
  size_t size;
  fill();
  append_member(fx_path(&f, "small.gz"), data, 2000);
  char *bytes = fx_file(fx_path(&f, "small.gz"), &size);
  for (size_t cut = 2; cut < size; cut++) { /* never the whole content without a word */
    unlink(fx_path(&f, "cut.gz"));
    append(fx_path(&f, "cut.gz"), bytes, cut);
    assert_int_equal(read_all(fx_path(&f, "cut.gz"), 4096, &n, &err), PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, "truncated"));
  }
  for (size_t at = 2; at < size;
       at++) { /* the header's time, flags and system may change without harm to the content */
    bytes[at] ^= 0x10;
    unlink(fx_path(&f, "bad.gz"));
    append(fx_path(&f, "bad.gz"), bytes, size);
    if (read_all(fx_path(&f, "bad.gz"), 4096, &n, &err) == PZ_OK) {
      assert_true(at < 10);
      assert_int_equal(n, 2000);
      assert_memory_equal(got, data, 2000);
    }
    bytes[at] ^= 0x10;
  }
  free(bytes);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kinds), cmocka_unit_test(written),
                                     cmocka_unit_test(damaged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
