/* ONNX models that must be refused, with a line that says what is wrong where. */
#include "onnx_fixture.h"
#include <float.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static pz_status import(const char *path, const pz_import_options *options, pz_error *err) {
  pz_graph *g;
  const pz_status status = pz_onnx_import_within(path, options, 100000, &g, err);
  if (status == PZ_OK) assert_int_equal(pz_graph_verify(g, err), PZ_OK);
  else assert_null(g);
  pz_graph_free(g);
  return status;
}

static void refuses_file(const char *path, const pz_import_options *options, pz_status status,
                         const char *message) {
  pz_error err = {0};
  const pz_status got = import(path, options, &err);
  if (got != status || !strstr(err.message, message) || strchr(err.message, '\n'))
    fail_msg("got %d '%s', expected %d '%s'", got, err.message, status, message);
}

/* `graph` is freed. */
static void refuses(pz_text *graph, const char *message) {
  refuses_file(write_model("net.onnx", 17, graph), NULL, PZ_ERROR_INPUT, message);
}
static void accepts(pz_text *graph) {
  pz_error err = {0};
  if (import(write_model("net.onnx", 17, graph), NULL, &err) != PZ_OK) fail_msg("%s", err.message);
}

/* A graph with input x of a shape and an output. */
static pz_text graph_of(const char *shape, const char *output) {
  pz_text g = {0};
  put_input(&g, "x", shape);
  put_output(&g, output);
  return g;
}

/* ---- the file ---- */

static void no_models(void **state) {
  (void)state;
  pz_text empty = {0}, twice = {0}, graph = {0};
  refuses_file(write_file("net.onnx", "", 0), NULL, PZ_ERROR_INPUT, "holds no graph");
  refuses_file(write_file("net.onnx", "\xff\xff\xff", 3), NULL, PZ_ERROR_INPUT, "byte 0: ");
  refuses_file(write_file("net.onnx", "name: 'x'", 9), NULL, PZ_ERROR_INPUT, "this is no ONNX model");
  refuses_file(path_of("nothing.onnx"), NULL, PZ_ERROR_INPUT, "cannot be opened");
  put_message(&twice, 7, &empty);
  put_message(&twice, 7, &empty);
  refuses_file(write_text("net.onnx", &twice), NULL, PZ_ERROR_INPUT, "a second graph");
  refuses_file(write_model("net.onnx", 5, &graph), NULL, PZ_ERROR_INPUT, "needs opset 5, 6 to 28 are read");
  refuses_file(write_model("net.onnx", 99, &graph), NULL, PZ_ERROR_INPUT, "needs opset 99");
  refuses(&graph, "the model has no input");
}

static void weights_are_within(void **state) {
  (void)state;
  pz_text g = graph_of("1x2", "y");
  put_node(&g, "r", "Relu", "x", "y", NULL);
  const pz_import_options options = {.weights = "init:1"};
  refuses_file(write_model("net.onnx", 17, &g), &options, PZ_ERROR_USAGE, "leave out --weights");
}

/* ---- names and order ---- */

static void names(void **state) {
  (void)state;
  pz_text g = graph_of("1x2", "y");
  put_node(&g, "a", "Relu", "x", "y", NULL);
  put_node(&g, "b", "Relu", "x", "y", NULL);
  refuses(&g, "two values are named 'y'");
  g = graph_of("1x2", "y");
  put_input(&g, "x", "1x2");
  put_node(&g, "a", "Relu", "x", "y", NULL);
  refuses(&g, "two values are named 'x'");
  g = graph_of("1x2", "y");
  refuses(&g, "output 'y' is made by no node");
  g = graph_of("1x2", "y");
  put_node(&g, "a", "Relu", "what\x01", "y", NULL);
  refuses(&g, "node 'a' (Relu): its input 'what\\x01' is made by no node");
  g = graph_of("1x2", "y");
  put_node(&g, "a", "Add", "x z", "y", NULL);
  put_node(&g, "b", "Relu", "y", "z", NULL);
  refuses(&g, "node 'a' (Add): its input 'z' is made only later: there is a cycle");
  g = graph_of("1x2", "y");
  put_output(&g, "y");
  put_node(&g, "a", "Relu", "x", "y", NULL);
  refuses(&g, "output 'y' is listed twice");
  g = graph_of("1x2", "y");
  put_node(&g, "a", "Add", "x", "y", NULL);
  refuses(&g, "node 'a' (Add): has 1 inputs, expected at least 2");
  g = graph_of("1x2", "y");
  put_node(&g, "same", "Relu", "x", "z", NULL);
  put_node(&g, "same", "Relu", "z", "y", NULL); /* many exporters do that */
  accepts(&g);
}

/* ---- what is not supported: all of it at once ---- */

static void all_at_once(void **state) {
  (void)state;
  pz_text g = graph_of("1x2x8x8", "y"), cubic = {0}, odd = {0};
  put_output(&g, "z");
  put_floats(&g, "s", 1, (const int64_t[]){4}, (const float[]){1, 1, 2, 2}, 4);
  put_attr_text(&cubic, "mode", "cubic");
  put_attr_int(&odd, "odd", 1);
  put_node(&g, "d1", "Det", "x", "a", NULL);
  put_node(&g, "up", "Resize", "x _ s", "b", &cubic);
  put_node(&g, "sum", "Sum", "a b", "c", NULL);
  put_node(&g, "d2", "Det", "c", "d", NULL);
  put_node(&g, "own", "com.acme::Relu", "x", "e", NULL);
  put_node(&g, "odd", "Relu", "x", "f", &odd);
  put_node(&g, "", "Sum", "d e f", "y", NULL);
  put_node(&g, "fine", "Relu", "x", "z", NULL);
  put_node(&g, "unused", "Einsum", "x", "u", NULL);
  refuses(&g,
          "net.onnx: 5 nodes are not supported: Det: 2 nodes ('d1', 'd2'); Resize with mode = cubic ('up'); "
          "com.acme::Relu ('own'); Relu with attribute 'odd' ('odd')");
  g = graph_of("1x2", "y");
  put_node(&g, "g", "Gelu", "x", "y", NULL);
  refuses(&g, "Gelu with opset 17, which does not have it ('g')");
}

/* Behind a node that is refused its outputs are of unknown shape: what can be judged all the same is listed, and nothing
 * that may be a consequence. */
