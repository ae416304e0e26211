/* pznet.h: the public C API of pznet.
 *
 * Three things can be done: a trained network is compiled into a network file (pz_compile), a network file is
 * opened and run on patches (pz_net_*), and applied to a volume of any size (pz_infer).
 *
 * libpznet-runtime has pz_net_* and pz_infer and needs no compiler; libpznet has all of it.
 *
 * Every function that can fail returns a pz_status; the message of the last failure *of the calling thread* is
 * pz_last_message(): one line that names the place and what to do. The library never exits, aborts or prints.
 * Unless said otherwise, strings and arrays in option structs belong to the caller and need to live for the
 * call only. Option structs are initialised with their PZ_..._OPTIONS initialiser, so that later fields are 0.
 * Functions may be called from several threads at once; one pz_net runs one patch at a time (a second caller
 * waits).
 */
#ifndef PZNET_PZNET_H
#define PZNET_PZNET_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define PZ_VERSION "0.1.0"

/* Values are the exit statuses of the command. */
typedef enum pz_status {
  PZ_OK = 0,
  PZ_ERROR_RUN = 1,    /* a failure while running: the C compiler, reading, a verification that failed */
  PZ_ERROR_USAGE = 2,  /* wrong arguments */
  PZ_ERROR_INPUT = 3,  /* a bad model, network file or volume */
  PZ_ERROR_MEMORY = 4, /* out of memory, or over the limit that was given (the command exits with 1) */
  PZ_ERROR_OUTPUT = 5, /* an output that cannot be written, a full disk (the command exits with 3) */
  PZ_INTERRUPTED = 130 /* the caller's interrupt flag was set */
} pz_status;

const char *pz_version(void);
/* The message of the calling thread's last failure; "" when there was none. Valid until its next call. */
const char *pz_last_message(void);

/* Names of layers, tensors and files are any bytes. Copies one into out (`size` bytes, at least 1, with the NUL) as text that nothing obeys, neither a
 * terminal nor who reads it: controls, marks that turn the direction of writing and bytes that are not UTF-8 become \x1b, \u202e, \xff; of a
 * longer one the middle is left out. Returns out. Messages, tables and progress come so from the library; names of ports do not. */
const char *pz_printable(const char *text, char *out, int32_t size);

/* Progress of long work: `done` of `total` units (steps of compiling, problems of tuning, patches of inference). May be called from
 * any thread, never from two at once. `what` says the current step. Seconds since the start. */
typedef void (*pz_progress)(void *host, const char *what, int64_t done, int64_t total, double seconds);
/* Of the whole work, inside of such a call: the seconds that it will still take; less than 0 where that is not known, as before a tenth of
 * them have passed. */
double pz_progress_left(void);

/* ------------------------------------------------------------------ compile */

