/* solver.h: problem, solver, candidate. A solver is one algorithm for one operator. It says whether it applies to a problem on a
 * target, what it is expected to cost, in which layouts it reads and writes, and makes the calls. All but the calls is pure, and no
 * solver knows of the plan. An algorithm with parameters gives one candidate for each choice of
 * them. */
#ifndef PZ_PLAN_SOLVER_H
#define PZ_PLAN_SOLVER_H

#include "plan/builder.h"

#include <math.h>

#define PZ_LABEL_TEXT 128
#define PZ_SUM_ERROR  1.3e-7 /* a short sum of random values (doc/algorithm-winograd.md) */

/* What a solver can do beyond what all can. */
enum {
  PZ_CAP_DEPTH_BORDER = 1,  /* convolutions: the border along the depth need not be stored */
  PZ_CAP_CHANNELS_LAST = 2, /* computed inputs and outputs may lie channels-last (kernels/view.h) */
  PZ_CAP_WHOLE = 4          /* rather less: it sees where its input ends, and so never runs band by band */
};

typedef struct pz_solver {
  const char *name;
  pz_op op;
  pz_layout in, out; /* of the computed inputs, and of the outputs */
  bool (*applies)(const pz_query *q);
  /* What a candidate's expected cost is made of (target/cost_terms.inc), which the target's cost model sums; added to *work, which is zero. NULL: the
   * cost is `rank`. */
  void (*work)(const pz_query *q, pz_work *work);
  pz_cost_family family; /* of costs that are right or wrong together */
  /* How many times as long as with work shared evenly the target's workers take, for its pieces are few (pz_uneven); the cost is that of
   * `work` times this. NULL: 1 */
  double (*uneven)(const pz_query *q);
  double rank; /* of solvers without amounts: the least is taken */
  /* Adds the calls to the step that the framework has begun. */
  pz_status (*emit)(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err);
  int32_t variants;       /* choices of parameters; 0: there are none to choose */
  const int32_t *choices; /* so many values of the first parameter; or NULL: */
  /* The parameters of choice `i`; those of q count for nothing. False: it is none for this problem. NULL: all zero. */
  bool (*vary)(const pz_query *q, int32_t i, pz_parameters *parameters);
  /* The label of the algorithm with its parameters, and the relative L2 error that it adds. NULL: the name; a short sum's. */
  void (*describe)(const pz_query *q, char label[PZ_LABEL_TEXT], double *error);
  /* Direct sums in single precision, which any precision has: their error is no matter of choice. */
  bool direct;
  /* The most error of a layer that it is for, as a part of the bound on the error of the network's result. 0: 2, for the result has half of
   * a layer's error or less, mostly. */
  double most_error;
  /* A normalisation takes the mean out of the results, which the error is relative to: what it may multiply the error by where that is not
   * measured. 0: 1 */
  double normalised_error;
  /* Rows of the result along the height come from tiles of so many. NULL: 1 */
  int32_t (*tile_rows)(const pz_query *q);
  /* Size of the packed weights. NULL: no other solver for this operator packs smaller ones. */
  double (*weight_bytes)(const pz_query *q);
  /* Does the epilogue's pooling, which there is, as the result is made. NULL: no. */
  bool (*pools)(const pz_query *q);
  /* Convolutions: input 0 may lie as it was before a normalisation with this activation, which is done as it is read. NULL: no. */
  bool (*normalises)(const pz_query *q, const pz_activation *act);
  /* Normalisations: adds the call that makes *pending for such a reader, in place of the results. NULL: none. */
  pz_status (*factors)(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_norm_pending *pending,
                       pz_error *err);
  /* Output `i` is a view in input 0, which is at `in`: *view. NULL: never. */
  bool (*views)(const pz_query *q, const pz_storage *in, int32_t i, pz_storage *view);
  /* The inputs, a bit a slot, one of which the first output may overwrite. NULL: none. */
  uint32_t (*overwrites)(const pz_query *q);
  bool through;    /* output 0 lies in input 0, which nothing else reads, and is written through it */
  bool any_layout; /* the input is read in whichever layout there is */
  uint32_t caps;   /* PZ_CAP_... */
  bool needs_amx;  /* its calls need AMX */
} pz_solver;

/* So many pieces of work of one size, shared by so many workers; 0 workers: any number. */
static inline double pz_uneven(double pieces, int32_t workers) {
  if (workers < 2 || pieces <= 0) return 1;
  return ceil(pieces / workers) * workers / pieces;
}

/* Input 0. */
static inline uint32_t pz_overwrites_first(const pz_query *q) {
  (void)q;
  return 1;
}
#define PZ_LAST_CHOICE 1 /* a rank */

#endif
