/* report_draw.c: a graph as SVG: a box for each node, coloured by its kind, a line for each tensor; lines that pass layers have
 * a colour of their own, so that skip connections are seen. */
#include "api/layered.h"
#include "api/report.h"

#include <math.h>

enum {
  NAME_LETTERS = 34,
  LINE_LETTERS = 60,
  MARGIN = 16,
  BOX = 36,
  PORT = 36,
  ROUND = 5,
  STRIPE = 5,
  GRID = 40
};
static const double name_width = 6.65, line_width = 6.05, slack = 22; /* monospaced, 11 and 10 pixels */

static double width_of(const pz_sketch_node *n) {
  const double name = name_width * pz_page_letters(n->name, NAME_LETTERS);
  const double line = line_width * pz_page_letters(n->line, LINE_LETTERS);
  const double width = slack + (name > line ? name : line);
  return GRID * ceil(width / GRID); /* few different widths, so that the boxes of a chain look alike */
}

static void put_heat(const pz_page *page, const pz_sketch_node *n, double left, double top, double width,
                     pz_text *out) {
  if (n->row < 0 || !(page->largest_share > 0)) return;
  const double length = (width - STRIPE - 2) * page->shares[n->row] / page->largest_share;
  if (length < 0.5) return;
  pz_text_printf(out, "<rect class=\"heat\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"3\" rx=\"1\"/>",
                 left + STRIPE + 1, top + BOX - 4, length);
}

static void put_node(const pz_page *page, const pz_sketch_node *n, const pz_layered_node *at, pz_text *out) {
  const double left = at->x - at->width / 2, text = n->port ? at->x : left + STRIPE + 7;
  pz_text_printf(out, "<g class=\"n %s%s%s\"", n->port ? "port" : pz_page_kinds[n->kind].name,
                 n->gone ? " gone" : "", n->link >= 0 ? " link" : "");
  if (n->link >= 0) pz_text_printf(out, " data-l=\"%d\"", (int)n->link);
  pz_text_append(out, "><title>");
  pz_page_text(out, n->name, 300);
  pz_text_append(out, "\n");
  pz_page_text(out, n->line, 300);
  for (const char *s = n->tip; *s;) { /* its own line ends stay */
    const char *end = s;
    while (*end && *end != '\n') end++;
    pz_text_append(out, "\n");
    char *piece = pz_arena_strndup(page->arena, s, (size_t)(end - s));
    if (piece) pz_page_text(out, piece, 400);
    s = *end ? end + 1 : end;
  }
  pz_text_printf(out,
                 "</title><rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                 "rx=\"%d\"/>",
                 left, at->y, at->width, BOX, n->port ? PORT / 2 : ROUND);
  if (!n->port)
    pz_text_printf(out, "<path class=\"stripe\" d=\"M%.1f %.1fh-%dq-%d 0-%d %dv%dq0 %d %d %dh%dz\"/>",
                   left + STRIPE, at->y, STRIPE - ROUND, ROUND, ROUND, ROUND, BOX - 2 * ROUND, ROUND, ROUND,
                   ROUND, STRIPE - ROUND);
  put_heat(page, n, left, at->y, at->width, out);
  pz_text_printf(out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">", text, at->y + 15);
  pz_page_text(out, n->name, NAME_LETTERS);
  pz_text_printf(out, "</text><text class=\"line\" x=\"%.1f\" y=\"%.1f\">", text, at->y + 28);
  pz_page_text(out, n->line, LINE_LETTERS);
  pz_text_append(out, "</text></g>\n");
}

/* ---- lines ---- */

static void put_piece(const pz_layered_piece *p, pz_text *out) {
  const double end = p->target >= 0 ? p->y1 - 4 : p->y1, middle = (p->y0 + end) / 2;
  pz_text_printf(out, "M%.1f %.1f", p->x0, p->y0);
  if (fabs(p->x1 - p->x0) < 0.05) pz_text_printf(out, "V%.1f", end);
  else pz_text_printf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", p->x0, middle, p->x1, middle, p->x1, end);
  if (p->y2 > p->y1) pz_text_printf(out, "V%.1f", p->y2);
}

