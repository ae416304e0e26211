/* rewriter.c: the tables of a pass, and the walk over the nodes. */
#include "optimise/rewrite.h"
#include <stdlib.h>

static pz_status reserve(pz_rewriter *rw, int32_t n) {
  if (n <= rw->capacity && rw->uses) return PZ_OK;
  size_t count = (size_t)n + (size_t)n / 2 + 16;
  free(rw->producer);
  free(rw->consumer);
  free(rw->uses);
  rw->producer = malloc(count * sizeof *rw->producer);
  rw->consumer = malloc(count * sizeof *rw->consumer);
  rw->uses = malloc(count * sizeof *rw->uses);
  if (!rw->producer || !rw->consumer || !rw->uses)
    return pz_fail_memory(rw->err, "a pass's tables", (unsigned long long)count * 3 * sizeof(int32_t));
  rw->capacity = (int32_t)count;
  return PZ_OK;
}

pz_status pz_rewriter_reindex(pz_rewriter *rw) {
  const pz_graph *g = rw->g;
  PZ_TRY(reserve(rw, g->n_tensors));
  for (int32_t t = 0; t < g->n_tensors; t++) {
    rw->producer[t] = rw->consumer[t] = PZ_NONE;
    rw->uses[t] = 0;
  }
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op == PZ_OP_NONE) continue;
    for (int32_t k = 0; k < node->n_in; k++) {
      if (node->in[k] == PZ_NONE) continue;
      rw->uses[node->in[k]]++;
      rw->consumer[node->in[k]] = i;
    }
    for (int32_t k = 0; k < node->n_out; k++) rw->producer[node->out[k]] = i;
  }
  for (int32_t i = 0; i < g->n_outputs; i++) rw->uses[g->outputs[i]]++;
  return PZ_OK;
}

pz_status pz_rewriter_begin(pz_rewriter *rw, pz_graph *g, pz_error *err) {
  *rw = (pz_rewriter){.g = g, .err = err};
  return pz_rewriter_reindex(rw);
}

pz_status pz_rewriter_end(pz_rewriter *rw, pz_status status, int *changes) {
  free(rw->producer);
  free(rw->consumer);
  free(rw->uses);
  *changes = rw->changes;
  if (status != PZ_OK || rw->changes == 0) return status;
  return pz_graph_compact(rw->g, rw->err);
}

static pz_status visit_all(pz_rewriter *rw, pz_rewrite_visit visit) {
  for (pz_node_id id = 0; id < rw->g->n_nodes; id++) {
    if (rw->g->nodes[id].op == PZ_OP_NONE) continue;
    int before = rw->changes;
    if (pz_arena_interrupted(rw->g->arena)) return pz_fail_interrupted(rw->err);
    PZ_TRY(visit(rw, id));
    if (rw->changes != before) PZ_TRY(pz_rewriter_reindex(rw));
  }
  return PZ_OK;
}

pz_status pz_rewrite_each(pz_graph *g, pz_rewrite_visit visit, int *changes, pz_error *err) {
  pz_rewriter rw;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  if (status == PZ_OK) status = visit_all(&rw, visit);
  return pz_rewriter_end(&rw, status, changes);
}
