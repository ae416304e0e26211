/* spatial.h: kernel, stride, pad and dilation as Caffe writes them: once for all axes, once for each, or _h and _w. */
#ifndef PZ_IMPORT_CAFFE_LAYERS_SPATIAL_H
#define PZ_IMPORT_CAFFE_LAYERS_SPATIAL_H

#include "import/caffe/net.h"

typedef struct pz_caffe_spatial {
  const char *field; /* "kernel", for messages */
  size_t count;      /* of the repeated field */
  const uint32_t *values;
  bool has_h, has_w;
  uint32_t h, w;
  int32_t fallback; /* where none is given; 0 with least 1: one must be given */
  int32_t least;
  int32_t unused; /* for axes that a network of fewer dimensions does not have */
} pz_caffe_spatial;

/* out: three entries d, h, w; n_spatial of them, the last ones, are used. */
pz_status pz_caffe_read_spatial(pz_caffe *c, const pz_caffe_spatial *s, int32_t n_spatial,
                                int32_t out[PZ_SPATIAL]);
/* How many spatial dimensions bottom i has: 1 to 3. */
pz_status pz_caffe_count_spatial(pz_caffe *c, int32_t i, int32_t *n_spatial);

#endif
