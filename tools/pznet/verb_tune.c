/* verb_tune.c: pznet tune. */
#include "tool.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct state {
  const char *database, *to, *from;
  bool clear, stale, fit, json, quiet, measures; /* measures: an option of measuring was given */
  pz_tune_options options;
  tool_progress progress;
} state;

static bool set_measuring(state *s, const char *name, const char *value, bool *good) {
  pz_tune_options *o = &s->options;
  *good = true;
  if (!strcmp(name, "budget")) *good = tool_seconds(name, value, &o->budget);
  else if (!strcmp(name, "effort")) o->effort = value;
  else if (!strcmp(name, "threads")) *good = tool_int(name, value, 0, 4096, &o->threads);
  else if (!strcmp(name, "target")) o->target = value;
  else if (!strcmp(name, "cc")) o->cc = value;
  else if (!strcmp(name, "cache")) o->cache = value;
  else if (!strcmp(name, "quiet")) s->quiet = true;
  else if (!strcmp(name, "progress")) *good = tool_progress_set(&s->progress, value);
  else return false;
  return s->measures = true;
}

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  bool good;
  if (set_measuring(s, name, value, &good)) return good;
  if (!strcmp(name, "database")) s->database = value;
  else if (!strcmp(name, "export")) s->to = value;
  else if (!strcmp(name, "import")) s->from = value;
  else if (!strcmp(name, "clear")) s->clear = true;
  else if (!strcmp(name, "stale")) s->stale = true;
  else if (!strcmp(name, "fit")) s->fit = true;
  else s->json = true;
  return true;
}

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

/* ---- the table ---- */

static const char *text(const json_t *o, const char *key) {
  return json_string_value(json_object_get(o, key));
}

