/* text.h: protobuf's text format into protobuf-c messages, driven by their descriptors.
 *
 * The messages lie in the caller's arena (never free them with protobuf-c), strings and arrays too. Each knows its
 * place. Fields that the schema does not have are skipped and listed: who reads the message decides what they mean. */
#ifndef PZ_IMPORT_CAFFE_TEXT_H
#define PZ_IMPORT_CAFFE_TEXT_H

#include "graph/graph.h"
#include <protobuf-c/protobuf-c.h>

typedef struct pz_caffe_unknown {
  const char *field;
  const ProtobufCMessageDescriptor *message; /* the innermost known message that it is in */
  const void *top; /* the message right below the root that it is in; NULL: it is in the root */
  int32_t line, column;
} pz_caffe_unknown;

typedef struct pz_caffe_text {
  const char *file; /* for messages and places */
  const char *data;
  size_t size;
  pz_arena *arena;
} pz_caffe_text;

typedef struct pz_caffe_parsed {
  ProtobufCMessage *root;
  const pz_caffe_unknown *unknown; /* in the order of the file */
  int32_t n_unknown;
} pz_caffe_parsed;

pz_status pz_caffe_text_parse(const pz_caffe_text *text, const ProtobufCMessageDescriptor *root,
                              pz_caffe_parsed *parsed, pz_error *err);

/* Where a message made by pz_caffe_text_parse begins (its field's name). `file` is NULL. */
pz_place pz_caffe_text_place(const void *message);

#endif
