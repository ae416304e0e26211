/* verb_compile.c: pznet compile. */
#include "tool.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
  tool_model model;
  const char *output;
  bool json, quiet;
  tool_progress progress;
} state;

static bool set_budget(pz_compile_options *o, const char *value) {
  char *end;
  o->budget = strtod(value, &end), o->bounded = true;
  if (end != value && !*end && isfinite(o->budget) && o->budget >= 0) return true;
  tool_warn("pznet: --budget %s: expected a number of seconds, 0 or more\n", value);
  return false;
}

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  bool good;
  if (tool_model_set(&s->model, name, value, &good) || tool_tuning_set(&s->model, name, value, &good))
    return good;
  if (!strcmp(name, "budget")) return set_budget(&s->model.options, value);
  if (!strcmp(name, "output")) s->output = value;
  else if (!strcmp(name, "emit-c")) s->model.options.emit_c = value;
  else if (!strcmp(name, "json")) s->json = true;
  else if (!strcmp(name, "quiet")) s->quiet = true;
  else if (!strcmp(name, "progress")) return tool_progress_set(&s->progress, value);
  return true;
}

static const json_t *get(const json_t *o, const char *key) { return json_object_get(o, key); }

/* A line for each. */
static void print_variants(const json_t *variants) {
  const json_t *row;
  char weights[16], more[16], memory[16];
  size_t i;
  json_array_foreach(variants, i, row) {
    const double bytes = json_number_value(get(row, "weights_bytes"));
    tool_print("  %s (%s): %s of weights, %s of them its own, %s of memory a run\n",
               json_string_value(get(row, "target")), json_string_value(get(row, "isa")),
               tool_size(bytes, weights),
               tool_size(bytes - json_number_value(get(row, "weights_shared_bytes")), more),
               tool_size(json_number_value(get(row, "arena_bytes")), memory));
  }
}

static void print_several(const char *output, const json_t *m, double seconds) {
  tool_print(
      "%s: %zu variants, of which this machine %s %s, %.3f G multiply-adds a run, compiled in %.1f s\n",
      output, json_array_size(get(m, "variants")),
      json_is_true(
          get(json_array_get(get(m, "variants"), (size_t)json_integer_value(get(m, "variant"))), "runs_here"))
          ? "runs"
          : "runs none, the first is",
      json_string_value(get(m, "target")), 1e-9 * json_number_value(get(m, "multiply_adds")), seconds);
  print_variants(get(m, "variants"));
}

static void print_single(const char *output, const json_t *m, double seconds) {
  char weights[16], memory[16];
  const char *target = json_string_value(get(m, "target"));
  const bool native = !target || !strcmp(target, "native");
  tool_print(
      "%s: %zu steps for %s%s%s, %.3f G multiply-adds a run, %s of weights, %s of memory a run, compiled in "
      "%.1f s\n",
      output, json_array_size(get(m, "plan")), json_string_value(get(m, "isa")), native ? "" : " of ",
      native ? "" : target, 1e-9 * json_number_value(get(m, "multiply_adds")),
      tool_size(json_number_value(get(m, "weights_bytes")), weights),
      tool_size(json_number_value(get(m, "arena_bytes")), memory), seconds);
}

static long long of_axis(const json_t *triple, size_t i) {
  return (long long)json_integer_value(json_array_get(triple, i));
}

/* A network for exact tiles: which, and what all of a volume costs where its size is known. */
static void print_tiles(const char *output, const json_t *exact) {
  const json_t *out = get(exact, "out"), *volume = get(exact, "volume");
  if (!exact) return;
  tool_print("%s: exact tiles of %lld x %lld x %lld", output, of_axis(out, 0), of_axis(out, 1),
             of_axis(out, 2));
  if (get(exact, "volume_times"))
    tool_print("; %.3g times the ideal arithmetic for all of %lld x %lld x %lld, runs: %lld",
               json_number_value(get(exact, "volume_times")), of_axis(volume, 0), of_axis(volume, 1),
               of_axis(volume, 2), (long long)json_integer_value(get(exact, "volume_runs")));
  tool_print("\n");
}

static void print_summary(const char *output, const json_t *m) {
  double seconds = 0;
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)get(m, "seconds"), key, value) seconds += json_number_value(value);
  (get(m, "variants") ? print_several : print_single)(output, m, seconds);
  print_tiles(output, get(m, "exact"));
  tool_print("%s: SHA-256 %s\n", output, json_string_value(get(m, "file_sha256")));
}

