/* Weights of several plans in one file: what lies where, block by block, and that the file has each block once. */
#include "unit.h"
#include "emit/shared_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 8 };

/* A plan with these blocks: each of `sizes` bytes, all `values`. */
static pz_plan plan_of(const int64_t *sizes, const char *values, int32_t n) {
  pz_plan p = {.arena = pz_arena_new()};
  p.weight_blocks = PZ_NEW(p.arena, int64_t, MOST);
  for (int32_t i = 0; i < n; i++)
    p.weight_blocks[p.n_weight_blocks++] = p.weight_bytes, p.weight_bytes += sizes[i];
  p.weights = malloc((size_t)p.weight_bytes + 1);
  assert_non_null(p.weights);
  for (int32_t i = 0; i < n; i++) memset(p.weights + p.weight_blocks[i], values[i], (size_t)sizes[i]);
  return p;
}

static void free_plan(pz_plan *p) {
  free(p->weights);
  pz_arena_free(p->arena);
}

static char path[] = "/tmp/pznet-test-XXXXXX";

static int begin(void **state) {
  (void)state;
  const int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}
static int end(void **state) {
  (void)state;
  return unlink(path);
}

static void assert_there(const pz_plan *p, const pz_weights_map *map) {
  static char file[1 << 16];
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  const size_t size = fread(file, 1, sizeof file, f);
  fclose(f);
  for (int64_t i = 0; i < p->weight_bytes; i++) {
    const int64_t at = pz_weights_mapped(map, i);
    assert_true(at >= 0 && at < (int64_t)size && file[at] == p->weights[i]);
    int32_t k = 0;
    while (k < map->n_read && (at < map->read[k].begin || at >= map->read[k].end)) k++;
    assert_true(k < map->n_read); /* what is read of the file covers it */
  }
}

static void equal_blocks_are_there_once(void **state) {
  (void)state;
  pz_shared_weights *shared;
  pz_error err = {0};
  pz_weights_map a, b, c;
  pz_plan first = plan_of((const int64_t[]){64, 128, 8192, 64, 0}, "abcad", 5),
          second = plan_of((const int64_t[]){128, 64, 192, 8192}, "bxyc", 4), none = plan_of(NULL, "", 0);
  assert_int_equal(pz_shared_weights_new(path, &shared, &err), PZ_OK);
  assert_int_equal(pz_shared_weights_add(shared, &first, &a, &err), PZ_OK);
  assert_int_equal(pz_shared_weights_bytes(shared), 64 + 128 + 8192);
  assert_int_equal(a.shared, 64); /* its own last one */
  assert_int_equal(pz_shared_weights_add(shared, &second, &b, &err), PZ_OK);
  assert_int_equal(pz_shared_weights_bytes(shared), 64 + 128 + 8192 + 64 + 192);
  assert_int_equal(b.shared, 128 + 8192);
  assert_int_equal(pz_shared_weights_add(shared, &none, &c, &err), PZ_OK);
  assert_true(c.n_read == 0 && c.shared == 0 && pz_weights_mapped(&c, 0) == 0);
  assert_there(&first, &a);
  assert_there(&second, &b);
  assert_int_equal(pz_weights_mapped(&b, 130), 64 + 128 + 8192 + 2);
  /* All of the second's is one stretch: gaps of less than a page are filled. */
  assert_int_equal(b.n_read, 1);
  assert_true(b.read[0].begin == 64 && b.read[0].end == 64 + 128 + 8192 + 64 + 192);
  pz_shared_weights_free(shared);
  free_plan(&first), free_plan(&second), free_plan(&none);
}

static void equal_bytes_of_other_size_are_another_block(void **state) {
  (void)state;
  pz_shared_weights *shared;
  pz_error err = {0};
  pz_weights_map a, b;
  pz_plan first = plan_of((const int64_t[]){64, 8192}, "aa", 2),
          second = plan_of((const int64_t[]){128}, "a", 1);
  assert_int_equal(pz_shared_weights_new(path, &shared, &err), PZ_OK);
  assert_int_equal(pz_shared_weights_add(shared, &first, &a, &err), PZ_OK);
  assert_int_equal(pz_shared_weights_add(shared, &second, &b, &err), PZ_OK);
  assert_true(a.shared == 0 && b.shared == 0);
  assert_true(b.n_read == 1 && b.read[0].begin == 64 + 8192 && b.read[0].end == 64 + 8192 + 128);
  pz_shared_weights_free(shared);
  free_plan(&first), free_plan(&second);
}

static void a_place_that_cannot_be_written_is_told(void **state) {
  (void)state;
  pz_shared_weights *shared;
  pz_error err = {0};
  assert_int_equal(pz_shared_weights_new("/nowhere/weights.bin", &shared, &err), PZ_ERROR_OUTPUT);
  assert_non_null(strstr(err.message, "/nowhere/weights.bin: cannot be written: "));
  pz_shared_weights_free(shared);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_blocks_are_there_once),
      cmocka_unit_test(equal_bytes_of_other_size_are_another_block),
      cmocka_unit_test(a_place_that_cannot_be_written_is_told),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