typedef struct pz_compile_options {
  /* of a Caffe network: path of a .caffemodel or .caffemodel.h5, or "init:SEED"; else NULL */
  const char *weights;
  /* the older, coarser spelling of `target`: this machine, taken to have "amx", "avx512", "avx2", "sse4" or "neon" and no more. To compile: "all", the
   * targets x86-64-v2, x86-64-v3, x86-64-v4 and sapphire-rapids in one file: of each instruction set of x86 the first row of the table */
  const char *isa;
  const char *cc;      /* C compiler; default: $CC, else gcc, else clang */
  const char *emit_c;  /* folder to keep the generated source in, made if needed; default: none */
  const char *disable; /* comma-separated names of passes to switch off */
  /* "name=1x1x18x160x160", replacing the model's, fixing symbolic sizes; n_input_shapes of them. "#2" stands for the second
   * input of an ONNX model that has none of that name. */
  const char *const *input_shapes;
  int32_t n_input_shapes;
  const char *precision; /* "default", or "exact": only algorithms with the rounding error of a direct sum */
  /* relative L2 error that fast convolutions may add to the result; 0: 1e-5. Smaller: slower (doc/accuracy.md) */
  double max_error;
  int32_t vector_block; /* S of the blocked layout; 0: the planner chooses */
  int64_t memory;       /* bytes that weights and a run may take together, or compiling fails; 0: any */
  /* chains of layers run band by band: "auto" (default): where that saves memory; "never"; "always" */
  union {
    const char *fuse_rows;
    const char *slabs; /* its older name */
  };
  /* how algorithms are chosen: "estimate": by a cost model; "measure": the likely ones of each distinct convolution are timed on this machine,
   * once, the best of them in the network itself too; "exhaustive": all of them, which may take hours. NULL: as "measure", within a `budget` */
  const char *effort;
  /* the database of times: its path, or "none"; NULL: the one of pz_tune_list. One that cannot be used is no
   * failure: the summary's "tuning" has a "note" */
  const char *tuning;
  int32_t
      threads; /* that layers are cut for, and times taken with; 0: the cores that this process may use. Any number runs the file */
  pz_progress progress; /* or NULL */
  void *progress_host;
  /* work ends soon after *interrupt becomes non-zero, C compilers too; a run of the network is waited for; or NULL */
  const volatile int *interrupt;
  /* the core that the network is planned for, such as "zen4", "sapphire-rapids" or "x86-64-v3" (pz_targets); "native" (default): this machine. One
   * that this machine is not is planned by the cost model alone, whatever `effort` says. Excludes `isa`. To compile: a list of them, "haswell,zen4",
   * makes a file with several variants, of which pz_net_open picks. Each is planned by itself, within a budget of its own; weights that they pack alike
   * are there once. */
  const char *target;
  /* "name=u8", or "u8" for all: the element types of inputs, and of outputs: f32, f16, bf16, u8, i8, u16, i16, i32. "#2=u8" stands for the
   * second. Without: those of an ONNX model, or f32 (doc/types.md). */
  const char *const *input_types, *const *output_types;
  int32_t n_input_types, n_output_types;
  /* the folder of kernels that were compiled before, or "none"; NULL: the one of pz_cache_show. One that cannot be used is no failure: the
   * summary's "kernels" has a "note" */
  const char *cache;
  /* seconds that measuring may take beyond what the estimate costs, where `bounded`; 0: nothing is measured, but times of the database count. Else 10
   * where `effort` is NULL, and any where it names one. What is worth most is measured first, and the next compilation goes on (doc/tuning.md) */
  double budget;
  bool bounded;
  /* what algorithms and layouts are chosen from: "global" (default): all; "transforms", "layout", "nchw": less, what pz_inspect_plan compares it with */
  const char *search;
  /* "LAYER=ALGORITHM", n_algorithms of them: what a layer has to have, as pz_inspect_plan names both. Others are not tried for it. */
  const char *const *algorithms;
  int32_t n_algorithms;
  /* "exact": a network file for exact tiles (doc/volumes-exact.md), which pz_infer applies to volumes so that each voxel is what the evaluation of the
   * whole volume gives. Its runs follow each other along z. NULL: one for patches as the model has them */
  const char *tiling;
  /* of such a file, "Z,Y,X" ("Y,X" of a 2D network): the voxels of the result that a run makes, multiples of the total stride; "auto": as many as
   * fit into `memory` with all that pz_infer takes, or, with `volume`, those whose runs over all of it take the least arithmetic. NULL: about as many as
   * the model's result has */
  const char *patch;
  /* of such a file, "Z,Y,X" or "Y,X": the size of the volumes that it will be applied to. Along y and x, where `patch` is no less, a run makes all of
   * the volume, which costs nothing beside the ideal; the file takes volumes of that size alone then. The manifest's "exact" says how many runs make the volume
   * ("volume_runs") and how many times the ideal arithmetic these are ("volume_times"). NULL: any */
  const char *volume;
} pz_compile_options;
#define PZ_COMPILE_OPTIONS                                                                                   \
  { 0 }

/* Compiles the model (an ONNX model, or a Caffe prototxt) into the network file `output`, which appears whole or not at all.
 * A model whose compiling, or whose run, needs more memory than there is (doc/memory-limits.md) is refused before it is taken:
 * PZ_ERROR_INPUT, with both numbers. C compilers that it starts end with the process.
 * summary (may be NULL) receives a JSON text: the manifest, timings, what was measured ("tuning"), and "notes" where there
 * are any, lines that the user should see; free it with pz_free. */
pz_status pz_compile(const char *model, const char *output, const pz_compile_options *options,
                     char **summary);

/* The names that pz_compile_options.target may have: "native, x86-64-v2, ...". A static string. */
const char *pz_targets(void);

/* What `inspect` shows: of a model (imported and optimised as `options` say), or of a network file.
 * format: "table", "json", "dot", "dot-before", "text" (the graph's text form after the passes), "text-before".
 * *out is a text that the caller frees with pz_free. */
pz_status pz_inspect(const char *model_or_network, const pz_compile_options *options, const char *format,
                     char **out);

/* The plan of a model: for each layer what was chosen and what else there was, the conversions between layouts, and what layouts, conversions and
 * the search bring beside convolutions in NCHW (NeoCPU, Table 3), as expected; runs > 0: the network is compiled in each of these ways, and
 * measured, so many runs of each in turn on options->threads threads. json: as a JSON text. *out: free it with pz_free. */
