/* manifest.c: what a network file says of itself, as JSON in a section that is read without loading it. */
#include "base/file.h"
#include "base/json.h"
#include "emit/emit.h"
#include "emit/locality.h"
#include "pznet/network_abi.h"

#include <string.h>

static json_t *shape_json(pz_json *j, const pz_shape *s) {
  json_t *dims = json_array();
  for (int i = 0; i < s->rank; i++) pz_json_append(j, dims, json_integer(s->dim[i]));
  return dims;
}

static json_t *ports_json(pz_json *j, const pz_graph *g, const pz_tensor_id *ids, int32_t n) {
  json_t *all = json_array();
  for (int32_t i = 0; i < n; i++) {
    json_t *port = json_object();
    pz_json_set(j, port, "name", pz_json_name(g->tensors[ids[i]].name));
    pz_json_set(j, port, "dtype", json_string(pz_dtype_numpy(g->tensors[ids[i]].type)));
    pz_json_set(j, port, "shape", shape_json(j, &g->tensors[ids[i]].shape));
    if (g->tensors[ids[i]].scale != 1 || g->tensors[ids[i]].zero_point) {
      pz_json_set(j, port, "scale", pz_json_real((double)g->tensors[ids[i]].scale));
      pz_json_set(j, port, "zero_point", json_integer(g->tensors[ids[i]].zero_point));
    }
    pz_json_append(j, all, port);
  }
  return all;
}

/* What the planner expected of the algorithm that it chose for a convolution. */
static void add_candidate(pz_json *j, const pz_plan *plan, const pz_step *s, json_t *step) {
  const pz_candidate *c = s->node == PZ_NONE ? NULL : pz_plan_candidate(plan, s->node);
  const double all = c ? pz_node_multiply_adds(plan->graph, &plan->graph->nodes[s->node]) : 0;
  if (c && c->cost > 0 && all > 0) /* the step's part, in multiply-adds */
    pz_json_set(j, step, "cost",
                json_integer((json_int_t)(c->cost * plan->target.block * s->multiply_adds / all)));
  if (c && c->error > 0) pz_json_set(j, step, "expected_error", pz_json_real(c->error));
  if (c && c->error > 0 && (plan->error_propagation || plan->expected_propagation))
    pz_json_set(j, step, "expected_in_result", pz_json_real(c->added));
  if (c && c->seconds > 0) pz_json_set(j, step, "measured_ms", pz_json_real(1e3 * c->seconds));
}

static json_t *sources_json(pz_json *j, const pz_sources *s) {
  json_t *all = json_array();
  for (int32_t i = 0; i < s->n; i++) pz_json_append(j, all, json_integer(s->of[i]));
  return all;
}

/* The arena's stretches: bytes from its start, size in bytes, the steps during which it is in use. */
static json_t *buffers_json(pz_json *j, const pz_plan *plan) {
  json_t *all = json_array();
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const pz_buffer *b = &plan->buffers[i];
    if (b->last >= 0)
      pz_json_append(j, all,
                     pz_json_pack(j, "{s:I, s:I, s:i, s:i}", "offset", (json_int_t)b->offset, "bytes",
                                  (json_int_t)b->bytes, "first", b->first, "last", b->last));
  }
  return all;
}

/* "from": results of steps, inputs of the network as -1 - index. */
static json_t *plan_json(pz_json *j, const pz_plan *plan, const pz_sources *from) {
  json_t *all = json_array();
  for (int32_t i = 0; i < plan->n_steps; i++) {
    const pz_step *s = &plan->steps[i];
    json_t *step = json_object();
    pz_json_set(j, step, "layer", pz_json_name(s->name));
    pz_json_set(j, step, "op", json_string(s->op));
    pz_json_set(j, step, "algorithm", pz_json_name(s->algorithm));
    pz_json_set(j, step, "multiply_adds", json_integer((json_int_t)s->multiply_adds));
    pz_json_set(j, step, "multiply_adds_done", json_integer((json_int_t)s->multiply_adds_done));
    pz_json_set(j, step, "bytes", json_integer((json_int_t)s->bytes));
    const pz_tensor_id output = s->storage >= 0      ? plan->storages[s->storage].tensor
                                : s->node != PZ_NONE ? plan->graph->nodes[s->node].out[0]
                                                     : PZ_NONE;
    if (output != PZ_NONE) pz_json_set(j, step, "output", shape_json(j, &plan->graph->tensors[output].shape));
    pz_json_set(j, step, "from", sources_json(j, &from[i]));
    add_candidate(j, plan, s, step);
    pz_json_append(j, all, step);
  }
  return all;
}

static json_t *outputs_json(pz_json *j, const pz_plan *plan, const pz_sources *from) {
  json_t *all = ports_json(j, plan->graph, plan->graph->outputs, plan->graph->n_outputs);
  for (int32_t i = 0; i < plan->graph->n_outputs; i++)
    pz_json_set(j, json_array_get(all, (size_t)i), "from", sources_json(j, &from[i]));
  return all;
}

