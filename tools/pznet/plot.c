/* plot.c: a bar for each layer of a network, in order, as an SVG drawing: by itself, or inside an HTML page. A bar's
 * length is the layer's time; its dark part is the time that the multiply-adds of the layer's algorithm take at the
 * machine's peak, so what is light is what could be won. */
#include "plot.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ROW = 20, BAR = 14, TOP = 104, BARS = 560, FIGURES = 300, MARGIN = 20, LETTER = 7, MOST_LETTERS = 36 };

/* ---- kinds of layers: which colours ---- */

typedef struct kind {
  const char *title, *class, *ops[8]; /* operators, as the graph's text form names them; none: the rest */
} kind;
static const kind kinds[] = {
    {"convolution", "conv", {"conv"}}, {"deconvolution", "deconv", {"deconv"}},
    {"pooling", "pool", {"pool"}},     {"layout", "layout", {"layout"}},
    {"other", "other", {NULL}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const kind *kind_of(const char *op) {
  for (int k = 0; k < KINDS - 1; k++)
    for (int i = 0; kinds[k].ops[i]; i++)
      if (!strcmp(kinds[k].ops[i], op)) return &kinds[k];
  return &kinds[KINDS - 1];
}

static const char style[] =
    "svg{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;background:#fff}\n"
    "text{fill:#1f2328}.title{font-size:16px;font-weight:600}.soft{fill:#656d76}.end{text-anchor:end}\n"
    ".grid{stroke:#d8dee4;stroke-width:1}.band{fill:#000;fill-opacity:0}.row:hover .band{fill-opacity:.06}\n"
    ".conv{fill:#4c8ed9}.deconv{fill:#3aa675}.pool{fill:#d9a441}.layout{fill:#a58bd1}.other{fill:#9aa4ae}\n"
    ".work{fill:#000;fill-opacity:.38}\n"
    "@media (prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.soft{fill:#8d96a0}"
    ".grid{stroke:#30363d}.band{fill:#fff}}\n";

/* ---- text ---- */

static double number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
static const char *text(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "?";
}

static bool continues(char c) { return ((unsigned char)c & 0xC0) == 0x80; }
static size_t letters(const char *s) {
  size_t n = 0;
  for (; *s; s++) n += !continues(*s);
  return n;
}

/* Names come from a model. At most `most` letters. */
static void put_text(FILE *f, const char *name, size_t most) {
  char shown[2048];
  const char *s = pz_printable(name, shown, sizeof shown);
  const bool cut = letters(s) > most;
  size_t n = 0;
  for (; *s && (continues(*s) || ++n < most || !cut); s++) {
    if (*s == '&') fputs("&amp;", f);
    else if (*s == '<') fputs("&lt;", f);
    else if (*s == '>') fputs("&gt;", f);
    else if (*s == '"') fputs("&quot;", f);
    else fputc(*s, f);
  }
  if (cut) fputs("\xE2\x80\xA6", f);
}

/* ---- the drawing ---- */

typedef struct plot {
  FILE *f;
  const json_t *report, *layers;
  int left, width, height; /* left: where bars begin */
  double longest;          /* milliseconds at the axis' end */
} plot;

static double x_of(const plot *p, double milliseconds) { return p->left + BARS * milliseconds / p->longest; }

/* The step of an axis with four to ten marks up to `most`: 1, 2 or 5 times a power of ten. */
static double axis_step(double most) {
  double step = 1e-9;
  for (int i = 0; most / step > 10; i++) step *= i % 3 == 1 ? 2.5 : 2;
  return step;
}

static void put_head(const plot *p, const char *network) {
  const json_t *r = p->report;
  const char *name = strrchr(network, '/') ? strrchr(network, '/') + 1 : network;
  fprintf(p->f, "<text class=\"title\" x=\"%d\" y=\"28\">", MARGIN);
  put_text(p->f, name, 80);
  fprintf(p->f,
          "</text>\n<text class=\"soft\" x=\"%d\" y=\"48\">median %.3f ms on %d thread%s, %.1f GFLOP/s "
          "effective; "
          "multiply-add peak %.1f GFLOP/s</text>\n",
          MARGIN, number(r, "median_ms"), (int)number(r, "threads"), number(r, "threads") == 1 ? "" : "s",
          number(r, "gflops"), number(r, "peak_gflops"));
  int x = MARGIN;
  for (int k = 0; k < KINDS; k++) {
    fprintf(p->f,
            "<rect class=\"%s\" x=\"%d\" y=\"60\" width=\"12\" height=\"12\" rx=\"2\"/>"
            "<text x=\"%d\" y=\"70\">%s</text>\n",
            kinds[k].class, x, x + 17, kinds[k].title);
    x += 34 + LETTER * (int)strlen(kinds[k].title);
  }
  fprintf(p->f,
          "<rect class=\"other\" x=\"%d\" y=\"60\" width=\"12\" height=\"12\" rx=\"2\"/>"
          "<rect class=\"work\" x=\"%d\" y=\"60\" width=\"12\" height=\"12\" rx=\"2\"/>"
          "<text x=\"%d\" y=\"70\">its multiply-adds at peak</text>\n",
          x, x, x + 17);
}

static void put_axis(const plot *p) {
  const double step = axis_step(p->longest);
  for (int i = 0; i * step <= p->longest * (1 + 1e-9); i++) {
    const double x = x_of(p, i * step);
    fprintf(p->f,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
            "<text class=\"soft\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%g</text>\n",
            x, x, TOP - 6, p->height - MARGIN, x, TOP - 11, i * step);
  }
  fprintf(p->f, "<text class=\"soft\" x=\"%d\" y=\"%d\">ms</text>\n", p->left + BARS + 18, TOP - 11);
}

/* What a reader sees who points at the bar. */
static void put_tip(FILE *f, const json_t *row, bool counts) {
  fputs("<title>", f);
  put_text(f, text(row, "layer"), 200);
  fputs(" (", f);
  put_text(f, text(row, "op"), 200);
  fputs(")\n", f);
  put_text(f, text(row, "algorithm"), 400);
  fprintf(f, "\n%.3f ms, %.1f%% of the whole, %.1f GB/s", number(row, "milliseconds"),
          100 * number(row, "share"), number(row, "gbytes_per_second"));
  if (counts)
    fprintf(f,
            "\n%.1f GFLOP/s effective, %.1f%% of what the algorithm reaches at peak\n"
            "%.3f G multiply-adds, %.3f G of the direct algorithm",
            number(row, "gflops"), number(row, "percent_of_algorithm"),
            1e-9 * number(row, "multiply_adds_done"), 1e-9 * number(row, "multiply_adds"));
  fputs("</title>", f);
}

static void put_row(const plot *p, const json_t *row, int y) {
  const double ms = number(row, "milliseconds"), part = number(row, "percent_of_algorithm") / 100;
  const bool counts = number(row, "multiply_adds") > 0;
  const double length = x_of(p, ms) - p->left;
  fprintf(p->f,
          "<g class=\"row\"><rect class=\"band\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
          "<text class=\"end\" x=\"%d\" y=\"%d\">",
          y, p->width, ROW, p->left - 8, y + 14);
  put_text(p->f, text(row, "layer"), MOST_LETTERS);
  fprintf(p->f, "</text><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>",
          kind_of(text(row, "op"))->class, p->left, y + (ROW - BAR) / 2, length, BAR);
  if (counts)
    fprintf(p->f, "<rect class=\"work\" x=\"%d\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>", p->left,
            y + (ROW - BAR) / 2, length * (part < 1 ? part : 1), BAR);
  fprintf(p->f, "<text class=\"soft\" x=\"%.1f\" y=\"%d\">%.*f ms, %.1f%%", p->left + length + 6, y + 14,
          ms < 1 ? 4 : 2, ms, 100 * number(row, "share"));
  if (counts) fprintf(p->f, ", %.0f GFLOP/s, %.0f%% of reach", number(row, "gflops"), 100 * part);
  fputs("</text>", p->f);
  put_tip(p->f, row, counts);
  fputs("</g>\n", p->f);
}

static void put_svg(const plot *p, const char *network) {
  const json_t *row;
  size_t i;
  fprintf(p->f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
          "%d\">\n<style>%s</style>\n",
          p->width, p->height, p->width, p->height, style);
  put_head(p, network);
  put_axis(p);
  json_array_foreach(p->layers, i, row) put_row(p, row, TOP + ROW * (int)i);
  fputs("</svg>\n", p->f);
}

static plot measure(FILE *f, const json_t *report) {
  plot p = {.f = f, .report = report, .layers = json_object_get(report, "layers")};
  const json_t *row;
  size_t i, most = 8;
  json_array_foreach(p.layers, i, row) {
    const size_t n = letters(text(row, "layer"));
    if (n > most) most = n;
    if (number(row, "milliseconds") > p.longest) p.longest = number(row, "milliseconds");
  }
  if (!(p.longest > 0)) p.longest = 1;
  p.left = MARGIN + LETTER * (int)(most < MOST_LETTERS ? most : MOST_LETTERS) + 8;
  p.width = p.left + BARS + FIGURES + MARGIN;
  p.height = TOP + ROW * (int)json_array_size(p.layers) + MARGIN + 6;
  return p;
}

/* ---- the file ---- */

static bool ends_with(const char *s, const char *end) {
  const size_t n = strlen(s), m = strlen(end);
  return n > m && !strcasecmp(s + n - m, end);
}

bool tool_plot_can(const char *path) { return ends_with(path, ".html") || ends_with(path, ".svg"); }

static void put_page(const plot *p, const char *path, const char *network) {
  const bool html = ends_with(path, ".html");
  if (html) {
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", p->f);
    put_text(p->f, network, 200);
    fputs("</title>\n<style>:root{color-scheme:light "
          "dark}body{margin:0;overflow-x:auto}svg{display:block;margin:auto}"
          "</style></head><body>\n",
          p->f);
  }
  put_svg(p, network);
  if (html) fputs("</body></html>\n", p->f);
}

static bool failed(const char *path) {
  tool_warn("pznet: %s: the plot cannot be written: %s\n", path, strerror(errno));
  return false;
}

bool tool_plot_layers(const char *path, const char *network, const json_t *report) {
  char *part;
  if (asprintf(&part, "%s.%ld.part", path, (long)getpid()) < 0) return errno = ENOMEM, failed(path);
  FILE *f = fopen(part, "w");
  bool good = f != NULL;
  if (f) {
    const plot p = measure(f, report);
    put_page(&p, path, network);
    good = !ferror(f);
    good = !fclose(f) && good && !rename(part, path);
  }
  if (!good) failed(path);
  if (!good && f) unlink(part);
  free(part);
  return good;
}
