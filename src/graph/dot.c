/* dot.c: a graph for Graphviz: a box for each node with its result, multiply-adds and bytes; constants are left out. */
#include "base/inert.h"
#include "graph/internal.h"
#include <stdlib.h>

/* 1234567 as "1.23 M". */
static void print_amount(pz_text *out, double amount, const char *unit) {
  static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
  size_t i = 0;
  for (; amount >= 1000 && i + 1 < sizeof prefix / sizeof *prefix; i++) amount /= 1000;
  pz_text_printf(out, "\\n%.3g %s%s", amount, prefix[i], unit);
}

static void print_node(const pz_graph *g, pz_node_id n, pz_text *out) {
  const pz_node *node = &g->nodes[n];
  double multiply_adds = pz_node_multiply_adds(g, node);
  pz_text_printf(out, "  n%d [shape=box, label=\"", (int)n);
  pz_inert_dot(out, node->name);
  pz_text_printf(out, "\\n%s", pz_op_name(node->op));
  bool is_conv = node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV;
  if (is_conv && node->attr.conv.act.kind != PZ_ACT_NONE)
    pz_text_printf(out, " + %s", pz_activation_name(node->attr.conv.act.kind));
  if (is_conv && pz_node_input(node, PZ_CONV_RESIDUAL) != PZ_NONE) pz_text_append(out, " + base");
  for (int32_t i = 0; i < node->n_out; i++)
    pz_text_printf(out, "\\n%s", PZ_SHAPE(&g->tensors[node->out[i]].shape));
  if (multiply_adds > 0) print_amount(out, multiply_adds, "MAC");
  print_amount(out, pz_node_bytes(g, node), "B");
  pz_text_append(out, "\"];\n");
}

static void print_port(const pz_graph *g, const char *kind, int32_t i, pz_tensor_id id, pz_text *out) {
  pz_text_printf(out, "  %s%d [shape=ellipse, label=\"", kind, (int)i);
  pz_inert_dot(out, g->tensors[id].name);
  pz_text_printf(out, "\\n%s\"];\n", PZ_SHAPE(&g->tensors[id].shape));
}

/* Who makes each tensor: a node n >= 0, the input i as -2 - i, nobody as PZ_NONE. */
static void find_sources(const pz_graph *g, int32_t *source) {
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) source[t] = PZ_NONE;
  for (int32_t i = 0; i < g->n_inputs; i++) source[g->inputs[i]] = -2 - i;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; g->nodes[n].op != PZ_OP_NONE && i < g->nodes[n].n_out; i++)
      source[g->nodes[n].out[i]] = n;
}

static void print_edge(const int32_t *source, pz_tensor_id from, const char *kind, int32_t to, pz_text *out) {
  if (from == PZ_NONE || source[from] == PZ_NONE) return;
  bool node = source[from] >= 0;
  pz_text_printf(out, "  %s%d -> %s%d;\n", node ? "n" : "in", (int)(node ? source[from] : -2 - source[from]),
                 kind, (int)to);
}

static void print_all(const pz_graph *g, const int32_t *source, pz_text *out) {
  pz_text_append(out, "digraph \"");
  pz_inert_dot(out, g->name);
  pz_text_append(out, "\" {\n");
  for (int32_t i = 0; i < g->n_inputs; i++) print_port(g, "in", i, g->inputs[i], out);
  for (int32_t i = 0; i < g->n_outputs; i++) print_port(g, "out", i, g->outputs[i], out);
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    if (node->op == PZ_OP_NONE) continue;
    print_node(g, n, out);
    for (int32_t i = 0; i < node->n_in; i++) print_edge(source, node->in[i], "n", n, out);
  }
  for (int32_t i = 0; i < g->n_outputs; i++) print_edge(source, g->outputs[i], "out", i, out);
  pz_text_append(out, "}\n");
}

pz_status pz_graph_print_dot(const pz_graph *g, pz_text *out) {
  int32_t *source = malloc(((size_t)g->n_tensors + 1) * sizeof *source);
  if (source) {
    find_sources(g, source);
    print_all(g, source, out);
  } else out->failed = true;
  free(source);
  return out->failed ? PZ_ERROR_MEMORY : PZ_OK;
}
