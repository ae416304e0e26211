/* planner.h: from an optimised graph to a plan. */
#ifndef PZ_PLANNER_PLANNER_H
#define PZ_PLANNER_PLANNER_H

#include "plan/plan.h"

/* The graph must outlive the plan. The caller frees it with pz_plan_free (NULL is fine). */
pz_status pz_plan_new(const pz_graph *graph, const pz_plan_options *options, pz_plan **plan, pz_error *err);
/* A target without tiles where no step multiplies them: then the network file runs on machines without. */
void pz_plan_spare_tiles(pz_plan *plan);
/* The target that a plan of these options has, with its block and workers. */
pz_target pz_plan_target(const pz_plan_options *options);
/* Of a plan whose source is written: its packed weights, which may be large. */
void pz_plan_drop_weights(pz_plan *plan);
void pz_plan_free(pz_plan *plan);

#endif
