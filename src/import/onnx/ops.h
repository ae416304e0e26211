/* ops.h: what the files of ops/ and fold/ share. */
#ifndef PZ_IMPORT_ONNX_OPS_H
#define PZ_IMPORT_ONNX_OPS_H

#include "import/onnx/onnx.h"
#include <math.h>
#include <string.h>

/* ---- ops/spatial.c: windows that slide over the spatial dimensions ---- */

typedef struct pz_onnx_window {
  int32_t spatial; /* dimensions; entries of absent ones are 1, or 0 in pads */
  int32_t kernel[PZ_SPATIAL], stride[PZ_SPATIAL], dilation[PZ_SPATIAL];
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL];
  enum { PZ_ONNX_NOTSET, PZ_ONNX_VALID, PZ_ONNX_SAME_UPPER, PZ_ONNX_SAME_LOWER } automatic;
} pz_onnx_window;
/* Input 0 has `spatial` dimensions behind N and C, one to three. */
pz_status pz_onnx_spatial(pz_onnx *c, int32_t *spatial);
/* kernel_shape (that of `weight`, where it is not NULL), strides, dilations, pads, auto_pad. With `automatic` SAME_... pads
 * are not set yet. */
pz_status pz_onnx_read_window(pz_onnx *c, const pz_shape *weight, pz_onnx_window *w);
/* Sets the pads of SAME_...: a result for every stride-th position, what is odd goes to the high side where UPPER. */
void pz_onnx_pad_same(const pz_shape *x, pz_onnx_window *w);

/* ---- ops/broadcast.c: NumPy's broadcasting ---- */

/* The shape that n shapes broadcast to. */
pz_status pz_onnx_broadcast(pz_onnx *c, const pz_shape *const *shapes, int32_t n, pz_shape *out);
/* `shape` with 1s in front, so that it has `rank` dimensions. */
pz_shape pz_onnx_widen(const pz_shape *shape, int32_t rank);
/* The element of a value of shape `in` that broadcasting puts at element i of one of shape `out`. */
int64_t pz_onnx_source(const pz_shape *out, const pz_shape *in, int64_t i);
/* Adds an element-wise node over the n inputs, which get equal ranks first. */
pz_status pz_onnx_eltwise(pz_onnx *c, pz_eltwise_kind kind, const float *coeff, int32_t n, pz_tensor_id *in,
                          pz_tensor_id *out);
/* Whether a constant broadcast to `x` has one value for each channel (entry of dimension 1). */
bool pz_onnx_is_per_map(const pz_shape *x, const pz_shape *constant);

/* ---- ops/whole.c: whole numbers in floats: labels, counts ---- */

typedef enum pz_onnx_operation {
  PZ_ONNX_ADD,
  PZ_ONNX_SUB,
  PZ_ONNX_MUL,
  PZ_ONNX_DIV,
  PZ_ONNX_MOD
} pz_onnx_operation;
/* Inputs 0 and 1 are of an integer type. */
pz_status pz_onnx_whole_arithmetic(pz_onnx *c, pz_onnx_operation op);
/* Gives x, whole numbers of a range, as output 0 of an integer type: refuses what floats do not hold, and wraps around what
 * the type does not. */
pz_status pz_onnx_give_whole(pz_onnx *c, pz_tensor_id x, pz_onnx_range range, pz_onnx_type type);
static inline bool pz_onnx_is_exact(pz_onnx_range r) {
  return r.low >= -PZ_ONNX_EXACT && r.high <= PZ_ONNX_EXACT;
}
static inline bool pz_onnx_holds(pz_onnx_range outer, pz_onnx_range r) {
  return r.low >= outer.low && r.high <= outer.high;
}

/* ---- ops/cast.c ---- */

/* The type that Cast or CastLike casts to; reads all attributes. */
pz_status pz_onnx_cast_target(pz_onnx *c, int64_t *to);

/* ---- fold/move.c: constants whose values are those of another ---- */

/* Element (j0, j1, ...) of `shape` is element offset + j0*stride[0] + j1*stride[1] + ... of a constant. */
typedef struct pz_onnx_view {
  pz_shape shape;
  int64_t offset, stride[PZ_MAX_RANK];
} pz_onnx_view;
/* The view that is all of a constant. */
pz_onnx_view pz_onnx_whole(const pz_shape *shape);
pz_status pz_onnx_give_view(pz_onnx *c, int32_t output, const pz_onnx_constant *k, const pz_onnx_view *view);
/* The same values in another shape of as many elements. */
pz_status pz_onnx_give_shaped(pz_onnx *c, int32_t output, const pz_onnx_constant *k, const pz_shape *shape);
/* Towards zero; what no integer holds becomes the nearest one, not-a-number 0. */
int64_t pz_onnx_to_int(double v);
/* An integer modulo 2^bits of its type. */
int64_t pz_onnx_wrap(pz_onnx_type type, int64_t v);
/* A list of integers. */
pz_status pz_onnx_give_ints(pz_onnx *c, const pz_shape *shape, const int64_t *ints);

/* ---- fold/number.c: what Add, Max, Less, ..., Clip, Cast, Where and reductions do to constants ---- */

pz_status pz_onnx_fold_binary(pz_onnx *c);
pz_status pz_onnx_fold_clip(pz_onnx *c);
pz_status pz_onnx_fold_cast(pz_onnx *c);
pz_status pz_onnx_fold_where(pz_onnx *c);
pz_status pz_onnx_fold_reduce(pz_onnx *c);

/* ---- fold/quantize.c: values of x that share a scale ---- */

/* All of x (strides 0), each entry of an axis, or each block of `size` entries of an axis. */
typedef struct pz_onnx_blocks {
  pz_onnx_view view; /* from positions of x, divided by size, to scales */
  int64_t size[PZ_MAX_RANK];
} pz_onnx_blocks;
/* By the attributes axis and block_size; zero (may be NULL) must have as many values as scale. */
pz_status pz_onnx_find_blocks(pz_onnx *c, const pz_shape *x, const pz_onnx_constant *scale,
                              const pz_onnx_constant *zero, pz_onnx_blocks *b);
/* The scale of element i of x, or of a shape that has 1 where the strides are 0. */
int64_t pz_onnx_block_of(const pz_onnx_blocks *b, const pz_shape *x, int64_t i);

/* DequantizeLinear of constants, which are quantised weights. */
pz_status pz_onnx_dequantize_constant(pz_onnx *c);

#endif
