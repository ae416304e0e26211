/* restore_shuffle.c: pixel shuffle as exporters write it, a reshape that splits dimensions, a permutation, a reshape that
 * joins them, is depth_to_space or its inverse.
 *
 * What the three do is a permutation of digits: the sizes of the split dimensions and their order. In its normal form
 * sizes of 1 are left out, and dimensions that stay neighbours are one. depth_to_space has such a form too; the layers
 * are the same where the forms are. */
#include "optimise/match.h"

/* Output dimension i is input dimension order[i]; n of them. */
typedef struct digits {
  int32_t n, order[PZ_MAX_RANK];
  int64_t size[PZ_MAX_RANK]; /* of the input's dimensions */
} digits;

static void remove_dimension(digits *d, int32_t which) {
  int32_t to = 0;
  for (int32_t i = 0; i < d->n; i++)
    if (d->order[i] != which) d->order[to++] = d->order[i] - (d->order[i] > which);
  for (int32_t i = which; i + 1 < d->n; i++) d->size[i] = d->size[i + 1];
  d->n--;
}

static void normalise(digits *d) {
  for (int32_t i = d->n - 1; i >= 0; i--)
    if (d->size[i] == 1) remove_dimension(d, i);
  for (int32_t i = 0; i + 1 < d->n;) {
    int32_t a = d->order[i], b = d->order[i + 1];
    if (b != a + 1) {
      i++;
      continue;
    }
    d->size[a] *= d->size[b];
    remove_dimension(d, b);
  }
}

static bool same(const digits *a, const digits *b) {
  bool equal = a->n == b->n;
  for (int32_t i = 0; equal && i < a->n; i++) equal = a->order[i] == b->order[i] && a->size[i] == b->size[i];
  return equal;
}

/* Of [n, c, (b0, b1, b2), d, h, w] with the block in front of the channels where not columns_first, out: n, c, d, b0, h,
 * b1, w, b2. `deep` is the shape of more channels. */
static digits digits_of(const pz_attr_depth_to_space *a, const pz_shape5 *deep) {
  int64_t block = (int64_t)a->block[0] * a->block[1] * a->block[2];
  int32_t channels = a->columns_first ? 1 : 4, b = a->columns_first ? 2 : 1;
  digits d = {8, {0, channels, 5, b, 6, b + 1, 7, b + 2}, {deep->n}};
  d.size[channels] = deep->c / block;
  for (int32_t i = 0; i < PZ_SPATIAL; i++) d.size[b + i] = a->block[i], d.size[5 + i] = deep->s[i];
  if (!a->inverse) return d;
  digits inverse = {.n = 8};
  for (int32_t i = 0; i < 8; i++) inverse.order[d.order[i]] = i, inverse.size[i] = d.size[d.order[i]];
  return inverse;
}

/* The block that makes `deep` to `wide`; false for none. */
static bool find_block(const pz_shape5 *deep, const pz_shape5 *wide, int32_t block[PZ_SPATIAL]) {
  int64_t points = 1;
  for (int32_t i = 0; i < PZ_SPATIAL; i++) {
    if (wide->s[i] % deep->s[i]) return false;
    block[i] = (int32_t)(wide->s[i] / deep->s[i]);
    points *= block[i];
    if (points > deep->c) return false;
  }
  return points > 1 && deep->n == wide->n && deep->c == wide->c * points;
}

static bool find(const pz_shape *x, const pz_shape *y, digits *is, pz_attr_depth_to_space *a) {
  pz_shape5 in = pz_shape_as5(x), out = pz_shape_as5(y);
  if (x->rank != y->rank || x->rank < 3 || x->rank > 5) return false;
  normalise(is);
  for (int32_t kind = 0; kind < 4; kind++) {
    *a = (pz_attr_depth_to_space){.columns_first = kind & 1, .inverse = kind & 2};
    const pz_shape5 *deep = a->inverse ? &out : &in;
    if (!find_block(deep, a->inverse ? &in : &out, a->block)) continue;
    digits d = digits_of(a, deep);
    normalise(&d);
    if (same(&d, is)) return true;
  }
  return false;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_graph *g = rw->g;
  const pz_node *join = &g->nodes[id];
  if (join->op != PZ_OP_RESHAPE) return PZ_OK;
  const pz_node *permute = pz_match_producer(rw, join->in[0], PZ_OP_PERMUTE);
  const pz_node *split = permute ? pz_match_producer(rw, permute->in[0], PZ_OP_RESHAPE) : NULL;
  if (!split) return PZ_OK;
  const pz_shape *between = &g->tensors[permute->in[0]].shape;
  digits is = {.n = between->rank};
  for (int32_t i = 0; i < between->rank; i++)
    is.order[i] = permute->attr.permute.order[i], is.size[i] = between->dim[i];
  pz_node now = pz_node_new(PZ_OP_DEPTH_TO_SPACE);
  pz_tensor_id x = split->in[0];
  if (!find(&g->tensors[x].shape, &g->tensors[join->out[0]].shape, &is, &now.attr.depth_to_space))
    return PZ_OK;
  now.n_in = 1;
  now.in = &x;
  return pz_rewrite_become(rw, id, &now);
}

pz_status pz_pass_restore_shuffle(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
