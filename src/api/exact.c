/* exact.c: the tiles of a network that is compiled for exact tiles: as they are asked for, or as large as memory allows. */
#include "api/exact.h"

#include "emit/emit.h"
#include "emit/locality.h"
#include "graph/locality.h"
#include "optimise/optimise.h"
#include "planner/planner.h"

#include <stdlib.h>
#include <string.h>

pz_status pz_exact_check(const pz_compile_options *o, pz_error *err) {
  if (o->tiling && strcmp(o->tiling, "exact"))
    return pz_fail(err, PZ_ERROR_USAGE, "--tiling %s: expected exact", o->tiling);
  if ((o->patch || o->volume) && !o->tiling)
    return pz_fail(
        err, PZ_ERROR_USAGE,
        "--patch and --volume go with --tiling exact; else a model's own patch is set with --input");
  return PZ_OK;
}

/* "Z,Y,X", as many numbers as the network has axes. */
static pz_status parse_sizes(const char *option, const char *text, int32_t first, int64_t out[PZ_SPATIAL],
                             pz_error *err) {
  const char *at = text;
  for (int i = first; i < PZ_SPATIAL; i++) {
    char *end;
    out[i] = strtoll(at, &end, 10);
    if (end == at || out[i] < 1 || out[i] > INT32_MAX || *end != (i + 1 < PZ_SPATIAL ? ',' : 0))
      return pz_fail(err, PZ_ERROR_USAGE, "--%s %s: expected %s", option, text,
                     first == 0 ? "three numbers, as 16,256,256" : "two numbers, as 256,256");
    at = end + 1;
  }
  return PZ_OK;
}

static pz_status print_json(pz_model *m, json_t *o, const char **text, pz_error *err) {
  char *all = pz_json_print(&m->json, o, 0);
  json_decref(o);
  *text = all ? pz_arena_strdup(m->arena, all) : NULL;
  free(all);
  return *text ? PZ_OK : pz_fail_memory(err, "what a network depends on", 4096);
}

static pz_status tell_exact(pz_model *m, const pz_exact_tile *t, pz_error *err) {
  static const char *const ways[] = {"whole", "tile", "stream"};
  pz_json *j = &m->json;
  json_t *way = json_array();
  for (int i = 0; i < PZ_SPATIAL; i++) pz_json_append(j, way, json_string(ways[t->way[i]]));
  json_t *o = pz_json_pack(j, "{s:o, s:o, s:o, s:o, s:o, s:o}", "way", way, "in", pz_json_triple(j, t->in),
                           "out", pz_json_triple(j, t->out), "first", pz_json_triple(j, t->first), "result",
                           pz_json_triple(j, t->result), "before", pz_json_triple(j, t->before));
  return print_json(m, o, &m->exact, err);
}

static int32_t first_axis(const pz_graph *g) {
  const int32_t first = PZ_SPATIAL + 2 - g->tensors[g->inputs[0]].shape.rank;
  return first < 0 ? 0 : first;
}

/* ---- as large as memory allows ---- */

#define OF_INFER (INT64_C(64) << 20) /* bytes that pz_infer takes beside patches and the network */
enum { PLANES = 16, LEAST_PLANES = 4, MOST_SIDE = 4096 };

static double product(const int64_t n[PZ_SPATIAL]) { return (double)n[0] * (double)n[1] * (double)n[2]; }

/* What pz_infer takes with such tiles: the network's weights, memory and state, patches on their way in and out. */
static double bytes_of(const pz_graph *tile, const pz_plan *plan, const pz_exact_tile *t) {
  const double in = product(t->in) * (double)pz_shape_as5(&tile->tensors[tile->inputs[0]].shape).c,
               out = product(t->out) * (double)pz_shape_as5(&tile->tensors[tile->outputs[0]].shape).c;
  return (double)pz_emit_arena_bytes(plan) + (double)plan->weight_bytes + (double)plan->state_bytes +
         (double)plan->worker_bytes * plan->target.workers + 4 * (3 * in + 4 * out) + OF_INFER;
}

