/* verb_tune.c: pznet tune. */
#include "tool.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct state {
  const char *database, *to, *from;
  bool clear, stale, fit, json;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
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
    tool_print("%-*s  %-*s  %10.4g  %7d  %-*s  %s%s\n", problem, text(row, "problem"), candidate,
               text(row, "candidate"), 1e3 * json_number_value(json_object_get(row, "seconds")),
               (int)json_integer_value(json_object_get(row, "threads")), cpu, text(row, "cpu"), since,
               old ? ", stale" : "");
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

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.database = NULL};
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, NULL, 0, &n)) return PZ_ERROR_USAGE;
  if (s.fit && (s.from || s.clear)) return tool_usage(verb, "--fit excludes --import and --clear");
  if ((s.to != NULL) + (s.from != NULL) + s.clear + s.json > 1 && !s.fit)
    return tool_usage(verb, "--export, --import, --clear and --json exclude each other");
  if (s.stale && !s.clear && !s.fit) return tool_usage(verb, "--stale goes with --clear or --fit");
  return s.fit ? fit(&s) : s.to ? save(&s) : s.from ? load(&s) : s.clear ? clear(&s) : show(&s);
}

static const tool_option options[] = {
    {"fit", 0, NULL, "fit the cost model to what was measured on this CPU, and tell how near it is"},
    {"export", 0, "FILE",
     "write all measurements to a file of JSON lines; with --fit: the fit, as pznet's source has one"},
    {"import", 0, "FILE", "take in such a file; where both have a measurement the newer one stays"},
    {"clear", 0, NULL, "remove all measurements and the fit, and a database that is damaged"},
    {"stale", 0, NULL,
     "with --clear: only those of other solvers than this pznet's, which it does not use; with --fit: those "
     "too"},
    {"database", 0, "PATH", "the database; default: tuning.sqlite in the cache folder"},
    {"json", 0, NULL, "print the measurements, or the fit, as JSON"},
    {0},
};
const tool_verb verb_tune = {
    "tune",
    "[options]",
    "show, move or clear what compiling has measured",
    "Shows the tuning database: what each candidate took for each problem, on which CPU, with how many "
    "threads.\n"
    "It lies in $PZNET_CACHE_DIR, else in $XDG_CACHE_HOME/pznet, else in ~/.cache/pznet.\n",
    options,
    run};
