/* solver.h: what the solvers of convolutions share. */
#ifndef PZ_KERNELS_CONV_SOLVER_H
#define PZ_KERNELS_CONV_SOLVER_H

#include "kernels/conv/machine.h"
#include "kernels/conv/shape.h"
#include "plan/solver.h"

/* The storages and packed vectors of a node; absent ones have PZ_SPACE_NULL and residual.tensor PZ_NONE. */
typedef struct pz_conv_operands {
  pz_storage in, residual, out;
  pz_pointer bias, residual_scale, slope, norm_stats, pooled;
  pz_pointer factors; /* where the input lies as it was before its normalisation */
} pz_conv_operands;
pz_status pz_conv_begin(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_conv_operands *p,
                        pz_error *err);
/* The result may lie in place of Base, unless that is the input too. */
uint32_t pz_conv_overwrites(const pz_query *q);

/* Where the epilogue's pooling goes, and its windows; `pooled` is left as it is where it is not done here. What is pooled is read at once
 * and does not stream. */
void pz_conv_pool(const pz_query *q, const pz_placed *placed, pz_conv_operands *p, pz_conv_direct_shape *conv,
                  pz_view *pooled, int32_t window[PZ_SPATIAL]);
/* Adds it to what the step's algorithm is called. */
pz_status pz_conv_tell_pool(pz_builder *b, const pz_view *pooled, const int32_t window[PZ_SPATIAL],
                            pz_error *err);

pz_conv_direct_shape pz_conv_shape_of(const pz_query *q, const pz_conv_operands *p); /* without schedule */
/* The call of a convolution to few NCHW channels (kernels/conv/narrow.h): in, weights, bias, slope, out, scratch. */
pz_status pz_conv_add_narrow_call(pz_builder *b, const pz_conv_operands *p, pz_pointer weights, pz_dtype type,
                                  const char *header, const char *function, pz_text *shape,
                                  int64_t scratch_floats, pz_error *err);
/* What follows a sum, from args[n] on: bias, residual, residual_scale, slope, out. Returns the number of arguments then. */
int32_t pz_conv_epilogue_args(const pz_conv_operands *p, pz_arg *args, int32_t n);
/* The call of a convolution that has scratch: in, weights, bias, residual, residual_scale, slope, out, where it can collect moments norm_stats,
 * scratch. */
pz_status pz_conv_add_scratch_call(pz_builder *b, const pz_conv_operands *p, pz_pointer weights,
                                   pz_dtype type, const char *header, const char *function, pz_text *shape,
                                   bool collects_stats, int64_t scratch_floats, pz_error *err);
/* The input is the network's own and has few channels: it is read as it is, NCHW. */
bool pz_conv_small_cin(const pz_query *q);
/* The result leaves the network, has few channels, and nothing else reads it: NCHW is what is wanted. */
bool pz_conv_small_cout(const pz_query *q);
/* And its taps along the width lie beside each other in a vector (kernels/conv/narrow.h), of a kernel of 1 along the depth, without Base. */
bool pz_conv_narrow_beside(const pz_query *q);
/* A convolution of 1x1x1, or a deconvolution whose kernel is its stride: a product of channels at each point of the input. */
bool pz_conv_is_product(const pz_problem *problem);
/* Channels are multiplied in pairs (kernels/winograd/inner_pairs.h) where the core adds beside multiply-adds, vectors have 16 lanes, and there is so
 * much to multiply, `least` channels in and out, that sums of squares and of products of inputs are small beside it. */
bool pz_conv_has_inner_pairs(const pz_target *target, int64_t in, int64_t out, int64_t least);
#define PZ_CONV_INNER_PAIRS_FROM 28
/* Products are made on tiles of AMX, where a block is a row of one. */
static inline bool pz_conv_has_tiles(const pz_target *target) {
  return pz_target_has(target, PZ_NEEDS_TILES) && target->block == 16;
}
pz_conv_machine pz_conv_machine_of(const pz_target *target);
/* With the rank of the schedule that a convolution's candidate has as its first parameter. */
pz_conv_machine pz_conv_machine_for(const pz_query *q);
/* Weights of one position of the kernel, blocks filled up. */
double pz_conv_weight_pairs(const pz_query *q);

/* A kernel of direct sums, all of which take the same shape. */
typedef struct pz_conv_method {
  const char *name, *header, *function;
  void (*schedule)(pz_conv_direct_shape *s, const pz_conv_machine *m);
  int64_t (*weight_floats)(const pz_conv_direct_shape *s);
  void (*pack)(const pz_conv_direct_shape *s, const float *weights, float *packed);
  bool merges; /* the phases of a deconvolution along w can be one call */
  int32_t (*units)(
      const pz_conv_direct_shape *s); /* of moments of results, a block; NULL: it collects none */
  bool
      streams; /* results past the caches where the shape says so; its moments are then a pass of their own */
  uint32_t (*ways)(const pz_conv_direct_shape *s,
                   int32_t registers); /* PZ_CONV_WAYS (kernels/conv/ways.h); or NULL */
} pz_conv_method;
/* A convolution that is one call of such a kernel. */
pz_status pz_conv_build(const pz_query *q, const pz_placed *placed, pz_builder *b, const pz_conv_method *m,
                        pz_error *err);
/* Schedules `s`, packs its weights [phases, K, C/groups, taps] and adds the call. */
pz_status pz_conv_add(const pz_query *q, pz_builder *b, const pz_conv_method *m, pz_conv_direct_shape *s,
                      const pz_conv_operands *p, const float *weights, pz_error *err);
/* Moments of the result: whether calls collect them, how many units of each block a call for `s` will, and where all calls together collect
 * s->stats_units. */
bool pz_conv_collects_stats(const pz_query *q, const pz_conv_method *m, const pz_conv_direct_shape *s);
int32_t pz_conv_units_with(const pz_query *q, const pz_conv_method *m, pz_conv_direct_shape s);
/* Where they are wanted: `units` of each block, which are read again when they have been stored, so that results do not stream. */
pz_status pz_conv_collect_stats(const pz_query *q, pz_builder *b, pz_conv_direct_shape *s, int64_t units,
                                pz_conv_operands *p, pz_error *err);
pz_status pz_conv_add_stats(pz_builder *b, const pz_conv_direct_shape *s, pz_conv_operands *p, pz_error *err);

int64_t pz_conv_cin(const pz_query *q); /* channels in, and out */
int64_t pz_conv_cout(const pz_query *q);
/* Vector multiply-adds of `in` vectors or channels in and `out` out, without the rests: a tap is one at each result, of a deconvolution at each
 * input. */
double pz_conv_vectors(const pz_query *q, int64_t in, int64_t out);
/* Vectors of the whole input and of the whole result; taps of the kernel. */
double pz_conv_input_vectors(const pz_query *q);
double pz_conv_result_vectors(const pz_query *q);
int32_t pz_conv_taps_of(const pz_query *q);

#endif
