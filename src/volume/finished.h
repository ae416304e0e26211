/* finished.h: what a finished output remembers of the run that made it, so that --resume need not make it again.
 *
 * The facts of the run and the output's own size and time of change are an extended attribute of the output,
 * "user.pznet.finished": it appears and goes with the file, is moved with it, and leaves the file's bytes alone. Where the
 * file system has no attributes, a run with --resume writes them to a file beside the output, "<output>.pznet-finished". An
 * output that was changed since, or copied without them, is not known to be finished. Where the volume lies is not compared:
 * it may be mounted elsewhere. */
#ifndef PZ_VOLUME_FINISHED_H
#define PZ_VOLUME_FINISHED_H

#include "volume/facts.h"

/* `whole` is about to be renamed to `output`. Cannot fail: what is not remembered is made again. */
void pz_finished_remember(const char *whole, const char *output, const pz_facts *facts, pz_job_tally tally,
                          bool beside);

/* Whether `output` is there, whole, and of this run: then *tally is what the run counted. Otherwise `why` says how it differs,
 * as in "the overlap was 0 and is 4 now"; it is empty where there is no file. */
bool pz_finished_find(const char *output, const pz_facts *facts, pz_job_tally *tally, char *why, size_t size);

#endif
