/* layered_align.c: x of all items, in their order, with edges as straight as can be: Brandes and Koepf 2002. Each item is put
 * straight under (over) the median of its neighbours where no other such line is crossed, four times: from above and
 * from below, preferring left and right. Lines are packed towards that side, and an item's x is the middle of the four.
 * Differences to the paper: nodes have widths; lines are packed by longest paths among them; nodes are preferred to
 * lanes as neighbours, so that a chain is straight where a lane leaves or joins it. */
#include "api/layered.h"
#include "base/ascending.h"

#include <math.h>
#include <stdlib.h>

enum { APART_NODES = 26, APART_LANES = 14, APART_BOTH = 18 };

typedef struct run {
  pz_items *g;
  bool upwards, rightmost; /* from the lowest layer; from the right, with x mirrored */
  bool *crosses;           /* by link of `up`: it crosses a lane, so nothing is aligned along it */
  int32_t *root,
      *next; /* lines: the item that a line begins with; the following item, the root behind the last */
  double *x;
  int32_t *waits, *ready; /* packing: how many lines of those to the left are not placed yet */
} run;

static int32_t row_size(const pz_items *g, int32_t layer) {
  return g->layer_first[layer + 1] - g->layer_first[layer];
}

/* The k-th item of a layer, from the side that the run prefers. */
static int32_t item_at(const run *r, int32_t layer, int32_t k) {
  const pz_items *g = r->g;
  return g->row[r->rightmost ? g->layer_first[layer + 1] - 1 - k : g->layer_first[layer] + k];
}
static int32_t place_of(const run *r, int32_t i) {
  const pz_item *item = &r->g->items[i];
  return r->rightmost ? row_size(r->g, item->layer) - 1 - item->place : item->place;
}

static double apart(const pz_item *a, const pz_item *b) {
  return (a->width + b->width) / 2 + (a->lane && b->lane   ? APART_LANES
                                      : a->lane || b->lane ? APART_BOTH
                                                           : APART_NODES);
}

/* ---- links that cross a lane ---- */

static int32_t lane_above(const pz_items *g, int32_t i) {
  const int32_t e = g->up.first[i];
  return g->items[i].lane && g->items[g->up.of[e]].lane ? g->up.of[e] : -1;
}

/* The items of the lower layer between two lanes that come from above may only be linked to what is between the
 * lanes above. */
static void mark_crossing(const pz_items *g, int32_t layer, bool *crosses) {
  const int32_t begin = g->layer_first[layer + 1], end = g->layer_first[layer + 2];
  int32_t left = 0, done = begin;
  for (int32_t k = begin; k < end; k++) {
    const int32_t above = lane_above(g, g->row[k]);
    if (above < 0 && k + 1 < end) continue;
    const int32_t right = above >= 0 ? g->items[above].place : row_size(g, layer);
    for (; done <= k; done++)
      for (int32_t i = g->row[done], e = g->up.first[i]; e < g->up.first[i + 1]; e++) {
        const int32_t place = g->items[g->up.of[e]].place;
        crosses[e] = place < left || place > right;
      }
    left = right;
  }
}

/* ---- lines ---- */

static bool is_crossing(const run *r, int32_t i, int32_t neighbour) {
  const pz_items *g = r->g;
  const int32_t upper = r->upwards ? i : neighbour, lower = r->upwards ? neighbour : i;
  for (int32_t e = g->up.first[lower]; e < g->up.first[lower + 1]; e++)
    if (g->up.of[e] == upper) return r->crosses[e];
  return true;
}

