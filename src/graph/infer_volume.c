/* infer_volume.c: operators of networks that are applied to volumes in exact tiles (optimise/exact_tile.h). */
#include "graph/internal.h"
#include "graph/positions.h"

enum { MOST = 1 << 20 };
static bool is_small(int64_t x, int64_t least) { return x >= least && x <= MOST; }

static bool take(const pz_index_list *list, int32_t *at, int64_t least, int64_t *to) {
  if (*at >= list->n) return false;
  *to = list->entries[(*at)++];
  return is_small(*to, least);
}

static bool take_axis(const pz_index_list *list, int32_t *at, pz_border_axis *a) {
  int64_t bounded, rules;
  *a = (pz_border_axis){0};
  if (!take(list, at, 0, &bounded) || bounded > 1) return false;
  a->bounded = bounded;
  if (!bounded) return true;
  if (!take(list, at, 1, &a->num) || !take(list, at, 1, &a->den) || !take(list, at, -MOST, &a->first) ||
      !take(list, at, 0, &rules) || rules > PZ_BORDER_RULES)
    return false;
  a->rules = (int32_t)rules;
  for (int32_t i = 0; i < a->rules; i++)
    if (!take(list, at, 1, &a->rule[i].mul) || !take(list, at, -MOST, &a->rule[i].add) ||
        !take(list, at, 1, &a->rule[i].div))
      return false;
  return true;
}

bool pz_border_axes(const pz_index_list *axes, pz_border_axis out[PZ_SPATIAL]) {
  int32_t at = 0;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (!take_axis(axes, &at, &out[i])) return false;
  return at == axes->n;
}

static int64_t within(int64_t i, int64_t size) { return i < 0 ? 0 : i < size ? i : size; }

void pz_border_inside(const pz_border_axis *a, int64_t place, int64_t volume, int64_t size, int64_t *begin,
                      int64_t *end) {
  *begin = 0, *end = size;
  if (!a->bounded) return;
  const int64_t first = pz_floor_of(place * a->den, a->num) + a->first;
  for (int32_t i = 0; i < a->rules; i++)
    volume = pz_floor_of(volume * a->rule[i].mul + a->rule[i].add, a->rule[i].div);
  *begin = within(-first, size), *end = within(volume - first, size);
}

pz_status pz_infer_VOLUME_BORDER(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape, *place = &pz_in(g, node, 1)->shape;
  pz_border_axis axes[PZ_SPATIAL];
  *out = *x;
  if (x->rank < 3 || x->rank > 5)
    return pz_fail_node(err, node, "its input %s has no spatial dimensions, or more than three", PZ_SHAPE(x));
  if (place->rank != 1 || place->dim[0] != 6)
    return pz_fail_node(err, node, "its place is %s; expected 6 numbers", PZ_SHAPE(place));
  if (!pz_border_axes(&node->attr.volume_border.axes, axes))
    return pz_fail_node(err, node, "its axes are not three of 0, or of 1, num, den, first, rules and these");
  return PZ_OK;
}

pz_status pz_infer_HISTORY(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  const int32_t planes = node->attr.history.planes;
  *out = *x;
  if (x->rank != 5) return pz_fail_node(err, node, "its input %s has no planes", PZ_SHAPE(x));
  if (planes < 1 || planes > 65536)
    return pz_fail_node(err, node, "planes %d; expected 1 to 65536", (int)planes);
  out->dim[2] += planes;
  return PZ_OK;
}