pz_status pz_inspect_plan(const char *model, const pz_compile_options *options, int32_t runs, bool json,
                          char **out);

/* The same as pz_inspect as a page for a browser, one HTML file that needs nothing else: the graph before and after the passes, the steps of the
 * plan with shapes, algorithms and shares, the arena over the steps. runs: the network is run so often and its steps are
 * timed, on options->threads threads (a model is compiled for that, and forgotten); 0: shares are those of the expected cost. The file
 * `output` appears whole or not at all. */
pz_status pz_inspect_page(const char *model_or_network, const pz_compile_options *options, int32_t runs,
                          const char *output);

void pz_free(void *memory); /* frees what this header says is freed with pz_free; NULL is fine */

/* ------------------------------------------------------------------ network files */

typedef struct pz_net pz_net;

/* Of an element. A half (PZ_F16) is its 16 bits, and so is a bfloat16 (PZ_BF16), which files of volumes do not have; a PZ_BOOL is a
 * byte, false where it is 0. Networks take and give PZ_F32, PZ_F16, PZ_BF16 and integers of 8 and 16 bits, and PZ_I32. */
typedef enum pz_dtype {
  PZ_F32 = 0,
  PZ_U8,
  PZ_U16,
  PZ_I16,
  PZ_I8,
  PZ_U32,
  PZ_I32,
  PZ_U64,
  PZ_I64,
  PZ_F16,
  PZ_F64,
  PZ_BOOL,
  PZ_BF16
} pz_dtype;

/* An input or output, described. `name` lives as long as the net. dim: N, C, then spatial (z, y, x). */
typedef struct pz_port {
  const char *name;
  pz_dtype dtype;
  int32_t rank;
  int64_t dim[5];
  int64_t elements, bytes;
  /* An element e stands for the number scale * (e - zero_point); 1 and 0 where elements are the numbers. */
  float scale;
  int32_t zero_point;
} pz_port;

typedef struct pz_net_options {
  int32_t threads; /* 0: the cores that this process may use (affinity mask and cgroup quota) */
  bool no_pin;     /* threads are bound to cores unless set */
  /* The file is mapped, and its pages are shared by all processes that do so, instead of being copied to memory of the net's own, which is
   * faster. Nobody may write to it while it is open: a run of a file that was written to is PZ_ERROR_INPUT, and one of a file
   * that was cut may end the process (SIGBUS). Another file may take its place under its name. */
  bool share_weights;
  /* Any other file is refused: the SHA-256 that it must have, 64 hexadecimal digits; NULL: none is asked for. */
  const char *digest;
  /* Of a file with several variants (pz_compile_options.target) which may be picked: an instruction set, "avx2": none that needs more; or a target,
   * "zen4": its variant alone. NULL: as the environment variable PZNET_TARGET says; where that is empty or not set, any. A name that leaves
   * none: PZ_ERROR_INPUT. */
  const char *target;
} pz_net_options;
#define PZ_NET_OPTIONS                                                                                       \
  { 0 }

/* Opens a network file, which is a program: open only what you would run. Of several variants the best one that this machine has is picked
 * (doc/targets.md), and no code of the others runs. It is read once, and checked (ELF, manifest, ABI
 * version, instruction sets, the checksum of all its bytes) before any of its code runs; all memory that running needs is taken. What
 * was read is what runs: the file may be overwritten, cut or removed afterwards (but see share_weights). options may be NULL. On
 * success the caller closes *net with pz_net_close; on failure *net is NULL. */
pz_status pz_net_open(const char *path, const pz_net_options *options, pz_net **net);
void pz_net_close(pz_net *net); /* NULL is fine */

int32_t pz_net_inputs(const pz_net *net);
int32_t pz_net_outputs(const pz_net *net);
pz_status pz_net_input(const pz_net *net, int32_t index, pz_port *port);
pz_status pz_net_output(const pz_net *net, int32_t index, pz_port *port);
int32_t pz_net_threads(const pz_net *net);
/* JSON; lives as long as the net. Of a file with several variants: what the picked one's own file would say, with "variants", a row for each, and
 * "variant", the index of its row. */
const char *pz_net_manifest(const pz_net *net);
/* SHA-256 of the file that was opened, 64 hexadecimal digits; computed when it is first asked for. Lives as long as the net. */
pz_status pz_net_digest(pz_net *net, const char **digest);
/* Bytes that the net holds for running (arena, workers' scratch and state), without its code and weights. */
int64_t pz_net_memory(const pz_net *net);