/* Whatever was measured, and what kept it from being so. of: "zen4: ", of several; else "". */
static void print_tuning(const char *of, const json_t *tuning) {
  const char *note = json_string_value(get(tuning, "note"));
  const int measured = (int)json_integer_value(get(tuning, "measured")),
            tried = (int)json_integer_value(get(tuning, "tried")),
            noisy = (int)json_integer_value(get(tuning, "noisy")),
            left = (int)json_integer_value(get(tuning, "left"));
  if (measured)
    tool_print("%s%d of %d distinct convolutions measured, %d candidates in %.1f s\n", of, measured,
               (int)json_integer_value(get(tuning, "problems")),
               (int)json_integer_value(get(tuning, "candidates")), json_number_value(get(tuning, "seconds")));
  if (tried) tool_print("%s%d layers' candidates tried in the network itself\n", of, tried);
  if (noisy) tool_print("%sthe machine was busy: %d times are noisy, and will be taken again\n", of, noisy);
  if (left && json_number_value(get(tuning, "spent")) > 0)
    tool_print("%s%d %s left to be measured when next there is time\n", of, left, left == 1 ? "is" : "are");
  fflush(stdout);
  if (note && *note) tool_warn("pznet: warning: %s%s\n", of, note);
}

/* Of each variant, where there are several. */
static void print_all_tuning(const json_t *m) {
  const json_t *row;
  char of[96];
  size_t i;
  if (!get(m, "variants")) return print_tuning("", get(m, "tuning"));
  json_array_foreach(get(m, "variants"), i, row) {
    snprintf(of, sizeof of, "%.64s: ", json_string_value(get(row, "target")));
    print_tuning(of, get(row, "tuning"));
  }
}

/* Only where there is something to say of them. */
static void print_kernels(const json_t *kernels) {
  const char *note = json_string_value(get(kernels, "note"));
  if (note && *note) tool_warn("pznet: warning: %s\n", note);
}

/* Lines; NULL: none. */
static void print_notes(const char *notes) {
  for (const char *line = notes; line && *line; line += strcspn(line, "\n") + 1)
    tool_warn("pznet: note: %.*s\n", (int)strcspn(line, "\n"), line);
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.model.options = PZ_COMPILE_OPTIONS};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  if (n != 1) return tool_usage(verb, "name the model");
  if (!s.output) return tool_usage(verb, "name the network file to write with -o");
  s.progress.quiet = s.quiet || s.json;
  s.model.options.progress = tool_progress_show;
  s.model.options.progress_host = &s.progress;
  s.model.options.interrupt = tool_interrupt(NULL);
  char *summary;
  const pz_status status = pz_compile(args[0], s.output, &s.model.options, &summary);
  tool_progress_end(&s.progress);
  if (status != PZ_OK) return tool_fail(status);
  json_t *m = tool_report(summary);
  if (m && !s.quiet) print_notes(json_string_value(get(m, "notes")));
  if (!m) {
    pz_free(summary);
    return PZ_ERROR_RUN;
  }
  if (s.json) puts(summary);
  else if (!s.quiet) print_summary(s.output, m), print_all_tuning(m), print_kernels(get(m, "kernels"));
  json_decref(m);
  pz_free(summary);
  return 0;
}

static const tool_option options[] = {
    {"output", 'o', "FILE", "the network file to write"},
    TOOL_MODEL_OPTIONS,
    TOOL_TUNING_OPTIONS,
    {"budget", 0, "SECONDS",
     "what measuring may take beyond the estimate, what is worth most first; 0: nothing\n" TOOL_HELP_COLUMN
     "is measured, kept times count; default: 10, or any where --effort is given"},
    {"emit-c", 0, "FOLDER", "keep the generated source there"},
    {"json", 0, NULL, "print the manifest and the timings as JSON"},
    TOOL_PROGRESS_OPTION,
    {"quiet", 'q', NULL, "print errors only"},
    {0},
};
const tool_verb verb_compile = {
    "compile",
    "NET.onnx|NET.prototxt [--weights FILE] -o NET.so [options]",
    "turn a trained network into a network file",
    "Compiles a network (ONNX, or Caffe with its weights) into a network file: a small shared library that\n"
    "runs it. For --budget seconds likely algorithms of the distinct convolutions are timed on this "
    "machine,\n"
    "what is worth most first, and the next compilation goes on; --effort measure times all of them, the\n"
    "best in the network itself too, and --effort estimate takes a cost model's word instead.\n",
    options,
    run};
