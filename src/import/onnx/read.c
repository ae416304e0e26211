/* read.c: model, graph, inputs and outputs. Fields that are not known mean nothing to what is computed, or are noted. */
#include "import/onnx/model.h"
#include <string.h>

#define MAX_TEXT 65536

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_FUNCTION = 25 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum {
  GRAPH_NODE = 1,
  GRAPH_NAME = 2,
  GRAPH_INITIALISER = 5,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  GRAPH_INFO = 13,
  GRAPH_SPARSE = 15,
  GRAPH_FIELDS
};
enum { INFO_NAME = 1, INFO_TYPE = 2 };
enum { TYPE_TENSOR = 1 };
enum { TENSOR_TYPE_ELEMENT = 1, TENSOR_TYPE_SHAPE = 2 };
enum { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_SYMBOL = 2 };

pz_status pz_onnx_read_text(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                            const char **text) {
  if (f->type != PZ_WIRE_BYTES) return pz_wire_fail(wire, wire->next, "expected a text here", r->err);
  if (f->size > MAX_TEXT) return pz_wire_fail(wire, f->bytes, "a name of more than 65536 bytes", r->err);
  if (f->size && memchr(f->bytes, 0, f->size))
    return pz_wire_fail(wire, f->bytes, "a name with a NUL byte", r->err);
  *text = pz_arena_strndup(r->arena, (const char *)f->bytes, f->size);
  return *text ? PZ_OK : pz_fail_memory(r->err, wire->file, f->size);
}

pz_status pz_onnx_count_fields(const pz_onnx_reader *r, pz_wire wire, int32_t n, int64_t *counts) {
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number < (uint32_t)n && f.type == PZ_WIRE_BYTES) counts[f.number]++;
  }
}

pz_status pz_onnx_room(const pz_onnx_reader *r, const pz_wire *wire, const char *what, int64_t count,
                       int64_t most, size_t size, void *entries) {
  if (count > most)
    return pz_fail(r->err, PZ_ERROR_INPUT, "%s: byte %zu: %lld %s, at most %lld are read", wire->file,
                   (size_t)(wire->next - wire->begin), (long long)count, what, (long long)most);
  void *room = pz_arena_alloc(r->arena, (size_t)count, size);
  if (!room) return pz_fail_memory(r->err, what, (unsigned long long)count * size);
  memcpy(entries, &room, sizeof room);
  return PZ_OK;
}

/* ---- inputs and outputs ---- */

static pz_status read_dim(const pz_onnx_reader *r, pz_wire wire, pz_onnx_value_info *info) {
  if (info->shape.rank == PZ_MAX_RANK)
    return pz_wire_fail(&wire, wire.next, "a shape of more than 8 dimensions", r->err);
  int32_t i = info->shape.rank++;
  info->shape.dim[i] = -1;
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == DIM_VALUE && f.type == PZ_WIRE_VARINT)
      info->shape.dim[i] = (int64_t)f.value > 0 ? (int64_t)f.value : -1;
    if (f.number == DIM_SYMBOL) PZ_TRY(pz_onnx_read_text(r, &wire, &f, &info->symbol[i]));
  }
}

static pz_status read_shape(const pz_onnx_reader *r, pz_wire wire, pz_onnx_value_info *info) {
  info->has_shape = true;
  info->shape.rank = 0;
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == SHAPE_DIM && f.type == PZ_WIRE_BYTES)
      PZ_TRY(read_dim(r, pz_wire_inside(&wire, &f), info));
  }
}

static pz_status read_tensor_type(const pz_onnx_reader *r, pz_wire wire, pz_onnx_value_info *info) {
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == TENSOR_TYPE_ELEMENT && f.type == PZ_WIRE_VARINT) info->type = (int64_t)f.value;
    if (f.number == TENSOR_TYPE_SHAPE && f.type == PZ_WIRE_BYTES)
      PZ_TRY(read_shape(r, pz_wire_inside(&wire, &f), info));
  }
}

static pz_status read_type(const pz_onnx_reader *r, pz_wire wire, pz_onnx_value_info *info) {
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == TYPE_TENSOR && f.type == PZ_WIRE_BYTES)
      PZ_TRY(read_tensor_type(r, pz_wire_inside(&wire, &f), info));
  }
}

static pz_status read_info(const pz_onnx_reader *r, pz_wire wire, pz_onnx_value_info *info) {
  info->name = "";
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == INFO_NAME) PZ_TRY(pz_onnx_read_text(r, &wire, &f, &info->name));
    if (f.number == INFO_TYPE && f.type == PZ_WIRE_BYTES)
      PZ_TRY(read_type(r, pz_wire_inside(&wire, &f), info));
  }
}

/* ---- graph ---- */

