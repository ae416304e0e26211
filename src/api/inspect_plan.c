/* inspect_plan.c: pz_inspect_plan: what was chosen for each layer and what else there was, the conversions between layouts, and what each of
 * the optimisations brings that NeoCPU's Table 3 counts, as the cost model expects it, or measured. */
#include "api/tuner.h"
#include "base/ascending.h"
#include "base/clock.h"
#include "base/inert.h"
#include "choose/costs.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2, ALTERNATIVES = 2 };

/* The plan of one search, and its network where that is timed. */
typedef struct searched {
  pz_compile_options options;
  pz_plan *plan;
  double cost, conversions; /* expected, all; of it conversions between layouts */
  int32_t n_conversions;
  pz_net *net;
  pz_patch patch;
  double *seconds, median;
} searched;

typedef struct view {
  const char *path;
  pz_compile_options options;
  int32_t runs;
  pz_arena *arena;
  pz_model model;
  pz_tuner tuner;
  pz_folder folder;
  searched by[PZ_SEARCHES];
} view;

/* The rows of the table, and their order. */
static const struct {
  pz_search search;
  const char *what;
} rows[] = {{PZ_SEARCH_NCHW, "direct sums in NCHW"},
            {PZ_SEARCH_LAYOUT, "in NCHWc, converted around each convolution"},
            {PZ_SEARCH_TRANSFORMS, "converted only where the layout changes"},
            {PZ_SEARCH_GLOBAL, "global search over algorithms and layouts"}};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- what is expected ---- */

static double cost_of(const pz_candidate *c) { return c->solver->work ? c->cost : 0; }

typedef struct conversion {
  pz_tensor_id tensor;
  pz_layout from, to;
  double cost;
} conversion;

static void add_conversion(const pz_plan *plan, pz_tensor_id id, pz_layout from, pz_layout to,
                           conversion *all, int32_t *n) {
  all[(*n)++] =
      (conversion){id, from, to, pz_transform_cost(&plan->graph->tensors[id].shape, &plan->target, from, to)};
}

/* By tensor: the layout in which it is written, the network's inputs NCHW; and those in which it is wanted, a bit each. */
typedef struct layouts_of {
  pz_layout *written;
  uint32_t *wanted;
} layouts_of;

/* Where the search leaves conversions out, a convolution's result is converted to NCHW at once: that is a conversion of its own. */
static bool parts_layouts(const pz_plan *plan, pz_node_id n) {
  return plan->search == PZ_SEARCH_LAYOUT && plan->graph->nodes[n].op == PZ_OP_CONV &&
         pz_chosen(plan, n)->out == PZ_NCHWC;
}

static void find_layouts(const pz_plan *plan, const layouts_of *l) {
  const pz_graph *g = plan->graph;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_out; i++)
      l->written[g->nodes[n].out[i]] = parts_layouts(plan, n) ? PZ_NCHW : pz_chosen(plan, n)->out;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_in; i++) {
      const pz_tensor_id id = g->nodes[n].in[i];
      if (id == PZ_NONE || g->tensors[id].data || plan->problems[n].in[i].packed) continue;
      l->wanted[id] |= 1u << (pz_chosen(plan, n)->any_layout ? l->written[id] : pz_wanted_layout(plan, n, i));
    }
  for (int32_t i = 0; i < g->n_outputs; i++) l->wanted[g->outputs[i]] |= 1u << PZ_NCHW;
}

/* Room for two a tensor. */
static int32_t find_conversions(const pz_plan *plan, const layouts_of *l, conversion *all) {
  const pz_graph *g = plan->graph;
  int32_t count = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (parts_layouts(plan, n)) add_conversion(plan, g->nodes[n].out[0], PZ_NCHWC, PZ_NCHW, all, &count);
  for (pz_tensor_id id = 0; id < g->n_tensors; id++) {
    const pz_layout other = l->written[id] == PZ_NCHW ? PZ_NCHWC : PZ_NCHW;
    if (!g->tensors[id].data && (l->wanted[id] >> other & 1))
      add_conversion(plan, id, l->written[id], other, all, &count);
  }
  return count;
}

