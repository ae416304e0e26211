/* split_concat.c: a convolution of concatenated channels is the sum of a convolution of each part,
 *
 *   conv(concat(a, b), W) = conv(b, W_b) + conv(a, W_a)
 *
 * of which the first can run before b is made, and its result becomes the Base of the second (PZnet 3.1), which overwrites it. In a U-Net's decoder
 * the skip connection, what was upsampled and the result need not be there at a time: two of the three are.
 *
 * Done where the result is normalised, for its moments are of all of it, and it is made whole; others run band by band (place/find_bands.c), or
 * lie over what they are made from (place/inplace_conv.c). And where less lives at a time from the first layer that makes b to the
 * convolution, by an estimate: whole tensors, from the layer that makes them to the last one that reads them; concatenations and functions of
 * single values share what they are made from. */
#include "optimise/rewrite.h"
#include <stdlib.h>
#include <string.h>

#define WORTH 0.05 /* of all weights and what lives at a time at most */

/* Part `last` of what `concat` joins is made last; the convolution of the others goes in front of node `before`, the first that makes
 * what becomes that part. */
typedef struct split {
  pz_node_id conv, concat, before;
  int32_t last;
} split;

/* By tensor. Node n runs at 2n + 1, what is put in front of it at 2n. */
typedef struct lives {
  const pz_rewriter *rw;
  pz_tensor_id *inside; /* the tensor whose storage it lies in, itself or another */
  double *bytes;
  int32_t *first, *end;
  double *change; /* by time */
} lives;

static void lives_free(lives *l) {
  free(l->inside), free(l->bytes), free(l->first), free(l->end), free(l->change);
}

static pz_status lives_new(lives *l, const pz_rewriter *rw) {
  const pz_graph *g = rw->g;
  const size_t n = (size_t)g->n_tensors + 1, times = 2 * (size_t)g->n_nodes + 2;
  *l = (lives){.rw = rw,
               .inside = malloc(n * sizeof *l->inside),
               .bytes = malloc(n * sizeof *l->bytes),
               .first = malloc(n * sizeof *l->first),
               .end = malloc(n * sizeof *l->end),
               .change = malloc(times * sizeof *l->change)};
  if (l->inside && l->bytes && l->first && l->end && l->change) return PZ_OK;
  lives_free(l);
  *l = (lives){0};
  return pz_fail_memory(rw->err, "a pass's tables", n * sizeof *l->bytes);
}

/* Of the arena: what the caller has, and constants, are not. */
static double bytes_of(const pz_rewriter *rw, pz_tensor_id t) {
  const pz_tensor *tensor = &rw->g->tensors[t];
  if (tensor->data || rw->producer[t] == PZ_NONE || pz_graph_is_output(rw->g, t)) return 0;
  return (double)(pz_shape_elements(&tensor->shape) * pz_dtype_bytes(tensor->type));
}

static pz_tensor_id storage_of(const lives *l, pz_tensor_id t) {
  while (l->inside[t] != t) t = l->inside[t] = l->inside[l->inside[t]];
  return t;
}

/* The input that the node's result overwrites, or lies in; PZ_NONE. */
static pz_tensor_id overwritten(const pz_rewriter *rw, const pz_node *node) {
  const pz_op_family family = pz_op_get(node->op)->family;
  const bool conv = family == PZ_FAMILY_CONV || family == PZ_FAMILY_DECONV;
  const pz_tensor_id x = pz_node_input(node, conv ? PZ_CONV_RESIDUAL : 0);
  if (x == PZ_NONE || rw->g->tensors[x].data) return PZ_NONE;
  if (pz_rewrite_is_view(node->op)) return x;
  if (!conv && family != PZ_FAMILY_NORM && family != PZ_FAMILY_FUNCTION && node->op != PZ_OP_ELTWISE)
    return PZ_NONE;
  return rw->uses[x] == 1 && pz_shape_equal(&rw->g->tensors[x].shape, &rw->g->tensors[node->out[0]].shape)
             ? x
             : PZ_NONE;
}

static void join(lives *l, pz_tensor_id part, pz_tensor_id whole) {
  const pz_tensor_id a = storage_of(l, part), b = storage_of(l, whole);
  if (a == b) return;
  l->inside[a] = b;
  if (l->bytes[a] > l->bytes[b]) l->bytes[b] = l->bytes[a];
}

static void join_all(lives *l, const split *s) {
  const pz_graph *g = l->rw->g;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++)
    l->inside[t] = t, l->bytes[t] = bytes_of(l->rw, t), l->first[t] = INT32_MAX, l->end[t] = -1;
  if (s) l->bytes[g->nodes[s->concat].out[0]] = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    const bool joins = node->op == PZ_OP_CONCAT && node->attr.concat.axis == 1 && !(s && n == s->concat);
    const pz_tensor_id x = joins ? PZ_NONE : overwritten(l->rw, node);
    if (x != PZ_NONE) join(l, node->out[0], x);
    for (int32_t k = 0; joins && k < node->n_in; k++)
      if (l->bytes[storage_of(l, node->in[k])] <= l->bytes[node->out[0]]) join(l, node->in[k], node->out[0]);
  }
}

