/* solver.c: entries of a dimension by a list. */
#include "kernels/gather/solver_tables.h"

static int64_t source(const pz_query *q, int32_t axis, int64_t o) {
  const pz_attr_gather *a = &q->problem->attr.gather;
  return axis == a->axis ? a->index.entries[o] : o;
}

static bool gathers_points(const pz_query *q) { return pz_gathers_points(q, source); }
static pz_status build_gather(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return pz_gather_nchwc(q, placed, b, source, 0, err);
}
const pz_solver pz_solver_gather = {.name = "points by a list",
                                    .op = PZ_OP_GATHER,
                                    .in = PZ_NCHWC,
                                    .out = PZ_NCHWC,
                                    .applies = gathers_points,
                                    .emit = build_gather};

static pz_status build_gather_nchw(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  PZ_TRY(pz_gather_nchw(q, placed, b, source, 0, err));
  return pz_set_algorithm(b, err, "entries by a list, NCHW%s",
                          b->step->scalar ? " (scalar along the last dimension)" : "");
}
const pz_solver pz_solver_gather_nchw = {.name = "entries by a list, NCHW",
                                         .op = PZ_OP_GATHER,
                                         .in = PZ_NCHW,
                                         .out = PZ_NCHW,
                                         .rank = PZ_LAST_CHOICE,
                                         .emit = build_gather_nchw};
