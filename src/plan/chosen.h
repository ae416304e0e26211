/* chosen.h: what follows from the candidates that a plan's nodes have. */
#ifndef PZ_PLAN_CHOSEN_H
#define PZ_PLAN_CHOSEN_H

#include "plan/plan.h"
#include "plan/solver.h"

static inline const pz_solver *pz_chosen(const pz_plan *plan, pz_node_id n) {
  return pz_plan_candidate(plan, n)->solver;
}
/* What its solver is asked about a node. */
static inline pz_query pz_query_of(const pz_plan *plan, pz_node_id n) {
  return (pz_query){&plan->problems[n], &plan->target, pz_plan_candidate(plan, n)->parameters};
}
static inline pz_builder pz_builder_of(pz_plan *plan, pz_step *step) {
  return (pz_builder){.plan = plan, .step = step, .dry = plan->dry, .unpacked = plan->unpacked};
}

/* The layout in which node n reads the computed tensor at that slot. The sum that a convolution starts from is read in the layout of its
 * result, factors of a scale are read plain. */
static inline pz_layout pz_wanted_layout(const pz_plan *plan, pz_node_id n, int32_t slot) {
  const pz_op op = plan->problems[n].op;
  if ((op == PZ_OP_CONV || op == PZ_OP_DECONV) && slot == PZ_CONV_BASE) return pz_chosen(plan, n)->out;
  if (op == PZ_OP_SCALE && slot > 0) return PZ_PLAIN;
  return pz_chosen(plan, n)->in;
}

typedef struct pz_plan_size {
  int64_t run, weights; /* bytes */
} pz_plan_size;
static inline double pz_plan_bytes(const pz_plan_size *s) { return (double)(s->run + s->weights); }

#endif
