/* ops.h: what the operators' files share. Each row of graph/ops.inc has one function here. */
#ifndef PZ_REFERENCE_OPS_H
#define PZ_REFERENCE_OPS_H

#include "reference/reference.h"

/* One evaluation of one node: in[i] (NULL where absent) and out[i] are dense, C order, of the tensors' shapes. */
typedef struct pz_reference_call {
  const pz_graph *g;
  const pz_node *node;
  const double *const *in;
  double *const *out;
} pz_reference_call;

/* pz_reference_CONV(call), pz_reference_POOL(call), ... for every row. They cannot fail: the graph is verified. */
#define OP(id, name, min_in, max_in, attr_type, family, layouts)                                             \
  void pz_reference_##id(const pz_reference_call *call);
#include "graph/ops.inc"
#undef OP

/* The work was interrupted: what an operator leaves in its results then is not looked at. */
static inline bool pz_reference_stops(const pz_reference_call *call) {
  return pz_arena_interrupted(call->g->arena);
}

/* The input in slot i, NULL where it is absent or the list is shorter. */
static inline const double *reference_in(const pz_reference_call *call, int i) {
  return i < call->node->n_in && call->node->in[i] != PZ_NONE ? call->in[i] : NULL;
}
static inline const pz_shape *reference_in_shape(const pz_reference_call *call, int i) {
  return &call->g->tensors[call->node->in[i]].shape;
}
static inline const pz_shape *reference_out_shape(const pz_reference_call *call, int i) {
  return &call->g->tensors[call->node->out[i]].shape;
}

/* A tensor seen from one of its axes: outer x size x inner. */
typedef struct pz_axis_view {
  int64_t outer, size, inner;
} pz_axis_view;
static inline int64_t reference_product(const pz_shape *s, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; i++) product *= s->dim[i];
  return product;
}
static inline pz_axis_view reference_axis(const pz_shape *s, int axis) {
  return (pz_axis_view){reference_product(s, 0, axis), s->dim[axis], reference_product(s, axis + 1, s->rank)};
}

/* Walks over the indices of a shape in C order: each call gives begin + the sum of index[i]*stride[i]. */
typedef struct pz_reference_cursor {
  const pz_shape *shape;
  int64_t at, stride[PZ_MAX_RANK], index[PZ_MAX_RANK];
} pz_reference_cursor;
static inline int64_t pz_reference_next(pz_reference_cursor *c) {
  int64_t at = c->at;
  for (int k = c->shape->rank - 1; k >= 0; k--) {
    c->at += c->stride[k];
    if (++c->index[k] < c->shape->dim[k]) break;
    c->at -= c->stride[k] * c->shape->dim[k];
    c->index[k] = 0;
  }
  return at;
}
/* The strides of a dense tensor. */
void pz_reference_strides(const pz_shape *s, int64_t stride[PZ_MAX_RANK]);
/* Goes over `y` and gives the elements of a dense x of the same rank, repeated along dimensions where x has 1. */
pz_reference_cursor pz_reference_repeated(const pz_shape *x, const pz_shape *y);

/* Applies an activation in place; the slopes (NULL unless it has any) go along the view's axis. */
void pz_reference_activate(const pz_activation *act, const double *slope, int64_t n_slopes, pz_axis_view view,
                           double *values);
/* For conv and deconv: y = bias + residual*residual_scale before the sum, and the activation after it. */
void pz_reference_conv_begin(const pz_reference_call *call);
void pz_reference_conv_end(const pz_reference_call *call);

/* The positions o in 0..n_out-1 for which 0 <= stride*o + offset < n_in, as a half-open range. */
typedef struct pz_span {
  int64_t begin, end;
} pz_span;
pz_span pz_reference_span(int64_t n_out, int64_t stride, int64_t offset, int64_t n_in);

#endif
