/* network_abi.h: the contract between a network file and whoever loads it.
 *
 * A network file is an ELF shared object that needs libc and libm alone. It exports one symbol,
 * `pz_network`, which returns a constant description of the network. It starts no threads and allocates
 * nothing: the host hands it an arena, a state, an executor, and the input and output buffers.
 *
 * The manifest (JSON) lies in the ELF section ".pznet.manifest", which is not loaded: it is read from the
 * file, before the file is loaded, by hosts that want to check ABI version and instruction sets first.
 *
 * A file may have the network several times, each compiled for another instruction set: its variants. `pz_network` describes the
 * first, which needs the least. The manifest's "variants" names for each its instruction set and the "symbol" to call in place of
 * `pz_network`. Code of no other variant runs then.
 */
#ifndef PZNET_NETWORK_ABI_H
#define PZNET_NETWORK_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PZ_ABI_VERSION          2
#define PZ_ABI_SYMBOL           "pz_network"
#define PZ_ABI_MANIFEST_SECTION ".pznet.manifest"
#define PZ_ABI_WEIGHTS_SECTION  ".pznet.weights"
#define PZ_ABI_CHECKSUM         "file_checksum" /* in the manifest: of the whole file, put in after linking */
#define PZ_ABI_MAX_RANK         5
#define PZ_ABI_MAX_VARIANTS     16
#define PZ_ABI_NO_TILES         1 /* of run: the system does not let this process use AMX tiles; nothing was run */

/* Of elements; the numbers are those of pz_dtype in pznet.h. F16 and BF16 are their 16 bits, a BOOL is a byte. */
enum {
  PZ_ABI_F32 = 0,
  PZ_ABI_U8,
  PZ_ABI_U16,
  PZ_ABI_I16,
  PZ_ABI_I8,
  PZ_ABI_U32,
  PZ_ABI_I32,
  PZ_ABI_U64,
  PZ_ABI_I64,
  PZ_ABI_F16,
  PZ_ABI_F64,
  PZ_ABI_BOOL,
  PZ_ABI_BF16,
  PZ_ABI_TYPES
};

/* An input or an output of the network: dense, C order: N, C, then spatial dimensions.
 * An element e stands for the number scale * (e - zero_point). Scale is finite and above 0; 1 and 0 where elements are the numbers, as
 * those of no integer type are. The zero point is an element of its type, and 0 where elements have more than 16 bits. */
typedef struct pz_abi_port {
  const char *name;
  int32_t type;
  int32_t rank;
  int64_t dim[PZ_ABI_MAX_RANK];
  float scale;
  int32_t zero_point;
} pz_abi_port;

/* Where a tensor lies while it is alive, so that a host can look at it after the step that made it.
 * Element (n, c, d, h, w) of the tensor begins at byte
 *   offset + n*stride_n + (c/block)*stride_c + d*stride_d + h*stride_h + w*stride_w + (c%block)*(bytes of the type)
 * of the arena (space PZ_ABI_ARENA), of the caller's output buffer `index` (PZ_ABI_OUTPUT) or of the state (PZ_ABI_STATE).
 * Offset and strides are bytes. Tensors of fewer than three spatial dimensions have d = h = 0 in front. */
enum { PZ_ABI_ARENA = 0, PZ_ABI_OUTPUT = 1, PZ_ABI_STATE = 2 };
typedef struct pz_abi_tensor {
  const char *name;
  int32_t type;
  int32_t rank;
  int64_t dim[PZ_ABI_MAX_RANK];
  float scale; /* of elements, as a port's */
  int32_t zero_point;
  int32_t space, index, block;
  int64_t offset, stride_n, stride_c, stride_d, stride_h, stride_w;
} pz_abi_tensor;

/* One step of the plan: an operator with the algorithm that was chosen for it.
 * needs: the steps that must have finished before this one begins, ascending, all of them earlier. Where step a must have finished
 * before step b, because b reads or overwrites what a wrote or overwrites what a read, a is among the needs of b, or of a
 * step that b needs, and so on. */
typedef struct pz_abi_step {
  const char *name;      /* the layer's name */
  const char *op;        /* the operator's name, as in the graph's text form */
  const char *algorithm; /* the solver and its schedule, in words */
  double multiply_adds;  /* of the direct algorithm; 0 where the operator has none */
  double bytes;          /* read and written once each */
  int32_t tensor;        /* index of its first output in `tensors`, -1 if it has none there */
  int32_t n_needs;
  const int32_t *needs;
} pz_abi_step;

/* Threads, lent by the host. `run` calls task(arg, worker) once for every worker in 0..workers-1, on
 * distinct threads that run concurrently, and returns when all have returned. `barrier` is called by all
 * workers, from inside a task. */
typedef struct pz_abi_executor {
  void *host;
  int32_t workers;
  void (*run)(void *host, void (*task)(void *arg, int32_t worker), void *arg);
  void (*barrier)(void *host, int32_t worker);
} pz_abi_executor;

/* One run of the network. All pointers belong to the caller and outlive the call.
 * arena: at least arena_bytes + workers*worker_bytes, aligned to arena_align; its contents do not matter.
 * state: state_bytes, aligned to state_align; NULL where these are 0. It is zero before the first run and keeps its contents from run to
 * run; zeroed again, the network begins anew. Two runs at a time need two states.
 * inputs[i], outputs[i]: as the ports say; outputs must not overlap inputs.
 * executor: NULL runs everything on the calling thread.
 * step_ns: NULL, or n_steps entries to which the wall time of each step is added, in nanoseconds; without what `observe` takes.
 * observe: NULL, or called by worker 0 after each step while the other workers wait. */
typedef struct pz_abi_call {
  void *arena;
  void *state;
  const void *const *inputs;
  void *const *outputs;
  const pz_abi_executor *executor;
  int64_t *step_ns;
  void (*observe)(void *host, int32_t step);
  void *observe_host;
} pz_abi_call;

typedef struct pz_abi_network {
  uint32_t abi_version; /* PZ_ABI_VERSION; the fields below hold for this version only */
  uint32_t struct_bytes;
  /* bytes of a row of each table: a file and a host that count them differently do not fit */
  uint16_t port_bytes, tensor_bytes, step_bytes, call_bytes;
  uint64_t arena_bytes;  /* shared by all workers */
  uint64_t worker_bytes; /* for each worker, after the shared part */
  uint64_t arena_align;
  uint64_t state_bytes, state_align; /* align is a power of 2 where bytes is not 0 */
  int32_t n_inputs, n_outputs, n_tensors, n_steps;
  const pz_abi_port *inputs, *outputs;
  const pz_abi_tensor *tensors;
  const pz_abi_step *steps;
  int32_t (*run)(const pz_abi_call *call); /* 0, or PZ_ABI_NO_TILES: nothing else can fail */
} pz_abi_network;

/* The one exported function. The result is constant and lives as long as the library is loaded. */
typedef const pz_abi_network *(*pz_abi_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
