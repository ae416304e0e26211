/* crop with steps, gather, pad, depth_to_space, and moving tensors of more than five dimensions. */
#include "fixture.h"
#include <string.h>

static void crop_steps(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_CROP);
  fixture_input(&f, 0, SHAPE(2, 5), FLOATS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  f.node.attr.crop.offset[0] = 1, f.node.attr.crop.size[0] = 2, f.node.attr.crop.step[0] = -1;
  f.node.attr.crop.offset[1] = 0, f.node.attr.crop.size[1] = 3, f.node.attr.crop.step[1] = 2;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 3), DOUBLES(5, 7, 9, 0, 2, 4));
  fixture_end(&f);
}

static void gather(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_GATHER);
  fixture_input(&f, 0, SHAPE(2, 3, 2), FLOATS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  f.node.attr.gather = (pz_attr_gather){1, {4, (const int64_t[]){2, 0, 0, 1}}};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 4, 2), DOUBLES(4, 5, 0, 1, 0, 1, 2, 3, 10, 11, 6, 7, 6, 7, 8, 9));
  fixture_end(&f);
}

static void extend_case(pz_pad_kind kind, float value, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_PAD);
  fixture_input(&f, 0, SHAPE(2, 3), FLOATS(1, 2, 3, 4, 5, 6));
  f.node.attr.pad.kind = kind;
  f.node.attr.pad.value = value;
  f.node.attr.pad.lo[0] = 1;
  f.node.attr.pad.lo[1] = 2, f.node.attr.pad.hi[1] = 1;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(3, 6), expected);
  fixture_end(&f);
}

static void extends(void **state) {
  (void)state;
  extend_case(PZ_PAD_CONSTANT, 9, DOUBLES(9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 4, 5, 6, 9));
  extend_case(PZ_PAD_EDGE, 0, DOUBLES(1, 1, 1, 2, 3, 3, 1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6));
  extend_case(PZ_PAD_REFLECT, 0, DOUBLES(6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5));
  extend_case(PZ_PAD_WRAP, 0, DOUBLES(5, 6, 4, 5, 6, 4, 2, 3, 1, 2, 3, 1, 5, 6, 4, 5, 6, 4));
}

/* What ONNX's Tile does: more than one period. */
static void extend_tiles(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_PAD);
  fixture_input(&f, 0, SHAPE(1, 2), FLOATS(1, 2));
  f.node.attr.pad.kind = PZ_PAD_WRAP;
  f.node.attr.pad.hi[0] = 1, f.node.attr.pad.lo[1] = 3, f.node.attr.pad.hi[1] = 2;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 7), DOUBLES(2, 1, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 1, 2));
  fixture_end(&f);
}

/* Four channels and two blocks of 1x2 in a row: channel m of position w is 10*m + w. */
static void depth_to_space_case(bool columns_first, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_DEPTH_TO_SPACE);
  fixture_input(&f, 0, SHAPE(1, 4, 1, 2), FLOATS(0, 1, 10, 11, 20, 21, 30, 31));
  f.node.attr.depth_to_space.block[2] = 2;
  f.node.attr.depth_to_space.columns_first = columns_first;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 2, 1, 4), expected);
  fixture_end(&f);
}

static void depth_to_space(void **state) {
  (void)state;
  depth_to_space_case(true, DOUBLES(0, 10, 1, 11, 20, 30, 21, 31));
  depth_to_space_case(false, DOUBLES(0, 20, 1, 21, 10, 30, 11, 31));
}

/* Every element against the formula in graph.h, and back by the inverse. */
static void depth_to_space_is_its_definition(void **state) {
  (void)state;
  enum { N = 2, CHANNELS = 3, D = 2, H = 1, W = 3, B0 = 2, B1 = 3, B2 = 1, POINTS = B0 * B1 * B2 };
  enum { SIZE = N * CHANNELS * POINTS * D * H * W };
  float x[SIZE], back[SIZE];
  for (int i = 0; i < SIZE; i++) x[i] = (float)i;
  for (int columns_first = 0; columns_first < 2; columns_first++) {
    fixture f, g;
    fixture_begin(&f, PZ_OP_DEPTH_TO_SPACE);
    fixture_input(&f, 0, SHAPE(N, CHANNELS * POINTS, D, H, W), x);
    f.node.attr.depth_to_space = (pz_attr_depth_to_space){{B0, B1, B2}, columns_first, false};
    fixture_run(&f, 1);
    int at = 0;
    for (int n = 0; n < N; n++)
      for (int c = 0; c < CHANNELS; c++)
        for (int z = 0; z < D * B0; z++)
          for (int y = 0; y < H * B1; y++)
            for (int w = 0; w < W * B2; w++, at++) {
              int i = z % B0, j = y % B1, k = w % B2;
              int m =
                  columns_first ? ((c * B0 + i) * B1 + j) * B2 + k : ((i * B1 + j) * B2 + k) * CHANNELS + c;
              int from = (((n * CHANNELS * POINTS + m) * D + z / B0) * H + y / B1) * W + w / B2;
              assert_true(f.outputs[0][at] == from);
            }
    for (int i = 0; i < SIZE; i++) back[i] = (float)f.outputs[0][i];
    fixture_begin(&g, PZ_OP_DEPTH_TO_SPACE);
    fixture_input(&g, 0, SHAPE(N, CHANNELS, D * B0, H * B1, W * B2), back);
    g.node.attr.depth_to_space = (pz_attr_depth_to_space){{B0, B1, B2}, columns_first, true};
    fixture_run(&g, 1);
    for (int i = 0; i < SIZE; i++) assert_true(g.outputs[0][i] == x[i]);
    fixture_end(&g);
    fixture_end(&f);
  }
}

/* As exporters write a pixel shuffle: [1,1,2,2,1,2] -> order 0,1,4,2,5,3. */
static void permute_of_six(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_PERMUTE);
  fixture_input(&f, 0, SHAPE(1, 1, 2, 2, 1, 2), FLOATS(0, 1, 2, 3, 4, 5, 6, 7));
  memcpy(f.node.attr.permute.order, (const int32_t[]){0, 1, 4, 2, 5, 3}, 6 * sizeof(int32_t));
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 1, 2, 2, 2), DOUBLES(0, 2, 1, 3, 4, 6, 5, 7));
  fixture_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(crop_steps),     cmocka_unit_test(extends),
      cmocka_unit_test(extend_tiles),   cmocka_unit_test(depth_to_space),
      cmocka_unit_test(permute_of_six), cmocka_unit_test(depth_to_space_is_its_definition),
      cmocka_unit_test(gather),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
