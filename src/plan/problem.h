/* problem.h: what a solver is asked: a problem on a target.
 *
 * A problem is an operator with its attributes, its operands and its epilogue: all that decides which algorithms can do it,
 * how fast they are and what they compute. Of the network around it a problem has what it says here and no more. */
#ifndef PZ_PLAN_PROBLEM_H
#define PZ_PLAN_PROBLEM_H

#include "base/digest.h"
#include "graph/graph.h"
#include "target/target.h"

typedef enum pz_layout { PZ_NCHW, PZ_NCHWC } pz_layout;

/* Of inputs and outputs. */
typedef struct pz_operand {
  bool present; /* optional inputs may be absent */
  pz_shape shape;
  pz_element element;
  const float *data; /* constants; NULL: computed */
  bool packed;       /* inputs: weights, which the solver packs; others are placed for it */
  int32_t same;      /* the first input that is the same tensor; itself where there is none before it */
  /* Inputs: an input of the network, or a padded copy or a cast of one: it lies NCHW, and nothing has to be converted. Outputs: it
   * leaves the network and nothing else reads it: NCHW is what is wanted. */
  bool nchw;
  bool one_sign; /* inputs: its values are known to have one sign, as behind a ReLU, or of a u8 input */
} pz_operand;

/* What else is wanted of the result, if a candidate can do it as it makes the result. */
typedef struct pz_epilogue {
  bool pools;               /* a maximum over windows side by side is taken of it */
  int32_t pool[PZ_SPATIAL]; /* the window */
  bool normalised;          /* a group normalisation reads the result */
  bool norm_stats;          /* and it needs the moments of the whole result first */
} pz_epilogue;

typedef struct pz_problem {
  pz_op op;
  pz_attributes attr;
  int32_t n_in, n_out;
  const pz_operand *in, *out;
  pz_epilogue epilogue;
  bool padded; /* convolutions: the input is stored with the zero border that the kernel needs */
} pz_problem;

/* The parameters of a solver's algorithm: what they mean is the solver's. */
#define PZ_PARAMETERS 6
typedef struct pz_parameters {
  int32_t of[PZ_PARAMETERS];
} pz_parameters;

/* A problem on a target, done with these parameters. */
typedef struct pz_query {
  const pz_problem *problem;
  const pz_target *target;
  pz_parameters parameters;
} pz_query;

/* The problems of all nodes, by node, in the arena. */
pz_status pz_problems_of(const pz_graph *graph, const pz_target *target, pz_arena *arena,
                         const pz_problem **problems, pz_error *err);

/* The pooling that the epilogue of convolution n is told of: the first of its result with these windows. PZ_NONE: it is told of none. */
pz_node_id pz_told_pooling(const pz_graph *graph, const pz_problem *problem, pz_node_id n);

/* ---- as text (key.c) ---- */

/* Operator, operands, attributes, epilogue: every field, in one line of printable ASCII. Problems have equal texts if and only if they are
 * equal; weights count as constants, not by their values. Appends to *out. */
pz_status pz_problem_text(const pz_problem *problem, pz_text *out, pz_error *err);
/* The problem of such a text, in the arena; constants have values that nobody may read. PZ_ERROR_INPUT where it is none. What a text of another version
 * means is for the caller to find out: a problem whose text is this one again is the one that was meant. */
pz_status pz_problem_parse(const char *text, pz_arena *arena, pz_problem *problem, pz_error *err);
/* The key of what is measured of a problem on a target: the SHA-256 of the problem's text, of `where` behind it ("" or what else a
 * measurement depends on), and of the target's fields. The text, with `where`, is appended to the empty *text. */
pz_status pz_problem_key(const pz_problem *problem, const pz_target *target, const char *where, pz_text *text,
                         char key[PZ_DIGEST_TEXT], pz_error *err);

static inline int64_t pz_block_count(int64_t c, int64_t block) { return (c + block - 1) / block; }

/* Input i; NULL where it is absent. */
static inline const pz_operand *pz_problem_input(const pz_problem *problem, int32_t i) {
  return i < problem->n_in && problem->in[i].present ? &problem->in[i] : NULL;
}

#endif
