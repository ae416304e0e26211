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

pz_status pz_onnx_note_refusal(pz_onnx *c, const pz_onnx_node *node, const char *name, const char *reason) {
  const bool plain = !*node->domain || !strcmp(node->domain, "ai.onnx");
  const char *op = plain ? node->op : pz_arena_printf(c->arena, "%s::%s", node->domain, node->op);
  if (!op || !reason || !name || !grow(c)) return pz_onnx_no_memory(c);
  c->refusals[c->n_refusals++] = (pz_onnx_refusal){op, name, reason};
  return PZ_OK;
}

/* PZ_ERROR_INPUT without a message: build.c goes on with what does not depend on the node. */
pz_status pz_onnx_refuse(pz_onnx *c, const char *format, ...) {
  char text[200];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  PZ_TRY(pz_onnx_note_refusal(c, c->node, c->node_name, pz_arena_strdup(c->arena, text)));
  return PZ_ERROR_INPUT;
}

/* ---- the message ---- */

#define LONGEST_LIST 800

static bool alike(const pz_onnx_refusal *a, const pz_onnx_refusal *b) {
  return !strcmp(a->op, b->op) && !strcmp(a->reason, b->reason);
}

/* "Resize with mode cubic ('a', 'b')": all refusals like number i, or as many as `most`, and how many more there are. */
static void list_kind(const pz_onnx *c, int32_t i, int32_t most, bool *listed, pz_text *out) {
  const pz_onnx_refusal *r = c->refusals;
  int32_t n = 0;
  pz_text_printf(out, "%.60s%s%.120s (", *r[i].op ? r[i].op : "no operator", *r[i].reason ? " with " : "",
                 r[i].reason);
  for (int32_t k = i; k < c->n_refusals; k++) {
    if (listed[k] || !alike(&r[i], &r[k])) continue;
    listed[k] = true;
    if (n++ >= most || out->size >= LONGEST_LIST) continue;
    pz_text_printf(out, "%s'%.60s'", n > 1 ? ", " : "", r[k].name);
  }
  if (n > most) pz_text_printf(out, " and %d more", (int)(n - most));
  pz_text_append(out, ")");
}

static void list_all(const pz_onnx *c, int32_t most, bool *listed, pz_text *out) {
  memset(listed, 0, (size_t)c->n_refusals);
  for (int32_t i = 0; i < c->n_refusals && out->size < LONGEST_LIST; i++) {
    if (listed[i]) continue;
    if (i) pz_text_append(out, ", ");
    list_kind(c, i, most, listed, out);
  }
}

static const char *hint(const pz_onnx *c) {
  if (c->model.n_functions && strstr(c->refusals[0].op, "::"))
    return "; the model has functions of its own: inline them (onnx.inliner.inline_local_functions)";
  return "";
}

pz_status pz_onnx_fail_refused(pz_onnx *c, pz_error *err) {
  pz_text list = {0};
  bool *listed = PZ_NEW(c->arena, bool, c->n_refusals);
  if (!listed) return pz_fail_memory(err, c->file, (unsigned long long)c->n_refusals);
  list_all(c, INT32_MAX, listed, &list);
  for (int32_t most = 4; most && list.size >= LONGEST_LIST && !list.failed; most /= 2) {
    pz_text_free(&list);
    list_all(c, most, listed, &list);
  }
  const pz_status status =
      list.failed ? pz_fail_memory(err, "a message", LONGEST_LIST)
                  : pz_fail(err, PZ_ERROR_INPUT, "%s: %d node%s not supported: %.800s%s", c->file,
                            (int)c->n_refusals, c->n_refusals > 1 ? "s are" : " is", list.data, hint(c));
  pz_text_free(&list);
  return status;
}
