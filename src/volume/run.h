/* run.h: one run of the engine, and its result's files. */
#ifndef PZ_VOLUME_RUN_H
#define PZ_VOLUME_RUN_H

#include "base/forecast.h"
#include "volume/facts.h"
#include "volume/finished.h"
#include "volume/job.h"
#include "volume/picture.h"
#include "volume/stages.h"

/* Parts of a run that are told of, in their order. */
typedef enum pz_run_part { PZ_RUN_STATISTICS, PZ_RUN_PATCHES, PZ_RUN_WRITING } pz_run_part;

/* Everything a run is about. */
typedef struct pz_run {
  pz_arena *arena;
  const pz_patch_function *function;
  pz_volume *input, *mask; /* mask: NULL where there is none; the run's own */
  const pz_infer_options *options;
  pz_engine_tuning tuning;
  const pz_volume_writer *sink;  /* takes the result; NULL: a file, through a job */
  const pz_volume_writer *taker; /* where there is a preview: the caller's, behind ... */
  pz_volume_writer through;      /* ... this, which `sink` is then */
  pz_picture picture;
  pz_volume_path output;
  int level;               /* of the output's compression; 0: none */
  bool joins;              /* the output is a file that has other things too */
  pz_error taken;          /* it has a dataset of this name, which is not to be replaced; "": none */
  const char *output_name; /* as the user wrote it */
  pz_normalize normalize;
  pz_run_layout layout;
  pz_facts facts;
  pz_job *job;
  pz_window window;
  pz_stages *stages;
  const char *result_path; /* where the raw planes are collected */
  int64_t result_offset;
  int64_t first_block; /* blocks before it are finished and recorded */
  int64_t first_layer; /* of the block that is at work: layers before it are finished and recorded */
  int64_t first_plane; /* of a result that a callback takes: planes of the first block that it has taken */
  int64_t from;        /* planes before it are written */
  pz_engine_counts counts;
  int64_t done;    /* patches, for the progress */
  bool state_lost; /* of a stream: the patch before was not run */
  int64_t stored;  /* parts of the result, handed to the writer */
  double begun, patch_seconds;
  pz_forecast forecast;
  bool published;            /* the result has its name */
  bool finished;             /* before: nothing is done */
  pz_finished_places places; /* of what is finished */
  char stale[256];           /* why an output that is there is made anew by --resume; "": there is none */
  bool hopeless;             /* going on would end as this run does: nothing is kept */
} pz_run;

/* For the host: progress, and whether it wants an end. */
void pz_run_tell(pz_run *r, pz_run_part part, int64_t done, int64_t total);
bool pz_run_interrupted(const pz_run *r);

/* Makes the file of finished planes, or finds that of the job that is resumed. */
pz_status pz_run_open_result(pz_run *r, pz_error *err);
/* The result takes its name in one step, after all of it is on the disk. */
pz_status pz_run_publish(pz_run *r, pz_error *err);
/* Whether the input and the mask still are what they were; before a result appears. */
pz_status pz_run_confirm(const pz_run *r, pz_error *err);
/* Which datasets the result and the input are in `path`, the output's file or what is about to be it. False: not known. */
bool pz_run_locate(const pz_run *r, const char *path, pz_finished_places *places);
pz_status pz_run_damaged(const pz_run *r, pz_error *err);

#endif
