/* bench_accuracy: the relative L2 error of a network's results, by what its inputs are like.
 *
 *   bench_accuracy MODEL WEIGHTS NAME=SHAPE LEAST GREATEST [TYPE]
 *
 * Compiles MODEL (WEIGHTS: a file, init:SEED, or - for none) with --effort estimate for each instruction set that this machine has, by default and
 * with --precision exact. Inputs are uniform from LEAST to GREATEST, whole numbers where TYPE (f32) is of integers. Prints the
 * largest error of a result against the double-precision reference, on the same inputs. (doc/accuracy.md) */
#include "api/api.h"
#include "pznet/pznet.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PORTS = 16 };

typedef struct bench {
  const char *model;
  pz_compile_options options;
  double least, greatest;
  float *inputs[PORTS];   /* values */
  double *outputs[PORTS]; /* the reference's */
  int32_t n_inputs, n_outputs;
} bench;

static void need(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "bench_accuracy: %s\n", what);
  exit(1);
}

static float *draw(const bench *b, int64_t n, uint64_t *random) {
  float *values = malloc((size_t)n * sizeof *values);
  need(values != NULL, "no memory");
  for (int64_t i = 0; i < n; i++) {
    const double v = b->least + (b->greatest - b->least) * ((double)pz_next_uniform(random) + 1) / 2;
    values[i] = (float)(b->options.n_input_types ? nearbyint(v) : v);
  }
  return values;
}

static void run_reference(bench *b) {
  pz_model model;
  pz_error err = {0};
  uint64_t random = 1;
  need(pz_model_load(b->model, &b->options, &model, &err) == PZ_OK, err.message);
  const pz_graph *g = model.before;
  b->n_inputs = g->n_inputs, b->n_outputs = g->n_outputs;
  need(g->n_inputs <= PORTS && g->n_outputs <= PORTS, "too many inputs or outputs");
  for (int32_t i = 0; i < g->n_inputs; i++)
    b->inputs[i] = draw(b, pz_shape_elements(&g->tensors[g->inputs[i]].shape), &random);
  for (int32_t i = 0; i < g->n_outputs; i++) {
    b->outputs[i] = malloc((size_t)pz_shape_elements(&g->tensors[g->outputs[i]].shape) * sizeof(double));
    need(b->outputs[i] != NULL, "no memory");
  }
  need(pz_reference_run(g, (const float *const *)b->inputs, b->outputs, NULL, NULL, &err) == PZ_OK,
       err.message);
  pz_model_free(&model);
}

static double run_network(const bench *b, const char *network) {
  pz_net *net;
  void *in[PORTS], *out[PORTS];
  double largest = 0;
  need(pz_net_open(network, NULL, &net) == PZ_OK, pz_last_message());
  for (int32_t i = 0; i < b->n_inputs + b->n_outputs; i++) {
    const bool input = i < b->n_inputs;
    const int32_t index = input ? i : i - b->n_inputs;
    pz_port port;
    need((input ? pz_net_input : pz_net_output)(net, index, &port) == PZ_OK, pz_last_message());
    void **data = input ? &in[index] : &out[index];
    *data = malloc((size_t)port.bytes);
    need(*data != NULL, "no memory");
    if (input)
      pz_elements_from((pz_element){port.dtype, port.scale, port.zero_point}, b->inputs[i], port.elements,
                       *data);
  }
  need(pz_net_run(net, (const void *const *)in, out) == PZ_OK, pz_last_message());
  for (int32_t i = 0; i < b->n_outputs; i++) {
    pz_port port;
    pz_net_output(net, i, &port);
    largest = fmax(largest, pz_relative_error(out[i], b->outputs[i], port.elements));
    free(out[i]);
  }
  for (int32_t i = 0; i < b->n_inputs; i++) free(in[i]);
  pz_net_close(net);
  return largest;
}

static void measure(bench *b, const char *isa, const char *precision, const char *network) {
  b->options.isa = isa, b->options.precision = precision;
  if (pz_compile(b->model, network, &b->options, NULL) != PZ_OK) {
    printf("%-7s %-8s %s\n", isa, precision, pz_last_message());
    return;
  }
  if (access(network, R_OK) == 0) printf("%-7s %-8s %.2g\n", isa, precision, run_network(b, network));
  unlink(network);
}

int main(int n, char **arg) {
  need(n >= 6, "usage: bench_accuracy MODEL WEIGHTS NAME=SHAPE LEAST GREATEST [TYPE]");
  const char *shape = arg[3], *type = n > 6 ? arg[6] : NULL;
  bench b = {.model = arg[1], .least = strtod(arg[4], NULL), .greatest = strtod(arg[5], NULL)};
  b.options = (pz_compile_options){.weights = strcmp(arg[2], "-") ? arg[2] : NULL,
                                   .effort = "estimate",
                                   .input_shapes = &shape,
                                   .n_input_shapes = 1,
                                   .input_types = &type,
                                   .n_input_types = type ? 1 : 0};
  char network[] = "/tmp/bench_accuracy.XXXXXX";
  const int file = mkstemp(network);
  need(file >= 0, "no temporary file");
  close(file);
  run_reference(&b);
  static const char *const isa[] = {"amx", "avx512", "avx2"};
  for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
    measure(&b, isa[i], "default", network);
    measure(&b, isa[i], "exact", network);
  }
  for (int32_t i = 0; i < PORTS; i++) free(b.inputs[i]), free(b.outputs[i]);
  return 0;
}
