/* builder.h: what a solver is given to write into: calls of kernels, packed weights, scratch. */
#ifndef PZ_PLAN_BUILDER_H
#define PZ_PLAN_BUILDER_H

#include "kernels/view.h"
#include "plan/problem.h"
#include "plan/shape_text.h"

#define PZ_ALIGN 64 /* bytes: buffers, packed weights, scratch */

/* What a pointer argument of a kernel call points into. WEIGHTS: an offset in the packed weights. SCRATCH: each worker's own,
 * without contents from step to step. STATE: the network's own from run to run, zero before the first. */
typedef enum pz_space {
  PZ_SPACE_NULL,
  PZ_SPACE_ARENA,
  PZ_SPACE_INPUT,
  PZ_SPACE_OUTPUT,
  PZ_SPACE_WEIGHTS,
  PZ_SPACE_SCRATCH,
  PZ_SPACE_STATE
} pz_space;
typedef struct pz_pointer {
  pz_space space;
  int32_t index; /* ARENA: buffer; INPUT, OUTPUT: port */
  int64_t
      offset; /* bytes from the start of the buffer, port, weights or state to the view's element (0,0,0,0,0) */
} pz_pointer;

/* What a NCHWc storage has room for: points in front of the tensor's first and behind its last one along depth, height and width,
 * border included, and blocks of channels; lanes: where it lies channels-last (view.h), those of a point, else 0. h_major: each row of the height,
 * of all blocks and planes, in one piece. */
typedef struct pz_extent {
  int32_t lo[PZ_SPATIAL], hi[PZ_SPATIAL], lanes;
  int64_t blocks;
  bool h_major;
} pz_extent;

/* Where a tensor lies in one of its layouts. */
typedef struct pz_storage {
  pz_tensor_id tensor; /* PZ_NONE: there is none */
  pz_pointer at;
  pz_view view;       /* strides count elements */
  pz_element element; /* of the tensor; what is not of floats lies NCHW */
  bool owner; /* the buffer was made for this tensor, or for one that it replaces, and holds nothing else */
  pz_extent extent; /* of owners */
} pz_storage;

/* Moments of a tensor, collected by the convolution that makes it (kernels/norm); units 0: they are not. */
typedef struct pz_norm_stats {
  pz_pointer at;
  int32_t units; /* of each block */
} pz_norm_stats;

/* Of a tensor that lies as it was before its normalisation, which the one that reads it does: act((x - center) * factor + term), with the
 * vectors of kernels/norm/shape.h at `at`. PZ_SPACE_NULL: it lies as it is. */
typedef struct pz_norm_pending {
  pz_pointer at;
  pz_activation act;
} pz_norm_pending;

/* A node's operands as placed. They may be rows of the tensors, which then are the problem. */
typedef struct pz_placed {
  const pz_storage *in, *out; /* by slot; in: of those that are computed, out: of those that are no views */
  pz_storage pooled;        /* of the epilogue's pooling, where the candidate does it; else tensor PZ_NONE */
  pz_norm_stats norm_stats; /* of in[0] */
  pz_norm_pending pending;  /* of in[0] */
  bool low_memory;          /* memory comes first */
} pz_placed;

typedef struct pz_arg {
  const char *name; /* the kernel's parameter: "in", "weights", "out", ... */
  bool written;
  pz_pointer at;
  pz_dtype type; /* of what it points at, as its C type says */
  bool listed;   /* neighbours that are listed reach the kernel as one array of pointers */
} pz_arg;
#define PZ_CALL_ARGS 16
/* A family's mask of ways (kernels/ways.h). */
typedef struct pz_call_way {
  const char *name; /* of the macro */
  uint32_t mask;
} pz_call_way;
enum { PZ_CALL_WAYS = 3 };
/* One call of a kernel: `function((function_shape){shape}, args..., worker, workers)`. Calls with the same
 * function, shape and arguments' names share one specialised instance in the generated code.
 * shape: its text (plan/shape_text.h); sizes[i], which stand there by that name, are handed to the kernel. */
