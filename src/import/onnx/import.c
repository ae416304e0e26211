/* import.c: an ONNX model to a graph. */
#include "base/memory.h"
#include "import/onnx/onnx.h"
#include "import/least_memory.h"

/* In floats: four copies are held at a time, of the model as it is read, as it is optimised, packed, and in the C compiler or in the network that is
 * run. */
static int64_t machine_elements(void) {
  return pz_memory_there(0).bytes / (PZ_ONNX_SHARE * (int64_t)sizeof(float));
}

static pz_status check_model(const pz_onnx *c) {
  const pz_onnx_model *m = &c->model;
  if (!m->has_graph)
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: holds no graph, expected an ONNX model", c->file);
  if (m->opset < PZ_ONNX_OLDEST_OPSET || m->opset > PZ_ONNX_NEWEST_OPSET)
    return pz_fail(c->err, PZ_ERROR_INPUT,
                   "%s: needs opset %lld, %d to %d are read: convert it with onnx.version_converter", c->file,
                   (long long)m->opset, PZ_ONNX_OLDEST_OPSET, PZ_ONNX_NEWEST_OPSET);
  return PZ_OK;
}

static pz_status read_model(pz_onnx *c, const pz_mapping *channel) {
  const pz_onnx_reader reader = {c->arena, c->err};
  const pz_wire wire = {channel->data, channel->data + channel->size, channel->data, c->file, "ONNX model"};
  PZ_TRY(pz_onnx_read_model(&reader, wire, &c->model));
  return check_model(c);
}

/* A result that is known here becomes a constant that an identity gives the output's name. */
static pz_status add_known_output(pz_onnx *c, pz_onnx_value *v) {
  const char *output[] = {v->name};
  const pz_onnx_node node = {.name = v->name, .op = "Constant", .domain = "", .in = output, .n_in = 1};
  const char *name = pz_arena_printf(c->arena, "%s.value", v->name);
  c->node = &node;
  c->node_name = v->name;
  name = name ? pz_onnx_fresh_name(c, name) : NULL;
  if (!name) return pz_onnx_no_memory(c);
  pz_tensor_id id;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  PZ_TRY(pz_graph_rename_tensor(c->graph, id, name, c->err));
  pz_node identity = pz_node_new(PZ_OP_IDENTITY);
  PZ_TRY(pz_onnx_apply(c, &identity, "result", &id));
  v->tensor = id;
  return pz_graph_rename_tensor(c->graph, id, v->name, c->err);
}

/* Rows that are left become -1 where what an operator has made of them goes out. */
static pz_status fill_output(pz_onnx *c, pz_onnx_value *v) {
  const pz_onnx_node node = {.name = v->name, .op = "output", .domain = ""};
  pz_tensor_id id = v->tensor;
  c->node = &node;
  c->node_name = v->name;
  PZ_TRY(pz_onnx_fill_rows(c, v, &id));
  const char *name = pz_arena_printf(c->arena, "%s.all", v->name);
  name = name ? pz_onnx_fresh_name(c, name) : NULL;
  if (!name) return pz_onnx_no_memory(c);
  PZ_TRY(pz_graph_rename_tensor(c->graph, v->tensor, name, c->err));
  v->tensor = id;
  v->filled = true;
  return pz_graph_rename_tensor(c->graph, id, v->name, c->err);
}

static pz_status add_output(pz_onnx *c, const char *name) {
  const int32_t i = pz_onnx_find_value(c, name);
  if (i < 0 || c->values[i].state != PZ_ONNX_READY)
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: output '%.200s' is made by no node", c->file, name);
  if (c->values[i].known) PZ_TRY(add_known_output(c, &c->values[i]));
  if (c->values[i].rows && !c->values[i].filled) PZ_TRY(fill_output(c, &c->values[i]));
  if (pz_graph_is_output(c->graph, c->values[i].tensor))
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: output '%.200s' is listed twice", c->file, name);
  PZ_TRY(pz_graph_add_output(c->graph, c->values[i].tensor, c->err));
  pz_onnx_want(c, &c->values[i]);
  return PZ_OK;
}

