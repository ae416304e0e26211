#include "api/exact_auto.h"

#include "emit/emit.h"
#include "optimise/optimise.h"
#include "planner/planner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OF_INFER (INT64_C(64) << 20) /* bytes that pz_infer takes beside patches and the network */
/* Along z: planes of a run where the volume is not known; of runs of fewer than LEAST_PLANES most of the time would be copying what earlier ones left. */
enum { PLANES = 16, LEAST_STRIDES = 4, LEAST_PLANES = 4, MOST_SIDE = 4096 };

int64_t pz_in_strides(int64_t voxels, int64_t stride) { return (voxels + stride - 1) / stride * stride; }

void pz_exact_choose_whole(const pz_exact_question *q, pz_exact_choice *choice) {
  const pz_locality *l = q->l;
  for (int i = 1; i < PZ_SPATIAL; i++) {
    const int32_t dim = choice->input.rank - PZ_SPATIAL + i;
    if (i < q->first || dim < 2 || choice->tile.out[i] < q->volume[i]) continue;
    const int64_t stride = l->any_size[i] ? 1 : l->stride[i], rest = choice->input.dim[dim] % stride;
    const int64_t needed = pz_in_strides(q->volume[i] + 2 * l->before[i] - rest, stride) + rest;
    choice->tile.way[i] = PZ_TILE_WHOLE;
    choice->other = choice->other || needed != choice->input.dim[dim];
    choice->input.dim[dim] = needed;
  }
}

/* ---- what a tile takes ---- */

static double product(const int64_t n[PZ_SPATIAL]) { return (double)n[0] * (double)n[1] * (double)n[2]; }

/* Patches on their way in and out, and what pz_infer takes besides. */
static double bytes_of_patches(const pz_graph *g, const int64_t in[PZ_SPATIAL],
                               const int64_t out[PZ_SPATIAL]) {
  const double maps_in = (double)pz_shape_as5(&g->tensors[g->inputs[0]].shape).c,
               maps_out = (double)pz_shape_as5(&g->tensors[g->outputs[0]].shape).c;
  return 4 * (3 * product(in) * maps_in + 4 * product(out) * maps_out) + OF_INFER;
}

static double bytes_of(const pz_graph *tile, const pz_plan *plan, const pz_exact_tile *t) {
  return (double)pz_emit_arena_bytes(plan) + (double)plan->weight_bytes + (double)plan->state_bytes +
         (double)plan->worker_bytes * plan->target.workers + bytes_of_patches(tile, t->in, t->out);
}

pz_status pz_exact_bytes(const pz_compile_options *o, const pz_graph *g, const pz_exact_options *tile,
                         double *bytes, pz_error *err) {
  pz_plan_options wanted;
  pz_exact_tile facts;
  pz_graph *made = NULL;
  pz_plan *plan = NULL;
  PZ_TRY(pz_plan_wanted(o, &wanted, err));
  wanted.memory = 0, wanted.sized = true;
  PZ_TRY(pz_exact_tile_make(g, tile, &made, &facts, err));
  pz_status status = pz_optimise(made, o->disable, NULL, NULL, err);
  if (status == PZ_OK) status = pz_plan_new(made, &wanted, &plan, err);
  if (status == PZ_OK) *bytes = bytes_of(made, plan, &facts);
  pz_plan_free(plan);
  pz_graph_free(made);
  if (status == PZ_OK && o->interrupt && *o->interrupt) return pz_fail_interrupted(err);
  return status;
}

static pz_status check_memory(const pz_compile_options *o, pz_error *err) {
  return o->memory
             ? PZ_OK
             : pz_fail(err, PZ_ERROR_USAGE, "--patch auto wants --memory, into which the tiles are to fit");
}

static pz_status too_little(const pz_compile_options *o, double least, pz_error *err) {
  return pz_fail(err, PZ_ERROR_MEMORY,
                 "--patch auto: the smallest tiles take %.0f MB, the limit is %.0f MB; raise --memory",
                 1e-6 * least, 1e-6 * (double)o->memory);
}

/* ---- the longest ---- */

static void set_sides(int64_t side, const pz_exact_question *q, pz_exact_options *tile) {
  for (int i = q->first > 1 ? q->first : 1; i < PZ_SPATIAL; i++)
    tile->out[i] = pz_in_strides(side, q->l->stride[i]);
}

