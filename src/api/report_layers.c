/* report_layers.c: the table of the plan's layers, and the shares of kinds of operators. */
#include "api/report.h"

#include <string.h>

/* ---- shares by kind: one bar ---- */

static void put_kind_shares(pz_page *page) {
  double sum[PZ_FAMILIES] = {0};
  pz_text *out = &page->out;
  const json_t *s;
  size_t i;
  json_array_foreach(page->rows, i, s) sum[pz_page_kind_of(pz_json_text(s, "op"))] += page->shares[i];
  pz_text_append(out, "<div class=\"stack\">");
  for (int k = 0; k < PZ_FAMILIES; k++)
    if (sum[k] > 0)
      pz_text_printf(out, "<span class=\"%s\" style=\"flex-grow:%.4f\" title=\"%s: %.1f %%\"></span>",
                     pz_page_kinds[k].name, sum[k], pz_page_kinds[k].title, 100 * sum[k]);
  pz_text_append(out, "</div>\n<ul class=\"legend\">");
  for (int k = 0; k < PZ_FAMILIES; k++)
    if (sum[k] > 0)
      pz_text_printf(out, "<li><i class=\"%s\"></i>%s <b>%.1f %%</b></li>", pz_page_kinds[k].name,
                     pz_page_kinds[k].title, 100 * sum[k]);
  pz_text_append(out, "</ul>\n");
}

/* ---- the table ---- */

typedef struct column {
  const char *title, *tip;
  bool number, measured; /* measured: only with times */
  void (*put)(pz_page *page, const json_t *step, const json_t *times, double value);
  double (*value)(const pz_page *page, const json_t *step, const json_t *times, size_t i);
} column;

static double number_of_step(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)s, (void)t;
  return (double)i;
}
static double multiply_adds(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)t, (void)i;
  return pz_json_number(s, "multiply_adds");
}
static double bytes(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)t, (void)i;
  return pz_json_number(s, "bytes");
}
static double milliseconds(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)s, (void)i;
  return pz_json_number(t, "milliseconds");
}
static double gflops(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)s, (void)i;
  return pz_json_number(t, "gflops");
}
static double reach(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)s, (void)i;
  return pz_json_number(t, "percent_of_algorithm");
}
static double share(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)s, (void)t;
  return p->shares[i];
}
static double expected_error(const pz_page *p, const json_t *s, const json_t *t, size_t i) {
  (void)p, (void)t, (void)i;
  return pz_json_number(s, "expected_error");
}

static void put_index(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)s, (void)t;
  pz_text_printf(&page->out, "%.0f", value);
}
static void put_layer(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)t, (void)value;
  pz_text_append(&page->out, "<code>");
  pz_page_text(&page->out, pz_json_text(s, "layer"), 300);
  pz_text_append(&page->out, "</code>");
}
static void put_operator(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)t, (void)value;
  const char *op = pz_json_text(s, "op");
  pz_text_printf(&page->out, "<i class=\"%s\"></i>", pz_page_kinds[pz_page_kind_of(op)].name);
  pz_page_text(&page->out, op, 60);
}
static void put_output(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)t, (void)value;
  char text[PZ_SHAPE_TEXT * 2];
  pz_shape shape;
  if (pz_page_shape_of(json_object_get(s, "output"), &shape))
    pz_text_append(&page->out, pz_page_shape(&shape, text));
}
static void put_algorithm(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)t, (void)value;
  pz_page_text(&page->out, pz_json_text(s, "algorithm"), 200);
}
static void put_amount(pz_page *page, const json_t *s, const json_t *t, double value) {
  char text[32];
  (void)s, (void)t;
  if (value > 0) pz_text_append(&page->out, pz_page_amount(value, "", text));
}
static void put_ms(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)s, (void)t;
  pz_text_printf(&page->out, value < 1 ? "%.4f" : "%.2f", value);
}
static void put_rate(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)s, (void)t;
  if (value > 0) pz_text_printf(&page->out, "%.0f", value);
}
static void put_error(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)s, (void)t;
  if (value > 0) pz_text_printf(&page->out, "%.1e", value);
}
static void put_share(pz_page *page, const json_t *s, const json_t *t, double value) {
  (void)t;
  const double length = page->largest_share > 0 ? 100 * value / page->largest_share : 0;
  pz_text_printf(&page->out,
                 "<span class=\"bar\"><span class=\"%s\" style=\"width:%.2f%%\"></span></span><span "
                 "class=\"value\">%.1f %%</span>",
                 pz_page_kinds[pz_page_kind_of(pz_json_text(s, "op"))].name, length, 100 * value);
}

