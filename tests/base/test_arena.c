#include "unit.h"
#include "base/arena.h"
#include "fail_alloc.h"
#include <stdlib.h>
#include <string.h>

static bool is_zero(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i]) return false;
  return true;
}

/* Seeded sizes around the chunk sizes; every block is filled with its own byte, so that an overlap or a block that is
 * not zeroed is seen. */
static void blocks_are_apart_aligned_and_zero(void **state) {
  (void)state;
  enum { N = 400 };
  static unsigned char *block[N];
  static size_t size[N];
  pz_arena *arena = pz_arena_new();
  srand(1);
  for (int i = 0; i < N; i++) {
    size[i] = i % 10 == 9 ? (size_t)rand() % 300000 : (size_t)rand() % 700;
    block[i] = pz_arena_alloc(arena, size[i], 1);
    assert_non_null(block[i]);
    assert_int_equal((uintptr_t)block[i] % 64, 0);
    assert_true(is_zero(block[i], size[i]));
    memset(block[i], i % 255 + 1, size[i]);
  }
  for (int i = 0; i < N; i++)
    for (size_t k = 0; k < size[i]; k++)
      if (block[i][k] != i % 255 + 1) fail_msg("block %d, byte %zu", i, k);
  pz_arena_free(arena);
}

static void sizes_that_do_not_fit(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  assert_null(pz_arena_alloc(arena, SIZE_MAX / 2, 3));
  assert_null(pz_arena_alloc(arena, SIZE_MAX, 1));
  assert_null(pz_arena_alloc(arena, PTRDIFF_MAX, 1));
  assert_non_null(pz_arena_alloc(arena, 0, 8));
  assert_non_null(pz_arena_alloc(arena, SIZE_MAX, 0));
  pz_arena_free(arena);
  pz_arena_free(NULL);
}

static void large_blocks_are_not_touched(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  char *p = pz_arena_alloc(arena, (size_t)1 << 33, 1); /* 8 GiB: would not be there if it were written */
  if (p) assert_int_equal(p[((size_t)1 << 33) - 1], 0);
  pz_arena_free(arena);
}

static void strings(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  assert_string_equal(pz_arena_strdup(arena, "volume"), "volume");
  assert_string_equal(pz_arena_strndup(arena, "volume", 3), "vol");
  assert_string_equal(pz_arena_strndup(arena, "vol\0ume", 6), "vol");
  assert_string_equal(pz_arena_printf(arena, "%d-%s", 5, "x"), "5-x");
  pz_arena_free(arena);
}

static void text_grows(void **state) {
  (void)state;
  pz_text text = {0};
  for (int i = 0; i < 1000; i++) {
    pz_text_printf(&text, "%d", i % 10);
    pz_text_append(&text, "ab");
    pz_text_append_bytes(&text, "\0c", 2);
  }
  assert_false(text.failed);
  assert_int_equal(text.size, 5000);
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(text.data[5 * i], '0' + i % 10);
    assert_memory_equal(text.data + 5 * i + 1, "ab\0c", 4);
  }
  assert_int_equal(text.data[5000], 0);
  pz_text_free(&text);
  assert_null(text.data);
  pz_text_append(&text, "");
  assert_string_equal(text.data, "");
  pz_text_free(&text);
}

static bool use_arena(pz_arena *arena) {
  return pz_arena_alloc(arena, 10, 10) && pz_arena_alloc(arena, 1, 50000) && pz_arena_strdup(arena, "s") &&
         pz_arena_printf(arena, "%05000d", 1) && pz_arena_alloc(arena, 1, 20000);
}

static void arena_without_memory(void **state) {
  (void)state;
  PZ_FAIL_EACH_ALLOC() {
    pz_arena *arena = pz_arena_new();
    bool ok = arena && use_arena(arena);
    bool failed = pz_fail_alloc_end();
    assert_int_equal(ok, !failed);
    if (arena) assert_true(use_arena(arena)); /* a failure leaves it usable */
    pz_arena_free(arena);
    if (!failed) assert_true(pz_fail_alloc_count() >= 4);
  }
}

static void text_without_memory(void **state) {
  (void)state;
  PZ_FAIL_EACH_ALLOC() {
    pz_text text = {0};
    for (int i = 0; i < 300; i++) pz_text_printf(&text, "%04d", i);
    bool failed = pz_fail_alloc_end();
    pz_text_append(&text, "end");
    assert_int_equal(text.failed, failed);
    if (!failed) assert_int_equal(text.size, 1203);
    pz_text_free(&text);
  }
}

static void checked_arithmetic(void **state) {
  (void)state;
  int64_t x;
  assert_true(pz_mul_i64(INT64_MAX / 2, 2, &x));
  assert_false(pz_mul_i64(INT64_MAX / 2 + 1, 2, &x));
  assert_true(pz_add_i64(INT64_MAX, 0, &x));
  assert_false(pz_add_i64(INT64_MAX, 1, &x));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_apart_aligned_and_zero),
      cmocka_unit_test(sizes_that_do_not_fit),
      cmocka_unit_test(large_blocks_are_not_touched),
      cmocka_unit_test(strings),
      cmocka_unit_test(text_grows),
      cmocka_unit_test(arena_without_memory),
      cmocka_unit_test(text_without_memory),
      cmocka_unit_test(checked_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
