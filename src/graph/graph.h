/* graph.h: the network as nodes in topological order over tensors.
 *
 * A tensor has a dtype, a rank and its dimensions (N, C, then spatial; up to three spatial dimensions; 2D is
 * not a special case), and optionally data (a constant: weights). Tensors and nodes are named by their index
 * in the graph (pz_tensor_id, pz_node_id); indices stay valid until pz_graph_compact.
 *
 * Spatial attributes (kernel, stride, pad, ...) always have three entries in the order d, h, w. A network of
 * fewer spatial dimensions uses the last entries; the others are 1 (kernel, stride, dilation) or 0 (pad).
 */
#ifndef PZ_GRAPH_GRAPH_H
#define PZ_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/status.h"

#define PZ_MAX_RANK 5
#define PZ_SPATIAL  3

typedef int32_t pz_tensor_id;
typedef int32_t pz_node_id;
#define PZ_NONE (-1)

typedef struct pz_shape {
  int32_t rank; /* 0..PZ_MAX_RANK */
  int64_t dim[PZ_MAX_RANK];
} pz_shape;

#define PZ_MAX_DIM      INT64_C(0x7fffffff) /* greatest size of one dimension */
#define PZ_MAX_ELEMENTS (INT64_C(1) << 40)  /* greatest product of the dimensions */
#define PZ_MAX_NODES    65536               /* of a graph */
#define PZ_MAX_TENSORS  (8 * PZ_MAX_NODES)

/* Product of the dimensions; in a verified graph it never overflows, otherwise it saturates. */
int64_t pz_shape_elements(const pz_shape *s);
/* Rank, every dimension and the product within the limits; *elements (may be NULL) is the product. */
bool pz_shape_valid(const pz_shape *s, int64_t *elements);
bool pz_shape_equal(const pz_shape *a, const pz_shape *b);
/* The shape as five sizes n, c, d, h, w: dimensions that are not there are 1 (in front of the spatial ones). */
typedef struct pz_shape5 {
  int64_t n, c, s[PZ_SPATIAL];
} pz_shape5;
pz_shape5 pz_shape_as5(const pz_shape *s);
/* "1x32x18x160x160" into out (at least PZ_SHAPE_TEXT bytes); returns out. */
#define PZ_SHAPE_TEXT 112
const char *pz_shape_text(const pz_shape *s, char *out); /* "scalar" for rank 0 */

/* Where in the source model something came from; for messages. file may be NULL. */
typedef struct pz_place {
  const char *file;
  int32_t line, column;
} pz_place;

typedef struct pz_tensor {
  const char *name; /* unique in the graph */
  pz_shape shape;
  const float *data; /* constants: dense, C order, owned by the graph's arena; NULL otherwise */
  /* Layout: the zero border that the stored tensor keeps around each spatial dimension ("padding
   * transformation", PZnet 3.5). Has no meaning for the values: the logical tensor is inside. */
  int32_t border_lo[PZ_SPATIAL], border_hi[PZ_SPATIAL];
} pz_tensor;

/* Activations are rows of activations.inc; PZ_ACT_NONE is the identity. */
typedef enum pz_activation_kind {
  PZ_ACT_NONE,
#define ACTIVATION(id, name, uses_alpha, uses_slope, zero_at_zero) PZ_ACT_##id,
#include "graph/activations.inc"
#undef ACTIVATION
  PZ_ACT_COUNT
} pz_activation_kind;
typedef struct pz_activation {
  pz_activation_kind kind;
  float alpha; /* relu: negative slope; elu: alpha; 0 where the row says it is not used */
} pz_activation;

/* ---- attributes: a typed struct for each operator that has any ---- */

/* conv:   x, weight [K, C/group, kd, kh, kw], bias [K] or none, base or none, base_scale [K] or none,
 *         slope [K] or none.
 * deconv: x, weight [C, K/group, kd, kh, kw], and the same. (weights of 2D networks have rank 4, of 1D 3)
 * The result is activation(conv(x) + bias + base*base_scale); base has the output's shape (PZnet 3.1); base_scale
 * keeps a BatchNorm after the sum foldable (3.3); slope is PReLU's.
 * Output size of conv: (in + pad_lo + pad_hi - (dilation*(kernel-1)+1)) / stride + 1, rounded down; of
 * deconv: stride*(in-1) + dilation*(kernel-1)+1 - pad_lo - pad_hi + output_pad. */