static const column columns[] = {
    {"#", "its place in the plan", true, false, put_index, number_of_step},
    {"layer", "", false, false, put_layer, NULL},
    {"operator", "", false, false, put_operator, NULL},
    {"output", "channels, then space; the batch first where it is not 1", false, false, put_output, NULL},
    {"algorithm", "", false, false, put_algorithm, NULL},
    {"multiply-adds", "of the direct algorithm", true, false, put_amount, multiply_adds},
    {"bytes", "inputs, weights and result, once each", true, false, put_amount, bytes},
    {"ms", "median of the runs", true, true, put_ms, milliseconds},
    {"share", "", true, false, put_share, share},
    {"GFLOP/s", "effective: of the direct algorithm", true, true, put_rate, gflops},
    {"% reach", "of what the layer's own algorithm would reach at the measured multiply-add peak", true, true,
     put_rate, reach},
    {"expected error", "relative, that the layer's algorithm adds to its result", true, false, put_error,
     expected_error},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_head(pz_page *page) {
  pz_text_append(&page->out, "<thead><tr>");
  for (int c = 0; c < COLUMNS; c++) {
    const char *title =
        columns[c].put == put_share ? page->bench ? "share of time" : "share of cost" : columns[c].title;
    if (columns[c].measured && !page->bench) continue;
    pz_text_printf(&page->out, "<th%s title=\"%s%ssort by this column\"><button>%s</button></th>",
                   columns[c].number ? " class=\"number\"" : "", columns[c].tip, *columns[c].tip ? "; " : "",
                   title);
  }
  pz_text_append(&page->out, "</tr></thead>\n");
}

static void put_row(pz_page *page, const json_t *step, size_t i) {
  const json_t *times = json_array_get(page->times, i);
  const char *layer = json_string_value(json_object_get(step, "layer"));
  const int32_t link = layer ? pz_page_link(page, layer) : -1;
  pz_text_append(&page->out, "<tr");
  if (link >= 0) pz_text_printf(&page->out, " class=\"link\" data-l=\"%d\"", (int)link);
  pz_text_append(&page->out, ">");
  for (int c = 0; c < COLUMNS; c++) {
    const double value = columns[c].value ? columns[c].value(page, step, times, i) : 0;
    if (columns[c].measured && !page->bench) continue;
    if (columns[c].number) pz_text_printf(&page->out, "<td class=\"number\" data-v=\"%.9g\">", value);
    else pz_text_append(&page->out, "<td>");
    columns[c].put(page, step, times, value);
    pz_text_append(&page->out, "</td>");
  }
  pz_text_append(&page->out, "</tr>\n");
}

void pz_page_layers(pz_page *page) {
  const json_t *step;
  size_t i;
  pz_text_printf(
      &page->out, "<section class=\"panel\"><header><h2>%s</h2><span class=\"soft\">%s</span></header>\n",
      page->bench ? "Where the time goes" : "Where the cost is expected",
      page->bench
          ? "median times of the layers of the plan"
          : "not measured: a layer counts the multiply-adds that its algorithm is expected to cost, or "
            "four for each byte it moves where that is more; --runs 20 measures");
  put_kind_shares(page);
  pz_text_append(&page->out, "<div class=\"scroll table\"><table>\n");
  put_head(page);
  pz_text_append(&page->out, "<tbody>\n");
  json_array_foreach(page->rows, i, step) put_row(page, step, i);
  pz_text_append(&page->out, "</tbody></table></div></section>\n");
}
