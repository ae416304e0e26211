/* finished.h: what a finished output remembers of the run that made it, so that --resume need not make it again.
 *
 * The facts of the run and the output's own size and time of change are an extended attribute of the output,
 * "user.pznet.finished": it appears and goes with the file, is moved with it, and leaves the file's bytes alone. Where the
 * file system has no attributes, a run with --resume writes them to a file beside the output, "<output>.pznet-finished". An
 * output that was changed since, or copied without them, is not known to be finished. Where the volume lies is not compared:
 * it may be mounted elsewhere.
 *
 * A file with several datasets has a record of each, the newest first. A run that puts one more into a copy of the file takes
 * over the records that were true of the old one. Datasets are told apart by their places in the file, since they may have several
 * names. A volume in the output's file is known by its place too: every result that joins it changes the file's size, time and
 * digest, and leaves the volume as it is. */
#ifndef PZ_VOLUME_FINISHED_H
#define PZ_VOLUME_FINISHED_H

#include "volume/facts.h"

/* What is where in the output's file. */
typedef struct pz_finished_places {
  uint64_t output; /* the result; 0: it is the file */
  uint64_t input;  /* the volume; 0: it is not in this file */
} pz_finished_places;

typedef struct pz_finished_run {
  const pz_facts *facts;
  pz_job_tally tally;
  pz_finished_places places;
  bool unknown;      /* the places are not known: nothing is said of this run */
  bool joins;        /* the records of the old file go on */
  uint64_t replaced; /* but those of the dataset that was here, and of what was made from it; 0: none */
} pz_finished_run;

/* `whole` is about to be renamed to `output`. Cannot fail: what is not remembered is made again. True: it is in a file beside
 * the output, and pz_finished_settle is to follow. */
bool pz_finished_remember(const char *whole, const char *output, const pz_finished_run *run, bool beside);
/* Whether `output` is there now; until then the old file beside it stays. */
void pz_finished_settle(const char *output, bool published);

/* Whether `output` is there, whole, and of this run: then *tally is what the run counted. Otherwise `why` says how it differs,
 * as in "the overlap was 0 and is 4 now"; it is empty where there is no file. */
bool pz_finished_find(const char *output, pz_finished_places places, const pz_facts *facts,
                      pz_job_tally *tally, char *why, size_t size);

/* Whether the bits of a result in the file depend on the fact. */
bool pz_finished_counts(pz_finished_places places, const pz_job_fact *fact);

#endif
