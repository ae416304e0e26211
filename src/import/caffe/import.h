/* import.h: for tests and fuzzers, which set a limit of their own. */
#ifndef PZ_IMPORT_CAFFE_IMPORT_H
#define PZ_IMPORT_CAFFE_IMPORT_H

#include "import/import.h"

/* pz_import_caffe for networks of at most max_parameters weights. */
pz_status pz_caffe_import_within(const char *prototxt, const pz_import_options *options,
                                 int64_t max_parameters, pz_graph **graph, pz_error *err);

#endif
