/* onnx.h: an ONNX model on its way from the file to the graph.
 *
 *   model.h         the model as it stands in the file
 *   import.c        the whole
 *   inputs.c        inputs of the model and their shapes
 *   build.c         nodes in their order, each by its row of operators.inc
 *   values.c        names to values; constants
 *   limits.c        what constants may take
 *   behind.c        values of nodes that are refused
 *   rows.c          rows whose number is known only when the network runs
 *   emit.c          nodes and constants of the graph
 *   attributes.c    attributes of the current node
 *   refuse.c        what is not supported, all of it in one message
 *   advice.c        how to export a model again that another program has changed
 *   ops/            what operators become in the graph
 *   fold/           what is computed here
 *
 * A value of the model is a tensor of the graph or a constant that is known here: an initialiser, or what was computed
 * from constants and shapes. Constants have integers (or booleans), floats or doubles; the graph has floats alone.
 *
 * A node all of whose inputs are constants is folded (fold/reference.c): its builder makes nodes of a graph of its own, which
 * the reference computes. So a builder works for constants without knowing it. One that is exact in its own type, or
 * that has no form in the graph, looks at pz_onnx_is_known and gives constants itself.
 */
#ifndef PZ_IMPORT_ONNX_ONNX_H
#define PZ_IMPORT_ONNX_ONNX_H

#include "import/import.h"
#include "import/names.h"
#include "import/onnx/model.h"

#define PZ_ONNX_OLDEST_OPSET 6 /* but without its broadcasting along axes that are not the last */
#define PZ_ONNX_NEWEST_OPSET 28
#define PZ_ONNX_MAX_DEPTH    8 /* of graphs in graphs */
#define PZ_ONNX_SHARE        4 /* constants may take one part in so many of the memory */

typedef struct pz_onnx_constant {
  pz_onnx_type type;
  pz_shape shape; /* sizes may be 0 */
  int64_t elements;
  const float *floats;   /* of floating-point types but double, else NULL */
  const double *doubles; /* of double, else NULL */
  const int64_t *ints;   /* of the others, else NULL */
} pz_onnx_constant;

typedef enum pz_onnx_state {
  PZ_ONNX_LATER, /* what makes it was not reached yet */
  PZ_ONNX_READY,
  PZ_ONNX_REFUSED /* what makes it is not supported */
} pz_onnx_state;

/* What a value may have been whose node is refused. */
typedef enum pz_onnx_doubt {
  PZ_ONNX_COMPUTED,
  PZ_ONNX_SIZES, /* made from computed values, by an operator that is not known: constant if it gives their sizes */
  PZ_ONNX_CONSTANT /* made from constants or sizes alone */
} pz_onnx_doubt;

/* All values of a tensor lie in it, but for NaN. Whole numbers up to 2^24 are exact in the graph's floats. */
typedef struct pz_onnx_range {
  double low, high;
} pz_onnx_range;
#define PZ_ONNX_EXACT 16777216.0

/* The rows of a result of NonMaxSuppression, which is a tensor of n rows: those that are left are -1. */
typedef struct pz_onnx_rows {
  pz_tensor_id tensor;
  int64_t n;
} pz_onnx_rows;

typedef struct pz_onnx_value {
  const char *name;
  pz_onnx_state state;
  pz_onnx_type type;
  pz_onnx_range range; /* where it is no constant */
  const pz_onnx_rows *
      rows; /* dimension 0 counts these: what the model means has not those that are left, nor has the range; NULL */
  bool filled;                  /* with -1, in rows that are left */
  pz_onnx_doubt doubt;          /* REFUSED */
  pz_tensor_id tensor;          /* also of a constant that the graph needed; else PZ_NONE */
  bool known;                   /* a constant: */
  const pz_onnx_tensor *stored; /* that was not decoded yet */
  bool counted;                 /* among the weights */
  const pz_onnx_constant *constant;
} pz_onnx_value;

