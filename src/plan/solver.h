/* solver.h: problem, solver, plan. A solver is one algorithm for one or more operators: it says whether it
 * applies to a node, what it is expected to cost, in which layouts it reads and writes, and makes the calls.
 * An algorithm with parameters has variants, numbered from 0: while one is considered or built, plan->variant holds its
 * number for the node (pz_variant_of). */
#ifndef PZ_PLAN_SOLVER_H
#define PZ_PLAN_SOLVER_H

#include "plan/plan.h"

#define PZ_LABEL_TEXT 128
#define PZ_SUM_ERROR  1.3e-7 /* a short sum of random values (doc/algorithm-winograd.md) */

#define PZ_ALIGN_FLOATS 16 /* 64 bytes: buffers of the arena */

typedef struct pz_solver {
  const char *name;
  pz_op op;
  pz_layout in, out; /* of the computed inputs, and of the outputs */
  bool (*applies)(const pz_plan *plan, const pz_node *node);
  /* Expected cost in multiply-adds of vectors at peak; only compared among the solvers of one node. NULL: 0 */
  double (*cost)(const pz_plan *plan, const pz_node *node);
  /* Adds the calls to the step that the framework has begun for the node. */
  pz_status (*build)(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err);
  int32_t variants; /* 0: one */
  /* The label of the node's variant, and the relative L2 error that it adds. NULL: the name; a short sum's. */
  void (*describe)(const pz_plan *plan, const pz_node *node, char label[PZ_LABEL_TEXT], double *error);
  /* Rows of the result along the height come from tiles of so many. NULL: 1 */
  int32_t (*tile_rows)(const pz_plan *plan, const pz_node *node);
  /* Of packed weights; NULL: no other solver of the operator has fewer. */
  double (*weight_floats)(const pz_plan *plan, const pz_node *node);
  /* Of convolutions: the largest of windows of so many points, side by side, can be found as the result is made. NULL: it cannot. */
  bool (*pools)(const pz_plan *plan, const pz_node *node, const int32_t window[PZ_SPATIAL]);
  bool knows_depth; /* of convolutions: the border along the depth need not be stored */
  bool knows_tight; /* computed inputs and outputs may lie tight (kernels/view.h) */
  bool takes_tiles; /* its calls need AMX */
} pz_solver;

/* ---- for the framework (plan.c) ---- */
pz_status pz_choose_solvers(pz_plan *plan, const pz_plan_options *options, pz_error *err); /* choose.c */
pz_status pz_decide_aliases(pz_plan *plan, pz_error *err);                                 /* storage.c */
/* Algorithms with smaller errors where those of all convolutions together exceed max_error (budget.c). */
pz_status pz_meet_error(pz_plan *plan, pz_error *err);
/* Which chains run slab by slab (plan.c), and algorithms with smaller weights where more memory is needed than allowed (budget.c). */
typedef struct pz_plan_size {
  int64_t run, weights; /* floats */
} pz_plan_size;
static inline double pz_plan_bytes(const pz_plan_size *s) { return 4.0 * (double)(s->run + s->weights); }
pz_status pz_choose_slabs(pz_plan *plan, pz_plan_size *size,
                          pz_error *err); /* *size: where anything depends on it */
pz_status pz_meet_memory(pz_plan *plan, pz_error *err);
pz_status pz_memory_plan(pz_plan *plan, pz_error *err); /* memory.c */
pz_status pz_new_step(pz_plan *plan, const char *name, const char *op, pz_node_id node, pz_step **step,
                      pz_error *err);
/* The layout in which node n reads the computed tensor at that slot; a conversion is added where it is not there in it. */
pz_layout pz_wanted_layout(const pz_plan *plan, pz_node_id n, int32_t slot);
pz_status pz_ensure_layout(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_error *err);

pz_storage pz_port_storage(const pz_plan *plan, pz_tensor_id id, pz_space space, int32_t port);
pz_status pz_keep_storage(pz_plan *plan, pz_layout layout, const pz_storage *storage, pz_error *err);

/* Nothing reads `id` behind node `last`, and no view of it is left. */
bool pz_ends_at(const pz_plan *plan, pz_tensor_id id, pz_node_id last);
bool pz_border_suffices(const pz_plan *plan, pz_tensor_id id, pz_layout layout, const pz_view *view);

/* ---- for solvers ---- */

static inline int32_t pz_variant_of(const pz_plan *plan, const pz_node *node) {
  return plan->variant[node - plan->graph->nodes];
}

/* A buffer of its own for the tensor, with its border; becomes the tensor's storage in that layout. */
pz_status pz_fresh_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                           pz_error *err);
/* A buffer for `rows` rows of the tensor along its height (border rows among them), with its border along depth and width;
 * becomes its storage in that layout; the view's element is the first of these rows. */
