/* verb_inspect.c: pznet inspect. */
#include "tool.h"

#include <stdio.h>
#include <string.h>

typedef struct state {
  tool_model model;
  const char *format, *html;
  int32_t runs;
  bool plan;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  bool good;
  if (tool_model_set(&s->model, name, value, &good) || tool_tuning_set(&s->model, name, value, &good))
    return good;
  if (!strcmp(name, "runs")) return tool_int(name, value, 1, 1000000, &s->runs);
  if (!strcmp(name, "html")) s->html = value;
  else if (!strcmp(name, "plan")) s->plan = true;
  else s->format = !strcmp(name, "json") ? "json" : value;
  return true;
}

static int make_page(state *s, const char *path) {
  tool_progress progress = {.unit = "stages"};
  s->model.options.progress = tool_progress_show;
  s->model.options.progress_host = &progress;
  const pz_status status = pz_inspect_page(path, &s->model.options, s->runs, s->html);
  tool_progress_end(&progress);
  return status == PZ_OK ? 0 : tool_fail(status);
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.model.options = PZ_COMPILE_OPTIONS};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  if (n != 1) return tool_usage(verb, "name a model or a network file");
  s.model.options.interrupt = tool_interrupt(NULL);
  if (s.html && s.format) return tool_usage(verb, "--html and --format exclude each other");
  if (s.plan && s.html) return tool_usage(verb, "--plan and --html exclude each other");
  const bool json = s.format && !strcmp(s.format, "json");
  if (s.plan && s.format && !json) return tool_usage(verb, "--plan is shown as text, or with --json");
  if (s.runs && !s.html && !s.plan)
    return tool_usage(verb, "--runs is for --html and --plan; see also pznet bench");
  if (s.html) return make_page(&s, args[0]);
  char *text;
  const pz_status status = s.plan ? pz_inspect_plan(args[0], &s.model.options, s.runs, json, &text)
                                  : pz_inspect(args[0], &s.model.options, s.format, &text);
  if (status != PZ_OK) return tool_fail(status);
  fputs(text, stdout);
  pz_free(text);
  return 0;
}

static const tool_option options[] = {
    {"format", 'f', "FORMAT", "table (default), json, dot (after the passes), dot-before, text, text-before"},
    {"json", 0, NULL, "the same as --format json"},
    {"plan", 0, NULL,
     "what was chosen for each layer and what else there was, conversions, and what the search brings"},
    {"html", 0, "FILE",
     "write a page for a browser instead: graphs, layers, memory; one file that needs nothing else"},
    {"runs", 'r', "N",
     "with --html or --plan: run the network so often and show times; default: expected cost"},
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
    "of a network file. --html report.html draws all of it: the graph before and after, shapes, algorithms, "
    "shares\n"
    "of the time (--runs 20) or of the expected cost, and the memory over the steps. --plan shows the "
    "candidates\n"
    "of all layers, and what layouts, conversions and the search bring beside convolutions in NCHW.\n",
    options,
    run};
