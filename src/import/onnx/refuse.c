/* refuse.c: messages; and what is not supported, all of it in one message, so that a user sees at once what is missing. */
#include "import/onnx/onnx.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pz_status pz_onnx_no_memory(pz_onnx *c) { return pz_fail_memory(c->err, c->file, sizeof(pz_onnx_value)); }

const char *pz_onnx_node_name(pz_onnx *c, const pz_onnx_node *node, int32_t number) {
  return *node->name ? node->name : pz_arena_printf(c->arena, "%s_%d", node->op, (int)number);
}

pz_status pz_onnx_fail(pz_onnx *c, const char *format, ...) {
  char text[640];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pz_fail(c->err, PZ_ERROR_INPUT, "%s: node '%.200s' (%.60s): %s", c->file, c->node_name, c->node->op,
                 text);
}

static bool grow(pz_onnx *c) {
  const int32_t n = c->n_refusals;
  if (n & (n - 1)) return true;
  pz_onnx_refusal *moved = PZ_NEW(c->arena, pz_onnx_refusal, n ? 2 * (size_t)n : 1);
  if (!moved) return false;
  if (n) memcpy(moved, c->refusals, (size_t)n * sizeof *moved);
  c->refusals = moved;
  return true;
}

static pz_status add_refusal(pz_onnx *c, const char *key, const pz_onnx_refusal *refusal) {
  if (!grow(c) || !pz_import_names_put(&c->refusal_index, key, c->n_refusals)) return pz_onnx_no_memory(c);
  c->refusals[c->n_refusals++] = *refusal;
  return PZ_OK;
}

/* The current node. */
static pz_status note(pz_onnx *c, const char *reason) {
  const pz_onnx_node *node = c->node;
  const char *domain = strcmp(node->domain, "ai.onnx") ? node->domain : "";
  const char *key = pz_arena_printf(c->arena, "%s\n%s\n%s", domain, node->op, reason);
  if (!key) return pz_onnx_no_memory(c);
  int32_t at = pz_import_names_find(&c->refusal_index, key);
  if (at < 0)
    PZ_TRY(add_refusal(c, key, &(pz_onnx_refusal){.domain = domain, .op = node->op, .reason = reason}));
  if (at < 0) at = c->n_refusals - 1;
  pz_onnx_refusal *r = &c->refusals[at];
  if (r->count < PZ_ONNX_MOST_NAMES) r->names[r->count] = c->node_name;
  r->count++;
  c->refused++;
  return PZ_OK;
}

/* PZ_ERROR_INPUT without a message: build.c goes on. */
pz_status pz_onnx_refuse(pz_onnx *c, const char *format, ...) {
  char text[200];
  va_list args;
  if (c->guessed) return PZ_ERROR_INPUT;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *reason = pz_arena_strdup(c->arena, text);
  if (!reason) return pz_onnx_no_memory(c);
  PZ_TRY(note(c, reason));
  return PZ_ERROR_INPUT;
}

/* ---- the message ---- */

#define LONGEST_LIST 3000

/* The length of a text, or of as much of it as has at most `most` bytes and ends with a whole character. */
static int clipped(const char *text, int most) {
  const int size = (int)strnlen(text, (size_t)most + 1);
  int n = size < most ? size : most;
  while (n < size && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
  return n;
}

static void put(pz_text *out, const char *text, int most) {
  pz_text_printf(out, "%.*s", clipped(text, most), text);
}

/* "Resize with mode cubic: 2 nodes ('a', 'b')", "Det ('c')": with at most `names` names. */
static void list_kind(const pz_onnx_refusal *r, int32_t names, pz_text *out) {
  put(out, r->domain, 60);
  put(out, *r->domain ? "::" : "", 2);
  put(out, *r->op ? r->op : "no operator", 60);
  put(out, *r->reason ? " with " : "", 6);
  put(out, r->reason, 160);
  if (r->count > 1 || !names) pz_text_printf(out, ": %d node%s", (int)r->count, r->count > 1 ? "s" : "");
  for (int32_t k = 0; k < r->count && k < names; k++) {
    pz_text_append(out, k ? ", '" : " ('");
    put(out, r->names[k], 60);
    pz_text_append(out, "'");
  }
  if (r->count > names && names) pz_text_printf(out, " and %d more", (int)(r->count - names));
  if (names) pz_text_append(out, ")");
}

/* Without names, what does not fit is counted. */
static void list_all(const pz_onnx *c, int32_t names, pz_text *out) {
  int32_t kinds = 0, left = 0;
  for (int32_t i = 0; i < c->n_refusals; i++) {
    if (out->size >= LONGEST_LIST) {
      kinds++;
      left += c->refusals[i].count;
      continue;
    }
    if (i) pz_text_append(out, "; ");
    list_kind(&c->refusals[i], names, out);
  }
  if (left) pz_text_printf(out, "; and %d more of %d more kinds", (int)left, (int)kinds);
}

pz_status pz_onnx_fail_refused(pz_onnx *c, pz_error *err) {
  pz_text list = {0};
  int32_t names = PZ_ONNX_MOST_NAMES;
  list_all(c, names, &list);
  while (list.size >= LONGEST_LIST && names && !list.failed) {
    pz_text_free(&list);
    list_all(c, names /= 2, &list);
  }
  pz_onnx_advise(c, &list);
  const pz_status status = list.failed
                               ? pz_fail_memory(err, "a message", LONGEST_LIST)
                               : pz_fail(err, PZ_ERROR_INPUT, "%s: %d node%s not supported: %s", c->file,
                                         (int)c->refused, c->refused > 1 ? "s are" : " is", list.data);
  pz_text_free(&list);
  return status;
}
