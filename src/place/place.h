/* place.h: what the files of the framework share. Solvers do not see it. */
#ifndef PZ_PLACE_PLACE_H
#define PZ_PLACE_PLACE_H

#include "plan/chosen.h"

/* Aliases, and which chains run band by band (choose_bands.c). *size: where anything depends on it. */
pz_status pz_choose_bands(pz_plan *plan, pz_plan_size *size, pz_error *err);
/* All steps, and the arena (nodes.c); and forgets them: texts and lists stay in the plan's arena. */
pz_status pz_place_all(pz_plan *plan, pz_error *err);
void pz_place_nothing(pz_plan *plan);
pz_status pz_decide_aliases(pz_plan *plan, pz_error *err); /* storage.c */
pz_status pz_memory_plan(pz_plan *plan, pz_error *err);    /* memory.c */
pz_status pz_new_step(pz_plan *plan, const char *name, const char *op, pz_node_id node, pz_step **step,
                      pz_error *err);
/* A conversion is added where the tensor is not there in that layout. */
pz_status pz_ensure_layout(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_error *err);

/* ---- storages (storage.c) ---- */

pz_storage pz_port_storage(const pz_plan *plan, pz_tensor_id id, pz_space space, int32_t port);
pz_status pz_keep_storage(pz_plan *plan, pz_layout layout, const pz_storage *storage, pz_error *err);

/* Nothing reads `id` behind node `last`, and no view of it is left. */
bool pz_ends_at(const pz_plan *plan, pz_tensor_id id, pz_node_id last);
bool pz_border_suffices(const pz_plan *plan, pz_tensor_id id, pz_layout layout, const pz_view *view);

/* A buffer of its own for the tensor, with its border; becomes the tensor's storage in that layout. */
pz_status pz_fresh_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                           pz_error *err);
/* A buffer for `rows` rows of the tensor along its height (border rows among them), with its border along depth and width;
 * becomes its storage in that layout; the view's element is the first of these rows. */
pz_status pz_line_buffer_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, int64_t rows,
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

/* `from` may leave its NCHWc storage to `to`: it is computed, nothing reads it behind the node that makes `to`, and neither is
 * part of a concatenation. */
bool pz_may_replace(const pz_plan *plan, pz_tensor_id from, pz_tensor_id to);
/* Gives `to` NCHWc storage over that of `from`, which lies h-major: row r where row r + `rows` of `from` lies. *done: it fits. */
pz_status pz_shifted_storage(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, int64_t rows, bool *done,
                             pz_error *err);

/* ---- pooling that a convolution does (pooled.c) ---- */

/* The pooling that convolution n does while it makes its result, which then has no step of its own; the convolution that does pooling n.
 * PZ_NONE: there is none. */
pz_node_id pz_pooling_of(const pz_plan *plan, pz_node_id n);
pz_node_id pz_pooled_by(const pz_plan *plan, pz_node_id n);
/* The convolution that does normalisation n as it reads, which then has no results of its own; the normalisation that convolution n does.
 * PZ_NONE: there is none (normed.c). */
pz_node_id pz_normed_by(const pz_plan *plan, pz_node_id n);
pz_node_id pz_norm_of(const pz_plan *plan, pz_node_id n);
/* The step of such a normalisation. */
pz_status pz_add_norm_factors(pz_plan *plan, pz_node_id n, pz_error *err);

/* Zeroes the border of what convolution n pools, if it does. */
pz_status pz_add_pooled_border(pz_plan *plan, pz_step *step, pz_node_id n, pz_error *err);

#endif
