/* normalize.h: not-a-numbers and infinities, and what is subtracted from and divided by on the way to the network. */
#ifndef PZ_VOLUME_NORMALIZE_H
#define PZ_VOLUME_NORMALIZE_H

#include "volume/engine.h"
#include "volume/patch.h"

/* "not a number", "infinity", "minus infinity" */
const char *pz_not_finite_name(float value);

/* Deals with not-a-numbers and infinities in a box of the volume as `nan` says; the message for PZ_NAN_ERROR names the voxel. The planes lie
 * one after the other, channel c at c * channel_bytes. */
pz_status pz_box_mend(const pz_volume *volume, pz_nan nan, const pz_box *box, void *voxels,
                      int64_t channel_bytes, pz_error *err);

/* Counts those that float does not hold exactly, of the part of the box that is in `own`. */
void pz_box_count_rounded(const pz_volume *volume, const pz_box *box, const pz_box *own, const void *voxels,
                          int64_t channel_bytes, pz_rounding *rounding);

/* AUTO resolved; refuses what makes no sense for the dtype. divided: AUTO divides all integers by their greatest value. */
pz_status pz_normalize_choose(pz_normalize wanted, bool divided, const pz_volume *volume, pz_dtype taken,
                              pz_normalize *chosen, pz_error *err);

/* Fills window->shift and window->scale. For ZSCORE this reads all that is tiled through the ring's memory, each channel on its own;
 * `step` is called with planes done and returns false to interrupt. A channel without spread is only shifted. Rows are taken up in the order of y, planes
 * in that of z: the bits do not depend on how much is read at once. */
typedef bool (*pz_normalize_step)(void *host, int64_t planes);
pz_status pz_normalize_prepare(pz_normalize normalize, pz_volume *volume, pz_window *window,
                               pz_normalize_step step, void *host, pz_error *err);

#endif
