/* Networks of this repository, and third-party ones that lie beside it; without those the test ends as skipped. */
#include "fixture.h"
#include <unistd.h>

#define THIRD_PARTY "../shared/models/caffe/"

static const struct model {
  const char *path, *input, *output;
  const char *in_shape, *out_shape;
  int32_t nodes;
  const char *override; /* a smaller batch */
  pz_shape shape;
} models[] = {
    {"models/original.prototxt", "input", "output", "1x1x108x108x108", "1x3x20x20x20", 70, NULL, {0}},
    {"models/symmetric.prototxt", "input", "output", "1x1x64x64x64", "1x3x64x64x64", 67, NULL, {0}},
    {"models/residual.prototxt", "input", "output", "1x1x18x160x160", "1x3x18x160x160", 135, NULL, {0}},
    {"examples/membrane/membrane.prototxt",
     "input",
     "output",
     "1x1x8x160x160",
     "1x1x8x160x160",
     106,
     NULL,
     {0}},
    {THIRD_PARTY "resnet_50.prototxt", "data", "prob", "50x3x224x224", "50x1000", 228, NULL, {0}},
    {THIRD_PARTY "googlenet_v3.prototxt", "data", "prob", "22x3x299x299", "22x1000", 311, NULL, {0}},
    {THIRD_PARTY "ssd.prototxt", "data", "detection_out", "1x3x300x300", "1x1x200x7", 105, NULL, {0}},
    {THIRD_PARTY "vgg16.prototxt",
     "data",
     "prob",
     "2x3x224x224",
     "2x1000",
     39,
     "data",
     {4, {2, 3, 224, 224}}},
    {THIRD_PARTY "alexnet.prototxt",
     "data",
     "prob",
     "1x3x227x227",
     "1x1000",
     23,
     "data",
     {4, {1, 3, 227, 227}}},
};

static void check_model(const struct model *m) {
  pz_import_shape shape = {m->override, m->shape};
  pz_import_options options = {.weights = "init:1", .shapes = &shape, .n_shapes = m->override != NULL};
  pz_graph *g;
  pz_error err = {0};
  char text[PZ_SHAPE_TEXT];
  if (pz_import_caffe(m->path, &options, &g, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(g->n_inputs, 1);
  assert_int_equal(g->n_outputs, 1);
  assert_int_equal(g->n_nodes, m->nodes);
  assert_string_equal(g->tensors[g->inputs[0]].name, m->input);
  assert_string_equal(g->tensors[g->outputs[0]].name, m->output);
  assert_string_equal(shape_of(g, m->input, text), m->in_shape);
  assert_string_equal(shape_of(g, m->output, text), m->out_shape);
  pz_graph_free(g);
}

static void own_models(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (strncmp(models[i].path, "..", 2)) check_model(&models[i]);
}

static void third_party_models(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    if (!strncmp(models[i].path, "..", 2)) check_model(&models[i]);
}

int main(void) {
  const struct CMUnitTest own[] = {cmocka_unit_test(own_models)};
  const struct CMUnitTest others[] = {cmocka_unit_test(third_party_models)};
  int failed = cmocka_run_group_tests(own, NULL, NULL);
  if (access(THIRD_PARTY "ssd.prototxt", R_OK) == 0)
    return failed + cmocka_run_group_tests(others, NULL, NULL);
  printf("skipped: " THIRD_PARTY " is not here\n");
  return failed ? failed : 77;
}