static void live(lives *l, pz_tensor_id t, int32_t from, int32_t to) {
  const pz_tensor_id in = storage_of(l, t);
  if (from < l->first[in]) l->first[in] = from;
  if (to > l->end[in]) l->end[in] = to;
}

/* What lives at a time at most, in bytes, from time `from` to `to`; `s`, or NULL, is done. */
static double peak_of(lives *l, const split *s, int32_t from, int32_t to) {
  const pz_graph *g = l->rw->g;
  join_all(l, s);
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    const int32_t now = 2 * n + 1;
    for (int32_t k = 0; k < node->n_in; k++) {
      int32_t read = now;
      if (s && n == s->concat) read = k == s->last ? 2 * s->conv + 1 : 2 * s->before;
      if (node->in[k] != PZ_NONE) live(l, node->in[k], INT32_MAX, read);
    }
    for (int32_t k = 0; k < node->n_out; k++) live(l, node->out[k], now, now);
  }
  if (s) live(l, g->nodes[s->conv].out[0], 2 * s->before, -1);
  for (int32_t i = 0; i < 2 * g->n_nodes + 2; i++) l->change[i] = 0;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++)
    if (storage_of(l, t) == t && l->first[t] <= l->end[t])
      l->change[l->first[t]] += l->bytes[t], l->change[l->end[t] + 1] -= l->bytes[t];
  double sum = 0, most = 0;
  for (int32_t i = 0; i <= to; i++) {
    sum += l->change[i];
    if (i >= from && sum > most) most = sum;
  }
  return most;
}

/* ---- which ---- */

static bool is_normalised(const pz_rewriter *rw, const pz_node *conv) {
  const pz_tensor_id y = conv->out[0];
  if (rw->uses[y] != 1 || rw->consumer[y] == PZ_NONE) return false;
  const pz_node *norm = &rw->g->nodes[rw->consumer[y]];
  return norm->op == PZ_OP_GROUP_NORM && norm->in[PZ_GROUP_NORM_X] == y;
}

/* The concatenation that only this convolution reads; PZ_NONE. */
static pz_node_id concat_of(const pz_rewriter *rw, const pz_node *conv) {
  const pz_graph *g = rw->g;
  if (conv->op != PZ_OP_CONV || conv->attr.conv.group != 1 || conv->attr.conv.act.kind != PZ_ACT_NONE ||
      conv->in[PZ_CONV_RESIDUAL] != PZ_NONE || !g->tensors[conv->in[PZ_CONV_WEIGHT]].data ||
      !is_normalised(rw, conv))
    return PZ_NONE;
  const pz_node_id id = pz_rewrite_sole_producer(rw, conv->in[PZ_CONV_X]);
  const pz_node *concat = id == PZ_NONE ? NULL : &g->nodes[id];
  return concat && concat->op == PZ_OP_CONCAT && concat->attr.concat.axis == 1 && concat->n_in > 1 ? id
                                                                                                   : PZ_NONE;
}

static bool find_split(lives *l, pz_node_id conv, split *s) {
  const pz_rewriter *rw = l->rw;
  *s = (split){.conv = conv, .concat = concat_of(rw, &rw->g->nodes[conv])};
  if (s->concat == PZ_NONE) return false;
  const pz_node *concat = &rw->g->nodes[s->concat];
  pz_node_id others = PZ_NONE;
  for (int32_t k = 1; k < concat->n_in; k++)
    if (rw->producer[concat->in[k]] > rw->producer[concat->in[s->last]]) s->last = k;
  for (int32_t k = 0; k < concat->n_in; k++)
    if (k != s->last && rw->producer[concat->in[k]] > others) others = rw->producer[concat->in[k]];
  join_all(l, s);
  const pz_tensor_id last = storage_of(l, concat->in[s->last]);
  for (s->before = others + 1; s->before < s->concat; s->before++)
    if (storage_of(l, rw->g->nodes[s->before].out[0]) == last) return true;
  return false;
}

/* ---- doing it ---- */

/* Channels first .. first + n - 1 of W's inputs, to `at` of another. */
static void copy_channels(const pz_shape *from, const float *w, int64_t first, int64_t n, const pz_shape *to,
                          float *out, int64_t at) {
  const int64_t rows = from->dim[0], size = pz_shape_elements(from) / (rows * from->dim[1]);
  for (int64_t k = 0; k < rows; k++)
    memcpy(out + (k * to->dim[1] + at) * size, w + (k * from->dim[1] + first) * size,
           (size_t)(n * size) * sizeof *w);
}

