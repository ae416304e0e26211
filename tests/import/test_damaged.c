/* Damaged files: cut at every length, with bytes changed. Whatever comes, the importer returns, says what is wrong in
 * one line, and leaks nothing (seen by a build with sanitizers). */
#include "fixture.h"

/* splitmix64 */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

typedef struct bytes {
  char *data;
  size_t size;
} bytes;

static bytes slurp(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be opened", path);
  bytes b = {malloc(1 << 20), 0};
  b.size = fread(b.data, 1, 1 << 20, f);
  fclose(f);
  return b;
}

/* At most 100000 weights: some damage asks for more than a test should take. */
static pz_status import_bounded(const char *prototxt, const char *weights) {
  pz_import_options options = {.weights = weights};
  pz_graph *g;
  pz_error err = {0};
  pz_status status = pz_caffe_import_within(prototxt, &options, 100000, &g, &err);
  if (status == PZ_OK) pz_graph_free(g);
  else {
    assert_null(g);
    assert_int_equal(err.status, status);
    assert_true(err.message[0] && !strchr(err.message, '\n'));
  }
  return status;
}

typedef pz_status (*importer)(const char *damaged);
static pz_status import_prototxt(const char *damaged) { return import_bounded(damaged, "init:1"); }

static char net[256];
static pz_status import_weights(const char *damaged) { return import_bounded(net, damaged); }

/* Every `step`-th length. */
static void cut(bytes b, importer import, size_t step) {
  for (size_t size = 0; size < b.size; size += step) import(write_file("damaged", b.data, size));
}

static void flip(bytes b, importer import, int rounds, uint64_t seed) {
  char *copy = malloc(b.size);
  for (int i = 0; i < rounds; i++) {
    memcpy(copy, b.data, b.size);
    for (uint64_t n = 1 + next(&seed) % 4; n; n--) copy[next(&seed) % b.size] = (char)next(&seed);
    import(write_file("damaged", copy, b.size));
  }
  free(copy);
}

static void damaged_prototxts(void **state) {
  (void)state;
  static const char *const names[] = {"layers", "v1", "rules", "versions", "syntax", "volume"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[256];
    snprintf(path, sizeof path, "tests/import/data/%s.prototxt", names[i]);
    bytes b = slurp(path);
    assert_int_equal(import_prototxt(write_file("damaged", b.data, b.size)), PZ_OK);
    cut(b, import_prototxt, i ? 1 : 7);
    flip(b, import_prototxt, 300, i);
    free(b.data);
  }
}

#define NET                                                                                                  \
  "input: 'x' input_shape { dim: [1, 2, 5, 5] }\n"                                                           \
  "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 3 "            \
  "kernel_size: 2 } }\n"                                                                                     \
  "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'b' }"
static const float values[24] = {1, 2, 3};

static void write_net(void) { snprintf(net, sizeof net, "%s", write_file("net.prototxt", NET, strlen(NET))); }

static const char *write_binary(blob_style style) {
  pz_text model = {0}, c = {0}, b = {0};
  static const int64_t weight[4] = {3, 2, 2, 2}, vector[1] = {3}, one[1] = {1};
  put_bytes(&c, 1, "c", 1);
  put_blob(&c, 7, style, 4, weight, values, 24);
  put_blob(&c, 7, style, 1, vector, values, 3);
  put_message(&model, 100, &c);
  put_bytes(&b, 1, "b", 1);
  put_blob(&b, 7, style, 1, vector, values, 3);
  put_blob(&b, 7, style, 1, vector, values, 3);
  put_blob(&b, 7, style, 1, one, values, 1);
  put_message(&model, 100, &b);
  return write_text("whole", &model);
}

static void damaged_caffemodels(void **state) {
  (void)state;
  static const blob_style styles[] = {PACKED, UNPACKED, DOUBLES, UNPACKED_SHAPE};
  write_net();
  for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
    bytes b = slurp(write_binary(styles[i]));
    assert_int_equal(import_weights(path_of("whole")), PZ_OK);
    for (size_t size = 0; size < b.size; size++)
      assert_int_equal(import_weights(write_file("damaged", b.data, size)), PZ_ERROR_INPUT);
    flip(b, import_weights, 2000, 100 + i);
    free(b.data);
  }
}

static void damaged_h5(void **state) {
  (void)state;
  static const h5_blob blobs[] = {{"c/0", 4, {3, 2, 2, 2}, values},
                                  {"c/1", 1, {3}, values},
                                  {"b/0", 1, {3}, values},
                                  {"b/1", 1, {3}, values},
                                  {"b/2", 1, {1}, values}};
  write_net();
  bytes b = slurp(write_h5("whole.h5", blobs, 5));
  assert_int_equal(import_weights(path_of("whole.h5")), PZ_OK);
  for (size_t size = 0; size < b.size; size += 97)
    assert_int_equal(import_weights(write_file("damaged", b.data, size)), PZ_ERROR_INPUT);
  flip(b, import_weights, 400, 200);
  free(b.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_prototxts),
      cmocka_unit_test(damaged_caffemodels),
      cmocka_unit_test(damaged_h5),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
