/* api.h: what the public functions that join the modules share. The public functions: import, optimise, plan,
 * emit, run. The only module that includes both the compiler half and the runtime. */
#ifndef PZ_API_API_H
#define PZ_API_API_H

#include "base/json.h"
#include "graph/graph.h"
#include "planner/planner.h"
#include "runtime/file_checksum.h"

/* A model, imported and optimised. Free with pz_model_free. */
typedef struct pz_model {
  pz_arena *arena;
  pz_graph *before, *after; /* as imported; as optimised */
  char digest[65];          /* SHA-256 of the model file, its weights file or seed, in hexadecimal */
  json_t *passes;           /* [{"name", "changes"}] */
  pz_json json;             /* of what was built so far */
  pz_text notes;            /* lines of the importer that the user should see */
  /* Of options->tiling: what the manifest says of the network's locality, and of its tiles; in the arena. NULL: it was left as it is. */
  const char *locality, *exact;
} pz_model;

pz_status pz_model_load(const char *path, const pz_compile_options *options, pz_model *model, pz_error *err);
void pz_model_free(pz_model *model);

extern const char *const pz_search_names[PZ_SEARCHES]; /* of pz_compile_options.search */
/* The target, block and bounds that the options ask for. */
pz_status pz_plan_wanted(const pz_compile_options *options, pz_plan_options *wanted, pz_error *err);
/* The plan that the network file will have: where the options do not name an instruction set, no tiles without need. */
void pz_plan_settle(const pz_compile_options *options, pz_plan *plan);

/* What has candidates with errors and times. */
static inline bool pz_is_convolution(const pz_node *node) {
  return node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV;
}

/* An ELF file, so no model. */
pz_status pz_is_network(const char *path, bool *network, pz_error *err);

/* What a network file says (the caller: json_decref), read without loading it: of several variants that of options->target, else of the one that this machine
 * runs, else of the first (runtime/variant.h). *digest: its SHA-256, in the arena. */
pz_status pz_shown_manifest(pz_arena *arena, const char *path, const pz_compile_options *options,
                            json_t **manifest, char **digest, pz_error *err);

/* The self-test: the network file on its seeded input. JSON: seed, and for each output its SHA-256, its L2 norm
 * and sampled values. Free *json with free. */
pz_status pz_self_test_run(pz_net *net, char **json, pz_error *err);
/* Compares a self-test's text with another: bits_equal where all digests are equal; difference: the greatest
 * relative difference of the samples. */
pz_status pz_self_test_compare(const char *stored, const char *now, bool *bits_equal, double *difference,
                               pz_error *err);

/* Opens a network file that was just linked, before it has its checksum. */
pz_status pz_open_compiled(const char *network, int32_t threads, pz_net **net, pz_error *err);
/* The same, the variant of this target. */
pz_status pz_open_compiled_variant(const char *network, const char *target, pz_net **net, pz_error *err);

/* Puts the checksum of a network file that was just linked into its manifest (runtime/file_checksum.h). checksum: its digits; digest: the SHA-256
 * of the file with them. */
pz_status pz_add_file_checksum(const char *network, char checksum[PZ_FILE_CHECKSUM_DIGITS + 1],
                               char digest[PZ_DIGEST_TEXT], pz_error *err);

/* $TMPDIR, or /tmp. */
const char *pz_temporary_parent(void);
/* A new folder there: its absolute path, in the arena; NULL: none. What processes that were ended have left is removed before, and it itself by
 * pz_folder_remove, or, where this process is ended first, by the next that makes one (folder.c). */
typedef struct pz_folder {
  const char *path;
  int lock; /* held as long as the process lives */
} pz_folder;
pz_status pz_folder_new(pz_arena *arena, pz_folder *folder, pz_error *err);
void pz_folder_remove(pz_folder *folder);
/* `to` appears whole or not at all. */
pz_status pz_copy_file(const char *from, const char *to, pz_error *err);

/* What the elements of a network's input or output are. */
pz_element pz_port_element(const pz_net *net, bool input, int32_t index);

/* Buffers for all inputs (seeded; uniform in [-1, 1), or over all of an integer's range) and outputs of a network. Free with
 * pz_patch_free. */
typedef struct pz_patch {
  int32_t n_inputs, n_outputs;
  void **inputs, **outputs; /* elements */
} pz_patch;
/* The numbers that the elements of an input or output stand for; the caller: free. NULL: there is no memory. */
float *pz_patch_values(const pz_net *net, const pz_patch *patch, bool input, int32_t index);
#define PZ_SELF_TEST_SEED 20181
float pz_next_uniform(uint64_t *state);
pz_status pz_patch_new(const pz_net *net, uint64_t seed, pz_patch *patch, pz_error *err);
void pz_patch_free(pz_patch *patch);

/* What fails after Ctrl-C is no news, whatever it was: the status and *err of work that was interrupted, of which `what` says what it was. */
pz_status pz_interrupted_end(const volatile int *interrupt, const char *what, pz_status status,
                             pz_error *err);
/* Ends a public function: keeps the message for pz_last_message. */
pz_status pz_public_end(pz_status status, const pz_error *err);

/* A JSON text as the caller gets it (pz_free), or a memory error, also where building the object failed. The object is released. */
pz_status pz_json_out(const pz_json *j, json_t *object, char **text, pz_error *err);

/* The multiply-add peak of `threads` threads in GFLOP/s (2 a multiply-add): independent fused multiply-adds on
 * registers with the widest vectors of this CPU (peak.c). */
double pz_measure_peak(int threads, double seconds);

#endif
