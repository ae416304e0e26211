/* solve_moving.c: operators that move values and change none: concatenation, slice, crop, reshape, identity,
 * and the explicit copies into storage with a border. Most of them are views that cost nothing. */
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
  for (int i = 0; i < 5; i++) s.at.offset += (i == 1 ? offset[1] / of->view.block : offset[i]) * strides[i];
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

/* A window whose maps begin in the middle of a block, or end there before the tensor does, has other maps in
 * its lanes: its maps are moved to a tensor of its own. */
static bool lanes_fit(const pz_storage *of, const int64_t offset[5], const int64_t size[5]) {
  const int block = of->view.block;
  return offset[1] % block == 0 && (size[1] % block == 0 || offset[1] + size[1] == of->view.c);
}

static pz_status move_maps(pz_plan *plan, pz_step *step, const pz_storage *in, int64_t first, pz_tensor_id to,
                           pz_error *err) {
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, to, PZ_BLOCKED, &out, err));
  pz_text shape = {0};
  pz_text_view(&shape, "in", &in->view);
  pz_text_view(&shape, "out", &out.view);
  pz_text_printf(&shape, ".first = %d", (int)first);
  const pz_arg args[] = {{.name = "in", .at = in->at}, {.name = "out", .written = true, .at = out.at}};
  step->algorithm = "moving lanes";
  return pz_add_call(plan, step, "kernels/copy/lanes.h", "pz_slice_maps", &shape, args, 2, err);
}

static pz_status build_window(pz_plan *plan, pz_step *step, pz_tensor_id from, pz_tensor_id to,
                              const int64_t offset[5], pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, from, PZ_BLOCKED);
  const pz_shape5 s = pz_shape_as5(&plan->graph->tensors[to].shape);
  const int64_t size[5] = {s.n, s.c, s.s[0], s.s[1], s.s[2]};
  if (lanes_fit(&in, offset, size)) {
    const pz_storage view = window(&in, offset, size);
    return pz_make_view(plan, to, PZ_BLOCKED, &view, err);
  }
  const int64_t all_maps[5] = {offset[0], 0, offset[2], offset[3], offset[4]};
  const int64_t whole[5] = {size[0], in.view.c, size[2], size[3], size[4]};
  const pz_storage spatial = window(&in, all_maps, whole);
  return move_maps(plan, step, &spatial, offset[1], to, err);
}

static pz_status build_slice(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  for (int32_t i = 0; i < node->n_out; i++) {
    int64_t offset[5] = {0};
    offset[pz_axis5(rank, node->attr.slice.axis)] = node->attr.slice.begin[i];
    PZ_TRY(build_window(plan, step, node->in[0], node->out[i], offset, err));
  }
  return PZ_OK;
}
const pz_solver pz_solver_slice = {
    .name = "slice", .op = PZ_OP_SLICE, .in = PZ_BLOCKED, .out = PZ_BLOCKED, .build = build_slice};

static pz_status build_crop(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  int64_t offset[5] = {0};
  for (int i = 0; i < rank; i++) offset[pz_axis5(rank, i)] = node->attr.crop.offset[i];
  return build_window(plan, step, node->in[0], node->out[0], offset, err);
}
static bool crops_window(const pz_plan *plan, const pz_node *node) {
  const pz_attr_crop *a = &node->attr.crop;
  for (int i = 0; i < PZ_MAX_RANK; i++)
    if (a->size[i] > 1 && a->step[i] != 1) return false;
  return plan->graph->tensors[node->in[0]].shape.rank <= 5;
}
const pz_solver pz_solver_crop = {.name = "crop",
                                  .op = PZ_OP_CROP,
                                  .in = PZ_BLOCKED,
                                  .out = PZ_BLOCKED,
                                  .applies = crops_window,
                                  .build = build_crop};

/* ---- concatenation ---- */

static bool channels_only(const pz_plan *plan, const pz_node *node) {
  (void)plan;
  return node->attr.concat.axis == 1;
}

static bool parts_fit_blocks(const pz_plan *plan, const pz_node *node) {
  for (int32_t i = 0; i + 1 < node->n_in; i++)
    if (plan->graph->tensors[node->in[i]].shape.dim[1] % plan->block) return false;
  return true;
}