static int by_number(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/* A chain goes on straight where lanes begin or end; where most neighbours are lanes, the middle of all counts. */
static bool prefers_nodes(const pz_items *g, const pz_links *links, int32_t i) {
  int32_t nodes = 0;
  for (int32_t e = links->first[i]; e < links->first[i + 1]; e++) nodes += !g->items[links->of[e]].lane;
  return nodes && 2 * nodes >= links->first[i + 1] - links->first[i];
}

/* Whether i may be aligned to its neighbour: a lane to its own, or to a node that does not prefer nodes. */
static bool may_align(const pz_items *g, const pz_links *back, int32_t i, int32_t neighbour,
                      bool nodes_only) {
  const bool lane = g->items[neighbour].lane;
  return g->items[i].lane ? lane || !prefers_nodes(g, back, neighbour) : !nodes_only || !lane;
}

/* The places of the neighbours to align to, ascending. */
static int32_t find_neighbours(const run *r, int32_t i, int32_t *places) {
  const pz_items *g = r->g;
  const pz_links *links = r->upwards ? &g->down : &g->up, *back = r->upwards ? &g->up : &g->down;
  const bool nodes_only = prefers_nodes(g, links, i);
  int32_t n = 0;
  for (int32_t e = links->first[i]; e < links->first[i + 1]; e++)
    if (may_align(g, back, i, links->of[e], nodes_only)) places[n++] = place_of(r, links->of[e]);
  qsort(places, (size_t)n, sizeof *places, by_number);
  return n;
}

static void align_layer(run *r, int32_t layer, int32_t other, int32_t *places) {
  int32_t last = -1;
  for (int32_t k = 0; k < row_size(r->g, layer); k++) {
    const int32_t i = item_at(r, layer, k), n = find_neighbours(r, i, places);
    for (int32_t m = (n - 1) / 2; n && m <= n / 2 && r->next[i] == i; m++) {
      const int32_t to = item_at(r, other, places[m]);
      if (places[m] <= last || is_crossing(r, i, to)) continue;
      r->next[to] = i;
      r->next[i] = r->root[i] = r->root[to];
      last = places[m];
    }
  }
}

static void align(run *r, int32_t *places) {
  const int32_t n = r->g->n_layers;
  for (int32_t i = 0; i < r->g->n; i++) r->root[i] = r->next[i] = i;
  for (int32_t k = 1; k < n; k++)
    if (r->upwards) align_layer(r, n - 1 - k, n - k, places);
    else align_layer(r, k, k - 1, places);
}

/* ---- packing ---- */

static int32_t side_neighbour(const run *r, int32_t i, int32_t side) {
  const int32_t k = place_of(r, i) + side, layer = r->g->items[i].layer;
  return k < 0 || k >= row_size(r->g, layer) ? -1 : item_at(r, layer, k);
}

/* Each line as far to the left as those left of it allow: by longest paths, lines in topological order in `ready`. */
static int32_t pack_left(run *r) {
  int32_t n = 0;
  for (int32_t i = 0; i < r->g->n; i++) r->waits[i] = 0, r->x[i] = 0;
  for (int32_t i = 0; i < r->g->n; i++)
    if (side_neighbour(r, i, -1) >= 0) r->waits[r->root[i]]++;
  for (int32_t i = 0; i < r->g->n; i++)
    if (r->root[i] == i && !r->waits[i]) r->ready[n++] = i;
  for (int32_t k = 0; k < n; k++) {
    int32_t i = r->ready[k];
    do {
      const int32_t right = side_neighbour(r, i, 1), line = right < 0 ? -1 : r->root[right];
      if (line >= 0) {
        const double x = r->x[r->ready[k]] + apart(&r->g->items[i], &r->g->items[right]);
        if (x > r->x[line]) r->x[line] = x;
        if (!--r->waits[line]) r->ready[n++] = line;
      }
      i = r->next[i];
    } while (i != r->ready[k]);
  }
  return n;
}

/* Then back to the right as far as there is room, so that what was packed lies near what it belongs to. */
static void pack_right(run *r, int32_t n) {
  for (int32_t k = n; k-- > 0;) {
    int32_t i = r->ready[k];
    double room = INFINITY;
    do {
      const int32_t right = side_neighbour(r, i, 1);
      if (right >= 0) room = fmin(room, r->x[r->root[right]] - apart(&r->g->items[i], &r->g->items[right]));
      i = r->next[i];
    } while (i != r->ready[k]);
    if (room != INFINITY && room > r->x[i]) r->x[i] = room;
  }
}

static void place_run(run *r, int32_t *places) {
  align(r, places);
  pack_right(r, pack_left(r));
  for (int32_t i = 0; i < r->g->n; i++)
    if (r->root[i] != i) r->x[i] = r->x[r->root[i]];
  for (int32_t i = 0; r->rightmost && i < r->g->n; i++) r->x[i] = -r->x[i];
}

/* ---- the four ---- */

typedef struct extent {
  double least, most;
} extent;
static extent extent_of(const pz_items *g, const double *x) {
  extent e = {INFINITY, -INFINITY};
  for (int32_t i = 0; i < g->n; i++) {
    e.least = fmin(e.least, x[i] - g->items[i].width / 2);
    e.most = fmax(e.most, x[i] + g->items[i].width / 2);
  }
  return e;
}

/* All are moved to the narrowest one's left or right side; the mean of the two in the middle keeps order and distances. */
static void join(pz_items *g, double *const x[4]) {
  extent e[4];
  int narrowest = 0;
  for (int k = 0; k < 4; k++) {
    e[k] = extent_of(g, x[k]);
    if (e[k].most - e[k].least < e[narrowest].most - e[narrowest].least) narrowest = k;
  }
  for (int32_t i = 0; i < g->n; i++) {
    double at[4];
    for (int k = 0; k < 4; k++)
      at[k] = x[k][i] + (k % 2 ? e[narrowest].most - e[k].most : e[narrowest].least - e[k].least);
    qsort(at, 4, sizeof *at, pz_ascending);
    g->items[i].x = (at[1] + at[2]) / 2;
  }
}

pz_status pz_items_align(pz_items *g, pz_arena *arena, pz_error *err) {
  const size_t n = (size_t)g->n + 1;
  run r = {.g = g, .crosses = PZ_NEW(arena, bool, (size_t)g->n_links + 1)};
  int32_t *places = PZ_NEW(arena, int32_t, n);
  double *x[4];
  for (int k = 0; k < 4; k++)
    if (!(x[k] = PZ_NEW(arena, double, n))) return pz_fail_memory(err, "the drawing", n * sizeof **x);
  r.root = PZ_NEW(arena, int32_t, n), r.next = PZ_NEW(arena, int32_t, n);
  r.waits = PZ_NEW(arena, int32_t, n), r.ready = PZ_NEW(arena, int32_t, n);
  if (!r.crosses || !places || !r.root || !r.next || !r.waits || !r.ready)
    return pz_fail_memory(err, "the drawing", n * sizeof *places);
  for (int32_t layer = 0; layer + 1 < g->n_layers; layer++) mark_crossing(g, layer, r.crosses);
  for (int k = 0; k < 4; k++) {
    r.upwards = k / 2;
    r.rightmost = k % 2;
    r.x = x[k];
    place_run(&r, places);
  }
  join(g, x);
  return PZ_OK;
}
