/* memory.c: one arena for all buffers: those whose lifetimes overlap lie apart, but for anchored ones; the others share.
 * Greedy by size: the largest buffer first, each at the lowest offset that is free during its lifetime. Then, some times, the
 * buffer that ends highest is placed before all others, which gives it a gap that larger ones had taken; the best of these
 * arenas is kept. This is within a few percent of the lower bound (the largest sum of buffers alive at once) on U-Nets. */
#include "place/place.h"

#include <stdlib.h>
#include <string.h>

#define TRIES 16

static void touch(pz_plan *plan, const pz_call *call, int32_t step) {
  for (int32_t i = 0; i < call->n_args; i++) {
    if (call->args[i].at.space != PZ_SPACE_ARENA) continue;
    pz_buffer *b = &plan->buffers[call->args[i].at.index];
    if (step < b->first) b->first = step;
    if (step > b->last) b->last = step;
  }
}

static int larger_first(const void *a, const void *b, void *host) {
  const pz_buffer *buffers = host;
  const pz_buffer *x = &buffers[*(const int32_t *)a], *y = &buffers[*(const int32_t *)b];
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return *(const int32_t *)a - *(const int32_t *)b;
}

static bool overlap_in_time(const pz_buffer *a, const pz_buffer *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* The buffer that b's place hangs on; *from: b's distance from it. */
static int32_t root_of(const pz_plan *plan, int32_t b, int64_t *from) {
  for (*from = 0; plan->buffers[b].anchor >= 0; b = plan->buffers[b].anchor)
    *from += plan->buffers[b].from_anchor;
  return b;
}

/* Where the root of buffer `i` can lie at the lowest so that `i` meets none of the n placed buffers that live when it does,
 * if not below `root`. */
static int64_t lowest_free(const pz_plan *plan, const int32_t *placed, int32_t n, int32_t i, int64_t root) {
  const pz_buffer *b = &plan->buffers[i];
  int64_t from;
  root_of(plan, i, &from);
  if (root + from < 0) root = -from;
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t k = 0; k < n; k++) {
      const pz_buffer *p = &plan->buffers[placed[k]];
      if (!overlap_in_time(p, b) || root + from >= p->offset + p->bytes ||
          p->offset >= root + from + b->bytes)
        continue;
      root = p->offset + p->bytes - from;
      moved = true;
    }
  }
  return root;
}

/* All buffers with one root; they are used, and follow the n placed ones. */
static int32_t place(pz_plan *plan, const int32_t *order, int32_t *placed, int32_t n, int32_t root) {
  int64_t at = INT64_MIN / 2, from;
  int32_t all = n;
  for (int64_t before = at - 1; before != at;) {
    before = at;
    for (int32_t i = 0; i < plan->n_buffers; i++)
      if (plan->buffers[i].last >= 0 && root_of(plan, i, &from) == root)
        at = lowest_free(plan, placed, n, i, at);
  }
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    pz_buffer *b = &plan->buffers[order[i]];
    if (b->last < 0 || root_of(plan, order[i], &from) != root) continue;
    b->offset = at + from;
    placed[all++] = order[i];
    if (b->offset + b->bytes > plan->arena_bytes) plan->arena_bytes = b->offset + b->bytes;
  }
  return all;
}

static void place_all(pz_plan *plan, const int32_t *order, int32_t *placed) {
  int32_t n = 0;
  plan->arena_bytes = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) plan->buffers[i].offset = -1;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    const pz_buffer *b = &plan->buffers[order[i]];
    int64_t from;
    if (b->last < 0 || b->offset >= 0) continue; /* no call uses it, or it is placed */
    n = place(plan, order, placed, n, root_of(plan, order[i], &from));
  }
}

/* The buffer that ends highest becomes the first one; false: it is, or there is none. */
static bool promote_highest(const pz_plan *plan, int32_t *order) {
  for (int32_t i = 1; i < plan->n_buffers; i++) {
    const int32_t id = order[i];
    const pz_buffer *b = &plan->buffers[id];
    if (b->last < 0 || b->offset + b->bytes < plan->arena_bytes) continue;
    memmove(order + 1, order, (size_t)i * sizeof *order);
    order[0] = id;
    return true;
  }
  return false;
}

pz_status pz_memory_plan(pz_plan *plan, pz_error *err) {
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t c = 0; c < plan->steps[i].n_calls; c++) touch(plan, &plan->steps[i].calls[c], i);
  const size_t n = (size_t)plan->n_buffers;
  int32_t *order = PZ_NEW(plan->arena, int32_t, 3 * n + 1);
  if (!order) return pz_fail_memory(err, "the memory plan", (unsigned long long)n * 12);
  int32_t *placed = order + n, *best = placed + n;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    order[i] = i;
    plan->buffers[i].bytes = (plan->buffers[i].bytes + PZ_ALIGN - 1) / PZ_ALIGN * PZ_ALIGN;
  }
  qsort_r(order, n, sizeof *order, larger_first, plan->buffers);
  place_all(plan, order, placed);
  memcpy(best, order, n * sizeof *order);
  int64_t least = plan->arena_bytes;
  for (int32_t i = 0; i < TRIES && promote_highest(plan, order); i++) {
    place_all(plan, order, placed);
    if (plan->arena_bytes >= least) continue;
    least = plan->arena_bytes;
    memcpy(best, order, n * sizeof *order);
  }
  if (plan->arena_bytes > least) place_all(plan, best, placed);
  return PZ_OK;
}