/* Runs the network once. inputs[i] and outputs[i] are dense, in C order, of the ports' types and shapes, owned by the
 * caller, any alignment; an output must not overlap an input. Allocates nothing. Same bits for any number of
 * threads. */
pz_status pz_net_run(pz_net *net, const void *const *inputs, void *const *outputs);

/* Networks for exact tiles keep a state from run to run, that of a stream: zero when the net is opened. Zeroes it
 * again, after a run that is in progress. */
void pz_net_reset(pz_net *net);

/* Of a network file for exact tiles (pz_compile_options.tiling): the planes of a stream, some at a time. `planes` are the next ones of a column, as large as the
 * first input says, with zeros where they lie outside of the volume; `results` receives as many. place: z, y and x of where the column's results begin,
 * multiples of the sizes of the output; z grows by the output's planes from call to call, from a stream's first on. volume: the volume's size. A stream
 * begins behind pz_net_reset. What of `planes` and `results` is which voxel, and how many calls go by before the first result, the manifest's "exact" says: planes are
 * voxels place + first .., results those of place + result ... Where no layer reaches along z, and of a 2D network, nothing is kept from call to call: calls may
 * come in any order. PZ_ERROR_INPUT: it is no such file. */
pz_status pz_net_stream(pz_net *net, const int64_t place[3], const int64_t volume[3], const void *planes,
                        void *results);

/* One step of the network's plan and what it took. Strings live as long as the net. */
typedef struct pz_step_profile {
  const char *name, *op, *algorithm;
  double multiply_adds, bytes; /* a run; the direct algorithm's */
  double seconds;              /* median over the profiled runs */
} pz_step_profile;
/* Runs the network `runs` times on the given inputs and fills steps[0..pz_net_steps()-1]. */
int32_t pz_net_steps(const pz_net *net);
pz_status pz_net_profile(pz_net *net, const void *const *inputs, void *const *outputs, int32_t runs,
                         pz_step_profile *steps);

/* Runs a network file once on arrays in .npy files: inputs[i] for its i-th input (C order; of the input's shape, leading
 * dimensions of 1 may be missing), outputs[i] receives its i-th output. An input of float32 takes numbers of any pz_dtype; one of another
 * type takes that type alone. An output has the output's type. bfloat16 is float32 in files. Outputs appear whole or not at all. Numbers of files must be those of the network. */
pz_status pz_run_files(const char *network, int32_t threads, const char *const *inputs, int32_t n_inputs,
                       const char *const *outputs, int32_t n_outputs);

/* The same with an open network, whose threads count. */
pz_status pz_net_run_files(pz_net *net, const char *const *inputs, int32_t n_inputs,
                           const char *const *outputs, int32_t n_outputs);

/* Times the network: warm-up runs, then timed runs, on a seeded random input. *json receives a report (medians, spread,
 * effective GFLOP/s, the multiply-add peak measured in the same run, a row for each step); free with pz_free. */
pz_status pz_bench(const char *network, int32_t threads, int32_t runs, int32_t warmup, char **json);
pz_status pz_bench_net(pz_net *net, int32_t runs, int32_t warmup,
                       char **json); /* the same with an open network */

/* The stored self-test's input through the network file, compared with the stored result. With `model` (may be NULL; `options` as
 * when compiling) every tensor is compared with the double-precision reference, layer by layer. *report: JSON, also
 * where the comparison failed (PZ_ERROR_RUN); free with pz_free. */
pz_status pz_verify(const char *network, const char *model, const pz_compile_options *options,
                    int32_t threads, char **report);
/* The same of a file that is opened as `net` says (NULL: the defaults). Of a file with several variants, where neither net->target nor PZNET_TARGET names
 * any, all are verified that this machine can run: the report has "target" and "isa" of the first that it is of, and of the others in "variants" a report
 * each. pz_verify is this one. */
pz_status pz_verify_file(const char *network, const pz_net_options *net, const char *model,
                         const pz_compile_options *options, char **report);
/* The same with an open network, its variant. */
pz_status pz_verify_net(pz_net *net, const char *model, const pz_compile_options *options, char **report);

/* ------------------------------------------------------------------ the cache of compiled kernels */

/* Kernels that compiling has left for later: a network whose kernels are all there calls the C compiler for its list of steps alone. `folder` NULL:
 * `objects` in $PZNET_CACHE_DIR, else in $XDG_CACHE_HOME/pznet, else in ~/.cache/pznet. It grows to $PZNET_CACHE_SIZE (1G), then what lies there
 * longest unused goes.
 * *json: "folder", "kernels" (a network's list of steps counts as one), "objects" (files of kernels that were compiled together), "bytes", "limit"; of pz_cache_clear what was removed. The
 * caller frees it with pz_free. */
