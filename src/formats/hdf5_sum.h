/* hdf5_sum.h: the two checksums of HDF5 files. */
#ifndef PZ_FORMATS_HDF5_SUM_H
#define PZ_FORMATS_HDF5_SUM_H

#include <stdint.h>

/* Of blocks of metadata: Jenkins's lookup3 ("hashlittle", 2006) with initial value 0. */
uint32_t pz_hdf5_lookup3(const uint8_t *data, uint64_t size);
/* Of chunks: Fletcher's, over 16-bit words, high byte first. Each half counts modulo 65535. */
uint32_t pz_hdf5_fletcher32(const uint8_t *data, uint64_t size);

#endif
