/* solver_channel.c: normalisation over the channels of each position. In place where its input has no other use. */
#include "kernels/norm/channel_norm.h"
#include "plan/solver.h"

static bool constants(const pz_query *q) {
  for (int32_t i = PZ_GROUP_NORM_GAMMA; i < PZ_GROUP_NORM_INPUTS; i++)
    if (q->problem->in[i].present && !q->problem->in[i].data) return false;
  return true;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_attr_channel_norm *a = &q->problem->attr.channel_norm;
  const pz_storage in = placed->in[0];
  pz_pointer gamma, beta, slope;
  const pz_storage out = placed->out[0];
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_GAMMA], in.view.c, &gamma, err));
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_BETA], in.view.c, &beta, err));
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_SLOPE], in.view.c, &slope, err));
  pz_text shape = {0};
  pz_text_channel_norm(&shape, &(pz_channel_norm_shape){.in = in.view,
                                                        .out = out.view,
                                                        .has_gamma = gamma.space != PZ_SPACE_NULL,
                                                        .has_beta = beta.space != PZ_SPACE_NULL,
                                                        .eps = a->eps,
                                                        .act = (int32_t)a->act.kind,
                                                        .act_alpha = a->act.alpha,
                                                        .act_beta = a->act.beta});
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "gamma", .at = gamma},
                         {.name = "beta", .at = beta},
                         {.name = "slope", .at = slope},
                         {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/norm/channel_norm.h", "pz_channel_norm", &shape, args, 5, err);
}
const pz_solver pz_solver_channel_norm = {.name = "normalisation over channels, position by position",
                                          .op = PZ_OP_CHANNEL_NORM,
                                          .in = PZ_NCHWC,
                                          .out = PZ_NCHWC,
                                          .applies = constants,
                                          .emit = build,
                                          .overwrites = pz_overwrites_first};