static pz_status measure_tile(const pz_compile_options *o, const pz_graph *g, const pz_exact_options *tile,
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

static int64_t in_strides(int64_t voxels, int64_t stride) { return (voxels + stride - 1) / stride * stride; }

/* Tiles of `side` voxels along y and x, no longer than the volume. */
static void set_sides(int64_t side, const int64_t *volume, const pz_locality *l, int32_t first,
                      pz_exact_options *tile) {
  for (int i = first > 1 ? first : 1; i < PZ_SPATIAL; i++) {
    const int64_t most = volume ? in_strides(volume[i], l->stride[i]) : side;
    tile->out[i] = in_strides(side, l->stride[i]);
    if (tile->out[i] > most) tile->out[i] = most;
  }
}

/* The longest sides whose run fits into o->memory: the fewer voxels are computed twice. volume: NULL where it is not known. */
static pz_status largest_tile(const pz_compile_options *o, const pz_graph *g, const pz_locality *l,
                              const int64_t *volume, int32_t first, pz_exact_options *tile, pz_error *err) {
  int64_t low = 0, unit = 8, longest = MOST_SIDE;
  double bytes = 0, least = 0;
  if (!o->memory)
    return pz_fail(err, PZ_ERROR_USAGE, "--patch auto wants --memory, into which the tiles are to fit");
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (l->stride[i] > unit) unit = l->stride[i];
  if (volume) longest = volume[1] > volume[2] ? volume[1] : volume[2];
  int64_t high = in_strides(longest, unit);
  tile->out[0] =
      in_strides(PLANES > LEAST_PLANES * l->stride[0] ? PLANES : LEAST_PLANES * l->stride[0], l->stride[0]);
  while (low < high) { /* the longest that fits is in low .. high; low 0: none is known to */
    const int64_t side = low      ? (low + high + unit) / 2 / unit * unit
                         : !least ? (high < 256 ? high : 256)
                                  : in_strides(high / 2, unit);
    set_sides(side, volume, l, first, tile);
    PZ_TRY(measure_tile(o, g, tile, &bytes, err));
    if (!least || bytes < least) least = bytes;
    if (bytes <= (double)o->memory) low = side;
    else if (side > unit) high = side - unit;
    else break;
    if (low && high - low < (low / 16 > unit ? low / 16 : unit)) break;
  }
  if (!low)
    return pz_fail(err, PZ_ERROR_MEMORY,
                   "--patch auto: the smallest tiles take %.0f MB, the limit is %.0f MB; raise --memory",
                   1e-6 * least, 1e-6 * (double)o->memory);
  set_sides(low, volume, l, first, tile);
  return PZ_OK;
}

/* ---- tiles ---- */

/* Results of a run: as asked, or the model's own in whole strides. */
static pz_status choose_tile(const pz_compile_options *o, const pz_graph *g, const pz_locality *l,
                             const int64_t *volume, int32_t first, pz_exact_options *tile, pz_error *err) {
  const bool automatic = o->patch && !strcmp(o->patch, "auto");
  for (int i = first; i < PZ_SPATIAL; i++) tile->way[i] = i ? PZ_TILE_TILE : PZ_TILE_STREAM;
  if (automatic) return largest_tile(o, g, l, volume, first, tile, err);
  if (o->patch) PZ_TRY(parse_sizes("patch", o->patch, first, tile->out, err));
  for (int i = first; i < PZ_SPATIAL; i++) {
    if (o->patch || g->n_outputs != 1 || g->tensors[g->outputs[0]].shape.rank < 3) continue;
    const int64_t all = pz_shape_as5(&g->tensors[g->outputs[0]].shape).s[i];
    tile->out[i] = all / l->stride[i] * l->stride[i];
    if (!tile->out[i]) tile->out[i] = l->stride[i];
  }
  return PZ_OK;
}

/* Along y and x where a run makes all of the volume: the way, and what the network's input is to be. *other: it is of another size. */
static void choose_whole(const pz_locality *l, const int64_t *volume, int32_t first, pz_exact_options *tile,
                         pz_shape *shape, bool *other) {
  for (int i = 1; i < PZ_SPATIAL; i++) {
    const int32_t dim = shape->rank - PZ_SPATIAL + i;
    if (i < first || dim < 2 || tile->out[i] < volume[i]) continue;
    const int64_t stride = l->any_size[i] ? 1 : l->stride[i], all = volume[i] + 2 * l->before[i];
    tile->way[i] = PZ_TILE_WHOLE;
    const int64_t needed =
        (all - shape->dim[dim] % stride + stride - 1) / stride * stride + shape->dim[dim] % stride;
    *other = *other || needed != shape->dim[dim];
    shape->dim[dim] = needed;
  }
}

pz_status pz_exact_apply(pz_model *m, const pz_exact_options *tile, pz_error *err) {
  pz_exact_tile facts;
  pz_graph *made;
  json_t *locality;
  PZ_TRY(pz_exact_tile_make(m->before, tile, &made, &facts, err));
  pz_status status = pz_locality_json(&m->json, m->before, &locality, err);
  pz_graph_free(m->before);
  m->before = made;
  if (status == PZ_OK) status = print_json(m, locality, &m->locality, err);
  return status == PZ_OK ? tell_exact(m, &facts, err) : status;
}

pz_status pz_exact_choose(const pz_compile_options *o, const pz_graph *g, pz_exact_options *tile,
                          pz_shape *input, bool *other, pz_error *err) {
  const int32_t first = first_axis(g);
  int64_t volume[PZ_SPATIAL] = {0};
  pz_locality l;
  *input = g->tensors[g->inputs[0]].shape, *other = false;
  PZ_TRY(pz_graph_locality(g, &l, err));
  if (o->volume) PZ_TRY(parse_sizes("volume", o->volume, first, volume, err));
  PZ_TRY(choose_tile(o, g, &l, o->volume ? volume : NULL, first, tile, err));
  if (o->volume) choose_whole(&l, volume, first, tile, input, other);
  return PZ_OK;
}