static void behind_refused_nodes(void **state) {
  (void)state;
  pz_text g = graph_of("1x4x4", "y"), cubic = {0}, axes = {0};
  put_node(&g, "m0", "MatMul", "x x", "a", NULL);
  put_node(&g, "m1", "MatMul", "a a", "b", NULL);
  put_node(&g, "relu", "Relu", "b", "c", NULL);
  put_node(&g, "m2", "MatMul", "b c", "y", NULL);
  refuses(&g, "3 nodes are not supported: MatMul with a computed right side: 3 nodes ('m0', 'm1', 'm2')");
  g = graph_of("1x4x8x8", "y");
  put_floats(&g, "w", 4, (const int64_t[]){1, 9, 1, 1}, (const float[9]){0}, 9);
  put_floats(&g, "s", 4, (const int64_t[]){1, 1, 2, 2}, (const float[4]){0}, 4);
  put_ints(&g, "shape", 2, (const int64_t[]){3, 5});
  put_attr_text(&cubic, "mode", "cubic");
  put_attr_ints(&axes, "perm", 2, (const int64_t[]){1, 0});
  put_node(&g, "det", "Det", "x", "a", NULL);
  put_node(&g, "conv", "Conv", "a w", "b", NULL); /* of 9 channels, which the guessed shape has not */
  put_node(&g, "flat", "Reshape", "b shape", "c", NULL);
  put_node(&g, "turn", "Transpose", "c", "d", &axes);
  put_node(&g, "count", "Shape", "d", "e", NULL); /* may be a constant for all that is known */
  put_node(&g, "fill", "ConstantOfShape", "e", "f", NULL);
  put_node(&g, "back", "Reshape", "d e", "g", NULL);
  put_node(&g, "what", "Reshape", "x a", "l", NULL); /* as may be what an operator that is not known gives */
  put_node(&g, "up", "Resize", "x _ s", "i", &cubic);
  put_node(&g, "by", "Reshape", "x i", "h", NULL); /* this cannot be one */
  put_node(&g, "own", "com.acme::Sum", "i f", "j", NULL);
  put_node(&g, "", "Sum", "g h j l", "y", NULL);
  refuses(&g, "4 nodes are not supported: Det ('det'); Resize with mode = cubic ('up'); Reshape with a "
              "computed input 1; "
              "it must be a constant ('by'); com.acme::Sum ('own')");
}

/* Products behind an operator that is not known: it may give sizes, but not through a product. */
static void products_behind(void **state) {
  (void)state;
  pz_text g = graph_of("1x4x4", "y");
  put_floats(&g, "w", 2, (const int64_t[]){4, 4}, (const float[16]){0}, 16);
  put_node(&g, "norm", "com.acme::Norm", "x", "a", NULL);
  put_node(&g, "q", "MatMul", "a w", "b", NULL);
  put_node(&g, "k", "MatMul", "a w", "c", NULL);
  put_node(&g, "scores", "MatMul", "b c", "d", NULL);
  put_node(&g, "direct", "MatMul", "b a", "e", NULL);
  put_node(&g, "sizes", "Reshape", "d a", "f", NULL);
  put_node(&g, "no_sizes", "Reshape", "d b", "g", NULL);
  put_node(&g, "", "Sum", "e f g", "y", NULL);
  refuses(&g,
          "4 nodes are not supported: com.acme::Norm ('norm'); MatMul with a computed right side: 2 nodes "
          "('scores', 'direct'); Reshape with a computed input 1; it must be a constant ('no_sizes')");
}

/* What the model says of the values itself goes further. */
static void behind_with_shapes(void **state) {
  (void)state;
  for (int said = 0; said < 2; said++) {
    pz_text g = graph_of("1x4x8x8", "y");
    if (said) put_info(&g, 13, "a", 1, "1x4x2x2x2x2");
    put_node(&g, "det", "Det", "x", "a", NULL);
    put_node(&g, "mean", "GlobalAveragePool", "a", "y", NULL);
    refuses(
        &g,
        said ? "2 nodes are not supported: Det ('det'); GlobalAveragePool with 4 spatial dimensions ('mean')"
             : "1 node is not supported: Det ('det')");
  }
}

/* What comes after a failure that may be a consequence is still listed; without anything refused the failure is the news. */
static void failures_among_refusals(void **state) {
  (void)state;
  for (int refused = 0; refused < 2; refused++) {
    pz_text g = graph_of("1x4x8x8", "y"), odd = {0};
    put_attr_int(&odd, "odd", 1);
    put_node(&g, "first", refused ? "Det" : "Relu", "x", "a", NULL);
    put_node(&g, "wrong", "Relu", "nothing", "b", NULL);
    put_node(&g, "last", "Relu", "b", "c", &odd);
    put_node(&g, "end", "Det", "c", "d", NULL);
    put_node(&g, "", "Sum", "a b d", "y", NULL);
    refuses(&g, refused ? "2 nodes are not supported: Det: 2 nodes ('first', 'end')"
                        : "node 'wrong' (Relu): its input 'nothing' is made by no node");
  }
}

/* More kinds than a message has room for: names go first, then reasons are counted. */
static void many_kinds(void **state) {
  (void)state;
  for (int n = 60; n <= 600; n *= 10) {
    pz_text g = graph_of("1x2", "y");
    char op[64], name[64], before[16] = "x", after[16];
    for (int i = 0; i < n; i++) {
      snprintf(op, sizeof op, "AnOperatorOfNobody%d", i);
      snprintf(name, sizeof name, "a-rather-long-name-of-a-node-that-has-number-%d", i);
      snprintf(after, sizeof after, i == n - 1 ? "y" : "v%d", i);
      put_node(&g, name, op, before, after, NULL);
      memcpy(before, after, sizeof before);
    }
    refuses(&g, n == 60 ? "AnOperatorOfNobody59: 1 node" : " more kinds");
  }
}

/* ---- models that another program has changed ---- */

