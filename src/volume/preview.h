/* preview.h: the picture of a run (pz_infer_options.preview). */
#ifndef PZ_VOLUME_PREVIEW_H
#define PZ_VOLUME_PREVIEW_H

#include "volume/run.h"

/* Without a preview all of these do nothing. Before the work: refuses what could not be written. What a callback takes goes through the picture
 * from then on. */
pz_status pz_run_begin_preview(pz_run *r, pz_error *err);
/* When all planes are there, and before the result's file has its name: takes the planes that are shown. */
pz_status pz_run_take_preview(pz_run *r, pz_error *err);
/* When the result is whole. */
pz_status pz_run_write_preview(pz_run *r, pz_error *err);

#endif
