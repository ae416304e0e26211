/* attributes.c: the tables of operators, activations and attributes, and what follows from them. */
#include "graph/internal.h"
#include <string.h>

_Static_assert(offsetof(pz_attr_conv, pad_hi) == offsetof(pz_attr_conv, pad_lo) + sizeof(int32_t[PZ_SPATIAL]),
               "PADS takes pad_lo and pad_hi as neighbours");
_Static_assert(offsetof(pz_attr_pool, pad_hi) == offsetof(pz_attr_pool, pad_lo) + sizeof(int32_t[PZ_SPATIAL]),
               "PADS takes pad_lo and pad_hi as neighbours");

static const pz_attr_field fields[] = {
#define ATTR(op, member, keyword, kind, preset)                                                              \
  {PZ_OP_##op, keyword, PZ_ATTR_##kind, offsetof(pz_node, attr.member), preset},
#include "graph/attributes.inc"
#undef ATTR
    {PZ_OP_NONE, NULL, PZ_ATTR_KINDS, 0, 0}};

static const pz_op_traits ops[PZ_OP_COUNT] = {
#define OP(id, name, min_in, max_in, attr_type, family, layouts)                                             \
  {name, min_in, max_in, PZ_FAMILY_##family, PZ_LAYOUT_##layouts},
#include "graph/ops.inc"
#undef OP
};

static const struct {
  const char *name;
  bool uses_alpha, uses_beta, uses_slope, zero_at_zero;
} activations[PZ_ACT_COUNT] = {
    {"none", false, false, false, true},
#define ACTIVATION(id, name, uses_alpha, uses_beta, uses_slope, zero_at_zero)                                \
  {name, uses_alpha, uses_beta, uses_slope, zero_at_zero},
#include "graph/activations.inc"
#undef ACTIVATION
};

const pz_op_traits *pz_op_get(pz_op op) { return &ops[(unsigned)op < PZ_OP_COUNT ? op : PZ_OP_NONE]; }
const char *pz_op_name(pz_op op) { return pz_op_get(op)->name; }
pz_op pz_op_find(const char *name) {
  for (int op = PZ_OP_NONE + 1; op < PZ_OP_COUNT; op++)
    if (!strcmp(ops[op].name, name)) return (pz_op)op;
  return PZ_OP_NONE;
}

static pz_activation_kind known(pz_activation_kind kind) {
  return (unsigned)kind < PZ_ACT_COUNT ? kind : PZ_ACT_NONE;
}
const char *pz_activation_name(pz_activation_kind kind) { return activations[known(kind)].name; }
bool pz_activation_uses_alpha(pz_activation_kind kind) { return activations[known(kind)].uses_alpha; }
bool pz_activation_uses_beta(pz_activation_kind kind) { return activations[known(kind)].uses_beta; }
bool pz_activation_uses_slope(pz_activation_kind kind) { return activations[known(kind)].uses_slope; }
bool pz_activation_zero_at_zero(pz_activation_kind kind) { return activations[known(kind)].zero_at_zero; }

const char *const *pz_attr_enum_names(pz_attr_kind kind) {
  static const char *const pool[] = {"max", "ave", NULL};
  static const char *const divisor[] = {"caffe", "valid", "kernel", NULL};
  static const char *const eltwise[] = {"sum",  "prod",       "max",   "div",    "min", "pow",
                                        "less", "less_equal", "equal", "select", NULL};
  static const char *const resize[] = {"nearest", "linear", NULL};
  static const char *const coordinate[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                           NULL};
  static const char *const rounding[] = {"prefer_floor", "prefer_ceil", "floor", "ceil", NULL};
  static const char *const reduce[] = {"mean", "sum", "max", "min", NULL};
  static const char *const type[] = {
#define PZ_DTYPE(dtype, name, ...) #name,
#include "base/dtypes.inc"
#undef PZ_DTYPE
      NULL};
  static const char *const pad[] = {"constant", "edge", "reflect", "wrap", NULL};
  static const char *const *const names[PZ_ATTR_KINDS] = {
      [PZ_ATTR_POOL] = pool,         [PZ_ATTR_DIVISOR] = divisor, [PZ_ATTR_ELTWISE] = eltwise,
      [PZ_ATTR_RESIZE] = resize,     [PZ_ATTR_REDUCE] = reduce,   [PZ_ATTR_COORDINATE] = coordinate,
      [PZ_ATTR_ROUNDING] = rounding, [PZ_ATTR_PAD_KIND] = pad,    [PZ_ATTR_TYPE] = type};
  return names[kind];
}

const pz_attr_field *pz_attr_fields(pz_op op) {
  const pz_attr_field *field = fields;
  while (field->op != op && field->keyword) field++;
  return field;
}

void pz_attr_preset(pz_node *node, const pz_attr_field *field) {
  void *at = (char *)node + field->offset;
  int32_t *whole = at;
  int64_t *dims = at;
  float *real = at;
  int32_t entries = field->kind == PZ_ATTR_PADS ? 2 * PZ_SPATIAL : PZ_SPATIAL;
  switch (field->kind) {
  case PZ_ATTR_INT: *whole = (int32_t)field->preset; break;
  case PZ_ATTR_FLOAT: *real = field->preset; break;
  case PZ_ATTR_SIZES:
  case PZ_ATTR_PADS:
    for (int32_t i = 0; i < entries; i++) whole[i] = (int32_t)field->preset;
    break;
  case PZ_ATTR_DIMS:
    for (int32_t i = 0; i < PZ_MAX_RANK; i++) dims[i] = (int64_t)field->preset;
    break;
  case PZ_ATTR_ORDER:
    for (int32_t i = 0; i < PZ_MAX_RANK; i++) whole[i] = i;
    break;
  default: break; /* all bits zero: none, false, no list, the first of an enum */
  }
}

pz_node pz_node_new(pz_op op) {
  pz_node node;
  memset(&node, 0, sizeof node);
  node.op = op;
  for (const pz_attr_field *field = pz_attr_fields(op); field->keyword && field->op == op; field++)
    pz_attr_preset(&node, field);
  return node;
}

static bool own_list(pz_arena *arena, const void **list, size_t count, size_t size) {
  if (!*list) return true;
  void *copy = pz_arena_alloc(arena, count, size);
  if (copy) memcpy(copy, *list, count * size);
  *list = copy;
  return copy != NULL;
}

bool pz_attr_own(pz_arena *arena, pz_node *node) {
  if (node->op == PZ_OP_ELTWISE)
    return own_list(arena, (const void **)&node->attr.eltwise.coeff, (size_t)node->n_in, sizeof(float));
  if (node->op == PZ_OP_SLICE)
    return own_list(arena, (const void **)&node->attr.slice.begin, (size_t)node->n_out + 1, sizeof(int64_t));
  if (node->op == PZ_OP_GATHER)
    return own_list(arena, (const void **)&node->attr.gather.index.entries, (size_t)node->attr.gather.index.n,
                    sizeof(int64_t));
  if (node->op == PZ_OP_VOLUME_BORDER)
    return own_list(arena, (const void **)&node->attr.volume_border.axes.entries,
                    (size_t)node->attr.volume_border.axes.n, sizeof(int64_t));
  return true;
}
