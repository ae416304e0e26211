/* solver.c: permutation of any dimensions; depth to space in the NCHWc layout, or as a permutation. */
#include "kernels/permute/permute.h"
#include "kernels/shuffle/depth_to_space.h"
#include "plan/axes.h"

#include <string.h>

/* As kernels/permute/permute.h decides. */
static bool moves_elements(const pz_query *q, const pz_axes *axes, int32_t across) {
  const int32_t last = axes->n - 1;
  if (across == last) return false;
  return axes->in[across] != 1 || 2 * axes->size[across] < q->target->block ||
         2 * axes->size[last] < q->target->block;
}

static pz_status add_permute(const pz_query *q, pz_builder *b, const char *name, pz_axes *axes,
                             const pz_storage *in, const pz_storage *out, pz_error *err) {
  pz_axes_simplify(axes);
  const int32_t last = axes->n - 1;
  int32_t across = last;
  for (int32_t i = 0; i < axes->n && axes->in[across] != 1; i++) across = i;
  if (axes->in[across] != 1) across = last ? 0 : PZ_NONE;
  if (across == PZ_NONE) { /* one axis with gaps: rows of one element */
    *axes = (pz_axes){2, {1, axes->size[0]}, {1, axes->in[0]}, {1, 1}};
    across = 0;
  }
  b->step->scalar = moves_elements(q, axes, across);
  PZ_TRY(pz_set_algorithm(b, err, "%s%s", name, b->step->scalar ? " (scalar: short runs)" : ""));
  pz_permute_shape s = {.axes = axes->n, .across = across};
  for (int32_t i = 0; i < axes->n; i++)
    s.size[i] = (int32_t)axes->size[i], s.in[i] = axes->in[i], s.out[i] = axes->out[i];
  pz_text shape = {0};
  pz_text_permute(&shape, &s);
  const pz_arg args[] = {{.name = "in", .at = in->at}, {.name = "out", .written = true, .at = out->at}};
  return pz_add_call(b, "kernels/permute/permute.h", "pz_permute", &shape, args, 2, err);
}

static pz_status build_permute(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_shape *x = &q->problem->in[0].shape;
  const pz_shape *y = &q->problem->out[0].shape;
  const pz_storage in = placed->in[0];
  int64_t stride[PZ_MAX_RANK];
  pz_axes axes = {.n = y->rank};
  const pz_storage out = placed->out[0];
  pz_nd_strides(x, &in.view, stride);
  pz_nd_strides(y, &out.view, axes.out);
  for (int i = 0; i < y->rank; i++)
    axes.size[i] = y->dim[i], axes.in[i] = stride[q->problem->attr.permute.order[i]];
  return add_permute(q, b, "permutation", &axes, &in, &out, err);
}
const pz_solver pz_solver_permute = {
    .name = "permutation", .op = PZ_OP_PERMUTE, .in = PZ_NCHW, .out = PZ_NCHW, .emit = build_permute};

/* ---- depth to space ---- */

/* What the kernel for blocks can do. */
static bool keeps_blocks(const pz_query *q) {
  const pz_attr_depth_to_space *a = &q->problem->attr.depth_to_space;
  const int64_t points = (int64_t)a->block[0] * a->block[1] * a->block[2];
  const int64_t wide = (a->inverse ? q->problem->in : q->problem->out)[0].shape.dim[1];
  if (a->columns_first) return points <= PZ_DEPTH_TO_SPACE_MOST && (points & (points - 1)) == 0;
  return wide % q->target->block == 0;
}

static pz_status build_depth_to_space(const pz_query *q, const pz_placed *placed, pz_builder *b,
                                      pz_error *err) {
  const pz_attr_depth_to_space *a = &q->problem->attr.depth_to_space;
  const pz_storage in = placed->in[0];
  const pz_storage out = placed->out[0];
  pz_depth_to_space_shape s = {
      .in = in.view, .out = out.view, .columns_first = a->columns_first, .inverse = a->inverse};
  memcpy(s.block, a->block, sizeof s.block);
  pz_text shape = {0};
  pz_text_depth_to_space(&shape, &s);
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/shuffle/depth_to_space.h", "pz_depth_to_space", &shape, args, 2, err);
}
const pz_solver pz_solver_depth_to_space = {.name = "lanes to positions",
                                            .op = PZ_OP_DEPTH_TO_SPACE,
                                            .in = PZ_NCHWC,
                                            .out = PZ_NCHWC,
                                            .applies = keeps_blocks,
                                            .emit = build_depth_to_space};

/* The axes n, c, z, i, y, j, x, k of the tensor of more channels, and of that of more positions (graph.h). */
static void strides_of_deep(const pz_attr_depth_to_space *a, const pz_view *v, int64_t channels,
                            int64_t to[8]) {
  const int64_t points = (int64_t)a->block[0] * a->block[1] * a->block[2];
  const int64_t c = a->columns_first ? points * v->stride_c : v->stride_c;
  const int64_t k = a->columns_first ? v->stride_c : channels * v->stride_c;
  const int64_t strides[8] = {
      v->stride_n, c, v->stride_d, a->block[1] * a->block[2] * k, v->stride_h, a->block[2] * k,
      v->stride_w, k};
  for (int i = 0; i < 8; i++) to[i] = strides[i];
}
static void strides_of_wide(const pz_attr_depth_to_space *a, const pz_view *v, int64_t to[8]) {
  const int64_t strides[8] = {v->stride_n,
                              v->stride_c,
                              a->block[0] * v->stride_d,
                              v->stride_d,
                              a->block[1] * v->stride_h,
                              v->stride_h,
                              a->block[2] * v->stride_w,
                              v->stride_w};
  for (int i = 0; i < 8; i++) to[i] = strides[i];
}

static pz_status build_depth_to_space_nd(const pz_query *q, const pz_placed *placed, pz_builder *b,
                                         pz_error *err) {
  const pz_attr_depth_to_space *a = &q->problem->attr.depth_to_space;
  const pz_storage in = placed->in[0];
  const pz_storage out = placed->out[0];
  const pz_view *deep = a->inverse ? &out.view : &in.view, *wide = a->inverse ? &in.view : &out.view;
  pz_axes axes = {
      8, {deep->n, wide->c, deep->d, a->block[0], deep->h, a->block[1], deep->w, a->block[2]}, {0}, {0}};
  strides_of_deep(a, deep, wide->c, a->inverse ? axes.out : axes.in);
  strides_of_wide(a, wide, a->inverse ? axes.in : axes.out);
  return add_permute(q, b, "permutation of blocks", &axes, &in, &out, err);
}
const pz_solver pz_solver_depth_to_space_nd = {.name = "permutation of blocks",
                                               .op = PZ_OP_DEPTH_TO_SPACE,
                                               .in = PZ_NCHW,
                                               .out = PZ_NCHW,
                                               .rank = PZ_LAST_CHOICE,
                                               .emit = build_depth_to_space_nd};