/* Of the node of constants that is being folded: inputs that its builder has asked for as tensors. */
typedef struct pz_onnx_folding {
  bool on;
  const pz_onnx_value **values;
  pz_tensor_id *tensors; /* inputs of c->graph, which is the node's own */
  int32_t n;
} pz_onnx_folding;

/* What is not supported, one for all nodes that are alike. */
#define PZ_ONNX_MOST_NAMES 4
typedef struct pz_onnx_refusal {
  const char *domain, *op, *reason; /* reason "": the operator is not known */
  const char *names[PZ_ONNX_MOST_NAMES];
  int32_t count; /* of nodes */
} pz_onnx_refusal;

typedef struct pz_onnx_operator pz_onnx_operator;
typedef struct pz_onnx {
  const char *file;
  pz_arena *arena; /* for the time of the import */
  const pz_import_options *options;
  const pz_import_shape **input_options; /* for each input of the model, or NULL */
  pz_error *err;
  pz_graph *graph;
  pz_onnx_model model;
  pz_onnx_files files;
  pz_import_names index; /* names to values */
  pz_onnx_value *values;
  int32_t n_values, cap_values;
  pz_onnx_refusal *refusals;
  pz_import_names refusal_index;   /* domain, operator and reason to refusals */
  int32_t n_refusals, refused;     /* nodes that are refused */
  bool lost;                       /* one will be: the table has no such operator */
  const pz_onnx_value_info *infos; /* what the model says of values; read once something is refused */
  pz_import_names info_index;
  int64_t elements, max_elements; /* of constants; one of 8 bytes counts as two */
  int64_t weights;                /* floats of the initialisers that needed nodes read */
  int64_t stored, made;           /* of those that the file holds, and of those that were computed */
  double work;                    /* multiply-adds and moves of what was computed */
  pz_onnx_folding folding;
  int32_t depth;
  int32_t row_steps; /* of rows.c */
  /* the node that is being built */
  const pz_onnx_node *node;
  const pz_onnx_operator *row;
  const char *node_name;
  pz_tensor_id first_tensor; /* tensors from here on are the node's */
  bool guessed;              /* its builder has looked at what is not known of an input that was refused */
} pz_onnx;

/* As pz_import_onnx, with a limit for the elements of all constants together. */
pz_status pz_onnx_import_within(const char *path, const pz_import_options *options, int64_t max_elements,
                                pz_graph **graph, pz_error *err);

/* ---- the table of operators ---- */

typedef pz_status (*pz_onnx_builder)(pz_onnx *c);
typedef enum pz_onnx_types {
  PZ_ONNX_FLOATS,  /* computes with floating-point values */
  PZ_ONNX_NUMBERS, /* the same, and with whole numbers whose range is known: ops/whole.c */
  PZ_ONNX_ANY,     /* moves values of any type: a result has values of inputs of its type */
  PZ_ONNX_SHAPES,  /* looks at the shapes of its inputs alone: always folded */
  PZ_ONNX_GRAPHS   /* stands for nodes of its own: never folded itself */
} pz_onnx_types;
struct pz_onnx_operator { /* a row of operators.inc */
  const char *op;
  int32_t since, min_in, max_in; /* max_in -1: any number */
  pz_onnx_types types;
  pz_onnx_builder build;
};
/* NULL for operators that are not supported. */
const pz_onnx_operator *pz_onnx_find_operator(const pz_onnx_node *node);
#define OPERATOR(op, since, min_in, max_in, types, build) pz_status pz_onnx_op_##build(pz_onnx *c);
#include "import/onnx/operators.inc"
#undef OPERATOR

/* ---- fold/reference.c ---- */

/* Builds the current node, whose inputs are all constants, and computes its outputs. */
pz_status pz_onnx_fold(pz_onnx *c);

/* ---- limits.c: each takes from a limit, or fails; `name` is for the message ---- */

