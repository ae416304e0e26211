/* report_sketch.c: what is drawn of a model's graph before and after the passes, and of a network file's plan. */
#include "api/layered.h"
#include "api/report.h"

#include <math.h>
#include <string.h>

/* ---- levels: how often the input was halved, so that a U-Net is drawn as one ---- */

enum { MIDDLE = 32, LEVELS = 64 };

/* Convolutions, pooling and resizing change a level by their stride, about the ratio of the sizes; 6 to 4, where a border is
 * lost, is no change. All else, crops above all, is of the level of what it reads. */
static int32_t octaves(const char *op, const pz_shape5 *from, const pz_shape5 *to) {
  const char *kind = pz_page_kinds[pz_page_kind_of(op)].name;
  double most = 0;
  if (strcmp(kind, "conv") && strcmp(kind, "deconv") && strcmp(kind, "pool") && strcmp(op, "resize"))
    return 0;
  for (int i = 0; from->n && to->n && i < PZ_SPATIAL; i++) {
    const double change = log2((double)from->s[i] / (double)to->s[i]);
    if (fabs(change) > fabs(most)) most = change;
  }
  return fabs(most) < 0.8 ? 0 : (int32_t)lround(most);
}

/* Of a node whose edges are those from `first_edge`. */
static void find_level(pz_sketch *s, pz_sketch_node *node, int32_t first_edge, const char *op) {
  node->level = MIDDLE;
  if (first_edge == s->n_edges) return;
  const pz_sketch_node *from = &s->nodes[s->edges[first_edge].from];
  if (!node->size.n) node->size = from->size;
  const int32_t level = from->level + octaves(op, &from->size, &node->size);
  node->level = level < 0 ? 0 : level < LEVELS ? level : LEVELS - 1;
}

/* Levels that occur become 0, 1, 2, ... */
static void rank_levels(pz_sketch *s) {
  bool occurs[LEVELS] = {false};
  int32_t rank[LEVELS], n = 0;
  for (int32_t i = 0; i < s->n_nodes; i++) occurs[s->nodes[i].level] = true;
  for (int i = 0; i < LEVELS; i++) rank[i] = occurs[i] ? n++ : 0;
  for (int32_t i = 0; i < s->n_nodes; i++) s->nodes[i].level = rank[s->nodes[i].level];
}

/* ---- one line on a node ---- */

static void put_extents(pz_text *t, const int32_t v[PZ_SPATIAL], bool flat) {
  for (int i = flat; i < PZ_SPATIAL; i++) pz_text_printf(t, "%s%d", i > flat ? "\xC3\x97" : "", (int)v[i]);
}

static void put_if_not_one(pz_text *t, const char *title, const int32_t v[PZ_SPATIAL], bool flat) {
  if (v[1] == 1 && v[2] == 1 && (flat || v[0] == 1)) return;
  pz_text_append(t, title);
  if (v[1] == v[2] && (flat || v[0] == v[1])) pz_text_printf(t, "%d", (int)v[1]);
  else put_extents(t, v, flat);
}

static void put_conv(pz_text *t, const pz_node *n, bool flat) {
  const pz_attr_conv *a = &n->attr.conv;
  pz_text_append(t, " ");
  put_extents(t, a->kernel, flat);
  put_if_not_one(t, " /", a->stride, flat);
  put_if_not_one(t, " dilated ", a->dilation, flat);
  if (a->group > 1) pz_text_printf(t, ", %d groups", (int)a->group);
  if (pz_node_input(n, PZ_CONV_RESIDUAL) != PZ_NONE) pz_text_append(t, " + sum");
  if (a->act.kind != PZ_ACT_NONE) pz_text_printf(t, " + %s", pz_activation_name(a->act.kind));
}

