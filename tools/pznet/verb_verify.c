/* verb_verify.c: pznet verify. */
#include "tool.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct state {
  tool_model model;
  const char *path;
  pz_net_options net;
  bool json, quiet;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  bool good;
  if (tool_model_set(&s->model, name, value, &good)) return good;
  if (!strcmp(name, "model")) s->path = value;
  else if (!strcmp(name, "threads")) return tool_int(name, value, 0, 4096, &s->net.threads);
  else if (!strcmp(name, "digest")) s->net.digest = value;
  else if (!strcmp(name, "json")) s->json = true;
  else s->quiet = true;
  return true;
}

/* Of one variant, or of the file where it has one. */
static void print_variant(const char *network, const json_t *r) {
  const json_t *layers = json_object_get(r, "layers"), *row;
  const char *target = json_string_value(json_object_get(r, "target")),
             *isa = json_string_value(json_object_get(r, "isa"));
  char name[TOOL_NAME];
  size_t i;
  if (layers) tool_print("%-28s %-14s %-44s %s\n", "layer", "operator", "algorithm", "relative error");
  json_array_foreach(layers, i, row) {
    const json_t *e = json_object_get(row, "relative_error");
    tool_print("%-28s %-14s %-44s %.2e\n", tool_name(json_string_value(json_object_get(row, "layer")), name),
               json_string_value(json_object_get(row, "op")),
               json_string_value(json_object_get(row, "algorithm")),
               json_is_real(e) ? json_real_value(e) : (double)__builtin_nanf(""));
  }
  tool_print("%s", network);
  if (target) tool_print(" (%s, %s)", target, isa);
  tool_print(": self-test %s", json_string_value(json_object_get(r, "self_test")));
  if (layers)
    tool_print(
        "; %d tensors compared with the reference, largest relative error %.2e (allowed: in results %.1e, "
        "before them %.1e)",
        (int)json_integer_value(json_object_get(r, "compared")),
        json_number_value(json_object_get(r, "largest_relative_error")),
        json_number_value(json_object_get(r, "allowed_relative_error")),
        json_number_value(json_object_get(r, "allowed_inside")));
  tool_print("\n");
}

static bool print_report(const char *network, const char *report) {
  json_t *r = tool_report(report);
  const json_t *others = json_object_get(r, "variants"), *other;
  size_t i;
  if (!r) return false;
  print_variant(network, r);
  json_array_foreach(others, i, other) print_variant(network, other);
  json_decref(r);
  return true;
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.model.options = PZ_COMPILE_OPTIONS};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  if (n != 1) return tool_usage(verb, "name the network file");
  s.model.options.interrupt = tool_interrupt(NULL);
  char *report = NULL;
  s.net.target = s.model.options.target;
  const pz_status status = pz_verify_file(args[0], &s.net, s.path, &s.model.options, &report);
  if (report && s.json) puts(report);
  const bool shown = !report || s.json || s.quiet || print_report(args[0], report);
  pz_free(report);
  return status != PZ_OK ? tool_fail(status) : shown ? 0 : PZ_ERROR_RUN;
}

static const tool_option options[] = {
    {"model", 'm', "MODEL", "compare every tensor with the double-precision reference of this model"},
    TOOL_MODEL_OPTIONS,
    TOOL_DIGEST_OPTION,
    {"threads", 't', "N", "threads; default: the cores that this process may use"},
    {"json", 0, NULL, "print the report as JSON"},
    {"quiet", 'q', NULL, "print errors only"},
    {0},
};
const tool_verb verb_verify = {"verify",
                               "NET.so [--model NET.onnx|NET.prototxt [--weights FILE]] [options]",
                               "check a network file against its self-test and its model",
                               "Runs the stored self-test's input through the network file and compares the "
                               "result with the stored one. With the\n"
                               "model, every tensor is compared with the double-precision reference, layer "
                               "by layer (slow for large networks).\n" TOOL_PROGRAM,
                               options,
                               run};
