/* solve_conv.h: what the solvers of convolutions share. */
#ifndef PZ_PLAN_SOLVE_CONV_H
#define PZ_PLAN_SOLVE_CONV_H

#include "kernels/conv/schedule.h"
#include "plan/solver.h"

/* The storages and packed vectors of a convolution; absent ones have PZ_SPACE_NULL and base.tensor PZ_NONE. */
typedef struct pz_conv_parts {
  pz_storage in, base, out;
  pz_pointer bias, base_scale, slope;
} pz_conv_parts;
pz_status pz_conv_begin(pz_plan *plan, const pz_node *node, pz_layout in, pz_layout out, pz_conv_parts *parts,
                        pz_error *err);

pz_tensor_id pz_conv_operand(const pz_node *node, int32_t slot); /* PZ_NONE where absent */
pz_conv_machine pz_conv_this_machine(const pz_plan *plan);
/* One call of the direct convolution with the views in `s` and the pointers in `parts`. */
pz_status pz_conv_direct_call(pz_plan *plan, pz_step *step, const pz_conv_direct_shape *s,
                              const pz_conv_parts *parts, pz_pointer weights, pz_error *err);
/* Vector multiply-adds of the direct algorithm. */
double pz_conv_vector_cost(const pz_plan *plan, const pz_node *node);

#endif