static pz_status conversions_of(const view *v, const pz_plan *plan, conversion **all, int32_t *n,
                                pz_error *err) {
  const size_t tensors = (size_t)plan->graph->n_tensors + 1;
  const layouts_of l = {PZ_NEW(v->arena, pz_layout, tensors), PZ_NEW(v->arena, uint32_t, tensors)};
  *all = PZ_NEW(v->arena, conversion, 2 * tensors);
  if (!*all || !l.written || !l.wanted) return pz_fail_memory(err, "conversions", 64 * tensors);
  find_layouts(plan, &l);
  *n = find_conversions(plan, &l, *all);
  return PZ_OK;
}

static pz_status expect(const view *v, searched *s, pz_error *err) {
  conversion *all;
  PZ_TRY(conversions_of(v, s->plan, &all, &s->n_conversions, err));
  for (int32_t i = 0; i < s->n_conversions; i++) s->conversions += all[i].cost;
  s->cost = s->conversions;
  for (pz_node_id n = 0; n < s->plan->graph->n_nodes; n++) s->cost += cost_of(pz_plan_candidate(s->plan, n));
  return PZ_OK;
}

/* The search of the options is timed and bounded as the compiler makes it; all others by the cost model alone, in whatever memory they need. */
static pz_status make_plan(view *v, searched *s, pz_search search, pz_error *err) {
  pz_plan_options wanted;
  s->options = v->options;
  s->options.search = pz_search_names[search];
  if (search != PZ_SEARCH_GLOBAL) s->options.memory = 0;
  PZ_TRY(pz_plan_wanted(&s->options, &wanted, err));
  wanted.sized = true;
  if (search == PZ_SEARCH_GLOBAL) {
    PZ_TRY(pz_tuner_open(&v->tuner, &v->options, &wanted, false, err));
    wanted.choose = pz_tuner_choose, wanted.choose_host = &v->tuner;
  } else s->options.effort = "estimate";
  PZ_TRY(pz_plan_new(v->model.after, &wanted, &s->plan, err));
  return expect(v, s, err);
}

/* ---- measuring ---- */

static pz_status public_failed(pz_status status, pz_error *err) {
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", pz_last_message());
}

static pz_status open_network(view *v, searched *s, pz_search search, pz_error *err) {
  const pz_net_options how = {.threads = v->options.threads};
  const char *file = pz_arena_printf(v->arena, "%s/%s.so", v->folder.path, pz_search_names[search]);
  s->seconds = PZ_NEW(v->arena, double, (size_t)v->runs);
  if (!file || !s->seconds) return pz_fail_memory(err, "times", 64);
  PZ_TRY(public_failed(pz_compile(v->path, file, &s->options, NULL), err));
  PZ_TRY(public_failed(pz_net_open(file, &how, &s->net), err));
  return pz_patch_new(s->net, PZ_SELF_TEST_SEED, &s->patch, err);
}

static pz_status run_once(searched *s, double *seconds, pz_error *err) {
  const double start = pz_now();
  const pz_status status =
      pz_net_run(s->net, (const void *const *)s->patch.inputs, (void *const *)s->patch.outputs);
  *seconds = pz_now() - start;
  return public_failed(status, err);
}

