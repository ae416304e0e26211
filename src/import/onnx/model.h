/* model.h: an ONNX model as it stands in the file: messages read in place, names copied, weights left where they are.
 *
 *   read.c         model, graph, inputs and outputs
 *   read_node.c    nodes and their attributes
 *   read_tensor.c  tensors: shape, type, and where the values lie
 *   decode.c       values to floats and integers
 *   external.c     values in other files
 */
#ifndef PZ_IMPORT_ONNX_MODEL_H
#define PZ_IMPORT_ONNX_MODEL_H

#include "base/file.h"
#include "graph/graph.h"
#include "import/wire.h"

typedef enum pz_onnx_type {
  PZ_ONNX_UNDEFINED = 0,
#define TYPE(id, number, name, class, bits, field) PZ_ONNX_##id = number,
#include "import/onnx/types.inc"
#undef TYPE
} pz_onnx_type;

typedef enum pz_onnx_class { PZ_ONNX_FLOATING, PZ_ONNX_SIGNED, PZ_ONNX_UNSIGNED } pz_onnx_class;
typedef struct pz_onnx_type_traits { /* a row of types.inc */
  pz_onnx_type type;
  const char *name;
  pz_onnx_class class;
  int32_t bits;
  uint32_t field;
} pz_onnx_type_traits;
/* NULL for types that cannot be read. */
const pz_onnx_type_traits *pz_onnx_type_get(int64_t type);
/* "float"; "type 17" is "another type". */
const char *pz_onnx_type_name(pz_onnx_type type);
bool pz_onnx_is_floating(pz_onnx_type type);

/* TensorProto. Sizes may be 0 here. */
typedef struct pz_onnx_tensor {
  const char *name;
  int64_t type; /* a row of types.inc only if it is read */
  pz_shape shape;
  int64_t elements;
  pz_wire message;    /* its bytes, for typed data */
  const uint8_t *raw; /* raw_data, NULL where there is none */
  size_t raw_size;
  const struct pz_onnx_tensor *fill; /* made by a node: all values are the one of this tensor; else NULL */
  bool external;                     /* the values lie in another file: */
  const char *location;
  int64_t offset, length; /* length -1: up to the end */
} pz_onnx_tensor;

typedef struct pz_onnx_node pz_onnx_node;
typedef struct pz_onnx_value_info {
  const char *name;
  int64_t type; /* 0: not a tensor, or not given */
  bool has_shape;
  pz_shape shape;                  /* a size of -1 is not given as a number */
  const char *symbol[PZ_MAX_RANK]; /* its symbol, or NULL */
} pz_onnx_value_info;

/* GraphProto. */
typedef struct pz_onnx_graph {
  const char *name;
  pz_onnx_node *nodes;
  pz_onnx_tensor *initialisers;
  pz_onnx_value_info *inputs, *outputs;
  int32_t n_nodes, n_initialisers, n_inputs, n_outputs;
  bool sparse;     /* it has sparse initialisers */
  pz_wire message; /* its bytes */
} pz_onnx_graph;

typedef enum pz_onnx_attribute_kind { /* AttributeProto.AttributeType */
                                      PZ_ONNX_ATTR_NONE = 0,
                                      PZ_ONNX_ATTR_FLOAT = 1,
                                      PZ_ONNX_ATTR_INT = 2,
                                      PZ_ONNX_ATTR_STRING = 3,
                                      PZ_ONNX_ATTR_TENSOR = 4,
                                      PZ_ONNX_ATTR_GRAPH = 5,
                                      PZ_ONNX_ATTR_FLOATS = 6,
                                      PZ_ONNX_ATTR_INTS = 7
} pz_onnx_attribute_kind;

typedef struct pz_onnx_attribute {
  const char *name;
  bool used;    /* a builder has asked for it */
  int32_t kind; /* also others than those above */
  float f;
  int64_t i;
  const char *s; /* "" where it holds a NUL */
  pz_onnx_tensor *tensor;
  pz_wire graph; /* not read yet */
  int64_t *ints;
  float *floats;
  int32_t n_ints, n_floats;
} pz_onnx_attribute;

