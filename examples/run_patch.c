/* run_patch.c: opens a network file with libpznet-runtime, says what it takes and gives, and runs one patch of zeros.
 *
 *     cc run_patch.c $(pkg-config --cflags --libs pznet-runtime) -o run_patch && ./run_patch net.so */
#include <pznet/pznet.h>
#include <stdio.h>
#include <stdlib.h>

typedef pz_status (*describe)(const pz_net *, int32_t, pz_port *);

/* A zeroed buffer for each input or output, and a line about it. */
static void **make_buffers(const pz_net *net, const char *what, int32_t n, describe get) {
  void **buffers = calloc((size_t)n, sizeof *buffers);
  for (int32_t i = 0; buffers && i < n; i++) {
    pz_port port;
    if (get(net, i, &port) != PZ_OK) return NULL;
    printf("%s %s:", what, port.name);
    for (int32_t k = 0; k < port.rank; k++) printf(" %lld", (long long)port.dim[k]);
    printf("\n");
    buffers[i] = calloc(1, (size_t)port.bytes);
    if (!buffers[i]) return NULL;
  }
  return buffers;
}

static void free_buffers(void **buffers, int32_t n) {
  for (int32_t i = 0; buffers && i < n; i++) free(buffers[i]);
  free(buffers);
}

static pz_status run(pz_net *net) {
  const int32_t n_in = pz_net_inputs(net), n_out = pz_net_outputs(net);
  void **in = make_buffers(net, "input", n_in, pz_net_input);
  void **out = make_buffers(net, "output", n_out, pz_net_output);
  const pz_status status = in && out ? pz_net_run(net, (const void *const *)in, out) : PZ_ERROR_MEMORY;
  for (int32_t i = 0; status == PZ_OK && i < n_out; i++) {
    pz_port port;
    if (pz_net_output(net, i, &port) == PZ_OK && port.dtype == PZ_F32)
      printf("first number: %g\n", *(const float *)out[i]);
  }
  free_buffers(in, n_in);
  free_buffers(out, n_out);
  return status;
}

int main(int argc, char **argv) {
  pz_net *net;
  if (argc != 2) return fprintf(stderr, "usage: run_patch NET.so\n"), PZ_ERROR_USAGE;
  pz_status status = pz_net_open(argv[1], NULL, &net);
  if (status == PZ_OK) status = run(net);
  if (status != PZ_OK) fprintf(stderr, "run_patch: %s\n", pz_last_message());
  pz_net_close(net);
  return (int)status;
}
