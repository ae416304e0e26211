/* text_lex.c: bytes to tokens to values. Every byte is hostile. */
#include "graph/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pz_status pz_lex_fail(const pz_lexer *lexer, const pz_token *token, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pz_fail(lexer->err, PZ_ERROR_INPUT, "%s:%d:%d: %s", lexer->file, (int)token->line,
                 (int)token->column, text);
}

pz_status pz_lex_expected(const pz_lexer *lexer, const char *what) {
  static const char *const names[] = {
      [PZ_TOKEN_END] = "the end of the text", [PZ_TOKEN_LINE_END] = "the end of the line"};
  const pz_token *token = &lexer->token;
  if (token->kind <= PZ_TOKEN_LINE_END)
    return pz_lex_fail(lexer, token, "expected %s, found %s", what, names[token->kind]);
  return pz_lex_fail(lexer, token, "expected %s, found '%.60s'", what, token->text);
}

static bool is_atom(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '+' || c == '-';
}
/* A bare tensor name: an atom with slashes. */
static bool is_name(char c) { return is_atom(c) || c == '/'; }

static bool more(const pz_lexer *lexer) { return lexer->at < lexer->size; }
static char here(const pz_lexer *lexer) { return lexer->text[lexer->at]; }

static void skip_blanks(pz_lexer *lexer) {
  while (more(lexer) && (here(lexer) == ' ' || here(lexer) == '\t' || here(lexer) == '\r')) lexer->at++;
  if (more(lexer) && here(lexer) == '#')
    while (more(lexer) && here(lexer) != '\n') lexer->at++;
}

static pz_status keep(pz_lexer *lexer, pz_token_kind kind, const char *text, size_t size) {
  lexer->token.kind = kind;
  lexer->token.text = pz_arena_strndup(lexer->scratch, text, size);
  return lexer->token.text ? PZ_OK : pz_fail_memory(lexer->err, "a token", size);
}

