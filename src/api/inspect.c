/* inspect.c: pz_inspect: a model before and after the passes, with its plan; or what a network file says. */
#include "api/tuner.h"
#include "base/file.h"
#include "base/inert.h"
#include "base/json.h"
#include "emit/emit.h"
#include "emit/locality.h"
#include "runtime/runtime.h"
#include "runtime/variant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct view {
  const char *path;
  const pz_compile_options *options;
  pz_model model;
  pz_plan *plan;
  pz_tuner tuner;
} view;

/* ---- a model ---- */

static void border_text(const pz_tensor *t, char *out, size_t size) {
  *out = 0;
  bool any = false;
  for (int i = 0; i < PZ_SPATIAL; i++) any |= t->border_lo[i] || t->border_hi[i];
  if (any)
    snprintf(out, size, " +%d,%d,%d:%d,%d,%d", t->border_lo[0], t->border_lo[1], t->border_lo[2],
             t->border_hi[0], t->border_hi[1], t->border_hi[2]);
}

static void graph_table(const view *v, const pz_graph *g, const char *title, pz_text *out) {
  double multiply_adds = 0, bytes = 0;
  pz_text_printf(out, "%s: %d layers\n%-28s %-14s %-30s %12s %12s\n", title, g->n_nodes, "layer", "operator",
                 "output", "MMAC", "MB");
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *n = &g->nodes[i];
    char shape[PZ_SHAPE_TEXT], border[64], both[PZ_SHAPE_TEXT + 64];
    pz_shape_text(&g->tensors[n->out[0]].shape, shape);
    border_text(&g->tensors[n->out[0]], border, sizeof border);
    snprintf(both, sizeof both, "%s%s", shape, border);
    pz_text_printf(out, "%-28s %-14s %-30s %12.3f %12.3f\n", pz_inert_in(v->model.arena, n->name),
                   pz_op_name(n->op), both, 1e-6 * pz_node_multiply_adds(g, n), 1e-6 * pz_node_bytes(g, n));
    multiply_adds += pz_node_multiply_adds(g, n);
    bytes += pz_node_bytes(g, n);
  }
  pz_text_printf(out, "%-28s %-14s %-30s %12.3f %12.3f\n\n", "total", "", "", 1e-6 * multiply_adds,
                 1e-6 * bytes);
}

static void plan_table(const pz_plan *p, pz_text *out) {
  pz_text_printf(out, "plan: %d steps for %s (%s), blocks of %d channels\n%-28s %-14s %s\n", p->n_steps,
                 pz_isa_get(pz_target_isa(&p->target))->title, p->target.name, p->target.block, "layer",
                 "operator", "algorithm");
  for (int32_t i = 0; i < p->n_steps; i++) {
    int32_t first = 0; /* of the steps of a layer that runs band by band */
    while (strcmp(p->steps[first].name, p->steps[i].name) || strcmp(p->steps[first].op, p->steps[i].op))
      first++;
    if (first == i)
      pz_text_printf(out, "%-28s %-14s %s\n", pz_inert_in(p->arena, p->steps[i].name), p->steps[i].op,
                     p->steps[i].algorithm);
  }
  pz_text_printf(out, "\nweights %.3f MB packed, memory for a run (peak of the arena) %.3f MB\n",
                 1e-6 * (double)p->weight_bytes, 1e-6 * (double)pz_emit_arena_bytes(p));
}

/* In the table: what the effort would time, what has a time, and the choice. */
static bool is_shown(const view *v, const pz_choice *choice, int32_t i) {
  return i == choice->chosen || choice->candidates[i].seconds > 0 ||
         pz_tuner_wants(v->tuner.asked, &v->tuner.target, choice->candidates, choice->n, i);
}