pz_status pz_exact_longest(const pz_exact_question *q, pz_exact_choice *choice, pz_error *err) {
  const pz_compile_options *o = q->options;
  pz_exact_options *tile = &choice->tile;
  int64_t low = 0, unit = 8;
  double bytes = 0, least = 0;
  PZ_TRY(check_memory(o, err));
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (q->l->stride[i] > unit) unit = q->l->stride[i];
  int64_t high = pz_in_strides(MOST_SIDE, unit);
  tile->out[0] = LEAST_STRIDES * q->l->stride[0];
  if (tile->out[0] < PLANES) tile->out[0] = pz_in_strides(PLANES, q->l->stride[0]);
  while (low < high) { /* the longest that fits is in low .. high; low 0: none is known to */
    const int64_t side = low      ? (low + high + unit) / 2 / unit * unit
                         : !least ? (high < 256 ? high : 256)
                                  : pz_in_strides(high / 2, unit);
    set_sides(side, q, tile);
    PZ_TRY(pz_exact_bytes(o, q->g, tile, &bytes, err));
    if (!least || bytes < least) least = bytes;
    if (bytes <= (double)o->memory) low = side;
    else if (side > unit) high = side - unit;
    else break;
    if (low && high - low < (low / 16 > unit ? low / 16 : unit)) break;
  }
  if (!low) return too_little(o, least, err);
  set_sides(low, q, tile);
  return PZ_OK;
}

/* ---- the cheapest: which sides there are ---- */

/* A length along an axis: with as many runs no shorter one covers the volume. */
typedef struct side {
  int64_t out, in;
  double runs;
  bool whole;
  const double *parts; /* of the nodes that compute: what a run makes, as a part of the graph's own */
} side;

enum { MOST_SIDES = 128, MOST_MEASURED = 96 };

/* Bytes that tiles take. */
typedef struct measured {
  int64_t in[PZ_SPATIAL];
  double bytes;
} measured;

typedef struct choice {
  float times; /* the ideal arithmetic */
  float runs;
  int16_t at[PZ_SPATIAL];
} choice;

typedef struct search {
  const pz_exact_question *q;
  pz_arena *arena;
  int32_t n_heavy; /* nodes that compute, and their multiply-adds */
  pz_node_id *heavy;
  double *cost;
  double *part[PZ_SPATIAL]; /* of all nodes */
  side side[PZ_SPATIAL][MOST_SIDES];
  int n[PZ_SPATIAL];
  measured measured[MOST_MEASURED];
  int n_measured;
  pz_graph *whole[4]; /* of the model, imported for volumes of which runs make all of y (1), x (2) */
} search;

static pz_status find_heavy(search *s, pz_error *err) {
  const pz_graph *g = s->q->g;
  const size_t n = (size_t)g->n_nodes + 1;
  s->heavy = PZ_NEW(s->arena, pz_node_id, n), s->cost = PZ_NEW(s->arena, double, n);
  for (int i = 0; i < PZ_SPATIAL; i++) s->part[i] = PZ_NEW(s->arena, double, n);
  if (!s->heavy || !s->cost || !s->part[0] || !s->part[1] || !s->part[2])
    return pz_fail_memory(err, "tiles", n * sizeof(double));
  for (pz_node_id i = 0; i < g->n_nodes; i++)
    if (pz_node_multiply_adds(g, &g->nodes[i]) > 0)
      s->cost[s->n_heavy] = pz_node_multiply_adds(g, &g->nodes[i]), s->heavy[s->n_heavy++] = i;
  return PZ_OK;
}

static pz_status keep_side(search *s, int axis, side one, pz_error *err) {
  double *parts = PZ_NEW(s->arena, double, (size_t)s->n_heavy + 1);
  if (!parts) return pz_fail_memory(err, "tiles", (size_t)s->n_heavy * sizeof *parts);
  for (int32_t k = 0; k < s->n_heavy; k++) parts[k] = s->part[axis][s->heavy[k]];
  one.parts = parts;
  s->side[axis][s->n[axis]++] = one;
  return PZ_OK;
}

/* A run makes all of the axis. */
static pz_status add_whole(search *s, int axis, pz_error *err) {
  const pz_exact_question *q = s->q;
  pz_exact_choice all = {.input = q->g->tensors[q->g->inputs[0]].shape};
  int64_t out = 1;
  bool fits;
  all.tile.out[axis] = pz_in_strides(q->volume[axis], q->l->stride[axis]);
  pz_exact_choose_whole(q, &all);
  const int64_t in = all.input.dim[all.input.rank - PZ_SPATIAL + axis];
  for (pz_node_id n = 0; n < q->g->n_nodes; n++) s->part[axis][n] = 1;
  PZ_TRY(pz_graph_scale(q->g, axis, in, &out, s->part[axis], &fits, err));
  if (!fits || in > MOST_SIDE) return PZ_OK;
  return keep_side(s, axis, (side){.out = all.tile.out[axis], .in = in, .runs = 1, .whole = true}, err);
}

