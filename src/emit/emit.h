/* emit.h: plan to readable C, the call of the C compiler, the network file.
 *
 *   plan --pz_emit_source--> folder: network.c, kernels_NN.c, network.h, weights.c, weights.bin, kernels/ (headers)
 *        --pz_emit_manifest--> folder: manifest.json, tuning.json, manifest.c
 *        --pz_emit_compile--> folder: *.o       (several compilers at a time, one for each usable core)
 *        --pz_emit_link--> a network file
 * Of a network file with several variants each plan has a folder in `folder`, without weights.c and manifest.c, which are of all:
 *
 *   plans --pz_shared_weights_add--> folder: weights.bin
 *   plans --pz_emit_source, pz_emit_compile--> their folders --pz_emit_add_objects, pz_emit_link_objects--> a network file
 *
 * kernels_NN.c are for reading: the same kernels are compiled in groups, some for each core (build.c), and each is compiled once where plans that are
 * compiled one after the other have one folder of objects.
 * The source is deterministic byte for byte and compiles with -Wall -Wextra -Werror under gcc and clang. It is written through code.h,
 * where names of a model are the inside of comments and strings, and nothing else.
 */
#ifndef PZ_EMIT_EMIT_H
#define PZ_EMIT_EMIT_H

#include "emit/code.h"
#include "emit/compile_work.h"
#include "emit/object_cache.h"
#include "emit/shared_weights.h"
#include "plan/plan.h"

typedef struct pz_emit_counts {
  int64_t compiled, cached; /* by the C compiler; taken from the cache */
} pz_emit_counts;

typedef struct pz_emit_options {
  const char *cc;           /* NULL: $CC, else gcc, else clang, whichever is found */
  const char *model;        /* the source model's name, for the front matter */
  const char *model_digest; /* SHA-256 in hexadecimal of the model and its weights */
  const char *disabled;     /* passes that were switched off, or NULL */
  const volatile int *interrupt;
  void (*tick)(void *host); /* called ten times a second while the C compiler runs; or NULL */
  void *tick_host;
  bool bare;           /* the kernels' headers are not written: the folder has them, from another plan */
  const char *objects; /* a folder, its path absolute, where objects of kernels are kept, of one compiler */
  /* Objects of earlier compilations, for which it must be known which compiler this is: pz_compiler_installed (base/compiler.h). Both or neither. */
  pz_object_cache *cache;
  const char *compiler;
  pz_emit_counts *counts; /* of kernels, added to; or NULL */
  pz_compile_work *work;  /* what the C compiler has to do, for who tells of it; or NULL */
  const char *tuning;     /* the text of the section .pznet.tuning (api/tuning_section.h), or NULL: none */
  /* JSON texts: of a network for exact tiles what it depended on before (locality.h; NULL: as the plan's graph does), and of its tiles (NULL: it has
   * none), which pz_infer reads */
  const char *locality, *exact;
  const pz_weights_map
      *weights;    /* of a variant: where its weights lie among those of all; NULL: they are the plan's own */
  int32_t variant; /* its index: it is called pz_network, pz_network_1, .. */
} pz_emit_options;

pz_status pz_emit_source(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                         pz_error *err);
/* self_test: JSON text of the self-test, or NULL; see src/api/self_test.c. *json (may be NULL): the manifest, in the
 * plan's arena. */
pz_status pz_emit_manifest(const pz_plan *plan, const pz_emit_options *options, const char *self_test,
                           const char *folder, const char **json, pz_error *err);
/* The same text, not written. */
pz_status pz_emit_manifest_text(const pz_plan *plan, const pz_emit_options *options, const char *self_test,
                                const char **json, pz_error *err);
/* The files of both sections in the folder; tuning: NULL: none. */
pz_status pz_emit_sections(pz_arena *arena, const char *folder, const char *manifest, const char *tuning,
                           pz_error *err);
/* weights.c in the folder, of the weights.bin that is there. */
pz_status pz_emit_weights_source(pz_arena *arena, const char *folder, pz_error *err);
/* What compiling its kernels is expected to cost (compile_work.h), but for those that the cache has. */
pz_status pz_emit_costs(const pz_plan *plan, const pz_emit_options *options, double *cost, pz_error *err);
pz_status pz_emit_compile(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                          pz_error *err);
/* Links the folder's objects into `output` (written directly: the caller moves it to its place). */
pz_status pz_emit_link(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                       const char *output, pz_error *err);

/* Its objects, a line each: of its kernels, and `network`, its network.o as seen from the folder that is linked in. */
pz_status pz_emit_add_objects(const pz_plan *plan, const pz_emit_options *options, const char *network,
                              pz_text *list, pz_error *err);
/* Compiles the folder's manifest.c and, where `weights`, its weights.c, and links them with the objects of the list. `plan`: any of those that
 * are linked. */
pz_status pz_emit_link_objects(const pz_plan *plan, const pz_emit_options *options, const char *folder,
                               const pz_text *list, bool weights, const char *output, pz_error *err);

/* ---- inside the module ---- */

/* Kernel calls grouped by (function, shape, argument names): each group is one specialised function. Its name has digits of a
 * digest of its C and of what that is compiled for. */
enum { PZ_EMIT_DIGITS = 10 };
typedef struct pz_instance {
  const pz_call *call; /* one that has it */
  char digits[PZ_EMIT_DIGITS + 1];
} pz_instance;
typedef struct pz_instances {
  pz_instance *all;
  int32_t count;
  int32_t *of_call; /* by running number of the call, in the order of steps and calls */
} pz_instances;
pz_status pz_emit_instances(const pz_plan *plan, pz_arena *arena, pz_instances *out, pz_error *err);
/* C of a kernel whose name has these digits. */
void pz_emit_kernel(pz_code *code, const pz_call *call, const char *digits);
/* The headers that `n` kernels need, once each. */
void pz_emit_headers(pz_code *code, const pz_plan *plan, const pz_instance *kernels, int32_t n);
int64_t pz_emit_arena_bytes(const pz_plan *plan);

/* What a step reads or an output is: results of steps, inputs of the network as -1 - index. */
typedef struct pz_sources {
  int32_t *of, n;
} pz_sources;
/* By step, by output of the graph; in the arena. */
pz_status pz_emit_flow(const pz_plan *plan, pz_arena *arena, pz_sources **steps, pz_sources **outputs,
                       pz_error *err);

/* By step: the steps that must have finished before it begins, ascending, without those that follow from others; in the arena. */
pz_status pz_emit_needs(const pz_plan *plan, pz_arena *arena, pz_sources **steps, pz_error *err);

/* The kernels' headers, embedded in the library (headers.S, generated by CMake). */
typedef struct pz_embedded {
  const char *path; /* "kernels/vec.h" */
  const char *begin, *end;
} pz_embedded;
extern const pz_embedded pz_embedded_headers[];
extern const int pz_embedded_header_count;

const char *pz_emit_compiler(const pz_emit_options *options);

#endif
