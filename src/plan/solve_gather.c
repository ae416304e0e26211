/* solve_gather.c: entries of a dimension by a list. */
#include "plan/gather.h"

static int64_t source(const pz_plan *plan, const pz_node *node, int32_t axis, int64_t o) {
  const pz_attr_gather *a = &node->attr.gather;
  (void)plan;
  return axis == a->axis ? a->index.entries[o] : o;
}

static bool gathers_points(const pz_plan *plan, const pz_node *node) {
  return pz_gathers_points(plan, node, source);
}
static pz_status build_gather(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return pz_gather_blocked(plan, node, step, source, 0, err);
}
const pz_solver pz_solver_gather = {.name = "points by a list",
                                    .op = PZ_OP_GATHER,
                                    .in = PZ_BLOCKED,
                                    .out = PZ_BLOCKED,
                                    .applies = gathers_points,
                                    .build = build_gather};

static double last_choice(const pz_plan *plan, const pz_node *node) {
  (void)plan;
  (void)node;
  return 1;
}
static pz_status build_gather_plain(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  PZ_TRY(pz_gather_plain(plan, node, step, source, 0, err));
  return pz_set_algorithm(plan, step, err, "entries by a list, plain layout%s",
                          step->scalar ? " (scalar along the last dimension)" : "");
}
const pz_solver pz_solver_gather_plain = {.name = "entries by a list, plain layout",
                                          .op = PZ_OP_GATHER,
                                          .in = PZ_PLAIN,
                                          .out = PZ_PLAIN,
                                          .cost = last_choice,
                                          .build = build_gather_plain};
