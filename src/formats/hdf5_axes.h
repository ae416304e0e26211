/* hdf5_axes.h: what the attributes of a dataset say of its axes: "axistags" of vigra and ilastik, DIMENSION_LABELS of HDF5's
 * dimension scales, "axes" with a letter for each. */
#ifndef PZ_FORMATS_HDF5_AXES_H
#define PZ_FORMATS_HDF5_AXES_H

#include "formats/hdf5_find.h"
#include "formats/volume.h"

/* Fills the letters of v->array, which has its sizes. */
pz_status pz_hdf5_find_axes(const pz_hdf5_search *search, hid_t data, pz_volume *v);

#endif