static void advice(void **state) {
  (void)state;
  static const struct {
    const char *op, *text;
  } cases[] = {
      {"com.microsoft::FusedConv",
       "ONNX Runtime has optimised this model: give the one that it was made from"},
      {"com.microsoft.nchwc::Conv", "ONNX Runtime has optimised this model"},
      {"com.microsoft::QLinearAdd",
       "the model is quantised by operators of integers: give the one of floats"},
      {"QLinearConv", "quantise it with quant_format = QuantFormat.QDQ"},
      {"org.openvinotoolkit::FakeQuantize", "OpenVINO has written this model for itself"},
      {"EfficientNMS_TRT", "the model has plugins of TensorRT"},
      {"trt.plugins::Anything", "the model has plugins of TensorRT"},
      {"ai.onnx.ml::Scaler", "this is classical machine learning"},
      {"org.pytorch.aten::ATen", "PyTorch has left operators of its own in the model"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_text g = graph_of("1x2", "y");
    put_node(&g, "n", cases[i].op, "x", "a", NULL);
    put_node(&g, "m", cases[i].op, "a", "y", NULL);
    refuses(&g, cases[i].text);
  }
  pz_text g = graph_of("1x2", "y"), model = {0};
  put_node(&g, "n", "Det", "x", "y", NULL);
  put_model(&model, 17, &g);
  put_string(&model, 2, "onnxruntime.transformers");
  refuses_file(write_text("net.onnx", &model), NULL, PZ_ERROR_INPUT,
               "Det ('n'). Note: ONNX Runtime has optimised");
}

static void many(void **state) {
  (void)state;
  pz_text g = graph_of("1x2", "y");
  char name[64], before[16] = "x", after[16];
  for (int i = 0; i < 300; i++) {
    snprintf(name, sizeof name, "a-rather-long-name-of-a-node-%d", i);
    snprintf(after, sizeof after, i == 299 ? "y" : "v%d", i);
    put_node(&g, name, "Einsum", before, after, NULL);
    memcpy(before, after, sizeof before);
  }
  refuses(&g, "300 nodes are not supported: Einsum: 300 nodes ('a-rather-long-name-of-a-node-0', "
              "'a-rather-long-name-of-a-node-1', 'a-rather-long-name-of-a-node-2', "
              "'a-rather-long-name-of-a-node-3' and 296 more)");
}

static void functions(void **state) {
  (void)state;
  pz_text g = graph_of("1x2", "y"), model = {0}, function = {0};
  put_node(&g, "f", "pkg::Twice", "x", "y", NULL);
  put_model(&model, 17, &g);
  put_string(&function, 1, "Twice");
  put_message(&model, 25, &function);
  refuses_file(write_text("net.onnx", &model), NULL, PZ_ERROR_INPUT,
               "pkg::Twice ('f'). Note: the model has functions of its own: inline them");
}

/* ---- shapes of inputs ---- */

static void symbolic_shapes(void **state) {
  (void)state;
  pz_text g = graph_of("Nx1xDxHx?", "y"), notes = {0};
  put_node(&g, "r", "Relu", "x", "y", NULL);
  const char *path = write_model("net.onnx", 17, &g);
  refuses_file(path, NULL, PZ_ERROR_INPUT,
               "input 'x' is Nx1xDxHx?. Give the sizes in <> as numbers: --input 'x=1x1x<D>x<H>x<size5>'");
  pz_import_shape shape = {"x", {5, {1, 1, 4, 4, 4}}};
  pz_import_options options = {.shapes = &shape, .n_shapes = 1, .notes = &notes};
  pz_error err = {0};
  assert_int_equal(import(path, &options, &err), PZ_OK);
  shape.shape.rank = 4;
  refuses_file(path, &options, PZ_ERROR_USAGE, "input 'x' has 5 dimensions, --input gives it 4");
  shape.input = "y";
  refuses_file(path, &options, PZ_ERROR_USAGE, "has no input 'y'; its inputs are 'x'");
  assert_null(notes.data);
  g = graph_of("batchx3x4x4", "y");
  put_node(&g, "r", "Relu", "x", "y", NULL);
  options.n_shapes = 0;
  assert_int_equal(import(write_model("net.onnx", 17, &g), &options, &err), PZ_OK);
  assert_non_null(strstr(notes.data, "input 'x' is batchx3x4x4: batch was set to 1"));
  pz_text_free(&notes);
}

/* A symbol that --input gives for one input holds for the others. */
static void shared_symbols(void **state) {
  (void)state;
  pz_text g = graph_of("NxCxHxW", "y");
  put_input(&g, "z", "NxCx1xW");
  put_node(&g, "a", "Add", "x z", "y", NULL);
  const char *path = write_model("net.onnx", 17, &g);
  refuses_file(path, NULL, PZ_ERROR_INPUT,
               "input 'x' is NxCxHxW; input 'z' is NxCx1xW. Give the sizes in <> as numbers: --input "
               "'x=1x<C>x<H>x<W>' --input 'z=1x<C>x1x<W>'");
  pz_import_shape shape = {"x", {4, {2, 3, 4, 5}}};
  pz_import_options options = {.shapes = &shape, .n_shapes = 1};
  pz_graph *graph;
  pz_error err = {0};
  char text[PZ_SHAPE_TEXT];
  assert_int_equal(pz_import_onnx(path, &options, &graph, &err), PZ_OK);
  assert_string_equal(shape_of(graph, "z", text), "2x3x1x5");
  pz_graph_free(graph);
}

/* Names that are not letters: quoted for a shell, or, where a message cannot show them, a number. */
static void odd_names(void **state) {
  (void)state;
  pz_text g = {0};
  put_output(&g, "y");
  put_input(&g, "it's $HOME; a=b", "1xthe height!x'");
  put_input(&g, "tab\there", "1xH");
  put_input(&g, "\xc3\xa9", "W");
  put_input(&g, "plain", "1x2");
  put_node(&g, "r", "Relu", "plain", "y", NULL);
  const char *path = write_model("net.onnx", 17, &g);
  refuses_file(path, NULL, PZ_ERROR_INPUT,
               "--input 'it'\\''s $HOME; a=b=1x<the_height_>x<_>' --input '#2=1x<H>' --input '#3=<W>'");
  const pz_import_shape shapes[] = {
      {"it's $HOME; a=b", {3, {1, 2, 3}}}, {"#2", {2, {1, 5}}}, {"#3", {1, {7}}}, {"#4", {2, {1, 9}}}};
  pz_import_options options = {.shapes = shapes, .n_shapes = 4};
  pz_graph *graph;
  pz_error err = {0};
  char text[PZ_SHAPE_TEXT];
  if (pz_import_onnx(path, &options, &graph, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_string_equal(shape_of(graph, "tab\there", text), "1x5");
  assert_string_equal(shape_of(graph, "\xc3\xa9", text), "7");
  assert_string_equal(shape_of(graph, "plain", text), "1x9");
  pz_graph_free(graph);
  static const char *const bad[] = {"#0", "#5", "#", "#1x", "#99999999999999999999", "no"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const pz_import_shape one = {bad[i], {2, {1, 5}}};
    options = (pz_import_options){.shapes = &one, .n_shapes = 1};
    refuses_file(path, &options, PZ_ERROR_USAGE, "has no input '");
  }
}

static void odd_inputs(void **state) {
  (void)state;
  pz_text g = graph_of(NULL, "y");
  put_node(&g, "r", "Relu", "x", "y", NULL);
  refuses(&g, "input 'x' is of unknown shape. Give the sizes in <> as numbers: --input 'x=<shape>'");
  g = graph_of("1x2x3x4x5x6x7x8x9", "y");
  refuses(&g, "a shape of more than 8 dimensions");
  g = graph_of("1x-5", "y");
  refuses(&g, "input 'x' is 1x?");
  g = (pz_text){0};
  put_info(&g, 11, "x", 8, "1x2");
  put_output(&g, "y");
  put_node(&g, "r", "Relu", "x", "y", NULL);
  refuses(&g, "input 'x' is not a tensor of numbers");
  g = graph_of("2147483648x2", "y");
  refuses(&g, "bad shape");
}

/* ---- tensors ---- */

static void tensor(int type, int rank, const int64_t *dims, size_t bytes, const char *message) {
  pz_text g = graph_of("1x2", "y"), t = {0};
  static const char zeros[64];
  put_tensor_head(&t, "w", type, rank, dims);
  if (bytes) put_bytes(&t, 9, zeros, bytes);
  put_message(&g, 5, &t);
  put_node(&g, "a", "Add", "x w", "y", NULL);
  if (message) refuses(&g, message);
  else accepts(&g);
}
#define DIMS(...)                                                                                            \
  (const int64_t[]) { __VA_ARGS__ }

static void tensors(void **state) {
  (void)state;
  tensor(1, 2, DIMS(1, 2), 8, NULL);
  tensor(1, 2, DIMS(1, 2), 4, "tensor 'w': has 4 bytes of data, expected 8 for 2 elements of float");
  tensor(1, 2, DIMS(1, 2), 0, "tensor 'w': has 0 values, but its shape has 2 elements");
  tensor(1, 2, DIMS(1, -2), 8, "a tensor's size is not 0 to 2^31-1");
  tensor(1, 2, DIMS(1, INT64_MAX), 8, "a tensor's size is not 0 to 2^31-1");
  tensor(1, 3, DIMS(1 << 30, 1 << 30, 2), 8, "a tensor of more than 2^40 elements");
  tensor(1, 4, DIMS(0, 1 << 30, 1 << 30, 1 << 30), 0, "a tensor of more than 2^40 elements");
  tensor(1, 2, DIMS(1 << 20, 1 << 10), 8,
         "'w': the model's constants take 4.3 GB at least, and may take 400.0 kB here, one part in 4 of the "
         "memory: a machine with 17.2 GB would do");
  tensor(1, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 2), 8, "a tensor of more than 8 dimensions");
  tensor(8, 2, DIMS(1, 2), 8, "tensor 'w' is of ONNX's data type 8, which is not supported");
  tensor(17, 2, DIMS(1, 2), 2, "tensor 'w' is of ONNX's data type 17, which is not supported");
  tensor(1, 2, DIMS(1, 0), 0, "(Add): its input 'w' is empty");
  pz_text g = graph_of("1x2", "y"), t = {0};
  put_tensor_head(&t, "w", 1, 1, DIMS(2));
  put_bytes(&t, 4, "1234567", 7);
  put_message(&g, 5, &t);
  put_node(&g, "a", "Add", "x w", "y", NULL);
  refuses(&g, "a tensor's data is cut off");
}

/* ---- external data ---- */

static void put_entry(pz_text *t, const char *key, const char *value) {
  pz_text entry = {0};
  put_string(&entry, 1, key);
  put_string(&entry, 2, value);
  put_message(t, 13, &entry);
}

/* What a model that is refused holds is not read: its weights are in a file that is not there. */
static void lost_weights(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    pz_text g = graph_of("1x256x16x16", "y"), t = {0};
    put_tensor_head(&t, "w", 1, 4, DIMS(1, 256, 16, 16));
    put_entry(&t, "location", "nothing");
    put_number(&t, 14, 1);
    put_message(&g, 5, &t);
    put_node(&g, "before", i == 1 ? "Det" : "Relu", "x", "a", NULL);
    put_node(&g, "conv", "Conv", "a w", "b", NULL);
    put_node(&g, "after", i == 2 ? "Det" : "Relu", "b", "y", NULL);
    refuses(&g, i == 0   ? "its data file 'nothing' cannot be opened"
                : i == 1 ? "1 node is not supported: Det ('before')"
                         : "1 node is not supported: Det ('after')");
  }
}

static pz_text external(const char *location, const char *offset, const char *length) {
  pz_text g = graph_of("1x2", "y"), t = {0};
  put_tensor_head(&t, "w", 1, 1, DIMS(2));
  put_entry(&t, "location", location);
  if (offset) put_entry(&t, "offset", offset);
  if (length) put_entry(&t, "length", length);
  put_number(&t, 14, 1);
  put_message(&g, 5, &t);
  put_node(&g, "a", "Add", "x w", "y", NULL);
  return g;
}
static void refuses_external(const char *location, const char *offset, const char *length,
                             const char *message) {
  pz_text g = external(location, offset, length);
  if (message) refuses(&g, message);
  else accepts(&g);
}

static void external_data(void **state) {
  (void)state;
  char folder[4096], link[4200];
  write_file("w.bin", "0123456789abcdef", 16);
  snprintf(folder, sizeof folder, "%s", path_of("w.bin"));
  refuses_external("w.bin", "8", "8", NULL);
  refuses_external("./w.bin", "8", NULL, NULL);
  refuses_external("w.bin", NULL, NULL, "tensor 'w': has 16 bytes of data, expected 8");
  refuses_external("w.bin", "12", "8", "is at bytes 12 to 20 of 'w.bin', which has 16 bytes");
  refuses_external("w.bin", "17", NULL, "which has 16 bytes");
  refuses_external("w.bin", "9223372036854775807", "9223372036854775807",
                   "is at bytes 9223372036854775807 to 18446744073709551614 of 'w.bin', which has 16 bytes");
  refuses_external("w.bin", "-1", NULL, "the offset or length of external data is no number");
  refuses_external("w.bin", "99999999999999999999", NULL, "is no number");
  refuses_external("", NULL, NULL, "its data file '' has no name");
  refuses_external("nothing", NULL, NULL, "its data file 'nothing' cannot be opened");
  refuses_external("/dev/zero", NULL, NULL, "is an absolute path; data is read from the model's folder only");
  refuses_external("../w.bin", NULL, NULL, "leaves the model's folder");
  refuses_external("sub/../w.bin", NULL, NULL, "leaves the model's folder");
  refuses_external(".", NULL, NULL, "is not a regular file");
  snprintf(link, sizeof link, "%s", path_of("link.bin"));
  assert_int_equal(symlink("w.bin", link), 0);
  refuses_external("link.bin", "8", "8", "is a link, or lies behind one");
  unlink(link);
  snprintf(link, sizeof link, "%s", path_of("folder"));
  assert_int_equal(symlink(".", link), 0);
  refuses_external("folder/w.bin", "8", "8", "is a link, or lies behind one");
  unlink(link);
  snprintf(link, sizeof link, "%s", path_of("pipe"));
  assert_int_equal(mkfifo(link, 0600), 0);
  refuses_external("pipe", NULL, NULL, "is not a regular file");
  unlink(link);
}

/* ---- operators ---- */

typedef struct op_case {
  const char *op, *in, *attr;
  int n;
  int64_t ints[6];
  const char *message;
} op_case;

static void operators(void **state) {
  (void)state;
  static const op_case cases[] = {
      {"Conv", "x w", "pads", 4, {0, 0, 0, -1}, "Conv with negative pads ('node')"},
      {"Conv", "x w", "pads", 2, {1, 1}, "(Conv): its attribute 'pads' has 2 entries, expected 4"},
      {"Conv", "x w", "kernel_shape", 2, {3, 5}, "its attribute 'kernel_shape' is not that of its weights"},
      {"Conv", "x w", "strides", 2, {0, 1}, "its attribute 'strides' holds 0, expected at least 1"},
      {"Conv", "x w", "strides", 2, {1, INT64_MAX}, "expected at least 1"},
      {"Conv", "x two", NULL, 0, {0}, "its weights have 1 dimensions, its input has 4"},
      {"MaxPool", "x", NULL, 0, {0}, "its attribute 'kernel_shape' is missing"},
      {"MaxPool", "x", "kernel_shape", 2, {100, 1}, "larger than its input"},
      {"Reshape",
       "x two",
       NULL,
       0,
       {0},
       "1x2x8x8 cannot become 5x7: the number of elements must be the same"},
      {"Reshape", "x x", NULL, 0, {0}, "Reshape with a computed input 1; it must be a constant ('node')"},
      {"Reshape", "x w", NULL, 0, {0}, "its input 1 must be a list of integers"},
      {"Expand", "x two", NULL, 0, {0}, "do not broadcast"},
      {"Tile", "x two", NULL, 0, {0}, "has 2 repeats, expected 4"},
      {"Transpose", "x", "perm", 4, {0, 1, 1, 2}, "its attribute 'perm' is no permutation"},
      {"Transpose", "x", "perm", 4, {0, 1, 2, 4}, "axis 4 is not one of the 4 dimensions"},
      {"Slice", "x two two two two", NULL, 0, {0}, "axis 5 is not one of the 4 dimensions"},
      {"Slice", "x zero zero zero zero", NULL, 0, {0}, "a step of 0"},
      {"Slice", "none minus zero zero minus", NULL, 0, {0}, "'y' is empty"},
      {"Range", "zero most one", NULL, 0, {0}, "Range with constant integers beyond 2^53 ('node')"},
      {"ConvTranspose", "x w", "output_shape", 2, {INT64_MIN, 8}, "an output_shape of -9223372036854775808"},
      {"ConvTranspose", "x w", "output_shape", 2, {INT64_MAX, 8}, "an output_shape of 9223372036854775807"},
      {"Split", "x two", NULL, 0, {0}, "has 2 parts for 1 outputs"},
      {"Gather", "x two", NULL, 0, {0}, "its index 5 is not one of 1 entries"},
      {"Concat", "x x", NULL, 0, {0}, "its attribute 'axis' is missing"},
      {"Concat", "x _ x", "axis", 1, {1}, "its input 1 is missing"},
      {"Concat", "x _", "axis", 1, {1}, "its input 1 is missing"},
      {"Max", "x _ x", NULL, 0, {0}, "its input 1 is missing"},
      {"Sum", "_ x", NULL, 0, {0}, "its input 0 is missing"},
      {"Mean", "x _", NULL, 0, {0}, "its input 1 is missing"},
      {"MatMul", "x x", NULL, 0, {0}, "MatMul with a computed right side ('node')"},
      {"ConstantOfShape", "huge", NULL, 0, {0}, "'node' has more than 2^40 elements"},
      {"ConstantOfShape",
       "large",
       NULL,
       0,
       {0},
       "constants take 4.2 MB at least, and may take 400.0 kB here"},
      {"Expand", "one huge", NULL, 0, {0}, "'node' has more than 2^40 elements"},
      {"Expand", "one large", NULL, 0, {0}, "constants take 8.4 MB at least"},
      {"Tile", "one large", NULL, 0, {0}, "constants take 8.4 MB at least"},
      {"Range", "zero large one", NULL, 0, {0}, "constants take 8.4 MB at least"},
      {"Mod", "x x", NULL, 0, {0}, "Mod with computed values of type float ('node')"},
      {"ScatterND",
       "x zero x",
       NULL,
       0,
       {0},
       "ScatterND with a computed input 0; it must be a constant ('node')"},
      {"ScatterND", "two zero two", NULL, 0, {0}, "its updates do not fit its indices"},
      {"ScatterND", "two two w", NULL, 0, {0}, "its data and updates differ in type"},
      {"ScatterElements",
       "two most zero",
       NULL,
       0,
       {0},
       "its index 9223372036854775807 is not one of 2 entries"},
      {"OneHot", "x one two", NULL, 0, {0}, "OneHot with computed indices of type float ('node')"},
      {"OneHot", "one minus two", NULL, 0, {0}, "a depth of -5"},
      {"Neg", "most", NULL, 0, {0}, "Neg with constant integers beyond 2^53 ('node')"},
      {"ConstantOfShape", "minus", NULL, 0, {0}, "a size of -5"},
      {"Unsqueeze", "x zeros", NULL, 0, {0}, "axis 0 is named twice"},
      {"Squeeze", "x one", NULL, 0, {0}, "dimension 1 has 2 entries, not one"},
      {"Range", "zero long one", NULL, 0, {0}, "(Range): from 0 to 1.09951e+12 in steps of 1"},
      {"Range", "zero one zero", NULL, 0, {0}, "in steps of 0"},
      {"Div", "one zero", NULL, 0, {0}, "a division by zero"},
      {"NonZero", "x", NULL, 0, {0}, "NonZero with a computed input 0; it must be a constant ('node')"},
      {"Where", "x one x", NULL, 0, {0}, "its inputs 1 and 2 differ in type"},
      {"Gather", "x x", NULL, 0, {0}, "its indices must be integers"},
      {"GatherND", "x x", NULL, 0, {0}, "its indices must be integers"},
      {"NonMaxSuppression", "x x one", NULL, 0, {0}, "its boxes are 1x2x8x8, expected images x boxes x 4"},
      {"NonMaxSuppression", "x x", NULL, 0, {0}, "without max_output_boxes_per_class it gives no boxes"},
      {"NonMaxSuppression", "x x zero", NULL, 0, {0}, "max_output_boxes_per_class 0: expected at least 1"},
      {"NonMaxSuppression", "x x minus", NULL, 0, {0}, "max_output_boxes_per_class -5: expected at least 1"},
      {"NonMaxSuppression", "x x two", NULL, 0, {0}, "its input 2 must be a single number"},
      {"NonMaxSuppression", "x x w", NULL, 0, {0}, "its input 2 must be a list of integers"},
      {"NonMaxSuppression",
       "x x x",
       NULL,
       0,
       {0},
       "NonMaxSuppression with a computed input 2; it must be a constant ('node')"},
      {"NonMaxSuppression",
       "x x one x",
       NULL,
       0,
       {0},
       "NonMaxSuppression with a computed input 3; it must be a constant ('node')"},
      {"NonMaxSuppression",
       "x x one _ x",
       NULL,
       0,
       {0},
       "NonMaxSuppression with a computed input 4; it must be a constant ('node')"},
      {"NonMaxSuppression", "x x one two", NULL, 0, {0}, "its input 3 must be a single number"},
      {"NonMaxSuppression",
       "w w one",
       NULL,
       0,
       {0},
       "NonMaxSuppression with constant boxes and scores ('node')"},
      {"NonMaxSuppression",
       "x x one",
       "center_point_box",
       1,
       {2},
       "its attribute 'center_point_box' must be an integer"},
      {"GatherND", "x one", NULL, 0, {0}, "its index 1 is not one of 1 entries"},
      {"CumSum", "x x", NULL, 0, {0}, "CumSum with a computed input 1; it must be a constant ('node')"},
      {"CumSum", "x two", NULL, 0, {0}, "its input 1 must be a single axis"},
      {"CumSum", "x none", NULL, 0, {0}, "its input 1 must be a single axis"},
      {"CumSum", "x w", NULL, 0, {0}, "its input 1 must be a list of integers"},
      {"CumSum", "x most", NULL, 0, {0}, "axis 9223372036854775807 is not one of the 4 dimensions"},
      {"CumSum", "x minus", NULL, 0, {0}, "axis -5 is not one of the 4 dimensions"},
      {"CumSum", "x one", "exclusive", 2, {0, 1}, "its attribute 'exclusive' must be an integer"},
      {"Loop", "x", NULL, 0, {0}, "1 node is not supported: Loop ('node')"},
  };
  static const float w[2 * 2 * 9];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_text g = graph_of("1x2x8x8", "y"), attributes = {0};
    put_floats(&g, "w", 4, DIMS(2, 2, 3, 3), w, 36);
    put_ints(&g, "two", 2, DIMS(5, 7));
    put_ints(&g, "zero", 1, DIMS(0));
    put_ints(&g, "zeros", 2, DIMS(0, 0));
    put_ints(&g, "one", 1, DIMS(1));
    put_ints(&g, "huge", 2, DIMS(1 << 30, 1 << 30));
    put_ints(&g, "large", 1, DIMS(1 << 20));
    put_ints(&g, "long", 1, DIMS(INT64_C(1) << 40));
    put_ints(&g, "minus", 1, DIMS(-5));
    put_ints(&g, "none", 0, NULL);
    put_ints(&g, "most", 1, DIMS(INT64_MAX));
    if (cases[i].attr) put_attr_ints(&attributes, cases[i].attr, cases[i].n, cases[i].ints);
    put_node(&g, "node", cases[i].op, cases[i].in, "y", &attributes);
    refuses(&g, cases[i].message);
  }
}

