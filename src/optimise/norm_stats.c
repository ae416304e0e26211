/* norm_stats.c: a group normalisation needs the moments of all of its input first. Whoever makes that can collect them as it writes, which
 * spares a pass over the tensor. The convolution is told into how many groups its channels are normalised; whether moments are collected is
 * the planner's question. Of several normalisations of one result the first is told. */
#include "optimise/rewrite.h"
#include <stdlib.h>

static void wish(const pz_rewriter *rw, int32_t *groups) {
  const pz_graph *g = rw->g;
  for (pz_node_id n = 0; n < g->n_nodes; n++) groups[n] = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *norm = &g->nodes[n];
    if (norm->op != PZ_OP_GROUP_NORM) continue;
    const pz_node_id maker = rw->producer[norm->in[PZ_GROUP_NORM_X]];
    if (maker != PZ_NONE && pz_rewrite_is_conv(&g->nodes[maker]) && !groups[maker])
      groups[maker] = norm->attr.group_norm.groups;
  }
}

pz_status pz_pass_norm_stats(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  int32_t *groups = NULL;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  if (status == PZ_OK && !(groups = malloc(((size_t)g->n_nodes + 1) * sizeof *groups)))
    status = pz_fail_memory(err, "a pass's tables", (unsigned long long)g->n_nodes * sizeof *groups);
  if (status == PZ_OK) wish(&rw, groups);
  for (pz_node_id n = 0; n < g->n_nodes && status == PZ_OK; n++) {
    int32_t *told = &g->nodes[n].attr.conv.norm_groups;
    if (!pz_rewrite_is_conv(&g->nodes[n]) || *told == groups[n]) continue;
    *told = groups[n];
    rw.changes++;
  }
  free(groups);
  return pz_rewriter_end(&rw, status, changes);
}