pz_status pz_cache_show(const char *folder, char **json);
pz_status pz_cache_clear(const char *folder, char **json);

/* ------------------------------------------------------------------ the tuning database */

/* What compiling has measured, so that each candidate is timed once on a machine. `database` is its path; NULL: tuning.sqlite in
 * $PZNET_CACHE_DIR, else $XDG_CACHE_HOME/pznet, else ~/.cache/pznet, which is empty where it is not there yet. A damaged
 * database, and one that was named and is not there: PZ_ERROR_INPUT. */

/* *json: the database's path, the signature of this pznet's solvers, and the measurements; those that this pznet does not use,
 * made by other solvers, are "stale". Free with pz_free. */
pz_status pz_tune_list(const char *database, char **json);

/* All measurements as JSON lines, an object a line. The file appears whole or not at all. */
pz_status pz_tune_export(const char *database, const char *file, int64_t *count);

typedef struct pz_tune_counts {
  int64_t read;   /* measurements in the file */
  int64_t stored; /* of them, those that were not there or are newer than what was */
  int64_t stale;  /* of those read, those of other solvers than ours */
} pz_tune_counts;
/* Takes in such a file, all of it or nothing; a bad line is PZ_ERROR_INPUT, its message begins with file:line:column. */
pz_status pz_tune_import(const char *database, const char *file, pz_tune_counts *counts);

typedef struct pz_tune_fit_options {
  bool stale; /* measurements of other solvers than this pznet's count too */
  const char
      *to; /* a file for the fits as rows of pznet's own source (src/target/cost_models.inc); NULL: none */
} pz_tune_fit_options;
#define PZ_TUNE_FIT_OPTIONS                                                                                  \
  { 0 }
/* Fits the cost model to what the database has of this CPU, for each instruction set and number of threads by itself. The fit is kept beside the
 * database (its path and ".costs"); compiling with that database goes by it: what `estimate` chooses, and what is measured first. The same
 * measurements give the same fit. *json (may be NULL): how near expected costs are before and behind the fit, of all candidates and of each algorithm's:
 * "rank", "regret" and more; "unseen" is told of problems that a fit has not seen. Free with pz_free. No measurements of this
 * CPU, or too few: PZ_ERROR_INPUT. options NULL: the defaults. */
pz_status pz_tune_fit(const char *database, const pz_tune_fit_options *options, char **json);

/* Removes all measurements and fits, or the measurements that are stale. *removed: how many; -1 where the database was damaged and is removed
 * whole. */
pz_status pz_tune_clear(const char *database, bool stale, int64_t *removed);

typedef struct pz_tune_options {
  double budget;        /* seconds after which no new measuring begins; 0: until all is measured */
  const char *effort;   /* as in pz_compile_options: "measure" (default) or "exhaustive" */
  const char *database; /* NULL: the default one */
  const char *
      cc; /* the C compiler that the network will be compiled with, for which times count; NULL: as in pz_compile_options */
  const char *cache;    /* of kernels, as in pz_compile_options */
  int32_t threads;      /* to time with; 0: as many as the network was compiled for */
  pz_progress progress; /* or NULL */
  void *progress_host;
  const volatile int *interrupt; /* as in pz_compile_options */
  const char *
      target; /* as in pz_net_options: of a file with several variants, which is tuned; NULL: the one that this machine runs */
} pz_tune_options;
#define PZ_TUNE_OPTIONS                                                                                      \
  { 0 }

/* Measures what the tuning database does not know yet of a network's problems, those first that are most worth it. Every later
 * pz_compile of the model, with any weights and the options that it was compiled with, chooses by that. The network file alone is needed: it carries its graph without weights (doc/tuning.md).
 * None of its code runs. What is measured is kept at once, whatever ends the work. Several processes may do so at a time.
 * A file that carries no graph, or was planned for a machine that this one is not: PZ_ERROR_INPUT. options may be NULL. *json (may be NULL), also after
 * PZ_INTERRUPTED: "problems" of the network that are worth measuring, "left" of them (null after an interrupt), "measured" now with "candidates" in "seconds", "noisy" of these;
 * "layers" that have a choice; "faster" of them now have a faster candidate than the file, and all "saved" of the time of layers, from 0 to 1. Free with pz_free. */
pz_status pz_tune_network(const char *network, const pz_tune_options *options, char **json);

/* ------------------------------------------------------------------ volumes */

