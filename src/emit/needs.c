/* needs.c: which steps must have finished before a step begins: those that wrote what it reads or overwrites, and those that read what it
 * overwrites.
 *
 * Buffers of the arena share addresses, so it is addresses that count. All that steps read and write is one line: the arena's bytes, then
 * a unit for each output of the network and one for the state. Where buffers begin and end cuts the line into segments; each knows who wrote
 * it last and who has read it since. Of the steps found so, those that another one of them needs, at whatever distance, follow from it. */
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

/* Steps that are looked at for what follows from others, for each step: with more, some that follow stay in its list, which does no harm. */
#define MOST_ASKED 4096

typedef struct reader {
  int32_t step;
  struct reader *next;
} reader;

typedef struct segment {
  int32_t writer; /* -1: none yet */
  reader *readers;
} segment;

typedef struct search {
  const pz_plan *plan;
  pz_arena *arena;
  int64_t *cuts; /* segment i is cuts[i] .. cuts[i + 1] */
  int32_t n_cuts;
  segment *segments;
  reader *unused;
  pz_sources *needs;
  int32_t *found, n_found;
  int32_t *seen, *stack; /* by step: the last one that it was seen for */
} search;

/* What the pointer may reach; false: what no other step has to do with. */
static bool reach(const pz_plan *p, const pz_pointer *at, int64_t *begin, int64_t *end) {
  if (at->space == PZ_SPACE_ARENA) {
    *begin = p->buffers[at->index].offset;
    *end = *begin + p->buffers[at->index].bytes;
    return true;
  }
  *begin = p->arena_bytes + (at->space == PZ_SPACE_OUTPUT ? at->index : p->graph->n_outputs);
  *end = *begin + 1;
  return at->space == PZ_SPACE_OUTPUT || at->space == PZ_SPACE_STATE;
}

/* ---- segments ---- */

static int ascending64(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static pz_status cut(search *s, pz_error *err) {
  const pz_plan *p = s->plan;
  const size_t most = 2 * (size_t)p->n_buffers + (size_t)p->graph->n_outputs + 2;
  s->cuts = PZ_NEW(s->arena, int64_t, most);
  s->segments = PZ_NEW(s->arena, segment, most);
  if (!s->cuts || !s->segments) return pz_fail_memory(err, "the steps' dependencies", most * 24);
  int32_t n = 0;
  for (int32_t i = 0; i < p->n_buffers; i++) {
    if (p->buffers[i].last < 0) continue; /* nobody uses it */
    s->cuts[n++] = p->buffers[i].offset;
    s->cuts[n++] = p->buffers[i].offset + p->buffers[i].bytes;
  }
  for (int32_t i = 0; i <= p->graph->n_outputs + 1; i++) s->cuts[n++] = p->arena_bytes + i;
  qsort(s->cuts, (size_t)n, sizeof *s->cuts, ascending64);
  for (int32_t i = 0; i < n; i++)
    if (!i || s->cuts[i] != s->cuts[s->n_cuts - 1]) s->cuts[s->n_cuts++] = s->cuts[i];
  for (int32_t i = 0; i < s->n_cuts; i++) s->segments[i].writer = -1;
  return PZ_OK;
}

static int32_t segment_at(const search *s, int64_t begin) {
  const int64_t *cut = bsearch(&begin, s->cuts, (size_t)s->n_cuts, sizeof *s->cuts, ascending64);
  return (int32_t)(cut - s->cuts);
}

/* ---- one step ---- */

static void find(search *s, int32_t step, int32_t earlier) {
  if (earlier < 0 || s->seen[earlier] == step) return;
  s->seen[earlier] = step;
  s->found[s->n_found++] = earlier;
}

static void ask(search *s, int32_t step, const pz_arg *arg) {
  int64_t begin, end;
  if (!reach(s->plan, &arg->at, &begin, &end)) return;
  for (int32_t i = segment_at(s, begin); s->cuts[i] < end; i++) {
    find(s, step, s->segments[i].writer);
    for (const reader *r = s->segments[i].readers; r && arg->written; r = r->next) find(s, step, r->step);
  }
}

static bool add_reader(search *s, segment *at, int32_t step) {
  if (at->readers && at->readers->step == step) return true;
  reader *r = s->unused ? s->unused : PZ_NEW(s->arena, reader, 1);
  if (!r) return false;
  if (s->unused) s->unused = r->next;
  *r = (reader){step, at->readers};
  at->readers = r;
  return true;
}

static void set_writer(search *s, segment *at, int32_t step) {
  at->writer = step;
  while (at->readers) {
    reader *r = at->readers;
    at->readers = r->next;
    r->next = s->unused, s->unused = r;
  }
}

/* Readers first, so that a step that writes what it has read is the writer alone. */
static bool note(search *s, int32_t step, const pz_arg *arg, bool written) {
  int64_t begin, end;
  if (arg->written != written || !reach(s->plan, &arg->at, &begin, &end)) return true;
  for (int32_t i = segment_at(s, begin); s->cuts[i] < end; i++) {
    if (written) set_writer(s, &s->segments[i], step);
    else if (!add_reader(s, &s->segments[i], step)) return false;
  }
  return true;
}

static int descending(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x < y) - (x > y);
}

