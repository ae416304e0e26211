/* model.c: a model file, imported and optimised. */
#include "api/api.h"
#include "api/exact.h"
#include "base/digest.h"
#include "base/file.h"
#include "import/import.h"
#include "optimise/optimise.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pz_status usage_shape(const char *text, pz_error *err) {
  return pz_fail(err, PZ_ERROR_USAGE, "--input %s: expected NAME=SHAPE such as data=1x1x18x160x160", text);
}

static pz_status parse_dims(const char *at, const char *whole, pz_shape *shape, pz_error *err) {
  shape->rank = 0;
  do {
    char *end;
    const long long dim = strtoll(at, &end, 10);
    if (end == at || dim < 1 || dim > INT32_MAX || shape->rank == PZ_MAX_RANK) return usage_shape(whole, err);
    shape->dim[shape->rank++] = dim;
    at = end;
  } while (*at == 'x' && at++);
  return *at ? usage_shape(whole, err) : PZ_OK;
}

static pz_status parse_shapes(pz_arena *arena, const pz_compile_options *o, pz_import_options *import,
                              pz_error *err) {
  pz_import_shape *shapes = PZ_NEW(arena, pz_import_shape, (size_t)o->n_input_shapes + 1);
  if (!shapes) return pz_fail_memory(err, "input shapes", sizeof *shapes);
  for (int32_t i = 0; i < o->n_input_shapes; i++) {
    const char *equals = strrchr(o->input_shapes[i], '=');
    if (!equals || equals == o->input_shapes[i]) return usage_shape(o->input_shapes[i], err);
    shapes[i].input = pz_arena_strndup(arena, o->input_shapes[i], (size_t)(equals - o->input_shapes[i]));
    if (!shapes[i].input) return pz_fail_memory(err, "input shapes", 64);
    PZ_TRY(parse_dims(equals + 1, o->input_shapes[i], &shapes[i].shape, err));
  }
  import->shapes = shapes;
  import->n_shapes = o->n_input_shapes;
  return PZ_OK;
}

/* ---- element types of inputs and outputs ---- */

static pz_status usage_type(bool input, const char *text, pz_error *err) {
  return pz_fail(err, PZ_ERROR_USAGE,
                 "--%s-type %s: expected NAME=TYPE, or TYPE for all: " PZ_TENSOR_TYPES_IN_WORDS,
                 input ? "input" : "output", text);
}

static bool parse_type(const char *text, pz_dtype *type) {
  for (int i = 0; i < PZ_DTYPES; i++)
    if (!strcmp(text, pz_dtype_name((pz_dtype)i))) return pz_type_of_tensors(*type = (pz_dtype)i);
  return false;
}

/* The port that is meant: of that name, or of that number behind '#'; NULL: none is. */
static const char *find_port(const pz_graph *g, bool input, const char *name) {
  const int32_t n = input ? g->n_inputs : g->n_outputs;
  const pz_tensor_id *ports = input ? g->inputs : g->outputs;
  for (int32_t i = 0; i < n; i++)
    if (!strcmp(g->tensors[ports[i]].name, name)) return name;
  char *end;
  const long number = *name == '#' ? strtol(name + 1, &end, 10) : 0;
  return number >= 1 && number <= n && !*end ? g->tensors[ports[number - 1]].name : NULL;
}

static pz_status set_type(pz_arena *arena, pz_graph *g, bool input, const char *text, pz_error *err) {
  const char *equals = strrchr(text, '=');
  pz_dtype type;
  if (!parse_type(equals ? equals + 1 : text, &type) || equals == text) return usage_type(input, text, err);
  if (!equals) {
    for (int32_t i = 0; i < (input ? g->n_inputs : g->n_outputs); i++)
      g->tensors[(input ? g->inputs : g->outputs)[i]].wanted = type;
    return PZ_OK;
  }
  const char *name = pz_arena_strndup(arena, text, (size_t)(equals - text));
  if (!name) return pz_fail_memory(err, "types", 64);
  const char *port = find_port(g, input, name);
  return pz_graph_want_type(g, input, port ? port : name, type, err);
}

