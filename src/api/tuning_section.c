#include "api/tuning_section.h"
#include "runtime/file_checksum.h"
#include "runtime/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, MOST_BYTES = 8 << 20 };

/* ---- writing ---- */

static const char *or_default(const char *text, const char *instead) { return text ? text : instead; }

static json_t *options_json(pz_json *j, const pz_compile_options *o) {
  return pz_json_pack(j, "{s:s, s:s, s:s, s:f, s:i, s:I, s:s, s:i, s:s}", "target", or_default(o->target, ""),
                      "isa", or_default(o->isa, ""), "precision", or_default(o->precision, ""), "max_error",
                      o->max_error, "vector_block", (int)o->vector_block, "memory", (json_int_t)o->memory,
                      "fuse_rows", or_default(o->fuse_rows, ""), "threads", (int)o->threads, "search",
                      or_default(o->search, ""));
}

static json_t *layers_json(pz_json *j, const pz_plan *plan) {
  const double *known = plan->error_propagation ? plan->error_propagation : plan->expected_propagation;
  json_t *all = json_array();
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    const double propagation = known && isfinite(known[n]) ? known[n] : 1;
    if (plan->choices[n].n > 1)
      pz_json_append(j, all,
                     pz_json_pack(j, "[i, f, s]", (int)n, propagation, pz_plan_candidate(plan, n)->label));
  }
  return all;
}

/* A line an entry. */
static json_t *lines_json(pz_json *j, char *text) {
  json_t *all = json_array();
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    pz_json_append(j, all, json_string(line));
  return all;
}

