/* quantize.c: which values share a scale; DequantizeLinear of constants, which are quantised weights. */
#include "import/onnx/ops.h"

static pz_status check_scales(pz_onnx *c, const pz_onnx_constant *scale, const pz_onnx_constant *zero) {
  if (scale->ints) return pz_onnx_refuse(c, "scales of type %s", pz_onnx_type_name(scale->type));
  if (scale->elements < 1) return pz_onnx_fail(c, "has no scales");
  if (!zero || zero->elements == scale->elements) return PZ_OK;
  return pz_onnx_fail(c, "has %lld scales, but %lld zero points", (long long)scale->elements,
                      (long long)zero->elements);
}

pz_status pz_onnx_find_blocks(pz_onnx *c, const pz_shape *x, const pz_onnx_constant *scale,
                              const pz_onnx_constant *zero, pz_onnx_blocks *b) {
  int64_t block;
  int32_t axis = 0;
  *b = (pz_onnx_blocks){0};
  PZ_TRY(check_scales(c, scale, zero));
  PZ_TRY(pz_onnx_attr_int(c, "block_size", 0, &block));
  for (int32_t d = 0; d < PZ_MAX_RANK; d++) b->size[d] = 1;
  if (scale->elements == 1) {
    pz_onnx_attr(c, "axis");
    return PZ_OK;
  }
  PZ_TRY(pz_onnx_attr_axis(c, 1, x->rank, &axis));
  if (scale->shape.rank == 1 && scale->elements == x->dim[axis]) {
    b->view.stride[axis] = 1;
    return PZ_OK;
  }
  bool fits = scale->shape.rank == x->rank && block > 0;
  for (int32_t d = 0; d < x->rank && fits; d++)
    fits = scale->shape.dim[d] == (d == axis ? (x->dim[d] - 1) / block + 1 : x->dim[d]);
  if (!fits) return pz_onnx_fail(c, "its scales do not fit its input");
  b->view = pz_onnx_whole(&scale->shape);
  b->size[axis] = block;
  return PZ_OK;
}

int64_t pz_onnx_block_of(const pz_onnx_blocks *b, const pz_shape *x, int64_t i) {
  int64_t at = 0;
  for (int32_t d = x->rank - 1; d >= 0; d--) {
    at += i % x->dim[d] / b->size[d] * b->view.stride[d];
    i /= x->dim[d];
  }
  return at;
}

pz_status pz_onnx_dequantize_constant(pz_onnx *c) {
  const pz_onnx_constant *x, *scale, *zero = NULL;
  pz_onnx_space space;
  pz_onnx_blocks b;
  PZ_TRY(pz_onnx_constant_in(c, 0, &x));
  PZ_TRY(pz_onnx_constant_in(c, 1, &scale));
  if (pz_onnx_has(c, 2)) PZ_TRY(pz_onnx_constant_in(c, 2, &zero));
  PZ_TRY(pz_onnx_find_blocks(c, &x->shape, scale, zero, &b));
  pz_onnx_attr(c, "output_dtype");
  PZ_TRY(pz_onnx_new_constant(c, scale->type, &x->shape, &space));
  for (int64_t i = 0; i < x->elements; i++) {
    const int64_t at = pz_onnx_block_of(&b, &x->shape, i);
    const double offset = zero ? pz_onnx_number(zero, at) : 0;
    pz_onnx_put(&space, i, (pz_onnx_number(x, i) - offset) * pz_onnx_number(scale, at));
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}
