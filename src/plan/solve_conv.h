/* solve_conv.h: what the solvers of convolutions share. */
#ifndef PZ_PLAN_SOLVE_CONV_H
#define PZ_PLAN_SOLVE_CONV_H

#include "kernels/conv/deconv.h"
#include "kernels/conv/schedule.h"
#include "plan/solver.h"

/* The storages and packed vectors of a node; absent ones have PZ_SPACE_NULL and base.tensor PZ_NONE. */
typedef struct pz_conv_parts {
  pz_storage in, base, out;
  pz_pointer bias, base_scale, slope, statistics, pooled;
} pz_conv_parts;
/* In place of Base where that is possible. */
pz_status pz_conv_begin(pz_plan *plan, const pz_node *node, pz_layout in, pz_layout out, pz_conv_parts *p,
                        pz_error *err);

/* What pooling behind convolution n is done as its result is made (pz_pooling_of): where it goes, and its windows; `pooled` is left as it is where
 * there is none. What is pooled is read at once and does not stream. */
pz_status pz_conv_pool(pz_plan *plan, pz_node_id n, pz_conv_parts *p, pz_conv_direct_shape *conv,
                       pz_view *pooled, int32_t window[PZ_SPATIAL], pz_error *err);
/* Adds it to what the step's algorithm is called. */
pz_status pz_conv_tell_pool(pz_plan *plan, pz_step *step, const pz_view *pooled,
                            const int32_t window[PZ_SPATIAL], pz_error *err);

/* `floats` further on; what is nowhere stays there. */
static inline pz_pointer pz_pointer_behind(pz_pointer at, int64_t floats) {
  if (at.space != PZ_SPACE_NULL) at.offset += floats;
  return at;
}

/* One phase of the deconvolution `whole`: its parts, and its weights, [phases, K, C, taps], which the caller frees; NULL where
 * sizes alone are counted. */
pz_status pz_conv_phase_parts(const pz_plan *plan, const pz_node *node, const pz_conv_direct_shape *whole,
                              const pz_deconv_phase *phase, const pz_conv_parts *all, pz_conv_parts *p,
                              float **weights, pz_error *err);

/* Without schedule. */
pz_conv_direct_shape pz_conv_shape_of(const pz_plan *plan, const pz_node *node, const pz_conv_parts *p);
void pz_conv_shape_text(pz_text *t, const pz_conv_direct_shape *s);
/* The call of a convolution to few plain maps (kernels/conv/few.h): in, weights, bias, slope, out, scratch. */
pz_status pz_conv_add_few_call(pz_plan *plan, pz_step *step, const pz_conv_parts *p, pz_pointer weights,
                               const char *header, const char *function, pz_text *shape,
                               int64_t scratch_floats, pz_error *err);
/* What follows a sum, from args[n] on: bias, base, base_scale, slope, out. Returns the number of arguments then. */
int32_t pz_conv_ends_args(const pz_conv_parts *p, pz_arg *args, int32_t n);
/* The call of a convolution that has scratch and no more: in, weights, bias, base, base_scale, slope, out, scratch. */
pz_status pz_conv_add_scratch_call(pz_plan *plan, pz_step *step, const pz_conv_parts *p, pz_pointer weights,
                                   const char *header, const char *function, pz_text *shape,
                                   int64_t scratch_floats, pz_error *err);
/* Whether a layer may have an algorithm of this error: the result has half of it or less; pz_meet_error knows, or takes the
 * candidate out. */
static inline bool pz_conv_error_fits(const pz_plan *plan, double error) {
  return error / 2 <= plan->max_error;
}
/* What minimal filtering F(m, r) along an axis multiplies the error by, r 3 or 5 (doc/algorithm-winograd.md). */
static inline double pz_winograd_growth_of_error(int32_t r, int32_t m) {
  const bool three = r == 3;
  return m == 2 ? (three ? 1.3 : 2.3) : m == 4 ? (three ? 2.2 : 4.2) : m == 6 ? (three ? 4.5 : 12) : 1;
}
/* The input is the network's own and has few maps: it is read as it is, plain. */
bool pz_conv_few_inputs(const pz_plan *plan, const pz_node *node);
/* The result leaves the network, has few maps, and nothing else reads it: plain is what is wanted. */
bool pz_conv_few_outputs(const pz_plan *plan, const pz_node *node);
/* And its taps along the width lie beside each other in a vector (kernels/conv/few.h), of a kernel of 1 along the depth, without Base. */
bool pz_conv_few_beside(const pz_plan *plan, const pz_node *node);
/* A convolution of 1x1x1, or a deconvolution whose kernel is its stride: a product of maps at each point of the input. */
bool pz_conv_is_product(const pz_node *node);
/* Maps are multiplied in pairs (kernels/winograd/pairs.h) where the core adds beside multiply-adds, vectors have 16 lanes, and there is so
 * much to multiply, `least` maps in and out, that sums of squares and of products of inputs are small beside it. */
bool pz_conv_has_pairs(const pz_plan *plan, int64_t in, int64_t out, int64_t least);
#define PZ_CONV_PAIRS_FROM 28
/* The inputs are known to have one sign, as behind a ReLU: sums of products of pairs then grow with maps (doc/notes/2026-11-28-winograd.md). */
bool pz_conv_one_sign(const pz_plan *plan, const pz_node *node);
/* The target as schedules of convolutions see it. */
pz_conv_machine pz_conv_this_machine(const pz_plan *plan);
/* Weights of one position of the kernel, blocks filled up. */
double pz_conv_weight_pairs(const pz_plan *plan, const pz_node *node);
/* Vector multiply-adds of the direct algorithm. */
double pz_conv_direct_cost(const pz_plan *plan, const pz_node *node);

#endif
