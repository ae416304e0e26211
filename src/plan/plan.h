/* plan.h: from an optimised graph to a plan: layouts, the algorithm of each node, packed weights, the calls of
 * the kernels, and one arena with lifetimes and offsets. The plan is all that src/emit needs.
 *
 *   graph --choose--> a solver for each node (solver.h)
 *         --storage--> where each tensor lies: blocked or plain, aliased into a concatenation, in place
 *         --plan each node--> steps, each a list of kernel calls on views; weights packed as the kernels want
 *         --memory--> offsets of all buffers in one arena
 */
#ifndef PZ_PLAN_PLAN_H
#define PZ_PLAN_PLAN_H

#include "graph/graph.h"
#include "kernels/view.h"
#include "target/target.h"

typedef enum pz_layout { PZ_PLAIN, PZ_BLOCKED } pz_layout;

/* What a pointer argument of a kernel call points into. WEIGHTS: an offset in the packed weights. SCRATCH: each worker's own,
 * without contents from step to step. */
typedef enum pz_space {
  PZ_SPACE_NULL,
  PZ_SPACE_ARENA,
  PZ_SPACE_INPUT,
  PZ_SPACE_OUTPUT,
  PZ_SPACE_WEIGHTS,
  PZ_SPACE_SCRATCH
} pz_space;
typedef struct pz_pointer {
  pz_space space;
  int32_t index;  /* ARENA: buffer; INPUT, OUTPUT: port */
  int64_t offset; /* floats from the start of the buffer, port or weights to the view's element (0,0,0,0,0) */
} pz_pointer;

/* What a blocked storage has room for: points in front of the tensor's first and behind its last one along depth, height and width,
 * border included, and blocks of maps; lanes: where it lies tight (view.h), those of a point, else 0. Rows first: each row of the height,
 * of all blocks and planes, in one piece. */
typedef struct pz_room {
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL], lanes;
  int64_t blocks;
  bool rows_first;
} pz_room;

/* Where a tensor lies in one of its layouts. */
typedef struct pz_storage {
  pz_tensor_id tensor;
  pz_pointer at;
  pz_view view;
  bool owner;   /* the buffer was made for this tensor, or for one that it replaces, and holds nothing else */
  pz_room room; /* of owners */
} pz_storage;

/* Moments of a tensor, gathered by the convolution that makes it (kernels/norm); units 0: they are not. */
typedef struct pz_gathered {
  pz_pointer at;
  int32_t units; /* of each block */
} pz_gathered;

/* A stretch of the arena and the steps (first to last, inclusive) during which it must keep its contents. With an anchor, another
 * buffer or -1, it lies `from_anchor` floats from that one, whose contents it may overwrite. */
typedef struct pz_buffer {
  int64_t floats, offset;
  int32_t first, last, anchor;
  int64_t from_anchor;
} pz_buffer;

typedef struct pz_arg {
  const char *name; /* the kernel's parameter: "in", "weights", "out", ... */
  bool written;
  pz_pointer at;
  bool listed; /* neighbours that are listed reach the kernel as one array of pointers */
} pz_arg;
#define PZ_CALL_ARGS 16
/* One call of a kernel: `function((function_shape){shape}, args..., worker, workers)`. Calls with the same
 * function, shape and arguments' names share one specialised instance in the generated code. */
typedef struct pz_call {
  const char *header, *function, *shape;
  pz_arg args[PZ_CALL_ARGS];
  int32_t n_args;
  bool after_all;    /* begins when all workers have finished the step's calls before it */
  const char *parts; /* the header's macro that makes NAME_parts, an argument, of a shape NAME; or NULL */
  int32_t turn;      /* its counter in a worker's scratch, where workers take its parts in turn; else -1 */
} pz_call;

/* One operator of the plan; all workers pass a barrier behind it, and in front of calls that say so. */
typedef struct pz_step {
  const char *name, *op, *algorithm;
  pz_node_id node; /* PZ_NONE for conversions of inputs and outputs */
  int32_t storage; /* of its first output; -1 where that is the caller's input */
  double multiply_adds, bytes;
  double multiply_adds_done; /* by the chosen algorithm; solvers that leave 0: as many as the direct one */
  bool scalar;               /* falls back to a scalar loop, and `algorithm` says so */
  pz_call *calls;
  int32_t n_calls, cap_calls;
} pz_step;

/* The default: ten times below what networks of 8-bit images can tell apart. */
#define PZ_MAX_ERROR 1e-5

typedef struct pz_plan pz_plan;

/* One way to run a node: a solver with its variant. Texts are in the plan's arena. */
typedef struct pz_candidate {
  const struct pz_solver *solver;
  int32_t variant;
  double cost;       /* expected: multiply-adds of vectors at peak */
  double error;      /* expected relative L2 error of the layer's result; 0: not known */
  double added;      /* what of it the network's result is expected to have */
  double weights;    /* floats, packed; 0: all that the node could have are as large */
  double seconds;    /* of one run, as the chooser knows it; 0: not measured */
  const char *label; /* "Winograd F(4,4,4), batches of 24"; differs among the candidates of a node */
} pz_candidate;
/* The candidates of a node, the cheapest first. Nodes that read a result have chosen in which layout, so those of other
 * layouts than the cheapest one's are no candidates. */
