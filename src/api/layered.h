/* layered.h: where the nodes of a directed acyclic graph are drawn, from top to bottom: layers by longest paths, an order
 * in each layer with few crossings, positions with straight edges. An edge over several layers runs in a lane of its
 * own; the edges of one node share their lane.
 *
 * After: Sugiyama, Tagawa, Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981 (the
 * steps, and the barycentre order); Brandes, Koepf, "Fast and Simple Horizontal Coordinate Assignment", 2002. */
#ifndef PZ_API_LAYERED_H
#define PZ_API_LAYERED_H

#include "base/arena.h"
#include "base/status.h"

typedef struct pz_layered_node {
  double width, height; /* given */
  int32_t
      level;   /* given, from 0: nodes of lower levels lie left of those of higher ones, which are indented */
  double x, y; /* set: the middle of its upper edge */
  int32_t layer; /* set: from 0, the top */
} pz_layered_node;

typedef struct pz_layered_edge {
  int32_t from, to; /* from < to */
} pz_layered_edge;

/* A piece of an edge, from a layer to the next: from the node or lane above to the node or lane below. */
typedef struct pz_layered_piece {
  int32_t source; /* the node that the edge begins at */
  int32_t target; /* the node that it ends at here; -1: it goes on in a lane */
  bool lane;      /* one of its ends is a lane */
  double x0, y0, x1, y1;
  double y2; /* where the lane leaves the layer below; y1 where it ends at a node */
} pz_layered_piece;

typedef struct pz_layered {
  pz_layered_node *nodes;
  int32_t n_nodes;
  pz_layered_edge *edges; /* sorted and without doubles when it returns, so n_edges may shrink */
  int32_t n_edges;
  pz_layered_piece *pieces; /* set, in the arena, by source */
  int32_t n_pieces;
  double width, height; /* set: all nodes and lanes lie in [0, width] x [0, height] */
  bool too_large;       /* set: more than PZ_LAYERED_MOST items; nothing else is set */
} pz_layered;

#define PZ_LAYERED_MOST 20000 /* nodes and lanes' crossings of layers */

/* Deterministic. O(n log n) of nodes and lanes' crossings of layers. */
pz_status pz_layered_place(pz_layered *graph, pz_arena *arena, pz_error *err);

/* ---- between layered.c, layered_order.c and layered_align.c ---- */

/* A node, or a lane where it crosses a layer. */
typedef struct pz_item {
  int32_t source, layer, level; /* source: the node, or where the lane begins */
  bool lane, last;              /* last: of the lane */
  double width, x;
  int32_t place; /* in its layer, from the left */
} pz_item;

/* Between neighbouring layers: neighbours of item i are of[first[i]] .. of[first[i + 1] - 1]. */
typedef struct pz_links {
  int32_t *first, *of;
} pz_links;

typedef struct pz_items {
  pz_item *items;
  int32_t n, n_links, n_layers;
  pz_links up, down;
  int32_t *layer_first; /* by layer, one more than there are: where its items begin in `row` */
  int32_t *row;         /* items by layer, from the left to the right */
} pz_items;

pz_status pz_items_order(pz_items *g, pz_arena *arena, pz_error *err);
pz_status pz_items_align(pz_items *g, pz_arena *arena, pz_error *err);

#endif