/* ---- whole numbers ---- */

/* A label of 0 to 4, and what is made of it. */
static pz_text labels_of(const char *op, const char *in, pz_text *attributes) {
  pz_text g = graph_of("1x5x4x4", "y"), to_bytes = {0}, axis = {0};
  put_ints(&g, "seven", 1, DIMS(7));
  put_ints(&g, "one", 1, DIMS(1));
  put_ints(&g, "none", 1, DIMS(0));
  put_ints(&g, "large", 1, DIMS(1 << 24));
  put_ints(&g, "larger", 1, DIMS((1 << 24) + 1));
  put_attr_int(&to_bytes, "to", 2);
  put_attr_int(&axis, "axis", 1);
  put_info(&g, 11, "n", 7, "1x1x4x4");
  put_node(&g, "a", "ArgMax", "x", "label", &axis);
  put_node(&g, "b", "Cast", "label", "byte", &to_bytes);
  put_node(&g, "node", op, in, "y", attributes);
  return g;
}

static void whole_numbers(void **state) {
  (void)state;
  static const struct {
    const char *op, *in, *message; /* NULL: accepted */
  } cases[] = {
      {"Add", "label seven", NULL},
      {"Mul", "byte byte", NULL},
      {"Div", "label seven", NULL},
      {"Mod", "byte byte", "Mod with a divisor of type uint8 that may be 0 or less ('node')"},
      {"Div", "label none", "a divisor of type int64 that may be 0 or less"},
      {"Add", "label large",
       "int64 that may be 1.67772e+07 to 1.67772e+07: whole numbers are exact up to 2^24"},
      {"Mul", "label large", "that may be 0 to 6.71089e+07"},
      {"Add", "n seven", "Add with computed values of type int64 that may be -9.22337e+18 to 9.22337e+18"},
      {"Max", "label larger", "its input 'larger' holds the integer 16777217, which 32-bit floats do not"},
      {"Equal", "label larger", "its input 'larger' holds the integer 16777217"},
      {"Clip", "label larger", "Clip with bounds of whole numbers beyond 2^24 ('node')"},
      {"Clip", "label seven", NULL},
      {"Add", "label byte", "its inputs differ in type"},
      {"Gather", "seven label", "Gather with computed indices that may be 0 to 4, of 1 entries ('node')"},
      {"Gather", "seven n", "Gather with computed indices that may be -9.22337e+18 to 9.22337e+18, of 1"},
      {"CumSum", "label one", NULL},
      {"CumSum", "n one", "CumSum with computed values of type int64 that may be"},
      {"Pow", "label seven", "Pow with computed values of type int64 ('node')"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_text g = labels_of(cases[i].op, cases[i].in, NULL);
    if (cases[i].message) refuses(&g, cases[i].message);
    else accepts(&g);
  }
  pz_text to_float = {0}, to_byte = {0};
  put_attr_int(&to_float, "to", 1);
  pz_text g = labels_of("Cast", "n", &to_float);
  accepts(&g);
  put_attr_int(&to_byte, "to", 2);
  g = labels_of("Cast", "n", &to_byte);
  refuses(&g, "Cast with computed values cast from int64 to uint8 ('node')");
}

/* ---- boxes: rows whose number is not known ---- */

/* 1x6x4 boxes and 1x2x6 scores; kept: 4 of each class at most. */
static pz_text boxes_of(float overlap, float score) {
  pz_text g = graph_of("1x6x4", "y"), class = {0}, box = {0};
  put_info(&g, 11, "scores", 1, "1x2x6");
  put_info(&g, 11, "few", 1, "1x2x5");
  put_ints(&g, "four", 1, DIMS(4));
  put_ints(&g, "all", 1, DIMS(INT64_MAX));
  put_ints(&g, "line", 1, DIMS(-1));
  put_ints(&g, "eight", 1, DIMS(8));
  put_ints(&g, "box_column", 1, DIMS(2));
  put_ints(&g, "class_column", 1, DIMS(1));
  put_ints(&g, "first", 1, DIMS(0));
  put_floats(&g, "overlap", 1, DIMS(1), &overlap, 1);
  put_floats(&g, "score", 1, DIMS(1), &score, 1);
  put_node(&g, "nms", "NonMaxSuppression", "x scores four overlap score", "kept", NULL);
  put_attr_int(&class, "axis", 1), put_attr_int(&box, "axis", 1);
  put_node(&g, "c", "Gather", "kept class_column", "class", &class);
  put_node(&g, "b", "Gather", "kept box_column", "box", &box);
  put_node(&g, "r", "Squeeze", "x first", "rows", NULL);
  return g;
}

static void boxes(void **state) {
  (void)state;
  static const struct {
    const char *op, *in, *attribute;
    int64_t value;
    const char *message; /* NULL: accepted */
  } cases[] = {
      {"Identity", "kept", NULL, 0, NULL},
      {"Gather", "rows box", "axis", 0, NULL},
      {"Gather", "x box", "axis", 1,
       "Gather with rows of NonMaxSuppression's result, whose number is not known"},
      {"Gather", "rows class", "axis", 0, NULL},
      {"Gather", "scores class", "axis", 2, "Gather with rows of NonMaxSuppression's result"},
      {"Gather", "kept first", "axis", 0, "Gather with rows of NonMaxSuppression's result"},
      {"Gather", "kept box", "axis", 0, "Gather with rows of NonMaxSuppression's result"},
      {"GatherND", "scores kept", NULL, 0, NULL},
      {"GatherND", "x kept", NULL, 0,
       "GatherND with computed indices that may be 0 to 5, of 4 entries ('node')"},
      {"GatherND", "few kept", NULL, 0,
       "GatherND with computed indices that may be 0 to 5, of 5 entries ('node')"},
      {"GatherND", "scores kept", "batch_dims", 1, "GatherND with rows of NonMaxSuppression's result"},
      {"Add", "class box", NULL, 0, NULL},
      {"Add", "class four", NULL, 0, NULL},
      {"Add", "kept scores", NULL, 0, "Add with rows of NonMaxSuppression's result"},
      {"Concat", "class box kept", "axis", 1, NULL},
      {"Concat", "class box", "axis", 0, "Concat with rows of NonMaxSuppression's result"},
      {"Concat", "kept kept", "axis", -2, "Concat with rows of NonMaxSuppression's result"},
      {"Cast", "box", "to", 1, NULL},
      {"Cast", "box", "to", 2, "output with rows of NonMaxSuppression's result as uint8"},
      {"Equal", "box four", NULL, 0,
       "output with rows of NonMaxSuppression's result as bool, which has no -1"},
      {"Shape", "kept", NULL, 0, "Shape with rows of NonMaxSuppression's result"},
      {"ReduceMax", "kept", "keepdims", 1, "ReduceMax with rows of NonMaxSuppression's result"},
      {"Reshape", "box line", NULL, 0, NULL},
      {"Reshape", "kept line", NULL, 0, "Reshape with rows of NonMaxSuppression's result"},
      {"Slice", "kept first four first", NULL, 0, "Slice with rows of NonMaxSuppression's result"},
      {"Slice", "kept first class_column class_column", NULL, 0, NULL},
      {"Transpose", "kept", NULL, 0, "Transpose with rows of NonMaxSuppression's result"},
      {"NonMaxSuppression", "x few four", NULL, 0,
       "its scores are 1x2x5, expected 1 x classes x 6 for its boxes"},
      {"NonMaxSuppression", "x scores all overlap", NULL, 0, NULL},
      {"NonMaxSuppression", "x scores all score", NULL, 0, "iou_threshold -1: expected 0 to 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_text g = boxes_of(0.5f, -1), attribute = {0};
    if (cases[i].attribute) put_attr_int(&attribute, cases[i].attribute, cases[i].value);
    put_node(&g, "node", cases[i].op, cases[i].in, "y", &attribute);
    if (cases[i].message) refuses(&g, cases[i].message);
    else accepts(&g);
  }
}

static void thresholds(void **state) {
  (void)state;
  static const struct {
    float overlap, score;
    const char *message; /* NULL: accepted */
  } cases[] = {
      {0, 0, NULL},
      {1, FLT_MAX, NULL},
      {1.0000001f, 0, "(NonMaxSuppression): iou_threshold 1: expected 0 to 1"},
      {-0.25f, 0, "iou_threshold -0.25: expected 0 to 1"},
      {NAN, 0, "iou_threshold nan: expected 0 to 1"},
      {0.5f, NAN, "score_threshold is not a number"},
      {0.5f, INFINITY, "an infinite score_threshold: leave it out to take all boxes"},
      {0.5f, -INFINITY, "an infinite score_threshold: leave it out to take all boxes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_text g = boxes_of(cases[i].overlap, cases[i].score);
    put_node(&g, "node", "Identity", "kept", "y", NULL);
    if (cases[i].message) refuses(&g, cases[i].message);
    else accepts(&g);
  }
}

/* ---- what computing constants may take, whatever the machine has ---- */

static void refuses_work(pz_text *graph, const char *message) {
  pz_graph *g;
  pz_error err = {0};
  const pz_status status =
      pz_onnx_import_within(write_model("net.onnx", 17, graph), NULL, INT64_MAX / 16, &g, &err);
  if (status != PZ_ERROR_INPUT || !strstr(err.message, message)) fail_msg("%d %s", status, err.message);
}

static void work(void **state) {
  (void)state;
  pz_text g = graph_of("1x1", "y"), kernel = {0};
  put_ints(&g, "huge", 3, DIMS(1 << 10, 1 << 10, 1 << 10));
  put_node(&g, "zeros", "ConstantOfShape", "huge", "y", NULL);
  refuses_work(&g, "the constants that nodes compute up to here take more than 800.0 MB");
  g = graph_of("1x1", "y");
  put_ints(&g, "image", 4, DIMS(1, 1, 1 << 10, 1 << 10));
  put_ints(&g, "window", 4, DIMS(1, 1, 64, 64));
  put_node(&g, "zeros", "ConstantOfShape", "image", "a", NULL);
  put_node(&g, "weights", "ConstantOfShape", "window", "b", NULL);
  put_node(&g, "conv", "Conv", "a b", "y", NULL);
  refuses_work(&g, "'conv': the constants up to here take more than 1e+09 multiply-adds to compute");
  g = graph_of("1x1", "y");
  put_ints(&g, "image", 4, DIMS(1, 1, 1 << 10, 1 << 10));
  put_node(&g, "zeros", "ConstantOfShape", "image", "a", NULL);
  put_attr_ints(&kernel, "kernel_shape", 2, DIMS(64, 64));
  put_node(&g, "pool", "MaxPool", "a", "y", &kernel);
  refuses_work(&g, "'pool': the constants up to here take more than");
  g = graph_of("1x1", "y");
  put_ints(&g, "small", 1, DIMS(1 << 13));
  put_ints(&g, "other", 2, DIMS(1 << 13, 1));
  put_node(&g, "row", "ConstantOfShape", "small", "a", NULL);
  put_node(&g, "column", "ConstantOfShape", "other", "b", NULL);
  put_node(&g, "outer", "Mean", "a b", "y", NULL);
  refuses_work(&g, "'outer': computing this constant takes");
}

/* Branches in branches: as deep as the importer goes, and deeper. */
static pz_text nested(int depth) {
  pz_text branch = {0}, attributes = {0}, a = {0};
  char name[16];
  snprintf(name, sizeof name, "y%d", depth);
  put_output(&branch, name);
  if (!depth) {
    put_node(&branch, "", "Relu", "x", name, NULL);
    return branch;
  }
  pz_text inner = nested(depth - 1);
  put_string(&a, 1, "then_branch");
  put_number(&a, 20, 5);
  put_message(&a, 6, &inner);
  put_message(&attributes, 5, &a);
  put_node(&branch, "", "If", "one", name, &attributes);
  return branch;
}

static void branches(void **state) {
  (void)state;
  for (int depth = 8; depth <= 9; depth++) {
    pz_text g = nested(depth);
    put_input(&g, "x", "1x2");
    put_ints(&g, "one", 1, DIMS(1));
    if (depth == 8) accepts(&g);
    else refuses(&g, "If with more than 8 graphs in graphs ('If_0')");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_models),
      cmocka_unit_test(weights_are_within),
      cmocka_unit_test(names),
      cmocka_unit_test(all_at_once),
      cmocka_unit_test(behind_refused_nodes),
      cmocka_unit_test(products_behind),
      cmocka_unit_test(behind_with_shapes),
      cmocka_unit_test(failures_among_refusals),
      cmocka_unit_test(many_kinds),
      cmocka_unit_test(advice),
      cmocka_unit_test(many),
      cmocka_unit_test(functions),
      cmocka_unit_test(symbolic_shapes),
      cmocka_unit_test(shared_symbols),
      cmocka_unit_test(odd_names),
      cmocka_unit_test(odd_inputs),
      cmocka_unit_test(tensors),
      cmocka_unit_test(lost_weights),
      cmocka_unit_test(external_data),
      cmocka_unit_test(operators),
      cmocka_unit_test(whole_numbers),
      cmocka_unit_test(boxes),
      cmocka_unit_test(thresholds),
      cmocka_unit_test(work),
      cmocka_unit_test(branches),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
