/* report_page.c: the page as a whole: head, facts, and the parts in their order. */
#include "api/report.h"

#include <string.h>

/* report.css and report.js (embedded by CMakeLists.txt) */
extern const char pz_page_style_begin[], pz_page_style_end[], pz_page_script_begin[], pz_page_script_end[];

/* ---- facts ---- */

static void begin_fact(pz_page *page, const char *title) {
  pz_text_printf(&page->out, "<div><dt>%s</dt><dd>", title);
}
static void end_fact(pz_page *page, const char *more) {
  if (more && *more) {
    pz_text_append(&page->out, "<small>");
    pz_page_text(&page->out, more, 120);
    pz_text_append(&page->out, "</small>");
  }
  pz_text_append(&page->out, "</dd></div>\n");
}

static void put_fact(pz_page *page, const char *title, const char *value, const char *more) {
  begin_fact(page, title);
  pz_page_text(&page->out, value, 120);
  end_fact(page, more);
}

static void put_ports(pz_page *page, const char *key, const char *title) {
  const json_t *ports = json_object_get(page->manifest, key), *p;
  char text[PZ_SHAPE_TEXT * 2];
  size_t i;
  json_array_foreach(ports, i, p) {
    pz_shape shape;
    if (i == 4) break;
    put_fact(page, title,
             pz_page_shape_of(json_object_get(p, "shape"), &shape) ? pz_page_shape(&shape, text) : "?",
             pz_json_text(p, "name"));
  }
}

static void put_time(pz_page *page) {
  char value[64], more[160];
  const json_t *b = page->bench;
  if (!b) return;
  const int threads = (int)pz_json_number(b, "threads");
  snprintf(value, sizeof value, "%.4g ms", pz_json_number(b, "median_ms"));
  snprintf(more, sizeof more, "median of %d runs on %d thread%s", (int)pz_json_number(b, "runs"), threads,
           threads == 1 ? "" : "s");
  put_fact(page, "time of a run", value, more);
  snprintf(value, sizeof value, "%.4g GFLOP/s", pz_json_number(b, "gflops"));
  snprintf(more, sizeof more, "effective; %.1f %% of the peak, %.4g", pz_json_number(b, "percent_of_peak"),
           pz_json_number(b, "peak_gflops"));
  put_fact(page, "speed", value, more);
}

static void put_layers(pz_page *page) {
  char value[64], more[64];
  const int steps = (int)json_array_size(json_object_get(page->manifest, "plan"));
  if (page->after) {
    snprintf(value, sizeof value, "%d \xE2\x86\x92 %d", (int)page->before->n_nodes,
             (int)page->after->n_nodes);
    snprintf(more, sizeof more, "by the passes; %d steps to run", steps);
    put_fact(page, "layers", value, more);
  } else {
    snprintf(value, sizeof value, "%d", steps);
    put_fact(page, "steps", value, "");
  }
}

static void put_facts(pz_page *page) {
  char amount[32], more[64];
  const json_t *m = page->manifest;
  pz_text_append(&page->out, "<dl class=\"facts\">\n");
  put_ports(page, "inputs", "input");
  put_ports(page, "outputs", "output");
  put_layers(page);
  put_fact(page, "multiply-adds", pz_page_amount(pz_json_number(m, "multiply_adds"), "", amount),
           "a run, of direct algorithms");
  put_fact(page, "weights", pz_page_amount(pz_json_number(m, "weights_bytes"), "B", amount), "packed");
  put_fact(page, "memory", pz_page_amount(pz_json_number(m, "arena_bytes"), "B", amount),
           "the arena of a run");
  snprintf(more, sizeof more, "blocks of %d channels", (int)pz_json_number(m, "vector_block"));
  put_fact(page, "instruction set", pz_json_text(m, "isa"), more);
  put_time(page);
  pz_text_append(&page->out, "</dl>\n");
}

static void put_passes(pz_page *page) {
  const json_t *row;
  size_t i;
  if (!json_array_size(page->passes)) return;
  pz_text_append(&page->out, "<ul class=\"legend passes\"><li class=\"soft\">passes and their changes</li>");
  json_array_foreach(page->passes, i, row) {
    const int changes = (int)pz_json_number(row, "changes");
    pz_text_printf(&page->out, "<li%s title=\"", changes ? "" : " class=\"soft\"");
    pz_page_text(&page->out, pz_json_text(row, "title"), 300);
    pz_text_append(&page->out, "\">");
    pz_page_text(&page->out, pz_json_text(row, "name"), 60);
    pz_text_printf(&page->out, " <b>%d</b></li>", changes);
  }
  pz_text_append(&page->out, "</ul>\n");
}

static void put_key(pz_page *page) {
  pz_text_append(&page->out, "<ul class=\"legend\">");
  for (int k = 0; k < PZ_FAMILIES; k++)
    pz_text_printf(&page->out, "<li><i class=\"%s\"></i>%s</li>", pz_page_kinds[k].name,
                   pz_page_kinds[k].title);
  pz_text_printf(
      &page->out,
      "<li><i class=\"skipkey\"></i>passes layers</li><li><i class=\"heatkey\"></i>%s</li>%s</ul>\n",
      page->bench ? "share of time" : "share of expected cost",
      page->after ? "<li><i class=\"gonekey\"></i>fused or dropped</li>" : "");
}

static void put_head(pz_page *page) {
  const char *slash = strrchr(page->path, '/'), *name = slash ? slash + 1 : page->path;
  pz_text *out = &page->out;
  pz_text_append(
      out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
           "content=\"width=device-width\">\n<title>");
  pz_page_text(out, name, 200);
  pz_text_append(out, "</title>\n<style>\n");
  pz_text_append_bytes(out, pz_page_style_begin, (size_t)(pz_page_style_end - pz_page_style_begin));
  pz_text_append(out, "</style>\n</head>\n<body>\n<h1>");
  pz_page_text(out, name, 200);
  pz_text_append(out, "</h1>\n<p class=\"soft\">");
  if (strcmp(pz_json_text(page->manifest, "name"), "?")) {
    pz_page_text(out, pz_json_text(page->manifest, "name"), 200);
    pz_text_append(out, ", ");
  }
  pz_text_printf(out, "%s; drawn by pznet inspect %s</p>\n",
                 page->after ? "a model, its plan on this machine" : "a network file", PZ_VERSION);
}

pz_status pz_page_write(pz_page *page, pz_error *err) {
  PZ_TRY(pz_page_find_rows(page, err));
  put_head(page);
  put_facts(page);
  put_passes(page);
  put_key(page);
  PZ_TRY(pz_page_graphs(page, err));
  pz_page_layers(page);
  PZ_TRY(pz_page_memory(page, err));
  if (page->note && *page->note) {
    pz_text_append(&page->out, "<p class=\"soft\">");
    pz_page_text(&page->out, page->note, 600);
    pz_text_append(&page->out, "</p>\n");
  }
  pz_text_append(&page->out, "<script>\n");
  pz_text_append_bytes(&page->out, pz_page_script_begin, (size_t)(pz_page_script_end - pz_page_script_begin));
  pz_text_append(&page->out, "</script>\n</body>\n</html>\n");
  PZ_TRY(pz_json_end(&page->json, "the page", err));
  return page->out.failed ? pz_fail_memory(err, "the page", page->out.capacity) : PZ_OK;
}
