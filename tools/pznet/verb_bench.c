/* verb_bench.c: pznet bench. */
#include "tool.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct state {
  int32_t runs, warmup, threads;
  bool json;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  if (!strcmp(name, "runs")) return tool_int(name, value, 1, 1000000, &s->runs);
  if (!strcmp(name, "warmup")) return tool_int(name, value, 0, 1000000, &s->warmup);
  if (!strcmp(name, "threads")) return tool_int(name, value, 0, 4096, &s->threads);
  s->json = true;
  return true;
}

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
static const char *text(const json_t *o, const char *key) {
  return json_string_value(json_object_get(o, key));
}

static void print_report(const char *network, const char *report) {
  json_t *r = json_loads(report, 0, NULL), *layers = json_object_get(r, "layers"), *row;
  size_t i;
  char memory[16];
  printf("%-28s %-14s %-44s %9s %6s %9s %7s %7s\n", "layer", "operator", "algorithm", "ms", "share",
         "GFLOP/s", "% peak", "GB/s");
  json_array_foreach(layers, i, row)
      printf("%-28s %-14s %-44s %9.3f %5.1f%% %9.1f %7.1f %7.1f\n", text(row, "layer"), text(row, "op"),
             text(row, "algorithm"), number(row, "milliseconds"), 100 * number(row, "share"),
             number(row, "gflops"), number(row, "percent_of_peak"), number(row, "gbytes_per_second"));
  printf("\n%s, %d threads: median %.3f ms (%.3f to %.3f over %d runs), %.1f GFLOP/s effective, %.1f%% of "
         "the multiply-add peak "
         "of %.1f GFLOP/s\nmeasured in the same run; memory %s, opened in %.1f ms\n",
         network, (int)number(r, "threads"), number(r, "median_ms"), number(r, "min_ms"), number(r, "max_ms"),
         (int)number(r, "runs"), number(r, "gflops"), number(r, "percent_of_peak"), number(r, "peak_gflops"),
         tool_size(number(r, "memory_bytes"), memory), number(r, "open_ms"));
  json_decref(r);
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.runs = 60, .warmup = 10};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  if (n != 1) return tool_usage(verb, "name the network file");
  char *report;
  const pz_status status = pz_bench(args[0], s.threads, s.runs, s.warmup, &report);
  if (status != PZ_OK) return tool_fail(status);
  if (s.json) puts(report);
  else print_report(args[0], report);
  pz_free(report);
  return 0;
}

static const tool_option options[] = {
    {"runs", 'r', "N", "timed runs; default 60"},
    {"warmup", 0, "N", "runs before these; default 10"},
    {"threads", 't', "N", "threads; default: the cores that this process may use"},
    {"json", 0, NULL, "print the report as JSON"},
    {0},
};
const tool_verb verb_bench = {
    "bench",
    "NET.so [options]",
    "time a network file, layer by layer",
    "Times a network file on a random input: median, spread, effective GFLOP/s (of the direct algorithm), "
    "the\n"
    "percentage of the multiply-add peak that is measured in the same run, and a row for each layer.\n",
    options,
    run};
