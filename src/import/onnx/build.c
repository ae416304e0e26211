/* build.c: nodes in their order, which is ONNX's: a node comes after what it reads. */
#include "import/onnx/onnx.h"
#include <string.h>

/* ---- the table ---- */

static const pz_onnx_operator operators[] = {
#define OPERATOR(op, since, min_in, max_in, types, build)                                                    \
  {#op, since, min_in, max_in, PZ_ONNX_##types, pz_onnx_op_##build},
#include "import/onnx/operators.inc"
#undef OPERATOR
};

const pz_onnx_operator *pz_onnx_find_operator(const pz_onnx_node *node) {
  if (*node->domain && strcmp(node->domain, "ai.onnx")) return NULL;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (!strcmp(operators[i].op, node->op)) return &operators[i];
  return NULL;
}

/* ---- values ---- */

static pz_status declare_initialiser(pz_onnx *c, const pz_onnx_tensor *t) {
  int32_t i = pz_onnx_find_value(c, t->name);
  if (!*t->name) return pz_fail(c->err, PZ_ERROR_INPUT, "%s: an initialiser has no name", c->file);
  PZ_TRY(pz_onnx_add_value(c, t->name, &i));
  c->values[i].state = PZ_ONNX_READY;
  c->values[i].known = true;
  c->values[i].stored = t;
  c->values[i].type = pz_onnx_type_get(t->type) ? (pz_onnx_type)t->type : PZ_ONNX_UNDEFINED;
  return PZ_OK;
}

pz_status pz_onnx_declare(pz_onnx *c, const pz_onnx_graph *g) {
  int32_t index;
  if (g->sparse) return pz_fail(c->err, PZ_ERROR_INPUT, "%s: sparse initialisers are not supported", c->file);
  for (int32_t i = 0; i < g->n_initialisers; i++) PZ_TRY(declare_initialiser(c, &g->initialisers[i]));
  for (int32_t n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_out; i++)
      if (*g->nodes[n].out[i]) PZ_TRY(pz_onnx_add_value(c, g->nodes[n].out[i], &index));
  return PZ_OK;
}

/* ---- which nodes matter ---- */

typedef struct needs {
  bool *values, *nodes;
} needs;

static void need(const pz_onnx *c, const needs *all, const char *name) {
  const int32_t i = *name ? pz_onnx_find_value(c, name) : -1;
  if (i >= 0) all->values[i] = true;
}

/* Backwards, since a node comes after what it reads. A node with a graph of its own may read anything. */
pz_status pz_onnx_find_needed(pz_onnx *c, bool **needed) {
  const pz_onnx_graph *g = &c->model.graph;
  const needs all = {PZ_NEW(c->arena, bool, c->n_values), PZ_NEW(c->arena, bool, g->n_nodes)};
  bool everything = false;
  if (!all.values || !all.nodes) return pz_onnx_no_memory(c);
  for (int32_t i = 0; i < g->n_outputs; i++) need(c, &all, g->outputs[i].name);
  for (int32_t n = g->n_nodes - 1; n >= 0; n--) {
    const pz_onnx_node *node = &g->nodes[n];
    for (int32_t i = 0; i < node->n_out && !all.nodes[n]; i++) {
      const int32_t v = *node->out[i] ? pz_onnx_find_value(c, node->out[i]) : -1;
      all.nodes[n] = v >= 0 && all.values[v];
    }
    all.nodes[n] |= everything;
    for (int32_t i = 0; i < node->n_in && all.nodes[n]; i++) need(c, &all, node->in[i]);
    for (int32_t i = 0; i < node->n_attributes && all.nodes[n]; i++)
      everything |= node->attributes[i].graph.next != NULL;
  }
  *needed = all.nodes;
  return PZ_OK;
}

/* ---- one node ---- */

/* What means nothing to what is computed here. Opset 6 has is_test = 1 where later ones train by other means, and says
 * that shapes broadcast, which later ones do anyway. */
static bool is_harmless(const pz_onnx *c, const pz_onnx_attribute *a) {
  static const char *const names[] = {"momentum", "seed", "stash_type", "storage_order", "cubic_coeff_a"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], a->name)) return true;
  return c->model.opset == 6 && ((!strcmp(a->name, "is_test") && a->i == 1) || !strcmp(a->name, "broadcast"));
}

static pz_status check_attributes(pz_onnx *c) {
  for (int32_t i = 0; i < c->node->n_attributes; i++) {
    const pz_onnx_attribute *a = &c->node->attributes[i];
    if (!a->used && !is_harmless(c, a)) return pz_onnx_refuse(c, "attribute '%.60s'", a->name);
  }
  return PZ_OK;
}

