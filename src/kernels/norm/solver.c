/* solver.c: group normalisation, with instance and layer normalisation as its ends. In place where its input has no other
 * use. */
#include "kernels/norm/shape.h"
#include "kernels/norm/whole.h"
#include "kernels/norm/solver.h"
#include "plan/solver.h"

typedef struct operands {
  pz_storage in, out;
  pz_pointer gamma, beta, slope;
} operands;

static bool constants(const pz_query *q) {
  for (int32_t i = PZ_GROUP_NORM_GAMMA; i < PZ_GROUP_NORM_INPUTS; i++)
    if (q->problem->in[i].present && !q->problem->in[i].data) return false;
  return true;
}

/* The tensor's sizes in blocks; strides and border do not matter to spans. */
static pz_view sizes(const pz_query *q) {
  const pz_shape5 s = pz_shape_as5(&q->problem->in[0].shape);
  return (pz_view){.n = (int32_t)s.n,
                   .c = (int32_t)s.c,
                   .d = (int32_t)s.s[0],
                   .h = (int32_t)s.s[1],
                   .w = (int32_t)s.s[2],
                   .block = q->target->block};
}
static bool spans_are_small(const pz_query *q) {
  const pz_view v = sizes(q);
  return constants(q) && pz_norm_is_whole(&v, q->problem->attr.group_norm.groups);
}

static pz_status begin(const pz_query *q, const pz_placed *placed, pz_builder *b, operands *p,
                       pz_error *err) {
  p->in = placed->in[0];
  p->out = placed->out[0];
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_GAMMA], p->in.view.c, &p->gamma, err));
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_BETA], p->in.view.c, &p->beta, err));
  return pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_SLOPE], p->in.view.c, &p->slope, err);
}

static pz_status add_norm(const pz_query *q, pz_builder *b, const operands *p, const char *function,
                          const pz_norm_stats *norm_stats, pz_error *err) {
  const pz_attr_group_norm *a = &q->problem->attr.group_norm;
  pz_text shape = {0};
  pz_arg args[6] = {{.name = "in", .at = p->in.at}};
  int32_t n = 1;
  pz_text_group_norm(&shape, &(pz_group_norm_shape){.in = p->in.view,
                                                    .out = p->out.view,
                                                    .units = norm_stats ? norm_stats->units : 0,
                                                    .groups = a->groups,
                                                    .has_gamma = p->gamma.space != PZ_SPACE_NULL,
                                                    .has_beta = p->beta.space != PZ_SPACE_NULL,
                                                    .eps = a->eps,
                                                    .act = (int32_t)a->act.kind,
                                                    .act_alpha = a->act.alpha,
                                                    .act_beta = a->act.beta});
  if (norm_stats) args[n++] = (pz_arg){.name = "norm_stats", .at = norm_stats->at};
  args[n++] = (pz_arg){.name = "gamma", .at = p->gamma};
  args[n++] = (pz_arg){.name = "beta", .at = p->beta};
  args[n++] = (pz_arg){.name = "slope", .at = p->slope};
  args[n++] = (pz_arg){.name = "out", .written = true, .at = p->out.at};
  return pz_add_call(b, "kernels/norm/group_norm.h", function, &shape, args, n, err);
}

/* ---- statistics, then results ---- */

pz_status pz_add_norm_stats(pz_builder *b, const pz_view *out, int32_t units, pz_pointer *at, pz_error *err) {
  PZ_TRY(pz_add_buffer(b, PZ_F32, pz_norm_floats(out, units), at, err));
  b->norm_stats = (pz_norm_stats){*at, units};
  return PZ_OK;
}

/* A pass over the tensor. */
static pz_status add_statistics(pz_builder *b, const operands *p, pz_norm_stats *to, pz_error *err) {
  to->units = (int32_t)pz_norm_units(&p->in.view);
  PZ_TRY(pz_add_buffer(b, PZ_F32, pz_norm_floats(&p->in.view, to->units), &to->at, err));
  const pz_arg args[] = {{.name = "in", .at = p->in.at},
                         {.name = "norm_stats", .written = true, .at = to->at}};
  pz_text shape = {0};
  pz_text_norm_stats_of_units(&shape, &(pz_norm_stats_of_units_shape){.in = p->in.view});
  return pz_add_call(b, "kernels/norm/group_norm.h", "pz_norm_stats_of_units", &shape, args, 2, err);
}