/* Elements of a type in units of a float. */
int64_t pz_onnx_words(pz_onnx_type type, int64_t elements);
/* The memory of a constant, in these units. */
/* Floats of constants, read or still to be read, and the bytes of memory that the import was given. */
int64_t pz_onnx_constants(const pz_onnx *c);
int64_t pz_onnx_memory(const pz_onnx *c);
void pz_onnx_count_weights(pz_onnx *c, const bool *needed);
pz_status pz_onnx_take_elements(pz_onnx *c, const char *name, int64_t words);
/* The same of one that the current node computes. */
pz_status pz_onnx_take_made(pz_onnx *c, int64_t words);
/* Before computing: multiply-adds and moves, and the elements that are held at once, as doubles. */
pz_status pz_onnx_take_work(pz_onnx *c, double work, double elements);

/* ---- inputs.c, build.c ---- */

pz_status pz_onnx_add_inputs(pz_onnx *c);
/* The caller gives this input, or is given this output, in the model's type, where tensors may have it; else as floats. */
void pz_onnx_want(pz_onnx *c, const pz_onnx_value *v);
/* Declares the values of a graph: initialisers and results of nodes. */
pz_status pz_onnx_declare(pz_onnx *c, const pz_onnx_graph *g);
/* Builds the nodes of a graph; those whose `needed` (may be NULL: all) is false are left out. */
pz_status pz_onnx_build_nodes(pz_onnx *c, const pz_onnx_graph *g, const bool *needed);
/* The model will be refused, whatever else is found. */
bool pz_onnx_is_lost(const pz_onnx *c);
/* Which nodes the outputs of the model depend on. */
pz_status pz_onnx_find_needed(pz_onnx *c, bool **needed);

/* ---- messages ---- */

