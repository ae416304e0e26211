/* Damaged ONNX models: cut at every length, with bytes changed. Whatever comes, the importer returns, says what is wrong in
 * one line, and leaks nothing (seen by a build with sanitizers). And every allocation fails in turn. */
#include "fail_alloc.h"
#include "onnx_fixture.h"

static const char *const models[] = {"convolutions", "pools",     "normalisations", "functions", "arithmetic",
                                     "moving",       "gathering", "shapes",         "resizing",  "products",
                                     "constants",    "quantised", "opset_7",        "folding",   "exact",
                                     "labels",       "training",  "sums",           "boxes"};
enum { MODELS = sizeof models / sizeof *models };

/* splitmix64 */
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static char bytes[1 << 16];
static size_t slurp(const char *name) {
  char path[256];
  snprintf(path, sizeof path, "tests/import/data/onnx/%s.onnx", name);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be opened", path);
  const size_t size = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  assert_true(size > 0 && size < sizeof bytes);
  return size;
}

static bool import(const char *data, size_t size) {
  pz_graph *g;
  pz_error err = {0};
  const char *path = write_file("damaged.onnx", data, size);
  const pz_status status = pz_onnx_import_within(path, NULL, 100000, &g, &err);
  if (status == PZ_OK) assert_int_equal(pz_graph_verify(g, &err), PZ_OK);
  else assert_true(!g && err.status == status && err.message[0] && !strchr(err.message, '\n'));
  pz_graph_free(g);
  return status == PZ_OK;
}

static void cut(void **state) {
  (void)state;
  for (int i = 0; i < MODELS; i++) {
    const size_t size = slurp(models[i]);
    const size_t step = size > 1500 ? size / 500 : 1;
    assert_true(import(bytes, size));
    for (size_t n = 0; n < size; n += step) import(bytes, n);
  }
}

static void flipped(void **state) {
  (void)state;
  uint64_t seed = 1;
  for (int i = 0; i < MODELS; i++) {
    const size_t size = slurp(models[i]);
    char *copy = malloc(size);
    for (int round = 0; round < 400; round++) {
      memcpy(copy, bytes, size);
      for (uint64_t n = 1 + next(&seed) % 3; n; n--) copy[next(&seed) % size] = (char)next(&seed);
      import(copy, size);
    }
    free(copy);
  }
}

/* ---- one node of an operator that is not known: nothing but it is listed, for all else in these models is supported ---- */

/* The operator of a node, its field's tag and size in front, becomes another; counts what was refused for it. */
static int spoil(const char *model, const char *op, size_t size) {
  char wanted[80];
  const size_t length = strlen(op);
  int refused = 0;
  snprintf(wanted, sizeof wanted, "is not supported: ~%s ('", op + 1);
  for (size_t at = 2; at + length <= size; at++) {
    if (bytes[at - 2] != 0x22 || bytes[at - 1] != (char)length || memcmp(bytes + at, op, length)) continue;
    pz_graph *g;
    pz_error err = {0};
    bytes[at] = '~';
    const pz_status status =
        pz_onnx_import_within(write_file("spoilt.onnx", bytes, size), NULL, 100000, &g, &err);
    bytes[at] = op[0];
    pz_graph_free(g);
    if (status != PZ_OK && !strstr(err.message, wanted)) fail_msg("%s, a %s: %s", model, op, err.message);
    refused += status != PZ_OK;
  }
  return refused;
}

static void one_unknown(void **state) {
  (void)state;
  static const char *const ops[] = {
#define OPERATOR(op, since, min_in, max_in, types, build) #op,
#include "import/onnx/operators.inc"
#undef OPERATOR
  };
  int refused = 0;
  for (int i = 0; i < MODELS; i++) {
    const size_t size = slurp(models[i]);
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) refused += spoil(models[i], ops[k], size);
  }
  assert_true(refused > 400);
}

static void noise(void **state) {
  (void)state;
  uint64_t seed = 2;
  char random[256];
  for (int round = 0; round < 500; round++) {
    const size_t size = next(&seed) % sizeof random;
    for (size_t i = 0; i < size; i++) random[i] = (char)next(&seed);
    import(random, size);
  }
}

static void fail_each(const char *path, pz_status expected) {
  PZ_FAIL_EACH_ALLOC() {
    pz_graph *g;
    pz_error err = {0};
    const pz_status status = pz_import_onnx(path, NULL, &g, &err);
    const bool failed = pz_fail_alloc_end();
    if (status != (failed ? PZ_ERROR_MEMORY : expected)) fail_msg("%s: %d %s", path, status, err.message);
    if (status != PZ_OK) assert_true(err.status == status && err.message[0]);
    pz_graph_free(g);
  }
}

static void allocations(void **state) {
  (void)state;
  char path[256];
  for (int i = 0; i < MODELS; i++) {
    snprintf(path, sizeof path, "tests/import/data/onnx/%s.onnx", models[i]);
    fail_each(path, PZ_OK);
  }
  fail_each("tests/import/data/onnx/external.onnx", PZ_OK);
}

/* Arenas allocate in chunks: many nodes with long names give each list that grows a chance, and so do refusals. */
static void large(void **state) {
  (void)state;
  for (int refused = 0; refused < 2; refused++) {
    pz_text g = {0};
    char name[200], before[24] = "x", after[24];
    put_input(&g, "x", "1x2");
    put_output(&g, "y");
    for (int i = 0; i < 700; i++) {
      snprintf(name, sizeof name, "%0180d", i);
      snprintf(after, sizeof after, i == 699 ? "y" : "value%d", i);
      put_node(&g, name, refused && i % 7 == 0 ? "Einsum" : "Relu", before, after, NULL);
      memcpy(before, after, sizeof before);
    }
    fail_each(write_model("large.onnx", 17, &g), refused ? PZ_ERROR_INPUT : PZ_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cut),   cmocka_unit_test(flipped),     cmocka_unit_test(one_unknown),
      cmocka_unit_test(noise), cmocka_unit_test(allocations), cmocka_unit_test(large),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