static pz_status make_room(const pz_onnx_reader *r, const pz_wire *wire, pz_onnx_graph *g) {
  int64_t counts[GRAPH_FIELDS] = {0};
  PZ_TRY(pz_onnx_count_fields(r, *wire, GRAPH_FIELDS, counts));
  PZ_TRY(pz_onnx_room(r, wire, "nodes", counts[GRAPH_NODE], PZ_MAX_NODES, sizeof *g->nodes, &g->nodes));
  PZ_TRY(pz_onnx_room(r, wire, "initialisers", counts[GRAPH_INITIALISER], PZ_MAX_TENSORS,
                      sizeof *g->initialisers, &g->initialisers));
  PZ_TRY(pz_onnx_room(r, wire, "inputs", counts[GRAPH_INPUT], PZ_MAX_TENSORS, sizeof *g->inputs, &g->inputs));
  g->sparse = counts[GRAPH_SPARSE] > 0;
  return pz_onnx_room(r, wire, "outputs", counts[GRAPH_OUTPUT], PZ_ONNX_MAX_NAMES, sizeof *g->outputs,
                      &g->outputs);
}

static pz_status read_part(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                           pz_onnx_graph *g) {
  if (f->number == GRAPH_NAME) return pz_onnx_read_text(r, wire, f, &g->name);
  if (f->type != PZ_WIRE_BYTES) return PZ_OK;
  const pz_wire inside = pz_wire_inside(wire, f);
  switch (f->number) {
  case GRAPH_NODE: return pz_onnx_read_node(r, inside, &g->nodes[g->n_nodes++]);
  case GRAPH_INITIALISER: return pz_onnx_read_tensor(r, inside, &g->initialisers[g->n_initialisers++]);
  case GRAPH_INPUT: return read_info(r, inside, &g->inputs[g->n_inputs++]);
  case GRAPH_OUTPUT: return read_info(r, inside, &g->outputs[g->n_outputs++]);
  default: return PZ_OK;
  }
}

pz_status pz_onnx_read_graph(const pz_onnx_reader *r, pz_wire wire, pz_onnx_graph *g) {
  *g = (pz_onnx_graph){.name = "", .message = wire};
  PZ_TRY(make_room(r, &wire, g));
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    PZ_TRY(read_part(r, &wire, &f, g));
  }
}

pz_status pz_onnx_read_infos(const pz_onnx_reader *r, const pz_onnx_graph *graph,
                             const pz_onnx_value_info **infos, int32_t *n) {
  pz_wire wire = graph->message;
  int64_t counts[GRAPH_FIELDS] = {0};
  pz_onnx_value_info *list;
  *n = 0;
  PZ_TRY(pz_onnx_count_fields(r, wire, GRAPH_FIELDS, counts));
  PZ_TRY(pz_onnx_room(r, &wire, "values with shapes", counts[GRAPH_INFO], 8 * PZ_MAX_TENSORS, sizeof *list,
                      &list));
  *infos = list;
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == GRAPH_INFO && f.type == PZ_WIRE_BYTES)
      PZ_TRY(read_info(r, pz_wire_inside(&wire, &f), &list[(*n)++]));
  }
}

/* ---- model ---- */

static pz_status read_opset(const pz_onnx_reader *r, pz_wire wire, pz_onnx_model *model) {
  const char *domain = "";
  int64_t version = 0;
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) break;
    if (f.number == OPSET_DOMAIN) PZ_TRY(pz_onnx_read_text(r, &wire, &f, &domain));
    if (f.number == OPSET_VERSION && f.type == PZ_WIRE_VARINT) version = (int64_t)f.value;
  }
  if (!*domain || !strcmp(domain, "ai.onnx")) model->opset = version;
  return PZ_OK;
}

pz_status pz_onnx_read_model(const pz_onnx_reader *r, pz_wire wire, pz_onnx_model *model) {
  *model = (pz_onnx_model){0};
  for (pz_wire_field f;;) {
    PZ_TRY(pz_wire_next(&wire, &f, r->err));
    if (!f.number) return PZ_OK;
    if (f.number == MODEL_IR_VERSION && f.type == PZ_WIRE_VARINT) model->ir_version = (int64_t)f.value;
    if (f.type != PZ_WIRE_BYTES) continue;
    if (f.number == MODEL_FUNCTION) model->n_functions++;
    if (f.number == MODEL_PRODUCER) PZ_TRY(pz_onnx_read_text(r, &wire, &f, &model->producer));
    if (f.number == MODEL_OPSET) PZ_TRY(read_opset(r, pz_wire_inside(&wire, &f), model));
    if (f.number != MODEL_GRAPH) continue;
    if (model->has_graph) return pz_wire_fail(&wire, f.bytes, "a second graph", r->err);
    model->has_graph = true;
    PZ_TRY(pz_onnx_read_graph(r, pz_wire_inside(&wire, &f), &model->graph));
  }
}