/* The operator with what is fused to it. `flat`: of two dimensions in space. */
static void put_operator(pz_text *t, const pz_node *n, bool flat) {
  static const char *const eltwise[] = {"sum", "product", "maximum", "quotient"};
  switch (n->op) {
  case PZ_OP_POOL:
    pz_text_append(t, n->attr.pool.kind == PZ_POOL_MAX ? "maximum " : "average ");
    put_extents(t, n->attr.pool.kernel, flat);
    put_if_not_one(t, " /", n->attr.pool.stride, flat);
    break;
  case PZ_OP_ACTIVATION: pz_text_append(t, pz_activation_name(n->attr.activation.act.kind)); break;
  case PZ_OP_ELTWISE:
    pz_text_append(t, (size_t)n->attr.eltwise.kind < 4 ? eltwise[n->attr.eltwise.kind] : pz_op_name(n->op));
    break;
  default:
    pz_text_append(t, pz_op_name(n->op));
    if (n->op == PZ_OP_CONV || n->op == PZ_OP_DECONV) put_conv(t, n, flat);
    if (n->op == PZ_OP_INNER_PRODUCT && n->attr.inner_product.act.kind != PZ_ACT_NONE)
      pz_text_printf(t, " + %s", pz_activation_name(n->attr.inner_product.act.kind));
  }
}

/* The text's bytes in the arena; the text is freed. */
static const char *keep(pz_page *page, pz_text *t) {
  const char *kept = t->failed ? NULL : pz_arena_strdup(page->arena, t->data ? t->data : "");
  pz_text_free(t);
  if (!kept) page->out.failed = true;
  return kept ? kept : "";
}

static const char *line_of(pz_page *page, const pz_graph *g, const pz_node *n) {
  char shape[PZ_SHAPE_TEXT * 2];
  pz_text t = {0};
  const pz_shape *out = &g->tensors[n->out[0]].shape;
  put_operator(&t, n, out->rank < 5);
  pz_text_printf(&t, " \xE2\x86\x92 %s", pz_page_shape(out, shape));
  return keep(page, &t);
}

/* ---- what the plan says of a layer ---- */

/* {layer: its row} */
static json_t *index_rows(pz_json *j, const json_t *rows) {
  json_t *index = json_object();
  for (size_t i = 0; index && i < json_array_size(rows); i++) {
    const char *layer = json_string_value(json_object_get(json_array_get(rows, i), "layer"));
    if (layer && !json_object_get(index, layer)) pz_json_set(j, index, layer, json_integer((json_int_t)i));
  }
  return index;
}

static const char *tip_of_row(pz_page *page, int32_t row) {
  pz_text t = {0};
  const json_t *r = json_array_get(page->rows, (size_t)row);
  char amount[32];
  pz_text_append(&t, pz_json_text(r, "algorithm"));
  pz_text_printf(&t, "\n%.1f %% of the %s", 100 * page->shares[row], page->bench ? "time" : "expected cost");
  if (pz_json_number(r, "multiply_adds") > 0)
    pz_text_printf(&t, "\n%s", pz_page_amount(pz_json_number(r, "multiply_adds"), "multiply-adds", amount));
  if (pz_json_number(r, "measured_ms") > 0)
    pz_text_printf(&t, "\nthe algorithm took %.4g ms when it was chosen", pz_json_number(r, "measured_ms"));
  return keep(page, &t);
}

/* ---- a model's graph ---- */

typedef struct sketcher {
  pz_page *page;
  const pz_graph *g;
  const json_t *index;  /* of index_rows; NULL before the passes */
  const json_t *inputs; /* of a network file */
  pz_sketch s;
  int32_t *source; /* by tensor: the sketch node that makes it, or -1 */
} sketcher;

static void add_edge(pz_sketch *s, int32_t from, int32_t to) {
  if (from >= 0 && from < to) s->edges[s->n_edges++] = (pz_layered_edge){from, to};
}

static pz_status begin_graph(sketcher *k, pz_error *err) {
  const pz_graph *g = k->g;
  size_t edges = (size_t)g->n_outputs;
  for (int32_t i = 0; i < g->n_nodes; i++) edges += (size_t)g->nodes[i].n_in;
  k->s.nodes = PZ_NEW(k->page->arena, pz_sketch_node,
                      (size_t)g->n_nodes + (size_t)g->n_inputs + (size_t)g->n_outputs + 1);
  k->s.edges = PZ_NEW(k->page->arena, pz_layered_edge, edges + 1);
  k->source = PZ_NEW(k->page->arena, int32_t, (size_t)g->n_tensors + 1);
  if (!k->s.nodes || !k->s.edges || !k->source)
    return pz_fail_memory(err, "the drawing", edges * sizeof *k->s.edges);
  for (int32_t t = 0; t < g->n_tensors; t++) k->source[t] = -1;
  return PZ_OK;
}

