/* bands.c: which chains run slab by slab. */
#include "place/slabs.h"

#define SLABS_WORTH 0.05 /* slabs save this part of all memory, weights included */
#define CHAIN_WORTH                                                                                          \
  0.15 /* each chain, where products are of AMX tiles: its slabs cost these more (doc/notes/2026-11-28-memory.md) */
#define SLIDE_WORTH 0.01 /* those of compact plans, which take little time each */
#define COMPACT_WORTH                                                                                        \
  0.07 /* compact plans as a whole: slides take as much of the time as chains in cache save */

static pz_status find_chains(pz_plan *plan, bool compact, pz_error *err) {
  plan->compact = compact;
  plan->n_chains = 0;
  plan->chains = PZ_NEW(plan->arena, pz_slab_chain, (size_t)plan->graph->n_nodes);
  if (!plan->chains) return pz_fail_memory(err, "slabs", sizeof(pz_slab_chain));
  for (pz_node_id n = 0; n < plan->graph->n_nodes;) {
    pz_slab_chain *chain = &plan->chains[plan->n_chains];
    PZ_TRY(pz_slabs_find(plan, n, chain, err));
    plan->n_chains += chain->n > 0;
    n += chain->n ? chain->layers : 1;
  }
  return PZ_OK;
}

static pz_status dry_size(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  plan->dry = true;
  PZ_TRY(pz_place_all(plan, err));
  plan->dry = false;
  *size = (pz_plan_size){.run = plan->arena_bytes, .weights = plan->weight_bytes};
  pz_place_nothing(plan);
  return PZ_OK;
}

static void want_all(pz_plan *plan, bool wanted) {
  for (int32_t i = 0; i < plan->n_chains; i++) plan->chains[i].wanted = wanted;
}

/* All chains but those that cost time, less those, one after the other, without which the network needs about as much: several
 * may have to be slabs before the peak is lower. None, where that saves too little. */
static pz_status choose_slabs(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  const double worth = plan->compact ? SLIDE_WORTH : SLABS_WORTH,
               each = !plan->compact && pz_target_has(&plan->target, PZ_NEEDS_TILES) ? CHAIN_WORTH : worth;
  pz_plan_size none, without;
  want_all(plan, true);
  PZ_TRY(dry_size(plan, size, err)); /* counts all weights, whose sizes pz_slabs_cost knows then */
  want_all(plan, false);
  PZ_TRY(dry_size(plan, &none, err));
  for (int32_t i = 0; i < plan->n_chains; i++) plan->chains[i].wanted = !pz_slabs_cost(&plan->chains[i]);
  PZ_TRY(dry_size(plan, size, err));
  double least = pz_plan_bytes(size);
  for (int32_t i = 0; i < plan->n_chains; i++) {
    if (!plan->chains[i].wanted) continue;
    plan->chains[i].wanted = false;
    PZ_TRY(dry_size(plan, &without, err));
    plan->chains[i].wanted = pz_plan_bytes(&without) > (1 + each) * least;
    if (!plan->chains[i].wanted) *size = without;
    if (pz_plan_bytes(&without) < least) least = pz_plan_bytes(&without);
  }
  if ((1 + worth) * least <= (1 - worth) * pz_plan_bytes(&none)) return PZ_OK;
  want_all(plan, false);
  *size = none;
  return PZ_OK;
}

/* The chains, all in the smallest slabs or those that are worth it, and what the network needs with them. */
static pz_status try_slabs(pz_plan *plan, bool compact, pz_plan_size *size, pz_error *err) {
  PZ_TRY(find_chains(plan, compact, err));
  if (plan->n_chains && plan->slabs == PZ_SLABS_AUTO) return choose_slabs(plan, size, err);
  want_all(plan, true);
  return dry_size(plan, size, err);
}

/* With chains as long as they can be, or compact, where that needs much less or memory is bound. */
pz_status pz_choose_slabs(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  PZ_TRY(pz_decide_aliases(plan, err)); /* of the algorithms as they are chosen now */
  plan->n_chains = 0;
  if (!plan->slabs) return plan->memory > 0 || plan->spare > 0 ? dry_size(plan, size, err) : PZ_OK;
  pz_plan_size other;
  PZ_TRY(try_slabs(plan, false, &other, err));
  pz_slab_chain *const chains = plan->chains;
  const int32_t n_chains = plan->n_chains;
  PZ_TRY(try_slabs(plan, true, size, err));
  const bool bound =
      plan->slabs == PZ_SLABS_ALWAYS || (plan->memory > 0 && pz_plan_bytes(&other) > plan->memory);
  if (pz_plan_bytes(size) < (1 - (bound ? SLIDE_WORTH : COMPACT_WORTH)) * pz_plan_bytes(&other)) return PZ_OK;
  plan->compact = false;
  plan->chains = chains, plan->n_chains = n_chains;
  *size = other;
  return PZ_OK;
}
