#include "volume/locality.h"

#include "base/json.h"
#include "pznet/pznet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_triple(const json_t *o, const char *name, int64_t least, int64_t to[3]) {
  const json_t *all = json_object_get(o, name);
  for (int i = 0; i < 3; i++) {
    const json_t *one = json_array_get(all, (size_t)i);
    to[i] = json_integer_value(one);
    if (!json_is_integer(one) || to[i] < least || to[i] > INT32_MAX) return false;
  }
  return true;
}

static bool read_number(const json_t *o, const char *name, double *to) {
  const json_t *one = json_object_get(o, name);
  *to = json_number_value(one);
  return json_is_number(one) && isfinite(*to) && *to >= 0;
}

static void read_larger(const json_t *all, pz_network_locality *l) {
  for (size_t i = 0; i < json_array_size(all) && l->n_larger < PZ_LARGER_PATCHES; i++) {
    const json_t *row = json_array_get(all, i);
    pz_larger_patch *p = &l->larger[l->n_larger];
    l->n_larger += read_triple(row, "in", 1, p->in) && read_triple(row, "out", 1, p->out) &&
                   read_number(row, "multiply_adds", &p->multiply_adds);
  }
}

static bool read_known(const json_t *o, pz_network_locality *l) {
  const json_t *any = json_object_get(o, "any_size");
  for (int i = 0; i < 3; i++) l->any_size[i] = json_is_true(json_array_get(any, (size_t)i));
  read_larger(json_object_get(o, "larger"), l);
  return read_triple(o, "stride", 1, l->stride) && read_triple(o, "reach_before", 0, l->before) &&
         read_triple(o, "reach_behind", 0, l->behind) && read_triple(o, "coarser", 1, l->coarser) &&
         read_triple(o, "finer", 1, l->finer) && read_number(o, "multiply_adds", &l->ideal);
}

static void read_text(const json_t *o, const char *name, char *to, size_t size) {
  const char *text = json_string_value(json_object_get(o, name));
  if (text) pz_printable(text, to, (int32_t)size);
}

void pz_network_locality_read(const char *manifest, pz_network_locality *l) {
  pz_json j = {0};
  json_t *m = pz_json_read(&j, manifest, strlen(manifest), 0, NULL);
  const json_t *o = json_object_get(m, "locality");
  *l = (pz_network_locality){0};
  if (o && json_object_get(o, "stride")) {
    l->known = read_known(o, l) && read_number(m, "multiply_adds", &l->run);
    if (!l->known) *l = (pz_network_locality){0};
  }
  read_text(o, "global_layer", l->layer, sizeof l->layer);
  read_text(o, "global_why", l->why, sizeof l->why);
  json_decref(m);
}

static bool read_ways(const json_t *o, pz_network_tiles *t) {
  const json_t *all = json_object_get(o, "way");
  for (int i = 0; i < 3; i++) {
    const char *way = json_string_value(json_array_get(all, (size_t)i));
    t->stream[i] = way && !strcmp(way, "stream"), t->whole[i] = way && !strcmp(way, "whole");
    if (!way || (!t->stream[i] && !t->whole[i] && strcmp(way, "tile") != 0) || (t->stream[i] && i))
      return false;
  }
  return true;
}

pz_status pz_network_tiles_read(const char *path, const char *manifest, pz_network_tiles *t, pz_error *err) {
  pz_json j = {0};
  json_t *m = pz_json_read(&j, manifest, strlen(manifest), 0, NULL);
  const json_t *o = json_object_get(m, "exact");
  *t = (pz_network_tiles){.exact = o != NULL};
  const bool good =
      !o || (read_ways(o, t) && read_triple(o, "in", 1, t->in) && read_triple(o, "out", 1, t->out) &&
             read_triple(o, "first", -INT32_MAX, t->first) &&
             read_triple(o, "result", -INT32_MAX, t->result) && read_triple(o, "before", 0, t->before));
  if (!read_triple(o, "volume", 1, t->volume)) memset(t->volume, 0, sizeof t->volume);
  json_decref(m);
  if (good) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: manifest: exact: is not as pznet writes it; compile the network again", path);
}

int64_t pz_network_size(const pz_network_tiles *t, const pz_network_locality *l, int axis, int64_t voxels) {
  const int64_t stride = l->any_size[axis] ? 1 : l->stride[axis];
  return (voxels + 2 * t->before[axis] + stride - 1) / stride * stride;
}

double pz_arithmetic(const pz_network_locality *l, double runs, double voxels) {
  return l->ideal > 0 && voxels > 0 ? runs * l->run / (l->ideal * voxels) : 0;
}

const pz_larger_patch *pz_larger_patch_find(const pz_network_locality *l, const int64_t size[3],
                                            const int64_t out[3], const pz_grid_rule *rule, double times,
                                            double *costs) {
  const double voxels = (double)size[0] * (double)size[1] * (double)size[2];
  for (int k = 0; k < l->n_larger && l->ideal > 0; k++) {
    const pz_larger_patch *p = &l->larger[k];
    pz_grid_rule larger = *rule;
    pz_grid grid;
    for (int i = 0; i < 3; i++) larger.step[i] += (double)(p->out[i] - out[i]);
    if (pz_grid_make(size, p->in, p->out, &larger, &grid, &(pz_error){0}) != PZ_OK) continue;
    *costs = (double)pz_grid_patches(&grid) * p->multiply_adds / (l->ideal * voxels);
    if (*costs <= 0.75 * times) return p;
  }
  return NULL;
}