static void age(int64_t measured, char *out, size_t size) {
  static const struct {
    int64_t seconds;
    const char *name;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  int64_t seconds = (int64_t)time(NULL) - measured;
  if (seconds < 0) seconds = 0;
  int i = 0;
  while (i < 3 && seconds < units[i].seconds) i++;
  snprintf(out, size, "%lld %s", (long long)(seconds / units[i].seconds), units[i].name);
}

static int width(const json_t *rows, const char *key) {
  size_t i, most = strlen(key);
  json_t *row;
  json_array_foreach(rows, i, row) if (json_string_length(json_object_get(row, key)) > most) most =
      json_string_length(json_object_get(row, key));
  return (int)most;
}

static void print_rows(const json_t *rows, int *stale) {
  const int problem = width(rows, "problem"), candidate = width(rows, "candidate"), cpu = width(rows, "cpu");
  size_t i;
  json_t *row;
  tool_print("%-*s  %-*s  %10s  %7s  %-*s  %s\n", problem, "problem", candidate, "candidate", "ms", "threads",
             cpu, "CPU", "age");
  json_array_foreach(rows, i, row) {
    char since[32];
    const bool old = json_is_true(json_object_get(row, "stale"));
    age(json_integer_value(json_object_get(row, "measured")), since, sizeof since);
    tool_print("%-*s  %-*s  %10.4g  %7d  %-*s  %s%s%s\n", problem, text(row, "problem"), candidate,
               text(row, "candidate"), 1e3 * json_number_value(json_object_get(row, "seconds")),
               (int)json_integer_value(json_object_get(row, "threads")), cpu, text(row, "cpu"), since,
               json_is_true(json_object_get(row, "noisy")) ? ", noisy" : "", old ? ", stale" : "");
    *stale += old;
  }
  tool_print("\n");
}

static bool print_table(const char *report) {
  json_t *r = tool_report(report), *rows = json_object_get(r, "measurements");
  const int n = (int)json_array_size(rows);
  int stale = 0;
  if (!r) return false;
  if (n) print_rows(rows, &stale);
  tool_print("%d measurement%s in %s", n, plural(n), text(r, "database"));
  if (stale)
    tool_print(
        "; %d stale: of other solvers than this pznet's, not used; `pznet tune --clear --stale` removes them",
        stale);
  tool_print("\n");
  json_decref(r);
  return true;
}

/* ---- a fit ---- */

static double number(const json_t *o, const char *model, const char *key) {
  return json_number_value(json_object_get(json_object_get(o, model), key));
}
static int count(const json_t *o, const char *key) {
  return (int)json_integer_value(json_object_get(o, key));
}

/* What the first choice costs: of the model before, of fits on problems that they have not seen. */
static void print_quality(const json_t *row) {
  char rank[48] = "-";
  if (count(row, "ranked"))
    snprintf(rank, sizeof rank, "%.2f -> %.2f", number(row, "before", "rank"), number(row, "unseen", "rank"));
  tool_print("  %-32s %8d %10d  %12s  %.3f -> %.3f  %.2f -> %.2f  %6.2f -> %-6.2f  %3.0f%% -> %2.0f%%\n",
             text(row, "name"), count(row, "problems"), count(row, "candidates"), rank,
             number(row, "before", "regret"), number(row, "unseen", "regret"),
             number(row, "before", "regret_mean"), number(row, "unseen", "regret_mean"),
             number(row, "before", "regret_worst"), number(row, "unseen", "regret_worst"),
             100 * number(row, "before", "error"), 100 * number(row, "unseen", "error"));
}

static void print_fit(const json_t *fit) {
  const json_t *families = json_object_get(fit, "families"), *all = json_object_get(fit, "all");
  size_t i;
  json_t *row;
  tool_print("%s, %d thread%s: %d candidates of %d problems\n", text(fit, "cpu"), count(fit, "threads"),
             plural(count(fit, "threads")), count(fit, "candidates"), count(fit, "problems"));
  tool_print("  %-32s %8s %10s  %12s  %14s  %12s  %16s  %s\n", "algorithm", "problems", "candidates", "rank",
             "regret", "mean", "worst", "error");
  json_array_foreach(families, i, row) print_quality(row);
  if (all && !json_is_null(all)) print_quality(all);
  tool_print("\n");
}

static bool print_fits(const char *report) {
  json_t *r = tool_report(report), *row;
  size_t i;
  if (!r) return false;
  json_array_foreach(json_object_get(r, "fits"), i, row) print_fit(row);
  json_array_foreach(json_object_get(r, "notes"), i, row) tool_print("%s\n", json_string_value(row));
  tool_print(
      "rank: of expected beside measured times, 1 is right; regret: time of first choices over the best "
      "ones'; error: of a time.\nBefore the fit -> by fits on problems that they have not seen.\n");
  tool_print("%s: compiling with this database goes by it\n", text(r, "costs"));
  json_decref(r);
  return true;
}

/* ---- what it does ---- */

static int fit(const state *s) {
  char *report;
  const pz_tune_fit_options o = {.stale = s->stale, .to = s->to};
  const pz_status status = pz_tune_fit(s->database, &o, &report);
  if (status != PZ_OK) return tool_fail(status);
  const bool shown = s->json ? puts(report) >= 0 : print_fits(report);
  pz_free(report);
  return shown ? 0 : PZ_ERROR_RUN;
}

static int show(const state *s) {
  char *report;
  const pz_status status = pz_tune_list(s->database, &report);
  if (status != PZ_OK) return tool_fail(status);
  const bool shown = s->json ? puts(report) >= 0 : print_table(report);
  pz_free(report);
  return shown ? 0 : PZ_ERROR_RUN;
}

static int save(const state *s) {
  int64_t n;
  const pz_status status = pz_tune_export(s->database, s->to, &n);
  if (status != PZ_OK) return tool_fail(status);
  tool_print("%s: %lld measurement%s\n", s->to, (long long)n, plural(n));
  return 0;
}

static int load(const state *s) {
  pz_tune_counts c;
  const pz_status status = pz_tune_import(s->database, s->from, &c);
  if (status != PZ_OK) return tool_fail(status);
  tool_print("%s: %lld measurement%s, %lld new or newer", s->from, (long long)c.read, plural(c.read),
             (long long)c.stored);
  if (c.stale) tool_print("; %lld of other solvers than this pznet's, not used", (long long)c.stale);
  tool_print("\n");
  return 0;
}

static int clear(const state *s) {
  int64_t n;
  const pz_status status = pz_tune_clear(s->database, s->stale, &n);
  if (status != PZ_OK) return tool_fail(status);
  if (n < 0) tool_print("the damaged database is removed\n");
  else tool_print("%lld measurement%s removed\n", (long long)n, plural(n));
  return 0;
}

/* ---- measuring ---- */

static int get(const json_t *r, const char *key) { return (int)json_integer_value(json_object_get(r, key)); }

static void print_measured(const char *network, const json_t *r) {
  const int problems = get(r, "problems"), candidates = get(r, "candidates"), left = get(r, "left"),
            faster = get(r, "faster"), noisy = get(r, "noisy");
  const bool ended = !json_is_null(json_object_get(r, "left"));
  if (ended) tool_print("%s: %d of %d problems measured", network, problems - left, problems);
  else tool_print("%s: %d of %d problems measured before the end", network, get(r, "measured"), problems);
  if (candidates)
    tool_print(", %d candidate%s now in %.1f s", candidates, plural(candidates),
               json_number_value(json_object_get(r, "seconds")));
  tool_print("\n");
  if (noisy)
    tool_print(
        "the machine was busy: %d of these times are noisy, and are taken again when next there is time\n",
        noisy);
  if (faster)
    tool_print(
        "%d layer%s %s a faster candidate, about %.1f%% of the layers' time: compile the model again to "
        "use %s\n",
        faster, plural(faster), faster == 1 ? "has" : "have",
        100 * json_number_value(json_object_get(r, "saved")), faster == 1 ? "it" : "them");
  else tool_print("no layer has a faster candidate than the file has\n");
  if (left) tool_print("%d %s left: the same command goes on\n", left, left == 1 ? "is" : "are");
}

static bool show_measured(const state *s, const char *network, const char *report) {
  if (s->json) return puts(report) >= 0;
  json_t *r = s->quiet ? NULL : tool_report(report);
  if (!r) return s->quiet;
  const char *note = text(r, "note");
  print_measured(network, r);
  fflush(stdout);
  if (note && *note) tool_warn("pznet: warning: %s\n", note);
  json_decref(r);
  return true;
}

static int measure(state *s, const char *network) {
  s->progress.quiet = s->quiet || s->json;
  char *report = NULL;
  s->options.database = s->database;
  s->options.progress = tool_progress_show;
  s->options.progress_host = &s->progress;
  s->options.interrupt = tool_interrupt("; what was measured is kept");
  const pz_status status = pz_tune_network(network, &s->options, &report);
  tool_progress_end(&s->progress);
  const bool shown = !report || show_measured(s, network, report);
  pz_free(report);
  if (status != PZ_OK) return tool_fail(status);
  return shown ? 0 : PZ_ERROR_RUN;
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.options = PZ_TUNE_OPTIONS};
  const char *args[1];
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, args, 1, &n)) return PZ_ERROR_USAGE;
  const int other = (s.to != NULL) + (s.from != NULL) + s.clear;
  if (s.fit && (s.from || s.clear)) return tool_usage(verb, "--fit excludes --import and --clear");
  if (other + s.json > 1 && !s.fit)
    return tool_usage(verb, "--export, --import, --clear and --json exclude each other");
  if (s.stale && !s.clear && !s.fit) return tool_usage(verb, "--stale goes with --clear or --fit");
  if (n && (other || s.fit))
    return tool_usage(verb, "--fit, --export, --import and --clear go without a network file");
  if (!n && s.measures) return tool_usage(verb, "name the network file to measure for");
  if (n) return measure(&s, args[0]);
  return s.fit ? fit(&s) : s.to ? save(&s) : s.from ? load(&s) : s.clear ? clear(&s) : show(&s);
}