/* Fails with "model.onnx: node 'name' (Conv): " in front. */
pz_status pz_onnx_fail(pz_onnx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The node is valid, but not supported: notes it, with what about it is not, for one message about all such nodes. A node
 * behind one that was refused is built too, with a shape that is guessed: its refusals count up to where its builder asks
 * for the shape, the type or the values of such an input. So builders check first what needs none of them. */
pz_status pz_onnx_refuse(pz_onnx *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The current node's outputs are those of one that was refused; those that it has given are kept unless `all`: then it was
 * only an attribute, or another output, that is not supported. */
pz_status pz_onnx_refuse_outputs(pz_onnx *c, bool all);
/* The one message. */
pz_status pz_onnx_fail_refused(pz_onnx *c, pz_error *err);
/* How to export the model again, where another program has changed it; appends to *out. */
void pz_onnx_advise(const pz_onnx *c, pz_text *out);
pz_status pz_onnx_no_memory(pz_onnx *c);
/* The name of a node; of those without one the operator with the node's number. */
const char *pz_onnx_node_name(pz_onnx *c, const pz_onnx_node *node, int32_t number);

/* ---- rows.c ---- */

/* Refuses the current node where it reads rows of NonMaxSuppression in a way that their number would tell. */
pz_status pz_onnx_check_rows(pz_onnx *c);
/* Its outputs, which it has given, have them too. */
pz_status pz_onnx_pass_rows(pz_onnx *c);
/* Gives x [rows, 3], of int64, as output 0; rows that are left are -1. */
pz_status pz_onnx_give_rows(pz_onnx *c, pz_tensor_id x, pz_onnx_range range);
/* Entry i of each row of x is one of NonMaxSuppression's numbers: how great it may be. */
bool pz_onnx_range_of_entry(pz_onnx *c, pz_tensor_id x, int64_t i, pz_onnx_range *range);
/* What is left of the rows of a value, whose tensor is *x, becomes -1. */
pz_status pz_onnx_fill_rows(pz_onnx *c, const pz_onnx_value *v, pz_tensor_id *x);

/* ---- values ---- */

int32_t pz_onnx_find_value(const pz_onnx *c, const char *name); /* -1 */
/* Adds a name; fails where it is there. */
pz_status pz_onnx_add_value(pz_onnx *c, const char *name, int32_t *index);

/* Input i of the current node; NULL where it is absent. Valid until values are added. */
pz_onnx_value *pz_onnx_in(const pz_onnx *c, int32_t i);
static inline bool pz_onnx_has(const pz_onnx *c, int32_t i) { return pz_onnx_in(c, i) != NULL; }
bool pz_onnx_is_known(pz_onnx *c, int32_t i); /* there, and a constant */
bool pz_onnx_all_known(pz_onnx *c);           /* all inputs that are there */
/* The shape of an input that is there. */
const pz_shape *pz_onnx_in_shape(pz_onnx *c, int32_t i);
/* The constant at input i; refuses where it is not one. */
pz_status pz_onnx_constant_in(pz_onnx *c, int32_t i, const pz_onnx_constant **constant);
/* The same, as floats: doubles are rounded; fails where it has integers. */
pz_status pz_onnx_floats_in(pz_onnx *c, int32_t i, const pz_onnx_constant **constant);
/* The same, integers: of rank 0 or 1. */
pz_status pz_onnx_ints_in(pz_onnx *c, int32_t i, const int64_t **ints, int32_t *count);
/* The same, a single number. */
pz_status pz_onnx_number_in(pz_onnx *c, int32_t i, double *number);
/* Input i as a tensor of the graph; constants are added to the graph when first needed. */
pz_status pz_onnx_tensor_in(pz_onnx *c, int32_t i, pz_tensor_id *id);

/* A constant with room for its values, which count for the limits; one of the three is where they go. */
typedef struct pz_onnx_space {
  pz_onnx_constant *constant;
  float *floats;
  double *doubles;
  int64_t *ints;
} pz_onnx_space;
pz_status pz_onnx_new_constant(pz_onnx *c, pz_onnx_type type, const pz_shape *shape, pz_onnx_space *space);
/* The sizes that are not 0 have a product of at most 2^40, so that strides do not overflow in empty constants either. */
pz_status pz_onnx_check_shape(pz_onnx *c, const char *name, const pz_shape *shape);
/* The product of the sizes, some of which may be 0; saturates. */
int64_t pz_onnx_elements(const pz_shape *shape);
/* All values of a constant are this number. */
bool pz_onnx_is_uniform(const pz_onnx_constant *k, double *number);
static inline double pz_onnx_number(const pz_onnx_constant *k, int64_t i) {
  return k->floats ? (double)k->floats[i] : k->doubles ? k->doubles[i] : (double)k->ints[i];
}
/* Values of these two can be copied to each other. */
static inline bool pz_onnx_alike(const pz_onnx_constant *a, const pz_onnx_constant *b) {
  return !a->floats == !b->floats && !a->ints == !b->ints;
}
/* Element i of the space becomes a number: rounded once, or towards zero and wrapped around as integers are. */
void pz_onnx_put(const pz_onnx_space *space, int64_t i, double number);
/* Element i becomes element `from` of a constant that is alike, as it is; n of them. */
void pz_onnx_move(const pz_onnx_space *space, int64_t i, const pz_onnx_constant *k, int64_t from, int64_t n);

/* Gives output i of the current node its value. An absent output is left out. */
pz_status pz_onnx_give(pz_onnx *c, int32_t i, pz_tensor_id id, pz_onnx_type type);
pz_status pz_onnx_give_constant(pz_onnx *c, int32_t i, const pz_onnx_constant *constant);
/* The same where the values are known to lie in a range that is not that of the inputs, or of the type. */
pz_status pz_onnx_give_in(pz_onnx *c, int32_t i, pz_tensor_id id, pz_onnx_type type, pz_onnx_range range);
bool pz_onnx_wants(const pz_onnx *c, int32_t i); /* output i has a name */
/* Where the values of input i lie; of a type: infinite for floating-point ones. */
pz_onnx_range pz_onnx_range_in(const pz_onnx *c, int32_t i);
pz_onnx_range pz_onnx_range_of(pz_onnx_type type);
/* The type of input 0. */
pz_onnx_type pz_onnx_type_in(pz_onnx *c);

/* ---- nodes of the graph ---- */

static inline const pz_shape *pz_onnx_shape(const pz_onnx *c, pz_tensor_id id) {
  return &c->graph->tensors[id].shape;
}
/* Adds a node for the current one; the first that is no "reshape" has its name, the others "name.part". */
pz_status pz_onnx_add(pz_onnx *c, pz_node *node, const char *part, int32_t n_in, const pz_tensor_id *in,
                      pz_tensor_id *out);
pz_status pz_onnx_add_many(pz_onnx *c, pz_node *node, const char *part, pz_tensor_id in, int32_t n_out,
                           pz_tensor_id *out);
/* The same with one input: *x becomes the output. */
pz_status pz_onnx_apply(pz_onnx *c, pz_node *node, const char *part, pz_tensor_id *x);
/* A constant of the graph, "name.part", that is no value of the model; data NULL: zeros. */
pz_status pz_onnx_add_constant(pz_onnx *c, const char *part, const pz_shape *shape, const float *data,
                               pz_tensor_id *id);
/* Adds a node of one input that is the current node's input 0, and gives its result. */
pz_status pz_onnx_simple(pz_onnx *c, pz_node *node);
/* Steps that many operators need; nothing is added where nothing would change. */
pz_status pz_onnx_reshape_to(pz_onnx *c, const pz_shape *shape, pz_tensor_id *x);
pz_status pz_onnx_power(pz_onnx *c, double scale, double shift, pz_tensor_id *x); /* scale*x + shift */
pz_status pz_onnx_activate(pz_onnx *c, pz_activation act, const char *part, pz_tensor_id *x);
/* A name that no node and no tensor of the graph has, nor any value of the model; NULL when out of memory. */
const char *pz_onnx_fresh_name(pz_onnx *c, const char *stem);

/* ---- attributes of the current node ---- */

bool pz_onnx_has_attr(pz_onnx *c, const char *name);
const pz_onnx_attribute *pz_onnx_attr(pz_onnx *c, const char *name); /* NULL where it is absent */
pz_status pz_onnx_attr_int(pz_onnx *c, const char *name, int64_t preset, int64_t *out);
pz_status pz_onnx_attr_flag(pz_onnx *c, const char *name, bool preset, bool *out);
pz_status pz_onnx_attr_float(pz_onnx *c, const char *name, double preset, float *out);
pz_status pz_onnx_attr_text(pz_onnx *c, const char *name, const char *preset, const char **out);
/* NULL and 0 where it is absent. */
pz_status pz_onnx_attr_ints(pz_onnx *c, const char *name, const int64_t **ints, int32_t *count);
/* Axis `axis`, counted from the end where negative, of `rank`. */
pz_status pz_onnx_axis(pz_onnx *c, int64_t axis, int32_t rank, int32_t *out);
/* The attribute "axis" of input 0. */
pz_status pz_onnx_attr_axis(pz_onnx *c, int64_t preset, int32_t rank, int32_t *out);
/* A list of integers that older opsets have as an attribute, those from `since` on as input i. *count -1: it is absent. */
pz_status pz_onnx_list(pz_onnx *c, const char *name, int32_t i, int64_t since, const int64_t **ints,
                       int32_t *count);
/* Marks the axes of a list (absent: none). */
pz_status pz_onnx_mark_axes(pz_onnx *c, const int64_t *axes, int32_t count, int32_t rank,
                            bool marks[PZ_MAX_RANK]);
/* An attribute with an entry for each of x's spatial dimensions; entry i of `out` is for dimension d, h, w. */
pz_status pz_onnx_attr_spatial(pz_onnx *c, const char *name, int32_t spatial, int64_t preset, int64_t least,
                               int32_t out[PZ_SPATIAL]);

#endif
