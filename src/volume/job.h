/* job.h: the folder beside an output, "<output>.pznet-job", in which unfinished work lies.
 *
 *   job.db       SQLite: the facts that the result's bits depend on, and how far the work is. A commit is on the disk
 *                before it returns; SQLite's lock keeps a second process out.
 *   result.raw   the result's finished planes. For formats that are laid out in advance this is the output itself
 *                with its header, which is renamed in the end.
 *   row-K.raw    what the network gave for the patches of layer K (patches with the same z), one after the other, float32,
 *                so that a layer that was interrupted is summed again and not computed again.
 *
 * Order of writing: data, fsync, then the record in job.db. What is recorded can therefore be relied on after a power
 * failure; what is not recorded is computed again. */
#ifndef PZ_VOLUME_JOB_H
#define PZ_VOLUME_JOB_H

#include "base/arena.h"
#include "base/status.h"

/* Something that must be the same when a job is resumed. */
typedef struct pz_job_fact {
  const char *name, *value;
  bool input; /* a network or a volume, not an option: PZ_ERROR_INPUT instead of PZ_ERROR_USAGE */
} pz_job_fact;

typedef struct pz_job pz_job;

/* Without `resume`, an old job is thrown away. With it, an old job is gone on with if all facts are the same, refused
 * (naming the first that differs) if not. On success the caller closes *job. */
pz_status pz_job_open(const char *output, bool resume, const pz_job_fact *facts, int n, pz_job **job,
                      pz_error *err);
bool pz_job_resumed(const pz_job *job);
void pz_job_close(pz_job *job); /* the work stays; NULL is fine */
/* Removes the work and closes the job. Files are removed by name: a folder with anything else in it stays. */
void pz_job_remove(pz_job *job);

/* The path of a file in the folder; NULL when out of memory. Lives as long as the job. */
const char *pz_job_path(pz_job *job, const char *name);
bool pz_job_layer_path(const pz_job *job, int64_t layer, char *out, size_t size); /* false: it does not fit */

/* Numbers and texts that are remembered; false when there is none. */
bool pz_job_get(pz_job *job, const char *name, char *value, int size);
pz_status pz_job_set(pz_job *job, const char *name, const char *value, pz_error *err);

/* What is told at the end of the values of the result. */
typedef struct pz_job_tally {
  int64_t clipped, not_finite;
} pz_job_tally;

/* How far the work is, recorded as one: layers before `layer` are finished and their planes written; of the layers
 * first..layer, layer k has patches[k - first] recorded in layer-k.raw. Recorded layers before `first` are forgotten and
 * their files removed. */
typedef struct pz_job_progress {
  int64_t layer, first, layers; /* layers: entries of patches */
  const int64_t *patches;
  pz_job_tally tally; /* of the layers before `layer` */
} pz_job_progress;
pz_status pz_job_record(pz_job *job, const pz_job_progress *progress, pz_error *err);
/* Of a result that a callback takes: so many planes of a block, and all blocks before it, are taken. */
pz_status pz_job_record_planes(pz_job *job, int64_t block, int64_t planes, pz_job_tally tally, pz_error *err);
/* As recorded last; 0 and 0 for a new job. */
void pz_job_planes(pz_job *job, int64_t *block, int64_t *planes);
/* The layer that was recorded last, 0 for a new job; and the recorded patches of a layer. */
int64_t pz_job_layer(pz_job *job);
int64_t pz_job_patches(pz_job *job, int64_t layer);
pz_job_tally pz_job_tallied(pz_job *job); /* as recorded last */

#endif
