/* calls.h: a volume that is read through the caller's callbacks. */
#ifndef PZ_VOLUME_CALLS_H
#define PZ_VOLUME_CALLS_H

#include "volume/volume.h"

/* `reader` must outlive the volume. Closed with pz_volume_close. */
pz_status pz_volume_from_calls(const pz_volume_reader *reader, pz_volume **volume, pz_error *err);

#endif