typedef enum pz_blend { PZ_BLEND_CONSTANT, PZ_BLEND_GAUSSIAN, PZ_BLEND_BUMP } pz_blend;
typedef enum pz_normalize {
  PZ_NORMALIZE_AUTO,
  PZ_NORMALIZE_NONE,
  PZ_NORMALIZE_UNIT,
  PZ_NORMALIZE_ZSCORE
} pz_normalize;
typedef enum pz_border { PZ_BORDER_MIRROR, PZ_BORDER_ZERO } pz_border;
/* What becomes of not-a-numbers and infinities. ERROR: the run ends, in the input with PZ_ERROR_INPUT, in the network's output
 * with PZ_ERROR_RUN. PROPAGATE: they are handed on, in the output too. ZERO: those of the input become 0, those of the output
 * are an error. */
typedef enum pz_nan { PZ_NAN_ERROR, PZ_NAN_PROPAGATE, PZ_NAN_ZERO } pz_nan;
typedef enum pz_store {
  PZ_STORE_F32,
  PZ_STORE_U8,
  PZ_STORE_ARGMAX,
  PZ_STORE_THRESHOLD,
  PZ_STORE_U16,
  PZ_STORE_F16
} pz_store;
/* A function of the blended values, before they are stored. SOFTMAX: over the channels of a voxel. */
typedef enum pz_apply { PZ_APPLY_NOTHING, PZ_APPLY_SIGMOID, PZ_APPLY_SOFTMAX } pz_apply;
/* Whose result is reproduced: where patches lie, their weights, what is beyond the volume (doc/volumes-tilings.md). */
typedef enum pz_tiling {
  PZ_TILING_PZNET,
  PZ_TILING_MONAI,
  PZ_TILING_NNUNET,
  PZ_TILING_CHUNKFLOW,
  PZ_TILING_EXACT /* of a network file that was compiled so, of which PZ_TILING_PZNET means the same; without overlap, blend, border and crop */
} pz_tiling;
/* What overlapping patches are summed in. AUTO: floats that suffice; half precision for nnU-Net, which sums so. */
typedef enum pz_sums { PZ_SUMS_AUTO, PZ_SUMS_FLOAT, PZ_SUMS_HALF } pz_sums;

/* Of pz_infer_options, what counts instead of the tiling's own value. With PZ_TILING_PZNET all of them always count. */
enum {
  PZ_GIVEN_OVERLAP = 1,
  PZ_GIVEN_BLEND = 2,
  PZ_GIVEN_BORDER = 4,
  PZ_GIVEN_CROP = 8,
  PZ_GIVEN_CONTEXT = 16
};
#define PZ_MIRROR_ALL    UINT32_MAX
#define PZ_MOST_ENSEMBLE 31

/* A part of a volume: voxels start..start+size-1 along z, y and x, of every channel. */
typedef struct pz_box {
  int64_t start[3], size[3]; /* z, y, x; sizes are at least 1 */
} pz_box;

