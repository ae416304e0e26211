/* caches.h: the caches as Linux describes them in a folder of its own for each core. */
#ifndef PZ_BASE_CACHES_H
#define PZ_BASE_CACHES_H

#include "base/cpu.h"

/* folder: /sys/devices/system/cpu/cpu0/cache. Sizes that it does not give stay as they are. */
void pz_caches_read(const char *folder, pz_cache_sizes *to);

#endif
