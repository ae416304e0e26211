/* solver.h: what the solvers of convolutions share. */
#ifndef PZ_KERNELS_CONV_SOLVER_H
#define PZ_KERNELS_CONV_SOLVER_H

#include "kernels/conv/deconv.h"
#include "kernels/conv/schedule.h"
#include "plan/solver.h"

/* The storages and packed vectors of a node; absent ones have PZ_SPACE_NULL and base.tensor PZ_NONE. */
typedef struct pz_conv_parts {
  pz_storage in, base, out;
  pz_pointer bias, base_scale, slope, statistics, pooled;
} pz_conv_parts;
pz_status pz_conv_begin(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_conv_parts *p,
                        pz_error *err);
/* The result may lie in place of Base, unless that is the input too. */
uint32_t pz_conv_overwrites(const pz_query *q);

/* Where the epilogue's pooling goes, and its windows; `pooled` is left as it is where it is not done here. What is pooled is read at once
 * and does not stream. */
void pz_conv_pool(const pz_query *q, const pz_placed *placed, pz_conv_parts *p, pz_conv_direct_shape *conv,
                  pz_view *pooled, int32_t window[PZ_SPATIAL]);
/* Adds it to what the step's algorithm is called. */
pz_status pz_conv_tell_pool(pz_builder *b, const pz_view *pooled, const int32_t window[PZ_SPATIAL],
                            pz_error *err);

/* One phase of the deconvolution `whole`: its parts, and its weights, [phases, K, C, taps], which the caller frees; NULL where
 * sizes alone are counted. */
pz_status pz_conv_phase_parts(const pz_query *q, const pz_builder *b, const pz_conv_direct_shape *whole,
                              const pz_deconv_phase *phase, const pz_conv_parts *all, pz_conv_parts *p,
                              float **weights, pz_error *err);

pz_conv_direct_shape pz_conv_shape_of(const pz_query *q, const pz_conv_parts *p); /* without schedule */
/* The call of a convolution to few plain maps (kernels/conv/few.h): in, weights, bias, slope, out, scratch. */
pz_status pz_conv_add_few_call(pz_builder *b, const pz_conv_parts *p, pz_pointer weights, pz_dtype type,
                               const char *header, const char *function, pz_text *shape,
                               int64_t scratch_floats, pz_error *err);
/* What follows a sum, from args[n] on: bias, base, base_scale, slope, out. Returns the number of arguments then. */
int32_t pz_conv_ends_args(const pz_conv_parts *p, pz_arg *args, int32_t n);
/* The call of a convolution that has scratch and no more: in, weights, bias, base, base_scale, slope, out, scratch. */
pz_status pz_conv_add_scratch_call(pz_builder *b, const pz_conv_parts *p, pz_pointer weights, pz_dtype type,
                                   const char *header, const char *function, pz_text *shape,
                                   int64_t scratch_floats, pz_error *err);
/* What minimal filtering F(m, r) along an axis multiplies the error by, r 3 or 5 (doc/algorithm-winograd.md). */
static inline double pz_winograd_growth_of_error(int32_t r, int32_t m) {
  const bool three = r == 3;
  return m == 2 ? (three ? 1.3 : 2.3) : m == 4 ? (three ? 2.2 : 4.2) : m == 6 ? (three ? 4.5 : 12) : 1;
}
/* The input is the network's own and has few maps: it is read as it is, plain. */
bool pz_conv_few_inputs(const pz_query *q);
/* The result leaves the network, has few maps, and nothing else reads it: plain is what is wanted. */
bool pz_conv_few_outputs(const pz_query *q);
/* And its taps along the width lie beside each other in a vector (kernels/conv/few.h), of a kernel of 1 along the depth, without Base. */
bool pz_conv_few_beside(const pz_query *q);
/* A convolution of 1x1x1, or a deconvolution whose kernel is its stride: a product of maps at each point of the input. */
bool pz_conv_is_product(const pz_problem *problem);
/* Maps are multiplied in pairs (kernels/winograd/pairs.h) where the core adds beside multiply-adds, vectors have 16 lanes, and there is so
 * much to multiply, `least` maps in and out, that sums of squares and of products of inputs are small beside it. */
bool pz_conv_has_pairs(const pz_target *target, int64_t in, int64_t out, int64_t least);
#define PZ_CONV_PAIRS_FROM 28
/* Products are made on tiles of AMX, where a block is a row of one. */
static inline bool pz_conv_has_tiles(const pz_target *target) {
  return pz_target_has(target, PZ_NEEDS_TILES) && target->block == 16;
}
pz_conv_machine pz_conv_machine_of(const pz_target *target);
/* Weights of one position of the kernel, blocks filled up. */
double pz_conv_weight_pairs(const pz_query *q);
/* Vector multiply-adds of the direct algorithm. */
double pz_conv_direct_cost(const pz_query *q);

#endif
