/* report_text.c: texts, numbers and kinds of operators of the page. */
#include "api/report.h"
#include "base/inert.h"

#include <stdio.h>
#include <string.h>

const pz_page_kind pz_page_kinds[PZ_FAMILIES] = {
    [PZ_FAMILY_CONV] = {"convolution", "conv"},
    [PZ_FAMILY_DECONV] = {"deconvolution", "deconv"},
    [PZ_FAMILY_PRODUCT] = {"inner product", "dense"},
    [PZ_FAMILY_POOL] = {"pooling", "pool"},
    [PZ_FAMILY_NORM] = {"normalisation", "norm"},
    [PZ_FAMILY_FUNCTION] = {"activation", "act"},
    [PZ_FAMILY_JOIN] = {"sum or concatenation", "join"},
    [PZ_FAMILY_MOVE] = {"moving data", "move"},
    [PZ_FAMILY_OTHER] = {"other", "other"},
};

pz_op_family pz_page_kind_of(const char *op) {
  return strcmp(op, "layout") ? pz_op_get(pz_op_find(op))->family : PZ_FAMILY_MOVE;
}

/* ---- letters ---- */

static bool is_wide(int32_t code) {
  return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
         (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
         (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) || code >= 0x1F300;
}

void pz_page_text(pz_text *out, const char *s, size_t most) { pz_inert_html(out, s, most); }

int pz_page_letters(const char *s, size_t most) {
  int n = 0, bytes;
  for (size_t i = 0; *s && i < most; i++, s += bytes) n += is_wide(pz_utf8_letter(s, &bytes)) ? 2 : 1;
  return n;
}

/* ---- numbers and shapes ---- */

const char *pz_page_amount(double amount, const char *unit, char *out) {
  static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
  size_t i = 0;
  for (; amount >= 999.5 && i + 1 < sizeof prefix / sizeof *prefix; i++) amount /= 1000;
  snprintf(out, 32, "%.3g %s%s", amount, prefix[i], unit);
  return out;
}

double pz_json_number(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
const char *pz_json_text(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "?";
}

const char *pz_page_shape(const pz_shape *s, char *out) {
  const int first = s->rank > 1 && s->dim[0] == 1;
  size_t n = 0;
  snprintf(out, PZ_SHAPE_TEXT, "%s", s->rank ? "" : "scalar");
  for (int i = first; i < s->rank; i++)
    n += (size_t)snprintf(out + n, PZ_SHAPE_TEXT * 2 - n, "%s%lld", i > first ? "\xC3\x97" : "",
                          (long long)s->dim[i]);
  return out;
}

bool pz_page_shape_of(const json_t *dims, pz_shape *shape) {
  const size_t rank = json_array_size(dims);
  *shape = (pz_shape){.rank = (int32_t)rank};
  if (!rank || rank > PZ_MAX_RANK) return false;
  for (size_t i = 0; i < rank; i++) shape->dim[i] = json_integer_value(json_array_get(dims, i));
  return pz_shape_valid(shape, NULL);
}

int32_t pz_page_link(pz_page *page, const char *layer) {
  json_t *name = pz_json_name(layer); /* a key is UTF-8, as the manifest's names are */
  const char *key = name ? json_string_value(name) : "";
  const json_t *known = json_object_get(page->links, key);
  const int32_t link = known ? (int32_t)json_integer_value(known) : page->n_links++;
  if (!known) pz_json_set(&page->json, page->links, key, json_integer(link));
  if (!name) page->json.failed = true;
  json_decref(name);
  return link;
}
