/* mask.h: the voxels of a result that are wanted: those that are not 0 in a volume of the input's shape.
 *
 * Patches of whose result no voxel is wanted are not run, and what is stored is 0 where a voxel is not wanted. So a voxel that is wanted has all
 * its patches, and the bits of a run without a mask. The mask is read beside the sums, planes of the block's result at a time. */
#ifndef PZ_VOLUME_MASK_H
#define PZ_VOLUME_MASK_H

#include "volume/blend.h"
#include "volume/patch.h"

/* Opens options->mask; *mask is closed with pz_volume_close, and NULL where there is none. PZ_ERROR_INPUT: it is not of the input's shape, or
 * has channels. */
pz_status pz_mask_open(const pz_infer_options *options, const pz_volume *input, pz_volume **mask,
                       pz_error *err);

/* Fills layout->mask. whole_steps: as the input is read (run_layout.c). */
void pz_mask_lay_out(const pz_volume *mask, bool whole_steps, const pz_engine_tuning *tuning,
                     pz_run_layout *layout);
int64_t pz_mask_ring_bytes(const pz_run_layout *layout, const pz_volume *mask);
/* All that it takes but for a row of each worker; 0 where there is none. */
int64_t pz_mask_bytes(const pz_run_layout *layout, const pz_volume *mask);

/* Reads what layer k of window->block wants to know; layers come in their order. */
pz_status pz_mask_read(pz_window *window, int64_t k, pz_error *err);
/* Whether patch (k[0], k[1], k[2]) is not needed: no voxel of its result is wanted, nor of those behind it in its stream that need its state. */
bool pz_mask_leaves_out(const pz_window *window, const int64_t k[3]);

/* Of a row of the block's result, 1 where a voxel is wanted and else 0, in window->inside; NULL: all are. */
const uint8_t *pz_mask_row(const pz_window *window, int64_t z, int64_t y, int32_t worker);
/* Makes what is not wanted 0: of sums, so that nothing is told of them, and of what was stored, in channels of elements. */
void pz_mask_sums(const uint8_t *inside, const pz_blend_row *row);
void pz_mask_stored(const uint8_t *inside, const pz_blend_row *row, int64_t channels, int64_t element);

#endif
