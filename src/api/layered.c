/* layered.c: layers by longest paths, lanes for edges that pass layers, and what the drawing gets. */
#include "api/layered.h"

#include <stdlib.h>
#include <string.h>

enum {
  INDENT = 56,
  NEAR = 14,
  FAR = 46
}; /* between layers: where all edges go straight down; where some go far */

static int by_ends(const void *a, const void *b) {
  const pz_layered_edge *x = a, *y = b;
  return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

static void sort_edges(pz_layered *g) {
  int32_t kept = 0;
  if (g->n_edges) qsort(g->edges, (size_t)g->n_edges, sizeof *g->edges, by_ends);
  for (int32_t i = 0; i < g->n_edges; i++)
    if (!i || by_ends(&g->edges[i - 1], &g->edges[i])) g->edges[kept++] = g->edges[i];
  g->n_edges = kept;
}

/* The longest path to each node; what nothing leads to stands right above its first reader. */
static pz_status find_layers(pz_layered *g, pz_arena *arena, pz_error *err) {
  bool *entered = PZ_NEW(arena, bool, (size_t)g->n_nodes + 1);
  int32_t *nearest = PZ_NEW(arena, int32_t, (size_t)g->n_nodes + 1);
  if (!entered || !nearest) return pz_fail_memory(err, "the drawing", (size_t)g->n_nodes * 5);
  for (int32_t i = 0; i < g->n_nodes; i++) g->nodes[i].layer = 0, nearest[i] = INT32_MAX;
  for (int32_t i = 0; i < g->n_edges; i++) { /* sorted by `from`, which is a topological order */
    const pz_layered_edge *e = &g->edges[i];
    entered[e->to] = true;
    if (g->nodes[e->to].layer <= g->nodes[e->from].layer) g->nodes[e->to].layer = g->nodes[e->from].layer + 1;
  }
  for (int32_t i = 0; i < g->n_edges; i++)
    if (g->nodes[g->edges[i].to].layer < nearest[g->edges[i].from])
      nearest[g->edges[i].from] = g->nodes[g->edges[i].to].layer;
  for (int32_t i = 0; i < g->n_nodes; i++)
    if (!entered[i] && nearest[i] != INT32_MAX) g->nodes[i].layer = nearest[i] - 1;
  return PZ_OK;
}

/* ---- items: the nodes, then the lanes of each node from the top to the bottom ---- */

/* By node: its first lane item; lane_first[n_nodes] is the number of items. False when there are too many. */
static bool count_lanes(const pz_layered *g, int32_t *lane_first) {
  int32_t n = g->n_nodes, e = 0;
  for (int32_t i = 0; i < g->n_nodes; i++) {
    int32_t deepest = g->nodes[i].layer + 1;
    for (; e < g->n_edges && g->edges[e].from == i; e++)
      if (g->nodes[g->edges[e].to].layer > deepest) deepest = g->nodes[g->edges[e].to].layer;
    lane_first[i] = n;
    n += deepest - g->nodes[i].layer - 1;
    if (n > PZ_LAYERED_MOST) return false;
  }
  lane_first[g->n_nodes] = n;
  return true;
}

static void fill_items(const pz_layered *g, const int32_t *lane_first, pz_items *items) {
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_layered_node *n = &g->nodes[i];
    items->items[i] = (pz_item){.source = i, .layer = n->layer, .level = n->level, .width = n->width};
    for (int32_t k = lane_first[i]; k < lane_first[i + 1]; k++)
      items->items[k] = (pz_item){.source = i,
                                  .layer = n->layer + 1 + k - lane_first[i],
                                  .level = n->level,
                                  .lane = true,
                                  .last = k + 1 == lane_first[i + 1]};
  }
}