/* `source`: the sketch node that an output is of; -1 for inputs. */
static void add_port(sketcher *k, pz_tensor_id id, const char *kind, int32_t source) {
  const pz_tensor *t = &k->g->tensors[id];
  char shape[PZ_SHAPE_TEXT * 2];
  const int32_t at = k->s.n_nodes++, first_edge = k->s.n_edges;
  const char *line = pz_arena_printf(k->page->arena, "%s %s", kind, pz_page_shape(&t->shape, shape));
  if (!line) k->page->out.failed = true;
  k->s.nodes[at] = (pz_sketch_node){.name = t->name,
                                    .line = line ? line : "",
                                    .tip = "",
                                    .kind = PZ_FAMILY_OTHER,
                                    .size = pz_shape_as5(&t->shape),
                                    .link = -1,
                                    .row = -1,
                                    .port = true};
  add_edge(&k->s, source, at);
  find_level(&k->s, &k->s.nodes[at], first_edge, kind);
}

/* Before the passes: the layer after them that makes this one's result, which it became or was fused to. */
static const char *becomes(const pz_page *page, const pz_graph *g, const pz_node *n) {
  const pz_graph *after = page->after;
  if (g == after || pz_graph_find_node(after, n->name) != PZ_NONE) return n->name;
  const pz_tensor_id made = pz_graph_find_tensor(after, g->tensors[n->out[0]].name);
  const pz_node_id by = made == PZ_NONE ? PZ_NONE : pz_graph_producer(after, made);
  return by == PZ_NONE ? NULL : after->nodes[by].name;
}

static const char *tip_of(sketcher *k, const pz_sketch_node *node, const char *as) {
  if (node->row >= 0) return tip_of_row(k->page, node->row);
  if (k->g == k->page->after) return "nothing to run: its result is a view, or written in place";
  if (!node->gone) return "";
  const char *tip =
      as ? pz_arena_printf(k->page->arena, "fused: %s gives its result", as) : "not there after the passes";
  return tip ? tip : "";
}

static void add_node(sketcher *k, const pz_node *n) {
  const int32_t at = k->s.n_nodes++, first_edge = k->s.n_edges;
  const char *as = becomes(k->page, k->g, n);
  const json_t *row = as ? json_object_get(k->index, n->name) : NULL;
  pz_sketch_node *node = &k->s.nodes[at];
  *node = (pz_sketch_node){.name = n->name,
                           .line = line_of(k->page, k->g, n),
                           .kind = pz_page_kind_of(pz_op_name(n->op)),
                           .size = pz_shape_as5(&k->g->tensors[n->out[0]].shape),
                           .link = as ? pz_page_link(k->page, as) : -1,
                           .row = row ? (int32_t)json_integer_value(row) : -1,
                           .gone = as != n->name};
  node->tip = tip_of(k, node, as);
  for (int32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != PZ_NONE) add_edge(&k->s, k->source[n->in[i]], at);
  for (int32_t i = 0; i < n->n_out; i++) k->source[n->out[i]] = at;
  find_level(&k->s, node, first_edge, pz_op_name(n->op));
}

static pz_status sketch_graph(sketcher *k, pz_error *err) {
  const pz_graph *g = k->g;
  PZ_TRY(begin_graph(k, err));
  for (int32_t i = 0; i < g->n_inputs; i++) {
    k->source[g->inputs[i]] = k->s.n_nodes;
    add_port(k, g->inputs[i], "input", -1);
  }
  int32_t layers = 0;
  for (int32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op != PZ_OP_NONE) add_node(k, &g->nodes[i]), layers++;
  for (int32_t i = 0; i < g->n_outputs; i++) add_port(k, g->outputs[i], "output", k->source[g->outputs[i]]);
  k->s.subtitle = pz_arena_printf(k->page->arena, "%d layers", (int)layers);
  if (!k->s.subtitle) return pz_fail_memory(err, "the drawing", 64);
  rank_levels(&k->s);
  return pz_page_draw(k->page, &k->s, err);
}

/* ---- a network file's plan ---- */

