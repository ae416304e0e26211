/* solver.c: operators that move values and change none: concatenation, slice, crop, reshape, identity,
 * and the explicit copies into storage with a border. Most of them are views that cost nothing. */
#include "kernels/copy/lanes.h"
#include "plan/axes.h"

#include <string.h>

/* ---- windows: crops and slices as views ---- */

static void get5(const pz_view *v, int32_t size[5], int64_t stride[5]) {
  const int32_t sizes[5] = {v->n, v->c, v->d, v->h, v->w};
  const int64_t strides[5] = {v->stride_n, v->stride_c, v->stride_d, v->stride_h, v->stride_w};
  memcpy(size, sizes, sizeof sizes);
  memcpy(stride, strides, sizeof strides);
}

static pz_storage window(const pz_storage *of, const int64_t offset[5], const int64_t size[5]) {
  pz_storage s = *of;
  int32_t sizes[5];
  int64_t strides[5];
  get5(&of->view, sizes, strides);
  for (int i = 0; i < 5; i++)
    pz_storage_move(&s, (i == 1 ? offset[1] / of->view.block : offset[i]) * strides[i]);
  s.view.n = (int32_t)size[0];
  s.view.c = (int32_t)size[1];
  s.view.d = (int32_t)size[2];
  s.view.h = (int32_t)size[3];
  s.view.w = (int32_t)size[4];
  memset(s.view.border_lo, 0, sizeof s.view.border_lo);
  memset(s.view.border_hi, 0, sizeof s.view.border_hi);
  s.owner = false;
  return s;
}

/* A window whose channels begin in the middle of a block, or end there before the tensor does, has other channels in
 * its lanes: its channels are moved to a tensor of its own. */
static bool lanes_fit(const pz_storage *of, const int64_t offset[5], const int64_t size[5]) {
  const int block = of->view.block;
  return offset[1] % block == 0 && (size[1] % block == 0 || offset[1] + size[1] == of->view.c);
}

static void window_of(const pz_query *q, int32_t i, int64_t offset[5], int64_t size[5]) {
  const pz_attributes *a = &q->problem->attr;
  const int rank = q->problem->in[0].shape.rank;
  const pz_shape5 s = pz_shape_as5(&q->problem->out[i].shape);
  const int64_t sizes[5] = {s.n, s.c, s.s[0], s.s[1], s.s[2]};
  memcpy(size, sizes, sizeof sizes);
  memset(offset, 0, sizeof sizes);
  if (q->problem->op == PZ_OP_SLICE) offset[pz_axis5(rank, a->slice.axis)] = a->slice.begin[i];
  for (int k = 0; q->problem->op == PZ_OP_CROP && k < rank; k++)
    offset[pz_axis5(rank, k)] = a->crop.offset[k];
}

static bool views_window(const pz_query *q, const pz_storage *in, int32_t i, pz_storage *view) {
  int64_t offset[5], size[5];
  window_of(q, i, offset, size);
  if (!lanes_fit(in, offset, size)) return false;
  *view = window(in, offset, size);
  return true;
}

/* Of the outputs that are no views. */
static pz_status move_channels(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_storage *in = &placed->in[0];
  for (int32_t i = 0; i < q->problem->n_out; i++) {
    const pz_storage *out = &placed->out[i];
    int64_t offset[5], size[5];
    if (out->tensor == PZ_NONE) continue;
    window_of(q, i, offset, size);
    const int64_t all_channels[5] = {offset[0], 0, offset[2], offset[3], offset[4]},
                  whole[5] = {size[0], in->view.c, size[2], size[3], size[4]};
    const pz_storage spatial = window(in, all_channels, whole);
    pz_text shape = {0};
    pz_text_slice_channels(&shape, &(pz_slice_channels_shape){
                                       .in = spatial.view, .out = out->view, .first = (int32_t)offset[1]});
    const pz_arg args[] = {{.name = "in", .at = spatial.at}, {.name = "out", .written = true, .at = out->at}};
    b->step->algorithm = "moving lanes";
    PZ_TRY(pz_add_call(b, "kernels/copy/lanes.h", "pz_slice_channels", &shape, args, 2, err));
  }
  return PZ_OK;
}
const pz_solver pz_solver_slice = {.name = "slice",
                                   .op = PZ_OP_SLICE,
                                   .in = PZ_NCHWC,
                                   .out = PZ_NCHWC,
                                   .views = views_window,
                                   .emit = move_channels};

