/* least_memory.h: what a model takes at least, from its shapes alone, before its weights are read or made. */
#ifndef PZ_IMPORT_LEAST_MEMORY_H
#define PZ_IMPORT_LEAST_MEMORY_H

#include "graph/graph.h"

/* Refuses a node of the graph with PZ_ERROR_INPUT, and with both numbers, where a run of a network of so many floats of constants takes more than
 * `there` bytes. The constants count three times: as they are imported, as they are packed, and as the network that runs holds them. Beside them
 * there are the inputs and outputs of the graph, and a row of what the node reads and makes: no more of it is held where layers run band by band.
 * A model of few constants, which costs little to plan, is left to the planner, which knows. */
pz_status pz_import_ask(const pz_graph *g, const pz_node *node, int64_t constants, int64_t there,
                        pz_error *err);
/* The same of each node. */
pz_status pz_import_ask_all(const pz_graph *g, int64_t constants, int64_t there, pz_error *err);

#endif
