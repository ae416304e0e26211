/* Models, weights and files beside them that are cut while they are imported: a line and no signal, at whichever read it comes. */
#include "cutter.h"
#include "onnx_fixture.h"

enum { NUMBERS = 120 * 10 * 5 * 5 * 10, SIZES = 4 };

static float numbers[NUMBERS];

typedef pz_status (*importer)(pz_graph **graph, pz_error *err);

/* `name` is a file of the folder that the import reads. */
static void cut_while_imported(const char *name, importer import) {
  char path[400];
  long size = 0;
  snprintf(path, sizeof path, "%s", path_of(name));
  FILE *f = fopen(path, "rb");
  assert_true(f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0);
  rewind(f);
  char *bytes = malloc((size_t)size);
  assert_int_equal(fread(bytes, 1, (size_t)size, f), size);
  fclose(f);
  int tries = 0, refused = 0;
  for (bool cut = true; cut; tries++) {
    pz_graph *g = NULL;
    pz_error err = {0};
    write_file(name, bytes, (size_t)size);
    cutter_begin(path, tries / SIZES, tries % SIZES * (size / SIZES));
    const pz_status status = import(&g, &err);
    cut = cutter_end();
    pz_graph_free(g);
    refused += status != PZ_OK;
    if (status != PZ_OK && (status != PZ_ERROR_INPUT || !err.message[0] || strchr(err.message, '\n')))
      fail_msg("%d %s", status, err.message);
    assert_true(cut || status == PZ_OK);
  }
  assert_true(tries > SIZES && refused > 0);
  free(bytes);
}

/* ------------------------------------------------------------------ ONNX */

static pz_status import_onnx(pz_graph **graph, pz_error *err) {
  pz_digest digest;
  pz_digest_begin(&digest);
  const pz_import_options o = {.digest = &digest};
  return pz_import_onnx(path_of("net.onnx"), &o, graph, err);
}

static void put_entry(pz_text *t, const char *key, const char *value) {
  pz_text entry = {0};
  put_string(&entry, 1, key);
  put_string(&entry, 2, value);
  put_message(t, 13, &entry);
}

/* x + w, with w in the model or beside it. */
static void write_onnx(bool beside) {
  const int64_t dims[] = {NUMBERS};
  char shape[32];
  pz_text model = {0}, g = {0}, t = {0}, opset = {0};
  snprintf(shape, sizeof shape, "1x%d", NUMBERS);
  put_input(&g, "x", shape);
  put_output(&g, "y");
  put_node(&g, "a", "Add", "x w", "y", NULL);
  put_tensor_head(&t, "w", 1, 1, dims);
  if (beside) put_entry(&t, "location", "w.bin"), put_number(&t, 14, 1);
  else put_bytes(&t, 9, numbers, sizeof numbers);
  put_message(&g, 5, &t);
  put_number(&model, 1, 8);
  put_message(&model, 7, &g);
  put_number(&opset, 2, 17);
  put_message(&model, 8, &opset);
  write_text("net.onnx", &model);
  write_file("w.bin", numbers, sizeof numbers);
}

static void accepted(importer import) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (import(&g, &err) != PZ_OK) fail_msg("%s", err.message);
  pz_graph_free(g);
}

static void onnx(void **state) {
  (void)state;
  for (int beside = 0; beside < 2; beside++) {
    write_onnx(beside);
    accepted(import_onnx);
    cut_while_imported(beside ? "w.bin" : "net.onnx", import_onnx);
  }
}

/* ------------------------------------------------------------------ Caffe */

static const char net[] =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 100 dim: 8 dim: 8 } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: 120 "
    "kernel_size: 5 bias_term: false } }";

static pz_status import_binary(pz_graph **graph, pz_error *err) {
  return try_import(net, path_of("net.caffemodel"), graph, err);
}
static pz_status import_h5(pz_graph **graph, pz_error *err) {
  return try_import(net, path_of("net.caffemodel.h5"), graph, err);
}

static void caffe(void **state) {
  (void)state;
  const int64_t dims[] = {120, 100, 5, 5};
  pz_text all = {0}, layer = {0};
  put_bytes(&layer, 1, "c", 1);
  put_blob(&layer, 7, PACKED, 4, dims, numbers, NUMBERS);
  put_message(&all, 100, &layer);
  write_text("net.caffemodel", &all);
  accepted(import_binary);
  cut_while_imported("net.caffemodel", import_binary);
  const h5_blob blob = {"c/0", 4, {120, 100, 5, 5}, numbers};
  write_h5("net.caffemodel.h5", &blob, 1);
  accepted(import_h5);
  cut_while_imported("net.caffemodel.h5", import_h5);
}

int main(void) {
  for (int i = 0; i < NUMBERS; i++) numbers[i] = (float)(i % 251);
  const struct CMUnitTest tests[] = {cmocka_unit_test(onnx), cmocka_unit_test(caffe)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