static bool crops_window(const pz_query *q) {
  const pz_attr_crop *a = &q->problem->attr.crop;
  for (int i = 0; i < PZ_MAX_RANK; i++)
    if (a->size[i] > 1 && a->step[i] != 1) return false;
  return q->problem->in[0].shape.rank <= 5;
}
const pz_solver pz_solver_crop = {.name = "crop",
                                  .op = PZ_OP_CROP,
                                  .in = PZ_NCHWC,
                                  .out = PZ_NCHWC,
                                  .applies = crops_window,
                                  .views = views_window,
                                  .emit = move_channels};

/* ---- concatenation ---- */

static bool channels_only(const pz_query *q) { return q->problem->attr.concat.axis == 1; }

static bool parts_fit_blocks(const pz_query *q) {
  for (int32_t i = 0; i + 1 < q->problem->n_in; i++)
    if (q->problem->in[i].shape.dim[1] % q->target->block) return false;
  return true;
}

#define MOST_JOINED 8 /* PZ_CONCAT_INPUTS of kernels/copy/lanes.h */
static bool can_join_lanes(const pz_query *q) {
  return channels_only(q) && (parts_fit_blocks(q) || q->problem->n_in <= MOST_JOINED);
}

static bool lies_at(const pz_storage *part, const pz_storage *window) {
  return part->at.space == window->at.space && part->at.index == window->at.index &&
         part->at.offset == window->at.offset;
}

/* Copies part after part into its window of the output; parts that were written there already are left out. */
static pz_status copy_parts(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const int rank = q->problem->in[0].shape.rank;
  int64_t offset[5] = {0};
  for (int32_t i = 0; i < q->problem->n_in; i++) {
    const pz_shape5 s = pz_shape_as5(&q->problem->in[i].shape);
    const int64_t size[5] = {s.n, s.c, s.s[0], s.s[1], s.s[2]};
    const int axis = pz_axis5(rank, q->problem->attr.concat.axis);
    const pz_storage to = window(&placed->out[0], offset, size);
    offset[axis] += size[axis];
    if (!lies_at(&placed->in[i], &to)) PZ_TRY(pz_add_copy_call(b, &placed->in[i], &to, err));
  }
  return PZ_OK;
}

static pz_status join_lanes(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_storage *out = &placed->out[0];
  static const char *const names[MOST_JOINED] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"};
  pz_arg args[MOST_JOINED + 1];
  pz_concat_shape s = {.out = out->view, .inputs = q->problem->n_in};
  for (int32_t i = 0; i < q->problem->n_in; i++) {
    const pz_storage *in = &placed->in[i];
    s.in[i] = in->view;
    args[i] = (pz_arg){.name = names[i], .at = in->at, .listed = true};
  }
  pz_text shape = {0};
  pz_text_concat(&shape, &s);
  args[q->problem->n_in] = (pz_arg){.name = "out", .written = true, .at = out->at};
  b->step->algorithm = "joining lanes";
  return pz_add_call(b, "kernels/copy/lanes.h", "pz_concat", &shape, args, q->problem->n_in + 1, err);
}

static pz_status build_concat(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return (parts_fit_blocks(q) ? copy_parts : join_lanes)(q, placed, b, err);
}
const pz_solver pz_solver_concat = {.name = "concat",
                                    .op = PZ_OP_CONCAT,
                                    .in = PZ_NCHWC,
                                    .out = PZ_NCHWC,
                                    .applies = can_join_lanes,
                                    .emit = build_concat};

static bool other_axis(const pz_query *q) { return !channels_only(q); }
const pz_solver pz_solver_concat_other_axis = {.name = "concat along another axis",
                                               .op = PZ_OP_CONCAT,
                                               .in = PZ_NCHWC,
                                               .out = PZ_NCHWC,
                                               .applies = other_axis,
                                               .emit = copy_parts};

