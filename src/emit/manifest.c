/* manifest.c: what a network file says of itself, as JSON in a section that is read without loading it. */
#include "base/file.h"
#include "base/json.h"
#include "emit/emit.h"
#include "pznet/network_abi.h"

#include <string.h>

static json_t *shape_json(const pz_shape *s) {
  json_t *dims = json_array();
  for (int i = 0; i < s->rank; i++) json_array_append_new(dims, json_integer(s->dim[i]));
  return dims;
}

static json_t *ports_json(const pz_graph *g, const pz_tensor_id *ids, int32_t n) {
  json_t *all = json_array();
  for (int32_t i = 0; i < n; i++) {
    json_t *port = json_object();
    json_object_set_new(port, "name", pz_json_name(g->tensors[ids[i]].name));
    json_object_set_new(port, "dtype", json_string("float32"));
    json_object_set_new(port, "shape", shape_json(&g->tensors[ids[i]].shape));
    json_array_append_new(all, port);
  }
  return all;
}

/* What the planner expected of the algorithm that it chose for a convolution. */
static void add_candidate(const pz_plan *plan, const pz_step *s, json_t *step) {
  const pz_candidate *c = s->node == PZ_NONE ? NULL : pz_plan_candidate(plan, s->node);
  const double all = c ? pz_node_multiply_adds(plan->graph, &plan->graph->nodes[s->node]) : 0;
  if (c && c->cost > 0 && all > 0) /* the step's part, in multiply-adds */
    json_object_set_new(step, "cost",
                        json_integer((json_int_t)(c->cost * plan->block * s->multiply_adds / all)));
  if (c && c->error > 0) json_object_set_new(step, "expected_error", json_real(c->error));
  if (c && c->error > 0 && plan->sensitivity)
    json_object_set_new(step, "expected_in_result", json_real(c->added));
  if (c && c->seconds > 0) json_object_set_new(step, "measured_ms", json_real(1e3 * c->seconds));
}

static json_t *sources_json(const pz_sources *s) {
  json_t *all = json_array();
  for (int32_t i = 0; i < s->n; i++) json_array_append_new(all, json_integer(s->of[i]));
  return all;
}

/* The arena's stretches: bytes from its start, size in bytes, the steps during which it is in use. */
static json_t *buffers_json(const pz_plan *plan) {
  json_t *all = json_array();
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const pz_buffer *b = &plan->buffers[i];
    if (b->last >= 0)
      json_array_append_new(all,
                            json_pack("{s:I, s:I, s:i, s:i}", "offset", (json_int_t)b->offset * 4, "bytes",
                                      (json_int_t)b->floats * 4, "first", b->first, "last", b->last));
  }
  return all;
}

/* "from": results of steps, inputs of the network as -1 - index. */
static json_t *plan_json(const pz_plan *plan, const pz_sources *from) {
  json_t *all = json_array();
  for (int32_t i = 0; i < plan->n_steps; i++) {
    const pz_step *s = &plan->steps[i];
    json_t *step = json_object();
    json_object_set_new(step, "layer", pz_json_name(s->name));
    json_object_set_new(step, "op", json_string(s->op));
    json_object_set_new(step, "algorithm", pz_json_name(s->algorithm));
    json_object_set_new(step, "multiply_adds", json_integer((json_int_t)s->multiply_adds));
    json_object_set_new(step, "multiply_adds_done", json_integer((json_int_t)s->multiply_adds_done));
    json_object_set_new(step, "bytes", json_integer((json_int_t)s->bytes));
    const pz_tensor_id output = s->storage >= 0      ? plan->storages[s->storage].tensor
                                : s->node != PZ_NONE ? plan->graph->nodes[s->node].out[0]
                                                     : PZ_NONE;
    if (output != PZ_NONE)
      json_object_set_new(step, "output", shape_json(&plan->graph->tensors[output].shape));
    json_object_set_new(step, "from", sources_json(&from[i]));
    add_candidate(plan, s, step);
    json_array_append_new(all, step);
  }
  return all;
}