/* In turn, round after round: a pace of the machine that changes, changes for all. */
static pz_status measure(view *v, pz_error *err) {
  double ignored;
  PZ_TRY(pz_folder_new(v->arena, &v->folder, err));
  for (int i = 0; i < PZ_SEARCHES; i++) PZ_TRY(open_network(v, &v->by[i], (pz_search)i, err));
  for (int k = 0; k < WARM_UP; k++)
    for (int i = 0; i < PZ_SEARCHES; i++) PZ_TRY(run_once(&v->by[i], &ignored, err));
  for (int32_t k = 0; k < v->runs; k++)
    for (int i = 0; i < PZ_SEARCHES; i++) PZ_TRY(run_once(&v->by[i], &v->by[i].seconds[k], err));
  for (int i = 0; i < PZ_SEARCHES; i++) {
    qsort(v->by[i].seconds, (size_t)v->runs, sizeof(double), pz_ascending);
    v->by[i].median = 0.5 * (v->by[i].seconds[v->runs / 2] + v->by[i].seconds[(v->runs - 1) / 2]);
  }
  return PZ_OK;
}

/* ---- what is shown ---- */

static const char *layout_name(const pz_plan *plan, pz_layout layout, char *out) {
  if (layout == PZ_NCHW) return "NCHW";
  snprintf(out, 16, "NCHW%dc", plan->target.block);
  return out;
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* The best candidates of other solvers than the chosen one's, one of each, the cheapest first. */
static int32_t alternatives(const pz_choice *choice, int32_t at[ALTERNATIVES]) {
  int32_t n = 0;
  for (int32_t i = 0; i < choice->n && n < ALTERNATIVES; i++) {
    bool known = choice->candidates[i].solver == choice->candidates[choice->chosen].solver;
    for (int32_t k = 0; k < n; k++) known |= choice->candidates[i].solver == choice->candidates[at[k]].solver;
    if (!known) at[n++] = i;
  }
  return n;
}

static void candidate_text(const pz_plan *plan, const pz_candidate *c, double whole, pz_text *out) {
  char in[16], to[16], both[40], ms[24] = "-";
  snprintf(both, sizeof both, "%s > %s", c->solver->any_layout ? "any" : layout_name(plan, c->solver->in, in),
           layout_name(plan, c->solver->out, to));
  if (c->seconds > 0) snprintf(ms, sizeof ms, "%.4g", 1e3 * c->seconds);
  pz_text_printf(out, "%-46s %-20s %8.2f%% %10s\n", c->label, both, percent(cost_of(c), whole), ms);
}

static void layers_text(const view *v, pz_text *out) {
  const searched *s = &v->by[PZ_SEARCH_GLOBAL];
  const pz_plan *plan = s->plan;
  pz_text_printf(out, "plan for %s (%s), blocks of %d channels\n\n%-28s %-46s %-20s %9s %10s\n",
                 plan->target.name, pz_isa_get(pz_target_isa(&plan->target))->title, plan->target.block,
                 "layer", "chosen, and the best of other algorithms", "reads > writes", "cost",
                 "measured ms");
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    int32_t other[ALTERNATIVES];
    pz_text_printf(out, "%-28s ", pz_inert_in(v->arena, plan->graph->nodes[n].name));
    candidate_text(plan, pz_plan_candidate(plan, n), s->cost, out);
    for (int32_t k = 0, all = alternatives(&plan->choices[n], other); k < all; k++) {
      pz_text_printf(out, "%-28s ", "  or");
      candidate_text(plan, &plan->choices[n].candidates[other[k]], s->cost, out);
    }
  }
}

static void conversion_text(const view *v, const conversion *c, pz_text *out) {
  const searched *s = &v->by[PZ_SEARCH_GLOBAL];
  char shape[PZ_SHAPE_TEXT], from[16], to[16];
  const pz_tensor *t = &s->plan->graph->tensors[c->tensor];
  pz_text_printf(out, "%-28s %-30s %s to %s, %.2f%%\n", pz_inert_in(v->arena, t->name),
                 pz_shape_text(&t->shape, shape), layout_name(s->plan, c->from, from),
                 layout_name(s->plan, c->to, to), percent(c->cost, s->cost));
}