static pz_status set_types(pz_arena *arena, const pz_compile_options *o, pz_graph *g, pz_error *err) {
  for (int32_t i = 0; i < o->n_input_types; i++) PZ_TRY(set_type(arena, g, true, o->input_types[i], err));
  for (int32_t i = 0; i < o->n_output_types; i++) PZ_TRY(set_type(arena, g, false, o->output_types[i], err));
  return PZ_OK;
}

/* ONNX files begin with the field ir_version, a byte that no text has. */
static bool is_onnx(const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot && !strcmp(dot, ".onnx")) return true;
  struct stat info;
  int fd;
  char first = 0;
  if (pz_file_open(path, &fd, &info, NULL) != PZ_OK) return false;
  const bool begins = pread(fd, &first, 1, 0) == 1 && first == 8;
  close(fd);
  return begins;
}

#define AT_ONCE ((int64_t)1 << 20) /* bytes: of large files a part a time, so that Ctrl-C is heard */

static pz_status digest_all(pz_digest *hash, const char *path, int fd, int64_t size,
                            const volatile int *interrupt, pz_error *err) {
  char *part = malloc(AT_ONCE);
  pz_status status = part ? PZ_OK : pz_fail_memory(err, path, AT_ONCE);
  for (int64_t at = 0, n; at < size && status == PZ_OK; at += n) {
    n = size - at < AT_ONCE ? size - at : AT_ONCE;
    status = pz_file_fetch(fd, path, at, part, (size_t)n, err);
    if (status == PZ_OK) pz_digest_add(hash, part, (size_t)n);
    if (status == PZ_OK && interrupt && *interrupt) status = pz_fail_interrupted(err);
  }
  free(part);
  return status;
}

static pz_status digest_file(pz_digest *hash, const char *path, const volatile int *interrupt,
                             pz_error *err) {
  struct stat info;
  int fd;
  PZ_TRY(pz_file_open(path, &fd, &info, err));
  const pz_status status = digest_all(hash, path, fd, info.st_size, interrupt, err);
  close(fd);
  return status;
}

/* After the import, which refuses what is no model, such as a pipe. `digest` has what the model refers to. */
static pz_status digest_model(const char *path, const pz_compile_options *o, pz_digest *digest,
                              pz_error *err) {
  const char *weights = o->weights;
  PZ_TRY(digest_file(digest, path, o->interrupt, err));
  if (weights && !strncmp(weights, "init:", 5)) pz_digest_add(digest, weights, strlen(weights));
  else if (weights) PZ_TRY(digest_file(digest, weights, o->interrupt, err));
  return PZ_OK;
}

static void note_pass(void *host, const pz_pass *pass, int changes, const pz_graph *g) {
  (void)g;
  pz_model *m = host;
  pz_json *j = &m->json;
  json_t *passes = m->passes;
  for (size_t i = 0; i < json_array_size(passes); i++) {
    json_t *row = json_array_get(passes, i);
    if (strcmp(json_string_value(json_object_get(row, "name")), pass->name)) continue;
    pz_json_set(j, row, "changes",
                json_integer(json_integer_value(json_object_get(row, "changes")) + changes));
    return;
  }
  pz_json_append(
      j, passes,
      pz_json_pack(j, "{s:s, s:s, s:i}", "name", pass->name, "title", pass->title, "changes", changes));
}

static pz_status import_model(const char *path, const pz_import_options *import, pz_model *m, pz_error *err) {
  return (is_onnx(path) ? pz_import_onnx : pz_import_caffe)(path, import, &m->before, err);
}

typedef struct importer {
  const char *path, *input;
  const pz_import_options *import;
} importer;

