/* compile_variants.c: a network file with several variants: the network, planned and compiled for one target after the other, over weights of which what
 * is packed alike is there once (emit/shared_weights.h), and one manifest that tells of all (runtime/variant.h).
 *
 * A variant is planned, measured and compiled as its own file would be, so that it is the same code and gives the same bits. Of its plan
 * the C and the manifest are kept; its weights are gone when the next one is planned. */
#include "api/compile.h"
#include "api/target_list.h"
#include "api/tuning_section.h"
#include "base/clock.h"
#include "pznet/network_abi.h"
#include "runtime/runtime.h"
#include "runtime/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct variant {
  pz_build build;
  pz_compile_options options; /* the caller's, for this target alone */
  json_t *manifest;           /* as its own file's */
  const char *tuning;         /* the text of its section; NULL: too long */
  pz_weights_map map;
} variant;

typedef struct several {
  pz_build *all; /* the caller's: paths, model, what is told at the end */
  const pz_target_list *targets;
  variant variants[PZ_ABI_MAX_VARIANTS];
  int32_t now; /* the variant that is made */
  pz_shared_weights *weights;
  pz_text objects;
  pz_forecast forecast; /* a part for each variant, and one for what is made of them */
  pz_json json;
  const char *network, *tuning; /* the file, and the text of its section of that name */
} several;

/* ---- what is told ---- */

enum { STEPS = PZ_PART_DONE };

static void tell(several *s, const char *what, int64_t done) {
  pz_forecast_tell(&s->forecast, what, s->now * STEPS + done, (s->targets->n + 1) * STEPS, pz_now());
}

static void tell_of_variant(void *host, const char *what, int64_t done, int64_t total, double seconds) {
  several *s = host;
  char text[160];
  const double left = pz_progress_left();
  (void)total, (void)seconds;
  snprintf(text, sizeof text, "%s: %s", s->targets->names[s->now], what);
  if (left >= 0) pz_forecast_say(&s->forecast, left, pz_now());
  tell(s, text, done);
}

/* Those that are to come take as long as those that were made have taken. */
static void begin_part(several *s, int32_t part) {
  const double now = pz_now(), each = part ? (now - s->forecast.begun) / part : -1;
  s->now = part;
  pz_forecast_enter(&s->forecast, part, now);
  for (int32_t i = part; part && i < s->targets->n; i++) pz_forecast_expect(&s->forecast, i, each);
  if (part) pz_forecast_expect(&s->forecast, s->targets->n, each / 4);
}

/* ---- a variant ---- */

static void begin_build(several *s, int32_t i) {
  variant *v = &s->variants[i];
  const pz_build *all = s->all;
  v->options = *all->options;
  v->options.target = s->targets->names[i];
  v->options.isa = NULL;
  v->options.emit_c = NULL;
  if (v->options.progress) v->options.progress = tell_of_variant, v->options.progress_host = s;
  v->build = (pz_build){.path = all->path,
                        .output = all->output,
                        .options = &v->options,
                        .objects = all->objects,
                        .model = all->model,
                        .arena = pz_arena_new(),
                        .start = pz_now(),
                        .last = pz_now(),
                        .seconds = json_object(),
                        .is_variant = true,
                        .file_bytes = pz_shared_weights_bytes(s->weights)};
}

static pz_status make_folder(several *s, variant *v, pz_error *err) {
  v->build.folder = pz_arena_printf(v->build.arena, "%s/%s", s->all->folder, v->options.target);
  if (!v->build.folder) return pz_fail_memory(err, "a path", 64);
  if (mkdir(v->build.folder, 0777) && errno != EEXIST)
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot make this folder: %s", v->build.folder, strerror(errno));
  return PZ_OK;
}

/* Of the file that it was by itself, while it was measured. */
static void remove_own_file(const variant *v) {
  static const char *const names[] = {"weights.bin",   "weights.c",   "manifest.c",
                                      "manifest.json", "tuning.json", "network.so"};
  char path[4096];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (snprintf(path, sizeof path, "%s/%s", v->build.folder, names[i]) < (int)sizeof path) unlink(path);
  pz_build_remove_objects(v->build.folder);
}

static pz_status keep_texts(several *s, variant *v, pz_error *err) {
  const char *text;
  PZ_TRY(pz_emit_manifest_text(v->build.plan, &v->build.emit, NULL, &text, err));
  v->manifest = pz_json_read(&s->json, text, strlen(text), 0, NULL);
  PZ_TRY(pz_tuning_section_print(&v->options, v->build.plan, &v->tuning, err));
  return pz_json_end(&s->json, "the manifest", err);
}

