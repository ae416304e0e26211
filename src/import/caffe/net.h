/* net.h: a Caffe network on its way from the file to the graph.
 *
 *   text.c      bytes to messages
 *   upgrade.c   V1 layers and old inputs to today's layers
 *   rules.c     which layers belong to the phase TEST
 *   refuse.c    unknown layers and fields
 *   build.c     layers to nodes; blobs and their versions
 *   layers/     one function for each row of layers.inc
 *   weights*.c  where weights come from
 */
#ifndef PZ_IMPORT_CAFFE_NET_H
#define PZ_IMPORT_CAFFE_NET_H

#include "caffe.pb-c.h"
#include "import/names.h"
#include "import/caffe/text.h"
#include "import/caffe/weights.h"
#include "import/import.h"

#define PZ_CAFFE_MAX_LAYERS 65536

typedef struct pz_caffe_layer {
  const Caffe__LayerParameter *param; /* name and type are never NULL */
  const void *source; /* the message of the file that it was made from; NULL for old-style inputs */
  pz_place place;
} pz_caffe_layer;

typedef struct pz_caffe_net {
  const char *file;
  pz_arena *arena;
  const Caffe__NetParameter *param;
  pz_caffe_parsed parsed;
  pz_caffe_layer *layers;
  int32_t n_layers;
  uint8_t *excluded; /* of each layer of the file: a rule keeps it out of phase TEST */
} pz_caffe_net;

/* Fills layers with all layers of the file, V1 upgraded, old-style inputs as Input layers in front. */
pz_status pz_caffe_upgrade(pz_caffe_net *net, pz_error *err);
/* Fills excluded. */
pz_status pz_caffe_apply_rules(pz_caffe_net *net, pz_error *err);
/* Fails where a layer or a field is not known: lists all such layers, or names the first such field. */
pz_status pz_caffe_refuse_unknown(const pz_caffe_net *net, pz_error *err);
/* Fails with "file:line:column: layer 'name' (type): " in front. */
pz_status pz_caffe_fail_layer(const pz_caffe_layer *layer, pz_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- building ---- */

/* A blob of Caffe is written by one layer, and by others in place: each makes a version of it, a tensor. */
typedef struct pz_caffe_blob {
  const char *name;
  int32_t writers;     /* that are still to come */
  int32_t maker;       /* the layer of the current version */
  pz_tensor_id tensor; /* the current version, PZ_NONE before the first */
  bool consumed;       /* the current version */
  bool input;          /* an input of the network: its first version keeps the plain name */
} pz_caffe_blob;

typedef struct pz_caffe_version {
  int32_t blob;
  pz_tensor_id tensor;
} pz_caffe_version;

typedef struct pz_caffe {
  const pz_caffe_net *net;
  const pz_import_options *options;
  pz_arena *arena; /* for the time of the import */
  pz_graph *graph;
  pz_caffe_weights *weights; /* NULL: none were given */
  int64_t parameters, max_parameters;
  pz_import_names blob_index; /* name to blobs */
  pz_import_names shared;     /* name of shared weights to owners */
  pz_import_names weighted;   /* layers that have weights */
  pz_import_names suffixes;   /* for names that must differ */
  pz_caffe_blob *blobs;
  int32_t n_blobs;
  pz_caffe_version *versions; /* in order of production */
  int32_t n_versions;
  pz_caffe_weight_key *owners; /* of shared weights */
  int32_t n_owners;
  struct pz_caffe_pending *pending; /* weights that are not there yet */
  int32_t n_pending;
  pz_error *err;
  /* the layer that is being built */
  int32_t index; /* of it in net->layers */
  const pz_caffe_layer *layer;
  const Caffe__LayerParameter *p;
  pz_tensor_id *in; /* its bottoms */
  int32_t n_in;
  int32_t n_made; /* tops so far */
} pz_caffe;

pz_status pz_caffe_build(pz_caffe *c);

/* ---- for layers/ ---- */

typedef pz_status (*pz_caffe_layer_builder)(pz_caffe *c);
typedef struct pz_caffe_layer_kind {
  const char *type;
  pz_caffe_layer_builder build;
  int32_t min_in, max_in, min_out, max_out; /* bottoms and tops; -1: any number */
} pz_caffe_layer_kind;
/* The row of layers.inc; NULL for types that are not supported. */
const pz_caffe_layer_kind *pz_caffe_find_kind(const char *type);
#define LAYER(type, builder, min_in, max_in, min_out, max_out)                                               \
  pz_status pz_caffe_layer_##builder(pz_caffe *c);
#include "import/caffe/layers.inc"
#undef LAYER

/* pz_caffe_fail_layer for the current layer. */
pz_status pz_caffe_fail(pz_caffe *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline const pz_shape *pz_caffe_in_shape(const pz_caffe *c, int32_t i) {
  return &c->graph->tensors[c->in[i]].shape;
}
/* Caffe's axis, counted from the end where negative, as 0 .. rank-1. */
pz_status pz_caffe_axis(pz_caffe *c, const char *field, int64_t axis, int32_t rank, int32_t *out);
/* A size of the prototxt as an attribute. */
pz_status pz_caffe_int32(pz_caffe *c, const char *field, int64_t value, int64_t least, int32_t *out);
/* The shape that a message gives; its sizes are not checked. */
pz_status pz_caffe_shape(pz_caffe *c, const Caffe__BlobShape *from, pz_shape *out);

/* Adds a node whose outputs are the next n_out tops of the layer; place, name and input list are filled in. */
pz_status pz_caffe_emit(pz_caffe *c, pz_node *node, int32_t n_in, pz_tensor_id *in, int32_t n_out);
/* The same with the bottoms as inputs and one output. */
pz_status pz_caffe_emit_simple(pz_caffe *c, pz_node *node);
/* Adds a node in front of the layer's own, named "layer.part"; its one output is *out. */
pz_status pz_caffe_emit_part(pz_caffe *c, pz_node *node, const char *part, int32_t n_in, pz_tensor_id *in,
                             pz_tensor_id *out);
/* "layer.part", or that with a number: a name for a tensor. NULL when out of memory. */
const char *pz_caffe_tensor_name(pz_caffe *c, const char *part);
/* Adds an input of the network as the next top. */
pz_status pz_caffe_emit_input(pz_caffe *c, const pz_shape *shape);
/* The --input shape for the next top; NULL where none was given. */
const pz_shape *pz_caffe_override(const pz_caffe *c);

typedef struct pz_caffe_weight {
  int32_t blob;                         /* index in the layer's blobs */
  const char *name;                     /* of the constant: "layer.<name>" */
  pz_shape shape;                       /* Caffe's */
  const Caffe__FillerParameter *filler; /* for init:SEED; NULL: constant `value` */
  float value;
  bool at_once; /* the layer changes its values */
} pz_caffe_weight;
/* Checks that the layer has exactly `count` blobs in the weights file; first of all a layer calls this. */
pz_status pz_caffe_expect_blobs(pz_caffe *c, int32_t count);
/* Weights, which are read or filled by pz_caffe_load_weights, when all shapes are known. `shape` is that of the constant: as many elements as weight->shape. */
pz_status pz_caffe_add_weight(pz_caffe *c, const pz_caffe_weight *weight, const pz_shape *shape,
                              pz_tensor_id *id);
pz_status pz_caffe_load_weights(pz_caffe *c);
/* Reads or fills one number that is no tensor of the graph. */
pz_status pz_caffe_read_number(pz_caffe *c, const pz_caffe_weight *weight, float *value);

#endif