static json_t *manifest_json(pz_json *j, const pz_plan *plan, const pz_emit_options *o, const char *self_test,
                             json_t *locality, const pz_sources *steps, const pz_sources *outputs) {
  json_t *m = json_object();
  pz_json_set(j, m, PZ_ABI_CHECKSUM, json_string("0000000000000000")); /* its place */
  pz_json_set(j, m, "pznet_version", json_string(PZ_VERSION));
  pz_json_set(j, m, "abi_version", json_integer(PZ_ABI_VERSION));
  pz_json_set(j, m, "isa", json_string(pz_isa_get(pz_target_isa(&plan->target))->name));
  pz_json_set(j, m, "target", json_string(plan->target.name));
  pz_json_set(j, m, "core", json_string(plan->target.core));
  pz_json_set(j, m, "vector_block", json_integer(plan->target.block));
  pz_json_set(j, m, "name", pz_json_name(plan->graph->name ? plan->graph->name : ""));
  pz_json_set(j, m, "model", pz_json_name(o->model));
  pz_json_set(j, m, "model_sha256", json_string(o->model_digest));
  pz_json_set(j, m, "compiler", pz_json_name(pz_emit_compiler(o)));
  pz_json_set(j, m, "max_error", pz_json_real(plan->max_error));
  pz_json_set(j, m, "disabled_passes", pz_json_name(o->disabled ? o->disabled : ""));
  pz_json_set(j, m, "inputs", ports_json(j, plan->graph, plan->graph->inputs, plan->graph->n_inputs));
  pz_json_set(j, m, "outputs", outputs_json(j, plan, outputs));
  pz_json_set(j, m, "locality", locality);
  if (o->exact) pz_json_set(j, m, "exact", pz_json_read(j, o->exact, strlen(o->exact), 0, NULL));
  pz_json_set(j, m, "multiply_adds", json_integer((json_int_t)plan->multiply_adds));
  pz_json_set(j, m, "weights_bytes", json_integer(plan->weight_bytes));
  pz_json_set(j, m, "worker_bytes", json_integer(plan->worker_bytes));
  pz_json_set(j, m, "arena_bytes", json_integer(pz_emit_arena_bytes(plan)));
  pz_json_set(j, m, "state_bytes", json_integer(plan->state_bytes));
  pz_json_set(j, m, "self_test",
              self_test ? pz_json_read(j, self_test, strlen(self_test), 0, NULL) : json_null());
  pz_json_set(j, m, "plan", plan_json(j, plan, steps));
  pz_json_set(j, m, "buffers", buffers_json(j, plan));
  return m;
}

static const char section_text[] =
    "/* The manifest lies in a section that is not loaded. */\n"
    "__asm__(\".section .pznet.manifest,\\\"\\\",@progbits\\n.global manifest\\n.hidden manifest\\n"
    "manifest:\\n.incbin \\\"manifest.json\\\"\\n.byte 0\\n.previous\\n\");\n";
/* The manifest's relocation, of nothing, is why the linker keeps it. */
static const char tuning_text[] =
    "/* And so does what pznet tune plans the network by, without its weights. */\n"
    "__asm__(\".section .pznet.tuning,\\\"\\\",@progbits\\ntuning:\\n.incbin \\\"tuning.json\\\"\\n.byte "
    "0\\n\"\n"
    "        \".section .pznet.manifest\\n.reloc 0, BFD_RELOC_NONE, tuning\\n.previous\\n\");\n";

pz_status pz_emit_manifest_text(const pz_plan *plan, const pz_emit_options *options, const char *self_test,
                                const char **json, pz_error *err) {
  pz_sources *steps, *outputs;
  PZ_TRY(pz_emit_flow(plan, plan->arena, &steps, &outputs, err));
  pz_json j = {0};
  json_t *locality;
  if (options->locality) locality = pz_json_read(&j, options->locality, strlen(options->locality), 0, NULL);
  else PZ_TRY(pz_locality_json(&j, plan->graph, &locality, err));
  json_t *m = manifest_json(&j, plan, options, self_test, locality, steps, outputs);
  char *text = pz_json_print(&j, m, JSON_INDENT(1));
  json_decref(m);
  *json = text ? pz_arena_strdup(plan->arena, text) : NULL;
  free(text);
  return *json ? PZ_OK : pz_fail_memory(err, "the manifest", 4096);
}

pz_status pz_emit_sections(pz_arena *arena, const char *folder, const char *manifest, const char *tuning,
                           pz_error *err) {
  const char *path = pz_arena_printf(arena, "%s/manifest.json", folder);
  const char *tuning_path = pz_arena_printf(arena, "%s/tuning.json", folder);
  const char *source = pz_arena_printf(arena, "%s/manifest.c", folder);
  const char *sections = pz_arena_printf(arena, "%s%s", section_text, tuning ? tuning_text : "");
  if (!path || !tuning_path || !source || !sections) return pz_fail_memory(err, "the manifest", 4096);
  PZ_TRY(pz_file_write_quick(path, manifest, strlen(manifest), err));
  if (tuning) PZ_TRY(pz_file_write_quick(tuning_path, tuning, strlen(tuning), err));
  return pz_file_write_quick(source, sections, strlen(sections), err);
}

pz_status pz_emit_manifest(const pz_plan *plan, const pz_emit_options *options, const char *self_test,
                           const char *folder, const char **json, pz_error *err) {
  const char *text;
  PZ_TRY(pz_emit_manifest_text(plan, options, self_test, &text, err));
  if (json) *json = text;
  return pz_emit_sections(plan->arena, folder, text, options->tuning, err);
}
