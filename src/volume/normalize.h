/* normalize.h: not-a-numbers and infinities, and what is subtracted from and divided by on the way to the network. */
#ifndef PZ_VOLUME_NORMALIZE_H
#define PZ_VOLUME_NORMALIZE_H

#include "volume/engine.h"
#include "volume/patch.h"

/* "not a number", "infinity", "minus infinity" */
const char *pz_not_finite_name(float value);

/* Deals with not-a-numbers and infinities in planes z..z+n-1 as `nan` says; the message for PZ_NAN_ERROR names the voxel. */
pz_status pz_planes_mend(const pz_volume *volume, pz_nan nan, int64_t z, int64_t n, void *planes,
                         int64_t channel_bytes, pz_error *err);

/* Counts those of planes z..z+n-1 that float does not hold exactly. */
void pz_planes_count_rounded(const pz_volume *volume, int64_t z, int64_t n, const void *planes,
                             int64_t channel_bytes, pz_rounding *rounding);

/* AUTO resolved; refuses what makes no sense for the dtype. divided: AUTO divides all integers by their greatest value. */
pz_status pz_normalize_choose(pz_normalize wanted, bool divided, const pz_volume *volume, pz_dtype taken,
                              pz_normalize *chosen, pz_error *err);

/* Fills window->shift and window->scale. For ZSCORE this reads the whole volume through the ring, each channel on its own;
 * `step` is called with planes done and returns false to interrupt. A channel without spread is only shifted. */
typedef bool (*pz_normalize_step)(void *host, int64_t planes);
pz_status pz_normalize_prepare(pz_normalize normalize, pz_volume *volume, pz_window *window,
                               int64_t read_planes, pz_normalize_step step, void *host, pz_error *err);

#endif