typedef struct pz_choice {
  pz_candidate *candidates;
  int32_t n, chosen;
} pz_choice;
/* Asked for each convolution and deconvolution: which of the n candidates, 0 for the cheapest; may set their seconds. */
typedef int32_t (*pz_choose)(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *candidates,
                             int32_t n);

/* Chains of layers run slab by slab: where that saves memory and no time is lost; or wherever they can, in the smallest slabs. */
typedef enum pz_slabs { PZ_SLABS_NEVER, PZ_SLABS_AUTO, PZ_SLABS_ALWAYS } pz_slabs;

typedef struct pz_plan_options {
  pz_target target; /* all zeros: the first row of cores.inc */
  int32_t block;    /* S; 0: the target's vector width */
  bool exact;       /* only algorithms with the error of a direct sum */
  double max_error; /* relative L2 error that fast convolutions may add to the result; 0: PZ_MAX_ERROR */
  const double *
      sensitivity; /* by node: how much of a layer's relative error the result has; the caller's; NULL: all of it */
  bool unpacked; /* weights of convolutions stay zero: for plans that are only timed */
  bool sized;    /* nothing is packed, there are no weights: for plans that are only looked at */
  /* Asked when all sizes are known and before weights are packed (plan->weights is NULL); a failure ends planning. Or NULL. */
  pz_status (*admit)(void *host, const pz_plan *plan, pz_error *err);
  void *admit_host;
  pz_slabs slabs;
  int32_t threads;  /* that layers are cut for; any number can run it; 0: many */
  double memory;    /* bytes that packed weights and a run may take together; 0: any */
  double spare;     /* the part of all convolutions' time that may be given for smaller weights */
  pz_choose choose; /* NULL: the cheapest */
  void *choose_host;
} pz_plan_options;

struct pz_plan {
  pz_arena *arena; /* owned */
  const pz_graph *graph;
  const pz_target *target; /* in the arena: the options', with their block and threads */
  int32_t block;           /* S */
  bool unpacked, dry;      /* dry: nothing is packed, while alternatives are compared */
  pz_slabs slabs;
  int32_t threads;
  double memory, spare;
  double max_error;                /* of the options; 0: exact, only direct sums */
  const double *sensitivity;       /* of the options */
  const struct pz_solver **chosen; /* by node */
  int32_t *variant;                /* by node: of the chosen solver */
  pz_choice *choices;              /* by node */
  pz_storage *storages;
  int32_t n_storages, cap_storages;
  int32_t *plain, *blocked;   /* by tensor: index of its storage in that layout, -1: none yet */
  pz_gathered *gathered;      /* by tensor */
  pz_tensor_id *alias_parent; /* by tensor: the concatenation it is written into, PZ_NONE */
  int64_t *alias_channel;     /* the first map of its slice there */
  int32_t (*border_lo)[PZ_SPATIAL], (*border_hi)[PZ_SPATIAL]; /* by tensor; parent's and parts' are equal */
  pz_room *rooms;               /* by tensor: what the blocked storage made for it is to have (slide.c) */
  struct pz_slab_chain *chains; /* that could run slab by slab (slabs.h) */
  int32_t n_chains;
  bool compact; /* memory first: convolutions slide over their inputs, those by position run in parts */
  pz_buffer *buffers;
  int32_t n_buffers, cap_buffers;
  pz_step *steps;
  int32_t n_steps, cap_steps;
  float *weights; /* packed; malloc'ed, owned; NULL in plans of sizes alone */
  int64_t n_weights, cap_weights;
  int64_t
      most_weights; /* that there were at a time: rows of a layer are packed again, and dropped where they are known */
  int64_t arena_floats, worker_floats; /* shared; scratch of each worker */
  int64_t turns;                       /* where in it the counters of `turn` lie, 32 bits each */
  int32_t n_turns;
  double multiply_adds;
};

/* The graph must outlive the plan. The caller frees it with pz_plan_free (NULL is fine). */
pz_status pz_plan_new(const pz_graph *graph, const pz_plan_options *options, pz_plan **plan, pz_error *err);
/* A target without tiles where no step multiplies them: then the network file runs on machines without. */
pz_status pz_plan_spare_tiles(pz_plan *plan, pz_error *err);
void pz_plan_free(pz_plan *plan);

/* The candidate that was chosen for a node. */
static inline const pz_candidate *pz_plan_candidate(const pz_plan *plan, pz_node_id node) {
  return &plan->choices[node].candidates[plan->choices[node].chosen];
}

typedef struct pz_solver_layouts {
  pz_layout in, out;
} pz_solver_layouts;
pz_solver_layouts pz_candidate_layouts(const pz_candidate *candidate);

/* What decides how fast a convolution or deconvolution runs with a candidate, as text: equal texts need one measurement. The
 * layouts are those of the candidate's solver. */
pz_status pz_problem_text(const pz_plan *plan, const pz_node *node, const pz_candidate *candidate,
                          pz_text *out, pz_error *err);
/* The input is stored with the zero border that the kernel needs (the passes pad-inputs and pad-outputs). */
bool pz_problem_is_padded(const pz_graph *graph, const pz_node *node);

#endif
