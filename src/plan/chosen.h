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

/* In which layout a computed input is read: the solver's, that of its result, or NCHW whatever the solver is. */
typedef enum pz_reads { PZ_READS_IN, PZ_READS_OUT, PZ_READS_NCHW } pz_reads;
/* The sum that a convolution starts from is read in the layout of its result, factors of a scale and the place of a patch are read NCHW. */
static inline pz_reads pz_reads_of(pz_op op, int32_t slot) {
  if ((op == PZ_OP_CONV || op == PZ_OP_DECONV) && slot == PZ_CONV_RESIDUAL) return PZ_READS_OUT;
  return (op == PZ_OP_SCALE || op == PZ_OP_VOLUME_BORDER) && slot > 0 ? PZ_READS_NCHW : PZ_READS_IN;
}
/* The layout in which node n reads the computed tensor at that slot. */
static inline pz_layout pz_wanted_layout(const pz_plan *plan, pz_node_id n, int32_t slot) {
  const pz_solver *solver = pz_chosen(plan, n);
  switch (pz_reads_of(plan->problems[n].op, slot)) {
  case PZ_READS_OUT: return solver->out;
  case PZ_READS_NCHW: return PZ_NCHW;
  default: return solver->in;
  }
}

typedef struct pz_plan_size {
  int64_t run, weights; /* bytes */
  double again;         /* that bands read again, less those that they spare */
} pz_plan_size;
static inline double pz_plan_bytes(const pz_plan_size *s) { return (double)(s->run + s->weights); }

#endif
