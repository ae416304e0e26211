/* verb_inspect.c: pznet inspect. */
#include "tool.h"

#include <stdio.h>
#include <string.h>

typedef struct state {
  tool_model model;
  const char *format;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  bool good;
  if (tool_model_set(&s->model, name, value, &good) || tool_tuning_set(&s->model, name, value, &good))
    return good;
  s->format = !strcmp(name, "json") ? "json" : value;
  return true;
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.model.options = PZ_COMPILE_OPTIONS, .format = "table"};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  if (n != 1) return tool_usage(verb, "name a model or a network file");
  char *text;
  const pz_status status = pz_inspect(args[0], &s.model.options, s.format, &text);
  if (status != PZ_OK) return tool_fail(status);
  fputs(text, stdout);
  pz_free(text);
  return 0;
}

static const tool_option options[] = {
    {"format", 'f', "FORMAT", "table (default), json, dot (after the passes), dot-before, text, text-before"},
    {"json", 0, NULL, "the same as --format json"},
    TOOL_MODEL_OPTIONS,
    TOOL_TUNING_OPTIONS,
    {0},
};
const tool_verb verb_inspect = {
    "inspect",
    "NET.onnx|NET.prototxt [--weights FILE] [options]  |  NET.so [--json]",
    "show a model's graph and plan, or what a network file says",
    "Shows a model before and after the optimisations, with shapes, "
    "multiply-adds, bytes, the plan and the candidates of\n"
    "each convolution, with the times that compiling has measured; or the manifest\n"
    "of a network file. --format dot | dot -Tsvg draws the graph.\n",
    options,
    run};