pz_status pz_window_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, int64_t rows, pz_error *err);
/* A stretch of the arena, 64-byte aligned, that belongs to the steps whose calls are given it. */
pz_status pz_add_buffer(pz_plan *plan, int64_t floats, pz_pointer *at, pz_error *err);
/* The call that copies or converts between two storages of equal sizes, whatever their layouts. */
pz_status pz_add_copy_call(pz_plan *plan, pz_step *step, const pz_storage *from, const pz_storage *to,
                           pz_error *err);

/* The storage of a tensor in a layout. pz_input_storage: it must exist (the framework converted it).
 * pz_output_storage: made where it is not there yet. */
const pz_storage *pz_input_storage(const pz_plan *plan, pz_tensor_id id, pz_layout layout);
pz_status pz_output_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                            pz_error *err);
/* Makes the tensor `to` a view in the storage `from` (a crop, a slice, a reshape: no step writes it). */
pz_status pz_make_view(pz_plan *plan, pz_tensor_id to, pz_layout layout, const pz_storage *view,
                       pz_error *err);
/* Gives `to` the very storage of `from` (in place), when nothing reads `from` behind the node that makes `to`, the shapes are
 * equal and the border suffices: *done says whether it was possible. */
pz_status pz_make_in_place(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, pz_layout layout, bool *done,
                           pz_error *err);

/* `from` may leave its blocked storage to `to`: it is computed, nothing reads it behind the node that makes `to`, and neither is
 * part of a concatenation. */
bool pz_may_replace(const pz_plan *plan, pz_tensor_id from, pz_tensor_id to);
/* Gives `to` blocked storage over that of `from`, which lies rows first: row r where row r + `rows` of `from` lies. *done: it fits. */
pz_status pz_shifted_storage(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, int64_t rows, bool *done,
                             pz_error *err);

/* Room for `floats` packed weights, zeroed, 64-byte aligned; *data is valid until the next call. NULL where sizes alone are counted
 * (plan->dry): nothing is packed then. */
pz_status pz_add_weights(pz_plan *plan, int64_t floats, pz_pointer *at, float **data, pz_error *err);
/* Scratch of each worker: all steps share it, so there is as much as the greediest step wants. */
pz_pointer pz_add_scratch(pz_plan *plan, int64_t floats);
/* A vector over maps (bias, slope, ...), padded with zeros to whole blocks, as packed weights; PZ_SPACE_NULL
 * where the tensor is PZ_NONE. One value is spread over all `c` maps. */
pz_status pz_add_channel_vector(pz_plan *plan, pz_tensor_id id, int64_t c, pz_pointer *at, pz_error *err);

/* Whether a normalisation reads the moments of a node's result. A convolution that gathers them while it makes it, at `out`, asks for
 * a buffer of records (kernels/norm/moments.h), `units` of each block. solve_norm.c */
bool pz_wants_moments(const pz_plan *plan, const pz_node *node);
pz_status pz_gather_moments(pz_plan *plan, const pz_node *node, const pz_view *out, int32_t units,
                            pz_pointer *at, pz_error *err);

/* The pooling that convolution n does while it makes its result, which then has no step of its own; the convolution that does pooling n.
 * PZ_NONE: there is none. solve_pool.c */
pz_node_id pz_pooling_of(const pz_plan *plan, pz_node_id n);
pz_node_id pz_pooled_by(const pz_plan *plan, pz_node_id n);
/* Zeroes the border of what convolution n pools, if it does. */
pz_status pz_add_pooled_border(pz_plan *plan, pz_step *step, pz_node_id n, pz_error *err);

/* A call; `shape` is the text between the braces of the kernel's shape struct. The text is taken over and freed. */
pz_status pz_add_call(pz_plan *plan, pz_step *step, const char *header, const char *function, pz_text *shape,
                      const pz_arg *args, int32_t n_args, pz_error *err);
/* The call that was added last begins when all workers have finished those before it. */
void pz_call_after_all(pz_step *step);
/* Adds the call that zeroes the border of `s`, if it has any. The framework does so for each output of a node. */
pz_status pz_add_border_call(pz_plan *plan, pz_step *step, const pz_storage *s, pz_error *err);
pz_status pz_set_algorithm(pz_plan *plan, pz_step *step, pz_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* ".name = {n, c, ...}, " */
void pz_text_view(pz_text *text, const char *name, const pz_view *view);
void pz_text_ints(pz_text *text, const char *name, const int32_t *values, int32_t n);
/* A float so that C reads the same bits back: hexadecimal, or NAN, INFINITY. */
void pz_text_number(pz_text *text,
                    float value); /* C that gives the same bits, but for those of a NaN; ", " behind it */
void pz_text_float(pz_text *text, const char *name, float value);

/* A scale whose factors are constants of a map, so that it packs them itself (solve_pointwise.c). */
bool pz_scale_of_maps(const pz_graph *g, const pz_node *node);

static inline int64_t pz_block_count(int64_t c, int64_t block) { return (c + block - 1) / block; }

#endif
