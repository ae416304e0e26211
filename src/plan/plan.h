/* plan.h: the plan of a network: problems and candidates of its nodes, where tensors lie, packed weights, steps of kernel calls, and one
 * arena with lifetimes and offsets. It is all that src/emit needs.
 *
 *   graph --problem.h--> a problem for each node
 *         --src/choose--> a candidate for each: a solver (solver.h) and its parameters
 *         --src/place--> where each tensor lies: NCHWc or NCHW, aliased into a concatenation, in place, as rows of a band
 *                        steps, each a list of kernel calls on views; weights packed as the kernels want
 *                        offsets of all buffers in one arena
 */
#ifndef PZ_PLAN_PLAN_H
#define PZ_PLAN_PLAN_H

#include "plan/builder.h"

/* A stretch of the arena and the steps (first to last, inclusive) during which it must keep its contents. With an anchor, another
 * buffer or -1, it lies `from_anchor` bytes from that one, whose contents it may overwrite. */
typedef struct pz_buffer {
  int64_t bytes, offset;
  int32_t first, last, anchor;
  int64_t from_anchor;
} pz_buffer;

/* The default: ten times below what networks of 8-bit images can tell apart. */
#define PZ_MAX_ERROR 1e-5

typedef struct pz_plan pz_plan;

/* One way to run a node: a solver with its parameters. Texts are in the plan's arena. */
typedef struct pz_candidate {
  const struct pz_solver *solver;
  pz_parameters parameters;
  double cost;       /* expected: multiply-adds of vectors at peak */
  double error;      /* expected relative L2 error of the layer's result; 0: not known */
  double added;      /* what of it the network's result is expected to have */
  double weights;    /* bytes, packed; 0: all that the node could have are as large */
  double seconds;    /* of one run, as the chooser knows it; 0: not measured */
  bool noisy;        /* it was measured beside other work */
  const char *label; /* "Winograd F(4,4,4), batches of 24"; differs among the candidates of a node */
} pz_candidate;
/* The candidates of a node, of all layouts, the cheapest by the cost model first. */
typedef struct pz_choice {
  pz_candidate *candidates;
  int32_t n, chosen;
} pz_choice;
/* Asked for each node that has several candidates; may set their seconds. Which of them is taken, whatever the costs are; or
 * PZ_BY_COST: the cost model decides, PZ_BY_TIME: the times that are there do. */
enum { PZ_BY_COST = -1, PZ_BY_TIME = -2 };
typedef int32_t (*pz_choose)(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *candidates,
                             int32_t n);

/* Chains of layers run band by band: where that saves memory and no time is lost; or wherever they can, in the smallest bands. */
/* What the search may choose from: what NeoCPU's Table 3 compares, the last row first. Convolutions that none of it applies to have all. */
typedef enum pz_search {
  PZ_SEARCH_GLOBAL,     /* all algorithms and layouts */
  PZ_SEARCH_TRANSFORMS, /* convolutions by direct sums in NCHWc, and conversions only where the layout changes */
  PZ_SEARCH_LAYOUT,     /* the same, and each convolution's result is converted to NCHW */
  PZ_SEARCH_NCHW,       /* convolutions by direct sums in NCHW */
  PZ_SEARCHES
} pz_search;

typedef enum pz_fuse_rows { PZ_FUSE_ROWS_NEVER, PZ_FUSE_ROWS_AUTO, PZ_FUSE_ROWS_ALWAYS } pz_fuse_rows;

