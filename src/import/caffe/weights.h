/* weights.h: where the numbers of a network come from: a binary .caffemodel, a .caffemodel.h5, or "init:SEED". */
#ifndef PZ_IMPORT_CAFFE_WEIGHTS_H
#define PZ_IMPORT_CAFFE_WEIGHTS_H

#include "caffe.pb-c.h"
#include "graph/graph.h"

/* A blob of weights: the layer's name and its index in the layer. */
typedef struct pz_caffe_weight_key {
  const char *layer;
  int32_t blob;
} pz_caffe_weight_key;

/* A shape as a file gives it: of any rank, unchecked but for dim >= 0. */
#define PZ_CAFFE_FILE_RANK 8
typedef struct pz_caffe_file_shape {
  int32_t rank;
  int64_t dim[PZ_CAFFE_FILE_RANK];
} pz_caffe_file_shape;
/* "1x1x1x32" into out, which has room for PZ_CAFFE_FILE_SHAPE_TEXT bytes; returns out. */
#define PZ_CAFFE_FILE_SHAPE_TEXT 176
const char *pz_caffe_file_shape_text(const pz_caffe_file_shape *shape, char *out);
/* The same data in the same order for Caffe: equal but for ones in front ("legacy" shapes have four dimensions). */
bool pz_caffe_file_shape_fits(const pz_caffe_file_shape *file, const pz_shape *wanted);

typedef struct pz_caffe_weights pz_caffe_weights;
/* A kind of file. */
typedef struct pz_caffe_weights_source {
  bool (*has_layer)(pz_caffe_weights *w, const char *layer);
  /* *found is false where there is no such blob; an error where it is broken. */
  pz_status (*find)(pz_caffe_weights *w, pz_caffe_weight_key key, pz_caffe_file_shape *shape, bool *found,
                    pz_error *err);
  /* All values of a blob that was found, `elements` being the product of its shape. */
  pz_status (*read)(pz_caffe_weights *w, pz_caffe_weight_key key, int64_t elements, float *out,
                    pz_error *err);
  void (*close)(pz_caffe_weights *w);
} pz_caffe_weights_source;

struct pz_caffe_weights {
  const pz_caffe_weights_source *source; /* NULL: init */
  const char *name;                      /* the path, for messages */
  uint64_t seed;
  pz_arena *arena;
  void *state; /* of the source */
};

/* spec: a path, or "init:SEED". *w lies in the arena; pz_caffe_weights_close before that is freed (NULL is fine). */
pz_status pz_caffe_weights_open(const char *spec, pz_arena *arena, pz_caffe_weights **w, pz_error *err);
void pz_caffe_weights_close(pz_caffe_weights *w);

/* The sources. Each fills w->source and w->state. */
pz_status pz_caffe_open_binary(pz_caffe_weights *w, pz_error *err);
pz_status pz_caffe_open_h5(pz_caffe_weights *w, pz_error *err);

/* ---- init:SEED ---- */

/* Fills a blob of Caffe's shape as its filler says. The values depend on seed, key, filler and shape alone. Returns
 * NULL, or what is wrong with the filler. Filled in part where *interrupt (may be NULL) is set on the way. */
const char *pz_caffe_fill(const Caffe__FillerParameter *filler, const pz_shape *shape, uint64_t seed,
                          pz_caffe_weight_key key, const volatile int *interrupt, float *out);

#endif