#define MOST_JOINED 8 /* PZ_CONCAT_INPUTS of kernels/copy/lanes.h */
static bool can_join_lanes(const pz_plan *plan, const pz_node *node) {
  return channels_only(plan, node) && (parts_fit_blocks(plan, node) || node->n_in <= MOST_JOINED);
}

/* Copies part after part into its window of the output; parts that were written there already are left out. */
static pz_status copy_parts(pz_plan *plan, const pz_node *node, pz_step *step, const pz_storage *out,
                            pz_layout layout, pz_error *err) {
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  int64_t offset[5] = {0};
  for (int32_t i = 0; i < node->n_in; i++) {
    const pz_shape5 s = pz_shape_as5(&plan->graph->tensors[node->in[i]].shape);
    const int64_t size[5] = {s.n, s.c, s.s[0], s.s[1], s.s[2]};
    const int axis = pz_axis5(rank, node->attr.concat.axis);
    const pz_storage to = window(out, offset, size);
    offset[axis] += size[axis];
    if (layout == PZ_BLOCKED && plan->alias_parent[node->in[i]] == node->out[0]) continue;
    PZ_TRY(pz_add_copy_call(plan, step, pz_input_storage(plan, node->in[i], layout), &to, err));
  }
  return PZ_OK;
}

static pz_status join_lanes(pz_plan *plan, const pz_node *node, pz_step *step, const pz_storage *out,
                            pz_error *err) {
  static const char *const names[MOST_JOINED] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"};
  pz_arg args[MOST_JOINED + 1];
  pz_text shape = {0};
  pz_text_append(&shape, ".in = {");
  for (int32_t i = 0; i < node->n_in; i++) {
    const pz_storage *in = pz_input_storage(plan, node->in[i], PZ_BLOCKED);
    pz_text one = {0};
    pz_text_view(&one, "in", &in->view);
    pz_text_printf(&shape, "[%d]%s", i, one.data ? one.data + 3 : ""); /* " = {...}, " behind ".in" */
    pz_text_free(&one);
    args[i] = (pz_arg){.name = names[i], .at = in->at, .listed = true};
  }
  pz_text_append(&shape, "}, ");
  pz_text_view(&shape, "out", &out->view);
  pz_text_printf(&shape, ".inputs = %d", node->n_in);
  args[node->n_in] = (pz_arg){.name = "out", .written = true, .at = out->at};
  step->algorithm = "joining lanes";
  return pz_add_call(plan, step, "kernels/copy/lanes.h", "pz_concat", &shape, args, node->n_in + 1, err);
}

static pz_status build_concat(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &out, err));
  if (!parts_fit_blocks(plan, node)) return join_lanes(plan, node, step, &out, err);
  return copy_parts(plan, node, step, &out, PZ_BLOCKED, err);
}
const pz_solver pz_solver_concat = {.name = "concat",
                                    .op = PZ_OP_CONCAT,
                                    .in = PZ_BLOCKED,
                                    .out = PZ_BLOCKED,
                                    .applies = can_join_lanes,
                                    .build = build_concat};

static bool other_axis(const pz_plan *plan, const pz_node *node) { return !channels_only(plan, node); }
static pz_status build_concat_other_axis(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &out, err));
  return copy_parts(plan, node, step, &out, PZ_BLOCKED, err);
}
const pz_solver pz_solver_concat_other_axis = {.name = "concat along another axis",
                                               .op = PZ_OP_CONCAT,
                                               .in = PZ_BLOCKED,
                                               .out = PZ_BLOCKED,
                                               .applies = other_axis,
                                               .build = build_concat_other_axis};

static double last_choice(const pz_plan *plan, const pz_node *node) {
  (void)plan;
  (void)node;
  return 1;
}
static pz_status build_concat_plain(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_PLAIN, &out, err));
  return copy_parts(plan, node, step, &out, PZ_PLAIN, err);
}
const pz_solver pz_solver_concat_plain = {.name = "concat, plain layout",
                                          .op = PZ_OP_CONCAT,
                                          .in = PZ_PLAIN,
                                          .out = PZ_PLAIN,
                                          .cost = last_choice,
                                          .build = build_concat_plain};