static pz_status parts_of(search *s, int axis, int64_t out, pz_exact_tile *facts, pz_error *err) {
  pz_exact_options tile = {.way = {PZ_TILE_STREAM, PZ_TILE_TILE, PZ_TILE_TILE}};
  for (int i = 0; i < PZ_SPATIAL; i++) tile.out[i] = i == axis ? out : s->q->l->stride[i];
  return pz_exact_tile_parts(s->q->g, &tile, s->part, facts, err);
}

/* A run makes `out` of it. */
static pz_status add_cut(search *s, int axis, int64_t out, int64_t span, pz_error *err) {
  pz_exact_tile facts;
  PZ_TRY(parts_of(s, axis, out, &facts, err));
  const double runs = (double)((span + out - 1) / out);
  return keep_side(s, axis, (side){.out = out, .in = facts.in[axis], .runs = runs}, err);
}

static pz_status find_sides(search *s, int axis, pz_error *err) {
  const int64_t stride = s->q->l->stride[axis], volume = s->q->volume[axis];
  pz_exact_tile facts;
  PZ_TRY(parts_of(s, axis, stride, &facts, err));
  const int64_t span = volume - facts.result[axis];
  const int64_t most = pz_in_strides(span, stride), few = axis ? stride : pz_in_strides(LEAST_PLANES, stride),
                least = few < most ? few : most;
  if (axis) PZ_TRY(add_whole(s, axis, err));
  for (int64_t k = axis ? 2 : 1, last = 0; s->n[axis] < MOST_SIDES && last != least; k++) {
    int64_t out = pz_in_strides((span + k - 1) / k, stride);
    if (out < least) out = least;
    if (out == last || out > MOST_SIDE || (axis && out >= volume && out > least)) continue;
    last = out;
    PZ_TRY(add_cut(s, axis, out, span, err));
  }
  return PZ_OK;
}

static pz_status find_all_sides(search *s, pz_error *err) {
  PZ_TRY(find_heavy(s, err));
  for (int i = 0; i < PZ_SPATIAL; i++) {
    if (i >= s->q->first) {
      PZ_TRY(find_sides(s, i, err));
      continue;
    }
    for (pz_node_id n = 0; n < s->q->g->n_nodes; n++) s->part[i][n] = 1;
    PZ_TRY(keep_side(s, i, (side){.out = 1, .in = 1, .runs = 1}, err));
  }
  return PZ_OK;
}

/* ---- the cheapest: what they cost ---- */

static const side *side_of(const search *s, const choice *c, int i) { return &s->side[i][c->at[i]]; }

/* z and y are those of `c`: all along x. */
static void price_row(const search *s, const double *cost, choice c, choice *to) {
  double voxels = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) voxels *= (double)s->q->volume[i];
  for (int x = 0; x < s->n[2]; x++) {
    const side *one = &s->side[2][x];
    double sum = 0;
    for (int32_t k = 0; k < s->n_heavy; k++) sum += cost[k] * one->parts[k];
    c.at[2] = (int16_t)x;
    const double runs = side_of(s, &c, 0)->runs * side_of(s, &c, 1)->runs * one->runs;
    c.times = (float)(sum * runs / (voxels * s->q->l->multiply_adds)), c.runs = (float)runs;
    to[x] = c;
  }
}

static int cheaper(const void *a, const void *b) {
  const choice *x = a, *y = b;
  if (x->times < y->times || x->times > y->times) return x->times < y->times ? -1 : 1;
  return x->runs < y->runs ? -1 : x->runs > y->runs;
}

static pz_status price_all(search *s, choice **all, size_t *n, pz_error *err) {
  double *cost = PZ_NEW(s->arena, double, (size_t)s->n_heavy + 1);
  *n = (size_t)s->n[0] * (size_t)s->n[1] * (size_t)s->n[2];
  *all = PZ_NEW(s->arena, choice, *n + 1);
  if (!*all || !cost) return pz_fail_memory(err, "tiles", *n * sizeof **all);
  choice *to = *all;
  for (int16_t z = 0; z < s->n[0]; z++)
    for (int16_t y = 0; y < s->n[1]; y++, to += s->n[2]) {
      for (int32_t k = 0; k < s->n_heavy; k++)
        cost[k] = s->cost[k] * s->side[0][z].parts[k] * s->side[1][y].parts[k];
      price_row(s, cost, (choice){.at = {z, y}}, to);
    }
  qsort(*all, *n, sizeof **all, cheaper);
  return PZ_OK;
}

/* ---- the cheapest: what fits ---- */

/* Memory grows with each side, and no faster than it: what the tile takes at least, to judge by one that was measured. */
static double at_least(const measured *m, const int64_t in[PZ_SPATIAL]) {
  double part = 1;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (in[i] < m->in[i]) part *= (double)in[i] / (double)m->in[i];
  return (m->bytes - OF_INFER) * part + OF_INFER;
}

