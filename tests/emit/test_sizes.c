/* Sizes that are handed to kernels when they run: calls that differ in nothing else share a kernel, and each step has its own sizes. */
#include "unit.h"

#include "base/file.h"
#include "emit/emit.h"
#include "kernels/conv_bf16x2/shape.h"
#include "plan/shape_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION "pz_conv_bf16x2"

typedef struct two_calls {
  pz_plan plan;
  pz_step step;
} two_calls;

static pz_conv_bf16x2_shape layer(int32_t rows, int32_t width) {
  const pz_view v = {.n = 1,
                     .c = 16,
                     .d = 8,
                     .h = rows,
                     .w = width,
                     .block = 16,
                     .stride_n = 4096 * rows,
                     .stride_c = 4095,
                     .stride_d = 512 * rows,
                     .stride_h = 640,
                     .stride_w = 16};
  return (pz_conv_bf16x2_shape){
      .conv = {.in = v, .out = v}, .m = 1, .rows = rows, .planes = 1, .by_row = 1, .step = 1, .slots = 4};
}

static void add(two_calls *t, const pz_conv_bf16x2_shape *shape, uint32_t ways) {
  pz_builder b = {.plan = &t->plan, .step = &t->step};
  pz_text text = {0};
  const pz_arg args[] = {{.name = "in", .at = {.space = PZ_SPACE_ARENA}}};
  pz_text_conv_bf16x2(&text, shape);
  assert_int_equal(pz_add_call(&b, "kernels/conv_bf16x2/bf16x2.h", FUNCTION, &text, args, 1, NULL), PZ_OK);
  pz_call_ways(&b, "PZ_BF16X2_WAYS", ways);
}

static two_calls *begin(void) {
  two_calls *t = calloc(1, sizeof *t);
  t->plan.arena = pz_arena_new();
  t->plan.target.block = 16;
  t->plan.steps = &t->step, t->plan.n_steps = 1;
  return t;
}
static void end(two_calls *t) {
  pz_arena_free(t->plan.arena);
  free(t);
}

static int32_t kernels_of(two_calls *t) {
  pz_instances instances;
  assert_int_equal(pz_emit_instances(&t->plan, t->plan.arena, &instances, NULL), PZ_OK);
  return instances.count;
}

static void sizes_are_no_constants(void **state) {
  (void)state;
  two_calls *t = begin();
  const pz_conv_bf16x2_shape shape = layer(24, 160);
  add(t, &shape, 1);
  const pz_call *call = t->step.calls;
  const char *in =
      ".in = {sizes[0], 16, sizes[1], sizes[2], 160, 16, {sizes[3], sizes[4], sizes[5]}, "
      "{sizes[6], sizes[7], sizes[8]}, sizes[9], sizes[10], sizes[11], 640, 16, 0}, .out = {sizes[12],";
  if (!strstr(call->shape, in)) fail_msg("%s", call->shape);
  const int64_t all[] = {1, 8, 24, 0, 0, 0, 0, 0, 0, 24 * 4096, 4095, 24 * 512};
  assert_int_equal(call->n_sizes, 2 * 12 + 3 + 1);
  for (int i = 0; i < 12; i++) {
    assert_int_equal(call->sizes[i], all[i]);
    assert_int_equal(call->sizes[12 + i], all[i]);
  }
  assert_int_equal(call->sizes[24], 24);
  assert_non_null(strstr(call->shape, ".rows = sizes[24], .planes = 1"));
  assert_null(strchr(call->shape, '<'));
  end(t);
}

static void layers_that_differ_in_them_share_a_kernel(void **state) {
  (void)state;
  const pz_conv_bf16x2_shape long_one = layer(24, 160), short_one = layer(3, 160), narrow = layer(24, 80);
  const struct {
    const pz_conv_bf16x2_shape *other;
    uint32_t ways;
    int32_t kernels;
  } cases[] = {{&long_one, 1, 1}, {&short_one, 1, 1}, {&narrow, 1, 2}, {&short_one, 3, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    two_calls *t = begin();
    add(t, &long_one, 1), add(t, cases[i].other, cases[i].ways);
    assert_int_equal(kernels_of(t), cases[i].kernels);
    end(t);
  }
}

static void a_shape_of_constants_has_none(void **state) {
  (void)state;
  two_calls *t = begin();
  pz_builder b = {.plan = &t->plan, .step = &t->step};
  const pz_storage s = {
      .view = {.n = 1, .c = 16, .d = 2, .h = 3, .w = 4, .block = 16, .border_lo = {1, 0, 0}}};
  assert_int_equal(pz_add_border_call(&b, &s, NULL), PZ_OK);
  assert_int_equal(t->step.calls->n_sizes, 0);
  assert_non_null(strstr(t->step.calls->shape, "1, 16, 2, 3, 4, 16, {1, 0, 0}"));
  end(t);
}

static void kernels_are_given_theirs(void **state) {
  (void)state;
  two_calls *t = begin();
  const pz_conv_bf16x2_shape shape = layer(24, 160);
  add(t, &shape, 1);
  t->step.calls->functions = "PZ_CONV_BF16X2_FUNCTIONS";
  char path[] = "/tmp/pznet-test-XXXXXX", *text;
  size_t size;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  pz_code *code = pz_code_new();
  pz_emit_kernel(code, t->step.calls, "77");
  assert_int_equal(pz_code_write(code, path, NULL), PZ_OK);
  assert_int_equal(pz_file_read(t->plan.arena, path, 1 << 20, &text, &size, NULL), PZ_OK);
  unlink(path);
  static const char *const lines[] = {
      "PZ_INLINE pz_conv_bf16x2_shape shape_77(const int64_t *sizes) {\n  return "
      "(pz_conv_bf16x2_shape){.conv",
      "\nPZ_CONV_BF16X2_FUNCTIONS(shape_77)\n",
      "void k77_conv_bf16x2(const float *in, const int64_t *sizes, int32_t worker, int32_t workers) {\n",
      "pz_conv_bf16x2(shape_77(sizes), shape_77_functions, sizes, in, worker, workers);"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (!strstr(text, lines[i])) fail_msg("'%s' is not in\n%s", lines[i], text);
  end(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_no_constants),
      cmocka_unit_test(layers_that_differ_in_them_share_a_kernel),
      cmocka_unit_test(a_shape_of_constants_has_none),
      cmocka_unit_test(kernels_are_given_theirs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
