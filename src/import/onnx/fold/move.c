/* move.c: constants whose values are those of another. */
#include "import/onnx/ops.h"

pz_onnx_view pz_onnx_whole(const pz_shape *shape) {
  pz_onnx_view view = {.shape = *shape};
  int64_t stride = 1;
  for (int32_t i = shape->rank - 1; i >= 0; i--) {
    view.stride[i] = stride;
    stride *= shape->dim[i] ? shape->dim[i] : 1;
  }
  return view;
}

/* Counts through the view's positions with an odometer. */
pz_status pz_onnx_give_view(pz_onnx *c, int32_t output, const pz_onnx_constant *k, const pz_onnx_view *view) {
  pz_onnx_space space;
  int64_t position[PZ_MAX_RANK] = {0}, at = view->offset;
  PZ_TRY(pz_onnx_new_constant(c, k->type, &view->shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    pz_onnx_move(&space, i, k, at, 1);
    for (int32_t d = view->shape.rank - 1; d >= 0; d--) {
      at += view->stride[d];
      if (++position[d] < view->shape.dim[d]) break;
      at -= view->stride[d] * view->shape.dim[d];
      position[d] = 0;
    }
  }
  return pz_onnx_give_constant(c, output, space.constant);
}

pz_status pz_onnx_give_shaped(pz_onnx *c, int32_t output, const pz_onnx_constant *k, const pz_shape *shape) {
  pz_onnx_constant *copy = PZ_NEW(c->arena, pz_onnx_constant, 1);
  PZ_TRY(pz_onnx_check_shape(c, c->node_name, shape));
  if (!copy) return pz_onnx_no_memory(c);
  *copy = *k;
  copy->shape = *shape;
  return pz_onnx_give_constant(c, output, copy);
}

pz_status pz_onnx_give_ints(pz_onnx *c, const pz_shape *shape, const int64_t *ints) {
  pz_onnx_space space;
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_INT64, shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) space.ints[i] = ints[i];
  return pz_onnx_give_constant(c, 0, space.constant);
}