static void candidate_line(const pz_choice *choice, int32_t i, pz_text *out) {
  const pz_candidate *c = &choice->candidates[i];
  char ms[32] = "-";
  if (c->seconds > 0) snprintf(ms, sizeof ms, "%.4g", 1e3 * c->seconds);
  pz_text_printf(out, "%s %-42s %10s %10.2f %11.3f %14.1e\n", i == choice->chosen ? "*" : " ", c->label, ms,
                 choice->candidates[0].cost > 0 ? c->cost / choice->candidates[0].cost : 1, 1e-6 * c->weights,
                 c->error);
}

static void choice_table(const view *v, pz_text *out) {
  const pz_graph *g = v->plan->graph;
  pz_text_printf(
      out,
      "\ncandidates of convolutions; * is chosen; the time that this machine measured, the estimated "
      "cost beside the cheapest one's, weights\n  %-42s %10s %10s %11s %14s\n",
      "", "ms", "cost", "weights MB", "expected error");
  for (int32_t n = 0; n < g->n_nodes; n++) {
    const pz_choice *choice = &v->plan->choices[n];
    if (!pz_is_convolution(&g->nodes[n])) continue;
    pz_text_printf(out, "%s\n", pz_inert_in(v->plan->arena, g->nodes[n].name));
    for (int32_t i = 0; i < choice->n; i++)
      if (is_shown(v, choice, i)) candidate_line(choice, i, out);
  }
  if (v->tuner.note[0]) pz_text_printf(out, "%s\n", v->tuner.note);
  if (v->tuner.asked != PZ_EFFORT_ESTIMATE && v->plan->max_error > 0)
    pz_text_append(out, "errors count here in full; compiling measures how much of them the result has, "
                        "and may choose others by that\n");
}

static const char *text_of(const json_t *m, const char *key) {
  const char *s = json_string_value(json_object_get(m, key));
  return s ? s : "?";
}

/* As it is shown. */
static const char *shown(pz_arena *arena, const json_t *m, const char *key) {
  return pz_inert_in(arena, text_of(m, key));
}

/* "8 x 8 x 8"; of a 2D network the last two. */
static void print_triple(const json_t *t, bool planar, pz_text *out) {
  for (size_t i = planar; i < 3; i++)
    pz_text_printf(out, "%s%lld", i > (size_t)planar ? " x " : "",
                   (long long)json_integer_value(json_array_get(t, i)));
}

static json_int_t of_axis(const json_t *l, const char *key, size_t i) {
  return json_integer_value(json_array_get(json_object_get(l, key), i));
}

/* Of a network whose result is smaller than its patch, what the largest of the patches that were tried would cost. */
static void larger_patch(const json_t *l, double ideal, pz_text *out) {
  const json_t *all = json_object_get(l, "larger"), *p = json_array_get(all, json_array_size(all) - 1);
  double voxels = 1;
  for (size_t i = 0; i < 3; i++) voxels *= json_number_value(json_array_get(json_object_get(p, "out"), i));
  if (!p || voxels <= 0) return;
  pz_text_append(out, "; with patches of ");
  print_triple(json_object_get(p, "in"), false, out);
  pz_text_printf(out, " %.3g times",
                 json_number_value(json_object_get(p, "multiply_adds")) / (ideal * voxels));
}

/* Of exact tiles: what all runs over a volume cost, where its size is known. */
static void volume_times(const json_t *exact, bool planar, pz_text *out) {
  const json_t *volume = json_object_get(exact, "volume");
  const double runs = json_number_value(json_object_get(exact, "volume_runs"));
  pz_text_append(out, ", in a volume without end");
  if (!volume || !json_object_get(exact, "volume_times")) return;
  pz_text_printf(out, "; %.3g for all of ", json_number_value(json_object_get(exact, "volume_times")));
  print_triple(volume, planar, out);
  pz_text_printf(out, ", in %.0f run%s", runs, runs > 1 ? "s" : "");
}