/* Marks all that `from` needs, down to step `least`. */
static void mark(search *s, int32_t step, int32_t from, int32_t least, int32_t *asked) {
  int32_t depth = 0;
  s->stack[depth++] = from;
  while (depth && ++*asked < MOST_ASKED) {
    const pz_sources *needs = &s->needs[s->stack[--depth]];
    for (int32_t i = 0; i < needs->n; i++) {
      const int32_t need = needs->of[i];
      if (need < least || s->seen[need] == step) continue;
      s->seen[need] = step;
      s->stack[depth++] = need;
    }
  }
}

/* Latest first: what follows from another one is earlier than that. A step is seen once it is known to follow. */
static pz_status keep(search *s, int32_t step, pz_error *err) {
  int32_t n = 0, asked = 0;
  if (s->n_found) qsort(s->found, (size_t)s->n_found, sizeof *s->found, descending);
  for (int32_t i = 0; i < s->n_found; i++) s->seen[s->found[i]] = -1;
  for (int32_t i = 0; i < s->n_found; i++) {
    if (s->seen[s->found[i]] == step) continue;
    s->found[n++] = s->found[i];
    if (i + 1 < s->n_found) mark(s, step, s->found[i], s->found[s->n_found - 1], &asked);
  }
  pz_sources *out = &s->needs[step];
  *out = (pz_sources){.of = PZ_NEW(s->arena, int32_t, (size_t)n + 1), .n = n};
  if (!out->of) return pz_fail_memory(err, "the steps' dependencies", (size_t)n * 4);
  for (int32_t i = 0; i < n; i++) out->of[i] = s->found[n - 1 - i];
  s->n_found = 0;
  return PZ_OK;
}

static pz_status visit(search *s, int32_t step, pz_error *err) {
  const pz_step *at = &s->plan->steps[step];
  bool noted = true;
  for (int32_t c = 0; c < at->n_calls; c++)
    for (int32_t a = 0; a < at->calls[c].n_args; a++) ask(s, step, &at->calls[c].args[a]);
  for (int written = 0; written < 2; written++)
    for (int32_t c = 0; c < at->n_calls; c++)
      for (int32_t a = 0; a < at->calls[c].n_args; a++)
        noted &= note(s, step, &at->calls[c].args[a], written);
  return noted ? keep(s, step, err) : pz_fail_memory(err, "the steps' dependencies", sizeof(reader));
}

pz_status pz_emit_needs(const pz_plan *plan, pz_arena *arena, pz_sources **steps, pz_error *err) {
  const size_t n = (size_t)plan->n_steps + 1;
  search s = {.plan = plan,
              .arena = arena,
              .needs = PZ_NEW(arena, pz_sources, n),
              .found = PZ_NEW(arena, int32_t, n),
              .seen = PZ_NEW(arena, int32_t, n),
              .stack = PZ_NEW(arena, int32_t, n)};
  *steps = s.needs;
  if (!s.needs || !s.found || !s.seen || !s.stack)
    return pz_fail_memory(err, "the steps' dependencies", n * 32);
  memset(s.seen, 0xff, n * sizeof *s.seen);
  PZ_TRY(cut(&s, err));
  for (int32_t i = 0; i < plan->n_steps; i++) PZ_TRY(visit(&s, i, err));
  return PZ_OK;
}
