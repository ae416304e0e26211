/* stages.h: the threads that read and write while the caller computes. */
#ifndef PZ_VOLUME_STAGES_H
#define PZ_VOLUME_STAGES_H

#include "volume/job.h"
#include "volume/patch.h"

typedef struct pz_stages pz_stages;

typedef struct pz_stages_input {
  pz_volume *volume;
  int64_t first_block;
  int64_t first_plane; /* of the view, that is needed of it; the end of the block's input: none is */
  int64_t read_planes; /* at once */
  bool count_rounded;  /* values that float does not hold exactly */
} pz_stages_input;

typedef struct pz_stages_output {
  pz_job *job;
  const pz_volume_writer *sink; /* takes the planes; NULL: the job's files do, as follows */
  pz_job *planes_job;           /* where it is recorded what the sink has taken; or NULL */
  const char *result_path;      /* raw planes go here ... */
  int64_t result_offset;        /* ... from here on */
  int64_t first_layer;          /* of the first block, those before it are recorded as finished */
  int64_t base;                 /* layers of the blocks before that one: what a job counts is behind them */
  double record_seconds;
} pz_stages_output;

/* Begins to read, block after block, into the window, which must outlive the stages; nobody else reads the volume until they are stopped. What *stages is given is to be
 * stopped, after a failure too. */
pz_status pz_stages_start(pz_window *window, const pz_stages_input *input, pz_stages **stages, pz_error *err);
/* Makes the writer ready; before anything is put. What it writes to must outlive the stages. */
pz_status pz_stages_begin_writing(pz_stages *stages, const pz_stages_output *output, pz_error *err);
/* Ends both threads: lets what was handed to the writer be written and recorded first (also after a failure elsewhere),
 * frees, and returns the first failure of either thread. `counts` gets their seconds and what was rounded. NULL is fine. */
pz_status pz_stages_stop(pz_stages *stages, pz_engine_counts *counts, pz_error *err);

/* Waits until input planes up to the count `last` (pz_window_count) are in the ring. */
pz_status pz_stages_wait_input(pz_stages *stages, int64_t last, double *waited, pz_error *err);
/* Input planes before the count `first` are not needed any more. */
void pz_stages_release(pz_stages *stages, int64_t first);

/* Waits until buffer `which` (of window->out, or of window->store) may be written to. */
pz_status pz_stages_wait_patch(pz_stages *stages, int which, double *waited, pz_error *err);
pz_status pz_stages_wait_store(pz_stages *stages, int which, double *waited, pz_error *err);

/* Hands things of window->block to the writer, in the order of the work: patch `index` of a layer, whose result is window->out[which]
 * (which = -1: it was skipped and is zero); a part of the result in window->store[which]; the end of a layer. `needed`: layers
 * before it are not needed for resuming any more; tally: of all layers up to it. A sink gets planes: its parts must have all layers. */
void pz_stages_put_patch(pz_stages *stages, int64_t layer, int64_t index, int which);
void pz_stages_put_part(pz_stages *stages, const pz_part *part, int which, pz_job_tally tally);
void pz_stages_put_layer(pz_stages *stages, int64_t layer, int64_t needed, pz_job_tally tally);

/* The first of the layers that are needed to resume at `layer`. */
int64_t pz_layers_needed(const pz_axis *z, int64_t layer);

#endif
