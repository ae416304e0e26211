/* facts.h: what the bits of a result depend on, in words, so that a job that is resumed can be held to them. The number of
 * threads, the limit on memory and the like are not among them. */
#ifndef PZ_VOLUME_FACTS_H
#define PZ_VOLUME_FACTS_H

#include "volume/engine.h"
#include "volume/job.h"

enum { PZ_MAX_FACTS = 48 + PZ_MOST_ENSEMBLE };

typedef struct pz_facts {
  pz_job_fact fact[PZ_MAX_FACTS];
  int n;
  const char *volume_digest, *mask_digest; /* NULL: it is no file */
} pz_facts;

/* The fact that says where the volume lies, and those that say of which bytes its file is. */
#define PZ_FACT_PLACE  "volume"
#define PZ_FACT_SIZE   "volume's size"
#define PZ_FACT_TIME   "volume's time of change"
#define PZ_FACT_DIGEST "volume's digest"
/* Where a mask lies that is a file. */
#define PZ_FACT_MASK_PLACE "mask's place"
/* Whether the output is a file or a dataset beside others, which the engine adds. */
#define PZ_FACT_BESIDE "output's place"

/* Strings live in the arena. The volume's identity is its path, size, time of change, and a digest of 64 blocks of 64 KiB
 * that are spread over the file (all of it when it is no larger); one that is no file has none. That of a mask, which may be NULL, is the same. */
pz_status pz_facts_collect(pz_arena *arena, const pz_patch_function *function, pz_volume *input,
                           pz_volume *mask, const pz_run_layout *layout, const char *dataset_out,
                           const pz_infer_options *options, pz_normalize normalize, pz_facts *facts,
                           pz_error *err);

/* The names that the command uses for the values of an enumeration. */
const char *pz_blend_name(pz_blend blend);
const char *pz_normalize_name(pz_normalize normalize);
const char *pz_border_name(pz_border border);
const char *pz_nan_name(pz_nan nan);
const char *pz_store_name(pz_store store);
const char *pz_apply_name(pz_apply apply);
const char *pz_tiling_name(pz_tiling tiling);

#endif