static pz_status emit(several *s, variant *v, pz_error *err) {
  pz_build *b = &v->build;
  const char *network = pz_arena_printf(b->arena, "%s/network.o", v->options.target);
  if (!network) return pz_fail_memory(err, "a path", 64);
  remove_own_file(v);
  PZ_TRY(pz_build_enter(b, PZ_PART_WRITING, err));
  PZ_TRY(pz_shared_weights_add(s->weights, b->plan, &v->map, err));
  b->emit.weights = &v->map;
  b->emit.variant = s->now;
  PZ_TRY(pz_emit_source(b->plan, &b->emit, b->folder, err));
  pz_build_timed(b, "emit_variant");
  PZ_TRY(pz_build_enter(b, PZ_PART_KERNELS, err));
  PZ_TRY(pz_emit_compile(b->plan, &b->emit, b->folder, err));
  PZ_TRY(pz_emit_add_objects(b->plan, &b->emit, network, &s->objects, err));
  PZ_TRY(keep_texts(s, v, err));
  pz_build_timed(b, "compile_variant");
  return PZ_OK;
}

static pz_status make_variant(several *s, int32_t i, pz_error *err) {
  variant *v = &s->variants[i];
  begin_part(s, i);
  begin_build(s, i);
  if (!v->build.arena || !v->build.seconds) return pz_fail_memory(err, "compiling", 64);
  PZ_TRY(make_folder(s, v, err));
  PZ_TRY(pz_build_plan(&v->build, err));
  PZ_TRY(pz_build_improve(&v->build, err));
  PZ_TRY(emit(s, v, err));
  pz_plan_drop_weights(v->build.plan);
  return PZ_OK;
}

/* ---- the manifest of all ---- */

static const char *const brief[] = {"isa",          "target",        "core",
                                    "vector_block", "weights_bytes", "arena_bytes",
                                    "worker_bytes", "state_bytes",   "max_error"};

/* Processors that are the core. */
static json_t *cpus_json(pz_json *j, const char *core) {
  json_t *all = json_array();
  const pz_cpu_range *r;
  for (int32_t i = 0; (r = pz_target_cpus(core, i)); i++)
    pz_json_append(j, all,
                   pz_json_pack(j, "{s:s, s:i, s:[i, i], s:[i, i]}", "vendor", r->vendor, "family",
                                (int)r->family, "model", (int)r->first, (int)r->last, "stepping",
                                (int)r->first_stepping, (int)r->last_stepping));
  return all;
}

static json_t *ranges_json(pz_json *j, const pz_weights_map *map) {
  json_t *all = json_array();
  for (int32_t i = 0; i < map->n_read; i++)
    pz_json_append(j, all,
                   pz_json_pack(j, "[I, I]", (json_int_t)map->read[i].begin, (json_int_t)map->read[i].end));
  return all;
}

/* What a variant says otherwise than the first. */
static json_t *difference(pz_json *j, const json_t *first, const json_t *other) {
  json_t *all = json_object(), *value;
  const char *key;
  json_object_foreach((json_t *)(uintptr_t)other, key, value) {
    if (!json_equal(json_object_get(first, key), value)) pz_json_set(j, all, key, json_incref(value));
  }
  return all;
}

static json_t *row_json(several *s, int32_t i) {
  pz_json *j = &s->json;
  const variant *v = &s->variants[i];
  json_t *row = json_object();
  char symbol[32] = PZ_ABI_SYMBOL;
  if (i) snprintf(symbol, sizeof symbol, PZ_ABI_SYMBOL "_%d", i);
  pz_json_set(j, row, "symbol", json_string(symbol));
  for (size_t k = 0; k < sizeof brief / sizeof *brief; k++)
    pz_json_set(j, row, brief[k], json_incref(json_object_get(v->manifest, brief[k])));
  pz_json_set(j, row, "weights_shared_bytes", json_integer(v->map.shared));
  pz_json_set(j, row, "weights", ranges_json(j, &v->map));
  pz_json_set(j, row, "cpus", cpus_json(j, v->build.plan->target.core));
  if (i) pz_json_set(j, row, "manifest", difference(j, s->variants->manifest, v->manifest));
  return row;
}

