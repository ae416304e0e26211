/* rows.c: rows whose number is known only when the network runs: what NonMaxSuppression gives. In the graph there are as many as there can
 * be, and those that are left come last and are -1. What an operator makes of such rows is taken where each row of the result comes from the same row of
 * its inputs, so that rows that are left stay the last ones; where it is not -1 then, it becomes so where it matters. All else is refused. */
#include "import/onnx/onnx.h"
#include <math.h>
#include <string.h>

#define REASON "rows of NonMaxSuppression's result, whose number is not known when compiling"

/* Whether input i has such rows; of those that are there. */
static const pz_onnx_value *rows_in(const pz_onnx *c, int32_t i) {
  const pz_onnx_value *v = pz_onnx_in(c, i);
  return v && v->rows ? v : NULL;
}

/* ---- images, classes and boxes: how great the entries of a row may be ---- */

static int64_t begin_of(const pz_node *slice, pz_tensor_id part) {
  int32_t k = 0;
  while (k < slice->n_out - 1 && slice->out[k] != part) k++;
  return slice->attr.slice.begin[k];
}

/* Entry i of a row of one of the node's inputs, which entry *i of a row of `to` is; *from PZ_NONE: it is none. */
static void step_back(const pz_graph *g, const pz_node *node, pz_tensor_id to, pz_tensor_id *from,
                      int64_t *i) {
  const bool table = g->tensors[node->in[0]].shape.rank == 2 && g->tensors[to].shape.rank == 2;
  *from = node->in[0];
  if (node->op == PZ_OP_IDENTITY || node->op == PZ_OP_RESHAPE) return;
  if (node->op == PZ_OP_CROP && table) *i = node->attr.crop.offset[1] + *i * node->attr.crop.step[1];
  else if (node->op == PZ_OP_GATHER && table && node->attr.gather.axis == 1)
    *i = node->attr.gather.index.entries[*i];
  else if (node->op == PZ_OP_SLICE && table && node->attr.slice.axis == 1) *i += begin_of(node, to);
  else *from = PZ_NONE;
}

static void step_back_concat(const pz_graph *g, const pz_node *node, pz_tensor_id *from, int64_t *i) {
  *from = PZ_NONE;
  if (node->attr.concat.axis != 1) return;
  for (int32_t k = 0; k < node->n_in; k++) {
    const pz_shape *x = &g->tensors[node->in[k]].shape;
    if (x->rank != 2) return;
    if (*i < x->dim[1]) {
      *from = node->in[k];
      return;
    }
    *i -= x->dim[1];
  }
}

/* Each step looks through the graph's nodes: of hostile models only so many are made. */
#define MOST_STEPS 4096

bool pz_onnx_range_of_entry(pz_onnx *c, pz_tensor_id x, int64_t i, pz_onnx_range *range) {
  const pz_graph *g = c->graph;
  while (x != PZ_NONE && c->row_steps++ < MOST_STEPS) {
    const pz_node_id id = pz_graph_producer(g, x);
    if (id == PZ_NONE) return false;
    const pz_node *node = &g->nodes[id];
    if (node->op == PZ_OP_NON_MAX_SUPPRESSION) {
      *range = (pz_onnx_range){0, (double)g->tensors[node->in[1]].shape.dim[i] - 1};
      return true;
    }
    if (node->op == PZ_OP_CONCAT) step_back_concat(g, node, &x, &i);
    else step_back(g, node, x, &x, &i);
  }
  return false;
}

/* ---- which operators, and how ---- */

/* All inputs with rows have the same ones. */
static bool agree(const pz_onnx *c, const pz_onnx_rows **rows) {
  *rows = NULL;
  for (int32_t i = 0; i < c->node->n_in; i++) {
    const pz_onnx_value *v = rows_in(c, i);
    if (v && *rows && v->rows != *rows) return false;
    if (v) *rows = v->rows;
  }
  return true;
}

static pz_status always(pz_onnx *c, bool *good) {
  (void)c;
  *good = true;
  return PZ_OK;
}

/* The axis is not that of the rows. */
static pz_status by_axis(pz_onnx *c, int64_t preset, bool *good) {
  int32_t axis;
  PZ_TRY(pz_onnx_attr_axis(c, preset, pz_onnx_in_shape(c, 0)->rank, &axis));
  *good = axis != 0;
  return PZ_OK;
}
static pz_status split(pz_onnx *c, bool *good) { return by_axis(c, 0, good); }

/* Entries of each row, by constants; or rows by numbers that are rows: each number becomes one. */
static pz_status gather(pz_onnx *c, bool *good) {
  if (rows_in(c, 0)) return rows_in(c, 1) ? PZ_OK : by_axis(c, 0, good);
  int32_t axis;
  PZ_TRY(pz_onnx_attr_axis(c, 0, pz_onnx_in_shape(c, 0)->rank, &axis));
  *good = axis == 0;
  return PZ_OK;
}

