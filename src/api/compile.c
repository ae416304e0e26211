/* compile.c: pz_compile: model file in, network file out. */
#include "api/compile.h"
#include "api/error_propagation.h"
#include "api/need.h"
#include "api/tuning_section.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "pznet/network_abi.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pz_status check_interrupt(const pz_build *b, pz_error *err) {
  if (b->options->interrupt && *b->options->interrupt)
    return pz_fail(err, PZ_INTERRUPTED, "interrupted while compiling");
  return PZ_OK;
}

/* Reading and planning are not told: a model that is refused gives its error alone. */
pz_status pz_build_enter(pz_build *b, pz_outlook_part part, pz_error *err) {
  b->part = part;
  pz_outlook_tell(&b->outlook, part, NULL);
  return check_interrupt(b, err);
}

/* The host hears of the compiler's time as it passes, and can look for Ctrl-C then. Linking anew after the self-test is of
 * that stage. */
static void tick(void *host) {
  pz_build *b = host;
  pz_outlook_tell(&b->outlook, b->part, NULL);
}

void pz_build_timed(pz_build *b, const char *what) {
  const double t = pz_now();
  pz_json_set(&b->json, b->seconds, what, json_real(t - b->last));
  b->last = t;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void tell_measuring(void *host, const char *what) {
  pz_build *b = host;
  pz_outlook_tell(&b->outlook, PZ_PART_MEASURING, what);
}

#define LEAST_OUTPUT (1 << 16) /* bytes of a small network file */

static pz_status look_ahead(pz_build *b, pz_error *err) {
  double costs;
  if (!b->options->progress) return PZ_OK;
  PZ_TRY(pz_emit_costs(b->plan, &b->emit, &costs, err));
  pz_outlook_plan(&b->outlook, b->plan, costs);
  return PZ_OK;
}

/* With what was measured there may be a better plan. */
static pz_status measure(pz_build *b, pz_error *err) {
  b->tuner.tell = tell_measuring;
  b->tuner.tell_host = b;
  PZ_TRY(pz_tuner_measure(&b->tuner, b->plan, INFINITY, err));
  pz_build_timed(b, "measure");
  if (!b->tuner.candidates) return PZ_OK;
  pz_plan_free(b->plan);
  b->plan = NULL;
  PZ_TRY(pz_plan_new(b->model.after, &b->wanted, &b->plan, err));
  pz_build_timed(b, "plan_again");
  return look_ahead(b, err);
}

/* How much of each layer's error the result has is measured with the network that is made first; until then, and without time for that, what
 * is expected counts (choose/expect.h). */
static bool measures_errors(const pz_build *b) {
  return !b->wanted.exact && b->tuner.effort != PZ_EFFORT_ESTIMATE && pz_target_runs_here(&b->wanted.target);
}
static bool is_bounded(const pz_build *b) { return isfinite(b->tuner.budget); }
/* By node, all `value`. */
static pz_status new_error_propagation(const pz_build *b, double value, double **error_propagation,
                                       pz_error *err) {
  const int32_t n = b->model.after->n_nodes;
  *error_propagation = PZ_NEW(b->arena, double, (size_t)n + 1);
  if (!*error_propagation)
    return pz_fail_memory(err, "errors", (unsigned long long)n * sizeof **error_propagation);
  for (int32_t i = 0; i < n; i++) (*error_propagation)[i] = value;
  return PZ_OK;
}
/* Options that are wrong are told first, then models that are. */
static pz_status load(pz_build *b, pz_error *err) {
  PZ_TRY(pz_plan_wanted(b->options, &b->wanted, err));
  PZ_TRY(pz_model_load(b->path, b->options, &b->model, err));
  pz_build_timed(b, "import_and_optimise");
  return check_interrupt(b, err);
}

pz_status pz_build_plan(pz_build *b, pz_error *err) {
  PZ_TRY(pz_plan_wanted(b->options, &b->wanted, err));
  PZ_TRY(pz_tuner_open(&b->tuner, b->options, &b->wanted, true, err));
  pz_outlook_begin(&b->outlook, &b->tuner, b->options->progress, b->options->progress_host, b->start);
  if (!b->is_variant) PZ_TRY(pz_folder_new(b->arena, &b->objects, err));
  b->wanted.choose = pz_tuner_choose;
  b->wanted.choose_host = &b->tuner;
  b->wanted.admit = pz_admit_plan;
  b->wanted.admit_host = (void *)(uintptr_t)b->path;
  PZ_TRY(pz_plan_new(b->model.after, &b->wanted, &b->plan, err));
  pz_build_timed(b, "plan");
  PZ_TRY(pz_objects_open(&b->kernels, b->arena, b->options, b->tuner.compiler, err));
  b->tuner.objects = &b->kernels;
  b->emit = (pz_emit_options){.cc = b->options->cc,
                              .model = base_name(b->path),
                              .model_digest = b->model.digest,
                              .disabled = b->options->disable,
                              .locality = b->model.locality,
                              .exact = b->model.exact,
                              .interrupt = b->options->interrupt,
                              .tick = b->options->progress ? tick : NULL,
                              .tick_host = b,
                              .objects = b->objects.path,
                              .work = &b->outlook.work};
  pz_objects_use(&b->kernels, &b->emit);
  PZ_TRY(look_ahead(b, err));
  PZ_TRY(measure(b, err));
  b->wanted.admit = NULL; /* plans beside this one are an improvement, asked for where they are made */
  PZ_TRY(pz_check_disk(b->output, pz_plus(pz_plus(b->plan->weight_bytes, b->file_bytes), LEAST_OUTPUT),
                       "the network file", err));
  pz_plan_settle(b->options, b->plan);
  return PZ_OK;
}

static pz_status write_manifest(pz_build *b, const char *self_test, pz_error *err) {
  PZ_TRY(pz_tuning_section_print(b->options, b->plan, &b->emit.tuning, err));
  return pz_emit_manifest(b->plan, &b->emit, self_test, b->folder, &b->manifest, err);
}

/* Runs the new network once and stores what came out in its manifest. */
static pz_status add_self_test(pz_build *b, const char *network, pz_error *err) {
  if (!pz_target_runs_here(&b->plan->target)) return PZ_OK;
  pz_net *net;
  PZ_TRY(pz_open_compiled(network, 0, &net, err));
  char *self_test = NULL;
  pz_status status = pz_self_test_run(net, &self_test, err);
  pz_net_close(net);
  if (status == PZ_OK) status = write_manifest(b, self_test, err);
  if (status == PZ_OK) status = pz_emit_link(b->plan, &b->emit, b->folder, "network.so", err);
  free(self_test);
  return status;
}

static pz_status write_network(pz_build *b, const char *emitting, const char *compiling, pz_error *err) {
  const pz_outlook_part part = b->part;
  PZ_TRY(pz_build_enter(b, PZ_PART_WRITING, err));
  PZ_TRY(pz_emit_source(b->plan, &b->emit, b->folder, err));
  PZ_TRY(write_manifest(b, NULL, err));
  pz_build_timed(b, emitting);
  PZ_TRY(pz_build_enter(b, PZ_PART_KERNELS, err));
  PZ_TRY(pz_emit_compile(b->plan, &b->emit, b->folder, err));
  PZ_TRY(pz_build_enter(b, PZ_PART_LINKING, err));
  PZ_TRY(pz_emit_link(b->plan, &b->emit, b->folder, "network.so", err));
  pz_build_timed(b, compiling);
  b->part = part;
  return PZ_OK;
}

/* ---- the error of the result ---- */

static bool same_choices(const pz_plan *a, const pz_plan *b) {
  for (pz_node_id n = 0; n < a->graph->n_nodes; n++)
    if (a->choices[n].chosen != b->choices[n].chosen) return false;
  return a->target.features == b->target.features;
}

/* The plan by all times that are known now. */
static pz_status plan_anew(const pz_build *b, pz_plan **plan, pz_error *err) {
  PZ_TRY(pz_plan_new(b->model.after, &b->wanted, plan, err));
  pz_plan_settle(b->options, *plan);
  return PZ_OK;
}

/* Goes on with `plan`. */
static void take(pz_build *b, pz_plan *plan) {
  pz_plan_free(b->plan);
  b->plan = plan;
}

static pz_status before_run(void *host, pz_error *err) {
  pz_build *b = host;
  return pz_build_enter(b, b->part, err);
}

/* A plan with noise on its graph's weights, while a network runs beside results that are kept. */
static bool has_room_for_errors(pz_build *b) {
  char why[384];
  const pz_need need = pz_need_of(b->plan);
  const int64_t weights = pz_graph_constant_bytes(b->model.after),
                runs = pz_plus(pz_plus(pz_times(2, b->plan->weight_bytes), need.activations),
                               pz_times(2, need.ports));
  if (pz_need_is_there(pz_plus(weights, runs), "measuring errors", why, sizeof why)) return true;
  pz_tuner_note(&b->tuner, "%s: what becomes of errors of layers was calculated", why);
  return false;
}

/* What is expected stands for layers that are not measured; not where there is nothing to choose. */
static void expect_error_propagation(const pz_plan *plan, double *error_propagation) {
  for (pz_node_id n = 0; plan->expected_propagation && n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n > 1) error_propagation[n] = plan->expected_propagation[n];
}

/* Of measuring errors: seconds, where there is no budget; of one the least that must be left, in seconds and as a part of it; and the part of what is
 * left that goes to the runs, the rest to the network that comes of it. */
#define ERROR_SECONDS 30
#define ERROR_LEAST   2
#define ERROR_PART    0.3
#define ERROR_RUNS    0.4
static bool has_time_for_errors(const pz_build *b) {
  const double left = pz_tuner_left(&b->tuner);
  return !is_bounded(b) || (left >= ERROR_LEAST && left >= ERROR_PART * b->tuner.budget);
}
static double seconds_for_errors(const pz_build *b) {
  return is_bounded(b) ? ERROR_RUNS * pz_tuner_left(&b->tuner) : ERROR_SECONDS;
}

/* As many kernels may be new as choices are. */
static bool has_time_to_compile(const pz_build *b, const pz_plan *plan) {
  int32_t changed = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    changed += plan->choices[n].chosen != b->plan->choices[n].chosen;
  return !changed || pz_tuner_compiling(&b->tuner, changed) < pz_tuner_left(&b->tuner);
}

/* Goes on with `plan` and its network, if that is compiled within the budget. */
static pz_status take_in_time(pz_build *b, pz_plan *plan, pz_error *err) {
  pz_plan *before = b->plan;
  const pz_emit_options emit = b->emit;
  pz_deadline deadline;
  pz_error why = {0};
  pz_deadline_use(&deadline, pz_now() + pz_tuner_left(&b->tuner), &b->emit);
  b->plan = plan;
  const pz_status status = write_network(b, "emit_again", "compile_again", &why);
  b->emit = emit;
  if (status == PZ_OK) return pz_plan_free(before), PZ_OK;
  take(b, before);
  if (!pz_deadline_passed(&deadline)) return pz_fail(err, status, "%s", why.message);
  b->wanted.error_propagation = NULL;
  return write_network(b, "emit_untried", "compile_untried", err);
}

/* The bound on the error is one on the result's, and what becomes of layers' errors there depends on the network. So it is measured with a
 * network of it; where the plan is another one then, that network is made. */
static pz_status weigh_errors_now(pz_build *b, const char *network, pz_error *err) {
  pz_plan *plan;
  double *error_propagation;
  if (!has_room_for_errors(b)) return PZ_OK;
  PZ_TRY(new_error_propagation(b, 1, &error_propagation, err));
  expect_error_propagation(b->plan, error_propagation);
  PZ_TRY(pz_measure_error_propagation(b->plan, &b->wanted, network, before_run, b, seconds_for_errors(b),
                                      error_propagation, err));
  b->wanted.error_propagation = error_propagation;
  PZ_TRY(plan_anew(b, &plan, err));
  pz_build_timed(b, "errors");
  if (!has_time_to_compile(b, plan)) {
    b->wanted.error_propagation = NULL;
    return pz_plan_free(plan), PZ_OK;
  }
  if (!same_choices(b->plan, plan)) return take_in_time(b, plan, err);
  take(b, plan);
  return PZ_OK;
}
static pz_status weigh_errors(pz_build *b, const char *network, pz_error *err) {
  const double start = pz_now();
  if (!measures_errors(b)) return PZ_OK;
  PZ_TRY(pz_build_enter(b, PZ_PART_ERRORS, err));
  if (!has_time_for_errors(b)) return PZ_OK;
  const pz_status status = weigh_errors_now(b, network, err);
  pz_tuner_spend(&b->tuner, start);
  return status;
}

/* ---- candidates in the network ---- */

static void end_autotune(pz_build *b, pz_autotune_keep keep) {
  pz_autotune_end(b->autotune, keep);
  b->autotune = NULL;
}

/* in-network autotuning has made another plan: its network, if it is not slower, else the one before. */
static pz_status compare_plans(pz_build *b, pz_plan *plan, const char *network, pz_error *err) {
  pz_plan *before = b->plan;
  bool better = false;
  b->plan = plan;
  pz_status status = write_network(b, "emit_tried", "compile_tried", err);
  if (status == PZ_OK) status = pz_autotune_compare(b->autotune, network, &better, err);
  pz_build_timed(b, "compare");
  end_autotune(b, status != PZ_OK ? PZ_AUTOTUNE_NOTHING : better ? PZ_AUTOTUNE_ALL : PZ_AUTOTUNE_BEFORE);
  if (better) return pz_plan_free(before), PZ_OK;
  take(b, before);
  PZ_TRY(status);
  PZ_TRY(plan_anew(b, &plan, err)); /* the same, with the times that are kept */
  if (same_choices(before, plan)) take(b, plan);
  else pz_plan_free(plan);
  return write_network(b, "emit_untried", "compile_untried", err);
}

/* A plan beside this one, and a run of its network. */
static bool has_room_to_try(pz_build *b) {
  char why[384];
  const pz_need need = pz_need_of(b->plan);
  const bool there = pz_need_is_there(need.total, "trying candidates in the network", why, sizeof why);
  if (!there) pz_tuner_note(&b->tuner, "%s: it was left out", why);
  return there;
}

/* Not where memory is bound: what layers may take was decided by that. */
static pz_status try_candidates_now(pz_build *b, const char *network, pz_error *err) {
  pz_plan *plan;
  if (!has_room_to_try(b)) return PZ_OK;
  PZ_TRY(
      pz_autotune_run(&b->tuner, b->plan, &b->wanted, &b->emit, network, before_run, b, &b->autotune, err));
  pz_build_timed(b, "try");
  if (!b->autotune) return PZ_OK;
  PZ_TRY(plan_anew(b, &plan, err));
  if (!same_choices(b->plan, plan)) return compare_plans(b, plan, network, err);
  end_autotune(b, PZ_AUTOTUNE_ALL);
  take(b, plan);
  return PZ_OK;
}
static bool may_try(const pz_build *b) {
  return b->tuner.effort != PZ_EFFORT_ESTIMATE && pz_target_runs_here(&b->plan->target) &&
         !(b->wanted.memory > 0);
}
static pz_status try_candidates(pz_build *b, const char *network, pz_error *err) {
  const double start = pz_now();
  if (!may_try(b)) return PZ_OK;
  PZ_TRY(pz_build_enter(b, PZ_PART_TRYING, err));
  if (pz_tuner_left(&b->tuner) <= 0) return PZ_OK;
  const pz_status status = try_candidates_now(b, network, err);
  pz_tuner_spend(&b->tuner, start);
  return status;
}

static bool is_worth_a_network(const pz_build *b) { return measures_errors(b) || may_try(b); }

pz_status pz_build_improve(pz_build *b, pz_error *err) {
  const char *network = pz_arena_printf(b->arena, "%s/network.so", b->folder);
  if (!network) return pz_fail_memory(err, "a path", 64);
  if (!is_worth_a_network(b)) return PZ_OK;
  PZ_TRY(write_network(b, "emit", "compile", err));
  PZ_TRY(weigh_errors(b, network, err));
  return try_candidates(b, network, err);
}

static pz_status make_network(pz_build *b, pz_error *err) {
  const char *network = pz_arena_printf(b->arena, "%s/network.so", b->folder);
  if (!network) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(write_network(b, "emit", "compile", err));
  PZ_TRY(weigh_errors(b, network, err));
  PZ_TRY(try_candidates(b, network, err));
  PZ_TRY(pz_build_enter(b, PZ_PART_SELF_TEST, err));
  PZ_TRY(add_self_test(b, network, err));
  PZ_TRY(check_interrupt(b, err));
  PZ_TRY(pz_add_file_checksum(network, b->checksum, b->file_digest, err));
  PZ_TRY(pz_copy_file(network, b->output, err));
  pz_build_timed(b, "self_test");
  pz_outlook_tell(&b->outlook, PZ_PART_DONE, NULL);
  return PZ_OK;
}

/* ---- the folder that the source is made in ---- */

/* Of a folder that the caller keeps, what the compiler left there; the caller's own files are not touched. */
static bool is_left_over(const char *name) {
  static const char *const ours[] = {"network.so",    "objects.txt",   "link.log",
                                     "network.o",     "weights.o",     "manifest.o",
                                     "network.c.log", "weights.c.log", "manifest.c.log"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (!strcmp(name, ours[i])) return true;
  return false;
}

void pz_build_remove_objects(const char *folder) {
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    char child[4096];
    if (is_left_over(e->d_name) &&
        snprintf(child, sizeof child, "%s/%s", folder, e->d_name) < (int)sizeof child)
      unlink(child);
  }
  if (dir) closedir(dir);
}

pz_status pz_build_choose_folder(pz_build *b, pz_error *err) {
  if (b->options->emit_c) {
    b->folder = b->options->emit_c;
    return PZ_OK;
  }
  PZ_TRY(pz_folder_new(b->arena, &b->temporary, err));
  b->folder = b->temporary.path;
  return PZ_OK;
}

/* Made later, when the model is known to be good. */
static pz_status check_emit_folder(const char *path, pz_error *err) {
  struct stat st;
  char parent[4096] = ".";
  const char *slash = strrchr(path, '/');
  if (stat(path, &st) == 0) {
    if (!S_ISDIR(st.st_mode))
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: is a file, expected a folder for the source", path);
    return access(path, W_OK | X_OK) ? pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %m", path)
                                     : PZ_OK;
  }
  if (slash && slash[1])
    snprintf(parent, sizeof parent, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  if (!(slash && !slash[1]) && access(parent, W_OK | X_OK))
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot make this folder: %m", path);
  return PZ_OK;
}

static pz_status run_build(pz_build *b, char **summary, pz_error *err) {
  pz_target_list targets;
  PZ_TRY(pz_target_list_wanted(b->arena, b->options, &targets, err));
  PZ_TRY(pz_file_check_writable(b->output, err));
  if (b->options->emit_c) PZ_TRY(check_emit_folder(b->options->emit_c, err));
  if (targets.n > 1) return pz_build_variants(b, &targets, summary, err);
  PZ_TRY(load(b, err));
  PZ_TRY(pz_build_plan(b, err));
  PZ_TRY(pz_build_choose_folder(b, err));
  PZ_TRY(make_network(b, err));
  PZ_TRY(pz_json_end(&b->tuner.json, "times of candidates", err));
  if (!summary) return PZ_OK;
  pz_json *j = &b->json;
  json_t *all = pz_json_read(j, b->manifest, strlen(b->manifest), 0, NULL);
  pz_json_set(j, all, PZ_ABI_CHECKSUM, json_string(b->checksum));
  pz_json_set(j, all, "file_sha256", json_string(b->file_digest));
  pz_json_set(j, all, "passes", json_incref(b->model.passes));
  pz_json_set(j, all, "seconds", json_incref(b->seconds));
  if (b->model.notes.size) pz_json_set(j, all, "notes", pz_json_name(b->model.notes.data));
  pz_json_set(j, all, "tuning", pz_tuner_json(j, &b->tuner));
  pz_json_set(j, all, "kernels", pz_objects_json(j, &b->kernels));
  return pz_json_out(j, all, summary, err);
}

void pz_build_end(pz_build *b) {
  if (b->folder && b->options->emit_c) pz_build_remove_objects(b->folder);
  pz_folder_remove(&b->temporary);
  if (!b->is_variant) pz_folder_remove(&b->objects);
  pz_autotune_end(b->autotune, PZ_AUTOTUNE_NOTHING);
  pz_plan_free(b->plan);
  pz_tuner_close(&b->tuner);
  pz_objects_close(&b->kernels);
  if (!b->is_variant) pz_model_free(&b->model);
  json_decref(b->seconds);
  pz_arena_free(b->arena);
}

pz_status pz_compile(const char *model, const char *output, const pz_compile_options *options,
                     char **summary) {
  static const pz_compile_options defaults = PZ_COMPILE_OPTIONS;
  pz_error err = {0};
  pz_build b = {.path = model, .output = output, .options = options ? options : &defaults, .start = pz_now()};
  b.last = b.start;
  b.arena = pz_arena_new();
  b.seconds = json_object();
  if (summary) *summary = NULL;
  pz_status status = !model || !output
                         ? pz_fail(&err, PZ_ERROR_USAGE, "pz_compile: the model and the output must be named")
                     : b.arena && b.seconds ? run_build(&b, summary, &err)
                                            : pz_fail_memory(&err, "compiling", 64);
  status = pz_interrupted_end(b.options->interrupt, "compiling", status, &err);
  pz_build_end(&b);
  return pz_public_end(status, &err);
}