/* `from` of a row or an output: edges to sketch node `to`, from inputs or from rows. */
static void add_sources(sketcher *k, const json_t *from, int32_t to, bool output) {
  const json_int_t n_inputs = (json_int_t)json_array_size(k->inputs);
  const json_t *source;
  size_t i;
  json_array_foreach(from, i, source) {
    json_int_t v = json_is_integer(source) ? json_integer_value(source) : INT32_MAX;
    if (v >= k->page->n_steps || v < -n_inputs) continue;
    if (output && v >= 0) v = k->page->row_of_step[v];
    add_edge(&k->s, (int32_t)(v < 0 ? -1 - v : n_inputs + v), to);
  }
}

/* A row of the plan, or a port: row -1. */
static void add_row(sketcher *k, const json_t *of, const char *shape_key, const char *what, int32_t row) {
  char text[PZ_SHAPE_TEXT * 2];
  pz_shape shape;
  const bool known = pz_page_shape_of(json_object_get(of, shape_key), &shape);
  const int32_t at = k->s.n_nodes++, first_edge = k->s.n_edges;
  pz_sketch_node *n = &k->s.nodes[at];
  *n = (pz_sketch_node){.tip = "", .link = -1, .row = row, .port = row < 0, .kind = pz_page_kind_of(what)};
  n->name = pz_json_text(of, row < 0 ? "name" : "layer");
  n->line = pz_arena_printf(k->page->arena, "%s%s%s", what,
                            !known    ? ""
                            : row < 0 ? " "
                                      : " \xE2\x86\x92 ",
                            known ? pz_page_shape(&shape, text) : "");
  if (!n->line) k->page->out.failed = true, n->line = "";
  if (known) n->size = pz_shape_as5(&shape);
  if (row >= 0) n->link = pz_page_link(k->page, n->name), n->tip = tip_of_row(k->page, row);
  add_sources(k, json_object_get(of, "from"), at, row < 0);
  find_level(&k->s, n, first_edge, what);
}

static size_t count_sources(const json_t *rows) {
  size_t n = 0, i;
  const json_t *row;
  json_array_foreach(rows, i, row) n += json_array_size(json_object_get(row, "from"));
  return n;
}

static pz_status sketch_plan(sketcher *k, const json_t *outputs, pz_error *err) {
  const json_t *rows = k->page->rows, *row;
  const size_t n = json_array_size(k->inputs) + json_array_size(rows) + json_array_size(outputs);
  const size_t edges = count_sources(rows) + count_sources(outputs);
  size_t i;
  if (!edges) return PZ_OK; /* compiled by a pznet that did not say */
  if (n > PZ_MAX_TENSORS || edges > INT32_MAX / 2)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its manifest is damaged", k->page->path);
  k->s.nodes = PZ_NEW(k->page->arena, pz_sketch_node, n + 1);
  k->s.edges = PZ_NEW(k->page->arena, pz_layered_edge, edges + 1);
  if (!k->s.nodes || !k->s.edges) return pz_fail_memory(err, "the drawing", n * sizeof *k->s.nodes);
  json_array_foreach(k->inputs, i, row) add_row(k, row, "shape", "input", -1);
  json_array_foreach(rows, i, row) add_row(k, row, "output", pz_json_text(row, "op"), (int32_t)i);
  json_array_foreach(outputs, i, row) add_row(k, row, "shape", "output", -1);
  k->s.subtitle = pz_arena_printf(k->page->arena, "%d layers in %d steps", (int)json_array_size(rows),
                                  (int)k->page->n_steps);
  if (!k->s.subtitle) return pz_fail_memory(err, "the drawing", 64);
  rank_levels(&k->s);
  return pz_page_draw(k->page, &k->s, err);
}

pz_status pz_page_graphs(pz_page *page, pz_error *err) {
  pz_status status;
  pz_text_append(&page->out, "<div class=\"panels\">\n");
  if (page->after) {
    json_t *index = index_rows(&page->json, page->rows);
    if (!index) return pz_fail_memory(err, "the drawing", 64);
    sketcher before = {.page = page, .g = page->before, .s.title = "As imported"};
    sketcher after = {.page = page, .g = page->after, .index = index, .s.title = "After the passes"};
    status = sketch_graph(&before, err);
    if (status == PZ_OK) status = sketch_graph(&after, err);
    json_decref(index);
  } else {
    sketcher k = {.page = page, .s.title = "The plan"};
    k.inputs = json_object_get(page->manifest, "inputs");
    status = sketch_plan(&k, json_object_get(page->manifest, "outputs"), err);
  }
  pz_text_append(&page->out, "</div>\n");
  return status;
}