static void searches_text(const view *v, pz_text *out) {
  const searched *base = &v->by[rows[0].search];
  pz_text_printf(out,
                 "\nwhat each optimisation brings, with those above it (NeoCPU, Table 3)\n%-46s %10s %12s",
                 "", "expected", "conversions");
  pz_text_printf(out, v->runs ? " %10s %10s\n" : "\n", "ms", "measured");
  for (int i = 0; i < ROWS; i++) {
    const searched *s = &v->by[rows[i].search];
    pz_text_printf(out, "%-46s %10.2f %12d", rows[i].what, s->cost > 0 ? base->cost / s->cost : 1,
                   s->n_conversions);
    if (v->runs) pz_text_printf(out, " %10.4g %10.2f", 1e3 * s->median, base->median / s->median);
    pz_text_append(out, "\n");
  }
}

static pz_status as_text(const view *v, pz_text *out, pz_error *err) {
  conversion *all;
  int32_t n = 0;
  PZ_TRY(conversions_of(v, v->by[PZ_SEARCH_GLOBAL].plan, &all, &n, err));
  layers_text(v, out);
  pz_text_printf(out, "\n%d conversions between layouts%s\n", n, n ? "" : ": none is needed");
  for (int32_t i = 0; i < n; i++) conversion_text(v, &all[i], out);
  searches_text(v, out);
  if (v->tuner.note[0]) pz_text_printf(out, "\n%s\n", v->tuner.note);
  return out->failed ? pz_fail_memory(err, "the text", out->capacity) : PZ_OK;
}

/* ---- as JSON ---- */

static json_t *candidate_json(const view *v, pz_json *j, const pz_candidate *c) {
  const searched *s = &v->by[PZ_SEARCH_GLOBAL];
  char in[16], to[16];
  return pz_json_pack(j, "{s:s, s:s, s:s, s:f, s:o, s:f}", "algorithm", c->label, "reads",
                      c->solver->any_layout ? "any" : layout_name(s->plan, c->solver->in, in), "writes",
                      layout_name(s->plan, c->solver->out, to), "share", 0.01 * percent(cost_of(c), s->cost),
                      "measured_ms", c->seconds > 0 ? json_real(1e3 * c->seconds) : json_null(),
                      "expected_error", c->error);
}

static const char *const layouts[] = {[PZ_LAYOUT_OBLIVIOUS] = "oblivious",
                                      [PZ_LAYOUT_TOLERANT] = "tolerant",
                                      [PZ_LAYOUT_DEPENDENT] = "dependent"};

static json_t *layers_json(const view *v, pz_json *j) {
  const pz_plan *plan = v->by[PZ_SEARCH_GLOBAL].plan;
  json_t *all = json_array();
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    json_t *others = json_array();
    for (int32_t i = 0; i < plan->choices[n].n; i++)
      if (i != plan->choices[n].chosen)
        pz_json_append(j, others, candidate_json(v, j, &plan->choices[n].candidates[i]));
    pz_json_append(j, all,
                   pz_json_pack(j, "{s:o, s:s, s:s, s:o, s:o}", "layer",
                                pz_json_name(plan->graph->nodes[n].name), "op",
                                pz_op_name(plan->graph->nodes[n].op), "layouts",
                                layouts[pz_op_get(plan->graph->nodes[n].op)->layouts], "chosen",
                                candidate_json(v, j, pz_plan_candidate(plan, n)), "alternatives", others));
  }
  return all;
}

static json_t *conversions_json(const view *v, pz_json *j, const conversion *all, int32_t n) {
  const searched *s = &v->by[PZ_SEARCH_GLOBAL];
  json_t *rows_json = json_array();
  char from[16], to[16];
  for (int32_t i = 0; i < n; i++)
    pz_json_append(j, rows_json,
                   pz_json_pack(j, "{s:o, s:s, s:s, s:f}", "tensor",
                                pz_json_name(s->plan->graph->tensors[all[i].tensor].name), "from",
                                layout_name(s->plan, all[i].from, from), "to",
                                layout_name(s->plan, all[i].to, to), "share",
                                0.01 * percent(all[i].cost, s->cost)));
  return rows_json;
}

