/* memory.c: one arena for all buffers: those whose lifetimes overlap lie apart, the others share.
 * Greedy by size: the largest buffer first, each at the lowest offset that is free during its lifetime. This is
 * within a few percent of the lower bound (the largest sum of buffers alive at once) on U-Nets. */
#include "plan/solver.h"

#include <stdlib.h>

#define ALIGN_FLOATS 16 /* 64 bytes */

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
  if (x->floats != y->floats) return x->floats < y->floats ? 1 : -1;
  return *(const int32_t *)a - *(const int32_t *)b;
}

static bool overlap_in_time(const pz_buffer *a, const pz_buffer *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* The lowest offset at which `b` meets none of the placed buffers that live when it does. */
static int64_t lowest_free(const pz_plan *plan, const int32_t *placed, int32_t n, const pz_buffer *b) {
  int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t i = 0; i < n; i++) {
      const pz_buffer *p = &plan->buffers[placed[i]];
      if (!overlap_in_time(p, b) || offset >= p->offset + p->floats || p->offset >= offset + b->floats)
        continue;
      offset = p->offset + p->floats;
      moved = true;
    }
  }
  return offset;
}

pz_status pz_memory_plan(pz_plan *plan, pz_error *err) {
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t c = 0; c < plan->steps[i].n_calls; c++) touch(plan, &plan->steps[i].calls[c], i);
  int32_t *order = PZ_NEW(plan->arena, int32_t, (size_t)plan->n_buffers + 1);
  if (!order) return pz_fail_memory(err, "the memory plan", (unsigned long long)plan->n_buffers * 4);
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    order[i] = i;
    plan->buffers[i].floats = (plan->buffers[i].floats + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
  }
  qsort_r(order, (size_t)plan->n_buffers, sizeof *order, larger_first, plan->buffers);
  plan->arena_floats = 0;
  int32_t placed = 0;
  for (int32_t i = 0; i < plan->n_buffers; i++) {
    pz_buffer *b = &plan->buffers[order[i]];
    if (b->last < 0) continue; /* no call uses it */
    b->offset = lowest_free(plan, order, placed, b);
    order[placed++] = order[i];
    if (b->offset + b->floats > plan->arena_floats) plan->arena_floats = b->offset + b->floats;
  }
  return PZ_OK;
}
