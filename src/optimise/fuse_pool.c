/* fuse_pool.c: a maximum over windows side by side can be taken while the convolution makes what it reads, in registers or
 * in the cache. The pooling stays a node: the convolution is told its window, and whether its algorithm can do it, so that the
 * pooling has no step of its own, is the planner's question. Of several poolings of one result the first is told. */
#include "optimise/rewrite.h"
#include <stdlib.h>
#include <string.h>

typedef struct window {
  int32_t size[PZ_SPATIAL];
} window;

static void wish(const pz_rewriter *rw, window *wanted) {
  const pz_graph *g = rw->g;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int i = 0; i < PZ_SPATIAL; i++) wanted[n].size[i] = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *pool = &g->nodes[n];
    if (pool->op != PZ_OP_POOL || !pz_node_pools_simply(g, pool)) continue;
    const pz_node_id maker = rw->producer[pool->in[0]];
    if (maker == PZ_NONE || g->nodes[maker].op != PZ_OP_CONV) continue;
    if (!wanted[maker].size[0]) memcpy(wanted[maker].size, pool->attr.pool.kernel, sizeof wanted[maker].size);
  }
}

pz_status pz_pass_fuse_pool(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  window *wanted = NULL;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  if (status == PZ_OK && !(wanted = malloc(((size_t)g->n_nodes + 1) * sizeof *wanted)))
    status = pz_fail_memory(err, "a pass's tables", (unsigned long long)g->n_nodes * sizeof *wanted);
  if (status == PZ_OK) wish(&rw, wanted);
  for (pz_node_id n = 0; n < g->n_nodes && status == PZ_OK; n++) {
    int32_t *pooled = g->nodes[n].attr.conv.pooled;
    if (g->nodes[n].op != PZ_OP_CONV || !memcmp(pooled, wanted[n].size, sizeof wanted[n].size)) continue;
    memcpy(pooled, wanted[n].size, sizeof wanted[n].size);
    rw.changes++;
  }
  free(wanted);
  return pz_rewriter_end(&rw, status, changes);
}
