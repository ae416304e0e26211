/* parser.h: what the parts of the text format's parser share; private to text.c and scalar.c. */
#ifndef PZ_IMPORT_CAFFE_PARSER_H
#define PZ_IMPORT_CAFFE_PARSER_H

#include "import/caffe/lexer.h"
#include "import/caffe/text.h"
#include <locale.h>

typedef struct pz_caffe_parser {
  pz_caffe_lexer lexer;
  pz_arena *arena;
  locale_t c_locale; /* numbers have a decimal point whatever the host's locale says */
  int32_t depth, n_messages;
  const void *top; /* the message right below the root that is being read */
  pz_caffe_unknown *unknown;
  int32_t n_unknown, cap_unknown;
} pz_caffe_parser;

/* Bytes of one value of a field, in the struct or in the array of a repeated field; 0 for types that are not used. */
size_t pz_caffe_value_size(ProtobufCType type);
/* Reads one scalar (anything but a message) into *to. */
pz_status pz_caffe_parse_scalar(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to);

#endif
