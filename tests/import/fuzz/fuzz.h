/* fuzz.h: one input of a fuzzer as a file in memory, imported within limits that keep a run short. */
#ifndef PZ_TESTS_IMPORT_FUZZ_H
#define PZ_TESTS_IMPORT_FUZZ_H

#include "import/caffe/import.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The network that weights are read for: legacy and scalar shapes, several blobs, shared weights. */
#define FUZZ_NET                                                                                             \
  "input: 'x' input_shape { dim: [1, 2, 5, 5] }\n"                                                           \
  "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 3 "            \
  "kernel_size: 2 } }\n"                                                                                     \
  "layer { name: 'b' type: 'BatchNorm' bottom: 'c' top: 'b' }\n"                                             \
  "layer { name: 'p' type: 'PReLU' bottom: 'b' top: 'p' param { name: 's' } prelu_param { channel_shared: "  \
  "true } }\n"                                                                                               \
  "layer { name: 'q' type: 'PReLU' bottom: 'p' top: 'q' param { name: 's' } prelu_param { channel_shared: "  \
  "true } }\n"

static inline const char *fuzz_path(const char *suffix) {
  static char path[2][80];
  char *out = path[suffix[1] == 'n'];
  snprintf(out, sizeof path[0], "/dev/shm/pznet-fuzz-%ld%s", (long)getpid(), suffix);
  return out;
}

static inline const char *fuzz_file(const char *suffix, const void *data, size_t size) {
  const char *path = fuzz_path(suffix);
  FILE *file = fopen(path, "wb");
  bool written = file && fwrite(data, 1, size, file) == size;
  if (file && fclose(file) != 0) written = false;
  return written ? path : NULL;
}

/* A failure without a message of one line is a finding; so is a graph that does not verify. */
static inline int fuzz_import(const char *prototxt, const char *weights) {
  pz_import_options options = {.weights = weights};
  pz_graph *g = NULL;
  pz_error err = {0};
  if (!prototxt || !weights) return 0;
  pz_status status = pz_caffe_import_within(prototxt, &options, 100000, &g, &err);
  if (status != PZ_OK && (g || !err.message[0] || strchr(err.message, '\n'))) abort();
  if (status == PZ_OK && pz_graph_verify(g, &err) != PZ_OK) abort();
  pz_graph_free(g);
  unlink(fuzz_path(".in"));
  return 0;
}

static inline int fuzz_weights(const uint8_t *data, size_t size) {
  static const char *net;
  if (!net) net = fuzz_file(".net", FUZZ_NET, sizeof FUZZ_NET - 1);
  return fuzz_import(net, fuzz_file(".in", data, size));
}

#endif