/* Calls visit(host, above, below) for each link, by source. */
static void each_link(const pz_layered *g, const int32_t *lane_first,
                      void (*visit)(void *host, int32_t above, int32_t below), void *host) {
  for (int32_t i = 0, e = 0; i < g->n_nodes; i++) {
    for (; e < g->n_edges && g->edges[e].from == i; e++) {
      const int32_t passed = g->nodes[g->edges[e].to].layer - g->nodes[i].layer - 1;
      visit(host, passed ? lane_first[i] + passed - 1 : i, g->edges[e].to);
    }
    for (int32_t k = lane_first[i]; k < lane_first[i + 1]; k++)
      visit(host, k == lane_first[i] ? i : k - 1, k);
  }
}

static void count_link(void *host, int32_t above, int32_t below) {
  pz_items *items = host;
  items->down.first[above + 1]++;
  items->up.first[below + 1]++;
  items->n_links++;
}

/* first[i + 1] is where the next neighbour of i goes; in the end it is where those of i + 1 begin. */
static void keep_link(void *host, int32_t above, int32_t below) {
  pz_items *items = host;
  items->down.of[items->down.first[above + 1]++] = below;
  items->up.of[items->up.first[below + 1]++] = above;
}

static void starts(int32_t *first, int32_t n) { /* counts at [i + 1] to starts at [i + 1] */
  int32_t sum = 0;
  for (int32_t i = 0; i < n; i++) {
    const int32_t count = first[i + 1];
    first[i + 1] = sum;
    sum += count;
  }
}

static pz_status link_items(const pz_layered *g, const int32_t *lane_first, pz_items *items, pz_arena *arena,
                            pz_error *err) {
  items->up.first = PZ_NEW(arena, int32_t, (size_t)items->n + 1);
  items->down.first = PZ_NEW(arena, int32_t, (size_t)items->n + 1);
  if (!items->up.first || !items->down.first) return pz_fail_memory(err, "the drawing", (size_t)items->n * 8);
  each_link(g, lane_first, count_link, items);
  items->up.of = PZ_NEW(arena, int32_t, (size_t)items->n_links + 1);
  items->down.of = PZ_NEW(arena, int32_t, (size_t)items->n_links + 1);
  if (!items->up.of || !items->down.of) return pz_fail_memory(err, "the drawing", (size_t)items->n_links * 8);
  starts(items->up.first, items->n);
  starts(items->down.first, items->n);
  each_link(g, lane_first, keep_link, items);
  return PZ_OK;
}

static pz_status make_rows(pz_items *g, pz_arena *arena, pz_error *err) {
  for (int32_t i = 0; i < g->n; i++)
    if (g->items[i].layer >= g->n_layers) g->n_layers = g->items[i].layer + 1;
  g->layer_first = PZ_NEW(arena, int32_t, (size_t)g->n_layers + 2);
  g->row = PZ_NEW(arena, int32_t, (size_t)g->n + 1);
  if (!g->layer_first || !g->row) return pz_fail_memory(err, "the drawing", (size_t)g->n * 4);
  for (int32_t i = 0; i < g->n; i++) g->layer_first[g->items[i].layer + 1]++;
  for (int32_t i = 0; i < g->n_layers; i++) g->layer_first[i + 1] += g->layer_first[i];
  return PZ_OK;
}

/* ---- what the drawing gets ---- */

/* Far enough for the widest turn between the layers. */
static double gap_below(const pz_items *g, int32_t layer) {
  double widest = 0;
  for (int32_t k = g->layer_first[layer]; k < g->layer_first[layer + 1]; k++)
    for (int32_t i = g->row[k], e = g->down.first[i]; e < g->down.first[i + 1]; e++) {
      const double turn = g->items[g->down.of[e]].x - g->items[i].x;
      widest = turn > widest ? turn : -turn > widest ? -turn : widest;
    }
  const double gap = NEAR + 4 + 0.12 * widest;
  return widest < 1 ? NEAR : gap < FAR ? gap : FAR;
}