struct pz_onnx_node {
  const char *name, *op, *domain; /* never NULL */
  const char **in, **out;         /* "" where absent */
  int32_t n_in, n_out;
  pz_onnx_attribute *attributes;
  int32_t n_attributes;
};

typedef struct pz_onnx_model {
  int64_t ir_version, opset; /* opset 0: the default domain is not imported */
  pz_onnx_graph graph;
  bool has_graph;
  int32_t n_functions;
  const char *producer; /* the program that wrote it; may be NULL */
} pz_onnx_model;

#define PZ_ONNX_MAX_LIST  1048576 /* entries of a list attribute */
#define PZ_ONNX_MAX_NAMES 65536   /* inputs, outputs or attributes of a node; inputs and outputs of a graph */

/* What reading shares. */
typedef struct pz_onnx_reader {
  pz_arena *arena;
  pz_error *err;
} pz_onnx_reader;

pz_status pz_onnx_read_model(const pz_onnx_reader *r, pz_wire wire, pz_onnx_model *model);
pz_status pz_onnx_read_graph(const pz_onnx_reader *r, pz_wire wire, pz_onnx_graph *graph);
/* What a graph says of its values besides inputs and outputs. */
pz_status pz_onnx_read_infos(const pz_onnx_reader *r, const pz_onnx_graph *graph,
                             const pz_onnx_value_info **infos, int32_t *n);
pz_status pz_onnx_read_node(const pz_onnx_reader *r, pz_wire wire, pz_onnx_node *node);
pz_status pz_onnx_read_tensor(const pz_onnx_reader *r, pz_wire wire, pz_onnx_tensor *tensor);

/* For the files of the reader: a field's text, NUL-terminated; fails where it holds a NUL or is too long. */
pz_status pz_onnx_read_text(const pz_onnx_reader *r, const pz_wire *wire, const pz_wire_field *f,
                            const char **text);
/* Counts how often each field of numbers below `n` occurs as bytes; checks the whole message. */
pz_status pz_onnx_count_fields(const pz_onnx_reader *r, pz_wire wire, int32_t n, int64_t *counts);
/* count zeroed entries, at most `most`: `what` is for the message. */
pz_status pz_onnx_room(const pz_onnx_reader *r, const pz_wire *wire, const char *what, int64_t count,
                       int64_t most, size_t size, void *entries);

/* ---- values ---- */

/* Where the bytes of a tensor's raw or external data lie. */
typedef struct pz_onnx_raw {
  const uint8_t *bytes;
  size_t size;
} pz_onnx_raw;

/* Where values go: those of types whose class is FLOATING to floats or doubles, whichever is there, the others to integers. */
typedef struct pz_onnx_values {
  float *floats;
  double *doubles;
  int64_t *ints;
} pz_onnx_values;
/* Decodes the values of a tensor: all its elements, in C order (uint64 modulo 2^64); `raw` NULL: its typed data. Fails where
 * there are more or fewer. `label` begins messages. */
pz_status pz_onnx_decode(const pz_onnx_tensor *t, const pz_onnx_raw *raw, const char *label,
                         const pz_onnx_values *to, pz_error *err);

/* Files beside the model that hold values. One is open at a time, since there may be as many as there are tensors; each is what it was
 * when it was first opened. */
typedef struct pz_onnx_file {
  const char *location;
  struct stat noted;
} pz_onnx_file;
typedef struct pz_onnx_files {
  pz_arena *arena;
  const char *model; /* its path */
  pz_onnx_file *files;
  int32_t n_files, current; /* the one that is open; */
  int fd;                   /* -1: none is */
} pz_onnx_files;
/* Finds a file by a location relative to the model's folder. Absolute ones, "..", links and whatever is not a regular file
 * are refused. *size: its bytes. *first: it was not used before. `label` begins messages. */
pz_status pz_onnx_files_get(pz_onnx_files *files, const char *location, const char *label, int64_t *size,
                            bool *first, pz_error *err);
/* Of the file that was got last; what is asked for is in it. */
pz_status pz_onnx_files_read(const pz_onnx_files *files, int64_t offset, void *to, size_t size,
                             pz_error *err);
void pz_onnx_files_close(pz_onnx_files *files);

#endif
