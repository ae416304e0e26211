/* report.h: what pz_infer says in JSON, before the work and after it. */
#ifndef PZ_VOLUME_REPORT_H
#define PZ_VOLUME_REPORT_H

#include "volume/facts.h"

/* Texts for pz_free; NULL when out of memory. counts and facts are NULL before the work. */
char *pz_report_print(const pz_patch_function *function, const pz_volume *input, const char *output,
                      const pz_arrangement *plan, const pz_engine_counts *counts, const pz_facts *facts);
char *pz_report_volume(const pz_volume *volume);

#endif
