/* Masks of ways (kernels/ways.h) in front of the headers of kernels: what the file's kernels take together, and none where one of them might take any. */
#include "unit.h"

#include "base/file.h"
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIRECT "kernels/conv_direct/direct.h"

static pz_call call(const char *header, const char *ways, uint32_t mask) {
  pz_call c = {.header = header, .function = "pz_conv_direct", .shape = ""};
  if (ways) c.ways[c.n_ways++] = (pz_call_way){ways, mask};
  return c;
}

/* What stands in front of so many kernels, in the arena. */
static char *headers_of(pz_arena *arena, const pz_call *calls, int32_t n) {
  pz_instance kernels[4];
  pz_plan plan = {.target = {.block = 16}};
  pz_error err = {0};
  char path[] = "/tmp/pznet-test-XXXXXX", *text;
  size_t size;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  for (int32_t i = 0; i < n; i++) kernels[i] = (pz_instance){.call = &calls[i]};
  pz_code *code = pz_code_new();
  pz_emit_headers(code, &plan, kernels, n);
  assert_int_equal(pz_code_write(code, path, &err), PZ_OK);
  assert_int_equal(pz_file_read(arena, path, 1 << 20, &text, &size, &err), PZ_OK);
  unlink(path);
  return text;
}

static void check(const pz_call *calls, int32_t n, const char *line, bool is_there) {
  pz_arena *arena = pz_arena_new();
  const char *text = headers_of(arena, calls, n);
  if ((strstr(text, line) != NULL) != is_there)
    fail_msg("'%s' %s in\n%s", line, is_there ? "is not" : "is", text);
  pz_arena_free(arena);
}

static void kernels_of_a_file_have_one_mask(void **state) {
  (void)state;
  const pz_call two[] = {call(DIRECT, "PZ_CONV_WAYS", 5), call(DIRECT, "PZ_CONV_WAYS", 12)};
  check(two, 1, "#define PZ_CONV_WAYS 5u\n", true);
  check(two, 2, "#define PZ_CONV_WAYS 13u\n", true);
}

/* It is in front of the headers, or they would not see it. */
static void it_is_in_front_of_the_headers(void **state) {
  (void)state;
  const pz_call one = call(DIRECT, "PZ_CONV_WAYS", 5);
  pz_arena *arena = pz_arena_new();
  const char *text = headers_of(arena, &one, 1);
  assert_true(strstr(text, "PZ_CONV_WAYS") < strstr(text, "#include"));
  pz_arena_free(arena);
}

static void kernels_without_the_code_do_not_count(void **state) {
  (void)state;
  const pz_call calls[] = {call("kernels/copy/border.h", NULL, 0), call(DIRECT, "PZ_CONV_WAYS", 5)};
  check(calls, 2, "#define PZ_CONV_WAYS 5u\n", true);
}

/* The one-dimensional filtering includes the direct convolution's code, and tells nothing; nor is known what a header has that is not there. */
static void whoever_may_take_any_way_ends_the_mask(void **state) {
  (void)state;
  static const char *const others[] = {"kernels/winograd_1d/winograd_1d_h.h",
                                       "kernels/conv_inner_pairs/conv_inner_pairs.h", "kernels/none.h",
                                       DIRECT};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const pz_call behind[] = {call(DIRECT, "PZ_CONV_WAYS", 5), call(others[i], NULL, 0)},
                  before[] = {call(others[i], NULL, 0), call(DIRECT, "PZ_CONV_WAYS", 5)};
    check(behind, 2, "PZ_CONV_WAYS", false);
    check(before, 2, "PZ_CONV_WAYS", false);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_of_a_file_have_one_mask),
      cmocka_unit_test(it_is_in_front_of_the_headers),
      cmocka_unit_test(kernels_without_the_code_do_not_count),
      cmocka_unit_test(whoever_may_take_any_way_ends_the_mask),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