static json_t *outputs_json(const pz_plan *plan, const pz_sources *from) {
  json_t *all = ports_json(plan->graph, plan->graph->outputs, plan->graph->n_outputs);
  for (int32_t i = 0; i < plan->graph->n_outputs; i++)
    json_object_set_new(json_array_get(all, (size_t)i), "from", sources_json(&from[i]));
  return all;
}

static json_t *manifest_json(const pz_plan *plan, const pz_emit_options *o, const char *golden,
                             const pz_sources *steps, const pz_sources *outputs) {
  json_t *m = json_object();
  json_object_set_new(m, PZ_ABI_CHECKSUM, json_string("0000000000000000")); /* its place */
  json_object_set_new(m, "pznet_version", json_string(PZ_VERSION));
  json_object_set_new(m, "abi_version", json_integer(1));
  json_object_set_new(m, "isa", json_string(pz_isa_get(plan->isa)->name));
  json_object_set_new(m, "vector_block", json_integer(plan->block));
  json_object_set_new(m, "name", pz_json_name(plan->graph->name ? plan->graph->name : ""));
  json_object_set_new(m, "model", pz_json_name(o->model));
  json_object_set_new(m, "model_sha256", json_string(o->model_digest));
  json_object_set_new(m, "compiler", pz_json_name(pz_emit_compiler(o)));
  json_object_set_new(m, "max_error", json_real(plan->max_error));
  json_object_set_new(m, "disabled_passes", pz_json_name(o->disabled ? o->disabled : ""));
  json_object_set_new(m, "inputs", ports_json(plan->graph, plan->graph->inputs, plan->graph->n_inputs));
  json_object_set_new(m, "outputs", outputs_json(plan, outputs));
  json_object_set_new(m, "multiply_adds", json_integer((json_int_t)plan->multiply_adds));
  json_object_set_new(m, "weights_bytes", json_integer(plan->n_weights * 4));
  json_object_set_new(m, "worker_bytes", json_integer(plan->worker_floats * 4));
  json_object_set_new(m, "arena_bytes", json_integer(pz_emit_arena_bytes(plan)));
  json_object_set_new(m, "golden", golden ? json_loads(golden, 0, NULL) : json_null());
  json_object_set_new(m, "plan", plan_json(plan, steps));
  json_object_set_new(m, "buffers", buffers_json(plan));
  return m;
}

static const char section_text[] =
    "/* The manifest lies in a section that is not loaded. */\n"
    "__asm__(\".section .pznet.manifest,\\\"\\\",@progbits\\n.global manifest\\n.hidden manifest\\n"
    "manifest:\\n.incbin \\\"manifest.json\\\"\\n.byte 0\\n.previous\\n\");\n";

pz_status pz_emit_manifest_text(const pz_plan *plan, const pz_emit_options *options, const char *golden,
                                const char **json, pz_error *err) {
  pz_sources *steps, *outputs;
  PZ_TRY(pz_emit_flow(plan, plan->arena, &steps, &outputs, err));
  json_t *m = manifest_json(plan, options, golden, steps, outputs);
  char *text = m ? pz_json_print(m, JSON_INDENT(1)) : NULL;
  json_decref(m);
  *json = text ? pz_arena_strdup(plan->arena, text) : NULL;
  free(text);
  return *json ? PZ_OK : pz_fail_memory(err, "the manifest", 4096);
}

pz_status pz_emit_manifest(const pz_plan *plan, const pz_emit_options *options, const char *golden,
                           const char *folder, const char **json, pz_error *err) {
  const char *text;
  PZ_TRY(pz_emit_manifest_text(plan, options, golden, &text, err));
  const char *path = pz_arena_printf(plan->arena, "%s/manifest.json", folder);
  const char *source = pz_arena_printf(plan->arena, "%s/manifest.c", folder);
  if (!path || !source) return pz_fail_memory(err, "the manifest", 4096);
  if (json) *json = text;
  PZ_TRY(pz_file_write(path, text, strlen(text), err));
  return pz_file_write(source, section_text, sizeof section_text - 1, err);
}
