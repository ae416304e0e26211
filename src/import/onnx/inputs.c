/* inputs.c: inputs of the model. All shapes of a graph are numbers: symbolic sizes are those that --input gives, or that it
 * gives to the same symbol elsewhere; a batch size that is the only symbol is 1. */
#include "base/inert.h"
#include "import/onnx/onnx.h"
#include <stdlib.h>
#include <string.h>

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

/* "#2" is the second input, unless one has that name: for names that a command line cannot show. -1: none. */
static int32_t find_input(const pz_onnx *c, const char *option) {
  const pz_onnx_graph *g = &c->model.graph;
  char *end = NULL;
  long number = *option == '#' && option[1] >= '1' && option[1] <= '9' ? strtol(option + 1, &end, 10) : 0;
  int32_t at = -1;
  if (end && *end) number = 0;
  for (int32_t i = 0; i < g->n_inputs; i++) {
    if (is_initialiser(c, g->inputs[i].name)) continue;
    if (!strcmp(g->inputs[i].name, option)) return i;
    if (--number == 0) at = i;
  }
  return at;
}

/* Of two for one input the last one holds. */
static pz_status match_options(pz_onnx *c) {
  c->input_options = PZ_NEW(c->arena, const pz_import_shape *, c->model.graph.n_inputs);
  if (!c->input_options) return pz_onnx_no_memory(c);
  for (int32_t k = 0; k < c->options->n_shapes; k++) {
    const int32_t i = find_input(c, c->options->shapes[k].input);
    if (i < 0) return fail_option(c, c->options->shapes[k].input);
    c->input_options[i] = &c->options->shapes[k];
  }
  return PZ_OK;
}

/* ---- shapes ---- */

/* What --input gives to a symbol, in whichever input; -1. */
static int64_t find_symbol(const pz_onnx *c, const char *symbol) {
  const pz_onnx_graph *g = &c->model.graph;
  for (int32_t i = 0; i < g->n_inputs && symbol && c->options->n_shapes; i++) {
    const pz_import_shape *option = c->input_options[i];
    for (int32_t d = 0; option && d < g->inputs[i].shape.rank && d < option->shape.rank; d++)
      if (g->inputs[i].symbol[d] && !strcmp(g->inputs[i].symbol[d], symbol)) return option->shape.dim[d];
  }
  return -1;
}

/* "1x3xHxW"; sizes without a symbol are "?". */
static void print_shape(const pz_onnx_value_info *info, pz_text *out) {
  for (int32_t d = 0; d < info->shape.rank; d++) {
    pz_text_append(out, d ? "x" : "");
    if (info->shape.dim[d] > 0) pz_text_printf(out, "%lld", (long long)info->shape.dim[d]);
    else pz_inert_append(out, info->symbol[d] && *info->symbol[d] ? info->symbol[d] : "?");
  }
  if (!info->shape.rank) pz_text_append(out, info->has_shape ? "scalar" : "of unknown shape");
}

/* ---- the line that fixes sizes ---- */

/* "<H>": a symbol in letters that a line can hold, else "<size3>". */
static void print_open(const char *symbol, int32_t d, pz_text *out) {
  static const char *const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  if (!symbol || !*symbol) {
    pz_text_printf(out, "<size%d>", (int)d + 1);
    return;
  }
  pz_text_append(out, "<");
  for (int32_t i = 0; symbol[i] && i < 40; i++)
    pz_text_printf(out, "%c", strchr(letters, symbol[i]) ? symbol[i] : '_');
  pz_text_append(out, ">");
}

/* Sizes that are open in <>; a first one alone is the batch: 1. */
static void print_wanted(const pz_onnx_value_info *info, const pz_shape *shape, pz_text *out) {
  if (!info->has_shape) pz_text_append(out, "<shape>");
  for (int32_t d = 0; info->has_shape && d < shape->rank; d++) {
    pz_text_append(out, d ? "x" : "");
    if (shape->dim[d] > 0) pz_text_printf(out, "%lld", (long long)shape->dim[d]);
    else if (!d && shape->rank > 1) pz_text_append(out, "1");
    else print_open(info->symbol[d], d, out);
  }
}

