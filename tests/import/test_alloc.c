/* Every allocation of an import fails in turn: PZ_ERROR_MEMORY, no crash, no leak (seen by a build with sanitizers). */
#include "fixture.h"
#include "fail_alloc.h"

static void fail_each(const char *prototxt, const char *weights, pz_status expected) {
  pz_import_options options = {.weights = weights};
  PZ_FAIL_EACH_ALLOC() {
    pz_graph *g;
    pz_error err = {0};
    pz_status status = pz_import_caffe(prototxt, &options, &g, &err);
    bool failed = pz_fail_alloc_end();
    if (status != (failed ? PZ_ERROR_MEMORY : expected)) fail_msg("%s: %d %s", prototxt, status, err.message);
    if (status != PZ_OK) assert_true(err.status == status && err.message[0]);
    pz_graph_free(g);
  }
}

static void prototxts(void **state) {
  (void)state;
  static const char *const names[] = {"layers", "v1", "rules", "versions", "syntax", "volume"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[256];
    snprintf(path, sizeof path, "tests/import/data/%s.prototxt", names[i]);
    fail_each(path, "init:1", PZ_OK);
  }
}

static void refused(void **state) {
  (void)state;
  static const char text[] =
      "layer { name: 'a' type: 'Odd' top: 'a' odd_param { x: 1 } } layer { type: 'Odder' }";
  fail_each(write_file("net.prototxt", text, strlen(text)), NULL, PZ_ERROR_INPUT);
}

#define NET "input: 'x' input_shape { dim: [1, 2] } layer { name: 'p' type: 'PReLU' bottom: 'x' top: 'y' }"
static const float values[2] = {1, 2};

static void weights(void **state) {
  (void)state;
  static const int64_t dims[1] = {2};
  pz_text model = {0}, layer = {0};
  put_bytes(&layer, 1, "p", 1);
  put_blob(&layer, 7, PACKED, 1, dims, values, 2);
  put_message(&model, 100, &layer);
  write_text("net.caffemodel", &model);
  write_file("net.prototxt", NET, strlen(NET));
  fail_each(path_of("net.prototxt"), path_of("net.caffemodel"), PZ_OK);
  h5_blob blob = {"p/0", 1, {2}, values};
  write_h5("net.caffemodel.h5", &blob, 1);
  fail_each(path_of("net.prototxt"), path_of("net.caffemodel.h5"), PZ_OK);
}

/* Arenas allocate in chunks, so few allocations of a small file fail above; here each arena block of the parser is a
 * chance: long strings and lists get chunks of their own. */
static void large(void **state) {
  (void)state;
  pz_text text = {0};
  pz_text_append(&text, "input: 'x' input_shape { dim: [1, 2] } name: '");
  for (int i = 0; i < 40000; i++) pz_text_append(&text, "n");
  pz_text_append(&text, "'\n");
  for (int i = 0; i < 3000; i++)
    pz_text_printf(
        &text,
        "layer { name: 'l%d' type: 'PReLU' bottom: 'x' top: 'x' param { name: 'w%d' } exclude { stage: "
        "'s' } }\n",
        i, i);
  write_file("net.prototxt", text.data, text.size);
  pz_text_free(&text);
  fail_each(path_of("net.prototxt"), "init:1", PZ_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prototxts),
      cmocka_unit_test(refused),
      cmocka_unit_test(weights),
      cmocka_unit_test(large),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
