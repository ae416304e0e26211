/* import.h: bytes to graph. Importers never optimise, and treat every byte as hostile. */
#ifndef PZ_IMPORT_IMPORT_H
#define PZ_IMPORT_IMPORT_H

#include "base/digest.h"
#include "graph/graph.h"

/* A shape that replaces the one the model gives for an input (--input data=1x3x224x224). */
typedef struct pz_import_shape {
  const char *input;
  pz_shape shape;
} pz_import_shape;

typedef struct pz_import_options {
  /* Caffe: path of .caffemodel or .caffemodel.h5, "init:SEED", or NULL: only if no layer has weights */
  const char *weights;
  const pz_import_shape *shapes;
  int32_t n_shapes;
  pz_text *notes;    /* receives lines that the user should see; or NULL */
  pz_digest *digest; /* receives the bytes of files that the model refers to; or NULL */
  /* importing ends soon, as if memory were out, after *interrupt is not 0; the graph's arena watches it. Or NULL */
  const volatile int *interrupt;
} pz_import_options;

/* Caffe's prototxt (phase TEST). The graph is verified. The caller frees it with pz_graph_free. */
pz_status pz_import_caffe(const char *prototxt, const pz_import_options *options, pz_graph **graph,
                          pz_error *err);

/* An ONNX model, with its weights within or in files of its folder. The graph is verified. The caller frees it with
 * pz_graph_free. */
pz_status pz_import_onnx(const char *path, const pz_import_options *options, pz_graph **graph, pz_error *err);

#endif
