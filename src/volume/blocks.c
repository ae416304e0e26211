#include "volume/blocks.h"

#include "base/memory.h"

#include <string.h>

/* The last place at or before `at` where a patch begins; at most `before`: there is none. */
static int64_t patch_before(const pz_axis *a, int64_t at, int64_t before) {
  int64_t last;
  pz_axis_covering(a, at, &last);
  const int64_t begin = pz_axis_begin(a, last);
  return begin > before ? begin : before;
}

static int64_t next_cut(const pz_axis *a, int64_t from, int64_t length, int64_t align) {
  if (length >= a->result - from) return a->result;
  if (align > 1) {
    const int64_t rounded = (length + align - 1) / align * align;
    return rounded < a->result - from ? from + rounded : a->result;
  }
  const int64_t cut = patch_before(a, from + length, from);
  return cut > from ? cut : from + length;
}

static void count(const pz_axis *a, bool mirror, pz_cuts *c) {
  for (int64_t i = 0; i < c->n; i++) {
    int64_t last;
    const pz_axis part = pz_axis_part(a, c->at[i], c->at[i + 1]);
    const int64_t first = pz_axis_reads(&part, mirror, &last), in = last - first + 1;
    if (part.result > c->most_out) c->most_out = part.result;
    if (in > c->most_in) c->most_in = in;
    c->patches += part.count, c->reads += in;
  }
}

pz_status pz_cuts_make(pz_arena *arena, const pz_axis *a, int64_t wanted, int64_t align, bool mirror,
                       pz_cuts *c, pz_error *err) {
  const int64_t length = (a->result + wanted - 1) / wanted;
  memset(c, 0, sizeof *c);
  /* A part that ends where a patch begins may be no longer than half of what was wanted. */
  c->at = PZ_NEW(arena, int64_t, 2 * wanted + 2);
  if (!c->at) return pz_fail_memory(err, "the places of blocks", 16ull * (unsigned long long)wanted);
  while (c->at[c->n] < a->result) {
    c->at[c->n + 1] = c->n < 2 * wanted ? next_cut(a, c->at[c->n], length, align) : a->result;
    c->n++;
  }
  count(a, mirror, c);
  return PZ_OK;
}

pz_status pz_cuts_by_patch(pz_arena *arena, const pz_axis *a, bool mirror, pz_cuts *c, pz_error *err) {
  memset(c, 0, sizeof *c);
  c->at = PZ_NEW(arena, int64_t, a->count + 1);
  if (!c->at) return pz_fail_memory(err, "the places of blocks", 8ull * (unsigned long long)a->count);
  for (int64_t k = 0; k < a->count; k++) c->at[c->n++] = pz_axis_begin(a, k);
  c->at[c->n] = a->result;
  count(a, mirror, c);
  return PZ_OK;
}

int64_t pz_cuts_most(const pz_axis *a, const pz_cuts *c) {
  int64_t most = 0;
  for (int64_t i = 0; i < c->n; i++) {
    const pz_axis part = pz_axis_part(a, c->at[i], c->at[i + 1]);
    if (part.count > most) most = part.count;
  }
  return most;
}

/* Input up to where the block ends is its own, to the very end that of the last one. */
static void own_part(const pz_axis *a, const pz_cuts *c, int64_t i, int64_t first, int64_t last,
                     int64_t *start, int64_t *size) {
  const int64_t begin = i ? a->origin : first, end = i + 1 < c->n ? a->origin + a->result : last + 1;
  *start = begin, *size = end - begin;
}

void pz_block_make(const pz_grid *grid, const pz_cuts *y, const pz_cuts *x, int64_t index, bool mirror,
                   pz_block *b) {
  const int64_t at[3] = {0, index / x->n, index % x->n}, planes[2] = {0, grid->axis[0].result};
  const pz_cuts all = {.n = 1, .at = (int64_t[2]){planes[0], planes[1]}};
  const pz_cuts *cuts[3] = {&all, y, x};
  b->index = index;
  for (int i = 0; i < 3; i++) {
    const int64_t begin = cuts[i]->at[at[i]], end = cuts[i]->at[at[i] + 1];
    int64_t last;
    b->grid.axis[i] = pz_axis_part(&grid->axis[i], begin, end);
    b->result.start[i] = begin, b->result.size[i] = end - begin;
    const int64_t first = pz_axis_reads(&b->grid.axis[i], mirror, &last);
    b->input.start[i] = first, b->input.size[i] = last - first + 1;
    own_part(&b->grid.axis[i], cuts[i], at[i], first, last, &b->own.start[i], &b->own.size[i]);
  }
  b->patches = b->grid.axis[1].count * b->grid.axis[2].count;
}
