/* verb_bench.c: pznet bench. */
#include "plot.h"
#include "tool.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct state {
  int32_t runs, warmup;
  pz_net_options net;
  bool json, layers;
  const char *plot;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  if (!strcmp(name, "runs")) return tool_int(name, value, 1, 1000000, &s->runs);
  if (!strcmp(name, "warmup")) return tool_int(name, value, 0, 1000000, &s->warmup);
  if (!strcmp(name, "threads")) return tool_int(name, value, 0, 4096, &s->net.threads);
  if (!strcmp(name, "digest")) return s->net.digest = value, true;
  if (!strcmp(name, "target")) return s->net.target = value, true;
  if (!strcmp(name, "plot")) s->plot = value;
  else if (!strcmp(name, "layers")) s->layers = true;
  else if (!strcmp(name, "map")) s->net.share_weights = true;
  else s->json = true;
  return true;
}

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
static const char *text(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "?";
}

/* "87.5" where there is arithmetic, "-" where a layer only moves data. */
static const char *figure(double value, double multiply_adds, char out[24]) {
  if (multiply_adds > 0) snprintf(out, 24, "%.1f", value);
  else strcpy(out, "-");
  return out;
}

static void print_layers(const json_t *report) {
  const json_t *layers = json_object_get(report, "layers"), *row;
  size_t i;
  char rate[24], reach[24], name[TOOL_NAME];
  tool_print("%-28s %-14s %-58s %9s %6s %8s %7s %7s\n", "layer", "operator", "algorithm", "ms", "share",
             "GFLOP/s", "% reach", "GB/s");
  json_array_foreach(layers, i, row) {
    const double multiply_adds = number(row, "multiply_adds");
    tool_print("%-28s %-14s %-58s %9.3f %5.1f%% %8s %7s %7.1f\n", tool_name(text(row, "layer"), name),
               text(row, "op"), text(row, "algorithm"), number(row, "milliseconds"),
               100 * number(row, "share"), figure(number(row, "gflops"), multiply_adds, rate),
               figure(number(row, "percent_of_algorithm"), multiply_adds, reach),
               number(row, "gbytes_per_second"));
  }
  puts("GFLOP/s: effective, of the direct algorithm. % reach: of what the layer's own algorithm would reach "
       "with all its\nmultiply-adds at the measured peak.\n");
}

static void print_summary(const char *network, const json_t *r) {
  char memory[16];
  tool_print(
      "%s, %d thread%s: median %.3f ms (%.3f to %.3f over %d runs), %.1f GFLOP/s effective, %.1f%% of the "
      "multiply-add peak\nof %.1f GFLOP/s measured in the same run; memory %s, opened in %.1f ms\n",
      network, (int)number(r, "threads"), number(r, "threads") == 1 ? "" : "s", number(r, "median_ms"),
      number(r, "min_ms"), number(r, "max_ms"), (int)number(r, "runs"), number(r, "gflops"),
      number(r, "percent_of_peak"), number(r, "peak_gflops"), tool_size(number(r, "memory_bytes"), memory),
      number(r, "open_ms"));
}

static int show(const state *s, const char *network, const char *text_of_report) {
  json_t *report = tool_report(text_of_report);
  if (!report) return PZ_ERROR_RUN;
  int status = 0;
  if (s->json) puts(text_of_report);
  if (!s->json && s->layers) print_layers(report);
  if (!s->json) print_summary(network, report);
  if (s->plot && !tool_plot_layers(s->plot, network, report)) status = PZ_ERROR_INPUT;
  json_decref(report);
  return status;
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.runs = 60, .warmup = 10};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  if (n != 1) return tool_usage(verb, "name the network file");
  if (s.plot && !tool_plot_can(s.plot))
    return tool_usage(verb, "--plot %s: expected a name that ends with .html or .svg", s.plot);
  char *report;
  pz_net *net;
  pz_status status = pz_net_open(args[0], &s.net, &net);
  if (status == PZ_OK) status = pz_bench_net(net, s.runs, s.warmup, &report);
  pz_net_close(net);
  if (status != PZ_OK) return tool_fail(status);
  const int result = show(&s, args[0], report);
  pz_free(report);
  return result;
}

static const tool_option options[] = {
    {"layers", 'l', NULL, "print a row for each layer"},
    {"plot", 'p', "FILE", "draw the layers' times, in order, into FILE.html or FILE.svg"},
    {"runs", 'r', "N", "timed runs; default 60"},
    {"warmup", 0, "N", "runs before these; default 10"},
    TOOL_DIGEST_OPTION,
    TOOL_VARIANT_OPTION,
    {"threads", 't', "N", "threads; default: the cores that this process may use"},
    {"map", 0, NULL, "map the file instead of reading it, so that perf and debuggers find its code"},
    {"json", 0, NULL, "print the report as JSON, layers included"},
    {0},
};
const tool_verb verb_bench = {
    "bench",
    "NET.so [options]",
    "time a network file, layer by layer",
    "Times a network file on a random input: median, spread, effective GFLOP/s (of the direct algorithm), "
    "the\n"
    "percentage of the multiply-add peak that is measured in the same run. With --layers a row for each "
    "layer: time,\n"
    "share, effective GFLOP/s, and the percentage of what its own algorithm could reach at that "
    "peak.\n" TOOL_PROGRAM,
    options,
    run};
