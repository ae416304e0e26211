/* graph.h: the network as nodes in topological order over tensors.
 *
 * A tensor has a rank and its dimensions (N, C, then spatial; up to three spatial dimensions; 2D is not a special
 * case), a type of its elements, and optionally data (a constant: weights, which are floats). Tensors and nodes are named
 * by their index in the graph (pz_tensor_id, pz_node_id); indices stay valid until pz_graph_compact.
 *
 * An element e of a tensor stands for the number scale * (e - zero_point), which is its value: operators are functions
 * of values. They take and give floats, but for cast, which takes and gives any type, and argmax, which gives some.
 *
 * Spatial attributes (kernel, stride, pad, ...) always have three entries in the order d, h, w. A network of
 * fewer spatial dimensions uses the last entries; the others are 1 (kernel, stride, dilation) or 0 (pad).
 */
#ifndef PZ_GRAPH_GRAPH_H
#define PZ_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/element.h"
#include "base/status.h"

#define PZ_MAX_RANK 8 /* more than 5: only on the way through reshapes, permutes and functions of one value */
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
/* The shape as five sizes n, c, d, h, w: dimensions that are not there are 1 (in front of the spatial ones). More than
 * five dimensions are 1, 1, 1, 1, elements. */
typedef struct pz_shape5 {
  int64_t n, c, s[PZ_SPATIAL];
} pz_shape5;
pz_shape5 pz_shape_as5(const pz_shape *s);
/* "1x32x18x160x160" into out (at least PZ_SHAPE_TEXT bytes); returns out. */
#define PZ_SHAPE_TEXT 176
const char *pz_shape_text(const pz_shape *s, char *out); /* "scalar" for rank 0 */

/* Where in the source model something came from; for messages. file may be NULL. */
typedef struct pz_place {
  const char *file;
  int32_t line, column;
} pz_place;

typedef struct pz_tensor {
  const char *name; /* unique in the graph */
  pz_shape shape;
  pz_dtype type;
  float scale;
  int32_t zero_point;
  /* Of inputs and outputs of the graph: the type that the caller wants, which the pass type-ports makes it have. Else, and where no other is
   * wanted: its type. */
  pz_dtype wanted;
  const float
      *data;   /* constants, which are f32: dense, C order, owned by the graph's arena; NULL otherwise */
  bool shared; /* they are those of the graph that this one is a copy of: to be read only */
  /* Layout: the zero border that the stored tensor keeps around each spatial dimension ("padding
   * transformation", PZnet 3.5). Has no meaning for the values: the logical tensor is inside. */
  int32_t border_lo[PZ_SPATIAL], border_hi[PZ_SPATIAL];
} pz_tensor;

/* Functions of one value, the rows of activations.inc; PZ_ACT_NONE is the identity. */
typedef enum pz_activation_kind {
  PZ_ACT_NONE,
#define ACTIVATION(id, name, uses_alpha, uses_beta, uses_slope, zero_at_zero) PZ_ACT_##id,
#include "graph/activations.inc"
#undef ACTIVATION
  PZ_ACT_COUNT
} pz_activation_kind;
typedef struct pz_activation {
  pz_activation_kind kind;
  float alpha, beta; /* as the row's formula says; 0 where it says that they are not used */
} pz_activation;

/* ---- attributes: a typed struct for each operator that has any ---- */

/* conv:   x, weight [K, C/group, kd, kh, kw], bias [K] or none, residual or none, residual_scale [K] or none,
 *         slope [K] or none.
 * deconv: x, weight [C, K/group, kd, kh, kw], and the same. (weights of 2D networks have rank 4, of 1D 3)
 * The result is activation(conv(x) + bias + residual*residual_scale); residual has the output's shape (PZnet 3.1); residual_scale
 * keeps a BatchNorm after the sum foldable (3.3); slope is PReLU's.
 * Output size of conv: (in + pad_lo + pad_hi - (dilation*(kernel-1)+1)) / stride + 1, rounded down; of
 * deconv: stride*(in-1) + dilation*(kernel-1)+1 - pad_lo - pad_hi + output_pad. */
