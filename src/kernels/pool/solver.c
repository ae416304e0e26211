/* solver.c: maximum and average over windows; over the whole image as a reduction. */
#include "kernels/pool/pool.h"
#include "kernels/reduction/solver.h"

/* Windows that overlap, and have so many points that adding up columns first saves a third. */
static bool is_separable(const pz_attr_pool *a) {
  const int64_t column = (int64_t)a->kernel[0] * a->kernel[1];
  return 2 * column * a->kernel[2] > 3 * (column * a->stride[2] + a->kernel[2] + 1);
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_attr_pool *a = &q->problem->attr.pool;
  const pz_storage in = placed->in[0];
  const pz_storage out = placed->out[0];
  const bool apart = is_separable(a) && a->kernel[2] < in.view.w;
  pz_pointer scratch = {PZ_SPACE_NULL, 0, 0};
  if (apart) scratch = pz_add_scratch(b, PZ_F32, pz_pooling_scratch(&in.view));
  pz_pooling_shape s = {.in = in.view,
                        .out = out.view,
                        .kind = (int32_t)a->kind,
                        .divisor = (int32_t)a->divisor,
                        .separable = apart};
  memcpy(s.kernel, a->kernel, sizeof s.kernel);
  memcpy(s.stride, a->stride, sizeof s.stride);
  memcpy(s.dilation, a->dilation, sizeof s.dilation);
  memcpy(s.pad_lo, a->pad_lo, sizeof s.pad_lo);
  memcpy(s.pad_hi, a->pad_hi, sizeof s.pad_hi);
  pz_text shape = {0};
  pz_text_pooling(&shape, &s);
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "scratch", .written = true, .at = scratch},
                         {.name = "out", .written = true, .at = out.at}};
  PZ_TRY(pz_set_algorithm(b, err, "%s of %dx%dx%d%s", a->kind == PZ_POOL_MAX ? "maximum" : "average",
                          a->kernel[0], a->kernel[1], a->kernel[2], apart ? ", columns first" : ""));
  return pz_add_call(b, "kernels/pool/pool.h", "pz_pooling", &shape, args, 3, err);
}
const pz_solver pz_solver_pool = {.name = "pooling",
                                  .op = PZ_OP_POOL,
                                  .in = PZ_NCHWC,
                                  .out = PZ_NCHWC,
                                  .emit = build,
                                  .caps = PZ_CAP_CHANNELS_LAST};

/* One window, and it is the input: many workers can share it. */
static bool is_global(const pz_query *q) {
  const pz_attr_pool *a = &q->problem->attr.pool;
  const pz_shape5 x = pz_shape_as5(&q->problem->in[0].shape);
  const pz_shape5 y = pz_shape_as5(&q->problem->out[0].shape);
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const bool dilated = a->kernel[i] > 1 && a->dilation[i] > 1;
    if (y.s[i] != 1 || a->kernel[i] != x.s[i] || dilated || a->pad_lo[i] || a->pad_hi[i]) return false;
  }
  return true;
}
static pz_status build_global(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_reduce_kind kind = q->problem->attr.pool.kind == PZ_POOL_MAX ? PZ_REDUCE_MAX : PZ_REDUCE_MEAN;
  return pz_add_reduction(placed, b, kind, (const int32_t[5]){0, 0, 1, 1, 1}, err);
}
const pz_solver pz_solver_pool_global = {.name = "reduction of the whole image",
                                         .op = PZ_OP_POOL,
                                         .in = PZ_NCHWC,
                                         .out = PZ_NCHWC,
                                         .applies = is_global,
                                         .emit = build_global};
