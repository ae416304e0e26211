/* reference MODEL WEIGHTS INPUT=SHAPE FOLDER: a model's random inputs and what double precision makes of them, for a machine that has no compiler
 * half: FOLDER/in0, in1, ... of floats and FOLDER/out0, ... of doubles, dense, little-endian. The folder is there. */
#include "api/api.h"
#include "reference/reference.h"

#include <stdio.h>
#include <stdlib.h>

enum { PORTS = 8, SEED = 20261129 };

static int fail(const char *what) { return fprintf(stderr, "reference: %s\n", what), 1; }

static bool write_file(const char *folder, const char *kind, int32_t i, const void *data, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%d", folder, kind, (int)i);
  FILE *file = fopen(path, "wb");
  if (!file) return false;
  const bool written = fwrite(data, 1, bytes, file) == bytes;
  return fclose(file) == 0 && written;
}

static size_t elements(const pz_graph *g, pz_tensor_id id) {
  return (size_t)pz_shape_elements(&g->tensors[id].shape);
}

static int write_all(const pz_graph *g, const char *folder) {
  float *in[PORTS] = {0};
  double *out[PORTS] = {0};
  pz_error err = {0};
  bool good = g->n_inputs <= PORTS && g->n_outputs <= PORTS;
  for (int32_t i = 0; good && i < g->n_inputs; i++) {
    const size_t n = elements(g, g->inputs[i]);
    good = (in[i] = malloc(n * sizeof(float))) != NULL;
    if (good) pz_graph_random(SEED + (uint64_t)i, 1, (int64_t)n, in[i]);
    good = good && write_file(folder, "in", i, in[i], n * sizeof(float));
  }
  for (int32_t i = 0; good && i < g->n_outputs; i++)
    good = (out[i] = malloc(elements(g, g->outputs[i]) * sizeof(double))) != NULL;
  if (good && pz_reference_run(g, (const float *const *)in, out, NULL, NULL, &err) != PZ_OK)
    return fail(err.message);
  for (int32_t i = 0; good && i < g->n_outputs; i++)
    good = write_file(folder, "out", i, out[i], elements(g, g->outputs[i]) * sizeof(double));
  for (int32_t i = 0; i < PORTS; i++) free(in[i]), free(out[i]);
  return good ? 0 : fail("its files cannot be written, or are too many");
}

int main(int argc, char **argv) {
  if (argc != 5) return fprintf(stderr, "usage: reference MODEL WEIGHTS INPUT=SHAPE FOLDER\n"), 2;
  pz_compile_options options = PZ_COMPILE_OPTIONS;
  const char *const shapes[] = {argv[3]};
  options.weights = argv[2], options.input_shapes = shapes, options.n_input_shapes = 1;
  pz_model model;
  pz_error err = {0};
  if (pz_model_load(argv[1], &options, &model, &err) != PZ_OK) return fail(err.message);
  const int status = write_all(model.before, argv[4]);
  pz_model_free(&model);
  return status;
}
