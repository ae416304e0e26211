/* bench_costs.c: measures the candidates of networks into a tuning database, and makes no network files: what bench/costs runs.
 *
 *   bench_costs DATABASE EFFORT THREADS MODEL...        a line for each */
#include "pznet/pznet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What comes behind measuring is not wanted. */
typedef struct stage {
  volatile int over;
} stage;

static void progress(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  stage *s = host;
  (void)done, (void)total, (void)seconds;
  if (strncmp(what, "measuring ", 10) != 0 || !strcmp(what, "measuring errors")) s->over = 1;
}

static pz_status measure(const char *database, const char *effort, int threads, const char *model) {
  char output[] = "/tmp/bench_costs.so"; /* never written */
  stage s = {0};
  const bool caffe = strstr(model, ".prototxt") != NULL;
  const pz_compile_options options = {.weights = caffe ? "init:1" : NULL,
                                      .effort = effort,
                                      .tuning = database,
                                      .threads = threads,
                                      .cache = "none",
                                      .progress = progress,
                                      .progress_host = &s,
                                      .interrupt = &s.over};
  const pz_status status = pz_compile(model, output, &options, NULL);
  return status == PZ_INTERRUPTED && s.over ? PZ_OK : status;
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: bench_costs DATABASE EFFORT THREADS MODEL...\n");
    return 2;
  }
  for (int i = 4; i < argc; i++) {
    const pz_status status = measure(argv[1], argv[2], atoi(argv[3]), argv[i]);
    if (status != PZ_OK) {
      fprintf(stderr, "%s\n", pz_last_message());
      return (int)status;
    }
    printf("%s\n", argv[i]);
    fflush(stdout);
  }
  return 0;
}
