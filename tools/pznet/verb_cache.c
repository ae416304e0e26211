/* verb_cache.c: pznet cache. */
#include "tool.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

typedef struct state {
  const char *folder;
  bool clear, json;
} state;

static bool set(void *host, const char *name, const char *value) {
  state *s = host;
  if (!strcmp(name, "folder")) s->folder = value;
  else if (!strcmp(name, "clear")) s->clear = true;
  else s->json = true;
  return true;
}

static long long number(const json_t *o, const char *key) {
  return (long long)json_integer_value(json_object_get(o, key));
}

static bool print(const state *s, const char *report) {
  char bytes[16], limit[16];
  json_t *r = tool_report(report);
  if (!r) return false;
  const long long kernels = number(r, "kernels");
  tool_size((double)number(r, "bytes"), bytes);
  tool_size((double)number(r, "limit"), limit);
  tool_print("%lld compiled kernel%s, %s, ", kernels, kernels == 1 ? "" : "s", bytes);
  if (s->clear) tool_print("removed from %s\n", json_string_value(json_object_get(r, "folder")));
  else tool_print("of %s at most, in %s\n", limit, json_string_value(json_object_get(r, "folder")));
  json_decref(r);
  return true;
}

static int run(const tool_verb *verb, int argc, char **argv) {
  state s = {.folder = NULL};
  char *report;
  int n;
  if (!tool_parse(verb, argc, argv, set, &s, NULL, 0, &n)) return PZ_ERROR_USAGE;
  const pz_status status = s.clear ? pz_cache_clear(s.folder, &report) : pz_cache_show(s.folder, &report);
  if (status != PZ_OK) return tool_fail(status);
  const bool shown = s.json ? puts(report) >= 0 : print(&s, report);
  pz_free(report);
  return shown ? 0 : PZ_ERROR_RUN;
}

static const tool_option options[] = {
    {"clear", 0, NULL, "remove all compiled kernels"},
    {"folder", 0, "FOLDER", "the cache; default: objects in the cache folder"},
    {"json", 0, NULL, "print what there is, or was removed, as JSON"},
    {0},
};
const tool_verb verb_cache = {
    "cache",
    "[options]",
    "show or clear the kernels that compiling has kept",
    "Shows how many compiled kernels are kept for later: with all of a network's kernels there, new weights\n"
    "take no C compiler but for a list of steps.\n"
    "They lie in $PZNET_CACHE_DIR, else in $XDG_CACHE_HOME/pznet, else in ~/.cache/pznet, and take up to\n"
    "$PZNET_CACHE_SIZE (1G); what was not used for the longest time goes first.\n",
    options,
    run};