static const tool_option options[] = {
    {"budget", 0, "SECONDS", "end after so long, with what was measured kept; default: when all is measured"},
    {"effort", 0, "HOW",
     "what is measured: measure (default): the likely candidates; exhaustive: all of them"},
    {"threads", 't', "N", "threads to time with; default: as the network was compiled for"},
    TOOL_VARIANT_OPTION,
    {"cc", 0, "COMMAND",
     "the C compiler that the network is compiled with; default: $CC, else gcc, else clang"},
    {"cache", 0, "FOLDER", "where compiled kernels are kept for later, or none; default: see pznet cache"},
    TOOL_PROGRESS_OPTION,
    {"quiet", 'q', NULL, "of measuring: print errors only"},
    {"fit", 0, NULL, "fit the cost model to what was measured on this CPU, and tell how near it is"},
    {"export", 0, "FILE",
     "write all measurements to a file of JSON lines; with --fit: the fit, as pznet's source has one"},
    {"import", 0, "FILE", "take in such a file; where both have a measurement the newer one stays"},
    {"clear", 0, NULL, "remove all measurements and the fit, and a database that is damaged"},
    {"stale", 0, NULL,
     "with --clear: only those of other solvers than this pznet's, which it does not use; with --fit: too"},
    {"database", 0, "PATH", "the database; default: tuning.sqlite in the cache folder"},
    {"json", 0, NULL, "print the measurements, the fit, or what measuring found, as JSON"},
    {0},
};
const tool_verb verb_tune = {
    "tune",
    "[NET.so] [options]",
    "measure for a network file; show, move or clear what is measured",
    "With a network file: measures what is not known yet of its layers' algorithms on this machine, the most "
    "worthwhile\n"
    "first. Every later compile of the model, with any weights, chooses by that. Interrupted at any moment "
    "it "
    "keeps what\n"
    "it has; under nice, and beside other work, it takes longer.\n"
    "Without: shows the tuning database: what each candidate took for each problem, on which CPU, with how "
    "many "
    "threads.\n"
    "It lies in $PZNET_CACHE_DIR, else in $XDG_CACHE_HOME/pznet, else in ~/.cache/pznet.\n",
    options,
    run};
