/* emit.h: plan to readable C, the call of the C compiler, the network file. */
#ifndef PZ_EMIT_EMIT_H
#define PZ_EMIT_EMIT_H

#include "plan/plan.h"

typedef struct pz_emit_options {
  const char *cc;      /* NULL: $CC, else gcc, else clang */
  const char *keep;    /* folder for the source, or NULL: a temporary one that is removed */
  const char *command; /* what made it, for the front matter */
  const char *model_digest;
  const volatile int *interrupt;
} pz_emit_options;

/* Writes network.c, weights.bin, manifest.json and the kernels' headers into `folder`. */
pz_status pz_emit_source(const pz_plan *plan, const pz_emit_options *options, const char *folder, pz_error *err);
/* Source, compiler, network file at `output` (whole or not at all). */
pz_status pz_emit_network(const pz_plan *plan, const pz_emit_options *options, const char *output, pz_error *err);

#endif