/* Sums of what algorithms take are not as even as that: a tile is left out where by a measured one it takes a quarter more than there is, once many were
 * measured where it takes more. */
static bool is_hopeless(const search *s, const choice *c) {
  const double memory = (double)s->q->options->memory;
  int64_t in[PZ_SPATIAL], out[PZ_SPATIAL];
  for (int i = 0; i < PZ_SPATIAL; i++) in[i] = side_of(s, c, i)->in, out[i] = side_of(s, c, i)->out;
  if (bytes_of_patches(s->q->g, in, out) > memory) return true;
  const double allowed = s->n_measured < MOST_MEASURED / 2 ? 1.25 * memory : memory;
  for (int k = 0; k < s->n_measured; k++)
    if (at_least(&s->measured[k], in) > allowed) return true;
  return false;
}

/* The model with the input that the choice wants; the search's. */
static pz_status model_for(search *s, const pz_exact_choice *choice, const pz_graph **g, pz_error *err) {
  *g = s->q->g;
  if (!choice->other) return PZ_OK;
  const int which = (choice->tile.way[1] == PZ_TILE_WHOLE) + 2 * (choice->tile.way[2] == PZ_TILE_WHOLE);
  if (!s->whole[which])
    PZ_TRY(s->q->importer->import(s->q->importer->host, &choice->input, &s->whole[which], err));
  *g = s->whole[which];
  return PZ_OK;
}

/* *bytes: more than there is of tiles that are refused, as sizes that none can be made of. */
static pz_status measure_choice(search *s, const choice *c, double *bytes, pz_error *err) {
  const pz_exact_question *q = s->q;
  pz_exact_choice it = {.input = q->g->tensors[q->g->inputs[0]].shape};
  const pz_graph *g;
  measured m = {.bytes = 0};
  for (int i = 0; i < PZ_SPATIAL; i++) {
    if (i >= q->first) it.tile.way[i] = i ? PZ_TILE_TILE : PZ_TILE_STREAM;
    it.tile.out[i] = side_of(s, c, i)->out, m.in[i] = side_of(s, c, i)->in;
  }
  pz_exact_choose_whole(q, &it);
  pz_status status = model_for(s, &it, &g, err);
  if (status == PZ_OK) status = pz_exact_bytes(q->options, g, &it.tile, &m.bytes, err);
  if (status != PZ_OK && status != PZ_ERROR_INPUT) return status;
  *bytes = status == PZ_OK ? m.bytes : INFINITY;
  if (status == PZ_OK && s->n_measured < MOST_MEASURED) s->measured[s->n_measured++] = m;
  return PZ_OK;
}

static pz_status first_that_fits(search *s, const choice *all, size_t n, const choice **best, pz_error *err) {
  const double memory = (double)s->q->options->memory;
  const choice least = {.at = {(int16_t)(s->n[0] - 1), (int16_t)(s->n[1] - 1), (int16_t)(s->n[2] - 1)}};
  double bytes;
  *best = NULL;
  PZ_TRY(measure_choice(s, &least, &bytes, err));
  if (bytes > memory) return too_little(s->q->options, bytes, err);
  for (size_t i = 0; i < n; i++) {
    if (is_hopeless(s, &all[i])) continue;
    PZ_TRY(measure_choice(s, &all[i], &bytes, err));
    *best = &all[i];
    if (bytes <= memory) return PZ_OK;
  }
  return pz_fail(err, PZ_ERROR_INPUT, "--patch auto: no tiles can be made of volumes of such a size");
}

static pz_status find_cheapest(search *s, pz_exact_choice *to, pz_error *err) {
  choice *all;
  const choice *best;
  size_t n;
  PZ_TRY(find_all_sides(s, err));
  PZ_TRY(price_all(s, &all, &n, err));
  if (!n) return pz_fail(err, PZ_ERROR_INPUT, "--patch auto: no tiles can be made of volumes of such a size");
  PZ_TRY(first_that_fits(s, all, n, &best, err));
  for (int i = s->q->first; i < PZ_SPATIAL; i++) to->tile.out[i] = side_of(s, best, i)->out;
  return PZ_OK;
}

pz_status pz_exact_cheapest(const pz_exact_question *q, pz_exact_choice *to, pz_error *err) {
  PZ_TRY(check_memory(q->options, err));
  search *s = calloc(1, sizeof *s);
  if (!s) return pz_fail_memory(err, "tiles", sizeof *s);
  *s = (search){.q = q, .arena = pz_arena_new()};
  const pz_status status = s->arena ? find_cheapest(s, to, err) : pz_fail_memory(err, "tiles", 64);
  for (int i = 0; i < 4; i++) pz_graph_free(s->whole[i]);
  pz_arena_free(s->arena);
  free(s);
  return status;
}
