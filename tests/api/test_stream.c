/* pz_net_stream: the planes of a volume, some at a time, beside the network compiled for all of it. */
#include "pznet/pznet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { DEPTH = 10, SIDE = 8, PLANES = 3, REACH = 2, WIDE = SIDE + 2 * REACH };

static char folder[] = "/tmp/pznet-test-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[4][256];
  static int n;
  char *to = path[n++ % 4];
  snprintf(to, sizeof path[0], "%s/%s", folder, name);
  return to;
}

#define CONV(name, of, maps)                                                                                 \
  "layer { name: \"" name "\" type: \"Convolution\" bottom: \"" of "\" top: \"" name                         \
  "\" convolution_param {"                                                                                   \
  " num_output: " maps " kernel_size: 3 pad: 1 axis: 1 weight_filler { type: \"xavier\" }"                   \
  " bias_filler { type: \"constant\" value: 0.2 } } }\n"

/* Layers that reach along y and x alone. */
#define FLAT(name, of, maps)                                                                                 \
  "layer { name: \"" name "\" type: \"Convolution\" bottom: \"" of "\" top: \"" name                         \
  "\" convolution_param {"                                                                                   \
  " num_output: " maps " kernel_size: 1 kernel_size: 3 kernel_size: 3 pad: 0 pad: 1 pad: 1 axis: 1"          \
  " weight_filler { type: \"xavier\" } bias_filler { type: \"constant\" value: 0.2 } } }\n"
#define RELU "layer { name: \"r\" type: \"ReLU\" bottom: \"a\" top: \"a\" }\n"

static const char deep[] = CONV("a", "x", "4") RELU CONV("y", "a", "2"),
                  flat[] = FLAT("a", "x", "4") RELU FLAT("y", "a", "2");

static pz_net *compiled(const char *name, const char *layers, const pz_compile_options *more) {
  const char *model = in_folder("net.prototxt"), *file = in_folder(name);
  pz_compile_options o = *more;
  pz_net *net;
  FILE *f = fopen(model, "w");
  assert_non_null(f);
  fprintf(f,
          "name: \"n\"\nlayer { name: \"x\" type: \"Input\" top: \"x\" input_param { shape { dim: 1 dim: 1 "
          "dim: %d dim: %d dim: %d } } }\n%s",
          DEPTH, SIDE, SIDE, layers);
  assert_int_equal(fclose(f), 0);
  o.weights = "init:3", o.effort = "estimate", o.tuning = "none";
  if (pz_compile(model, file, &o, NULL) != PZ_OK || pz_net_open(file, NULL, &net) != PZ_OK)
    fail_msg("%s", pz_last_message());
  unlink(model), unlink(file);
  return net;
}

static float volume[DEPTH][SIDE][SIDE], whole[2][DEPTH][SIDE][SIDE];

static float voxel(int64_t z, int64_t y, int64_t x) {
  const bool inside = z >= 0 && z < DEPTH && y >= 0 && y < SIDE && x >= 0 && x < SIDE;
  return inside ? volume[z][y][x] : 0;
}

static void stream(pz_net *net) {
  static float planes[PLANES][WIDE][WIDE], results[2][PLANES][SIDE][SIDE];
  const int64_t size[3] = {DEPTH, SIDE, SIDE};
  int64_t seen = 0;
  for (int64_t at = 0; at - REACH < DEPTH; at += PLANES) {
    for (int64_t z = 0; z < PLANES; z++)
      for (int64_t y = 0; y < WIDE; y++)
        for (int64_t x = 0; x < WIDE; x++) planes[z][y][x] = voxel(at + z, y - REACH, x - REACH);
    assert_int_equal(pz_net_stream(net, (const int64_t[3]){at, 0, 0}, size, planes, results), PZ_OK);
    for (int64_t c = 0; c < 2; c++)
      for (int64_t z = 0; z < PLANES; z++)
        for (int64_t y = 0; y < SIDE; y++)
          for (int64_t x = 0; x < SIDE; x++) {
            const int64_t own = at + z - REACH;
            if (own < 0 || own >= DEPTH) continue;
            assert_true(fabsf(results[c][z][y][x] - whole[c][own][y][x]) < 1e-5f);
            seen++;
          }
  }
  assert_int_equal(seen, 2 * DEPTH * SIDE * SIDE);
}

static void test_stream(void **state) {
  (void)state;
  pz_net *all = compiled("whole.so", deep, &(const pz_compile_options)PZ_COMPILE_OPTIONS),
         *exact =
             compiled("exact.so", deep, &(const pz_compile_options){.tiling = "exact", .patch = "3,8,8"});
  for (int i = 0; i < DEPTH * SIDE * SIDE; i++) (&volume[0][0][0])[i] = (float)(i * 7919 % 1000) / 1000;
  assert_int_equal(pz_net_run(all, (const void *const[]){volume}, (void *const[]){whole}), PZ_OK);
  stream(exact);
  pz_net_reset(exact);
  stream(exact);
  assert_int_equal(pz_net_stream(all, (const int64_t[3]){0}, (const int64_t[3]){1, 1, 1}, volume, whole),
                   PZ_ERROR_INPUT);
  assert_non_null(strstr(pz_last_message(), "was not compiled for exact tiles"));
  assert_int_equal(
      pz_net_stream(exact, (const int64_t[3]){-3, 0, 0}, (const int64_t[3]){1, 1, 1}, volume, whole),
      PZ_ERROR_USAGE);
  pz_net_close(all), pz_net_close(exact);
}

/* Without a state: any order. */
static void test_flat(void **state) {
  static float planes[PLANES][WIDE][WIDE], results[2][PLANES][SIDE][SIDE];
  const int64_t size[3] = {DEPTH, SIDE, SIDE};
  (void)state;
  pz_net *all = compiled("whole.so", flat, &(const pz_compile_options)PZ_COMPILE_OPTIONS),
         *exact =
             compiled("exact.so", flat, &(const pz_compile_options){.tiling = "exact", .patch = "3,8,8"});
  assert_int_equal(pz_net_run(all, (const void *const[]){volume}, (void *const[]){whole}), PZ_OK);
  for (int64_t at = DEPTH / PLANES * PLANES; at >= 0; at -= PLANES) {
    for (int64_t z = 0; z < PLANES; z++)
      for (int64_t y = 0; y < WIDE; y++)
        for (int64_t x = 0; x < WIDE; x++) planes[z][y][x] = voxel(at + z, y - REACH, x - REACH);
    assert_int_equal(pz_net_stream(exact, (const int64_t[3]){at, 0, 0}, size, planes, results), PZ_OK);
    for (int64_t c = 0; c < 2; c++)
      for (int64_t z = 0; z < PLANES && at + z < DEPTH; z++)
        for (int64_t y = 0; y < SIDE; y++)
          for (int64_t x = 0; x < SIDE; x++)
            assert_true(fabsf(results[c][z][y][x] - whole[c][at + z][y][x]) < 1e-5f);
  }
  pz_net_close(all), pz_net_close(exact);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stream), cmocka_unit_test(test_flat)};
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