typedef struct pz_infer_options {
  /* z, y, x: voxels that neighbouring output patches share; each less than the output patch */
  int32_t overlap[3];
  pz_blend blend;
  pz_normalize
      normalize; /* AUTO: UNIT for u8, else NONE; a network whose input is not f32 takes the volume as it is: AUTO or NONE */
  /* beyond the volume, for networks whose output is smaller than their input and for small volumes */
  pz_border border;
  pz_nan nan;
  /* F32 (where the output is of integers and `apply` is nothing, these, as they are); U8: probabilities times 255, rounded and clipped; ARGMAX: index of the greatest of several channels, u8;
   * THRESHOLD: 1 where the value is greater than `threshold`, else 0, for each channel, u8; U16: probabilities times 65535, as U8;
   * F16: the half nearest to the 32-bit value, of two the even one; finite values beyond 65504 become that and count as clipped. NIfTI has no
   * half: PZ_ERROR_USAGE */
  pz_store store;
  bool skip_zero; /* patches whose input is all zero are not run; their output is 0 */
  /* go on from the finished work beside the output, if there is any; do nothing where the output is whole and of this
   * network, volume and options */
  bool resume;
  /* bytes for everything; 0: what there is (limits and control groups count: doc/memory-limits.md). Refused with the number needed
   * when it does not suffice */
  int64_t memory;
  int32_t threads; /* 0: as pz_net_open */
  pz_progress progress;
  void *progress_host;
  /* ends within one patch, keeps what is finished for resume, PZ_INTERRUPTED */
  const volatile int *interrupt;
  /* called once before work starts: patches, shapes, estimated peak bytes */
  void (*planned)(void *host, const char *json);
  void *planned_host;
  pz_tiling tiling;
  uint32_t given; /* PZ_GIVEN_... */
  /* where above 0: the overlap as a part of the output patch, below 1, instead of `overlap` */
  double overlap_part[3];
  int32_t crop[3]; /* voxels at each end of z, y, x that the result is without; its origin moves along */
  /* test-time augmentation: the mean over all combinations of flips of these axes of the network;
   * bit i: its i-th spatial axis; PZ_MIRROR_ALL: all of them */
  uint32_t mirror_axes;
  pz_sums sums;
  const char *digest; /* as in pz_net_options: any other network file is refused */
  pz_apply apply;
  float threshold;
  bool no_overwrite; /* an output that exists is refused, PZ_ERROR_OUTPUT */
  /* of an input that is a file. axes: which axis is which, the slowest first, as "zyxc", instead of what the file says; letters t, c, z,
   * y and x; axes of length 1 may be left out. at: one of several time points or channels, counted from 0, as "t=3" or
   * "t=3,c=0". NULL: as the file says, all channels */
  const char *axes, *at;
  /* a dataset of the output's name in an HDF5 file that holds others too may be replaced; without it that is PZ_ERROR_USAGE */
  bool update;
  /* The part of the volume that the result is of; all zero: all of it; a size of 0 goes to the volume's end. What is read around it, and
   * every voxel of it, is as in a run of the whole volume. One that is not inside the volume: PZ_ERROR_USAGE. */
  pz_box box;
  /* with PZ_GIVEN_CONTEXT: the box and so many voxels around it (z, y, x), where the volume has them, are tiled as if there were nothing else;
   * statistics too are of these alone */
  int32_t context[3];
  /* Other networks whose results are averaged with the first one's, patch by patch (doc/volumes-ensembles.md): `ensemble_size` of them, at most
   * PZ_MOST_ENSEMBLE. pz_infer takes paths, `ensemble`; pz_net_infer open networks, `ensemble_nets`, each of them once, which stay the caller's.
   * Their ports must be the first one's but for the names, or it is PZ_ERROR_INPUT. `digest` is of the first one alone. */
  const char *const *ensemble;
  struct pz_net *const *ensemble_nets;
  int32_t ensemble_size;
  /* The voxels that are wanted, those that are not 0 in this volume, which has one channel and the shape of the input, or it is PZ_ERROR_INPUT;
   * NULL: all (doc/volumes-masks.md). Elsewhere the result is 0. Patches of which no voxel is wanted are not run. With a path in it, or callbacks, which
   * are called from the caller's thread; it is read by boxes, and options->resume wants an identity of it as of the input's. */
  const struct pz_volume_reader *mask;
  /* Of an output that is a file: "gzip" or "gzip:LEVEL" (1, the default, to 9) compresses it, in HDF5 (shuffle and deflate) and TIFF; "none" or
   * NULL: not. Values are the same. The run's planes are collected uncompressed beside the output and compressed when all are there.
   * PZ_ERROR_USAGE for other formats and for callbacks. */
  const char *codec;
  /* A picture in this file, "out.png", of the middle plane along z of what the result is of (the first channel) and of the result's beside it:
   * pz_preview_write. Its plane of the input is read for it once more, in the caller's thread. It is written when the result is whole: what fails there is
   * PZ_ERROR_OUTPUT and leaves the result. Of a callback's result that was taken before options->resume there is none, as "notes" say. NULL: no picture. */
  const char *preview;
} pz_infer_options;
#define PZ_INFER_OPTIONS                                                                                     \
  { 0 }

/* Applies a network file (one input, one output, batch 1) to a volume. One whose input is not f32 takes a volume of that type alone. One
 * whose output is of whole numbers (scale 1), as labels are, is refused where patches overlap. input and output: "stack.tif", "stack.h5:/dataset",
 * "stack.nii.gz", "stack.npy"; a network of C input channels takes a volume [C, z, y, x] (or [z, y, x] for C = 1). The
 * output is [K, z, y, x] ([z, y, x] for K = 1 or ARGMAX) and appears under its name only when it is whole.
 * An output that exists is replaced; an HDF5 file that holds other things keeps them and gets the dataset beside them, see
 * `update`. Voxel size, unit, origin and affine travel from the input to the output; what the output's
 * format cannot hold is named in the report's "notes". *report (may be NULL): JSON with counts (of "clipped" values and of those
 * "not_finite", too), times and peak memory, and "rounded" where values of the volume are not exact in float32; free with
 * pz_free. */
