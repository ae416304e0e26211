/* A file at addresses: what is fetched is right, little is kept, and a file that is cut is a failure and no signal. */
#include "unit.h"
#include "base/view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 300001 };
#ifdef __SANITIZE_ADDRESS__
enum { KINDS = 1 }; /* the sanitizer itself does not run within the limit */
#else
enum { KINDS = 2 };
#endif

static char path[] = "/tmp/pznet-test-XXXXXX";

static uint8_t byte(uint64_t i) { return (uint8_t)(i * 31 + i / 253 + 1); }

static int set_up(void **state) {
  (void)state;
  const int fd = mkstemp(path);
  uint8_t *data = malloc(BYTES);
  for (uint64_t i = 0; i < BYTES; i++) data[i] = byte(i);
  const bool good = fd >= 0 && write(fd, data, BYTES) == BYTES;
  free(data);
  close(fd);
  return good ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  return unlink(path);
}

static pz_view opened(void) {
  pz_view v;
  pz_error err = {0};
  if (pz_view_open(path, &v, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(v.size, BYTES);
  return v;
}

static void expect(const pz_view *v, uint64_t at, uint64_t size) {
  for (uint64_t i = at; i < at + size; i++)
    if (v->data[i] != byte(i)) fail_msg("byte %llu", (unsigned long long)i);
}

/* Requests of all sizes at all places, with all kept and with as good as nothing kept. */
static void walk(pz_view *v) {
  uint8_t copy[5000];
  for (uint64_t n = 0, at = 0; n < 2000; n++, at = (at * 7 + 12345) % BYTES) {
    const uint64_t left = BYTES - at, size = n * n % 5000 < left ? n * n % 5000 : left;
    pz_view_forget(v);
    assert_true(pz_view_fetch(v, at, size));
    expect(v, at, size);
    assert_true(v->pages * v->page <= v->most + 5000 + 2 * v->page);
    assert_true(pz_view_read(v, at, size, copy));
    for (uint64_t i = 0; i < size; i++) assert_int_equal(copy[i], byte(at + i));
  }
}

static void bytes(void **state) {
  (void)state;
  static const uint64_t most[] = {1, 20000, 1 << 24};
  for (int i = 0; i < 3; i++) {
    pz_view v = opened();
    v.most = most[i];
    walk(&v);
    pz_view_close(&v);
  }
}

static void outside(void **state) {
  (void)state;
  pz_view v = opened();
  uint8_t copy[8];
  static const uint64_t wrong[][2] = {{BYTES, 1},      {BYTES - 1, 2},           {0, BYTES + 1},
                                      {UINT64_MAX, 1}, {UINT64_MAX, UINT64_MAX}, {1, UINT64_MAX}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(pz_view_fetch(&v, wrong[i][0], wrong[i][1]));
    assert_false(pz_view_read(&v, wrong[i][0], wrong[i][1], copy));
  }
  assert_true(pz_view_fetch(&v, BYTES, 0) && pz_view_fetch(&v, 0, BYTES) && !v.fault);
  pz_view_close(&v);
}

static void cut(void **state) {
  (void)state;
  for (int kept = 0; kept < 2; kept++) {
    pz_view v = opened();
    pz_error err = {0};
    v.most = kept ? 1 << 20 : 1;
    assert_true(pz_view_fetch(&v, 250000, 100));
    assert_int_equal(truncate(path, 200000), 0);
    pz_view_forget(&v);
    assert_true(pz_view_fetch(&v, 100, 100));
    if (kept) expect(&v, 250000, 100); /* what was read is there */
    assert_false(pz_view_fetch(&v, 199999, 2));
    assert_int_equal(v.fault, PZ_VIEW_CUT);
    assert_false(pz_view_fetch(&v, 50000, 1)); /* nothing more of such a file */
    assert_int_equal(pz_view_fail(&v, path, &err), PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, "was cut while it was read"));
    pz_view_close(&v);
    unlink(path);
    strcpy(path, "/tmp/pznet-test-XXXXXX");
    assert_int_equal(set_up(NULL), 0);
  }
}

/* Far more than there is memory for; also where the system counts all memory that could be written to. */
static void large(void **state) {
  (void)state;
  struct rlimit old, low;
  assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
  for (int guarded = 0; guarded < KINDS; guarded++) {
    const int fd = open(path, O_WRONLY);
    assert_true(ftruncate(fd, (off_t)1 << 38) == 0 && pwrite(fd, "end", 3, ((off_t)1 << 38) - 3) == 3);
    close(fd);
    low = old;
    low.rlim_cur = (rlim_t)1 << 30;
    if (guarded) assert_int_equal(setrlimit(RLIMIT_DATA, &low), 0);
    pz_view v;
    pz_error err = {0};
    if (pz_view_open(path, &v, &err) != PZ_OK) fail_msg("%s", err.message);
    assert_int_equal(v.guarded, guarded);
    v.most = guarded ? 1 : 1 << 20;
    for (uint64_t at = 7; at + 4096 <= v.size; at += v.size / 1000) {
      pz_view_forget(&v);
      assert_true(pz_view_fetch(&v, at, 4096));
      assert_true(v.data[at + 4095] == (at + 4095 < BYTES ? byte(at + 4095) : 0));
    }
    assert_true(pz_view_fetch(&v, v.size - 3, 3));
    assert_memory_equal(v.data + v.size - 3, "end", 3);
    assert_false(pz_view_fetch(&v, 0, PZ_VIEW_REQUEST + 1));
    assert_int_equal(v.fault, 0);
    pz_view_close(&v);
    setrlimit(RLIMIT_DATA, &old);
    assert_int_equal(truncate(path, BYTES), 0);
  }
}

static void empty(void **state) {
  (void)state;
  assert_int_equal(truncate(path, 0), 0);
  pz_view v;
  assert_int_equal(pz_view_open(path, &v, NULL), PZ_OK);
  assert_true(pz_view_fetch(&v, 0, 0) && !pz_view_fetch(&v, 0, 1));
  pz_view_close(&v);
  pz_view_close(&v);
  assert_int_equal(pz_view_open("/tmp", &v, NULL), PZ_ERROR_INPUT);
  pz_view_close(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes), cmocka_unit_test(outside), cmocka_unit_test(cut),
      cmocka_unit_test(large), cmocka_unit_test(empty),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
