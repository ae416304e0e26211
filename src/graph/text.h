/* text.h: the text form inside src/graph: tokens and values. */
#ifndef PZ_GRAPH_TEXT_H
#define PZ_GRAPH_TEXT_H

#include "graph/internal.h"
#include <locale.h>

#define PZ_TEXT_SHORT_CONSTANT 16 /* elements that print as a list always */

/* ---- lexer: tokens are found one ahead ---- */

typedef enum pz_token_kind {
  PZ_TOKEN_END,
  PZ_TOKEN_LINE_END,
  PZ_TOKEN_ATOM,   /* letters, digits and _ . + -: a keyword, a number, a shape, `_` */
  PZ_TOKEN_STRING, /* "...", unescaped */
  PZ_TOKEN_TENSOR, /* %name or %"name" */
  PZ_TOKEN_PUNCTUATION
} pz_token_kind;

typedef struct pz_token {
  pz_token_kind kind;
  const char *text; /* NUL-terminated, in the scratch arena; of an ATOM, STRING, TENSOR or PUNCTUATION */
  int32_t line, column;
} pz_token;

typedef struct pz_lexer {
  const char *text, *file;
  size_t size, at, line_start;
  int32_t line;
  pz_token token; /* the current one */
  pz_arena *scratch;
  pz_error *err;
} pz_lexer;

pz_status pz_lex_next(pz_lexer *lexer); /* moves on to the next token */
/* "<file>:<line>:<column>: ..." of a token. */
pz_status pz_lex_fail(const pz_lexer *lexer, const pz_token *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected <what>, found <the current token>" */
pz_status pz_lex_expected(const pz_lexer *lexer, const char *what);

bool pz_lex_is(const pz_lexer *lexer, const char *text); /* the current token is this atom or punctuation */
pz_status pz_lex_take(pz_lexer *lexer, const char *text);
pz_status pz_lex_string(pz_lexer *lexer, pz_token_kind kind, const char *what, const char **text);
pz_status pz_lex_i64(pz_lexer *lexer, int64_t *value);
pz_status pz_lex_i32(pz_lexer *lexer, int32_t *value);
pz_status pz_lex_float(pz_lexer *lexer, float *value); /* NaN and infinities too */
pz_status pz_lex_shape(pz_lexer *lexer, pz_shape *shape);
pz_status pz_lex_border(pz_lexer *lexer, int32_t lo[PZ_SPATIAL], int32_t hi[PZ_SPATIAL]); /* 1,1,1:0,0,0 */

/* ---- attributes ---- */

/* Until a word that names none of the operator's attributes, or the end. */
pz_status pz_text_parse_known_attributes(pz_lexer *lexer, int32_t rank_of_x, pz_node *node);
/* Another word is refused. */
pz_status pz_text_parse_attributes(pz_lexer *lexer, const pz_graph *g, pz_node *node);
void pz_text_print_attributes(const pz_graph *g, const pz_node *node, pz_text *out);

/* ---- values ---- */

void pz_text_print_float(pz_text *out, float value);
void pz_text_print_string(pz_text *out, const char *s); /* quoted */
void pz_text_print_border(pz_text *out, const int32_t *lo, const int32_t *hi);

#endif
