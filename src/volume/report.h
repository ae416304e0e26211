/* report.h: what pz_infer says in JSON, before the work and after it. */
#ifndef PZ_VOLUME_REPORT_H
#define PZ_VOLUME_REPORT_H

#include "volume/run.h"

/* Texts for pz_free; NULL when out of memory. done: after the work, with what was counted. */
char *pz_report_print(const pz_run *run, bool done);
char *pz_report_volume(const pz_volume *volume);

#endif
