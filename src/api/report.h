/* report.h: the page of pz_inspect_page: what it shows, and its parts. One HTML file that needs nothing else: drawings are
 * inline SVG (report_sketch.c, report_draw.c, report_memory.c), style and script are report.css and report.js. Texts come from
 * hostile files: all of them pass pz_page_text. */
#ifndef PZ_API_REPORT_H
#define PZ_API_REPORT_H

#include "api/api.h"

typedef struct pz_page {
  pz_arena *arena;
  pz_text out;
  const char *path;
  const pz_graph *before, *after; /* NULL for a network file */
  const json_t *passes;           /* of pz_model; NULL for a network file */
  const json_t *manifest;         /* of the network file, or of the plan */
  const json_t *bench;            /* the report of pz_bench; NULL where nothing was measured */
  const char *note;               /* of the tuner; "" */
  json_t *links;   /* {layer's name: number}: elements of one number are shown together; owned by report.c */
  int32_t n_links; /* numbers given */
  json_t *rows;    /* the plan's steps, those of one layer as one; "from" are rows, inputs as -1 - index */
  json_t *
      times; /* by row: as the bench's "layers"; NULL where nothing was measured. Both are owned by report.c */
  pz_json json; /* of links, rows and times */
  int32_t *row_of_step, n_steps;
  double *shares; /* by row: of the time, or of the expected cost; add up to 1 */
  double largest_share;
} pz_page;

/* rows, times, row_of_step and shares, from the manifest and the bench (report_rows.c). */
pz_status pz_page_find_rows(pz_page *page, pz_error *err);

/* Writes the whole page to page->out. */
pz_status pz_page_write(pz_page *page, pz_error *err);

/* ---- parts ---- */

pz_status pz_page_graphs(pz_page *page, pz_error *err); /* report_sketch.c */
pz_status pz_page_memory(pz_page *page, pz_error *err); /* report_memory.c */
void pz_page_layers(pz_page *page);                     /* report_layers.c */

/* ---- what they share (report_text.c) ---- */

/* At most `most` letters, with an ellipsis where there are more. What HTML does not allow as text, what is not UTF-8 and what turns
 * the direction of writing becomes '?'. */
void pz_page_text(pz_text *out, const char *s, size_t most);
/* How wide it is, in letters of a monospaced font; wide letters of East Asia count twice. */
int pz_page_letters(const char *s, size_t most);
/* 1234567 as "1.23 M" into out (at least 32 bytes). */
const char *pz_page_amount(double amount, const char *unit, char *out);

double pz_json_number(const json_t *o, const char *key);    /* 0 where it is not one */
const char *pz_json_text(const json_t *o, const char *key); /* "?" where it is not one */
/* The result's shape, "28×18×160×160" (a batch of one is left out), into out (at least PZ_SHAPE_TEXT * 2 bytes). */
const char *pz_page_shape(const pz_shape *shape, char *out);
bool pz_page_shape_of(const json_t *dims, pz_shape *shape); /* false where it is none */

/* The number of a layer's name. */
int32_t pz_page_link(pz_page *page, const char *layer);

/* What the page calls a family of operators. */
typedef struct pz_page_kind {
  const char *title, *name; /* name: of the CSS class and colour */
} pz_page_kind;
extern const pz_page_kind pz_page_kinds[PZ_FAMILIES];
/* The family of a step or an operator, by its name: PZ_FAMILY_OTHER of one that is not known. */
pz_op_family pz_page_kind_of(const char *op);

/* ---- a graph to draw (report_draw.c) ---- */

typedef struct pz_sketch_node {
  const char *name, *line, *tip; /* tip: more lines for who points at it */
  int32_t kind, level;           /* level: how often its result is halved in space, from 0 */
  pz_shape5 size;                /* of its result; n is 0 where it is not known */
  int32_t link, row;             /* row: -1: none */
  bool port, gone;               /* an input or output; not there after the passes */
} pz_sketch_node;
typedef struct pz_sketch {
  const char *title, *subtitle;
  pz_sketch_node *nodes;
  struct pz_layered_edge *edges;
  int32_t n_nodes, n_edges;
} pz_sketch;
pz_status pz_page_draw(pz_page *page, const pz_sketch *sketch, pz_error *err);

#endif