const pz_solver pz_solver_concat_nd = {.name = "concat, NCHW",
                                       .op = PZ_OP_CONCAT,
                                       .in = PZ_NCHW,
                                       .out = PZ_NCHW,
                                       .rank = PZ_LAST_CHOICE,
                                       .emit = copy_parts};

/* ---- reshape ---- */

static bool same_as_five(const pz_query *q) {
  const pz_shape5 a = pz_shape_as5(&q->problem->in[0].shape);
  const pz_shape5 b = pz_shape_as5(&q->problem->out[0].shape);
  if (q->problem->in[0].shape.rank > 5 || q->problem->out[0].shape.rank > 5) return false;
  return a.n == b.n && a.c == b.c && !memcmp(a.s, b.s, sizeof a.s);
}
static bool views_same(const pz_query *q, const pz_storage *in, int32_t i, pz_storage *view) {
  (void)q, (void)i;
  *view = *in;
  return true;
}
const pz_solver pz_solver_reshape_units = {.name = "reshape of unit sizes",
                                           .op = PZ_OP_RESHAPE,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHWC,
                                           .applies = same_as_five,
                                           .views = views_same};

static bool is_dense(const pz_view *v) {
  return v->stride_w == 1 && v->stride_h == v->w && v->stride_d == v->stride_h * v->h &&
         v->stride_c == v->stride_d * v->d && v->stride_n == v->stride_c * v->c;
}

/* The dense storage of `to`, seen with the sizes of `from`. */
static pz_storage seen_as(const pz_storage *to, const pz_view *from) {
  pz_storage s = *to;
  s.view = (pz_view){
      .n = from->n, .c = from->c, .d = from->d, .h = from->h, .w = from->w, .block = 1, .stride_w = 1};
  s.view.stride_h = from->w;
  s.view.stride_d = s.view.stride_h * from->h;
  s.view.stride_c = s.view.stride_d * from->d;
  s.view.stride_n = s.view.stride_c * from->c;
  return s;
}

static bool views_dense(const pz_query *q, const pz_storage *in, int32_t i, pz_storage *view) {
  if (!is_dense(&in->view)) return false;
  *view = (pz_storage){.at = in->at, .view = pz_dense_view(&q->problem->out[i].shape)};
  return true;
}
static pz_status build_reshape(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_storage to = seen_as(&placed->out[0], &placed->in[0].view);
  (void)q;
  return pz_add_copy_call(b, &placed->in[0], &to, err);
}
const pz_solver pz_solver_reshape = {.name = "reshape",
                                     .op = PZ_OP_RESHAPE,
                                     .in = PZ_NCHW,
                                     .out = PZ_NCHW,
                                     .rank = PZ_LAST_CHOICE,
                                     .views = views_dense,
                                     .emit = build_reshape};

/* ---- copies ---- */

static pz_status copy(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  (void)q;
  return pz_add_copy_call(b, &placed->in[0], &placed->out[0], err);
}
const pz_solver pz_solver_identity = {
    .name = "copy", .op = PZ_OP_IDENTITY, .in = PZ_NCHWC, .out = PZ_NCHWC, .emit = copy};
const pz_solver pz_solver_identity_nchw = {
    .name = "copy in NCHW", .op = PZ_OP_IDENTITY, .in = PZ_NCHW, .out = PZ_NCHW, .emit = copy};

/* A padded copy is made from whichever layout there is, so it takes the layout in which it is read. */
const pz_solver pz_solver_border_copy_nchwc = {.name = "padded copy",
                                               .op = PZ_OP_BORDER_COPY,
                                               .in = PZ_NCHWC,
                                               .out = PZ_NCHWC,
                                               .any_layout = true,
                                               .emit = copy};
const pz_solver pz_solver_border_copy_nchw = {.name = "padded copy",
                                              .op = PZ_OP_BORDER_COPY,
                                              .in = PZ_NCHW,
                                              .out = PZ_NCHW,
                                              .any_layout = true,
                                              .emit = copy};
