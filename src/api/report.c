/* report.c: pz_inspect_page: a model's or a network file's page: what it shows is found here. */
#include "api/report.h"
#include "api/tuner.h"
#include "base/file.h"
#include "emit/emit.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 3 };

typedef struct report {
  pz_page page;
  const pz_compile_options *options;
  int32_t runs;
  pz_model model;
  pz_plan *plan;
  pz_tuner tuner;
  pz_folder folder; /* of a network that is compiled to be timed */
  json_t *manifest, *bench;
} report;

static pz_status keep_manifest(report *r, const char *text, pz_error *err) {
  pz_json j = {0};
  r->page.manifest = r->manifest = pz_json_read(&j, text, strlen(text), 0, NULL);
  PZ_TRY(pz_json_end(&j, "the manifest", err));
  return r->manifest ? PZ_OK : pz_fail(err, PZ_ERROR_INPUT, "%s: its manifest is damaged", r->page.path);
}

static pz_status time_network(report *r, const char *network, pz_error *err) {
  const pz_net_options options = {.threads = r->options->threads, .target = r->options->target};
  char *text = NULL;
  pz_net *net;
  PZ_TRY(pz_runtime_open(network, &options, &net, err));
  const pz_status status = pz_bench_net(net, r->runs, WARM_UP, &text);
  pz_runtime_close(net);
  if (status != PZ_OK) return pz_fail(err, status, "%s", pz_last_message());
  r->page.bench = r->bench = pz_json_read(&r->page.json, text, strlen(text), 0, NULL);
  pz_free(text);
  return r->bench ? PZ_OK : pz_fail_memory(err, "the times", 64);
}

static pz_status read_network(report *r, const char *network, pz_error *err) {
  char *digest;
  PZ_TRY(pz_shown_manifest(r->page.arena, network, r->options, &r->manifest, &digest, err));
  r->page.manifest = r->manifest;
  return r->runs ? time_network(r, network, err) : PZ_OK;
}

static pz_status measure_model(report *r, pz_error *err) {
  pz_plan_options wanted; /* of one target */
  PZ_TRY(pz_plan_wanted(r->options, &wanted, err));
  PZ_TRY(pz_folder_new(r->page.arena, &r->folder, err));
  const char *network = pz_arena_printf(r->page.arena, "%s/inspected.so", r->folder.path);
  if (!network) return pz_fail_memory(err, "a path", 64);
  const pz_status status = pz_compile(r->page.path, network, r->options, NULL);
  if (status != PZ_OK) return pz_fail(err, status, "%s", pz_last_message());
  return read_network(r, network, err);
}

static pz_status plan_model(report *r, pz_error *err) {
  pz_plan_options wanted;
  const char *text;
  PZ_TRY(pz_plan_wanted(r->options, &wanted, err));
  PZ_TRY(pz_tuner_open(&r->tuner, r->options, &wanted, false, err));
  wanted.choose = pz_tuner_choose;
  wanted.choose_host = &r->tuner;
  wanted.sized = true;
  PZ_TRY(pz_plan_new(r->model.after, &wanted, &r->plan, err));
  pz_plan_settle(r->options, r->plan);
  const pz_emit_options emit = {.cc = r->options->cc,
                                .model = r->page.path,
                                .model_digest = r->model.digest,
                                .disabled = r->options->disable};
  PZ_TRY(pz_emit_manifest_text(r->plan, &emit, NULL, &text, err));
  PZ_TRY(pz_json_end(&r->tuner.json, "times of candidates", err));
  r->page.note = r->tuner.note;
  return keep_manifest(r, text, err);
}

static pz_status make_page(report *r, pz_error *err) {
  bool network;
  PZ_TRY(pz_is_network(r->page.path, &network, err));
  if (network) PZ_TRY(read_network(r, r->page.path, err));
  else {
    PZ_TRY(pz_model_load(r->page.path, r->options, &r->model, err));
    r->page.before = r->model.before;
    r->page.after = r->model.after;
    r->page.passes = r->model.passes;
    PZ_TRY(r->runs ? measure_model(r, err) : plan_model(r, err));
  }
  return pz_page_write(&r->page, err);
}

static void release(report *r) {
  pz_folder_remove(&r->folder);
  pz_plan_free(r->plan);
  pz_tuner_close(&r->tuner);
  if (r->model.arena) pz_model_free(&r->model);
  json_decref(r->manifest);
  json_decref(r->bench);
  json_decref(r->page.links);
  json_decref(r->page.rows);
  json_decref(r->page.times);
  pz_text_free(&r->page.out);
  pz_arena_free(r->page.arena);
}

pz_status pz_inspect_page(const char *model_or_network, const pz_compile_options *options, int32_t runs,
                          const char *output) {
  static const pz_compile_options defaults = PZ_COMPILE_OPTIONS;
  pz_error err = {0};
  if (!model_or_network || !output || runs < 0)
    return pz_public_end(pz_fail(&err, PZ_ERROR_USAGE,
                                 "pz_inspect_page: name a model or a network, and the page; runs: 0 or more"),
                         &err);
  report r = {.options = options ? options : &defaults, .runs = runs};
  r.page.path = model_or_network;
  r.page.arena = pz_arena_new();
  r.page.links = json_object();
  pz_status status = r.page.arena && r.page.links ? pz_file_check_writable(output, &err)
                                                  : pz_fail_memory(&err, "the page", 64);
  if (status == PZ_OK) status = make_page(&r, &err);
  if (status == PZ_OK) status = pz_file_write(output, r.page.out.data, r.page.out.size, &err);
  release(&r);
  status = pz_interrupted_end(r.options->interrupt, "inspecting", status, &err);
  return pz_public_end(status, &err);
}
