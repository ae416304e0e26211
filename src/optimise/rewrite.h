/* rewrite.h: what the passes share.
 *
 * Invariant of every pass: a tensor's name stands for the same values in the same order before and after (up to
 * rounding; a reshape may lie between), so that a compiled network can be compared with its model tensor by tensor.
 * A tensor that comes to hold other values gets a new name (pz_rewrite_rename); the names of graph inputs and
 * outputs never change.
 *
 * Pointers to nodes and tensors hold until something is added to the graph; ids hold for the whole pass.
 */
#ifndef PZ_OPTIMISE_REWRITE_H
#define PZ_OPTIMISE_REWRITE_H

#include "optimise/optimise.h"

/* The graph and who makes and reads each tensor. */
typedef struct pz_rewriter {
  pz_graph *g;
  pz_error *err;
  int changes;
  pz_node_id *producer; /* of each tensor; PZ_NONE for inputs and constants */
  pz_node_id *consumer; /* of each tensor, the last one; PZ_NONE */
  int32_t *uses;        /* as pz_graph_count_uses */
  int32_t capacity;     /* entries in the three */
} pz_rewriter;

pz_status pz_rewriter_begin(pz_rewriter *rw, pz_graph *g,
                            pz_error *err); /* then pz_rewriter_end, also on failure */
pz_status pz_rewriter_reindex(pz_rewriter *rw);
/* Compacts the graph if anything was changed, sets *changes, frees the tables. Returns status where it is a failure. */
pz_status pz_rewriter_end(pz_rewriter *rw, pz_status status, int *changes);

/* Calls visit(rw, id) for each node, those that are added on the way too. visit counts up rw->changes when it has
 * changed the graph; the tables are made anew then. */
typedef pz_status (*pz_rewrite_visit)(pz_rewriter *rw, pz_node_id id);
pz_status pz_rewrite_each(pz_graph *g, pz_rewrite_visit visit, int *changes, pz_error *err);

/* ---- looking ---- */

bool pz_rewrite_is_conv(const pz_node *node); /* conv or deconv */
bool pz_rewrite_is_norm(const pz_node *node); /* group_norm or channel_norm, which have the same inputs */
/* Operators whose result may be a window into their input's storage: they write no border. */
bool pz_rewrite_is_view(pz_op op);
/* Absent, or a constant with data. */
bool pz_rewrite_fixed_or_absent(const pz_graph *g, pz_tensor_id t);
/* The producer of t when t has exactly one use and is no graph output; else PZ_NONE. */
pz_node_id pz_rewrite_sole_producer(const pz_rewriter *rw, pz_tensor_id t);
/* The conv, deconv, group_norm or channel_norm, which all end with an activation, that ends in t: it makes t, or a
 * tensor that reaches t through reshapes that keep N and C; nothing else uses t or what lies between, and it has no
 * activation yet. Else PZ_NONE. */
pz_node_id pz_rewrite_open_before(const pz_rewriter *rw, pz_tensor_id t);

/* ---- changing ---- */

/* base/suffix, or base/suffix_2, ...: a name that no node and no tensor has. NULL when out of memory. */
const char *pz_rewrite_name(const pz_rewriter *rw, const char *base, const char *suffix);
pz_status pz_rewrite_rename(pz_rewriter *rw, pz_tensor_id t); /* t holds other values from now on */
/* t, which is reshaped to `of`, takes its name, and `of` gets a new one: so the model's name stays with the layer that
 * computes the values when the reshape is dropped. Nothing is done where `of` is a graph output. */
pz_status pz_rewrite_take_name(pz_rewriter *rw, pz_tensor_id t, pz_tensor_id of);
/* The node becomes what `as` is (operator, attributes, n_in and in); its name, place and outputs stay. Counts a change. */
pz_status pz_rewrite_become(pz_rewriter *rw, pz_node_id id, const pz_node *as);
pz_status pz_rewrite_set_in(pz_rewriter *rw, pz_node_id id, int slot, pz_tensor_id t);
/* Whoever makes `from` makes `to` instead; `from` must have no other user than the caller's node. */
void pz_rewrite_redirect(pz_rewriter *rw, pz_tensor_id from, pz_tensor_id to);
/* A layer behind `conv` (as pz_rewrite_open_before(from) found it) that reads `from` and makes `to` is now part of
 * conv: `to` takes the place of `from`. Where reshapes lie between, conv's own result takes the name of `to`
 * (pz_rewrite_take_name), the others get new ones. */
pz_status pz_rewrite_absorb(pz_rewriter *rw, pz_node_id conv, pz_tensor_id from, pz_tensor_id to);
/* Removes a node whose only output equals its first input; false (nothing changed) where an output's name would
 * be lost: both are graph outputs, or a graph input or constant is passed to a graph output. */
bool pz_rewrite_bypass(pz_rewriter *rw, pz_node_id id);

/* ---- constants ---- */

pz_status pz_rewrite_new_constant(pz_rewriter *rw, const char *base, const char *suffix,
                                  const pz_shape *shape, pz_tensor_id *id);
/* Writable data of the constant in a slot, which is copied first when something else uses it. */
pz_status pz_rewrite_own_constant(pz_rewriter *rw, pz_node_id id, int slot, float **data);
/* The same for a per-channel constant [n]; one filled with `fill` is made where the slot is empty. */
pz_status pz_rewrite_own_vector(pz_rewriter *rw, pz_node_id id, int slot, const char *suffix, int64_t n,
                                float fill, float **data);
/* Multiplies the weights of a conv or deconv by scale[k] for its output channel k, in double, rounded once. */
pz_status pz_rewrite_scale_weights(pz_rewriter *rw, pz_node_id conv, const double *scale);

/* ---- borders (PZnet 3.5) ---- */

typedef struct pz_border_need {
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL];
} pz_border_need;
pz_border_need pz_border_of(const pz_graph *g,
                            const pz_node *node); /* what the node needs around its input x */
bool pz_border_has(const pz_graph *g, pz_tensor_id t, const pz_border_need *need);
bool pz_border_widen(pz_tensor *t,
                     const pz_border_need *need); /* to the maximum of both; whether that changed it */
bool pz_border_writable(const pz_rewriter *rw,
                        pz_tensor_id t); /* whoever stores t can store a border around it */

#define PASS(function, name, title, required)                                                                \
  pz_status pz_pass_##function(pz_graph *g, int *changes, pz_error *err);
#include "optimise/passes.inc"
#undef PASS

#endif
