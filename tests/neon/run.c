/* run NET FOLDER: a network file on what `reference` has written. Its results are within 1e-5 (relative L2 error, as pznet promises) of double
 * precision, and of the same bits for 1, 2 and 3 threads. */
#include "pznet/pznet.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS = 8, MOST_THREADS = 3 };
#define TOLERANCE 1e-5

static int fail(const char *what) { return fprintf(stderr, "run: %s\n", what), 1; }

/* NULL: the file has not so many bytes. The caller frees it. */
static void *read_file(const char *folder, const char *kind, int32_t i, size_t bytes) {
  char path[4096], *data = malloc(bytes + 1);
  snprintf(path, sizeof path, "%s/%s%d", folder, kind, (int)i);
  FILE *file = fopen(path, "rb");
  const bool whole = file && data && fread(data, 1, bytes + 1, file) == bytes;
  if (file) fclose(file);
  if (whole) return data;
  free(data);
  return NULL;
}

/* Of results that are not finite infinity. */
static double relative_error(const float *got, const double *want, int64_t n) {
  double difference = 0, all = 0;
  for (int64_t i = 0; i < n; i++) {
    const double d = (double)got[i] - want[i];
    difference += d * d, all += want[i] * want[i];
  }
  const double error = sqrt(difference / all);
  return isfinite(error) ? error : INFINITY;
}

typedef struct ports {
  void *in[PORTS];
  float *out[MOST_THREADS][PORTS];
  double *want[PORTS];
} ports;

static bool take(const pz_net *net, const char *folder, int threads, ports *p) {
  pz_port port;
  for (int32_t i = 0; i < pz_net_inputs(net); i++)
    if (i >= PORTS || pz_net_input(net, i, &port) != PZ_OK ||
        !(threads > 1 || (p->in[i] = read_file(folder, "in", i, (size_t)port.bytes))))
      return false;
  for (int32_t i = 0; i < pz_net_outputs(net); i++)
    if (i >= PORTS || pz_net_output(net, i, &port) != PZ_OK || port.dtype != PZ_F32 ||
        !(p->out[threads - 1][i] = malloc((size_t)port.bytes)) ||
        !(threads > 1 || (p->want[i] = read_file(folder, "out", i, (size_t)port.elements * sizeof(double)))))
      return false;
  return true;
}

static int compare(const pz_net *net, int threads, const ports *p) {
  for (int32_t i = 0; i < pz_net_outputs(net); i++) {
    pz_port port;
    (void)pz_net_output(net, i, &port);
    const double error = relative_error(p->out[threads - 1][i], p->want[i], port.elements);
    if (memcmp(p->out[0][i], p->out[threads - 1][i], (size_t)port.bytes))
      return fail("another number of threads gives other bits");
    if (threads == 1) printf("%s: relative error %.3g\n", port.name, error);
    if (!(error <= TOLERANCE)) return fail("that is more than 1e-5");
  }
  return 0;
}

static int run(const char *path, const char *folder, int threads, ports *p) {
  pz_net *net;
  const pz_net_options options = {.threads = threads};
  if (pz_net_open(path, &options, &net) != PZ_OK) return fail(pz_last_message());
  int status = take(net, folder, threads, p) ? 0 : fail("not the inputs and outputs of this network");
  if (!status && pz_net_run(net, (const void *const *)p->in, (void *const *)p->out[threads - 1]) != PZ_OK)
    status = fail(pz_last_message());
  if (!status) status = compare(net, threads, p);
  pz_net_close(net);
  return status;
}

int main(int argc, char **argv) {
  static ports p;
  if (argc != 3) return fprintf(stderr, "usage: run NET FOLDER\n"), 2;
  int status = 0;
  for (int threads = 1; threads <= MOST_THREADS && !status; threads++)
    status = run(argv[1], argv[2], threads, &p);
  for (int32_t i = 0; i < PORTS; i++) {
    free(p.in[i]), free(p.want[i]);
    for (int k = 0; k < MOST_THREADS; k++) free(p.out[k][i]);
  }
  return status;
}
