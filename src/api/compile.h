/* compile.h: a network file while it is made, for the two that make one: of one target (compile.c), and of several (compile_variants.c). */
#ifndef PZ_API_COMPILE_H
#define PZ_API_COMPILE_H

#include "api/autotune.h"
#include "api/outlook.h"
#include "api/target_list.h"
#include "base/file.h"
#include "emit/emit.h"

typedef struct pz_build {
  const char *path, *output, *folder; /* where the source is made: a temporary one, or the caller's */
  pz_folder temporary, objects;
  pz_objects kernels;
  const pz_compile_options *options;
  pz_model model;
  pz_plan_options wanted;
  pz_plan *plan;
  pz_tuner tuner;
  pz_autotune *autotune;
  pz_emit_options emit;
  pz_arena *arena;
  double start, last;
  json_t *seconds;
  pz_json json; /* of `seconds` and of the summary */
  const char *manifest;
  char checksum[PZ_FILE_CHECKSUM_DIGITS + 1], file_digest[PZ_DIGEST_TEXT]; /* of the network file */
  pz_outlook outlook;
  pz_outlook_part part; /* what is told */
  bool is_variant;      /* of a file with several: the model and the folder of objects are lent */
  int64_t file_bytes;   /* that the network file has beside the plan's weights */
} pz_build;

/* Its parts, in their order. The model is loaded before. */
pz_status pz_build_plan(pz_build *b, pz_error *err);
/* The network by itself where measuring it may better the plan: errors of layers, candidates in the network. Else nothing is made. */
pz_status pz_build_improve(pz_build *b, pz_error *err);
pz_status pz_build_choose_folder(pz_build *b, pz_error *err);
/* What was made besides the source goes, and all that b owns. */
void pz_build_end(pz_build *b);

pz_status pz_build_enter(pz_build *b, pz_outlook_part part, pz_error *err);
void pz_build_timed(pz_build *b, const char *what);
/* What the compiler left in a folder that the caller keeps. */
void pz_build_remove_objects(const char *folder);

/* pz_compile where the options name several targets (target_list.h); summary: NULL: none is wanted. b: as pz_compile begins one, for what they share: arena, output,
 * model. */
pz_status pz_build_variants(pz_build *b, const pz_target_list *targets, char **summary, pz_error *err);

#endif