typedef struct pz_plan_options {
  pz_target target; /* all zeros: the first row of cores.inc */
  int32_t block;    /* S; 0: the target's vector width */
  bool exact;       /* only algorithms with the error of a direct sum */
  double max_error; /* relative L2 error that fast convolutions may add to the result; 0: PZ_MAX_ERROR */
  const double *
      error_propagation; /* by node: how much of a layer's relative error the result has; the caller's; NULL: what is expected (choose/expect.h) */
  bool unpacked;         /* weights of convolutions stay zero: for plans that are only timed */
  bool sized;            /* nothing is packed, there are no weights: for plans that are only looked at */
  /* Asked when all sizes are known and before weights are packed (plan->weights is NULL); a failure ends planning. Or NULL. */
  pz_status (*admit)(void *host, const pz_plan *plan, pz_error *err);
  void *admit_host;
  pz_fuse_rows fuse_rows;
  pz_search search;
  const char *const
      *algorithms; /* "LAYER=LABEL", n_algorithms of them: what a layer has to have, whatever it costs */
  int32_t n_algorithms;
  int32_t threads;  /* that layers are cut for; any number can run it; 0: many */
  double memory;    /* bytes that packed weights and a run may take together; 0: any */
  double slack;     /* the part of all convolutions' time that may be given for smaller weights */
  pz_choose choose; /* NULL: by cost */
  void *choose_host;
} pz_plan_options;

struct pz_plan {
  pz_arena *arena; /* owned */
  const pz_graph *graph;
  pz_target target;   /* the options', with their block and threads */
  bool unpacked, dry; /* dry: nothing is packed, while alternatives are compared */
  pz_fuse_rows fuse_rows;
  pz_search search;
  double memory, slack;
  double max_error;                /* of the options; 0: exact, only direct sums */
  const double *error_propagation; /* of the options */
  const double *
      expected_propagation; /* by node: what counts where the options have none (src/choose/expect.h); NULL: all of each error */
  const pz_problem *problems; /* by node */
  pz_choice *choices;         /* by node */
  pz_storage *storages;
  int32_t n_storages, cap_storages;
  int32_t *nchw, *nchwc;      /* by tensor: index of its storage in that layout, -1: none yet */
  pz_norm_stats *norm_stats;  /* by tensor */
  pz_norm_pending *pending;   /* by tensor */
  pz_tensor_id *alias_parent; /* by tensor: the concatenation it is written into, PZ_NONE */
  int64_t *alias_channel;     /* the first channel of its slice there */
  int32_t (*border_lo)[PZ_SPATIAL], (*border_hi)[PZ_SPATIAL]; /* by tensor; parent's and parts' are equal */
  pz_extent
      *extents; /* by tensor: what the NCHWc storage made for it is to have (src/place/inplace_conv.c) */
  pz_storage *operands;         /* room for those of any node, while its calls are made */
  struct pz_band_chain *chains; /* that could run band by band (src/place/bands.h) */
  int32_t n_chains;
  bool low_memory;  /* memory first: convolutions run in place, nonfused ones in chunks */
  bool small_bands; /* as for two workers: memory is bound, and what more would like does not fit */
  pz_buffer *buffers;
  int32_t n_buffers, cap_buffers;
  pz_step *steps;
  int32_t n_steps, cap_steps;
  char *weights; /* packed; malloc'ed, owned; NULL in plans of sizes alone */
  int64_t weight_bytes, weight_capacity;
  int64_t *
      weight_blocks; /* where each packed tensor begins, ascending; it ends where the next one begins, the last at weight_bytes */
  int32_t n_weight_blocks, cap_weight_blocks;
  int64_t
      most_weight_bytes; /* that there were at a time: rows of a layer are packed again, and dropped where they are known */
  int64_t arena_bytes, worker_bytes; /* shared; scratch of each worker */
  int64_t state_bytes;               /* kept from run to run */
  int64_t chunk_counters;            /* where in it the counters of chunks lie, 32 bits each */
  int32_t n_chunk_counters;
  double multiply_adds;
};

/* The candidate that was chosen for a node. */
static inline const pz_candidate *pz_plan_candidate(const pz_plan *plan, pz_node_id node) {
  return &plan->choices[node].candidates[plan->choices[node].chosen];
}

/* Room for one more item of a list of the plan. */
pz_status pz_plan_grow(pz_plan *plan, void **items, int32_t *capacity, int32_t count, size_t size,
                       pz_error *err);
pz_status pz_new_buffer(pz_plan *plan, int64_t bytes, int32_t *index, pz_error *err);

/* The input is stored with the zero border that the kernel needs (the passes pad-inputs and pad-outputs). */
bool pz_problem_is_padded(const pz_graph *graph, const pz_node *node);

#endif
