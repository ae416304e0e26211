/* Models of data/onnx (make_onnx.py) become the graphs of data/onnx/NAME.text, which were checked by hand, and compute what
 * ONNX Runtime does: data/onnx/NAME.out has the outputs for the inputs of pz_graph_random(1), (2).
 *
 * test_import_onnx_golden print NAME    prints the graph */
#include "fixture.h"
#include "reference/reference.h"
#include <glob.h>
#include <math.h>

static char *slurp(const char *name, const char *suffix, size_t *size) {
  char path[256];
  snprintf(path, sizeof path, "tests/import/data/onnx/%s%s", name, suffix);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be opened", path);
  char *text = calloc(1, 1 << 20);
  *size = fread(text, 1, (1 << 20) - 1, f);
  fclose(f);
  return text;
}

static pz_graph *import_onnx(const char *name) {
  char path[256];
  pz_graph *g;
  pz_error err = {0};
  snprintf(path, sizeof path, "tests/import/data/onnx/%s.onnx", name);
  if (pz_import_onnx(path, NULL, &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

/* The outputs of the graph, one behind the other. */
static double *evaluate(const pz_graph *g, int64_t *n) {
  float *in[4];
  double *out[128], *all;
  pz_error err = {0};
  *n = 0;
  assert_true(g->n_inputs <= 4 && g->n_outputs <= 128);
  for (int32_t i = 0; i < g->n_inputs; i++) {
    const int64_t elements = pz_shape_elements(&g->tensors[g->inputs[i]].shape);
    in[i] = malloc((size_t)elements * sizeof(float));
    pz_graph_random((uint64_t)i + 1, 1, elements, in[i]);
  }
  for (int32_t i = 0; i < g->n_outputs; i++) *n += pz_shape_elements(&g->tensors[g->outputs[i]].shape);
  all = calloc((size_t)*n, sizeof *all);
  for (int32_t i = 0, at = 0; i < g->n_outputs; i++) {
    out[i] = all + at;
    at += (int32_t)pz_shape_elements(&g->tensors[g->outputs[i]].shape);
  }
  if (pz_reference_run(g, (const float *const *)in, out, NULL, NULL, &err) != PZ_OK)
    fail_msg("%s", err.message);
  for (int32_t i = 0; i < g->n_inputs; i++) free(in[i]);
  return all;
}

/* ONNX Runtime computes with floats, so values differ by their rounding. */
static void computes(const char *name, const pz_graph *g) {
  size_t size;
  int64_t n, at = 0;
  double *got = evaluate(g, &n);
  float *expected = (float *)(void *)slurp(name, ".out", &size);
  assert_int_equal(size, (size_t)n * sizeof(float));
  for (int32_t i = 0; i < g->n_outputs; i++) {
    const pz_tensor *t = &g->tensors[g->outputs[i]];
    for (int64_t end = at + pz_shape_elements(&t->shape); at < end; at++)
      if (!(fabs(got[at] - (double)expected[at]) <= 2e-5 + 2e-5 * fabs((double)expected[at])))
        fail_msg("%s: output '%s': %g, expected %g", name, t->name, got[at], (double)expected[at]);
  }
  free(got);
  free(expected);
}

static void becomes(void **state) {
  const char *name = *state;
  size_t size;
  pz_text got = {0};
  pz_graph *g = import_onnx(name);
  if (strcmp(name, "types")) computes(name, g); /* random numbers are no bytes */
  assert_int_equal(pz_graph_print(g, false, &got), PZ_OK);
  char *text = slurp(name, ".text", &size);
  assert_string_equal(got.data, text);
  free(text);
  pz_text_free(&got);
  pz_graph_free(g);
}

/* A model's digest is to change with its weights, wherever they lie. */
static void other_files_are_digested(void **state) {
  (void)state;
  pz_digest digest;
  size_t size;
  pz_graph *g;
  pz_error err = {0};
  char got[PZ_DIGEST_TEXT], expected[PZ_DIGEST_TEXT], *bytes = slurp("external", ".bin", &size);
  pz_import_options options = {.digest = &digest};
  pz_digest_begin(&digest);
  assert_int_equal(pz_import_onnx("tests/import/data/onnx/external.onnx", &options, &g, &err), PZ_OK);
  pz_digest_end_text(&digest, got);
  pz_digest_text(bytes, size, expected);
  assert_string_equal(got, expected);
  pz_graph_free(g);
  free(bytes);
}

static int print(const char *name) {
  pz_text text = {0};
  pz_graph *g = import_onnx(name);
  pz_graph_print(g, false, &text);
  fputs(text.data, stdout);
  pz_text_free(&text);
  pz_graph_free(g);
  return 0;
}

/* "constants" of "tests/import/data/onnx/constants.onnx" */
static char *name_of(const char *path) {
  char *name = strdup(strrchr(path, '/') + 1);
  *strrchr(name, '.') = 0;
  return name;
}

/* A test for each model that lies there. */
int main(int argc, char **argv) {
  glob_t models;
  if (argc == 3 && !strcmp(argv[1], "print")) return print(argv[2]);
  if (glob("tests/import/data/onnx/*.onnx", 0, NULL, &models)) return 1;
  const size_t n = models.gl_pathc;
  struct CMUnitTest *tests = calloc(n + 1, sizeof *tests);
  for (size_t i = 0; i < n; i++) {
    char *name = name_of(models.gl_pathv[i]);
    tests[i] = (struct CMUnitTest){name, becomes, NULL, NULL, name};
  }
  tests[n] = (struct CMUnitTest)cmocka_unit_test(other_files_are_digested);
  const int failed = _cmocka_run_group_tests("models", tests, n + 1, NULL, NULL);
  for (size_t i = 0; i < n; i++) free(tests[i].initial_state);
  free(tests);
  globfree(&models);
  return failed;
}
