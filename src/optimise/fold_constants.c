/* fold_constants.c: a layer all of whose inputs are constants is computed now, by the reference in double, rounded once.
 *
 * Values that a layer only repeats (a wrapped padding, a broadcast) would take room in the network file: a result may
 * have at most four times the elements of its inputs, or SMALL. All results of a run together have at most MOST, and take at most
 * MOST_WORK to compute: the reference does some 1e8 multiply-adds a second, and a model that is refused in the end costs no more. */
#include "base/memory.h"
#include "optimise/rewrite.h"
#include "reference/reference.h"
#include <stdlib.h>

#define SMALL     (INT64_C(1) << 16)
#define MOST      (INT64_C(1) << 28)
#define MOST_WORK 5e8 /* multiply-adds, and elements read and made */

static int64_t elements(const pz_rewriter *rw, pz_tensor_id t) {
  return pz_shape_elements(&rw->g->tensors[t].shape);
}

/* The elements of the results, or 0 where the layer is to stay. A padded copy does: what it is there for, the border of its
 * storage, no constant has, so that pad-inputs would make it again. */
static int64_t size_of_results(const pz_rewriter *rw, const pz_node *node) {
  int64_t in = 0, out = 0;
  if (node->op == PZ_OP_BORDER_COPY) return 0;
  for (int32_t k = 0; k < node->n_in; k++) {
    if (node->in[k] == PZ_NONE) continue;
    if (!rw->g->tensors[node->in[k]].data) return 0;
    in += elements(rw, node->in[k]);
  }
  for (int32_t k = 0; k < node->n_out; k++) {
    if (rw->g->tensors[node->out[k]].type != PZ_F32) return 0; /* constants are floats */
    out += elements(rw, node->out[k]);
  }
  return out <= SMALL || out / 4 <= in ? out : 0;
}

/* Of a window, every position for every result. */
static double work_of(const pz_rewriter *rw, const pz_node *node, int64_t made) {
  double work = pz_node_multiply_adds(rw->g, node) + (double)made;
  if (node->op == PZ_OP_POOL)
    work += (double)made * node->attr.pool.kernel[0] * node->attr.pool.kernel[1] * node->attr.pool.kernel[2];
  for (int32_t k = 0; k < node->n_in; k++)
    if (node->in[k] != PZ_NONE) work += (double)elements(rw, node->in[k]);
  return work;
}

static double *widen(const float *from, int64_t n) {
  double *to = pz_memory_allows((uint64_t)n * sizeof *to) ? malloc((size_t)n * sizeof *to) : NULL;
  for (int64_t i = 0; to && i < n; i++) to[i] = from[i];
  return to;
}

/* in and out are lists of the node's length, zeroed; the caller frees what is in them. */
static pz_status evaluate(pz_rewriter *rw, const pz_node *node, double **in, double **out) {
  for (int32_t k = 0; k < node->n_in; k++) {
    if (node->in[k] == PZ_NONE) continue;
    in[k] = widen(rw->g->tensors[node->in[k]].data, elements(rw, node->in[k]));
    if (!in[k])
      return pz_fail_memory(rw->err, "a constant", (size_t)elements(rw, node->in[k]) * sizeof(double));
  }
  for (int32_t k = 0; k < node->n_out; k++) {
    const size_t bytes = (size_t)elements(rw, node->out[k]) * sizeof(double);
    out[k] = pz_memory_allows(bytes) ? malloc(bytes) : NULL;
    if (!out[k])
      return pz_fail_memory(rw->err, "a constant", (size_t)elements(rw, node->out[k]) * sizeof(double));
  }
  return pz_reference_node(rw->g, node, (const double *const *)in, out, rw->err);
}

static pz_status keep(pz_rewriter *rw, pz_tensor_id t, const double *values) {
  int64_t n = elements(rw, t);
  float *data = PZ_NEW(rw->g->arena, float, n);
  if (!data) return pz_fail_memory(rw->err, "a constant", (size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++) data[i] = (float)values[i];
  rw->g->tensors[t].data = data;
  return PZ_OK;
}

static void free_all(double **list, int32_t n) {
  for (int32_t k = 0; list && k < n; k++) free(list[k]);
  free(list);
}

static pz_status fold(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  double **in = calloc((size_t)node->n_in + 1, sizeof *in), **out = calloc((size_t)node->n_out, sizeof *out);
  pz_status status = in && out ? evaluate(rw, node, in, out)
                               : pz_fail_memory(rw->err, "a constant", (size_t)node->n_in * sizeof *in);
  for (int32_t k = 0; status == PZ_OK && k < node->n_out; k++) status = keep(rw, node->out[k], out[k]);
  free_all(in, node->n_in);
  free_all(out, node->n_out);
  if (status == PZ_OK) pz_graph_kill_node(rw->g, id);
  return status;
}

pz_status pz_pass_fold_constants(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  int64_t left = MOST;
  for (pz_node_id id = 0; status == PZ_OK && id < g->n_nodes; id++) {
    if (g->nodes[id].op == PZ_OP_NONE) continue;
    int64_t size = size_of_results(&rw, &g->nodes[id]);
    const double work = size ? work_of(&rw, &g->nodes[id], size) : 0;
    if (size == 0 || size > left || g->folding + work > MOST_WORK) continue;
    left -= size;
    g->folding += work;
    rw.changes++;
    status = fold(&rw, id);
  }
  return pz_rewriter_end(&rw, status, changes);
}