/* What a patch costs beside the ideal, where its neighbours do not overlap, and where a quarter of its result does along each axis with a reach. */
static void arithmetic_line(const json_t *m, const json_t *l, const json_t *shape, pz_text *out) {
  const double ideal = json_number_value(json_object_get(l, "multiply_adds"));
  const json_t *exact = json_object_get(m, "exact");
  const size_t rank = json_array_size(shape);
  double voxels = 1, overlapped = 1;
  for (size_t i = 2; i < rank; i++) {
    const size_t axis = i + 3 - rank;
    voxels *= json_number_value(json_array_get(shape, i));
    if (of_axis(l, "reach_before", axis) + of_axis(l, "reach_behind", axis)) overlapped /= 0.75;
  }
  if (ideal <= 0 || voxels <= 0) return;
  const double alone = json_number_value(json_object_get(m, "multiply_adds")) / (ideal * voxels);
  pz_text_printf(out, "%-14s %.3g times the ideal for a patch's result", "arithmetic", alone);
  if (exact) volume_times(exact, rank == 4, out);
  else if (alone < 1.02) pz_text_printf(out, ", %.3g with a quarter of overlap", alone * overlapped);
  else larger_patch(l, ideal, out);
  pz_text_append(out, "\n");
}

/* What a result depends on (emit/locality.h). */
static void locality_lines(pz_arena *arena, const json_t *m, pz_text *out) {
  const json_t *l = json_object_get(m, "locality"),
               *shape = json_object_get(json_array_get(json_object_get(m, "outputs"), 0), "shape");
  const bool planar = json_array_size(shape) == 4, global = !json_is_null(json_object_get(l, "global_layer"));
  if (!l) return;
  pz_text_printf(out, "%-14s ", "receptive field");
  if (json_object_get(l, "stride")) {
    for (size_t i = planar; i < 3; i++)
      pz_text_printf(out, "%s%lld", i > (size_t)planar ? " x " : "",
                     (long long)(of_axis(l, "reach_before", i) + of_axis(l, "reach_behind", i) + 1));
    pz_text_append(out, " voxels, total stride ");
    print_triple(json_object_get(l, "stride"), planar, out);
    if (global) pz_text_append(out, "; but ");
  }
  if (global)
    pz_text_printf(out, "all of space, for layer '%s' %s", shown(arena, l, "global_layer"),
                   shown(arena, l, "global_why"));
  pz_text_append(out, "\n");
  if (json_object_get(l, "stride")) arithmetic_line(m, l, shape, out);
}

/* As it was before tiles were made of it. */
static pz_status locality_of(view *v, json_t **locality, pz_error *err) {
  const char *made = v->model.locality;
  if (!made) return pz_locality_json(&v->model.json, v->model.after, locality, err);
  *locality = pz_json_read(&v->model.json, made, strlen(made), 0, NULL);
  return PZ_OK;
}

/* Of exact tiles: which. */
static void put_exact(view *v, json_t *o) {
  const char *exact = v->model.exact;
  pz_json *j = &v->model.json;
  if (exact) pz_json_set(j, o, "exact", pz_json_read(j, exact, strlen(exact), 0, NULL));
}

/* Of a model: what its network file's manifest would say. */
static pz_status model_locality(view *v, json_t **m, pz_error *err) {
  const pz_graph *g = v->model.after;
  pz_json *j = &v->model.json;
  json_t *dims = json_array(), *locality;
  double multiply_adds = 0;
  PZ_TRY(locality_of(v, &locality, err));
  const pz_shape *shape = &g->tensors[g->outputs[0]].shape;
  for (int i = 0; i < shape->rank; i++) pz_json_append(j, dims, json_integer(shape->dim[i]));
  for (pz_node_id n = 0; n < g->n_nodes; n++) multiply_adds += pz_node_multiply_adds(g, &g->nodes[n]);
  *m = pz_json_pack(j, "{s:o, s:f, s:[{s:o}]}", "locality", locality, "multiply_adds", multiply_adds,
                    "outputs", "shape", dims);
  put_exact(v, *m);
  return PZ_OK;
}

