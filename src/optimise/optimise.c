/* optimise.c: the list of passes and the loop over it. */
#include "optimise/rewrite.h"
#include <string.h>

static const pz_pass passes[] = {
#define PASS(function, name, title, required) {name, title, pz_pass_##function, required},
#include "optimise/passes.inc"
#undef PASS
};
enum { N_PASSES = sizeof passes / sizeof passes[0] };

const pz_pass *pz_passes(int *count) {
  *count = N_PASSES;
  return passes;
}

static int find_pass(const char *name, size_t size) {
  for (int i = 0; i < N_PASSES; i++)
    if (strlen(passes[i].name) == size && memcmp(passes[i].name, name, size) == 0) return i;
  return -1;
}

/* The names of the optional passes, as a list for messages. */
static void list_names(char *out, size_t size) {
  size_t used = 0;
  for (int i = 0; i < N_PASSES; i++) {
    size_t length = strlen(passes[i].name);
    if (passes[i].required || used + length + 3 > size) continue;
    if (used > 0) memcpy(out + used, ", ", 2), used += 2;
    memcpy(out + used, passes[i].name, length);
    used += length;
  }
  out[used] = 0;
}

static pz_status refuse(pz_error *err, const char *name, int size, bool known) {
  char names[512];
  list_names(names, sizeof names);
  return pz_fail(err, PZ_ERROR_USAGE, "disable: %s \"%.*s\"; passes that can be switched off: %s",
                 known ? "the later steps need" : "no such pass as", size, name, names);
}

static pz_status parse_disable(const char *text, bool off[N_PASSES], pz_error *err) {
  while (text && *text) {
    size_t size = strcspn(text, ",");
    const char *next = text + size + (text[size] == ',');
    while (size > 0 && *text == ' ') text++, size--;
    while (size > 0 && text[size - 1] == ' ') size--;
    int pass = find_pass(text, size);
    if (size > 0 && (pass < 0 || passes[pass].required)) return refuse(err, text, (int)size, pass >= 0);
    if (size > 0) off[pass] = true;
    text = next;
  }
  return PZ_OK;
}

static pz_status run_pass(pz_graph *g, const pz_pass *pass, pz_pass_observe observe, void *host, int *changes,
                          pz_error *err) {
  if (pz_arena_interrupted(g->arena)) return pz_fail_interrupted(err);
  PZ_TRY(pass->rewrite(g, changes, err));
#ifdef PZ_DEBUG
  PZ_TRY(pz_graph_verify(g, err));
#endif
  if (observe && *changes > 0) observe(host, pass, *changes, g);
  return PZ_OK;
}

/* Ends: each optional pass removes layers, merges constants or settles a flag, and none undoes another's. */
pz_status pz_optimise(pz_graph *g, const char *disable, pz_pass_observe observe, void *host, pz_error *err) {
  bool off[N_PASSES] = {false};
  PZ_TRY(parse_disable(disable, off, err));
  for (int total = 1; total > 0;) {
    total = 0;
    for (int i = 0; i < N_PASSES; i++) {
      int changes = 0;
      if (!off[i]) PZ_TRY(run_pass(g, &passes[i], observe, host, &changes, err));
      if (!passes[i].required) total += changes;
    }
  }
  return PZ_OK;
}