static pz_status write_manifest(several *s, pz_error *err) {
  pz_json *j = &s->json;
  pz_arena *arena = s->all->arena;
  json_t *all = json_object(), *rows = json_array();
  pz_json_update(j, all, s->variants->manifest);
  for (int32_t i = 0; i < s->targets->n; i++) pz_json_append(j, rows, row_json(s, i));
  pz_json_set(j, all, "variants", rows);
  char *text = pz_json_print(j, all, JSON_INDENT(1));
  json_decref(all);
  s->all->manifest = text ? pz_arena_strdup(arena, text) : NULL;
  free(text);
  if (!s->all->manifest) return pz_fail_memory(err, "the manifest", 4096);
  return pz_emit_sections(arena, s->all->folder, s->all->manifest, s->tuning, err);
}

/* ---- the file ---- */

/* `weights`: they are compiled too. */
static pz_status link_all(several *s, bool weights, pz_error *err) {
  const pz_build *first = &s->variants->build;
  PZ_TRY(write_manifest(s, err));
  return pz_emit_link_objects(first->plan, &first->emit, s->all->folder, &s->objects, weights, "network.so",
                              err);
}

static pz_status self_test(several *s, const variant *v, pz_error *err) {
  pz_net *net;
  char *text = NULL;
  PZ_TRY(pz_open_compiled_variant(s->network, v->options.target, &net, err));
  const pz_status status = pz_self_test_run(net, &text, err);
  pz_net_close(net);
  if (status == PZ_OK)
    pz_json_set(&s->json, v->manifest, "self_test", pz_json_read(&s->json, text, strlen(text), 0, NULL));
  free(text);
  return status == PZ_OK ? pz_json_end(&s->json, "the self-test", err) : status;
}

/* Each that this machine can run. */
static pz_status add_self_tests(several *s, pz_error *err) {
  bool any = false;
  for (int32_t i = 0; i < s->targets->n; i++) {
    if (!pz_target_runs_here(&s->variants[i].build.plan->target)) continue;
    PZ_TRY(self_test(s, &s->variants[i], err));
    any = true;
  }
  return any ? link_all(s, false, err) : PZ_OK;
}

static pz_status check_interrupt(const several *s, pz_error *err) {
  const volatile int *interrupt = s->all->options->interrupt;
  return interrupt && *interrupt ? pz_fail(err, PZ_INTERRUPTED, "interrupted while compiling") : PZ_OK;
}

static pz_status make_file(several *s, pz_error *err) {
  pz_build *all = s->all;
  const char *texts[PZ_ABI_MAX_VARIANTS];
  all->last = pz_now();
  begin_part(s, s->targets->n);
  tell(s, pz_outlook_name(PZ_PART_LINKING), 0);
  for (int32_t i = 0; i < s->targets->n; i++) texts[i] = s->variants[i].tuning;
  PZ_TRY(pz_tuning_section_join(all->arena, texts, s->targets->n, &s->tuning, err));
  PZ_TRY(pz_emit_weights_source(all->arena, all->folder, err));
  PZ_TRY(link_all(s, true, err));
  PZ_TRY(check_interrupt(s, err));
  pz_build_timed(all, "link");
  tell(s, pz_outlook_name(PZ_PART_SELF_TEST), 1);
  PZ_TRY(add_self_tests(s, err));
  PZ_TRY(check_interrupt(s, err));
  PZ_TRY(pz_add_file_checksum(s->network, all->checksum, all->file_digest, err));
  PZ_TRY(pz_copy_file(s->network, all->output, err));
  pz_build_timed(all, "self_test");
  tell(s, pz_outlook_name(PZ_PART_DONE), STEPS);
  return PZ_OK;
}

static pz_status make_all(several *s, pz_error *err) {
  pz_build *all = s->all;
  PZ_TRY(pz_model_load(all->path, all->options, &all->model, err));
  pz_build_timed(all, "import_and_optimise");
  PZ_TRY(check_interrupt(s, err));
  PZ_TRY(pz_build_choose_folder(all, err));
  if (mkdir(all->folder, 0777) && errno != EEXIST)
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot make this folder: %s", all->folder, strerror(errno));
  PZ_TRY(pz_folder_new(all->arena, &all->objects, err));
  const char *weights = pz_arena_printf(all->arena, "%s/weights.bin", all->folder);
  s->network = pz_arena_printf(all->arena, "%s/network.so", all->folder);
  if (!weights || !s->network) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_shared_weights_new(weights, &s->weights, err));
  for (int32_t i = 0; i < s->targets->n; i++) PZ_TRY(make_variant(s, i, err));
  return make_file(s, err);
}

/* ---- the summary ---- */