static json_t *choice_json(pz_json *j, const pz_choice *choice) {
  json_t *all = json_array();
  for (int32_t i = 0; i < choice->n; i++) {
    const pz_candidate *c = &choice->candidates[i];
    pz_json_append(j, all,
                   pz_json_pack(j, "{s:s, s:o, s:f, s:f, s:f, s:b}", "algorithm", c->label, "measured_ms",
                                c->seconds > 0 ? json_real(1e3 * c->seconds) : json_null(), "cost",
                                choice->candidates[0].cost > 0 ? c->cost / choice->candidates[0].cost : 1,
                                "weights_bytes", c->weights, "expected_error", c->error, "chosen",
                                i == choice->chosen));
  }
  return all;
}

static json_t *choices_json(pz_json *j, const pz_plan *plan) {
  json_t *all = json_array();
  for (int32_t n = 0; n < plan->graph->n_nodes; n++)
    if (pz_is_convolution(&plan->graph->nodes[n]))
      pz_json_append(j, all,
                     pz_json_pack(j, "{s:o, s:o}", "layer", pz_json_name(plan->graph->nodes[n].name),
                                  "candidates", choice_json(j, &plan->choices[n])));
  return all;
}

static json_t *graph_json(pz_json *j, const pz_graph *g) {
  json_t *all = json_array();
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *n = &g->nodes[i];
    char shape[PZ_SHAPE_TEXT];
    pz_json_append(j, all,
                   pz_json_pack(j, "{s:o, s:s, s:s, s:f, s:f}", "layer", pz_json_name(n->name), "op",
                                pz_op_name(n->op), "output",
                                pz_shape_text(&g->tensors[n->out[0]].shape, shape), "multiply_adds",
                                pz_node_multiply_adds(g, n), "bytes", pz_node_bytes(g, n)));
  }
  return all;
}

static pz_status make_plan(view *v, pz_error *err) {
  pz_plan_options wanted;
  PZ_TRY(pz_plan_wanted(v->options, &wanted, err));
  PZ_TRY(pz_tuner_open(&v->tuner, v->options, &wanted, false, err));
  wanted.choose = pz_tuner_choose;
  wanted.choose_host = &v->tuner;
  wanted.sized = true;
  PZ_TRY(pz_plan_new(v->model.after, &wanted, &v->plan, err));
  pz_plan_settle(v->options, v->plan);
  return pz_json_end(&v->tuner.json, "times of candidates", err);
}

static pz_status as_json(view *v, pz_text *out, pz_error *err) {
  PZ_TRY(make_plan(v, err));
  pz_json *j = &v->model.json;
  json_t *steps = json_array(), *locality;
  PZ_TRY(locality_of(v, &locality, err));
  for (int32_t i = 0; i < v->plan->n_steps; i++)
    pz_json_append(j, steps,
                   pz_json_pack(j, "{s:o, s:s, s:s}", "layer", pz_json_name(v->plan->steps[i].name), "op",
                                v->plan->steps[i].op, "algorithm", v->plan->steps[i].algorithm));
  json_t *all = pz_json_pack(
      j, "{s:o, s:O, s:o, s:o, s:o, s:o, s:I, s:I, s:f}", "before", graph_json(j, v->model.before), "passes",
      v->model.passes, "after", graph_json(j, v->model.after), "locality", locality, "plan", steps, "choices",
      choices_json(j, v->plan), "weights_bytes", (json_int_t)v->plan->weight_bytes, "arena_bytes",
      (json_int_t)pz_emit_arena_bytes(v->plan), "multiply_adds", v->plan->multiply_adds);
  put_exact(v, all);
  char *text;
  PZ_TRY(pz_json_out(j, all, &text, err));
  pz_text_append(out, text);
  free(text);
  return PZ_OK;
}

