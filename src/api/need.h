/* need.h: what compiling a plan takes, computed from its sizes before anything of it is taken, and what there is. */
#ifndef PZ_API_NEED_H
#define PZ_API_NEED_H

#include "api/api.h"

/* Bytes, beyond what is taken before weights are packed. */
typedef struct pz_need {
  int64_t weights;     /* packed: the plan's, and the network's own copy where running takes the most */
  int64_t activations; /* arena, and the scratch of all workers */
  int64_t ports;       /* inputs and outputs of a run */
  int64_t compiler;    /* the C compiler's own, and the linker's, which hold the weights too */
  int64_t files;       /* in the folder of temporary files, where that is memory itself */
  int64_t total;       /* what is held at a time, at most */
  bool runs;           /* running takes the most, not the C compiler */
} pz_need;
pz_need pz_need_of(const pz_plan *plan);

/* For pz_plan_options.admit, the host is the model's path: a plan whose network cannot be compiled, or run once on this machine, is refused with
 * the bytes needed, those that are there, and what bounds them; and so is one whose files the folder of temporary files has no room for. */
pz_status pz_admit_plan(void *host, const pz_plan *plan, pz_error *err);

/* The bytes that the C compiler's files of a plan take, and whether the file system that `path` is on, or will be, has them: where not, PZ_ERROR_OUTPUT,
 * with both numbers. `what` says whose room it is. */
int64_t pz_need_files(const pz_plan *plan);
pz_status pz_check_disk(const char *path, int64_t bytes, const char *what, pz_error *err);

/* Whether work that can be left out has its memory; where not, *why says so (may be NULL). */
bool pz_need_is_there(int64_t bytes, const char *work, char *why, size_t size);

#endif