static pz_status check_count(pz_onnx *c) {
  const pz_onnx_operator *row = c->row;
  int32_t n = c->node->n_in;
  while (n > 0 && !*c->node->in[n - 1]) n--;
  if (n < row->min_in)
    return pz_onnx_fail(c, "has %d inputs, expected at least %d", (int)n, (int)row->min_in);
  if (row->max_in >= 0 && n > row->max_in)
    return pz_onnx_fail(c, "has %d inputs, expected at most %d", (int)n, (int)row->max_in);
  const int32_t needed = row->max_in < 0 ? c->node->n_in : row->min_in; /* of any number none is optional */
  for (int32_t i = 0; i < needed; i++)
    if (!*c->node->in[i]) return pz_onnx_fail(c, "its input %d is missing", (int)i);
  return PZ_OK;
}

static pz_status check_outputs(pz_onnx *c) {
  for (int32_t i = 0; i < c->node->n_out; i++)
    if (pz_onnx_wants(c, i) && c->values[pz_onnx_find_value(c, c->node->out[i])].state == PZ_ONNX_LATER)
      return pz_onnx_refuse(c, "its output %d", (int)i);
  return PZ_OK;
}

/* *unsure: an input is made by what is not supported. */
static pz_status check_inputs(pz_onnx *c, bool *unsure, bool *known) {
  *unsure = false;
  *known = true;
  for (int32_t i = 0; i < c->node->n_in; i++) {
    if (!*c->node->in[i]) continue;
    const pz_onnx_value *v = pz_onnx_in(c, i);
    if (!v) return pz_onnx_fail(c, "its input '%.200s' is made by no node", c->node->in[i]);
    if (v->state == PZ_ONNX_LATER)
      return pz_onnx_fail(
          c, "its input '%.200s' is made only later: there is a cycle, or the nodes are not in order",
          v->name);
    *unsure |= v->state == PZ_ONNX_REFUSED;
    *known &= v->known;
  }
  return PZ_OK;
}

static pz_status check_types(pz_onnx *c) {
  for (int32_t i = 0; i < c->node->n_in; i++) {
    const pz_onnx_value *v = pz_onnx_in(c, i);
    if (!v || v->known || v->state == PZ_ONNX_REFUSED || c->row->types > PZ_ONNX_NUMBERS ||
        pz_onnx_is_floating(v->type))
      continue;
    if (c->row->types == PZ_ONNX_FLOATS || v->type == PZ_ONNX_BOOL)
      return pz_onnx_refuse(c, "computed values of type %s", pz_onnx_type_name(v->type));
  }
  return PZ_OK;
}

static pz_status build_node(pz_onnx *c, bool known) {
  const bool folds = known && c->row->types != PZ_ONNX_GRAPHS;
  PZ_TRY(check_count(c));
  if (!folds) PZ_TRY(check_types(c));
  PZ_TRY(pz_onnx_check_rows(c));
  PZ_TRY(folds ? pz_onnx_fold(c) : c->row->build(c));
  PZ_TRY(pz_onnx_pass_rows(c));
  PZ_TRY(check_attributes(c));
  return check_outputs(c);
}

static pz_status build_or_refuse(pz_onnx *c, bool *unsure) {
  bool known;
  PZ_TRY(check_inputs(c, unsure, &known));
  if (!c->row) return pz_onnx_refuse(c, "%s", "");
  if (c->row->since > c->model.opset)
    return pz_onnx_refuse(c, "opset %lld, which does not have it", (long long)c->model.opset);
  return build_node(c, known);
}

/* Once something is refused, what fails may be a consequence: it is passed over. */
static pz_status visit(pz_onnx *c, const pz_onnx_node *node, int32_t number) {
  pz_error *err = c->err, own = {0};
  bool unsure = false;
  if (pz_arena_interrupted(c->arena)) return pz_fail_interrupted(c->err);
  c->node = node;
  c->row = pz_onnx_find_operator(node);
  c->node_name = pz_onnx_node_name(c, node, number);
  c->first_tensor = c->graph->n_tensors;
  c->guessed = false;
  if (!c->node_name) return pz_onnx_no_memory(c);
  c->err = &own;
  pz_status status = build_or_refuse(c, &unsure);
  c->node = node;
  c->row = pz_onnx_find_operator(node);
  if ((status == PZ_ERROR_INPUT && c->n_refusals) || (status == PZ_OK && unsure)) {
    own = (pz_error){0};
    status = pz_onnx_refuse_outputs(c, unsure);
  }
  c->err = err;
  c->guessed = false;
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", own.message);
}

static bool is_missing(const pz_onnx *c, const pz_onnx_node *node) {
  const pz_onnx_operator *row = pz_onnx_find_operator(node);
  return !row || row->since > c->model.opset;
}

bool pz_onnx_is_lost(const pz_onnx *c) { return c->lost || c->n_refusals > 0; }

pz_status pz_onnx_build_nodes(pz_onnx *c, const pz_onnx_graph *g, const bool *needed) {
  for (int32_t i = 0; needed && i < g->n_nodes; i++) c->lost |= needed[i] && is_missing(c, &g->nodes[i]);
  for (int32_t i = 0; i < g->n_nodes; i++)
    if (!needed || needed[i]) PZ_TRY(visit(c, &g->nodes[i], i));
  return PZ_OK;
}