/* Weights of the last part alone, or of the others. */
static pz_status part_of_weights(pz_rewriter *rw, const split *s, bool of_last, pz_tensor_id *id) {
  const pz_graph *g = rw->g;
  const pz_node *concat = &g->nodes[s->concat];
  const pz_tensor_id whole = g->nodes[s->conv].in[PZ_CONV_WEIGHT];
  const pz_shape from = g->tensors[whole].shape;
  const int64_t last = g->tensors[concat->in[s->last]].shape.dim[1];
  pz_shape to = from;
  to.dim[1] = of_last ? last : from.dim[1] - last;
  PZ_TRY(pz_rewrite_new_constant(rw, g->tensors[whole].name, of_last ? "last" : "first", &to, id));
  int64_t at = 0;
  for (int32_t k = 0, first = 0; k < concat->n_in; k++) {
    const int64_t n = g->tensors[concat->in[k]].shape.dim[1];
    if ((k == s->last) == of_last)
      copy_channels(&from, g->tensors[whole].data, first, n, &to, pz_graph_constant_data(rw->g, *id), at),
          at += n;
    first += (int32_t)n;
  }
  return PZ_OK;
}

static pz_status add_in_front(pz_rewriter *rw, const pz_node *like, pz_node *node, pz_node_id *before,
                              pz_tensor_id *out) {
  const char *base = like->name;
  node->name = pz_rewrite_name(rw, base, "first"), node->place = like->place;
  const char *name = node->name ? pz_graph_fresh_name(rw->g, node->name) : NULL;
  if (!name) return pz_fail_memory(rw->err, "a layer's name", strlen(base));
  PZ_TRY(pz_graph_add_node(rw->g, node, 1, &name, out, rw->err));
  pz_graph_move_node(rw->g, rw->g->n_nodes - 1, (*before)++);
  return PZ_OK;
}

/* The parts but the last one, joined where they are several. */
static pz_status join_others(pz_rewriter *rw, split *s, pz_tensor_id *out) {
  const pz_node concat = rw->g->nodes[s->concat];
  pz_node fewer = pz_node_new(PZ_OP_CONCAT);
  fewer.in = PZ_NEW(rw->g->arena, pz_tensor_id, (size_t)concat.n_in);
  if (!fewer.in) return pz_fail_memory(rw->err, "a layer's inputs", (size_t)concat.n_in * sizeof *fewer.in);
  for (int32_t k = 0; k < concat.n_in; k++)
    if (k != s->last) fewer.in[fewer.n_in++] = concat.in[k];
  *out = fewer.in[0];
  if (fewer.n_in == 1) return PZ_OK;
  fewer.attr.concat.axis = 1;
  PZ_TRY(add_in_front(rw, &concat, &fewer, &s->before, out));
  s->concat++, s->conv++;
  return PZ_OK;
}

static pz_status apply(pz_rewriter *rw, split s) {
  pz_tensor_id others, first, last, base;
  PZ_TRY(part_of_weights(rw, &s, false, &first));
  PZ_TRY(part_of_weights(rw, &s, true, &last));
  PZ_TRY(join_others(rw, &s, &others));
  const pz_node conv = rw->g->nodes[s.conv];
  pz_node node = pz_node_new(PZ_OP_CONV);
  node.attr = conv.attr;
  node.attr.conv.norm_groups = 0;
  node.n_in = 2, node.in = (pz_tensor_id[]){others, first};
  PZ_TRY(add_in_front(rw, &conv, &node, &s.before, &base));
  s.concat++, s.conv++;
  PZ_TRY(pz_rewrite_set_in(rw, s.conv, PZ_CONV_X, rw->g->nodes[s.concat].in[s.last]));
  PZ_TRY(pz_rewrite_set_in(rw, s.conv, PZ_CONV_WEIGHT, last));
  PZ_TRY(pz_rewrite_set_in(rw, s.conv, PZ_CONV_RESIDUAL, base));
  pz_graph_kill_node(rw->g, s.concat);
  rw->changes++;
  return PZ_OK;
}

static bool is_worth(lives *l, const split *s, double least) {
  const int32_t from = 2 * s->before, to = 2 * s->conv + 1;
  return peak_of(l, NULL, from, to) - peak_of(l, s, from, to) >= least;
}

/* Those of a graph, n of them. */
static pz_status find_all(lives *l, split *all, int32_t *n, pz_error *err) {
  const pz_graph *g = l->rw->g;
  const double least = WORTH * ((double)pz_graph_constant_bytes(g) + peak_of(l, NULL, 0, 2 * g->n_nodes));
  *n = 0;
  for (pz_node_id i = 0; i < g->n_nodes; i++) {
    if (!find_split(l, i, &all[*n])) continue;
    if (pz_arena_interrupted(g->arena)) return pz_fail_interrupted(err);
    *n += is_worth(l, &all[*n], least);
  }
  return PZ_OK;
}

/* The last one first: the numbers of the nodes before it stay as they are. */
static pz_status split_all(pz_rewriter *rw) {
  lives l;
  int32_t n = 0;
  split *all = malloc(((size_t)rw->g->n_nodes + 1) * sizeof *all);
  if (!all) return pz_fail_memory(rw->err, "a pass's tables", (size_t)rw->g->n_nodes * sizeof *all);
  pz_status status = lives_new(&l, rw);
  if (status == PZ_OK) status = find_all(&l, all, &n, rw->err);
  lives_free(&l);
  while (status == PZ_OK && n > 0) status = apply(rw, all[--n]);
  free(all);
  return status;
}

pz_status pz_pass_split_concat(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  if (status == PZ_OK) status = split_all(&rw);
  return pz_rewriter_end(&rw, status, changes);
}