enum {
  PZ_CONV_X,
  PZ_CONV_WEIGHT,
  PZ_CONV_BIAS,
  PZ_CONV_RESIDUAL,
  PZ_CONV_RESIDUAL_SCALE,
  PZ_CONV_SLOPE,
  PZ_CONV_INPUTS
};
typedef struct pz_attr_conv {
  int32_t group;
  int32_t kernel[PZ_SPATIAL], stride[PZ_SPATIAL], dilation[PZ_SPATIAL];
  int32_t pad_lo[PZ_SPATIAL], pad_hi[PZ_SPATIAL];
  int32_t output_pad[PZ_SPATIAL]; /* deconv only */
  pz_activation act;
  /* What is wanted of the result besides, for the planner, which does it here if the algorithm can; the values of the graph do not
   * depend on it. pooled (conv only): the window of the maximum that a pool takes of it, zeros where there is none (the pass
   * fuse-pool). norm_groups: a group_norm of so many groups reads it, 0 where there is none (the pass norm-stats). */
  int32_t pooled[PZ_SPATIAL];
  int32_t norm_groups;
} pz_attr_conv;

typedef enum pz_pool_kind { PZ_POOL_MAX, PZ_POOL_AVE } pz_pool_kind;
/* Which positions an average counts. CAFFE: those inside the padded input (Caffe's border rule). */
typedef enum pz_pool_divisor { PZ_DIVISOR_CAFFE, PZ_DIVISOR_VALID, PZ_DIVISOR_KERNEL } pz_pool_divisor;
/* pool: x. Output size: (in + pad_lo + pad_hi - (dilation*(kernel-1)+1)) / stride + 1, rounded down, or up where `ceil`;
 * with `ceil` the last window must start inside the input or its low padding, else it is dropped. Every window has a
 * position inside the input. */
