/* behind.c: values of a node that is not supported: what is known of them all the same, so that nodes behind it can be judged,
 * and nothing is listed that may only be a consequence. */
#include "import/onnx/onnx.h"
#include <string.h>

static pz_status index_infos(pz_onnx *c) {
  const pz_onnx_reader reader = {c->arena, c->err};
  const pz_onnx_graph *g = &c->model.graph;
  int32_t n = 0;
  PZ_TRY(pz_onnx_read_infos(&reader, g, &c->infos, &n));
  for (int32_t i = 0; i < n; i++)
    if (!pz_import_names_put(&c->info_index, c->infos[i].name, i)) return pz_onnx_no_memory(c);
  return PZ_OK;
}

/* What the model says of a value stands for it: a tensor that nothing makes. So what reads it is looked at as ever. Of
 * what may be sizes only floats do. */
static pz_status stand_in(pz_onnx *c, pz_onnx_value *v) {
  if (!c->infos) PZ_TRY(index_infos(c));
  const int32_t at = pz_import_names_find(&c->info_index, v->name);
  const pz_onnx_value_info *info = at < 0 ? NULL : &c->infos[at];
  if (info && v->doubt == PZ_ONNX_SIZES && !pz_onnx_is_floating((pz_onnx_type)info->type)) return PZ_OK;
  if (!info || !info->has_shape || !pz_onnx_type_get(info->type) || !pz_shape_valid(&info->shape, NULL))
    return PZ_OK;
  const char *name = pz_onnx_fresh_name(c, v->name);
  if (!name) return pz_onnx_no_memory(c);
  PZ_TRY(pz_graph_add_input(c->graph, name, &info->shape, &v->tensor, c->err));
  v->state = PZ_ONNX_READY;
  v->doubt = PZ_ONNX_COMPUTED;
  v->type = (pz_onnx_type)info->type;
  v->range = pz_onnx_range_of(v->type);
  return PZ_OK;
}

/* What networks are made of: nobody computes sizes by these. */
static bool is_layer(const pz_onnx_operator *row) {
  static const char *const names[] = {
      "Conv",          "ConvTranspose",         "MaxPool", "AveragePool",
      "GlobalMaxPool", "GlobalAveragePool",     "LRN",     "BatchNormalization",
      "Gemm",          "InstanceNormalization", "MatMul",  "GroupNormalization",
      "Softmax",       "LayerNormalization"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], row->op)) return true;
  return false;
}

static pz_onnx_doubt doubt_of_outputs(const pz_onnx *c) {
  pz_onnx_doubt least = PZ_ONNX_CONSTANT;
  if (c->row && (c->row->types == PZ_ONNX_SHAPES || c->row->types == PZ_ONNX_GRAPHS)) return least;
  for (int32_t i = 0; i < c->node->n_in; i++) {
    const pz_onnx_value *v = pz_onnx_in(c, i);
    if (v && !v->known && v->doubt < least) least = v->doubt;
  }
  if (!c->row) return least == PZ_ONNX_COMPUTED ? PZ_ONNX_SIZES : least;
  return least == PZ_ONNX_SIZES && is_layer(c->row) ? PZ_ONNX_COMPUTED : least;
}

pz_status pz_onnx_refuse_outputs(pz_onnx *c, bool all) {
  const pz_onnx_doubt doubt = doubt_of_outputs(c);
  for (int32_t i = 0; i < c->node->n_out; i++) {
    if (!pz_onnx_wants(c, i)) continue;
    pz_onnx_value *v = &c->values[pz_onnx_find_value(c, c->node->out[i])];
    if (v->state == PZ_ONNX_READY && !all) continue;
    *v = (pz_onnx_value){.name = v->name, .state = PZ_ONNX_REFUSED, .tensor = PZ_NONE, .doubt = doubt};
    if (doubt != PZ_ONNX_CONSTANT) PZ_TRY(stand_in(c, v));
  }
  return PZ_OK;
}
