/* report_memory.c: the arena over the steps of a run: each buffer as a rectangle of steps and addresses, and how many bytes
 * hold something at each step. */
#include "api/report.h"

#include <string.h>

enum { WIDTH = 1160, HEIGHT = 320, LEFT = 72, RIGHT = 14, TOP = 16, STRIP = 10, BOTTOM = 40 };

typedef struct stretch {
  double offset, bytes;
  int32_t first, last;
} stretch;

typedef struct chart {
  pz_page *page;
  const json_t *plan;
  stretch *stretches;
  double *alive; /* by step: bytes in use */
  int32_t n, n_steps, peak;
  double top; /* bytes at the chart's upper end */
} chart;

static double x_of(const chart *c, double step) {
  return LEFT + (WIDTH - LEFT - RIGHT) * step / (c->n_steps ? c->n_steps : 1);
}
static double y_of(const chart *c, double bytes) {
  return TOP + (HEIGHT - TOP - BOTTOM) * (1 - bytes / c->top);
}

/* Of a network file too: only what lies in the arena and in the run is taken. */
static pz_status read_buffers(chart *c, const json_t *buffers, double arena_bytes, pz_error *err) {
  const json_t *b;
  size_t i;
  c->stretches = PZ_NEW(c->page->arena, stretch, json_array_size(buffers) + 1);
  c->alive = PZ_NEW(c->page->arena, double, (size_t)c->n_steps + 2);
  if (!c->stretches || !c->alive) return pz_fail_memory(err, "the chart", (size_t)c->n_steps * 8);
  c->top = arena_bytes;
  json_array_foreach(buffers, i, b) {
    const stretch s = {pz_json_number(b, "offset"), pz_json_number(b, "bytes"),
                       (int32_t)json_integer_value(json_object_get(b, "first")),
                       (int32_t)json_integer_value(json_object_get(b, "last"))};
    if (!(s.offset >= 0) || !(s.bytes > 0) || s.first < 0 || s.last < s.first || s.last >= c->n_steps ||
        s.offset + s.bytes > 1e18)
      continue;
    c->stretches[c->n++] = s;
    if (s.offset + s.bytes > c->top) c->top = s.offset + s.bytes;
    c->alive[s.first] += s.bytes;
    c->alive[s.last + 1] -= s.bytes;
  }
  for (int32_t k = 1; k < c->n_steps; k++) {
    c->alive[k] += c->alive[k - 1];
    if (c->alive[k] > c->alive[c->peak]) c->peak = k;
  }
  return PZ_OK;
}

static const char *layer_of(const chart *c, int32_t step) {
  return pz_json_text(json_array_get(c->plan, (size_t)step), "layer");
}
static const char *kind_of(const chart *c, int32_t step) {
  return pz_page_kinds[pz_page_kind_of(pz_json_text(json_array_get(c->plan, (size_t)step), "op"))].name;
}

/* The step of an axis with four to ten marks up to `most`: 1, 2 or 5 times a power of ten. */
static double axis_step(double most) {
  double step = 1;
  for (int i = 0; most / step > 8; i++) step *= i % 3 == 1 ? 2.5 : 2;
  return step;
}

static void put_axes(const chart *c) {
  pz_text *out = &c->page->out;
  char amount[32];
  const double bytes = axis_step(c->top), steps = axis_step(c->n_steps * 0.6);
  for (double b = 0; b <= c->top; b += bytes)
    pz_text_printf(
        out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
        LEFT, y_of(c, b), WIDTH - RIGHT, LEFT - 8, y_of(c, b) + 4, pz_page_amount(b, "B", amount));
  for (int32_t k = 0; k < c->n_steps; k += (int32_t)steps)
    pz_text_printf(out, "<text class=\"middle\" x=\"%.1f\" y=\"%d\">%d</text>\n", x_of(c, k + 0.5),
                   HEIGHT - BOTTOM + STRIP + 18, (int)k);
}

