/* text_print.c: a graph as text. The form is described in doc/graph-text.md. */
#include "graph/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fewest digits from six up that give the same float back; nine always do. */
void pz_text_print_float(pz_text *out, float value) {
  char text[40];
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  pz_text_append(out, text);
}

void pz_text_print_string(pz_text *out, const char *s) {
  pz_text_append(out, "\"");
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') pz_text_printf(out, "\\%c", c);
    else if (c < 0x20 || c > 0x7e) pz_text_printf(out, "\\x%02x", c);
    else pz_text_append_bytes(out, s, 1);
  }
  pz_text_append(out, "\"");
}

void pz_text_print_border(pz_text *out, const int32_t *lo, const int32_t *hi) {
  pz_text_printf(out, "%d,%d,%d:%d,%d,%d", (int)lo[0], (int)lo[1], (int)lo[2], (int)hi[0], (int)hi[1],
                 (int)hi[2]);
}

static bool is_bare(const char *name) {
  static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  return *name && name[strspn(name, bare)] == 0;
}

static void print_name(const pz_graph *g, pz_tensor_id id, pz_text *out) {
  if (id == PZ_NONE) {
    pz_text_append(out, "_");
    return;
  }
  pz_text_append(out, "%");
  if (is_bare(g->tensors[id].name)) pz_text_append(out, g->tensors[id].name);
  else pz_text_print_string(out, g->tensors[id].name);
}

/* Name, shape and, where they are not f32, elements; where there is one, border. */
static void print_tensor(const pz_graph *g, pz_tensor_id id, pz_text *out) {
  const pz_tensor *t = &g->tensors[id];
  static const int32_t zero[PZ_SPATIAL];
  print_name(g, id, out);
  pz_text_printf(out, " %s", PZ_SHAPE(&t->shape));
  if (t->type != PZ_F32) pz_text_printf(out, " %s", pz_dtype_name(t->type));
  if (t->scale != 1 || t->zero_point) {
    pz_text_append(out, " scale ");
    pz_text_print_float(out, t->scale);
    pz_text_printf(out, " zero_point %d", (int)t->zero_point);
  }
  if (!memcmp(t->border_lo, zero, sizeof zero) && !memcmp(t->border_hi, zero, sizeof zero)) return;
  pz_text_append(out, " border ");
  pz_text_print_border(out, t->border_lo, t->border_hi);
}

static void print_wanted(const pz_graph *g, pz_tensor_id id, pz_text *out) {
  const pz_tensor *t = &g->tensors[id];
  if (t->wanted != t->type) pz_text_printf(out, " wanted %s", pz_dtype_name(t->wanted));
}

/* FNV-1a, 64 bits, over the bit patterns as they lie in memory of a little-endian machine. */
static uint64_t digest(const float *data, int64_t n) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &data[i], sizeof bits);
    for (int k = 0; k < 32; k += 8) h = (h ^ (bits >> k & 0xff)) * UINT64_C(1099511628211);
  }
  return h;
}

static void print_constant(const pz_graph *g, pz_tensor_id id, bool with_data, pz_text *out) {
  const pz_tensor *t = &g->tensors[id];
  int64_t n = pz_shape_elements(&t->shape);
  pz_text_append(out, "const ");
  print_tensor(g, id, out);
  if (n > PZ_TEXT_SHORT_CONSTANT && !with_data) {
    pz_text_printf(out, " = digest %016" PRIx64 "\n", digest(t->data, n));
    return;
  }
  pz_text_append(out, " = [");
  for (int64_t i = 0; i < n && !out->failed; i++) {
    if (i) pz_text_append(out, " ");
    pz_text_print_float(out, t->data[i]);
  }
  pz_text_append(out, "]\n");
}

static void print_node(const pz_graph *g, const pz_node *node, pz_text *out) {
  int32_t n_in = node->n_in;
  while (n_in > 0 && node->in[n_in - 1] == PZ_NONE) n_in--;
  for (int32_t i = 0; i < node->n_out; i++) {
    if (i) pz_text_append(out, ", ");
    print_tensor(g, node->out[i], out);
  }
  pz_text_printf(out, " = %s ", pz_op_name(node->op));
  pz_text_print_string(out, node->name);
  for (int32_t i = 0; i < n_in; i++) {
    pz_text_append(out, i ? ", " : " ");
    print_name(g, node->in[i], out);
  }
  pz_text_print_attributes(g, node, out);
  pz_text_append(out, "\n");
}

/* Each constant stands before the first node that uses it; those that nobody uses come last. */
static void print_lines(const pz_graph *g, bool with_data, bool *printed, pz_text *out) {
  pz_text_append(out, "graph ");
  pz_text_print_string(out, g->name);
  pz_text_append(out, "\n");
  for (int32_t i = 0; i < g->n_inputs; i++) {
    pz_text_append(out, "input ");
    print_tensor(g, g->inputs[i], out);
    print_wanted(g, g->inputs[i], out);
    pz_text_append(out, "\n");
  }
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    if (node->op == PZ_OP_NONE) continue;
    for (int32_t i = 0; i < node->n_in; i++) {
      pz_tensor_id id = node->in[i];
      if (id == PZ_NONE || printed[id] || !g->tensors[id].data) continue;
      printed[id] = true;
      print_constant(g, id, with_data, out);
    }
    print_node(g, node, out);
  }
  for (pz_tensor_id id = 0; id < g->n_tensors; id++)
    if (g->tensors[id].data && !printed[id]) print_constant(g, id, with_data, out);
  for (int32_t i = 0; i < g->n_outputs; i++) {
    pz_text_append(out, "output ");
    print_name(g, g->outputs[i], out);
    print_wanted(g, g->outputs[i], out);
    pz_text_append(out, "\n");
  }
}

pz_status pz_graph_print(const pz_graph *g, bool with_data, pz_text *out) {
  bool *printed = calloc((size_t)g->n_tensors + 1, sizeof *printed);
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point, whatever the host has set */
  if (!printed || !plain) {
    out->failed = true;
  } else {
    locale_t host = uselocale(plain);
    print_lines(g, with_data, printed, out);
    uselocale(host);
  }
  if (plain) freelocale(plain);
  free(printed);
  return out->failed ? PZ_ERROR_MEMORY : PZ_OK;
}