static pz_status build_group_norm(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  operands p;
  PZ_TRY(begin(q, placed, b, &p, err));
  pz_norm_stats norm_stats = placed->norm_stats;
  const bool collected = norm_stats.units > 0;
  if (!collected) PZ_TRY(add_statistics(b, &p, &norm_stats, err));
  PZ_TRY(add_norm(q, b, &p, "pz_group_norm", &norm_stats, err));
  if (!collected) pz_call_after_all(b);
  return pz_set_algorithm(b, err, "statistics of %d units a block%s, %d groups", norm_stats.units,
                          collected ? ", collected by the convolution" : "",
                          q->problem->attr.group_norm.groups);
}
static pz_status build_factors(const pz_query *q, const pz_placed *placed, pz_builder *b,
                               pz_norm_pending *pending, pz_error *err) {
  const pz_attr_group_norm *a = &q->problem->attr.group_norm;
  operands p = {.in = placed->in[0]};
  pz_norm_stats norm_stats = placed->norm_stats;
  const bool collected = norm_stats.units > 0;
  pz_text shape = {0};
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_GAMMA], p.in.view.c, &p.gamma, err));
  PZ_TRY(pz_add_channel_vector(b, &q->problem->in[PZ_GROUP_NORM_BETA], p.in.view.c, &p.beta, err));
  if (!collected) PZ_TRY(add_statistics(b, &p, &norm_stats, err));
  *pending = (pz_norm_pending){.act = a->act};
  PZ_TRY(pz_add_buffer(b, PZ_F32, pz_norm_factor_floats(&p.in.view), &pending->at, err));
  pz_text_group_norm(&shape, &(pz_group_norm_shape){.in = p.in.view,
                                                    .units = norm_stats.units,
                                                    .groups = a->groups,
                                                    .has_gamma = p.gamma.space != PZ_SPACE_NULL,
                                                    .has_beta = p.beta.space != PZ_SPACE_NULL,
                                                    .eps = a->eps});
  const pz_arg args[] = {{.name = "norm_stats", .at = norm_stats.at},
                         {.name = "gamma", .at = p.gamma},
                         {.name = "beta", .at = p.beta},
                         {.name = "factors", .written = true, .at = pending->at}};
  PZ_TRY(pz_add_call(b, "kernels/norm/group_norm.h", "pz_group_norm_factors", &shape, args, 4, err));
  if (!collected) pz_call_after_all(b);
  return pz_set_algorithm(b, err, "factors of %d groups%s, for the convolution that reads", a->groups,
                          collected ? " from what the convolution collected" : "");
}
const pz_solver pz_solver_group_norm = {.name = "group normalisation",
                                        .op = PZ_OP_GROUP_NORM,
                                        .in = PZ_NCHWC,
                                        .out = PZ_NCHWC,
                                        .applies = constants,
                                        .rank = PZ_LAST_CHOICE,
                                        .emit = build_group_norm,
                                        .factors = build_factors,
                                        .overwrites = pz_overwrites_first};

/* ---- a worker does whole groups ---- */

static pz_status build_group_norm_whole(const pz_query *q, const pz_placed *placed, pz_builder *b,
                                        pz_error *err) {
  operands p;
  PZ_TRY(begin(q, placed, b, &p, err));
  return add_norm(q, b, &p, "pz_group_norm_whole", NULL, err);
}
const pz_solver pz_solver_group_norm_whole = {.name = "whole groups, one after the other",
                                              .op = PZ_OP_GROUP_NORM,
                                              .in = PZ_NCHWC,
                                              .out = PZ_NCHWC,
                                              .applies = spans_are_small,
                                              .emit = build_group_norm_whole,
                                              .overwrites = pz_overwrites_first};
