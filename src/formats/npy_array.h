/* npy_array.h: what a header of .npy says, as the array of a volume; for .npy files and the members of .npz. */
#ifndef PZ_FORMATS_NPY_ARRAY_H
#define PZ_FORMATS_NPY_ARRAY_H

#include "formats/npy_header.h"
#include "formats/raw.h"
#include "formats/volume.h"

/* Fills v->array and the dtype. */
pz_status pz_npy_take_array(pz_volume *v, const pz_npy *header, pz_error *err);
/* The elements behind the header; without `fetch` and `host`. */
pz_raw pz_npy_raw(const pz_volume *v, const pz_npy *header);

#endif