static void put_stretch(const chart *c, const stretch *s) {
  pz_text *out = &c->page->out;
  char amount[32];
  const char *layer = layer_of(c, s->first);
  const int32_t link = pz_page_link(c->page, layer);
  const double width = x_of(c, s->last + 1) - x_of(c, s->first),
               height = y_of(c, s->offset) - y_of(c, s->offset + s->bytes);
  pz_text_printf(out,
                 "<rect class=\"buffer %s link\" data-l=\"%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                 "height=\"%.2f\"><title>written by ",
                 kind_of(c, s->first), (int)link, x_of(c, s->first), y_of(c, s->offset + s->bytes), width,
                 height);
  pz_page_text(out, layer, 300);
  pz_text_printf(out, "\n%s from step %d to %d, last read by ", pz_page_amount(s->bytes, "B", amount),
                 (int)s->first, (int)s->last);
  pz_page_text(out, layer_of(c, s->last), 300);
  pz_text_append(out, "</title></rect>\n");
}

static void put_steps(const chart *c) {
  for (int32_t k = 0; k < c->n_steps; k++) {
    pz_text *out = &c->page->out;
    pz_text_printf(out,
                   "<rect class=\"%s link\" data-l=\"%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
                   "height=\"%d\"><title>step %d: ",
                   kind_of(c, k), (int)pz_page_link(c->page, layer_of(c, k)), x_of(c, k), HEIGHT - BOTTOM + 5,
                   x_of(c, k + 1) - x_of(c, k), STRIP, (int)k);
    pz_page_text(out, layer_of(c, k), 300);
    pz_text_append(out, "</title></rect>\n");
  }
}

static void put_alive(const chart *c) {
  pz_text *out = &c->page->out;
  pz_text_printf(out, "<path class=\"alive\" d=\"M%.2f %.2f", x_of(c, 0), y_of(c, 0));
  for (int32_t k = 0; k < c->n_steps; k++)
    pz_text_printf(out, "V%.2fH%.2f", y_of(c, c->alive[k]), x_of(c, k + 1));
  pz_text_printf(out, "V%.2f\"/>\n<path class=\"peak\" d=\"M%d %.2fH%d\"/>\n", y_of(c, 0), LEFT,
                 y_of(c, c->alive[c->peak]), WIDTH - RIGHT);
}

static void put_head(const chart *c, double arena_bytes) {
  pz_text *out = &c->page->out;
  char alive[32], arena[32], scratch[32];
  const double worker = pz_json_number(c->page->manifest, "worker_bytes");
  pz_text_printf(out,
                 "<section class=\"panel\"><header><h2>Memory over the steps of a run</h2><span "
                 "class=\"soft\">peak %s in use at step %d (",
                 pz_page_amount(c->alive[c->peak], "B", alive), (int)c->peak);
  pz_page_text(out, layer_of(c, c->peak), 60);
  pz_text_printf(out, ") in an arena of %s", pz_page_amount(arena_bytes, "B", arena));
  if (worker > 0)
    pz_text_printf(out, ", and %s of scratch for each thread", pz_page_amount(worker, "B", scratch));
  pz_text_append(out,
                 "</span></header>\n<p class=\"soft\">Rectangles: what lies where in the arena, and when, "
                 "coloured by the layer that writes it. Line: bytes in use.</p>\n");
}

pz_status pz_page_memory(pz_page *page, pz_error *err) {
  chart c = {.page = page, .plan = json_object_get(page->manifest, "plan")};
  const json_t *buffers = json_object_get(page->manifest, "buffers");
  const double arena_bytes = pz_json_number(page->manifest, "arena_bytes");
  c.n_steps = page->n_steps;
  PZ_TRY(read_buffers(&c, buffers, arena_bytes > 0 && arena_bytes < 1e18 ? arena_bytes : 0, err));
  if (!c.n || !c.n_steps) return PZ_OK;
  put_head(&c, arena_bytes);
  pz_text_printf(&page->out,
                 "<div class=\"scroll\"><svg class=\"memory\" viewBox=\"0 0 %d %d\" role=\"img\" "
                 "aria-label=\"memory over steps\">\n",
                 WIDTH, HEIGHT);
  put_axes(&c);
  for (int32_t i = 0; i < c.n; i++) put_stretch(&c, &c.stretches[i]);
  put_steps(&c);
  put_alive(&c);
  pz_text_printf(&page->out, "<text class=\"end\" x=\"%d\" y=\"%d\">step</text></svg></div></section>\n",
                 LEFT - 8, HEIGHT - BOTTOM + STRIP + 18);
  return PZ_OK;
}
