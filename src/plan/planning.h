/* planning.h: what the files of the framework share. Solvers do not see it. */
#ifndef PZ_PLAN_PLANNING_H
#define PZ_PLAN_PLANNING_H

#include "plan/plan.h"
#include "plan/solver.h"

static inline const pz_solver *pz_chosen(const pz_plan *plan, pz_node_id n) {
  return pz_plan_candidate(plan, n)->solver;
}
/* What its solver is asked about a node. */
static inline pz_query pz_query_of(const pz_plan *plan, pz_node_id n) {
  return (pz_query){&plan->problems[n], &plan->target, pz_plan_candidate(plan, n)->variant};
}
static inline pz_builder pz_builder_of(pz_plan *plan, pz_step *step) {
  return (pz_builder){.plan = plan, .step = step, .dry = plan->dry, .unpacked = plan->unpacked};
}

pz_status pz_choose_solvers(pz_plan *plan, const pz_plan_options *options, pz_error *err); /* choose.c */
pz_status pz_decide_aliases(pz_plan *plan, pz_error *err);                                 /* storage.c */
/* Algorithms with smaller errors where those of all convolutions together exceed max_error (budget.c). */
pz_status pz_meet_error(pz_plan *plan, pz_error *err);
/* Which chains run slab by slab (plan.c), and algorithms with smaller weights where more memory is needed than allowed (budget.c). */
typedef struct pz_plan_size {
  int64_t run, weights; /* floats */
} pz_plan_size;
static inline double pz_plan_bytes(const pz_plan_size *s) { return 4.0 * (double)(s->run + s->weights); }
pz_status pz_choose_slabs(pz_plan *plan, pz_plan_size *size,
                          pz_error *err); /* *size: where anything depends on it */
pz_status pz_meet_memory(pz_plan *plan, pz_error *err);
pz_status pz_memory_plan(pz_plan *plan, pz_error *err); /* memory.c */
pz_status pz_new_step(pz_plan *plan, const char *name, const char *op, pz_node_id node, pz_step **step,
                      pz_error *err);
/* The layout in which node n reads the computed tensor at that slot; a conversion is added where it is not there in it. */
pz_layout pz_wanted_layout(const pz_plan *plan, pz_node_id n, int32_t slot);
pz_status pz_ensure_layout(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_error *err);

/* ---- storages (storage.c) ---- */

pz_storage pz_port_storage(const pz_plan *plan, pz_tensor_id id, pz_space space, int32_t port);
pz_status pz_keep_storage(pz_plan *plan, pz_layout layout, const pz_storage *storage, pz_error *err);

/* Nothing reads `id` behind node `last`, and no view of it is left. */
bool pz_ends_at(const pz_plan *plan, pz_tensor_id id, pz_node_id last);
bool pz_border_suffices(const pz_plan *plan, pz_tensor_id id, pz_layout layout, const pz_view *view);

/* A buffer of its own for the tensor, with its border; becomes the tensor's storage in that layout. */
pz_status pz_fresh_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                           pz_error *err);
/* A buffer for `rows` rows of the tensor along its height (border rows among them), with its border along depth and width;
 * becomes its storage in that layout; the view's element is the first of these rows. */
pz_status pz_window_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, int64_t rows, pz_error *err);

/* The storage of a tensor in a layout. pz_input_storage: it must exist (the framework converted it).
 * pz_output_storage: made where it is not there yet. */
const pz_storage *pz_input_storage(const pz_plan *plan, pz_tensor_id id, pz_layout layout);
pz_status pz_output_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                            pz_error *err);
/* Makes the tensor `to` a view in the storage `from` (a crop, a slice, a reshape: no step writes it). */
pz_status pz_make_view(pz_plan *plan, pz_tensor_id to, pz_layout layout, const pz_storage *view,
                       pz_error *err);
/* Gives `to` the very storage of `from` (in place), when nothing reads `from` behind the node that makes `to`, the shapes are
 * equal and the border suffices: *done says whether it was possible. */
pz_status pz_make_in_place(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, pz_layout layout, bool *done,
                           pz_error *err);

/* `from` may leave its blocked storage to `to`: it is computed, nothing reads it behind the node that makes `to`, and neither is
 * part of a concatenation. */
bool pz_may_replace(const pz_plan *plan, pz_tensor_id from, pz_tensor_id to);
/* Gives `to` blocked storage over that of `from`, which lies rows first: row r where row r + `rows` of `from` lies. *done: it fits. */
pz_status pz_shifted_storage(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, int64_t rows, bool *done,
                             pz_error *err);

/* ---- pooling that a convolution does (pooled.c) ---- */

/* The pooling that convolution n does while it makes its result, which then has no step of its own; the convolution that does pooling n.
 * PZ_NONE: there is none. */
pz_node_id pz_pooling_of(const pz_plan *plan, pz_node_id n);
pz_node_id pz_pooled_by(const pz_plan *plan, pz_node_id n);
/* Zeroes the border of what convolution n pools, if it does. */
pz_status pz_add_pooled_border(pz_plan *plan, pz_step *step, pz_node_id n, pz_error *err);

#endif