pz_status pz_tuning_section_print(const pz_compile_options *options, const pz_plan *plan, const char **text,
                                  pz_error *err) {
  pz_json j = {0};
  pz_text graph = {0};
  *text = NULL;
  PZ_TRY(pz_graph_print_bare(plan->graph, &graph) == PZ_OK ? PZ_OK : pz_fail_memory(err, "a graph", 4096));
  json_t *o = json_object();
  pz_json_set(&j, o, "version", json_integer(VERSION));
  pz_json_set(&j, o, "options", options_json(&j, options));
  pz_json_set(&j, o, "layers", layers_json(&j, plan));
  pz_json_set(&j, o, "graph", lines_json(&j, graph.data));
  char *all = pz_json_print(&j, o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
  const bool fits = all && strlen(all) < MOST_BYTES;
  if (fits) *text = pz_arena_strdup(plan->arena, all);
  const bool failed = !all || (fits && !*text);
  free(all);
  json_decref(o);
  pz_text_free(&graph);
  return failed ? pz_fail_memory(err, "a graph", 4096) : PZ_OK;
}

/* The graph is the same for all. */
static json_t *join(pz_json *j, const char *const *variants, int32_t n) {
  json_t *all = NULL, *rows = json_array();
  for (int32_t i = 0; i < n; i++) {
    json_t *one = pz_json_read(j, variants[i], strlen(variants[i]), 0, NULL), *row = json_object();
    pz_json_set(j, row, "options", json_incref(json_object_get(one, "options")));
    pz_json_set(j, row, "layers", json_incref(json_object_get(one, "layers")));
    pz_json_append(j, rows, row);
    if (i) json_decref(one);
    else all = one;
  }
  pz_json_set(j, all, "variants", rows);
  return all;
}

pz_status pz_tuning_section_join(pz_arena *arena, const char *const *variants, int32_t n, const char **text,
                                 pz_error *err) {
  pz_json j = {0};
  *text = NULL;
  for (int32_t i = 0; i < n; i++)
    if (!variants[i]) return PZ_OK;
  json_t *joined = join(&j, variants, n);
  char *all = pz_json_print(&j, joined, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
  const bool fits = all && strlen(all) < MOST_BYTES;
  if (fits) *text = pz_arena_strdup(arena, all);
  const bool failed = !all || (fits && !*text);
  free(all);
  json_decref(joined);
  return failed ? pz_fail_memory(err, "a graph", 4096) : PZ_OK;
}

/* ---- reading ---- */

typedef struct reader {
  const char *path;
  const json_t *all;
  const json_t *of; /* what has the variant's options and layers */
  pz_tuning_section *section;
  pz_error *err;
} reader;

static pz_status damaged(const reader *r, const char *what) {
  return pz_fail(r->err, PZ_ERROR_INPUT, "%s: what it carries for tuning is damaged: %s", r->path, what);
}

/* "" stands for the default. */
static pz_status read_text(const reader *r, const json_t *from, const char *key, const char **to) {
  const char *text = json_string_value(json_object_get(from, key));
  if (!text || strlen(text) > 64) return damaged(r, key);
  *to = NULL;
  if (!*text) return PZ_OK;
  *to = pz_arena_strdup(r->section->arena, text);
  return *to ? PZ_OK : pz_fail_memory(r->err, "options", 64);
}

static pz_status read_integer(const reader *r, const json_t *from, const char *key, int64_t most,
                              int64_t *to) {
  const json_t *value = json_object_get(from, key);
  *to = json_integer_value(value);
  return json_is_integer(value) && *to >= 0 && *to <= most ? PZ_OK : damaged(r, key);
}

static pz_status read_options(const reader *r) {
  const json_t *from = json_object_get(r->of, "options"), *error = json_object_get(from, "max_error");
  pz_compile_options *o = &r->section->options;
  int64_t block, threads;
  *o = (pz_compile_options)PZ_COMPILE_OPTIONS;
  PZ_TRY(read_text(r, from, "target", &o->target));
  PZ_TRY(read_text(r, from, "isa", &o->isa));
  PZ_TRY(read_text(r, from, "precision", &o->precision));
  PZ_TRY(read_text(r, from, "fuse_rows", &o->fuse_rows));
  if (json_object_get(from, "search"))
    PZ_TRY(read_text(r, from, "search", &o->search)); /* older ones have none */
  PZ_TRY(read_integer(r, from, "vector_block", 64, &block));
  PZ_TRY(read_integer(r, from, "threads", 4096, &threads));
  PZ_TRY(read_integer(r, from, "memory", INT64_MAX, &o->memory));
  o->vector_block = (int32_t)block, o->threads = (int32_t)threads;
  o->max_error = json_number_value(error);
  return json_is_number(error) && o->max_error >= 0 && o->max_error <= 1 ? PZ_OK : damaged(r, "max_error");
}

static pz_status join_lines(const reader *r, pz_text *text) {
  const json_t *lines = json_object_get(r->all, "graph");
  for (size_t i = 0; i < json_array_size(lines); i++) {
    const char *line = json_string_value(json_array_get(lines, i));
    if (!line) return damaged(r, "a line of the graph");
    pz_text_append(text, line);
    pz_text_append(text, "\n");
  }
  return text->failed ? pz_fail_memory(r->err, "a graph", text->capacity) : PZ_OK;
}

static pz_status parse_graph(const reader *r, const volatile int *interrupt) {
  pz_text text = {0};
  pz_error why = {0};
  pz_status status = join_lines(r, &text);
  if (status == PZ_OK) {
    status = pz_graph_parse(text.data ? text.data : "", text.size, "graph", &r->section->graph, &why);
    if (status == PZ_ERROR_INPUT) damaged(r, why.message);
    else if (status != PZ_OK) pz_fail(r->err, status, "%s", why.message);
  }
  pz_text_free(&text);
  if (status == PZ_OK) pz_arena_watch(r->section->graph->arena, interrupt);
  return status;
}

static pz_status read_layer(const reader *r, const json_t *row) {
  const pz_tuning_section *s = r->section;
  const json_t *node = json_array_get(row, 0), *propagation = json_array_get(row, 1);
  const char *label = json_string_value(json_array_get(row, 2));
  const json_int_t n = json_integer_value(node);
  const double part = json_number_value(propagation);
  if (!json_is_integer(node) || n < 0 || n >= s->graph->n_nodes || !json_is_number(propagation) ||
      !(part >= 0) || !isfinite(part) || !label)
    return damaged(r, "a layer");
  s->error_propagation[n] = part;
  s->candidates[n] = pz_arena_strdup(s->arena, label);
  return s->candidates[n] ? PZ_OK : pz_fail_memory(r->err, "layers", strlen(label));
}

static pz_status read_layers(const reader *r) {
  pz_tuning_section *s = r->section;
  const size_t n = (size_t)s->graph->n_nodes;
  const json_t *rows = json_object_get(r->of, "layers");
  s->error_propagation = PZ_NEW(s->arena, double, n + 1);
  s->candidates = PZ_NEW(s->arena, const char *, n + 1);
  if (!s->error_propagation || !s->candidates) return pz_fail_memory(r->err, "layers", 16 * n);
  for (size_t i = 0; i < n; i++) s->error_propagation[i] = 1;
  if (!json_is_array(rows)) return damaged(r, "layers");
  for (size_t i = 0; i < json_array_size(rows); i++) PZ_TRY(read_layer(r, json_array_get(rows, i)));
  return PZ_OK;
}

/* A batch norm divides by the square root of its second constant. */
static void make_variances_positive(pz_graph *g) {
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_tensor_id id = g->nodes[n].op == PZ_OP_BATCH_NORM ? g->nodes[n].in[2] : PZ_NONE;
    if (id == PZ_NONE || !g->tensors[id].data) continue;
    float *values = pz_graph_constant_data(g, id);
    for (int64_t i = 0; i < pz_shape_elements(&g->tensors[id].shape); i++) values[i] = fabsf(values[i]);
  }
}

static pz_status read_all(const reader *r, const volatile int *interrupt) {
  const json_t *version = json_object_get(r->all, "version");
  if (!json_is_integer(version)) return damaged(r, "version");
  if (json_integer_value(version) != VERSION)
    return pz_fail(r->err, PZ_ERROR_INPUT,
                   "%s: carries for tuning what another version of pznet wrote: compile it again", r->path);
  PZ_TRY(read_options(r));
  PZ_TRY(parse_graph(r, interrupt));
  make_variances_positive(r->section->graph);
  return read_layers(r);
}

/* Before its checksum is known to be right nothing of the section is looked at. */
static pz_status find_text(const pz_image *image, const char **text, size_t *size, pz_error *err) {
  const uint8_t *data;
  PZ_TRY(pz_elf_find(&image->elf, PZ_TUNING_SECTION, &data, size, err));
  *text = (const char *)data;
  if (!data)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: carries nothing to be tuned by: an older pznet made it, or its graph is very large; "
                   "compile it again",
                   image->path);
  while (*size > 0 && !data[*size - 1]) --*size;
  if (*size <= MOST_BYTES) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: what it carries for tuning has %zu bytes, at most %d are accepted",
                 image->path, *size, MOST_BYTES);
}