/* ---- reshape ---- */

static bool same_as_five(const pz_plan *plan, const pz_node *node) {
  const pz_shape5 a = pz_shape_as5(&plan->graph->tensors[node->in[0]].shape);
  const pz_shape5 b = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  if (plan->graph->tensors[node->in[0]].shape.rank > 5 || plan->graph->tensors[node->out[0]].shape.rank > 5)
    return false;
  return a.n == b.n && a.c == b.c && !memcmp(a.s, b.s, sizeof a.s);
}
static pz_status build_same(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  (void)step;
  return pz_make_view(plan, node->out[0], PZ_BLOCKED, pz_input_storage(plan, node->in[0], PZ_BLOCKED), err);
}
const pz_solver pz_solver_reshape_units = {.name = "reshape of unit sizes",
                                           .op = PZ_OP_RESHAPE,
                                           .in = PZ_BLOCKED,
                                           .out = PZ_BLOCKED,
                                           .applies = same_as_five,
                                           .build = build_same};

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

static pz_status build_reshape(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_PLAIN);
  const pz_storage shape = pz_port_storage(plan, node->out[0], PZ_SPACE_NULL, 0); /* for its dense view */
  if (is_dense(&in.view)) {
    pz_storage view = shape;
    view.at = in.at;
    return pz_make_view(plan, node->out[0], PZ_PLAIN, &view, err);
  }
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_PLAIN, &out, err));
  const pz_storage to = seen_as(&out, &in.view);
  return pz_add_copy_call(plan, step, &in, &to, err);
}
const pz_solver pz_solver_reshape = {.name = "reshape",
                                     .op = PZ_OP_RESHAPE,
                                     .in = PZ_PLAIN,
                                     .out = PZ_PLAIN,
                                     .cost = last_choice,
                                     .build = build_reshape};

/* ---- copies ---- */

static pz_status build_identity(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &out, err));
  return pz_add_copy_call(plan, step, &in, &out, err);
}
const pz_solver pz_solver_identity = {
    .name = "copy", .op = PZ_OP_IDENTITY, .in = PZ_BLOCKED, .out = PZ_BLOCKED, .build = build_identity};

/* A padded copy takes the layout in which it is read, from whichever layout there is. */
static bool read_plain(const pz_plan *plan, const pz_node *node) {
  int32_t plain = 0, uses = pz_graph_count_uses(plan->graph, node->out[0]);
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    const pz_node *user = &plan->graph->nodes[n];
    for (int32_t i = 0; i < user->n_in; i++)
      plain += user->in[i] == node->out[0] && plan->chosen[n] && plan->chosen[n]->in == PZ_PLAIN;
  }
  return uses > 0 && plain == uses;
}
static bool read_blocked(const pz_plan *plan, const pz_node *node) { return !read_plain(plan, node); }

static pz_status build_pad(pz_plan *plan, const pz_node *node, pz_step *step, pz_layout layout,
                           pz_error *err) {
  const pz_tensor_id from = node->in[0];
  const bool same = layout == PZ_BLOCKED ? plan->blocked[from] >= 0 : plan->plain[from] >= 0;
  const pz_storage in = *pz_input_storage(plan, from,
                                          same                   ? layout
                                          : layout == PZ_BLOCKED ? PZ_PLAIN
                                                                 : PZ_BLOCKED);
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], layout, &out, err));
  return pz_add_copy_call(plan, step, &in, &out, err);
}
static pz_status build_pad_blocked(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_pad(plan, node, step, PZ_BLOCKED, err);
}
static pz_status build_pad_plain(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_pad(plan, node, step, PZ_PLAIN, err);
}
const pz_solver pz_solver_pad_blocked = {.name = "padded copy",
                                         .op = PZ_OP_PAD,
                                         .in = PZ_BLOCKED,
                                         .out = PZ_BLOCKED,
                                         .applies = read_blocked,
                                         .build = build_pad_blocked};
const pz_solver pz_solver_pad_plain = {.name = "padded copy",
                                       .op = PZ_OP_PAD,
                                       .in = PZ_PLAIN,
                                       .out = PZ_PLAIN,
                                       .applies = read_plain,
                                       .build = build_pad_plain};