static pz_status gather_nd(pz_onnx *c, bool *good) {
  int64_t batch;
  PZ_TRY(pz_onnx_attr_int(c, "batch_dims", 0, &batch));
  *good = batch == 0 && !rows_in(c, 0);
  return PZ_OK;
}

static pz_status concat(pz_onnx *c, bool *good) {
  PZ_TRY(by_axis(c, 1, good));
  for (int32_t i = 0; i < c->node->n_in; i++) *good &= rows_in(c, i) != NULL;
  return PZ_OK;
}

static pz_status slice(pz_onnx *c, bool *good) {
  const int64_t *axes;
  int32_t count;
  bool marks[PZ_MAX_RANK];
  PZ_TRY(pz_onnx_list(c, "axes", 3, 10, &axes, &count));
  PZ_TRY(pz_onnx_mark_axes(c, axes, count, pz_onnx_in_shape(c, 0)->rank, marks));
  *good = count > 0 && !marks[0];
  return PZ_OK;
}

static pz_status transpose(pz_onnx *c, bool *good) {
  const int64_t *perm;
  int32_t count;
  PZ_TRY(pz_onnx_attr_ints(c, "perm", &perm, &count));
  *good = count > 0 && perm[0] == 0;
  return PZ_OK;
}

/* -1 is a number of the type. */
static bool has_minus_one(pz_onnx_type type) { return pz_onnx_range_of(type).low <= -1; }

/* Element by element: what has no rows is the same for each of them. */
static pz_status each(pz_onnx *c, bool *good) {
  int32_t rank = 0;
  *good = true;
  for (int32_t i = 0; i < c->node->n_in; i++)
    if (pz_onnx_has(c, i) && pz_onnx_in_shape(c, i)->rank > rank) rank = pz_onnx_in_shape(c, i)->rank;
  for (int32_t i = 0; i < c->node->n_in; i++) {
    if (!pz_onnx_has(c, i)) continue;
    const pz_shape *x = pz_onnx_in_shape(c, i);
    *good &= rows_in(c, i) ? x->rank == rank : x->rank < rank || x->dim[0] == 1;
  }
  return PZ_OK;
}

/* changes: rows that are left may not be -1 then. */
typedef struct row {
  const char *op;
  pz_status (*check)(pz_onnx *c, bool *good);
  bool changes;
} row;
static const row table[] = {
    {"Identity", always, false},
    {"Cast", always, false},
    {"Reshape", always, false},
    {"Flatten", always, false},
    {"Squeeze", always, false},
    {"Unsqueeze", always, false},
    {"Split", split, false},
    {"Concat", concat, false},
    {"Gather", gather, false},
    {"GatherND", gather_nd, false},
    {"Slice", slice, false},
    {"Transpose", transpose, false},
    {"Add", each, true},
    {"Sub", each, true},
    {"Mul", each, true},
    {"Div", each, true},
    {"Mod", each, true},
    {"Max", each, true},
    {"Min", each, true},
    {"Clip", each, true},
    {"Neg", each, true},
    {"Abs", each, true},
    {"Exp", each, true},
    {"Sqrt", each, true},
    {"Floor", each, true},
    {"Ceil", each, true},
    {"Round", each, true},
    {"Relu", each, true},
    {"Sigmoid", each, true},
    {"Less", each, true},
    {"LessOrEqual", each, true},
    {"Greater", each, true},
    {"GreaterOrEqual", each, true},
    {"Equal", each, true},
    {"And", each, true},
    {"Or", each, true},
    {"Not", each, true},
    {"Where", each, true},
};

static const row *find(const char *op) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].op, op)) return &table[i];
  return NULL;
}

pz_status pz_onnx_check_rows(pz_onnx *c) {
  const pz_onnx_rows *rows;
  const bool same = agree(c, &rows);
  const row *r = rows && c->row ? find(c->node->op) : NULL;
  bool good = false;
  if (!rows) return PZ_OK;
  for (int32_t i = 0; i < c->node->n_in; i++) /* which may have had rows too */
    c->guessed |= pz_onnx_has(c, i) && pz_onnx_in(c, i)->state == PZ_ONNX_REFUSED;
  if (r && same) PZ_TRY(r->check(c, &good));
  return good ? PZ_OK : pz_onnx_refuse(c, REASON);
}

/* Whether rows that are left are -1 in all inputs that have rows. */
static bool all_filled(const pz_onnx *c) {
  for (int32_t i = 0; i < c->node->n_in; i++)
    if (rows_in(c, i) && !rows_in(c, i)->filled) return false;
  return true;
}