static pz_status lex_run(pz_lexer *lexer, pz_token_kind kind, bool (*belongs)(char)) {
  size_t begin = lexer->at;
  while (more(lexer) && belongs(here(lexer))) lexer->at++;
  return keep(lexer, kind, lexer->text + begin, lexer->at - begin);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/* After the backslash: \" \\ \n \t \xHH. False where it is none of them, or would be NUL. */
static bool unescape(pz_lexer *lexer, char *out) {
  static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
  if (!more(lexer)) return false;
  char c = lexer->text[lexer->at++];
  const char *found = c ? strchr(from, c) : NULL;
  if (found) {
    *out = to[found - from];
    return true;
  }
  if (c != 'x' || lexer->size - lexer->at < 2) return false;
  int high = hex_digit(lexer->text[lexer->at]), low = hex_digit(lexer->text[lexer->at + 1]);
  lexer->at += 2;
  *out = (char)(high * 16 + low);
  return high >= 0 && low >= 0 && *out != 0;
}

static size_t string_bytes(const pz_lexer *lexer) {
  size_t at = lexer->at;
  while (at < lexer->size && lexer->text[at] != '"' && lexer->text[at] != '\n')
    at += lexer->text[at] == '\\' && at + 1 < lexer->size && lexer->text[at + 1] != '\n' ? 2 : 1;
  return at - lexer->at;
}

static pz_status lex_string(pz_lexer *lexer, pz_token_kind kind) {
  lexer->at++;
  size_t size = 0;
  char *out = PZ_NEW(lexer->scratch, char, string_bytes(lexer) + 1);
  if (!out) return pz_fail_memory(lexer->err, "a string", string_bytes(lexer));
  while (more(lexer) && here(lexer) != '"' && here(lexer) != '\n') {
    char c = lexer->text[lexer->at++];
    if (c == 0 || (c == '\\' && !unescape(lexer, &c)))
      return pz_lex_fail(lexer, &lexer->token,
                         "bad byte or escape in a string; there are \\\" \\\\ \\n \\t \\xHH");
    out[size++] = c;
  }
  if (!more(lexer) || here(lexer) != '"')
    return pz_lex_fail(lexer, &lexer->token, "a string does not end in its line");
  lexer->at++;
  lexer->token.kind = kind;
  lexer->token.text = out;
  return PZ_OK;
}

static pz_status lex_tensor(pz_lexer *lexer) {
  lexer->at++;
  if (more(lexer) && here(lexer) == '"') return lex_string(lexer, PZ_TOKEN_TENSOR);
  if (more(lexer) && is_name(here(lexer))) return lex_run(lexer, PZ_TOKEN_TENSOR, is_name);
  return pz_lex_fail(lexer, &lexer->token, "expected a name after %%");
}

static pz_status lex_line_end(pz_lexer *lexer) {
  lexer->token.kind = PZ_TOKEN_LINE_END;
  lexer->at++;
  lexer->line++;
  lexer->line_start = lexer->at;
  return PZ_OK;
}

pz_status pz_lex_next(pz_lexer *lexer) {
  skip_blanks(lexer);
  lexer->token = (pz_token){PZ_TOKEN_END, "", lexer->line, (int32_t)(lexer->at - lexer->line_start) + 1};
  if (!more(lexer)) return PZ_OK;
  char c = here(lexer);
  if (c == '\n') return lex_line_end(lexer);
  if (c == '"') return lex_string(lexer, PZ_TOKEN_STRING);
  if (c == '%') return lex_tensor(lexer);
  if (is_atom(c)) return lex_run(lexer, PZ_TOKEN_ATOM, is_atom);
  if (c && strchr(",:=[]", c)) {
    lexer->at++;
    return keep(lexer, PZ_TOKEN_PUNCTUATION, &c, 1);
  }
  return pz_lex_fail(lexer, &lexer->token, "unexpected byte 0x%02x", (unsigned)(uint8_t)c);
}

bool pz_lex_is(const pz_lexer *lexer, const char *text) {
  pz_token_kind kind = lexer->token.kind;
  return (kind == PZ_TOKEN_ATOM || kind == PZ_TOKEN_PUNCTUATION) && !strcmp(lexer->token.text, text);
}

pz_status pz_lex_take(pz_lexer *lexer, const char *text) {
  char what[32];
  snprintf(what, sizeof what, "'%s'", text);
  return pz_lex_is(lexer, text) ? pz_lex_next(lexer) : pz_lex_expected(lexer, what);
}

pz_status pz_lex_string(pz_lexer *lexer, pz_token_kind kind, const char *what, const char **text) {
  if (lexer->token.kind != kind) return pz_lex_expected(lexer, what);
  *text = lexer->token.text;
  return pz_lex_next(lexer);
}

pz_status pz_lex_i64(pz_lexer *lexer, int64_t *value) {
  char *end = NULL;
  errno = 0;
  if (lexer->token.kind == PZ_TOKEN_ATOM) *value = strtoll(lexer->token.text, &end, 10);
  if (!end || *end || errno) return pz_lex_expected(lexer, "a whole number");
  return pz_lex_next(lexer);
}

pz_status pz_lex_i32(pz_lexer *lexer, int32_t *value) {
  pz_token token = lexer->token;
  int64_t wide = 0;
  PZ_TRY(pz_lex_i64(lexer, &wide));
  if (wide < INT32_MIN || wide > INT32_MAX) return pz_lex_fail(lexer, &token, "%s is too large", token.text);
  *value = (int32_t)wide;
  return PZ_OK;
}

pz_status pz_lex_float(pz_lexer *lexer, float *value) {
  char *end = NULL;
  if (lexer->token.kind == PZ_TOKEN_ATOM) *value = strtof(lexer->token.text, &end);
  if (!end || *end) return pz_lex_expected(lexer, "a number");
  return pz_lex_next(lexer);
}

/* "1x32x18", or "scalar". */
static bool read_shape(const char *text, pz_shape *shape) {
  *shape = (pz_shape){0};
  if (!strcmp(text, "scalar")) return true;
  for (const char *at = text;; at++) {
    char *end;
    if (shape->rank == PZ_MAX_RANK || *at < '0' || *at > '9') return false;
    errno = 0;
    shape->dim[shape->rank++] = strtoll(at, &end, 10);
    if (errno) return false;
    if (!*end) return true;
    if (*end != 'x') return false;
    at = end;
  }
}

pz_status pz_lex_shape(pz_lexer *lexer, pz_shape *shape) {
  if (lexer->token.kind != PZ_TOKEN_ATOM || !read_shape(lexer->token.text, shape))
    return pz_lex_expected(lexer, "a shape of at most eight sizes, such as 1x3x24x24");
  return pz_lex_next(lexer);
}

static pz_status three(pz_lexer *lexer, int32_t v[PZ_SPATIAL]) {
  for (int32_t i = 0; i < PZ_SPATIAL; i++) {
    if (i) PZ_TRY(pz_lex_take(lexer, ","));
    PZ_TRY(pz_lex_i32(lexer, &v[i]));
  }
  return PZ_OK;
}

pz_status pz_lex_border(pz_lexer *lexer, int32_t lo[PZ_SPATIAL], int32_t hi[PZ_SPATIAL]) {
  PZ_TRY(three(lexer, lo));
  PZ_TRY(pz_lex_take(lexer, ":"));
  return three(lexer, hi);
}