/* The model as it would be with another input: what is noted of it is known already. */
static pz_status import_as(void *host, const pz_shape *input, pz_graph **g, pz_error *err) {
  const importer *i = host;
  const pz_import_shape shape = {.input = i->input, .shape = *input};
  pz_import_options again = *i->import;
  pz_text notes = {0};
  pz_digest digest;
  pz_digest_begin(&digest);
  again.shapes = &shape, again.n_shapes = 1, again.notes = &notes, again.digest = &digest;
  const pz_status status = (is_onnx(i->path) ? pz_import_onnx : pz_import_caffe)(i->path, &again, g, err);
  pz_text_free(&notes);
  return status;
}

/* The tiles; where a run makes all of the volume the model is imported again, of that size. */
static pz_status prepare_exact(const char *path, const pz_import_options *import, const pz_compile_options *o,
                               pz_model *m, pz_exact_choice *choice, pz_error *err) {
  if (m->before->n_inputs != 1)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has %d inputs; exact tiles are of networks with one", path,
                   (int)m->before->n_inputs);
  importer host = {.path = path,
                   .input = pz_arena_strdup(m->arena, m->before->tensors[m->before->inputs[0]].name),
                   .import = import};
  pz_graph *other;
  if (!host.input) return pz_fail_memory(err, "a name", 0);
  PZ_TRY(pz_exact_choose(o, m->before, &(const pz_exact_importer){import_as, &host}, choice, err));
  if (!choice->other) return PZ_OK;
  PZ_TRY(import_as(&host, &choice->input, &other, err));
  pz_graph_free(m->before);
  m->before = other;
  return PZ_OK;
}

static pz_status load(const char *path, const pz_compile_options *options, pz_model *m, pz_error *err) {
  pz_digest digest;
  pz_import_options import = {
      .weights = options->weights, .notes = &m->notes, .digest = &digest, .interrupt = options->interrupt};
  pz_digest_begin(&digest);
  PZ_TRY(pz_exact_check(options, err));
  PZ_TRY(parse_shapes(m->arena, options, &import, err));
  PZ_TRY(import_model(path, &import, m, err));
  pz_exact_choice choice = {0};
  if (options->tiling) PZ_TRY(prepare_exact(path, &import, options, m, &choice, err));
  PZ_TRY(set_types(m->arena, options, m->before, err));
  if (options->tiling) PZ_TRY(pz_exact_apply(m, &choice, err));
  PZ_TRY(digest_model(path, options, &digest, err));
  pz_digest_end_text(&digest, m->digest);
  if (m->notes.failed) return pz_fail_memory(err, "notes", 64);
  PZ_TRY(pz_graph_copy_sharing(m->before, &m->after, err));
  PZ_TRY(pz_optimise(m->after, options->disable, note_pass, m, err));
  return pz_json_end(&m->json, "a list of passes", err);
}

pz_status pz_model_load(const char *path, const pz_compile_options *options, pz_model *model, pz_error *err) {
  *model = (pz_model){.arena = pz_arena_new(), .passes = json_array()};
  const pz_status status =
      model->arena && model->passes ? load(path, options, model, err) : pz_fail_memory(err, "the model", 64);
  if (status != PZ_OK) pz_model_free(model);
  return status;
}

void pz_model_free(pz_model *model) {
  pz_graph_free(model->after);
  pz_graph_free(model->before);
  json_decref(model->passes);
  pz_text_free(&model->notes);
  pz_arena_free(model->arena);
  *model = (pz_model){0};
}

static bool names_isa(const pz_compile_options *options) {
  return options->isa && strcmp(options->isa, "native");
}

void pz_plan_settle(const pz_compile_options *options, pz_plan *plan) {
  if (!names_isa(options)) pz_plan_spare_tiles(plan);
}

