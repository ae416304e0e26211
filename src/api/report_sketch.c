/* report_sketch.c: what is drawn of a model's graph before and after the passes, and of a network file's plan. */
#include "api/layered.h"
#include "api/report.h"

#include <math.h>
#include <stdlib.h>

/* ---- levels: how often the input was halved, so that a U-Net is drawn as one ---- */

static double reduction(const pz_shape5 *largest, const pz_shape *s) {
  const pz_shape5 five = pz_shape_as5(s);
  double most = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) most = fmax(most, (double)largest->s[i] / (double)five.s[i]);
  return most;
}

static void enlarge(pz_shape5 *largest, const pz_shape *s) {
  const pz_shape5 five = pz_shape_as5(s);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (five.s[i] > largest->s[i]) largest->s[i] = five.s[i];
}

/* Of a reduction; sketch nodes hold these until all are known. */
static int32_t octave(double reduction) { return (int32_t)lround(log2(reduction)); }

/* Octaves that occur become 0, 1, 2, ... */
static void rank_levels(pz_sketch *s) {
  bool occurs[64] = {false};
  int32_t rank[64], n = 0;
  for (int32_t i = 0; i < s->n_nodes; i++) occurs[s->nodes[i].level & 63] = true;
  for (int i = 0; i < 64; i++) rank[i] = occurs[i] ? n++ : 0;
  for (int32_t i = 0; i < s->n_nodes; i++) s->nodes[i].level = rank[s->nodes[i].level & 63];
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
  if (pz_node_input(n, PZ_CONV_BASE) != PZ_NONE) pz_text_append(t, " + sum");
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

/* {layer: index of its step} */
static json_t *index_steps(const json_t *plan) {
  json_t *index = json_object();
  for (size_t i = 0; index && i < json_array_size(plan); i++) {
    const char *layer = json_string_value(json_object_get(json_array_get(plan, i), "layer"));
    if (layer && !json_object_get(index, layer))
      json_object_set_new(index, layer, json_integer((json_int_t)i));
  }
  return index;
}

static const char *tip_of_step(pz_page *page, const json_t *plan, int32_t step) {
  pz_text t = {0};
  const json_t *s = json_array_get(plan, (size_t)step);
  char amount[32];
  pz_text_append(&t, pz_json_text(s, "algorithm"));
  pz_text_printf(&t, "\n%.1f %% of the %s", 100 * page->shares[step], page->bench ? "time" : "expected cost");
  if (pz_json_number(s, "multiply_adds") > 0)
    pz_text_printf(&t, "\n%s", pz_page_amount(pz_json_number(s, "multiply_adds"), "multiply-adds", amount));
  if (pz_json_number(s, "measured_ms") > 0)
    pz_text_printf(&t, "\nthe algorithm took %.4g ms when it was chosen", pz_json_number(s, "measured_ms"));
  return keep(page, &t);
}

/* ---- a model's graph ---- */

typedef struct sketcher {
  pz_page *page;
  const pz_graph *g;
  const json_t *plan, *steps; /* steps: of index_steps; NULL before the passes */
  const json_t *inputs;       /* of a network file */
  pz_sketch s;
  pz_shape5 largest;
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
  k->largest = (pz_shape5){1, 1, {1, 1, 1}};
  for (int32_t i = 0; i < g->n_nodes; i++) enlarge(&k->largest, &g->tensors[g->nodes[i].out[0]].shape);
  for (int32_t i = 0; i < g->n_inputs; i++) enlarge(&k->largest, &g->tensors[g->inputs[i]].shape);
  return PZ_OK;
}

static void add_port(sketcher *k, pz_tensor_id id, const char *kind) {
  const pz_tensor *t = &k->g->tensors[id];
  char shape[PZ_SHAPE_TEXT * 2];
  const char *line = pz_arena_printf(k->page->arena, "%s %s", kind, pz_page_shape(&t->shape, shape));
  if (!line) k->page->out.failed = true;
  k->s.nodes[k->s.n_nodes++] = (pz_sketch_node){.name = t->name,
                                                .line = line ? line : "",
                                                .tip = "",
                                                .kind = PZ_PAGE_KINDS - 1,
                                                .level = octave(reduction(&k->largest, &t->shape)),
                                                .link = -1,
                                                .step = -1,
                                                .port = true};
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
  if (node->step >= 0) return tip_of_step(k->page, k->plan, node->step);
  if (k->g == k->page->after) return "nothing to run: its result is a view, or written in place";
  if (!node->gone) return "";
  const char *tip =
      as ? pz_arena_printf(k->page->arena, "fused: %s gives its result", as) : "not there after the passes";
  return tip ? tip : "";
}

static void add_node(sketcher *k, const pz_node *n) {
  const int32_t at = k->s.n_nodes++;
  const char *as = becomes(k->page, k->g, n);
  const json_t *step = as ? json_object_get(k->steps, n->name) : NULL;
  pz_sketch_node *node = &k->s.nodes[at];
  *node = (pz_sketch_node){.name = n->name,
                           .line = line_of(k->page, k->g, n),
                           .kind = pz_page_kind_of(pz_op_name(n->op)),
                           .level = octave(reduction(&k->largest, &k->g->tensors[n->out[0]].shape)),
                           .link = as ? pz_page_link(k->page, as) : -1,
                           .step = step ? (int32_t)json_integer_value(step) : -1,
                           .gone = as != n->name};
  node->tip = tip_of(k, node, as);
  for (int32_t i = 0; i < n->n_in; i++)
    if (n->in[i] != PZ_NONE) add_edge(&k->s, k->source[n->in[i]], at);
  for (int32_t i = 0; i < n->n_out; i++) k->source[n->out[i]] = at;
}

static pz_status sketch_graph(sketcher *k, pz_error *err) {
  const pz_graph *g = k->g;
  PZ_TRY(begin_graph(k, err));
  for (int32_t i = 0; i < g->n_inputs; i++) {
    k->source[g->inputs[i]] = k->s.n_nodes;
    add_port(k, g->inputs[i], "input");
  }
  int32_t layers = 0;
  for (int32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op != PZ_OP_NONE) add_node(k, &g->nodes[i]), layers++;
  for (int32_t i = 0; i < g->n_outputs; i++) {
    add_edge(&k->s, k->source[g->outputs[i]], k->s.n_nodes);
    add_port(k, g->outputs[i], "output");
  }
  k->s.subtitle = pz_arena_printf(k->page->arena, "%d layers", (int)layers);
  if (!k->s.subtitle) return pz_fail_memory(err, "the drawing", 64);
  rank_levels(&k->s);
  return pz_page_draw(k->page, &k->s, err);
}

/* ---- a network file's plan ---- */

static void note_shape(sketcher *k, const json_t *ports_or_steps, const char *key) {
  pz_shape shape;
  for (size_t i = 0; i < json_array_size(ports_or_steps); i++)
    if (pz_page_shape_of(json_object_get(json_array_get(ports_or_steps, i), key), &shape))
      enlarge(&k->largest, &shape);
}

/* `from` of a step or an output: edges to the next sketch node, from inputs or one of the first `steps` steps. */
static void add_sources(sketcher *k, const json_t *row, size_t steps) {
  const json_t *from = json_object_get(row, "from"), *source;
  const json_int_t n_inputs = (json_int_t)json_array_size(k->inputs);
  size_t i;
  json_array_foreach(from, i, source) {
    const json_int_t v = json_is_integer(source) ? json_integer_value(source) : INT32_MAX;
    if (v >= -n_inputs && v < (json_int_t)steps)
      add_edge(&k->s, (int32_t)(v < 0 ? -1 - v : n_inputs + v), k->s.n_nodes);
  }
}

static void add_row(sketcher *k, const json_t *row, const char *name, const char *shape_key, const char *what,
                    int32_t step) {
  char text[PZ_SHAPE_TEXT * 2];
  pz_shape shape;
  const bool known = pz_page_shape_of(json_object_get(row, shape_key), &shape);
  const char *line =
      pz_arena_printf(k->page->arena, "%s%s%s", what, known && step >= 0 ? " \xE2\x86\x92 " : " ",
                      known ? pz_page_shape(&shape, text) : "");
  if (!line) k->page->out.failed = true;
  pz_sketch_node *n = &k->s.nodes[k->s.n_nodes++];
  const int32_t before = n > k->s.nodes ? n[-1].level : 0;
  *n = (pz_sketch_node){.name = name, .line = line ? line : "", .tip = "", .link = -1, .step = step};
  n->kind = pz_page_kind_of(what);
  n->level = known ? octave(reduction(&k->largest, &shape)) : before;
  n->port = step < 0;
  if (step >= 0) n->link = pz_page_link(k->page, name), n->tip = tip_of_step(k->page, k->plan, step);
}

static size_t count_sources(const json_t *rows) {
  size_t n = 0, i;
  const json_t *row;
  json_array_foreach(rows, i, row) n += json_array_size(json_object_get(row, "from"));
  return n;
}

static pz_status begin_plan(sketcher *k, const json_t *outputs, size_t edges, pz_error *err) {
  const size_t n = json_array_size(k->inputs) + json_array_size(k->plan) + json_array_size(outputs);
  k->s.nodes = PZ_NEW(k->page->arena, pz_sketch_node, n + 1);
  k->s.edges = PZ_NEW(k->page->arena, pz_layered_edge, edges + 1);
  if (!k->s.nodes || !k->s.edges) return pz_fail_memory(err, "the drawing", n * sizeof *k->s.nodes);
  if (n > PZ_MAX_TENSORS) return pz_fail(err, PZ_ERROR_INPUT, "%s: its manifest is damaged", k->page->path);
  k->largest = (pz_shape5){1, 1, {1, 1, 1}};
  note_shape(k, k->inputs, "shape");
  note_shape(k, k->plan, "output");
  return PZ_OK;
}

static pz_status sketch_plan(sketcher *k, const json_t *outputs, pz_error *err) {
  const size_t edges = count_sources(k->plan) + count_sources(outputs), steps = json_array_size(k->plan);
  const json_t *row;
  size_t i;
  if (!edges) return PZ_OK; /* compiled by a pznet that did not say */
  PZ_TRY(begin_plan(k, outputs, edges, err));
  json_array_foreach(k->inputs, i, row) add_row(k, row, pz_json_text(row, "name"), "shape", "input", -1);
  json_array_foreach(k->plan, i, row) {
    add_sources(k, row, i);
    add_row(k, row, pz_json_text(row, "layer"), "output", pz_json_text(row, "op"), (int32_t)i);
  }
  json_array_foreach(outputs, i, row) {
    add_sources(k, row, steps);
    add_row(k, row, pz_json_text(row, "name"), "shape", "output", -1);
  }
  k->s.subtitle = pz_arena_printf(k->page->arena, "%d steps", (int)steps);
  if (!k->s.subtitle) return pz_fail_memory(err, "the drawing", 64);
  rank_levels(&k->s);
  return pz_page_draw(k->page, &k->s, err);
}

pz_status pz_page_graphs(pz_page *page, pz_error *err) {
  const json_t *plan = json_object_get(page->manifest, "plan");
  pz_status status;
  pz_text_append(&page->out, "<div class=\"panels\">\n");
  if (page->after) {
    json_t *steps = index_steps(plan);
    if (!steps) return pz_fail_memory(err, "the drawing", 64);
    sketcher after = {.page = page, .g = page->after, .plan = plan, .steps = steps};
    after.s.title = "After the passes";
    sketcher before = {.page = page, .g = page->before, .plan = plan};
    before.s.title = "As imported";
    status = sketch_graph(&before, err);
    if (status == PZ_OK) status = sketch_graph(&after, err);
    json_decref(steps);
  } else {
    sketcher k = {.page = page, .plan = plan, .inputs = json_object_get(page->manifest, "inputs")};
    k.s.title = "Steps of the plan";
    status = sketch_plan(&k, json_object_get(page->manifest, "outputs"), err);
  }
  pz_text_append(&page->out, "</div>\n");
  return status;
}