/* Inside of single quotes, as a shell reads it. Names that a message cannot show as they are go by their number. */
static void print_name(const pz_onnx *c, const pz_onnx_value_info *info, pz_text *out) {
  bool plain = strlen(info->name) <= 100 && *info->name;
  int32_t number = 1;
  for (const char *p = info->name; *p; p++) plain &= *p >= 0x20 && *p < 0x7f && *p != '\\';
  for (const pz_onnx_value_info *i = c->model.graph.inputs; i < info; i++)
    number += !is_initialiser(c, i->name);
  if (!plain) pz_text_printf(out, "#%d", (int)number);
  for (const char *p = info->name; plain && *p; p++) pz_text_printf(out, *p == '\'' ? "'\\''" : "%c", *p);
}

static void note_open(const pz_onnx *c, const pz_onnx_value_info *info, const pz_shape *shape, pz_text *line,
                      pz_text *open) {
  pz_text_printf(open, "%sinput '%.100s' is ", open->size ? "; " : "", info->name);
  print_shape(info, open);
  pz_text_append(line, " --input '");
  print_name(c, info, line);
  pz_text_append(line, "=");
  print_wanted(info, shape, line);
  pz_text_append(line, "'");
}

static pz_status fail_open(pz_onnx *c, const pz_text *line, const pz_text *open) {
  if (line->failed || open->failed) return pz_onnx_no_memory(c);
  return pz_fail(c->err, PZ_ERROR_INPUT, "%s: %.1000s. Give the sizes in <> as numbers:%s", c->file,
                 open->data, line->data);
}

static void note_batch(pz_onnx *c, const pz_onnx_value_info *info) {
  pz_text *notes = c->options->notes;
  if (!notes) return;
  const char *symbol = info->symbol[0] && *info->symbol[0] ? info->symbol[0] : "the batch size";
  pz_text_append(notes, "input '");
  pz_inert_append(notes, info->name);
  pz_text_append(notes, "' is ");
  print_shape(info, notes);
  pz_text_append(notes, ": ");
  pz_inert_append(notes, symbol);
  pz_text_append(notes, " was set to 1; --input '");
  print_name(c, info, notes);
  pz_text_append(notes, "=SHAPE' gives another\n");
}

/* *fixed: all sizes are known. */
static pz_status find_shape(pz_onnx *c, const pz_onnx_value_info *info, pz_shape *shape, bool *fixed) {
  const pz_import_shape *option = c->input_options[info - c->model.graph.inputs];
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

void pz_onnx_want(pz_onnx *c, const pz_onnx_value *v) {
  const pz_onnx_type_traits *t = pz_onnx_type_get(v->type);
  static const char kinds[] = {[PZ_ONNX_FLOATING] = 'f', [PZ_ONNX_SIGNED] = 'i', [PZ_ONNX_UNSIGNED] = 'u'};
  pz_dtype type = PZ_BF16;
  if (!t || v->type == PZ_ONNX_BOOL || t->bits % 8) return;
  if (v->type != PZ_ONNX_BFLOAT16 && !pz_dtype_find(kinds[t->class], t->bits / 8, &type)) return;
  if (pz_type_of_tensors(type)) c->graph->tensors[v->tensor].wanted = type;
}

static pz_status add_input(pz_onnx *c, const pz_onnx_value_info *info, pz_text *line, pz_text *open) {
  int32_t index;
  pz_shape shape;
  bool fixed;
  if (!pz_onnx_type_get(info->type))
    return pz_fail(c->err, PZ_ERROR_INPUT, "%s: input '%.200s' is not a tensor of numbers", c->file,
                   info->name);
  PZ_TRY(pz_onnx_add_value(c, info->name, &index));
  PZ_TRY(find_shape(c, info, &shape, &fixed));
  if (!fixed) {
    note_open(c, info, &shape, line, open);
    return PZ_OK;
  }
  pz_onnx_value *v = &c->values[index];
  v->state = PZ_ONNX_READY;
  v->type = (pz_onnx_type)info->type;
  v->range = pz_onnx_range_of(v->type);
  PZ_TRY(pz_graph_add_input(c->graph, info->name, &shape, &v->tensor, c->err));
  pz_onnx_want(c, v);
  return PZ_OK;
}

pz_status pz_onnx_add_inputs(pz_onnx *c) {
  const pz_onnx_graph *g = &c->model.graph;
  pz_text open = {0}, line = {0};
  pz_status status = match_options(c);
  for (int32_t i = 0; i < g->n_inputs && status == PZ_OK; i++)
    if (!is_initialiser(c, g->inputs[i].name)) status = add_input(c, &g->inputs[i], &line, &open);
  if (status == PZ_OK && (open.size || open.failed || line.failed)) status = fail_open(c, &line, &open);
  pz_text_free(&open);
  pz_text_free(&line);
  return status;
}