static pz_status choose_target(const pz_compile_options *o, pz_target *target, pz_error *err) {
  const char *name = o->target ? o->target : "native";
  pz_isa isa;
  if ((o->isa && !strcmp(o->isa, "all")) || (!o->isa && strchr(name, ',')))
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--%s %s: a network file is compiled for several targets, a plan is of one: name it",
                   o->isa ? "isa" : "target", o->isa ? o->isa : name);
  if (o->isa && !pz_isa_parse(o->isa, &isa))
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "--isa %s: expected native, amx, avx512, avx2, sse4 or neon; or, to compile for all of x86, all",
        o->isa);
  if (o->isa && o->target)
    return pz_fail(err, PZ_ERROR_USAGE, "--isa %s and --target %s exclude each other: a target has its own",
                   o->isa, o->target);
  if (names_isa(o)) return *target = pz_target_as(isa), PZ_OK;
  if (pz_target_parse(name, target)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE, "--target %s: expected one of %s", name, pz_target_names());
}

const char *const pz_search_names[PZ_SEARCHES] = {[PZ_SEARCH_GLOBAL] = "global",
                                                  [PZ_SEARCH_TRANSFORMS] = "transforms",
                                                  [PZ_SEARCH_LAYOUT] = "layout",
                                                  [PZ_SEARCH_NCHW] = "nchw"};

static pz_status choose_search(const pz_compile_options *options, pz_search *search, pz_error *err) {
  *search = PZ_SEARCH_GLOBAL;
  if (!options->search) return PZ_OK;
  for (int i = 0; i < PZ_SEARCHES; i++)
    if (!strcmp(options->search, pz_search_names[i])) return *search = (pz_search)i, PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE, "--search %s: expected global, transforms, layout or nchw",
                 options->search);
}

#define SLACK 0.03 /* of the convolutions' time for smaller weights (doc/memory.md) */

pz_status pz_plan_wanted(const pz_compile_options *options, pz_plan_options *wanted, pz_error *err) {
  *wanted = (pz_plan_options){.block = options->vector_block};
  PZ_TRY(choose_target(options, &wanted->target, err));
  const char *precision = options->precision ? options->precision : "default";
  if (strcmp(precision, "default") && strcmp(precision, "exact"))
    return pz_fail(err, PZ_ERROR_USAGE, "--precision %s: expected default or exact", precision);
  wanted->exact = !strcmp(precision, "exact");
  if (!(options->max_error >= 0) || options->max_error > 1)
    return pz_fail(err, PZ_ERROR_USAGE, "--max-error %g: expected a number from 0 to 1", options->max_error);
  wanted->max_error = options->max_error;
  const char *fuse_rows = options->fuse_rows ? options->fuse_rows : "auto";
  if (options->memory < 0)
    return pz_fail(err, PZ_ERROR_USAGE, "--memory %lld: expected a number of bytes",
                   (long long)options->memory);
  wanted->memory = (double)options->memory;
  wanted->slack = SLACK;
  wanted->threads = options->threads ? options->threads : wanted->target.workers;
  if (!strcmp(fuse_rows, "auto")) wanted->fuse_rows = PZ_FUSE_ROWS_AUTO;
  else if (!strcmp(fuse_rows, "always")) wanted->fuse_rows = PZ_FUSE_ROWS_ALWAYS;
  else if (strcmp(fuse_rows, "never"))
    return pz_fail(err, PZ_ERROR_USAGE, "--fuse-rows %s: expected auto, never or always", fuse_rows);
  PZ_TRY(choose_search(options, &wanted->search, err));
  wanted->algorithms = options->algorithms, wanted->n_algorithms = options->n_algorithms;
  const int width = wanted->target.vector_width;
  if (wanted->block && wanted->block != 4 && wanted->block != 8 && wanted->block != 16)
    return pz_fail(err, PZ_ERROR_USAGE, "--vector-block %d: expected 4, 8 or 16", wanted->block);
  if (wanted->block > width)
    return pz_fail(err, PZ_ERROR_USAGE, "--vector-block %d: %s has vectors of %d floats", wanted->block,
                   pz_isa_get(pz_target_isa(&wanted->target))->title, width);
  return PZ_OK;
}
