/* calls.h: a volume that is read through the caller's callbacks. */
#ifndef PZ_FORMATS_CALLS_H
#define PZ_FORMATS_CALLS_H

#include "formats/volume.h"

/* `reader` must outlive the volume. Closed with pz_volume_close. */
pz_status pz_volume_from_calls(const pz_volume_reader *reader, pz_volume **volume, pz_error *err);

#endif