enum {
  PZ_CONV_X,
  PZ_CONV_WEIGHT,
  PZ_CONV_BIAS,
  PZ_CONV_BASE,
  PZ_CONV_BASE_SCALE,
  PZ_CONV_SLOPE,
  PZ_CONV_INPUTS
};
typedef struct pz_attr_conv {
  int32_t group;
  int32_t kernel[PZ_SPATIAL], stride[PZ_SPATIAL], dilation[PZ_SPATIAL];
  int32_t pad_lo[PZ_SPATIAL], pad_hi[PZ_SPATIAL];
  int32_t output_pad[PZ_SPATIAL]; /* deconv only */
  pz_activation act;
} pz_attr_conv;

typedef enum pz_pool_kind { PZ_POOL_MAX, PZ_POOL_AVE } pz_pool_kind;
/* Which positions an average counts. CAFFE: those inside the padded input (Caffe's border rule). */
typedef enum pz_pool_divisor { PZ_DIVISOR_CAFFE, PZ_DIVISOR_VALID, PZ_DIVISOR_KERNEL } pz_pool_divisor;
/* pool: x. Output size: (in + pad_lo + pad_hi - kernel)/stride + 1, rounded down, or up where `ceil`; with
 * `ceil` the last window must start inside the input or its low padding, else it is dropped. */
typedef struct pz_attr_pool {
  pz_pool_kind kind;
  pz_pool_divisor divisor;
  bool ceil;
  int32_t kernel[PZ_SPATIAL], stride[PZ_SPATIAL], pad_lo[PZ_SPATIAL], pad_hi[PZ_SPATIAL];
} pz_attr_pool;

typedef struct pz_attr_batch_norm { /* x, mean [C], variance [C]: (x - mean) / sqrt(variance + eps) */
  float eps;
} pz_attr_batch_norm;
/* scale: x, gamma or none, beta or none: x*gamma + beta. gamma and beta may be constants or computed tensors; both have
 * one shape, x.dim[axis], x.dim[axis+1], ..., as many dimensions as they have (none: a scalar). */
typedef struct pz_attr_scale {
  int32_t axis;
} pz_attr_scale;
typedef struct pz_attr_activation { /* x, slope [C] ([1] where shared) or none */
  pz_activation act;
} pz_attr_activation;
typedef struct pz_attr_power { /* x: (shift + scale*x)^power */
  float power, scale, shift;
} pz_attr_power;
typedef enum pz_eltwise_kind { PZ_ELT_SUM, PZ_ELT_PROD, PZ_ELT_MAX, PZ_ELT_DIV } pz_eltwise_kind;
typedef struct pz_attr_eltwise { /* two or more of equal shape (DIV: exactly two) */
  pz_eltwise_kind kind;
  const float *coeff; /* SUM: n_in coefficients, or NULL for all 1; owned by the graph's arena */
} pz_attr_eltwise;
typedef struct pz_attr_concat { /* one or more */
  int32_t axis;
  bool in_place; /* set by the pass alias-concat: the planner lets producers write into their slice */
} pz_attr_concat;
typedef struct pz_attr_slice { /* x -> n_out outputs; output i holds begin[i] .. begin[i+1] of `axis` */
  int32_t axis;
  const int64_t *begin; /* n_out + 1 entries, from 0 to dim[axis]; owned by the graph's arena */
} pz_attr_slice;
typedef struct pz_attr_crop { /* x: a window of each dimension, offset[i] .. offset[i]+size[i] */
  int64_t offset[PZ_MAX_RANK], size[PZ_MAX_RANK];
} pz_attr_crop;
typedef struct pz_attr_softmax {
  int32_t axis;
} pz_attr_softmax;
/* lrn, as Caffe: x / (k + alpha/size * sum x^2)^beta; within_channel: average over a size^s window. size is odd. */
typedef struct pz_attr_lrn {
  int32_t size;
  float alpha, beta, k;
  bool within_channel;
} pz_attr_lrn;
/* inner_product: x flattened from `axis`, weight [K, X] ([X, K] where transposed), bias [K] or none, slope [K] or none
 * (PReLU's). The result is x.dim[..axis] followed by K. */
