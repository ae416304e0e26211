/* h5_chunks.h: the numbers of a chunked HDF5 dataset, as floats.
 *
 * The library hands out the stored bytes of each chunk and converts its numbers; filters are undone by
 * formats/hdf5_filters.h, which says why. */
#ifndef PZ_IMPORT_CAFFE_H5_CHUNKS_H
#define PZ_IMPORT_CAFFE_H5_CHUNKS_H

#include "import/caffe/weights.h"
#include <hdf5.h>

/* NULL, or why a dataset of this layout is not read: filters, or chunks larger than the dataset, for which reading would
 * take more memory than its values do. */
const char *pz_caffe_h5_chunks_problem(hid_t creation, const pz_caffe_file_shape *shape);
/* All values into out. *problem: NULL, or what is wrong; PZ_ERROR_MEMORY has none. */
pz_status pz_caffe_h5_chunks_read(hid_t dataset, float *out, const char **problem, pz_error *err);

#endif