static json_t *searches_json(const view *v, pz_json *j) {
  const searched *base = &v->by[rows[0].search];
  json_t *all = json_array();
  for (int i = 0; i < ROWS; i++) {
    const searched *s = &v->by[rows[i].search];
    pz_json_append(j, all,
                   pz_json_pack(j, "{s:s, s:f, s:i, s:o, s:o}", "search", pz_search_names[rows[i].search],
                                "expected_speedup", s->cost > 0 ? base->cost / s->cost : 1, "conversions",
                                (int)s->n_conversions, "milliseconds",
                                v->runs ? json_real(1e3 * s->median) : json_null(), "speedup",
                                v->runs ? json_real(base->median / s->median) : json_null()));
  }
  return all;
}

static pz_status as_json(const view *v, pz_text *out, pz_error *err) {
  const pz_plan *plan = v->by[PZ_SEARCH_GLOBAL].plan;
  conversion *all;
  int32_t n = 0;
  char *text;
  pz_json j = {0};
  PZ_TRY(conversions_of(v, plan, &all, &n, err));
  json_t *object = pz_json_pack(&j, "{s:s, s:s, s:i, s:o, s:o, s:o}", "target", plan->target.name, "isa",
                                pz_isa_get(pz_target_isa(&plan->target))->name, "vector_block",
                                (int)plan->target.block, "layers", layers_json(v, &j), "conversions",
                                conversions_json(v, &j, all, n), "searches", searches_json(v, &j));
  PZ_TRY(pz_json_out(&j, object, &text, err));
  pz_text_append(out, text);
  free(text);
  return out->failed ? pz_fail_memory(err, "the text", out->capacity) : PZ_OK;
}

/* ---- the whole ---- */

static pz_status inspect(view *v, bool json, pz_text *out, pz_error *err) {
  bool network;
  PZ_TRY(pz_is_network(v->path, &network, err));
  if (network)
    return pz_fail(err, PZ_ERROR_USAGE, "%s is a network file: plans are made of models; give the model",
                   v->path);
  PZ_TRY(pz_model_load(v->path, &v->options, &v->model, err));
  for (int i = 0; i < PZ_SEARCHES; i++) PZ_TRY(make_plan(v, &v->by[i], (pz_search)i, err));
  if (v->runs) PZ_TRY(measure(v, err));
  return json ? as_json(v, out, err) : as_text(v, out, err);
}

static void release(view *v) {
  for (int i = 0; i < PZ_SEARCHES; i++) {
    pz_patch_free(&v->by[i].patch);
    pz_net_close(v->by[i].net);
    pz_plan_free(v->by[i].plan);
  }
  pz_folder_remove(&v->folder);
  pz_tuner_close(&v->tuner);
  if (v->model.arena) pz_model_free(&v->model);
  pz_arena_free(v->arena);
}

pz_status pz_inspect_plan(const char *model, const pz_compile_options *options, int32_t runs, bool json,
                          char **out) {
  static const pz_compile_options defaults = PZ_COMPILE_OPTIONS;
  pz_error err = {0};
  pz_text text = {0};
  view v = {.path = model, .options = options ? *options : defaults, .runs = runs, .arena = pz_arena_new()};
  *out = NULL;
  pz_status status = PZ_OK;
  if (!model || runs < 0)
    status = pz_fail(&err, PZ_ERROR_USAGE, "pz_inspect_plan: name a model; runs: 0 or more");
  else if (v.options.search)
    status = pz_fail(&err, PZ_ERROR_USAGE, "--search %s: plans of all searches are shown; leave it out",
                     v.options.search);
  else if (!v.arena) status = pz_fail_memory(&err, "the plan", 64);
  if (status == PZ_OK) status = inspect(&v, json, &text, &err);
  status = pz_interrupted_end(v.options.interrupt, "inspecting", status, &err);
  release(&v);
  if (status == PZ_OK) *out = text.data;
  else pz_text_free(&text);
  return pz_public_end(status, &err);
}