/* The manifest tells which variant is meant, where there are several. */
static pz_status pick(reader *r, const pz_image *image, const pz_mask *mask) {
  const json_t *rows = json_object_get(r->all, "variants");
  pz_variant variant;
  pz_json j = {0};
  char *text;
  r->of = r->all;
  if (!rows) return PZ_OK;
  PZ_TRY(pz_manifest_extract(r->section->arena, &image->elf, &text, r->err));
  json_t *manifest = pz_json_read(&j, text, strlen(text), JSON_REJECT_DUPLICATES, NULL);
  pz_status status = pz_json_end(&j, "the manifest", r->err);
  if (status == PZ_OK)
    status = pz_variant_find(r->section->arena, manifest, r->path, mask, true, &variant, r->err);
  json_decref(manifest);
  if (status == PZ_OK) r->of = json_array_get(rows, (size_t)variant.index);
  return status != PZ_OK || r->of ? status : damaged(r, "variants");
}

static pz_status read_image(pz_image *image, const pz_mask *mask, const volatile int *interrupt,
                            pz_tuning_section *section, pz_error *err) {
  reader r = {.path = image->path, .section = section, .err = err};
  char digest[PZ_DIGEST_TEXT];
  const char *text;
  size_t size;
  pz_json j = {0};
  PZ_TRY(find_text(image, &text, &size, err));
  PZ_TRY(pz_file_checksum_check(image, false, digest, err));
  json_t *all = pz_json_read(&j, text, size, JSON_REJECT_DUPLICATES, NULL);
  r.all = all;
  pz_status status = pz_json_end(&j, "what a network file carries", err);
  if (status == PZ_OK) status = all ? pick(&r, image, mask) : damaged(&r, "it is no JSON");
  if (status == PZ_OK) status = read_all(&r, interrupt);
  json_decref(all);
  return status;
}

pz_status pz_tuning_section_read(const char *network, const pz_mask *mask, const volatile int *interrupt,
                                 pz_tuning_section *section, pz_error *err) {
  pz_image image;
  bool is_network;
  *section = (pz_tuning_section){.arena = NULL};
  PZ_TRY(pz_is_network(network, &is_network, err));
  if (!is_network)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is no network file: compile the model, then tune what came out",
                   network);
  PZ_TRY(pz_image_open(network, true, &image, err));
  section->arena = pz_arena_new();
  const pz_status status = section->arena ? read_image(&image, mask, interrupt, section, err)
                                          : pz_fail_memory(err, "what a network file carries", 64);
  pz_image_close(&image);
  if (status != PZ_OK) pz_tuning_section_free(section);
  return status;
}

void pz_tuning_section_free(pz_tuning_section *section) {
  pz_graph_free(section->graph);
  pz_arena_free(section->arena);
  *section = (pz_tuning_section){.arena = NULL};
}