static pz_status find_heights(pz_layered *graph, const pz_items *g, double **top, pz_arena *arena,
                              pz_error *err) {
  double y = 0;
  *top = PZ_NEW(arena, double, 2 * (size_t)g->n_layers + 2); /* by layer: its upper and its lower end */
  if (!*top) return pz_fail_memory(err, "the drawing", (size_t)g->n_layers * 16);
  for (int32_t layer = 0; layer < g->n_layers; layer++) {
    double height = 0;
    for (int32_t k = g->layer_first[layer]; k < g->layer_first[layer + 1]; k++)
      if (!g->items[g->row[k]].lane && graph->nodes[g->row[k]].height > height)
        height = graph->nodes[g->row[k]].height;
    (*top)[2 * layer] = y;
    (*top)[2 * layer + 1] = graph->height = y + height;
    y += height + gap_below(g, layer);
  }
  return PZ_OK;
}

/* Levels grow from the left to the right in each layer, so that indents keep the order. */
static void find_positions(pz_layered *graph, pz_items *g, const double *top) {
  double least = 0, most = 0;
  for (int32_t i = 0; i < g->n; i++) {
    pz_item *item = &g->items[i];
    item->x += (double)INDENT * item->level;
    if (!i || item->x - item->width / 2 < least) least = item->x - item->width / 2;
    if (!i || item->x + item->width / 2 > most) most = item->x + item->width / 2;
  }
  for (int32_t i = 0; i < g->n; i++) g->items[i].x -= least;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    graph->nodes[i].x = g->items[i].x, graph->nodes[i].y = top[2 * graph->nodes[i].layer];
  graph->width = most - least;
}

typedef struct drawing {
  pz_layered *graph;
  const pz_items *items;
  const double *top;
} drawing;

static void keep_piece(void *host, int32_t above, int32_t below) {
  const drawing *d = host;
  const pz_item *a = &d->items->items[above], *b = &d->items->items[below];
  const double end_of_above =
      a->lane ? d->top[2 * a->layer + 1] : d->graph->nodes[above].y + d->graph->nodes[above].height;
  d->graph->pieces[d->graph->n_pieces++] = (pz_layered_piece){.source = a->source,
                                                              .target = b->lane ? -1 : below,
                                                              .lane = a->lane || b->lane,
                                                              .x0 = a->x,
                                                              .y0 = end_of_above,
                                                              .x1 = b->x,
                                                              .y1 = d->top[2 * b->layer],
                                                              .y2 = d->top[2 * b->layer + (b->lane ? 1 : 0)]};
}

static pz_status place(pz_layered *g, const int32_t *lane_first, pz_arena *arena, pz_error *err) {
  pz_items items = {.n = lane_first[g->n_nodes]};
  double *top;
  items.items = PZ_NEW(arena, pz_item, (size_t)items.n + 1);
  if (!items.items) return pz_fail_memory(err, "the drawing", (size_t)items.n * sizeof *items.items);
  fill_items(g, lane_first, &items);
  PZ_TRY(link_items(g, lane_first, &items, arena, err));
  PZ_TRY(make_rows(&items, arena, err));
  PZ_TRY(pz_items_order(&items, arena, err));
  PZ_TRY(pz_items_align(&items, arena, err));
  PZ_TRY(find_heights(g, &items, &top, arena, err));
  find_positions(g, &items, top);
  g->pieces = PZ_NEW(arena, pz_layered_piece, (size_t)items.n_links + 1);
  if (!g->pieces) return pz_fail_memory(err, "the drawing", (size_t)items.n_links * sizeof *g->pieces);
  each_link(g, lane_first, keep_piece, &(drawing){g, &items, top});
  return PZ_OK;
}

pz_status pz_layered_place(pz_layered *g, pz_arena *arena, pz_error *err) {
  int32_t *lane_first = PZ_NEW(arena, int32_t, (size_t)g->n_nodes + 1);
  if (!lane_first) return pz_fail_memory(err, "the drawing", (size_t)g->n_nodes * 4);
  g->n_pieces = 0;
  g->width = g->height = 0;
  sort_edges(g);
  PZ_TRY(find_layers(g, arena, err));
  g->too_large = !count_lanes(g, lane_first);
  return g->too_large ? PZ_OK : place(g, lane_first, arena, err);
}
