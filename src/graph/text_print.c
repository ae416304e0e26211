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

/* A graph on its way into a text. */
typedef struct printer {
  const pz_graph *g;
  bool with_data; /* all of the constants' values */
  bool bare;      /* none of them, nor a name: seeds and numbers */
  bool *printed;  /* by tensor: constants */
  pz_text *out;
} printer;

static void print_name(const printer *p, pz_tensor_id id) {
  if (id == PZ_NONE) {
    pz_text_append(p->out, "_");
    return;
  }
  const char *name = p->g->tensors[id].name;
  pz_text_append(p->out, "%");
  if (p->bare) pz_text_printf(p->out, "%d", (int)id);
  else if (is_bare(name)) pz_text_append(p->out, name);
  else pz_text_print_string(p->out, name);
}

/* Name, shape and, where they are not f32, elements; where there is one, border. */
static void print_tensor(const printer *p, pz_tensor_id id) {
  const pz_tensor *t = &p->g->tensors[id];
  static const int32_t zero[PZ_SPATIAL];
  print_name(p, id);
  pz_text_printf(p->out, " %s", PZ_SHAPE(&t->shape));
  if (t->type != PZ_F32) pz_text_printf(p->out, " %s", pz_dtype_name(t->type));
  if (t->scale != 1 || t->zero_point) {
    pz_text_append(p->out, " scale ");
    pz_text_print_float(p->out, t->scale);
    pz_text_printf(p->out, " zero_point %d", (int)t->zero_point);
  }
  if (!memcmp(t->border_lo, zero, sizeof zero) && !memcmp(t->border_hi, zero, sizeof zero)) return;
  pz_text_append(p->out, " border ");
  pz_text_print_border(p->out, t->border_lo, t->border_hi);
}

static void print_wanted(const printer *p, pz_tensor_id id) {
  const pz_tensor *t = &p->g->tensors[id];
  if (t->wanted != t->type) pz_text_printf(p->out, " wanted %s", pz_dtype_name(t->wanted));
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

/* Numbers that keep sums of so many products about as large as the values are: 1.7 is the square root of 3. */
static void print_seed(const printer *p, pz_tensor_id id) {
  const pz_shape *s = &p->g->tensors[id].shape;
  const int64_t n = pz_shape_elements(s), terms = s->rank > 1 && s->dim[0] > 0 ? n / s->dim[0] : 1;
  pz_text_printf(p->out, " = seed %d scale %.3g\n", (int)id, terms > 1 ? 1.7 / sqrt((double)terms) : 0.1);
}

static void print_values(const printer *p, const pz_tensor *t, int64_t n) {
  pz_text_append(p->out, " = [");
  for (int64_t i = 0; i < n && !p->out->failed; i++) {
    if (i) pz_text_append(p->out, " ");
    pz_text_print_float(p->out, t->data[i]);
  }
  pz_text_append(p->out, "]\n");
}

static void print_constant(const printer *p, pz_tensor_id id) {
  const pz_tensor *t = &p->g->tensors[id];
  const int64_t n = pz_shape_elements(&t->shape);
  pz_text_append(p->out, "const ");
  print_tensor(p, id);
  p->printed[id] = true;
  if (p->bare) print_seed(p, id);
  else if (n > PZ_TEXT_SHORT_CONSTANT && !p->with_data)
    pz_text_printf(p->out, " = digest %016" PRIx64 "\n", digest(t->data, n));
  else print_values(p, t, n);
}

static void print_node(const printer *p, pz_node_id n) {
  const pz_node *node = &p->g->nodes[n];
  int32_t n_in = node->n_in;
  while (n_in > 0 && node->in[n_in - 1] == PZ_NONE) n_in--;
  for (int32_t i = 0; i < node->n_out; i++) {
    if (i) pz_text_append(p->out, ", ");
    print_tensor(p, node->out[i]);
  }
  pz_text_printf(p->out, " = %s ", pz_op_name(node->op));
  if (p->bare) pz_text_printf(p->out, "\"%d\"", (int)n);
  else pz_text_print_string(p->out, node->name);
  for (int32_t i = 0; i < n_in; i++) {
    pz_text_append(p->out, i ? ", " : " ");
    print_name(p, node->in[i]);
  }
  pz_text_print_attributes(p->g, node, p->out);
  pz_text_append(p->out, "\n");
}

static void print_constants_of(const printer *p, const pz_node *node) {
  for (int32_t i = 0; i < node->n_in; i++) {
    const pz_tensor_id id = node->in[i];
    if (id != PZ_NONE && !p->printed[id] && p->g->tensors[id].data) print_constant(p, id);
  }
}

/* Each constant stands before the first node that uses it; those that nobody uses come last, or are left out of a bare text. */
static void print_lines(const printer *p) {
  const pz_graph *g = p->g;
  pz_text_append(p->out, "graph ");
  pz_text_print_string(p->out, p->bare ? "network" : g->name);
  pz_text_append(p->out, "\n");
  for (int32_t i = 0; i < g->n_inputs; i++) {
    pz_text_append(p->out, "input ");
    print_tensor(p, g->inputs[i]);
    print_wanted(p, g->inputs[i]);
    pz_text_append(p->out, "\n");
  }
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    if (g->nodes[n].op == PZ_OP_NONE) continue;
    print_constants_of(p, &g->nodes[n]);
    print_node(p, n);
  }
  for (pz_tensor_id id = 0; id < g->n_tensors; id++)
    if (g->tensors[id].data && !p->printed[id] && !p->bare) print_constant(p, id);
  for (int32_t i = 0; i < g->n_outputs; i++) {
    pz_text_append(p->out, "output ");
    print_name(p, g->outputs[i]);
    print_wanted(p, g->outputs[i]);
    pz_text_append(p->out, "\n");
  }
}

static pz_status print_graph(printer p) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point, whatever the host has set */
  p.printed = calloc((size_t)p.g->n_tensors + 1, sizeof *p.printed);
  if (!p.printed || !plain) {
    p.out->failed = true;
  } else {
    locale_t host = uselocale(plain);
    print_lines(&p);
    uselocale(host);
  }
  if (plain) freelocale(plain);
  free(p.printed);
  return p.out->failed ? PZ_ERROR_MEMORY : PZ_OK;
}

pz_status pz_graph_print(const pz_graph *g, bool with_data, pz_text *out) {
  return print_graph((printer){.g = g, .with_data = with_data, .out = out});
}

pz_status pz_graph_print_bare(const pz_graph *g, pz_text *out) {
  return print_graph((printer){.g = g, .bare = true, .out = out});
}