pz_status pz_infer(const char *network, const char *input, const char *output,
                   const pz_infer_options *options, char **report);

/* A volume that is read box by box through a callback, or a path. The callback fills `voxels`, which are the library's and must not be
 * used after it returns, in this machine's byte order. Voxel (c, z, y, x), counted from the box's first one, goes to voxels +
 * c * stride[0] + z * stride[1] + y * stride[2] + x * the bytes of an element; strides are bytes. False: pz_net_infer ends with
 * PZ_ERROR_RUN.
 * The callback is called from one thread, not the caller's. Boxes come in the order of z, block by block: where memory suffices for whole planes
 * of what is asked for, in which case there is one block, each voxel is asked for once (with PZ_NORMALIZE_ZSCORE twice, the first time in the
 * caller's thread). A box takes as much memory as is counted for a copy of it. */
typedef struct pz_volume_reader {
  const char *path; /* or NULL: the rest counts */
  pz_dtype dtype;
  int32_t channels;
  int64_t shape[3]; /* z, y, x */
  bool (*read)(void *host, const pz_box *box, void *voxels, const int64_t stride[3]);
  void *host;
  /* the box that is best read at once, from a multiple of it on, as a chunk. 0: one plane along z, all along y and x. Planes are asked for up to
   * multiples of step[0]; along y and x it is a wish */
  int64_t step[3];
  /* z, y, x, in `unit` ("nm"; NULL or "": pixels); all above 0, or not known. What the result says of itself follows from it */
  double voxel_size[3];
  const char *unit;
  bool has_origin; /* of the first voxel's centre: */
  double origin[3];
  /* which volume it is, and in which state, in words: what must be the same where work goes on (options->resume); NULL: not known */
  const char *identity;
} pz_volume_reader;

/* Where a result goes: a callback, or a path. `voxels` lie as a reader's do, and are to be copied; float32, or what options->store says.
 * The boxes do not overlap, and together are the result. Each begins at a multiple of `step` along every axis, and ends at one or with the result.
 * The callback is called from one thread, not the caller's. False: pz_net_infer ends with PZ_ERROR_RUN. */
typedef struct pz_volume_writer {
  const char *path; /* or NULL */
  bool (*write)(void *host, const pz_box *box, const void *voxels, const int64_t stride[3]);
  void *host;
  int64_t step[3]; /* the box that is written at once, as a chunk or a shard; 0: any */
  /* for options->resume: a path, beside which a folder, the path and ".pznet-job", has what the callback has taken: when it returns, a box must outlast
   * the process. It goes when the work is done. NULL: none */
  const char *job;
} pz_volume_writer;

/* pz_infer with an open network, whose threads count, and volumes that need not be files. options->resume wants both to be
 * files, or a reader with an identity and a writer with a job. */
pz_status pz_net_infer(pz_net *net, const pz_volume_reader *input, const pz_volume_writer *output,
                       const pz_infer_options *options, char **report);

/* A plane of a volume and the same plane of a result of it, for a picture. */
typedef struct pz_preview {
  int64_t height, width; /* of both; at least 1 */
  const float *plane;    /* [height][width] */
  const void *result;    /* [channels][height][width] */
  pz_dtype dtype;        /* of the result */
  int32_t channels;
  /* The result is of labels: 0 is none, others have a colour each; of several channels, channel c is label c + 1 where it is not 0, the last counts. Otherwise values:
   * 0 to 1, those of u8 and u16 0 to 255 and 65535, where some are beyond that the 1st to the 99th percentile; one channel grey, two and three
   * red, green and blue, of more the first */
  bool labels;
} pz_preview;

/* Writes a PNG with both beside each other, scaled down by a whole factor to at most 1024 pixels along each side: the plane in grey from its 1st to
 * its 99th percentile, where pixels are means; labels over the grey; pixels of the result are the voxel in the middle of their square. The file
 * appears whole or not at all. Pointers are not kept. PZ_ERROR_USAGE: the name does not end with ".png", sizes below 1; PZ_ERROR_OUTPUT: it cannot be written. */
pz_status pz_preview_write(const char *path, const pz_preview *preview);

/* A volume as pz_volume_describe sees it: JSON with format, dtype, shape, "step" (the box that is best read at once: z, y, x), "sequential"
 * where going back means to begin anew and, where they are known, "voxel_size" and "origin" (z, y, x)
 * in "unit" ("" for pixels) and "affine" (from x, y, z in voxels to the world's); "notes" say what of it was not taken. Free with
 * pz_free. */
pz_status pz_volume_describe(const char *path, char **json);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