typedef struct pz_attr_inner_product {
  int32_t axis;
  bool transpose;
  pz_activation act;
} pz_attr_inner_product;
typedef struct pz_attr_reshape { /* x: same elements, C order, other shape */
  pz_shape shape;
} pz_attr_reshape;
typedef struct pz_attr_permute { /* output dimension i is input dimension order[i] */
  int32_t order[PZ_MAX_RANK];
} pz_attr_permute;

typedef enum pz_op {
#define OP(id, name, min_in, max_in, attr_type) PZ_OP_##id,
#include "graph/ops.inc"
#undef OP
  PZ_OP_COUNT
} pz_op;

typedef struct pz_node {
  const char *name; /* the layer's name; unique among nodes */
  pz_op op;
  int32_t n_in, n_out;
  pz_tensor_id *in, *out; /* PZ_NONE where an optional input is absent */
  pz_place place;
  union {
    pz_attr_conv conv; /* conv and deconv */
    pz_attr_pool pool;
    pz_attr_batch_norm batch_norm;
    pz_attr_scale scale;
    pz_attr_activation activation;
    pz_attr_power power;
    pz_attr_eltwise eltwise;
    pz_attr_concat concat;
    pz_attr_slice slice;
    pz_attr_crop crop;
    pz_attr_softmax softmax;
    pz_attr_lrn lrn;
    pz_attr_inner_product inner_product;
    pz_attr_reshape reshape;
    pz_attr_permute permute;
  } attr;
} pz_node;

/* Names to indices, a hash table with open addressing; private to src/graph. */
typedef struct pz_name_index {
  int32_t *slot; /* index or PZ_NONE */
  int32_t capacity, used;
} pz_name_index;

typedef struct pz_graph {
  pz_arena *arena; /* owned */
  const char *name;
  pz_tensor *tensors;
  int32_t n_tensors, cap_tensors;
  pz_node *nodes; /* topological order */
  int32_t n_nodes, cap_nodes;
  pz_tensor_id *inputs, *outputs; /* tensor ids; inputs have no producer and no data */
  int32_t n_inputs, n_outputs;
  pz_name_index tensor_names, node_names; /* so names change by pz_graph_rename_tensor alone */
} pz_graph;

/* ---- building ---- */

pz_status pz_graph_new(const char *name, pz_graph **graph, pz_error *err); /* caller: pz_graph_free */
void pz_graph_free(pz_graph *graph);
/* Indices are the same; constants' data is copied too. */
pz_status pz_graph_copy(const pz_graph *from, pz_graph **to, pz_error *err);

/* A node with the defaults of its operator's attributes (attributes.inc: kernel, stride, dilation, group 1, ...),
 * no name, no inputs. */
pz_node pz_node_new(pz_op op);

/* Each adds one thing and gives its index. Names are copied; attribute pointers and input lists too. On failure the
 * graph is as before. Adding may move g->tensors and g->nodes: keep indices, not pointers. Names are not empty. */
pz_status pz_graph_add_input(pz_graph *g, const char *name, const pz_shape *shape, pz_tensor_id *id,
                             pz_error *err);
/* data (elements of shape, C order) is copied when not NULL; when NULL zeroed storage is made. The caller may
 * fill it through pz_graph_constant_data until the graph is verified. */
pz_status pz_graph_add_constant(pz_graph *g, const char *name, const pz_shape *shape, const float *data,
                                pz_tensor_id *id, pz_error *err);
float *pz_graph_constant_data(pz_graph *g, pz_tensor_id id);
/* Adds a node with n_out new tensors named out_names[i], and infers their shapes (so inputs must exist
 * already). `node` gives op, name, in, n_in, attr, place; its out is ignored. On success ids[i] are set. The stored
 * node has all the optional slots of its operator: n_in is the operator's max_in (unless that is -1), absent ones are
 * PZ_NONE, so that node->in[PZ_CONV_SLOPE] may always be read. */
pz_status pz_graph_add_node(pz_graph *g, const pz_node *node, int32_t n_out, const char *const *out_names,
                            pz_tensor_id *ids, pz_error *err);
pz_status pz_graph_add_output(pz_graph *g, pz_tensor_id id, pz_error *err);

/* ---- looking ---- */