static pz_status as_table(view *v, pz_text *out, pz_error *err) {
  PZ_TRY(make_plan(v, err));
  graph_table(v, v->model.before, "as imported", out);
  pz_text_append(out, "passes:");
  for (size_t i = 0; i < json_array_size(v->model.passes); i++) {
    const json_t *row = json_array_get(v->model.passes, i);
    pz_text_printf(out, " %s %d", json_string_value(json_object_get(row, "name")),
                   (int)json_integer_value(json_object_get(row, "changes")));
  }
  pz_text_append(out, "\n\n");
  graph_table(v, v->model.after, "after the passes", out);
  plan_table(v->plan, out);
  json_t *m;
  PZ_TRY(model_locality(v, &m, err));
  locality_lines(v->model.arena, m, out);
  json_decref(m);
  PZ_TRY(pz_json_end(&v->model.json, "what a network depends on", err));
  choice_table(v, out);
  return PZ_OK;
}

static pz_status as_dot(view *v, pz_text *out, pz_error *err) {
  (void)err;
  return pz_graph_print_dot(v->model.after, out);
}
static pz_status as_dot_before(view *v, pz_text *out, pz_error *err) {
  (void)err;
  return pz_graph_print_dot(v->model.before, out);
}
static pz_status as_text(view *v, pz_text *out, pz_error *err) {
  (void)err;
  return pz_graph_print(v->model.after, false, out);
}
static pz_status as_text_before(view *v, pz_text *out, pz_error *err) {
  (void)err;
  return pz_graph_print(v->model.before, false, out);
}

static const struct {
  const char *name;
  pz_status (*print)(view *v, pz_text *out, pz_error *err);
} formats[] = {{"table", as_table},           {"json", as_json}, {"dot", as_dot},
               {"dot-before", as_dot_before}, {"text", as_text}, {"text-before", as_text_before}};

static pz_status inspect_model(view *v, const char *format, pz_text *out, pz_error *err) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(formats[i].name, format)) continue;
    PZ_TRY(pz_model_load(v->path, v->options, &v->model, err));
    return formats[i].print(v, out, err);
  }
  return pz_fail(err, PZ_ERROR_USAGE,
                 "--format %s: expected table, json, dot, dot-before, text or text-before", format);
}

/* ---- a network file ---- */

static void shape_line(pz_arena *arena, const json_t *ports, const char *title, pz_text *out) {
  for (size_t i = 0; i < json_array_size(ports); i++) {
    const json_t *p = json_array_get(ports, i), *dims = json_object_get(p, "shape");
    pz_text_printf(out, "%-14s %s ", title, shown(arena, p, "name"));
    for (size_t k = 0; k < json_array_size(dims); k++)
      pz_text_printf(out, "%s%lld", k ? "x" : "", (long long)json_integer_value(json_array_get(dims, k)));
    pz_text_printf(out, " %s", text_of(p, "dtype"));
    if (json_object_get(p, "scale"))
      pz_text_printf(out, " scale %g zero_point %lld", json_number_value(json_object_get(p, "scale")),
                     (long long)json_integer_value(json_object_get(p, "zero_point")));
    pz_text_append(out, "\n");
  }
}

/* Multiply-adds of all steps of step i's layer, which are several where it runs band by band; -1: step i is not the first. */
static double layer_multiply_adds(const json_t *plan, size_t i) {
  const json_t *step = json_array_get(plan, i);
  double sum = 0;
  for (size_t k = 0; k < json_array_size(plan); k++) {
    const json_t *other = json_array_get(plan, k);
    if (strcmp(text_of(other, "layer"), text_of(step, "layer")) ||
        strcmp(text_of(other, "op"), text_of(step, "op")))
      continue;
    if (k < i) return -1;
    sum += json_number_value(json_object_get(other, "multiply_adds"));
  }
  return sum;
}

static double megabytes(const json_t *row, const char *key) {
  return 1e-6 * json_number_value(json_object_get(row, key));
}

