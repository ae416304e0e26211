/* layered_order.c: the order of the items of each layer. It begins with a depth-first walk, which puts a node's lane to the
 * right of what follows the node. Then layers are sorted by the mean place of their neighbours above, from top to bottom, and
 * below, from bottom to top, a few times; the order with the fewest crossings is kept. */
#include "api/layered.h"

#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 12 };

static void note_places(pz_items *g) {
  for (int32_t layer = 0; layer < g->n_layers; layer++)
    for (int32_t k = g->layer_first[layer]; k < g->layer_first[layer + 1]; k++)
      g->items[g->row[k]].place = k - g->layer_first[layer];
}

/* ---- the first order ---- */

/* A stack of at most n_links + 1 items suffices: each link is pushed once. */
static void walk(pz_items *g, int32_t root, int32_t *stack, bool *seen, int32_t *filled) {
  int32_t depth = 0;
  stack[depth++] = root;
  while (depth) {
    const int32_t i = stack[--depth];
    if (seen[i]) continue;
    seen[i] = true;
    g->row[g->layer_first[g->items[i].layer] + filled[g->items[i].layer]++] = i;
    for (int32_t e = g->down.first[i + 1]; e-- > g->down.first[i];) stack[depth++] = g->down.of[e];
  }
}

static pz_status first_order(pz_items *g, pz_arena *arena, pz_error *err) {
  int32_t *stack = PZ_NEW(arena, int32_t, (size_t)g->n_links + 1);
  int32_t *filled = PZ_NEW(arena, int32_t, (size_t)g->n_layers + 1);
  bool *seen = PZ_NEW(arena, bool, (size_t)g->n + 1);
  if (!stack || !filled || !seen) return pz_fail_memory(err, "the drawing", (size_t)g->n_links * 4);
  for (int32_t i = 0; i < g->n; i++)
    if (g->up.first[i] == g->up.first[i + 1]) walk(g, i, stack, seen, filled);
  note_places(g);
  return PZ_OK;
}

/* ---- sorting ---- */

typedef struct key {
  double mean;
  int32_t level, place, item;
} key;

static int ascending(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (x->level != y->level) return x->level < y->level ? -1 : 1;
  if (x->mean != y->mean) return x->mean < y->mean ? -1 : 1;
  return x->place - y->place;
}

static key key_of(const pz_items *g, const pz_links *links, int32_t i) {
  const int32_t begin = links->first[i], end = links->first[i + 1];
  key k = {.level = g->items[i].level, .place = g->items[i].place, .item = i};
  for (int32_t e = begin; e < end; e++) k.mean += g->items[links->of[e]].place;
  k.mean = end > begin ? k.mean / (end - begin) : k.place;
  return k;
}

static void sort_layer(pz_items *g, const pz_links *links, int32_t layer, key *keys) {
  const int32_t begin = g->layer_first[layer], n = g->layer_first[layer + 1] - begin;
  for (int32_t k = 0; k < n; k++) keys[k] = key_of(g, links, g->row[begin + k]);
  qsort(keys, (size_t)n, sizeof *keys, ascending);
  for (int32_t k = 0; k < n; k++) g->items[g->row[begin + k] = keys[k].item].place = k;
}

/* ---- crossings: inversions of the lower ends, counted with a tree of partial sums (Fenwick) ---- */

static int64_t count_up_to(const int32_t *tree, int32_t place) {
  int64_t sum = 0;
  for (int32_t i = place + 1; i > 0; i -= i & -i) sum += tree[i];
  return sum;
}

static int64_t crossings_below(const pz_items *g, int32_t layer, int32_t *tree) {
  const int32_t n = g->layer_first[layer + 2] - g->layer_first[layer + 1];
  int64_t crossings = 0, ends = 0;
  memset(tree, 0, ((size_t)n + 1) * sizeof *tree);
  for (int32_t k = g->layer_first[layer]; k < g->layer_first[layer + 1]; k++) {
    const int32_t i = g->row[k], begin = g->down.first[i], end = g->down.first[i + 1];
    for (int32_t e = begin; e < end; e++)
      crossings += ends - count_up_to(tree, g->items[g->down.of[e]].place);
    for (int32_t e = begin; e < end; e++, ends++)
      for (int32_t t = g->items[g->down.of[e]].place + 1; t <= n; t += t & -t) tree[t]++;
  }
  return crossings;
}

static int64_t crossings(const pz_items *g, int32_t *tree) {
  int64_t sum = 0;
  for (int32_t layer = 0; layer + 1 < g->n_layers; layer++) sum += crossings_below(g, layer, tree);
  return sum;
}

pz_status pz_items_order(pz_items *g, pz_arena *arena, pz_error *err) {
  const size_t n = (size_t)g->n + 1;
  key *keys = PZ_NEW(arena, key, n);
  int32_t *best = PZ_NEW(arena, int32_t, n), *tree = PZ_NEW(arena, int32_t, n);
  if (!keys || !best || !tree) return pz_fail_memory(err, "the drawing", n * sizeof *keys);
  PZ_TRY(first_order(g, arena, err));
  for (int32_t layer = 0; layer < g->n_layers; layer++) /* by levels alone */
    sort_layer(g, &(pz_links){.first = tree, .of = tree}, layer, keys);
  int64_t fewest = crossings(g, tree);
  memcpy(best, g->row, n * sizeof *best);
  for (int32_t sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    for (int32_t k = 1; k < g->n_layers; k++)
      if (sweep % 2) sort_layer(g, &g->down, g->n_layers - 1 - k, keys);
      else sort_layer(g, &g->up, k, keys);
    const int64_t now = crossings(g, tree);
    if (now < fewest) fewest = now, memcpy(best, g->row, n * sizeof *best);
  }
  memcpy(g->row, best, n * sizeof *best);
  note_places(g);
  return PZ_OK;
}
