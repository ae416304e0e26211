/* exact.c: the tiles of a network that is compiled for exact tiles: as they are asked for, or by memory (exact_auto.h). */
#include "api/exact.h"

#include "api/exact_auto.h"
#include "emit/locality.h"

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

/* Of a volume whose size is known: how many times the ideal arithmetic all runs over it are, and how many runs. */
static void tell_volume(pz_json *j, const pz_graph *made, double ideal, const pz_exact_tile *t,
                        const int64_t volume[PZ_SPATIAL], json_t *o) {
  double multiply_adds = 0, runs = 1, voxels = 1;
  for (pz_node_id n = 0; n < made->n_nodes; n++)
    multiply_adds += pz_node_multiply_adds(made, &made->nodes[n]);
  for (int i = 0; i < PZ_SPATIAL; i++) {
    voxels *= (double)volume[i];
    if (t->way[i] != PZ_TILE_WHOLE) runs *= (double)((volume[i] - t->result[i] + t->out[i] - 1) / t->out[i]);
  }
  pz_json_set(j, o, "volume", pz_json_triple(j, volume));
  pz_json_set(j, o, "volume_runs", json_integer((json_int_t)runs));
  if (ideal > 0) pz_json_set(j, o, "volume_times", pz_json_real(runs * multiply_adds / (ideal * voxels)));
}

static json_t *tell_exact(pz_json *j, const pz_exact_tile *t) {
  static const char *const ways[] = {"whole", "tile", "stream"};
  json_t *way = json_array();
  for (int i = 0; i < PZ_SPATIAL; i++) pz_json_append(j, way, json_string(ways[t->way[i]]));
  return pz_json_pack(j, "{s:o, s:o, s:o, s:o, s:o, s:o}", "way", way, "in", pz_json_triple(j, t->in), "out",
                      pz_json_triple(j, t->out), "first", pz_json_triple(j, t->first), "result",
                      pz_json_triple(j, t->result), "before", pz_json_triple(j, t->before));
}

static int32_t first_axis(const pz_graph *g) {
  const int32_t first = PZ_SPATIAL + 2 - g->tensors[g->inputs[0]].shape.rank;
  return first < 0 ? 0 : first;
}

/* ---- tiles ---- */

/* Results of a run: as asked, or the model's own in whole strides. */
static pz_status choose_tile(const pz_exact_question *q, pz_exact_choice *choice, pz_error *err) {
  const char *patch = q->options->patch;
  const pz_graph *g = q->g;
  int64_t *out = choice->tile.out;
  for (int i = q->first; i < PZ_SPATIAL; i++) choice->tile.way[i] = i ? PZ_TILE_TILE : PZ_TILE_STREAM;
  if (patch && !strcmp(patch, "auto"))
    return (q->volume ? pz_exact_cheapest : pz_exact_longest)(q, choice, err);
  if (patch) return parse_sizes("patch", patch, q->first, out, err);
  for (int i = q->first; i < PZ_SPATIAL; i++) {
    if (g->n_outputs != 1 || g->tensors[g->outputs[0]].shape.rank < 3) continue;
    out[i] = pz_shape_as5(&g->tensors[g->outputs[0]].shape).s[i] / q->l->stride[i] * q->l->stride[i];
    if (!out[i]) out[i] = q->l->stride[i];
  }
  return PZ_OK;
}

pz_status pz_exact_apply(pz_model *m, const pz_exact_choice *choice, pz_error *err) {
  pz_exact_tile facts;
  pz_locality l;
  pz_graph *made;
  json_t *locality;
  PZ_TRY(pz_graph_locality(m->before, &l, err));
  PZ_TRY(pz_exact_tile_make(m->before, &choice->tile, &made, &facts, err));
  pz_status status = pz_locality_json(&m->json, m->before, &locality, err);
  pz_graph_free(m->before);
  m->before = made;
  if (status == PZ_OK) status = print_json(m, locality, &m->locality, err);
  if (status != PZ_OK) return status;
  json_t *exact = tell_exact(&m->json, &facts);
  if (choice->sized) tell_volume(&m->json, made, l.multiply_adds, &facts, choice->volume, exact);
  return print_json(m, exact, &m->exact, err);
}

pz_status pz_exact_choose(const pz_compile_options *o, const pz_graph *g, const pz_exact_importer *importer,
                          pz_exact_choice *choice, pz_error *err) {
  pz_locality l;
  pz_exact_question q = {.options = o, .g = g, .l = &l, .first = first_axis(g), .importer = importer};
  *choice = (pz_exact_choice){
      .input = g->tensors[g->inputs[0]].shape, .sized = o->volume != NULL, .volume = {1, 1, 1}};
  PZ_TRY(pz_graph_locality(g, &l, err));
  if (o->volume) {
    PZ_TRY(parse_sizes("volume", o->volume, q.first, choice->volume, err));
    q.volume = choice->volume;
  }
  PZ_TRY(choose_tile(&q, choice, err));
  if (q.volume) pz_exact_choose_whole(&q, choice);
  return PZ_OK;
}