static pz_status pass_on(pz_onnx *c, const pz_onnx_rows *rows, bool filled, pz_onnx_value *v) {
  const pz_shape *out = v->tensor == PZ_NONE ? NULL : pz_onnx_shape(c, v->tensor);
  if (!out || !out->rank || out->dim[0] != rows->n) return pz_onnx_refuse(c, REASON);
  v->rows = rows;
  v->filled = filled && has_minus_one(v->type);
  pz_onnx_range all = {(double)INFINITY, -(double)INFINITY}, one;
  if (pz_onnx_is_floating(v->type)) return PZ_OK;
  for (int64_t i = 0; i < pz_shape_elements(out) / rows->n; i++) {
    if (!pz_onnx_range_of_entry(c, v->tensor, i, &one)) return PZ_OK;
    all = (pz_onnx_range){fmin(all.low, one.low), fmax(all.high, one.high)};
  }
  v->range = all;
  return PZ_OK;
}

pz_status pz_onnx_pass_rows(pz_onnx *c) {
  const pz_onnx_rows *rows;
  agree(c, &rows);
  if (!rows) return PZ_OK;
  const bool gathers = c->node->n_in > 1 && !strncmp(c->node->op, "Gather", 6) && rows_in(c, 1),
             filled = gathers || (all_filled(c) && !find(c->node->op)->changes);
  for (int32_t i = 0; i < c->node->n_out; i++) {
    if (!pz_onnx_wants(c, i)) continue;
    pz_onnx_value *v = &c->values[pz_onnx_find_value(c, c->node->out[i])];
    if (v->state == PZ_ONNX_READY) PZ_TRY(pass_on(c, rows, filled, v));
  }
  return PZ_OK;
}

/* ---- rows of -1 ---- */

pz_status pz_onnx_give_rows(pz_onnx *c, pz_tensor_id x, pz_onnx_range range) {
  pz_onnx_rows *rows = PZ_NEW(c->arena, pz_onnx_rows, 1);
  if (!rows) return pz_onnx_no_memory(c);
  PZ_TRY(pz_onnx_give_in(c, 0, x, PZ_ONNX_INT64, range));
  *rows = (pz_onnx_rows){.tensor = x, .n = pz_onnx_shape(c, x)->dim[0]};
  if (!pz_onnx_wants(c, 0)) return PZ_OK;
  pz_onnx_value *v = &c->values[pz_onnx_find_value(c, c->node->out[0])];
  v->rows = rows;
  v->filled = true;
  return PZ_OK;
}

/* 1 for each row that is there, of so many dimensions. */
static pz_status there(pz_onnx *c, const pz_onnx_rows *rows, int32_t rank, pz_tensor_id *mask) {
  const float minus = -1;
  pz_node crop = pz_node_new(PZ_OP_CROP);
  pz_shape column = {.rank = rank}, one = {.rank = rank};
  pz_tensor_id both[2] = {PZ_NONE, rows->tensor};
  crop.attr.crop.size[0] = rows->n;
  crop.attr.crop.size[1] = 1;
  for (int32_t d = 0; d < rank; d++) column.dim[d] = d ? 1 : rows->n, one.dim[d] = 1;
  PZ_TRY(pz_onnx_apply(c, &crop, "first", &both[1]));
  PZ_TRY(pz_onnx_reshape_to(c, &column, &both[1]));
  PZ_TRY(pz_onnx_add_constant(c, "none", &one, &minus, &both[0]));
  pz_node less = pz_node_new(PZ_OP_ELTWISE);
  less.attr.eltwise.kind = PZ_ELT_LESS;
  return pz_onnx_add(c, &less, "there", 2, both, mask);
}

pz_status pz_onnx_fill_rows(pz_onnx *c, const pz_onnx_value *v, pz_tensor_id *x) {
  const float minus = -1;
  const int32_t rank = pz_onnx_shape(c, *x)->rank;
  pz_tensor_id in[3] = {PZ_NONE, *x, PZ_NONE};
  pz_shape one = {.rank = rank};
  for (int32_t d = 0; d < rank; d++) one.dim[d] = 1;
  if (!v->rows || v->filled) return PZ_OK;
  if (!has_minus_one(v->type))
    return pz_onnx_refuse(c,
                          "rows of NonMaxSuppression's result as %s, which has no -1 for rows that are left",
                          pz_onnx_type_name(v->type));
  PZ_TRY(there(c, v->rows, rank, &in[0]));
  PZ_TRY(pz_onnx_add_constant(c, "left", &one, &minus, &in[2]));
  pz_node select = pz_node_new(PZ_OP_ELTWISE);
  select.attr.eltwise.kind = PZ_ELT_SELECT;
  return pz_onnx_add(c, &select, "rows", 3, in, x);
}
