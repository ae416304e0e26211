/* internal.h: what the files of src/graph share and nobody else includes. */
#ifndef PZ_GRAPH_INTERNAL_H
#define PZ_GRAPH_INTERNAL_H

#include "graph/graph.h"

/* ---- names.c: the index of names. Entries whose thing has been renamed or killed match no more. ---- */

typedef const char *(*pz_name_of)(const pz_graph *g, int32_t id);
const char *pz_tensor_name_of(const pz_graph *g, int32_t id);
const char *pz_node_name_of(const pz_graph *g, int32_t id); /* NULL for a killed node */

int32_t pz_names_find(const pz_graph *g, const pz_name_index *names, pz_name_of name_of, const char *name);
/* Room for `more` further names; fails only when out of memory, and then changes nothing. */
bool pz_names_reserve(pz_graph *g, pz_name_index *names, pz_name_of name_of, int32_t count, int32_t more);
void pz_names_add(const pz_graph *g, pz_name_index *names, pz_name_of name_of,
                  int32_t id); /* after a reserve */
void pz_names_rebuild(const pz_graph *g, pz_name_index *names, pz_name_of name_of, int32_t count);

/* ---- attributes.c: the table of attributes.inc ---- */

typedef enum pz_attr_kind {
  PZ_ATTR_INT,   /* int32_t */
  PZ_ATTR_SIZES, /* int32_t[PZ_SPATIAL] */
  PZ_ATTR_PADS,  /* int32_t[2][PZ_SPATIAL]: low, high */
  PZ_ATTR_FLAG,  /* bool */
  PZ_ATTR_FLOAT, /* float */
  PZ_ATTR_ACT,   /* pz_activation */
  PZ_ATTR_POOL,  /* pz_pool_kind, and so on: enums */
  PZ_ATTR_DIVISOR,
  PZ_ATTR_ELTWISE,
  PZ_ATTR_RESIZE,
  PZ_ATTR_COORDINATE,
  PZ_ATTR_ROUNDING,
  PZ_ATTR_REDUCE,
  PZ_ATTR_PAD_KIND,
  PZ_ATTR_TYPE,
  PZ_ATTR_SCALES, /* float[PZ_SPATIAL] */
  PZ_ATTR_AXES,   /* bool[PZ_MAX_RANK]; a list of those that are set */
  PZ_ATTR_FLOATS, /* const float *, one for each input, or NULL */
  PZ_ATTR_SPLITS, /* const int64_t *, n_out + 1 */
  PZ_ATTR_LIST,   /* pz_index_list */
  PZ_ATTR_DIMS,   /* int64_t[PZ_MAX_RANK], as many as x has dimensions */
  PZ_ATTR_ORDER,  /* int32_t[PZ_MAX_RANK], as many as x has dimensions */
  PZ_ATTR_SHAPE,  /* pz_shape */
  PZ_ATTR_KINDS
} pz_attr_kind;

typedef struct pz_attr_field {
  pz_op op;
  const char *keyword;
  pz_attr_kind kind;
  size_t offset; /* in pz_node */
  float preset;  /* the default, of each entry */
} pz_attr_field;

/* The fields of an operator, in the order in which they print; ends with a row of op PZ_OP_NONE or of another op. */
const pz_attr_field *pz_attr_fields(pz_op op);
void pz_attr_preset(pz_node *node, const pz_attr_field *field);
/* Copies the lists that attributes point to into the arena. False when out of memory. */
bool pz_attr_own(pz_arena *arena, pz_node *node);

/* Names of an enum's values, NULL-ended; NULL for kinds that are no enums. */
const char *const *pz_attr_enum_names(pz_attr_kind kind);

/* ---- infer*.c ---- */

/* One for each row of ops.inc, pz_infer_<ID>. Arity is checked before; attributes and shapes are not. */
typedef pz_status (*pz_inference)(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err);
#define OP(id, name, min_in, max_in, attr_type, family, layouts)                                             \
  pz_status pz_infer_##id(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err);
#include "graph/ops.inc"
#undef OP

/* ---- types.c ---- */

/* Element types of a node's operands fit its operator; *out: that of its outputs. The node's own slots are checked before. */
pz_status pz_infer_element(const pz_graph *g, const pz_node *node, pz_element *out, pz_error *err);
#define PZ_TYPES_IN_WORDS "a tensor is of " PZ_TENSOR_TYPES_IN_WORDS
#define PZ_ELEMENTS_IN_WORDS                                                                                 \
  PZ_TYPES_IN_WORDS ", integers alone have a scale, and those of 8 or 16 bits a zero point"
/* A type of tensors, with a scale and a zero point that it may have. */
bool pz_element_valid(pz_element element);

/* A text of a shape as a value, for arguments of messages: PZ_SHAPE(&s). */
typedef struct pz_shape_string {
  char text[PZ_SHAPE_TEXT];
} pz_shape_string;
static inline pz_shape_string pz_shape_string_of(const pz_shape *s) {
  pz_shape_string string;
  pz_shape_text(s, string.text);
  return string;
}
#define PZ_SHAPE(s) (pz_shape_string_of(s).text)

static inline const pz_tensor *pz_in(const pz_graph *g, const pz_node *node, int32_t i) {
  pz_tensor_id id = pz_node_input(node, i);
  return id == PZ_NONE ? NULL : &g->tensors[id];
}

/* Fails unless the optional input i is absent or has rank 1 and `count` entries. `what` names it. */
pz_status pz_infer_vector(const pz_graph *g, const pz_node *node, int32_t i, int64_t count, const char *what,
                          pz_error *err);
/* Checks kind, alpha and beta, and that PReLU, and only it, has its slope at input i. */
pz_status pz_infer_activation(const pz_node *node, const pz_activation *act, int32_t slope, pz_error *err);
pz_status pz_infer_axis(const pz_node *node, int32_t axis, int32_t rank, pz_error *err);
pz_status pz_infer_finite(const pz_node *node, const char *what, double value, pz_error *err);
/* x has 1 to 3 spatial dimensions; *first is the entry of spatial attributes that belongs to its first one. */
pz_status pz_infer_spatial(const pz_node *node, const pz_shape *x, int32_t *first, pz_error *err);
/* Each of three entries is at least `least`, and is `unused` before entry `first`. */
pz_status pz_infer_entries(const pz_node *node, const char *what, const int32_t v[PZ_SPATIAL], int32_t first,
                           int32_t least, int32_t unused, pz_error *err);

#endif
