/* optimise.h: rewrites, graph to graph. passes.inc lists them in the order in which they run. */
#ifndef PZ_OPTIMISE_OPTIMISE_H
#define PZ_OPTIMISE_OPTIMISE_H

#include "graph/graph.h"

typedef pz_status (*pz_rewrite)(pz_graph *g, int *changes, pz_error *err);

typedef struct pz_pass {
  const char *name, *title;
  pz_rewrite rewrite;
  bool required; /* a lowering that the planner relies on: cannot be switched off */
} pz_pass;
const pz_pass *pz_passes(int *count);

/* Each pass after the other, to a fixed point of the optional ones; the verifier after each in debug builds.
 * disable: comma-separated names of passes, or NULL; an unknown or a required one is an error that lists the
 * names. observe (may be NULL) is called after each pass that changed anything. */
typedef void (*pz_pass_observe)(void *host, const pz_pass *pass, int changes, const pz_graph *g);
pz_status pz_optimise(pz_graph *g, const char *disable, pz_pass_observe observe, void *host, pz_error *err);

/* What holds after the passes: the input of every conv and deconv is stored with the border that it needs
 * (pz_node_input_border), also where it lies in a concatenation in place, whose border holds then. See border.c. */
bool pz_borders_sufficient(const pz_graph *g);

#endif
