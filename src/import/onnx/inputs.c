/* inputs.c: inputs of the model. All shapes of a graph are numbers: symbolic sizes are those that --input gives, or that it
 * gives to the same symbol elsewhere; a batch size that is the only symbol is 1. */
#include "base/inert.h"
#include "import/onnx/onnx.h"
#include <string.h>

static const pz_import_shape *find_option(const pz_onnx *c, const char *name) {
  for (int32_t i = c->options->n_shapes - 1; i >= 0; i--)
    if (!strcmp(c->options->shapes[i].input, name)) return &c->options->shapes[i];
  return NULL;
}

/* An initialiser that is listed among the inputs, as before IR version 4, is no input. */
static bool is_initialiser(const pz_onnx *c, const char *name) {
  const int32_t i = pz_onnx_find_value(c, name);
  return i >= 0 && c->values[i].known;
}

/* ---- --input ---- */

static pz_status fail_option(pz_onnx *c, const char *name) {
  pz_text list = {0};
  const pz_onnx_graph *g = &c->model.graph;
  for (int32_t i = 0; i < g->n_inputs && list.size < 500; i++)
    if (!is_initialiser(c, g->inputs[i].name))
      pz_text_printf(&list, "%s'%.48s'", list.size ? ", " : "", g->inputs[i].name);
  const pz_status status =
      list.failed ? pz_onnx_no_memory(c)
                  : pz_fail(c->err, PZ_ERROR_USAGE, "%s: has no input '%.200s'; its inputs are %s", c->file,
                            name, list.data ? list.data : "none");
  pz_text_free(&list);
  return status;
}

static pz_status check_options(pz_onnx *c) {
  const pz_onnx_graph *g = &c->model.graph;
  for (int32_t k = 0; k < c->options->n_shapes; k++) {
    const char *name = c->options->shapes[k].input;
    bool found = false;
    for (int32_t i = 0; i < g->n_inputs && !found; i++)
      found = !strcmp(g->inputs[i].name, name) && !is_initialiser(c, name);
    if (!found) return fail_option(c, name);
  }
  return PZ_OK;
}

/* ---- shapes ---- */

/* What --input gives to a symbol, in whichever input; -1. */
static int64_t find_symbol(const pz_onnx *c, const char *symbol) {
  const pz_onnx_graph *g = &c->model.graph;
  for (int32_t i = 0; i < g->n_inputs && symbol && c->options->n_shapes; i++) {
    const pz_import_shape *option = find_option(c, g->inputs[i].name);
    for (int32_t d = 0; option && d < g->inputs[i].shape.rank && d < option->shape.rank; d++)
      if (g->inputs[i].symbol[d] && !strcmp(g->inputs[i].symbol[d], symbol)) return option->shape.dim[d];
  }
  return -1;
}

/* "1x3xHxW"; sizes without a symbol are "?". batch: a first size that is open is 1. */
static void print_shape(const pz_onnx_value_info *info, bool batch, pz_text *out) {
  for (int32_t d = 0; d < info->shape.rank; d++) {
    pz_text_append(out, d ? "x" : "");
    if (info->shape.dim[d] > 0 || (batch && !d))
      pz_text_printf(out, "%lld", info->shape.dim[d] > 0 ? (long long)info->shape.dim[d] : 1LL);
    else pz_inert_append(out, info->symbol[d] && *info->symbol[d] ? info->symbol[d] : "?");
  }
  if (!info->shape.rank) pz_text_append(out, info->has_shape ? "scalar" : "of unknown shape");
}

static void note_open(const pz_onnx_value_info *info, pz_text *open) {
  pz_text_printf(open, "%sinput '%.100s' is ", open->size ? "; " : "", info->name);
  print_shape(info, false, open);
  pz_text_append(open, ", fix its sizes with --input ");
  pz_inert_shell(open, info->name);
  pz_text_append(open, "=");
  if (info->has_shape) print_shape(info, true, open);
  else pz_text_append(open, "SHAPE");
}

static void note_batch(pz_onnx *c, const pz_onnx_value_info *info) {
  pz_text *notes = c->options->notes;
  if (!notes) return;
  const char *symbol = info->symbol[0] && *info->symbol[0] ? info->symbol[0] : "the batch size";
  pz_text_append(notes, "input '");
  pz_inert_append(notes, info->name);
  pz_text_append(notes, "' is ");
  print_shape(info, false, notes);
  pz_text_append(notes, ": ");
  pz_inert_append(notes, symbol);
  pz_text_append(notes, " was set to 1; --input ");
  pz_inert_shell(notes, info->name);
  pz_text_append(notes, "=SHAPE gives another\n");
}

/* *fixed: all sizes are known. */
static pz_status find_shape(pz_onnx *c, const pz_onnx_value_info *info, pz_shape *shape, bool *fixed) {
  const pz_import_shape *option = find_option(c, info->name);
  *shape = option ? option->shape : info->shape;
  *fixed = option || info->has_shape;
  if (option && info->has_shape && option->shape.rank != info->shape.rank)
    return pz_fail(c->err, PZ_ERROR_USAGE, "%s: input '%.200s' has %d dimensions, --input gives it %d",
                   c->file, info->name, (int)info->shape.rank, (int)option->shape.rank);
  for (int32_t d = 0; d < shape->rank; d++)
    if (shape->dim[d] < 0) shape->dim[d] = find_symbol(c, info->symbol[d]);
  for (int32_t d = 1; d < shape->rank; d++) *fixed &= shape->dim[d] > 0;
  if (shape->rank && shape->dim[0] < 0) {
    *fixed &= shape->rank > 1;
    if (*fixed) {
      shape->dim[0] = 1;
      note_batch(c, info);
    }
  }
  return PZ_OK;
}

static pz_status add_input(pz_onnx *c, const pz_onnx_value_info *info, pz_text *open) {
  int32_t index;
  pz_shape shape;
  bool fixed;
  if (!pz_onnx_type_get(info->type))
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: input '%.200s' is not a tensor of numbers", c->file,
                   info->name);
  PZ_TRY(pz_onnx_add_value(c, info->name, &index));
  PZ_TRY(find_shape(c, info, &shape, &fixed));
  if (!fixed) {
    note_open(info, open);
    return PZ_OK;
  }
  pz_onnx_value *v = &c->values[index];
  v->state = PZ_ONNX_READY;
  v->type = (pz_onnx_type)info->type;
  return pz_graph_add_input(c->graph, info->name, &shape, &v->tensor, c->err);
}

pz_status pz_onnx_add_inputs(pz_onnx *c) {
  const pz_onnx_graph *g = &c->model.graph;
  pz_text open = {0};
  pz_status status = check_options(c);
  for (int32_t i = 0; i < g->n_inputs && status == PZ_OK; i++)
    if (!is_initialiser(c, g->inputs[i].name)) status = add_input(c, &g->inputs[i], &open);
  if (status == PZ_OK && open.failed) status = pz_onnx_no_memory(c);
  if (status == PZ_OK && open.size) status = pz_fail(c->err, PZ_ERROR_INPUT, "%s: %s", c->file, open.data);
  pz_text_free(&open);
  return status;
}
