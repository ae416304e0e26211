/* solve_extend.c: extension (constant, edge, reflected, periodic) and crops in steps: the same kernels with other
 * tables. */
#include "plan/gather.h"

/* ---- extension ---- */

static int64_t source_of_extend(const pz_plan *plan, const pz_node *node, int32_t axis, int64_t o) {
  const pz_attr_extend *a = &node->attr.extend;
  const int64_t n = plan->graph->tensors[node->in[0]].shape.dim[axis], i = o - a->lo[axis];
  if (i >= 0 && i < n) return i;
  switch (a->kind) {
  case PZ_EXTEND_CONSTANT: return PZ_NONE;
  case PZ_EXTEND_EDGE: return i < 0 ? 0 : n - 1;
  case PZ_EXTEND_REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
  case PZ_EXTEND_WRAP: return (i % n + n) % n;
  }
  return PZ_NONE;
}

static const char *name_of(const pz_node *node) {
  static const char *const names[] = {"extension by a value", "extension of the edge", "reflected extension",
                                      "periodic extension"};
  return names[node->attr.extend.kind];
}

static bool extends_points(const pz_plan *plan, const pz_node *node) {
  return pz_gathers_points(plan, node, source_of_extend);
}
static pz_status build_extend(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  step->algorithm = name_of(node);
  return pz_gather_blocked(plan, node, step, source_of_extend, node->attr.extend.value, err);
}
const pz_solver pz_solver_extend = {.name = "extension",
                                    .op = PZ_OP_EXTEND,
                                    .in = PZ_BLOCKED,
                                    .out = PZ_BLOCKED,
                                    .applies = extends_points,
                                    .build = build_extend};

static double last_choice(const pz_plan *plan, const pz_node *node) {
  (void)plan;
  (void)node;
  return 1;
}
static pz_status build_extend_plain(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  PZ_TRY(pz_set_algorithm(plan, step, err, "%s, plain layout", name_of(node)));
  return pz_gather_plain(plan, node, step, source_of_extend, node->attr.extend.value, err);
}
const pz_solver pz_solver_extend_plain = {.name = "extension, plain layout",
                                          .op = PZ_OP_EXTEND,
                                          .in = PZ_PLAIN,
                                          .out = PZ_PLAIN,
                                          .cost = last_choice,
                                          .build = build_extend_plain};

/* ---- crops in steps, and of more than five dimensions ---- */

static int64_t source_of_crop(const pz_plan *plan, const pz_node *node, int32_t axis, int64_t o) {
  (void)plan;
  return node->attr.crop.offset[axis] + o * node->attr.crop.step[axis];
}

static bool crops_points(const pz_plan *plan, const pz_node *node) {
  return pz_gathers_points(plan, node, source_of_crop);
}
static pz_status build_crop_steps(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return pz_gather_blocked(plan, node, step, source_of_crop, 0, err);
}
const pz_solver pz_solver_crop_steps = {.name = "crop in steps",
                                        .op = PZ_OP_CROP,
                                        .in = PZ_BLOCKED,
                                        .out = PZ_BLOCKED,
                                        .applies = crops_points,
                                        .build = build_crop_steps};

static pz_status build_crop_plain(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  PZ_TRY(pz_gather_plain(plan, node, step, source_of_crop, 0, err));
  return pz_set_algorithm(plan, step, err, "crop in steps, plain layout%s",
                          step->scalar ? " (scalar along the last dimension)" : "");
}
const pz_solver pz_solver_crop_plain = {.name = "crop in steps, plain layout",
                                        .op = PZ_OP_CROP,
                                        .in = PZ_PLAIN,
                                        .out = PZ_PLAIN,
                                        .cost = last_choice,
                                        .build = build_crop_plain};
