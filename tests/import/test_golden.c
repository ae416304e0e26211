/* Prototxts of data/ become the graphs of data/ *.text, which were checked by hand; and details that a graph's text
 * does not show. */
#include "fixture.h"

static char *slurp(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be opened", path);
  char *text = calloc(1, 1 << 20);
  size_t size = fread(text, 1, (1 << 20) - 1, f);
  text[size] = 0;
  fclose(f);
  return text;
}

static void becomes(const char *name) {
  char prototxt[256], expected[256];
  pz_import_options options = {.weights = "init:1"};
  pz_graph *g;
  pz_error err = {0};
  pz_text got = {0};
  snprintf(prototxt, sizeof prototxt, "tests/import/data/%s.prototxt", name);
  snprintf(expected, sizeof expected, "tests/import/data/%s.text", name);
  if (pz_import_caffe(prototxt, &options, &g, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(pz_graph_print(g, false, &got), PZ_OK);
  char *text = slurp(expected);
  assert_string_equal(got.data, text);
  free(text);
  pz_text_free(&got);
  pz_graph_free(g);
}

#define GOLDEN(name)                                                                                         \
  static void golden_##name(void **state) {                                                                  \
    (void)state;                                                                                             \
    becomes(#name);                                                                                          \
  }
GOLDEN(layers)
GOLDEN(detection)
GOLDEN(v1)
GOLDEN(rules)
GOLDEN(versions)
GOLDEN(syntax)
GOLDEN(volume)

static void places_are_the_layers_lines(void **state) {
  (void)state;
  pz_graph *g = import_text(
      "# one\n\n  layer { name: \"x\" type: \"Input\" top: \"x\"\n input_param { shape { dim: 3 } } }\n"
      "layer {\n name: \"r\" type: \"ReLU\" bottom: \"x\" top: \"y\" }",
      NULL);
  const pz_place *place = &g->nodes[pz_graph_find_node(g, "r")].place;
  assert_int_equal(place->line, 5);
  assert_int_equal(place->column, 1);
  assert_string_equal(place->file, path_of("net.prototxt"));
  pz_graph_free(g);
}

static void shapes_replace_the_files(void **state) {
  (void)state;
  const char *text = "input: 'a' layer { name: 'b' type: 'Input' top: 'b' input_param { shape { dim: 7 } } }"
                     "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'c' }"
                     "layer { name: 's' type: 'ReLU' bottom: 'b' top: 'd' }";
  pz_import_shape shapes[] = {{"b", {2, {3, 4}}}, {"a", {3, {1, 2, 5}}}};
  pz_import_options options = {.shapes = shapes, .n_shapes = 2};
  const char *path = write_file("net.prototxt", text, strlen(text));
  pz_graph *g;
  pz_error err = {0};
  char out[PZ_SHAPE_TEXT];
  assert_int_equal(pz_import_caffe(path, &options, &g, &err), PZ_OK);
  assert_string_equal(shape_of(g, "c", out), "1x2x5");
  assert_string_equal(shape_of(g, "d", out), "3x4");
  pz_graph_free(g);
  shapes[1].input = "c"; /* a blob, but no input */
  assert_int_equal(pz_import_caffe(path, &options, &g, &err), PZ_ERROR_USAGE);
  assert_non_null(strstr(err.message, "has no input 'c'; its inputs are 'a', 'b'"));
}

static void options_may_be_null(void **state) {
  (void)state;
  pz_graph *g;
  pz_error err = {0};
  assert_int_equal(pz_import_caffe("tests/import/data/rules.prototxt", NULL, &g, &err), PZ_OK);
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_layers),
      cmocka_unit_test(golden_detection),
      cmocka_unit_test(golden_v1),
      cmocka_unit_test(golden_rules),
      cmocka_unit_test(golden_versions),
      cmocka_unit_test(golden_syntax),
      cmocka_unit_test(golden_volume),
      cmocka_unit_test(places_are_the_layers_lines),
      cmocka_unit_test(shapes_replace_the_files),
      cmocka_unit_test(options_may_be_null),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
