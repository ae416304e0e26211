/* choose_bands.c: which chains run band by band. */
#include "place/bands.h"

#define BANDS_THRESHOLD 0.05 /* bands save this part of all memory, weights included */
#define CHAIN_THRESHOLD                                                                                      \
  0.15 /* each chain, where products are of AMX tiles: its bands cost these more (doc/notes/2026-11-28-memory.md) */
#define INPLACE_THRESHOLD 0.01 /* those of low-memory plans, which take little time each */
#define LOW_MEMORY_THRESHOLD                                                                                 \
  0.07 /* low-memory plans as a whole: in-place convolutions take as much of the time as chains in cache save */

static pz_status find_chains(pz_plan *plan, bool low_memory, pz_error *err) {
  plan->low_memory = low_memory;
  plan->n_chains = 0;
  plan->chains = PZ_NEW(plan->arena, pz_band_chain, (size_t)plan->graph->n_nodes);
  if (!plan->chains) return pz_fail_memory(err, "bands", sizeof(pz_band_chain));
  for (pz_node_id n = 0; n < plan->graph->n_nodes;) {
    pz_band_chain *chain = &plan->chains[plan->n_chains];
    PZ_TRY(pz_bands_find(plan, n, chain, err));
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
  for (int32_t i = 0; i < plan->n_chains; i++)
    if (plan->chains[i].wanted) size->again += pz_bands_again(&plan->chains[i]);
  pz_place_nothing(plan);
  return PZ_OK;
}

static void want_all(pz_plan *plan, bool wanted) {
  for (int32_t i = 0; i < plan->n_chains; i++) plan->chains[i].wanted = wanted;
}

/* All chains but those that cost time, less those, one after the other, without which the network needs about as much: several
 * may have to be bands before the peak is lower. None, where that saves too little. */
static pz_status choose_bands(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  const double threshold = plan->low_memory ? INPLACE_THRESHOLD : BANDS_THRESHOLD,
               each = !plan->low_memory && pz_target_has(&plan->target, PZ_NEEDS_TILES) ? CHAIN_THRESHOLD
                                                                                        : threshold;
  pz_plan_size none, without;
  want_all(plan, true);
  PZ_TRY(dry_size(plan, size, err)); /* counts all weights, whose sizes pz_bands_cost knows then */
  want_all(plan, false);
  PZ_TRY(dry_size(plan, &none, err));
  for (int32_t i = 0; i < plan->n_chains; i++) plan->chains[i].wanted = !pz_bands_cost(&plan->chains[i]);
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
  if ((1 + threshold) * least <= (1 - threshold) * pz_plan_bytes(&none)) return PZ_OK;
  want_all(plan, false);
  *size = none;
  return PZ_OK;
}

/* The chains, all in the smallest bands or those that are worth it, and what the network needs with them. */
static pz_status try_bands(pz_plan *plan, bool low_memory, pz_plan_size *size, pz_error *err) {
  PZ_TRY(find_chains(plan, low_memory, err));
  if (plan->n_chains && plan->fuse_rows == PZ_FUSE_ROWS_AUTO) return choose_bands(plan, size, err);
  want_all(plan, true);
  return dry_size(plan, size, err);
}

/* With chains as long as they can be, or of low memory, where that needs much less or memory is bound. */
static pz_status choose_chains(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  plan->n_chains = 0;
  if (!plan->fuse_rows) return plan->memory > 0 || plan->slack > 0 ? dry_size(plan, size, err) : PZ_OK;
  pz_plan_size other;
  PZ_TRY(try_bands(plan, false, &other, err));
  pz_band_chain *const chains = plan->chains;
  const int32_t n_chains = plan->n_chains;
  PZ_TRY(try_bands(plan, true, size, err));
  const bool bound =
      plan->fuse_rows == PZ_FUSE_ROWS_ALWAYS || (plan->memory > 0 && pz_plan_bytes(&other) > plan->memory);
  if (pz_plan_bytes(size) < (1 - (bound ? INPLACE_THRESHOLD : LOW_MEMORY_THRESHOLD)) * pz_plan_bytes(&other))
    return PZ_OK;
  plan->low_memory = false;
  plan->chains = chains, plan->n_chains = n_chains;
  *size = other;
  return PZ_OK;
}

pz_status pz_choose_bands(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  PZ_TRY(pz_decide_aliases(plan, err)); /* of the algorithms as they are chosen now */
  plan->small_bands = false;
  PZ_TRY(choose_chains(plan, size, err));
  if (plan->memory <= 0 || pz_plan_bytes(size) <= plan->memory || pz_band_growth(plan) <= 1) return PZ_OK;
  plan->small_bands = true;
  return choose_chains(plan, size, err);
}