/* Of a file with several; the one that is shown has a star. */
static void variant_lines(pz_arena *arena, const json_t *m, pz_text *out) {
  const json_t *rows = json_object_get(m, "variants");
  if (json_array_size(rows))
    pz_text_printf(out, "%-14s   %-18s %-8s %12s %12s %12s  %s\n", "variants", "target", "isa", "weights MB",
                   "of them new", "memory MB", "runs here");
  for (size_t i = 0; i < json_array_size(rows); i++) {
    const json_t *row = json_array_get(rows, i);
    const bool is_shown = (json_int_t)i == json_integer_value(json_object_get(m, "variant"));
    pz_text_printf(out, "%-14s %s %-18s %-8s %12.3f %12.3f %12.3f  %s\n", "", is_shown ? "*" : " ",
                   shown(arena, row, "target"), shown(arena, row, "isa"), megabytes(row, "weights_bytes"),
                   megabytes(row, "weights_bytes") - megabytes(row, "weights_shared_bytes"),
                   megabytes(row, "arena_bytes"),
                   json_is_true(json_object_get(row, "runs_here")) ? "yes" : "no");
  }
}

static void manifest_table(pz_arena *arena, const json_t *m, pz_text *out) {
  const bool named = json_object_get(m, "target"); /* older files are not */
  pz_text_printf(out, "%-14s %s (%s)\n%-14s pznet %s, %s%s%s, blocks of %d channels, %s\n", "network",
                 shown(arena, m, "name"), shown(arena, m, "model"), "compiled by",
                 shown(arena, m, "pznet_version"), shown(arena, m, "isa"), named ? " for " : "",
                 named ? shown(arena, m, "target") : "",
                 (int)json_integer_value(json_object_get(m, "vector_block")), shown(arena, m, "compiler"));
  pz_text_printf(out, "%-14s %s\n%-14s %s\n", "model SHA-256", shown(arena, m, "model_sha256"),
                 "file SHA-256", shown(arena, m, "file_sha256"));
  variant_lines(arena, m, out);
  shape_line(arena, json_object_get(m, "inputs"), "input", out);
  shape_line(arena, json_object_get(m, "outputs"), "output", out);
  locality_lines(arena, m, out);
  pz_text_printf(
      out, "%-14s %.3f G multiply-adds, %.3f MB of weights, %.3f MB of memory\n\n%-28s %-14s %-44s %12s\n",
      "a run", 1e-9 * json_number_value(json_object_get(m, "multiply_adds")),
      1e-6 * json_number_value(json_object_get(m, "weights_bytes")),
      1e-6 * json_number_value(json_object_get(m, "arena_bytes")), "layer", "operator", "algorithm", "MMAC");
  const json_t *plan = json_object_get(m, "plan");
  for (size_t i = 0; i < json_array_size(plan); i++) {
    const json_t *s = json_array_get(plan, i);
    const double multiply_adds = layer_multiply_adds(plan, i);
    if (multiply_adds >= 0)
      pz_text_printf(out, "%-28s %-14s %-44s %12.3f\n", shown(arena, s, "layer"), shown(arena, s, "op"),
                     shown(arena, s, "algorithm"), 1e-6 * multiply_adds);
  }
}

/* In place of the file's manifest that of one of its variants: the one of options->target, or else the one that this machine runs, or else the first. */
static pz_status take_variant(pz_arena *arena, const char *path, const pz_compile_options *options,
                              pz_json *j, json_t **manifest, pz_error *err) {
  const pz_mask mask = options->target ? (pz_mask){options->target, "--target"} : pz_mask_of_environment();
  const bool several = json_object_get(*manifest, "variants") != NULL;
  pz_variant variant;
  if (!several && !options->target) return PZ_OK;
  PZ_TRY(pz_variant_find(arena, *manifest, path, &mask, true, &variant, err));
  if (!several) return PZ_OK;
  json_t *of_one = pz_variant_manifest(j, *manifest, variant.index);
  json_decref(*manifest);
  *manifest = of_one;
  return PZ_OK;
}