/* Seconds of all, by what they went to. */
static void add_seconds(several *s) {
  json_t *all = s->all->seconds, *value;
  const char *key;
  for (int32_t i = 0; i < s->targets->n; i++) {
    json_object_foreach(s->variants[i].build.seconds, key, value) {
      const double before = json_number_value(json_object_get(all, key));
      pz_json_set(&s->json, all, key, json_real(before + json_number_value(value)));
    }
  }
}

/* Beside each row of the manifest what was measured for it, and at the top that of the variant which this machine runs. */
static void add_tuning(several *s, json_t *summary, int32_t picked) {
  pz_json *j = &s->json;
  for (int32_t i = 0; i < s->targets->n; i++) {
    json_t *tuning = pz_tuner_json(j, &s->variants[i].build.tuner);
    if (i == picked) pz_json_set(j, summary, "tuning", json_incref(tuning));
    pz_json_set(j, json_array_get(json_object_get(summary, "variants"), (size_t)i), "tuning", tuning);
  }
}

static void add_kernels(several *s, json_t *summary) {
  pz_objects sum = s->variants->build.kernels;
  for (int32_t i = 1; i < s->targets->n; i++) {
    sum.counts.compiled += s->variants[i].build.kernels.counts.compiled;
    sum.counts.cached += s->variants[i].build.kernels.counts.cached;
  }
  pz_json_set(&s->json, summary, "kernels", pz_objects_json(&s->json, &sum));
}

static pz_status summarise(several *s, char **summary, pz_error *err) {
  pz_json *j = &s->json;
  pz_build *all = s->all;
  const pz_mask any = {NULL, NULL};
  pz_variant picked;
  json_t *file = pz_json_read(j, all->manifest, strlen(all->manifest), 0, NULL);
  PZ_TRY(pz_json_end(j, "the summary", err));
  const pz_status status = pz_variant_find(all->arena, file, all->output, &any, true, &picked, err);
  if (status != PZ_OK) return json_decref(file), status;
  json_t *o = pz_variant_manifest(j, file, picked.index);
  json_decref(file);
  pz_json_set(j, o, PZ_ABI_CHECKSUM, json_string(all->checksum));
  pz_json_set(j, o, "file_sha256", json_string(all->file_digest));
  pz_json_set(j, o, "passes", json_incref(all->model.passes));
  add_seconds(s);
  pz_json_set(j, o, "seconds", json_incref(all->seconds));
  if (all->model.notes.size) pz_json_set(j, o, "notes", pz_json_name(all->model.notes.data));
  add_tuning(s, o, picked.index);
  add_kernels(s, o);
  return pz_json_out(j, o, summary, err);
}

static pz_status check_json(several *s, pz_error *err) {
  for (int32_t i = 0; i < s->targets->n; i++)
    PZ_TRY(pz_json_end(&s->variants[i].build.tuner.json, "times of candidates", err));
  return PZ_OK;
}

/* Before anything is read or made. */
static pz_status check_options(several *s, pz_error *err) {
  pz_plan_options wanted;
  for (int32_t i = 0; i < s->targets->n; i++) {
    pz_compile_options one = *s->all->options;
    one.target = s->targets->names[i], one.isa = NULL;
    PZ_TRY(pz_plan_wanted(&one, &wanted, err));
  }
  return PZ_OK;
}

static void release(several *s) {
  for (int32_t i = 0; i < s->targets->n; i++) {
    if (s->all->options->emit_c && s->variants[i].build.folder)
      pz_build_remove_objects(s->variants[i].build.folder);
    json_decref(s->variants[i].manifest);
    if (s->variants[i].build.is_variant) pz_build_end(&s->variants[i].build);
  }
  pz_shared_weights_free(s->weights);
  pz_text_free(&s->objects);
}

pz_status pz_build_variants(pz_build *all, const pz_target_list *targets, char **summary, pz_error *err) {
  several *s = PZ_NEW(all->arena, several, 1);
  if (!s) return pz_fail_memory(err, "compiling", sizeof *s);
  s->all = all, s->targets = targets;
  pz_forecast_begin(&s->forecast, all->options->progress, all->options->progress_host, all->start);
  for (int32_t i = 0; i <= targets->n; i++) pz_forecast_add(&s->forecast, -1);
  pz_status status = check_options(s, err);
  if (status == PZ_OK) status = make_all(s, err);
  if (status == PZ_OK) status = check_json(s, err);
  if (status == PZ_OK && summary) status = summarise(s, summary, err);
  release(s);
  return status;
}