typedef struct pz_attr_pool {
  pz_pool_kind kind;
  pz_pool_divisor divisor;
  bool ceil;
  int32_t kernel[PZ_SPATIAL], stride[PZ_SPATIAL], dilation[PZ_SPATIAL], pad_lo[PZ_SPATIAL],
      pad_hi[PZ_SPATIAL];
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
typedef enum pz_eltwise_kind {
  PZ_ELT_SUM,
  PZ_ELT_PROD,
  PZ_ELT_MAX,
  PZ_ELT_DIV,
  PZ_ELT_MIN,
  PZ_ELT_POW,
  PZ_ELT_LESS, /* comparisons: 1 where true, else 0 */
  PZ_ELT_LESS_EQUAL,
  PZ_ELT_EQUAL,
  PZ_ELT_SELECT
} pz_eltwise_kind;
/* eltwise: two or more of one rank (DIV, POW, comparisons: exactly two, x/y, x^y, x < y; SELECT: three, y where x is not 0,
 * else z). Each dimension of each input is the output's or 1, and then its values are repeated along it (NumPy's
 * broadcasting of equal ranks). Inputs may be constants. */
typedef struct pz_attr_eltwise {
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
/* crop: x. Along dimension i entry j of the result is x[offset[i] + j*step[i]], j < size[i]; a negative step goes from the
 * offset downwards. Entries behind x's rank: 0, 0, 1. */
typedef struct pz_attr_crop {
  int64_t offset[PZ_MAX_RANK], size[PZ_MAX_RANK], step[PZ_MAX_RANK];
} pz_attr_crop;
typedef struct pz_attr_softmax { /* x: exp(x) / sum of exp(x) along the axis; its logarithm where `log` */
  int32_t axis;
  bool log;
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

/* group_norm: x [N, C, ...], gamma [C] or none, beta [C] or none, slope [C] or none (PReLU's).
 * y = act((x - mean) / sqrt(variance + eps) * gamma + beta), mean and biased variance over the C/groups channels of a group
 * and all spatial positions, for each n and group. groups 1: layer normalisation, groups C: instance normalisation. */
enum { PZ_GROUP_NORM_X, PZ_GROUP_NORM_GAMMA, PZ_GROUP_NORM_BETA, PZ_GROUP_NORM_SLOPE, PZ_GROUP_NORM_INPUTS };
typedef struct pz_attr_group_norm {
  int32_t groups;
  float eps;
  pz_activation act;
} pz_attr_group_norm;
/* channel_norm: the same inputs and the same formula, mean and variance over the channels of each position. */
typedef struct pz_attr_channel_norm {
  float eps;
  pz_activation act;
} pz_attr_channel_norm;

typedef enum pz_resize_kind { PZ_RESIZE_NEAREST, PZ_RESIZE_LINEAR } pz_resize_kind;
typedef enum pz_coordinate {
  PZ_COORDINATE_HALF_PIXEL,
  PZ_COORDINATE_PYTORCH_HALF_PIXEL,
  PZ_COORDINATE_ALIGN_CORNERS,
  PZ_COORDINATE_ASYMMETRIC
} pz_coordinate;
typedef enum pz_rounding {
  PZ_ROUND_PREFER_FLOOR,
  PZ_ROUND_PREFER_CEIL,
  PZ_ROUND_FLOOR,
  PZ_ROUND_CEIL
} pz_rounding;
/* resize: x [N, C, spatial], to `size` (ONNX Resize-19). Position o of an axis of `size` outputs and `in` inputs looks at
 * the input position, with s the scale, or size/in where the scale is 0,
 *   half_pixel          (o + 0.5)/s - 0.5
 *   pytorch_half_pixel  the same, 0 where size is 1
 *   align_corners       o*(in-1)/(size-1), 0 where size is 1
 *   asymmetric          o/s
 * clamped to 0..in-1. `nearest` takes the value there, rounded as `rounding` says (the prefer_ ones: to the nearest,
 * halves down or up); `linear` interpolates between the two neighbours along each axis. */
typedef struct pz_attr_resize {
  pz_resize_kind kind;
  pz_coordinate coordinate;
  pz_rounding rounding; /* nearest only */
  int32_t size[PZ_SPATIAL];
  float scale[PZ_SPATIAL]; /* output to input, for the coordinates; 0: size/in */
} pz_attr_resize;

typedef enum pz_reduce_kind { PZ_REDUCE_MEAN, PZ_REDUCE_SUM, PZ_REDUCE_MAX, PZ_REDUCE_MIN } pz_reduce_kind;
typedef struct pz_attr_reduce { /* x, over the dimensions whose axis is set (one at least): they become 1 */
  pz_reduce_kind kind;
  bool axis[PZ_MAX_RANK];
} pz_attr_reduce;

typedef enum pz_pad_kind {
  PZ_PAD_CONSTANT, /* `value` */
  PZ_PAD_EDGE,     /* the nearest value of x */
  PZ_PAD_REFLECT,  /* x mirrored at its first and last value, which are not repeated: lo, hi < dim */
  PZ_PAD_WRAP      /* x repeated with its size as the period */
} pz_pad_kind;
typedef struct pz_attr_pad { /* x, with lo[i] values in front of dimension i and hi[i] behind it */
  pz_pad_kind kind;
  float value; /* constant only */
  int64_t lo[PZ_MAX_RANK], hi[PZ_MAX_RANK];
} pz_attr_pad;

/* depth_to_space: x [N, C, spatial]. Channels become the positions of blocks: with b the block, C' = C / (b0*b1*b2) and
 * (i, j, k) the position in the block, out[n, c, z*b0+i, y*b1+j, x*b2+k] = in[n, m, z, y, x] with channel
 *   m = ((c*b0 + i)*b1 + j)*b2 + k     where columns_first (ONNX CRD, pixel shuffle),
 *   m = ((i*b1 + j)*b2 + k)*C' + c     otherwise (ONNX DCR).
 * inverse: space to depth, the same with in and out exchanged. */
typedef struct pz_attr_depth_to_space {
  int32_t block[PZ_SPATIAL];
  bool columns_first, inverse;
} pz_attr_depth_to_space;
/* argmax: x. The index along `axis` of the greatest value (of equal ones the first, or the last where `last`; a NaN is
 * greater than any number), as a whole number of the type `to`; the axis becomes 1 and has at most 2^24 entries, or 256 where
 * `to` is u8. */
typedef struct pz_attr_argmax {
  int32_t axis;
  bool last;
  pz_dtype to; /* f32 or u8 */
} pz_attr_argmax;
/* cast: x. Its values in another type: the nearest one, of two the even one. An integer that is too small or too great becomes the least or
 * the greatest there is, and not-a-number becomes zero_point. Floats of 16 bits become infinite where they are too great, and
 * not-a-number stays that. */
typedef struct pz_attr_cast {
  pz_dtype to;
  float scale;
  int32_t zero_point;
} pz_attr_cast;
/* gather: x. Entry j of `axis` of the result is entry index[j] of x's, from 0 on; any order, left out or repeated. */
typedef struct pz_index_list {
  int32_t n;
  const int64_t *entries; /* owned by the graph's arena */
} pz_index_list;
typedef struct pz_attr_gather {
  int32_t axis;
  pz_index_list index;
} pz_attr_gather;
/* cumsum: x. Entry j along `axis` of the result is the sum of x's entries 0 .. j there, or 0 .. j-1 where `exclusive`; `reverse`: the
 * same from the other end, entries j .. last, or j+1 .. last. A sum of no entries is 0. */
typedef struct pz_attr_cumsum {
  int32_t axis;
  bool exclusive, reverse;
} pz_attr_cumsum;
/* detection_output: locations [N, priors (* classes) * 4], confidences [N, priors * classes], priors [1, 2, priors * 4] (SSD, Liu et al. 2016; Caffe). A prior is
 * a box, xmin, ymin, xmax, ymax, and behind all of them come four variances of each. The box of prior p, with v = variance * location:
 *   corners    prior + v
 *   otherwise  centre + v[0], v[1] times the prior's size, and sizes exp(v[2]), exp(v[3]) times its own
 * Of each class but the background the top_k candidates (-1: all) whose confidence is greater than `confidence`, the greatest first, of equal ones the lower
 * prior; one whose box overlaps one that is kept already, intersection over union, by more than `overlap` is not kept. Of all
 * classes the `keep` best, of equal ones the lower class. The result is [1, 1, N * keep, 7]: image, class, confidence and box, by class, then by
 * confidence; rows that are left have the image -1, and 0. */
typedef struct pz_attr_detection_output {
  int32_t classes, background, top_k, keep; /* background -1: none */
  bool per_class;                           /* locations of each class by itself */
  bool coded;                               /* locations have the variances in them: all are 1 */
  bool corners;
  float overlap, confidence;
} pz_attr_detection_output;
/* non_max_suppression: boxes [N, B, 4], scores [N, C, B] (ONNX's NonMaxSuppression). A box is two opposite corners in any order, or, with
 * `centre`, its middle and its sizes. Of each class of an image the candidates are the boxes whose score is greater than `score` (-infinity:
 * all but not-a-number), the greatest first, of equal ones the lower box. One that overlaps a box that is kept already, intersection over union, by
 * more than `overlap` is not kept; boxes without an area overlap none. `most` are kept at most. The result is [N * C * min(most, B), 3]:
 * image, class and box of what is kept, by image, then by class, then as they were kept; rows that are left come last and are -1. */
typedef struct pz_attr_non_max_suppression {
  int32_t most;
  bool centre;
  float overlap, score;
} pz_attr_non_max_suppression;
/* gather_rows: x [R, ...], index of any shape, at most 2^24 rows. Entry i of the index becomes row index[i] of x, all `fill` where that is
 * none of the rows: the shape is that of the index, then that of a row. */
typedef struct pz_attr_gather_rows {
  float fill;
} pz_attr_gather_rows;

/* volume_border: x, place [6]: where a patch lies, z, y and x of its first voxel, and the size of the volume, whole numbers. x where an element lies in
 * the volume, `value` outside of it. axes: for each of z, y and x the number 0 (nothing is outside), or 1, num, den, first, rules, and so many rules
 * of three numbers, mul, add, div: element e of x is element place * den / num + first + e of the tensor of the whole volume, which has as many as come
 * of the volume's size by one rule after the other, n -> floor((n * mul + add) / div). */
typedef struct pz_attr_volume_border {
  pz_index_list axes;
  float value;
  bool
      edge; /* outside is, in place of `value`, the nearest element of x inside of the volume, or x as it is where there is none */
} pz_attr_volume_border;
enum { PZ_BORDER_RULES = 4 };
typedef struct pz_border_axis {
  bool bounded;
  int64_t num, den, first;
  int32_t rules;
  struct {
    int64_t mul, add, div;
  } rule[PZ_BORDER_RULES];
} pz_border_axis;
/* False: they are none. */
bool pz_border_axes(const pz_index_list *axes, pz_border_axis out[PZ_SPATIAL]);
/* Elements begin .. end - 1 of `size` lie in the volume. */
void pz_border_inside(const pz_border_axis *a, int64_t place, int64_t volume, int64_t size, int64_t *begin,
                      int64_t *end);
/* history: x [N, C, d, h, w]. The last `planes` planes of what the runs before were given, zero before the first run, and behind them x. (The
 * reference knows first runs alone.) */
typedef struct pz_attr_history {
  int32_t planes;
} pz_attr_history;

typedef enum pz_op {
#define OP(id, name, min_in, max_in, attr_type, family, layouts) PZ_OP_##id,
#include "graph/ops.inc"
#undef OP
  PZ_OP_COUNT
} pz_op;

/* The member is that of the operator. */
typedef union pz_attributes {
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
  pz_attr_group_norm group_norm;
  pz_attr_channel_norm channel_norm;
  pz_attr_resize resize;
  pz_attr_reduce reduce;
  pz_attr_pad pad;
  pz_attr_depth_to_space depth_to_space;
  pz_attr_argmax argmax;
  pz_attr_gather gather;
  pz_attr_cast cast;
  pz_attr_cumsum cumsum;
  pz_attr_detection_output detection_output;
  pz_attr_non_max_suppression non_max_suppression;
  pz_attr_gather_rows gather_rows;
  pz_attr_volume_border volume_border;
  pz_attr_history history;
} pz_attributes;

typedef struct pz_node {
  const char *name; /* the layer's name; unique among nodes */
  pz_op op;
  int32_t n_in, n_out;
  pz_tensor_id *in, *out; /* PZ_NONE where an optional input is absent */
  pz_place place;
  pz_attributes attr;
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
  double
      folding; /* what constants took to compute that passes have folded, in multiply-adds: passes come again and again */
} pz_graph;

/* ---- building ---- */

pz_status pz_graph_new(const char *name, pz_graph **graph, pz_error *err); /* caller: pz_graph_free */
void pz_graph_free(pz_graph *graph);
/* Indices are the same; constants' data is copied too. */
pz_status pz_graph_copy(const pz_graph *from, pz_graph **to, pz_error *err);
/* The same, but for the constants' data, which is that of `from`: the copy is freed before it. */
pz_status pz_graph_copy_sharing(const pz_graph *from, pz_graph **to, pz_error *err);

/* A node with the defaults of its operator's attributes (attributes.inc: kernel, stride, dilation, group 1, ...),
 * no name, no inputs. */
pz_node pz_node_new(pz_op op);

/* Each adds one thing and gives its index. Names are copied; attribute pointers and input lists too. On failure the
 * graph is as before. Adding may move g->tensors and g->nodes: keep indices, not pointers. Names are not empty. */
pz_status pz_graph_add_input(pz_graph *g, const char *name, const pz_shape *shape, pz_tensor_id *id,
                             pz_error *err);
/* Of an input, which is f32 when it is added. */
pz_status pz_graph_set_element(pz_graph *g, pz_tensor_id input, pz_element element, pz_error *err);
/* The type that the caller wants an input or an output of that name to have; a message that lists the names where there is none. */
pz_status pz_graph_want_type(pz_graph *g, bool input, const char *name, pz_dtype type, pz_error *err);
/* data (elements of shape, C order) is copied when not NULL; when NULL zeroed storage is made. The caller may
 * fill it through pz_graph_constant_data until the graph is verified. */
pz_status pz_graph_add_constant(pz_graph *g, const char *name, const pz_shape *shape, const float *data,
                                pz_tensor_id *id, pz_error *err);
/* Bytes of all constants. What pz_arena_watch makes of a graph's arena, copies and plans of it inherit. */
int64_t pz_graph_constant_bytes(const pz_graph *g);
float *pz_graph_constant_data(pz_graph *g, pz_tensor_id id);
/* Adds a node with n_out new tensors named out_names[i], and infers their shapes (so inputs must exist
 * already). `node` gives op, name, in, n_in, attr, place; its out is ignored. On success ids[i] are set. The stored
 * node has all the optional slots of its operator: n_in is the operator's max_in (unless that is -1), absent ones are
 * PZ_NONE, so that node->in[PZ_CONV_SLOPE] may always be read. */
pz_status pz_graph_add_node(pz_graph *g, const pz_node *node, int32_t n_out, const char *const *out_names,
                            pz_tensor_id *ids, pz_error *err);
pz_status pz_graph_add_output(pz_graph *g, pz_tensor_id id, pz_error *err);

/* ---- looking ---- */

/* What kind of work an operator is: the colours of a network's page. */
typedef enum pz_op_family {
  PZ_FAMILY_CONV,
  PZ_FAMILY_DECONV,
  PZ_FAMILY_PRODUCT,
  PZ_FAMILY_POOL, /* one value of several */
  PZ_FAMILY_NORM,
  PZ_FAMILY_FUNCTION,
  PZ_FAMILY_JOIN, /* several tensors */
  PZ_FAMILY_MOVE, /* values stay what they are */
  PZ_FAMILY_OTHER,
  PZ_FAMILIES
} pz_op_family;
/* What layouts are to an operator (NeoCPU 3.2). The solvers of its row hold to it (tests/plan/test_layouts.c), and the search converts where they do
 * not agree. */
typedef enum pz_op_layouts {
  PZ_LAYOUT_OBLIVIOUS, /* values are what they are wherever they lie: it has solvers for NCHW and for NCHWc */
  PZ_LAYOUT_TOLERANT,  /* it must know where they lie: there is a solver that reads NCHWc */
  PZ_LAYOUT_DEPENDENT /* the order of NCHW is part of what it means, or all that it knows: solvers read and write that */
} pz_op_layouts;
typedef struct pz_op_traits { /* a row of ops.inc */
  const char *name;
  int32_t min_in, max_in; /* max_in -1: any number */
  pz_op_family family;
  pz_op_layouts layouts;
} pz_op_traits;
const pz_op_traits *pz_op_get(pz_op op);
const char *pz_op_name(pz_op op);
pz_op pz_op_find(const char *name);                      /* PZ_OP_NONE where no operator has that name */
const char *pz_activation_name(pz_activation_kind kind); /* "none" for PZ_ACT_NONE */
bool pz_activation_uses_alpha(pz_activation_kind kind);
bool pz_activation_uses_beta(pz_activation_kind kind);
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
static inline pz_element pz_tensor_element(const pz_tensor *t) {
  return (pz_element){t->type, t->scale, t->zero_point};
}
bool pz_element_equal(pz_element a, pz_element b);
/* "u8", "u8 scale 0.5 zero_point 3" into out (at least PZ_ELEMENT_TEXT bytes); returns out. */
#define PZ_ELEMENT_TEXT 64
const char *pz_element_text(pz_element element, char *out);
/* Of the direct algorithm; conv, deconv and inner_product have any. */
double pz_node_multiply_adds(const pz_graph *g, const pz_node *node);
/* Inputs, constants and outputs once each. */
double pz_node_bytes(const pz_graph *g, const pz_node *node);
/* The zero border that a conv or deconv needs around its input x, so that no position is out of storage:
 * conv: its padding (high side: only as far as the last window reaches); deconv by phases: what its outermost
 * phases read outside of x. Zero for all other operators. */
void pz_node_input_border(const pz_graph *g, const pz_node *node, int32_t lo[PZ_SPATIAL],
                          int32_t hi[PZ_SPATIAL]);

/* Of a pool: the maximum of windows of one or two points along each axis, side by side, that leave nothing over; of more than one
 * window. */
bool pz_node_pools_simply(const pz_graph *g, const pz_node *node);

/* resize: the position of an axis of `in` inputs that output o looks at, clamped to 0..in-1; rounded for nearest. */
double pz_resize_position(const pz_attr_resize *a, int32_t axis, int64_t in, int64_t o);
int64_t pz_resize_nearest(const pz_attr_resize *a, int32_t axis, int64_t in, int64_t o);

/* ---- changing (for passes) ---- */

/* `stem`, or stem_2, stem_3, ...: a name that neither a node nor a tensor has. In the graph's arena; NULL when out of
 * memory. */
const char *pz_graph_fresh_name(pz_graph *g, const char *stem);
pz_status pz_graph_rename_tensor(pz_graph *g, pz_tensor_id id, const char *name, pz_error *err);
/* In node inputs and graph outputs. */
void pz_graph_replace_uses(pz_graph *g, pz_tensor_id from, pz_tensor_id to);
/* op becomes PZ_OP_NONE, its name is free again; compact removes it. */
void pz_graph_kill_node(pz_graph *g, pz_node_id id);
/* Node id becomes node `before`, at most id; those between go one up. */
void pz_graph_move_node(pz_graph *g, pz_node_id id, pz_node_id before);
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
/* The graph without what its author wrote: names are numbers, constants are seeds of their shapes. It has the problems of `g`, and node i is node i,
 * where no node of `g` is dead. */
pz_status pz_graph_print_bare(const pz_graph *g, pz_text *out);
pz_status pz_graph_parse(const char *text, size_t size, const char *file, pz_graph **graph, pz_error *err);
pz_status pz_graph_print_dot(const pz_graph *g, pz_text *out);
/* The attributes of a node as the text form has them, " kernel 3,3,3 act relu": all that are not their operator's defaults. Reads op, attr,
 * n_in and n_out of the node; rank_of_x: of input 0. Only out of memory out->failed is set. */
void pz_attributes_print(const pz_node *node, int32_t rank_of_x, pz_text *out);
/* The values of `seed S scale A` in the text form: n numbers in [-scale, scale) from splitmix64 started at `seed`. */
void pz_graph_random(uint64_t seed, float scale, int64_t n, float *out);

#endif