pz_status pz_shown_manifest(pz_arena *arena, const char *path, const pz_compile_options *options,
                            json_t **manifest, char **digest, pz_error *err) {
  char *text;
  pz_json j = {0};
  *manifest = NULL;
  PZ_TRY(pz_manifest_read(arena, path, &text, digest, err));
  json_t *m = pz_json_read(&j, text, strlen(text), 0, NULL);
  PZ_TRY(pz_json_end(&j, "the manifest", err));
  if (!m) return pz_fail(err, PZ_ERROR_INPUT, "%s: its manifest is damaged", path);
  pz_status status = take_variant(arena, path, options, &j, &m, err);
  if (status == PZ_OK) status = pz_json_end(&j, "the manifest", err);
  if (status == PZ_OK) *manifest = m;
  else json_decref(m);
  return status;
}

static pz_status show_manifest(const view *v, pz_arena *arena, const char *format, pz_text *out,
                               pz_error *err) {
  pz_json j = {0};
  json_t *m;
  char *digest;
  PZ_TRY(pz_shown_manifest(arena, v->path, v->options, &m, &digest, err));
  pz_json_set(&j, m, "file_sha256", json_string(digest));
  const bool as_json = !strcmp(format, "json");
  char *json = as_json ? pz_json_print(&j, m, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
  if (json) pz_text_printf(out, "%s\n", json);
  if (!as_json) manifest_table(arena, m, out);
  json_decref(m);
  free(json);
  return j.failed || (as_json && !json) ? pz_fail_memory(err, "the manifest", 4096) : PZ_OK;
}

static pz_status inspect_network(view *v, const char *format, pz_text *out, pz_error *err) {
  if (strcmp(format, "json") && strcmp(format, "table"))
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--format %s: a network file is shown as table or json; give the model", format);
  pz_arena *arena = pz_arena_new();
  if (!arena) return pz_fail_memory(err, "the manifest", 64);
  const pz_status status = show_manifest(v, arena, format, out, err);
  pz_arena_free(arena);
  return status;
}

pz_status pz_is_network(const char *path, bool *network, pz_error *err) {
  struct stat info;
  char begin[4];
  int file;
  size_t have = 0;
  ssize_t got = 1;
  PZ_TRY(pz_file_open(path, &file, &info, err));
  while (have < sizeof begin && got > 0) {
    do got = pread(file, begin + have, sizeof begin - have, (off_t)have);
    while (got < 0 && errno == EINTR);
    if (got > 0) have += (size_t)got;
  }
  const pz_status status = got < 0 ? pz_fail(err, PZ_ERROR_RUN, "%s: cannot be read: %m", path) : PZ_OK;
  close(file);
  *network = have == sizeof begin && !memcmp(begin, "\177ELF", 4);
  return status;
}

static pz_status inspect(view *v, const char *format, pz_text *out, pz_error *err) {
  bool network;
  PZ_TRY(pz_is_network(v->path, &network, err));
  PZ_TRY(network ? inspect_network(v, format, out, err) : inspect_model(v, format, out, err));
  return out->failed ? pz_fail_memory(err, "the text", out->capacity) : PZ_OK;
}

pz_status pz_inspect(const char *model_or_network, const pz_compile_options *options, const char *format,
                     char **out) {
  static const pz_compile_options defaults = PZ_COMPILE_OPTIONS;
  pz_error err = {0};
  view v = {.path = model_or_network, .options = options ? options : &defaults};
  pz_text text = {0};
  *out = NULL;
  if (!v.path)
    return pz_public_end(pz_fail(&err, PZ_ERROR_USAGE, "pz_inspect: name a model or a network"), &err);
  pz_status status = inspect(&v, format ? format : "table", &text, &err);
  status = pz_interrupted_end(v.options->interrupt, "inspecting", status, &err);
  pz_plan_free(v.plan);
  pz_tuner_close(&v.tuner);
  if (v.model.arena) pz_model_free(&v.model);
  if (status == PZ_OK) *out = text.data;
  else pz_text_free(&text);
  return pz_public_end(status, &err);
}
