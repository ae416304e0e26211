/* lexer.h: protobuf's text format as tokens with line and column (counted from 1, columns in bytes). */
#ifndef PZ_IMPORT_CAFFE_LEXER_H
#define PZ_IMPORT_CAFFE_LEXER_H

#include "base/status.h"
#include <stddef.h>

typedef enum pz_caffe_token_kind {
  PZ_TOKEN_END,
  PZ_TOKEN_NAME,    /* a letter or _, then letters, digits, _ */
  PZ_TOKEN_INTEGER, /* decimal, octal (0...) or hexadecimal (0x...), without sign */
  PZ_TOKEN_FLOAT,   /* with point, exponent or f behind it, without sign */
  PZ_TOKEN_STRING,  /* with its quotes, escapes not yet undone */
  PZ_TOKEN_SYMBOL   /* one character */
} pz_caffe_token_kind;

typedef struct pz_caffe_token {
  pz_caffe_token_kind kind;
  const char *text; /* in the file, not terminated */
  size_t size;
  int32_t line, column;
} pz_caffe_token;

typedef struct pz_caffe_lexer {
  const char *file;
  const char *next, *end, *line_begin;
  int32_t line;
  pz_caffe_token token; /* the current one */
  pz_error *err;
} pz_caffe_lexer;

/* Reads the first token. `file` is for messages; data must outlive the lexer and be less than 2^31 bytes. */
pz_status pz_caffe_lexer_begin(pz_caffe_lexer *lexer, const char *file, const char *data, size_t size,
                               pz_error *err);
/* Moves on to the next token; at the end the current one stays PZ_TOKEN_END. */
pz_status pz_caffe_lexer_next(pz_caffe_lexer *lexer);

bool pz_caffe_token_is(const pz_caffe_token *token, char symbol);
bool pz_caffe_token_equals(const pz_caffe_token *token, const char *text);

/* Fails with "file:line:column: " in front. */
pz_status pz_caffe_fail_at(const pz_caffe_lexer *lexer, const pz_caffe_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected <what>, found <the current token>" */
pz_status pz_caffe_fail_expected(const pz_caffe_lexer *lexer, const char *what);

#endif