static pz_status add_outputs(pz_onnx *c) {
  const pz_onnx_graph *g = &c->model.graph;
  for (int32_t i = 0; i < g->n_outputs; i++) PZ_TRY(add_output(c, g->outputs[i].name));
  if (!c->graph->n_inputs) return pz_fail(c->err, PZ_ERROR_INPUT, "%s: the model has no input", c->file);
  if (!c->graph->n_outputs) return pz_fail(c->err, PZ_ERROR_INPUT, "%s: the model has no output", c->file);
  return PZ_OK;
}

/* What is not supported is the news, even where building could not go on to the end for another reason. */
static pz_status build_nodes(pz_onnx *c, const bool *needed) {
  pz_error *err = c->err, own = {0};
  c->err = &own;
  const pz_status status = pz_onnx_build_nodes(c, &c->model.graph, needed);
  c->err = err;
  if (c->n_refusals && status != PZ_ERROR_MEMORY && status != PZ_INTERRUPTED)
    return pz_onnx_fail_refused(c, err);
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", own.message);
}

static pz_status build(pz_onnx *c) {
  bool *needed;
  PZ_TRY(pz_graph_new(c->model.graph.name, &c->graph, c->err));
  pz_arena_watch(c->graph->arena, c->options->interrupt);
  PZ_TRY(pz_onnx_declare(c, &c->model.graph));
  PZ_TRY(pz_onnx_add_inputs(c));
  PZ_TRY(pz_onnx_find_needed(c, &needed));
  pz_onnx_count_weights(c, needed);
  PZ_TRY(build_nodes(c, needed));
  const pz_status status = add_outputs(c);
  if (c->n_refusals && status == PZ_ERROR_INPUT) return pz_onnx_fail_refused(c, c->err);
  if (status != PZ_OK) return status;
  PZ_TRY(pz_import_ask_all(c->graph, pz_onnx_constants(c), pz_onnx_memory(c), c->err));
  PZ_TRY(pz_graph_compact(c->graph, c->err));
  return pz_graph_verify(c->graph, c->err);
}

static pz_status import(pz_onnx *c) {
  pz_mapping channel;
  if (c->options->weights)
    return pz_fail(c->err, PZ_ERROR_USAGE, "%s: an ONNX model has its weights within: leave out --weights",
                   c->file);
  PZ_TRY(pz_file_load(c->arena, c->file, &channel, c->err));
  pz_status status = read_model(c, &channel);
  if (status == PZ_OK) status = build(c);
  pz_onnx_files_close(&c->files);
  if (status == PZ_OK) return PZ_OK;
  pz_graph_free(c->graph);
  c->graph = NULL;
  return status;
}

pz_status pz_onnx_import_within(const char *path, const pz_import_options *options, int64_t max_elements,
                                pz_graph **graph, pz_error *err) {
  static const pz_import_options none = {0};
  pz_arena *arena = pz_arena_new();
  *graph = NULL;
  if (!arena) return pz_fail_memory(err, path, sizeof(pz_onnx));
  if (options) pz_arena_watch(arena, options->interrupt);
  pz_onnx c = {.file = path,
               .arena = arena,
               .options = options ? options : &none,
               .max_elements = max_elements,
               .err = err,
               .files = {.arena = arena, .model = path, .fd = -1},
               .index = {.arena = arena},
               .info_index = {.arena = arena},
               .refusal_index = {.arena = arena}};
  const pz_status status = import(&c);
  pz_arena_free(arena);
  *graph = c.graph;
  return status;
}

pz_status pz_import_onnx(const char *path, const pz_import_options *options, pz_graph **graph,
                         pz_error *err) {
  return pz_onnx_import_within(path, options, machine_elements(), graph, err);
}