typedef struct pz_op_traits { /* a row of ops.inc */
  const char *name;
  int32_t min_in, max_in; /* max_in -1: any number */
} pz_op_traits;
const pz_op_traits *pz_op_get(pz_op op);
const char *pz_op_name(pz_op op);
const char *pz_activation_name(pz_activation_kind kind); /* "none" for PZ_ACT_NONE */
bool pz_activation_uses_alpha(pz_activation_kind kind);
bool pz_activation_uses_slope(pz_activation_kind kind);
bool pz_activation_zero_at_zero(pz_activation_kind kind); /* true for PZ_ACT_NONE */
/* Input i of a node, PZ_NONE where it is absent or the node has not that many. */
static inline pz_tensor_id pz_node_input(const pz_node *node, int32_t i) {
  return i < node->n_in ? node->in[i] : PZ_NONE;
}
pz_tensor_id pz_graph_find_tensor(const pz_graph *g, const char *name); /* PZ_NONE */
pz_node_id pz_graph_find_node(const pz_graph *g, const char *name); /* PZ_NONE; killed nodes have no name */
pz_node_id pz_graph_producer(const pz_graph *g, pz_tensor_id id);   /* PZ_NONE for inputs and constants */
/* By nodes, one for each slot, and one more if it is an output of the graph. */
int32_t pz_graph_count_uses(const pz_graph *g, pz_tensor_id id);
bool pz_graph_is_output(const pz_graph *g, pz_tensor_id id);
/* Of the direct algorithm; conv, deconv and inner_product have any. */
double pz_node_multiply_adds(const pz_graph *g, const pz_node *node);
/* Inputs, constants and outputs once each. */
double pz_node_bytes(const pz_graph *g, const pz_node *node);
/* The zero border that a conv or deconv needs around its input x, so that no position is out of storage:
 * conv: its padding (high side: only as far as the last window reaches); deconv by phases: what its outermost
 * phases read outside of x. Zero for all other operators. */
void pz_node_input_border(const pz_graph *g, const pz_node *node, int32_t lo[PZ_SPATIAL],
                          int32_t hi[PZ_SPATIAL]);

/* ---- changing (for passes) ---- */

/* `stem`, or stem_2, stem_3, ...: a name that neither a node nor a tensor has. In the graph's arena; NULL when out of
 * memory. */
const char *pz_graph_fresh_name(pz_graph *g, const char *stem);
pz_status pz_graph_rename_tensor(pz_graph *g, pz_tensor_id id, const char *name, pz_error *err);
/* In node inputs and graph outputs. */
void pz_graph_replace_uses(pz_graph *g, pz_tensor_id from, pz_tensor_id to);
/* op becomes PZ_OP_NONE, its name is free again; compact removes it. */
void pz_graph_kill_node(pz_graph *g, pz_node_id id);
/* Removes killed nodes and tensors that nothing refers to, and sorts nodes topologically (stable: among those
 * that are ready, the earliest in the old order comes first). Fails on a cycle. Indices change. */
pz_status pz_graph_compact(pz_graph *g, pz_error *err);

/* ---- checking ---- */

/* pz_fail with PZ_ERROR_INPUT and "<file>:<line>: layer '<name>' (<op>): " in front. */
pz_status pz_fail_node(pz_error *err, const pz_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Infers the output shapes of a node from its inputs; checks arity, attributes and sizes (positive, no overflow,
 * kernel fits, groups divide, ...). The message begins with the place and names the layer. */
pz_status pz_node_infer(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err);
/* The whole graph: order, uniqueness of names, arity, all shapes as inferred, borders not negative, every tensor
 * made once, outputs exist. Total elements of a tensor at most 2^40. */
pz_status pz_graph_verify(const pz_graph *g, pz_error *err);

/* ---- text form: printed and parsed, for tests and for `inspect` ---- */

/* The text form is one node a line; see doc/graph-text.md. parse(print(g)) gives an equal graph. Constants of more than
 * 16 elements are printed as a digest unless with_data; a digest cannot be parsed back. Printing appends to *out, and
 * fails only when out of memory (out->failed). A parsed graph is verified; file (may be NULL) is for messages and places. */
pz_status pz_graph_print(const pz_graph *g, bool with_data, pz_text *out);
pz_status pz_graph_parse(const char *text, size_t size, const char *file, pz_graph **graph, pz_error *err);
pz_status pz_graph_print_dot(const pz_graph *g, pz_text *out);
/* The values of `seed S scale A` in the text form: n numbers in [-scale, scale) from splitmix64 started at `seed`. */
void pz_graph_random(uint64_t seed, float scale, int64_t n, float *out);

#endif
