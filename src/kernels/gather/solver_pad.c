/* solver_pad.c: padding (constant, edge, reflected, periodic) and crops in steps: the same kernels with other
 * tables. */
#include "kernels/gather/solver_tables.h"

/* ---- padding ---- */

static int64_t source_of_pad(const pz_query *q, int32_t axis, int64_t o) {
  const pz_attr_pad *a = &q->problem->attr.pad;
  const int64_t n = q->problem->in[0].shape.dim[axis], i = o - a->lo[axis];
  if (i >= 0 && i < n) return i;
  switch (a->kind) {
  case PZ_PAD_CONSTANT: return PZ_NONE;
  case PZ_PAD_EDGE: return i < 0 ? 0 : n - 1;
  case PZ_PAD_REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
  case PZ_PAD_WRAP: return (i % n + n) % n;
  }
  return PZ_NONE;
}

static const char *name_of(const pz_query *q) {
  static const char *const names[] = {"padding by a value", "padding by the edge", "reflected padding",
                                      "periodic padding"};
  return names[q->problem->attr.pad.kind];
}

static bool extends_points(const pz_query *q) { return pz_gathers_points(q, source_of_pad); }
static pz_status build_pad(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  b->step->algorithm = name_of(q);
  return pz_gather_nchwc(q, placed, b, source_of_pad, q->problem->attr.pad.value, err);
}
const pz_solver pz_solver_pad = {.name = "padding",
                                 .op = PZ_OP_PAD,
                                 .in = PZ_NCHWC,
                                 .out = PZ_NCHWC,
                                 .applies = extends_points,
                                 .emit = build_pad};

static pz_status build_pad_nd(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  PZ_TRY(pz_set_algorithm(b, err, "%s, NCHW", name_of(q)));
  return pz_gather_nchw(q, placed, b, source_of_pad, q->problem->attr.pad.value, err);
}
const pz_solver pz_solver_pad_nd = {.name = "padding, NCHW",
                                    .op = PZ_OP_PAD,
                                    .in = PZ_NCHW,
                                    .out = PZ_NCHW,
                                    .rank = PZ_LAST_CHOICE,
                                    .emit = build_pad_nd};

/* ---- crops in steps, and of more than five dimensions ---- */

static int64_t source_of_crop(const pz_query *q, int32_t axis, int64_t o) {
  return q->problem->attr.crop.offset[axis] + o * q->problem->attr.crop.step[axis];
}

static bool crops_points(const pz_query *q) { return pz_gathers_points(q, source_of_crop); }
static pz_status build_crop_steps(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return pz_gather_nchwc(q, placed, b, source_of_crop, 0, err);
}
const pz_solver pz_solver_crop_steps = {.name = "crop in steps",
                                        .op = PZ_OP_CROP,
                                        .in = PZ_NCHWC,
                                        .out = PZ_NCHWC,
                                        .applies = crops_points,
                                        .emit = build_crop_steps};

static pz_status build_crop_nd(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  PZ_TRY(pz_gather_nchw(q, placed, b, source_of_crop, 0, err));
  return pz_set_algorithm(b, err, "crop in steps, NCHW%s",
                          b->step->scalar ? " (scalar along the last dimension)" : "");
}
const pz_solver pz_solver_crop_nd = {.name = "crop in steps, NCHW",
                                     .op = PZ_OP_CROP,
                                     .in = PZ_NCHW,
                                     .out = PZ_NCHW,
                                     .rank = PZ_LAST_CHOICE,
                                     .emit = build_crop_nd};
