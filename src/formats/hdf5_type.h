/* hdf5_type.h: the types of volumes' elements as HDF5 has them. */
#ifndef PZ_FORMATS_HDF5_TYPE_H
#define PZ_FORMATS_HDF5_TYPE_H

#include "base/dtype.h"

#include <hdf5.h>

/* Whether it is one of the types of volumes, to the last bit, and the other byte order. Of enumerations, h5py's bool is one:
 * FALSE and TRUE, of a byte. */
bool pz_hdf5_known_type(hid_t type, pz_dtype *dtype, bool *swap);

/* A type in this machine's byte order; the caller closes it. Negative where the library fails. */
hid_t pz_hdf5_make_type(pz_dtype dtype);

/* "an integer of 12 of 16 bits": for messages. */
void pz_hdf5_describe_type(hid_t type, char *out, int size);

#endif