typedef struct pz_call {
  const char *header, *function, *shape;
  const int64_t *sizes;
  int32_t n_sizes;
  pz_arg args[PZ_CALL_ARGS];
  int32_t n_args;
  bool after_all; /* begins when all workers have finished the step's calls before it */
  /* The header's macro that makes NAME_functions, an argument, of a shape NAME; where that has sizes, of a function NAME(sizes) that returns it,
   * and the kernel is given them too; or NULL. */
  const char *functions;
  pz_call_way ways[PZ_CALL_WAYS]; /* that its kernel takes, of each family that tells them */
  int32_t n_ways;
  int32_t chunk_counter; /* its counter in a worker's scratch, where workers steal its chunks; else -1 */
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

/* Where calls go. The plan is the framework's. */
typedef struct pz_builder {
  struct pz_plan *plan;
  pz_step *step;
  bool dry;                 /* sizes alone are counted: there is no room for weights */
  bool unpacked;            /* weights stay zero: for plans that are only timed */
  pz_norm_stats norm_stats; /* set by a solver that collects the result's moments */
} pz_builder;

/* A stretch of the arena for `n` elements of a type, 64-byte aligned, that belongs to the steps whose calls are given it. */
pz_status pz_add_buffer(pz_builder *b, pz_dtype type, int64_t n, pz_pointer *at, pz_error *err);
/* Room for so many packed weights, zeroed, 64-byte aligned; *data is valid until the next call. NULL where sizes alone are
 * counted: nothing is packed then. */
pz_status pz_add_weights(pz_builder *b, pz_dtype type, int64_t n, pz_pointer *at, void **data, pz_error *err);
/* Scratch of each worker: all steps share it, so there is as much as the greediest step wants. */
pz_pointer pz_add_scratch(pz_builder *b, pz_dtype type, int64_t n);
/* A stretch of the state, 64-byte aligned: zero before the first run, then what the run before has left. */
pz_pointer pz_add_state(pz_builder *b, pz_dtype type, int64_t n);
/* A vector over channels (bias, slope, ...), padded with zeros to whole blocks, as packed weights; PZ_SPACE_NULL
 * where the operand is absent or NULL. One value is spread over all `c` channels. */
pz_status pz_add_channel_vector(pz_builder *b, const pz_operand *operand, int64_t c, pz_pointer *at,
                                pz_error *err);

/* A call; `shape` is the text between the braces of the kernel's shape struct. The text is taken over and freed. */
pz_status pz_add_call(pz_builder *b, const char *header, const char *function, pz_text *shape,
                      const pz_arg *args, int32_t n_args, pz_error *err);
/* Of the call that was added last: the ways of a family, whose macro is `name`, that its kernel takes; PZ_CALL_WAYS families at most. */
void pz_call_ways(pz_builder *b, const char *name, uint32_t mask);
/* The call that was added last begins when all workers have finished those before it. */
void pz_call_after_all(pz_builder *b);
/* The call that copies or converts between two storages of equal sizes, whatever their layouts and types. */
pz_status pz_add_copy_call(pz_builder *b, const pz_storage *from, const pz_storage *to, pz_error *err);
/* Adds the call that zeroes the border of `s`, if it has any. The framework does so for each output of a node. */
pz_status pz_add_border_call(pz_builder *b, const pz_storage *s, pz_error *err);
pz_status pz_set_algorithm(pz_builder *b, pz_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* `n` elements of a type further on. A null pointer stays one. */
static inline pz_pointer pz_pointer_behind(pz_pointer at, pz_dtype type, int64_t n) {
  if (at.space != PZ_SPACE_NULL) at.offset += n * pz_dtype_bytes(type);
  return at;
}
/* The storage begins `n` elements further on. */
static inline void pz_storage_move(pz_storage *s, int64_t n) {
  s->at = pz_pointer_behind(s->at, s->element.type, n);
}

#endif