/* All pieces of a node, those of lanes or the others, as one path. */
static void put_lines(const pz_layered_piece *pieces, int32_t n, bool lane, pz_text *out) {
  int32_t k = 0;
  while (k < n && pieces[k].lane != lane) k++;
  if (k == n) return;
  pz_text_printf(out, "<path class=\"%s\" d=\"", lane ? "edge skip" : "edge");
  for (; k < n; k++)
    if (pieces[k].lane == lane) put_piece(&pieces[k], out);
  pz_text_printf(out, "\"/><path class=\"%s\" d=\"", lane ? "tip skip" : "tip");
  for (k = 0; k < n; k++)
    if (pieces[k].lane == lane && pieces[k].target >= 0)
      pz_text_printf(out, "M%.1f %.1fl-3.5 -6h7z", pieces[k].x1, pieces[k].y1);
  pz_text_append(out, "\"/>");
}

static void put_edges(const pz_sketch *s, const pz_layered *l, pz_text *out) {
  for (int32_t k = 0, end; k < l->n_pieces; k = end) {
    for (end = k; end < l->n_pieces && l->pieces[end].source == l->pieces[k].source; end++) {}
    pz_text_append(out, "<g><title>from ");
    pz_page_text(out, s->nodes[l->pieces[k].source].name, 300);
    pz_text_append(out, "</title>");
    put_lines(&l->pieces[k], end - k, true, out);
    put_lines(&l->pieces[k], end - k, false, out);
    pz_text_append(out, "</g>\n");
  }
}

/* ---- the panel ---- */

static void put_panel(pz_page *page, const pz_sketch *s, const pz_layered *l) {
  pz_text *out = &page->out;
  const double width = l->width + 2 * MARGIN, height = l->height + 2 * MARGIN;
  pz_text_printf(out,
                 "<div class=\"scroll\"><svg class=\"graph\" data-w=\"%.0f\" "
                 "style=\"width:%.0fpx;min-width:%.0fpx\" viewBox=\"%d %d %.0f %.0f\" role=\"img\" "
                 "aria-label=\"",
                 width, width, width * 0.5 < 360 ? fmin(width, 360) : width * 0.5, -MARGIN, -MARGIN, width,
                 height);
  pz_page_text(out, s->title, 100);
  pz_text_append(out, "\">\n");
  put_edges(s, l, out);
  for (int32_t i = 0; i < s->n_nodes; i++) put_node(page, &s->nodes[i], &l->nodes[i], out);
  pz_text_append(out, "</svg></div>");
}

pz_status pz_page_draw(pz_page *page, const pz_sketch *s, pz_error *err) {
  pz_layered l = {.n_nodes = s->n_nodes, .edges = s->edges, .n_edges = s->n_edges};
  l.nodes = PZ_NEW(page->arena, pz_layered_node, (size_t)s->n_nodes + 1);
  if (!l.nodes) return pz_fail_memory(err, "the drawing", (size_t)s->n_nodes * sizeof *l.nodes);
  for (int32_t i = 0; i < s->n_nodes; i++)
    l.nodes[i] = (pz_layered_node){width_of(&s->nodes[i]), BOX, s->nodes[i].level, 0, 0, 0};
  PZ_TRY(pz_layered_place(&l, page->arena, err));
  pz_text_append(&page->out, "<section class=\"panel\"><header><h2>");
  pz_page_text(&page->out, s->title, 100);
  pz_text_append(&page->out, "</h2><span class=\"soft\">");
  pz_page_text(&page->out, s->subtitle, 300);
  pz_text_append(&page->out,
                 "</span><span class=\"zoom\"><button data-z=\"0.8\" title=\"smaller\">\xE2\x88\x92"
                 "</button><button data-z=\"fit\" title=\"the whole graph\">all</button>"
                 "<button data-z=\"one\" title=\"as large as the text of the page\">1:1</button>"
                 "<button data-z=\"1.25\" title=\"larger\">+</button></span></header>");
  if (l.too_large)
    pz_text_printf(&page->out, "<p class=\"soft\">%d nodes: too large to be drawn.</p>", (int)s->n_nodes);
  else put_panel(page, s, &l);
  pz_text_append(&page->out, "</section>\n");
  return PZ_OK;
}
