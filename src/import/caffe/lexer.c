#include "import/caffe/lexer.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Not <ctype.h>: that depends on the locale of the host. */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_name(char c) { return is_letter(c) || is_digit(c); }
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

pz_status pz_caffe_fail_at(const pz_caffe_lexer *lexer, const pz_caffe_token *at, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pz_fail(lexer->err, PZ_ERROR_INPUT, "%s:%d:%d: %s", lexer->file, (int)at->line, (int)at->column,
                 text);
}

pz_status pz_caffe_fail_expected(const pz_caffe_lexer *lexer, const char *what) {
  const pz_caffe_token *t = &lexer->token;
  if (t->kind == PZ_TOKEN_END) return pz_caffe_fail_at(lexer, t, "expected %s, but the file ends here", what);
  return pz_caffe_fail_at(lexer, t, "expected %s, found '%.*s'", what, (int)(t->size < 60 ? t->size : 60),
                          t->text);
}

bool pz_caffe_token_is(const pz_caffe_token *token, char symbol) {
  return token->kind == PZ_TOKEN_SYMBOL && token->text[0] == symbol;
}

bool pz_caffe_token_equals(const pz_caffe_token *token, const char *text) {
  return token->size == strlen(text) && !memcmp(token->text, text, token->size);
}

/* The character `ahead` of the next one, 0 behind the end. */
static char peek(const pz_caffe_lexer *l, size_t ahead) {
  return (size_t)(l->end - l->next) > ahead ? l->next[ahead] : 0;
}

static void take_while(pz_caffe_lexer *l, bool (*wanted)(char)) {
  while (l->next < l->end && wanted(*l->next)) l->next++;
}

static void skip_blanks(pz_caffe_lexer *l) {
  for (; l->next < l->end; l->next++) {
    char c = *l->next;
    if (c == '#')
      while (l->next + 1 < l->end && l->next[1] != '\n') l->next++;
    else if (c == '\n') {
      l->line++;
      l->line_begin = l->next + 1;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') return;
  }
}

static pz_status lex_string(pz_caffe_lexer *l) {
  char quote = *l->next++;
  for (; l->next < l->end && *l->next != quote; l->next++) {
    if (*l->next == '\\' && peek(l, 1) && peek(l, 1) != '\n') l->next++;
    else if (*l->next == '\n') break;
  }
  if (peek(l, 0) != quote)
    return pz_caffe_fail_at(l, &l->token, "the string that begins here does not end on its line");
  l->next++;
  return PZ_OK;
}

/* e, a sign or none, digits; nothing is taken where that is not what follows. */
static bool take_exponent(pz_caffe_lexer *l) {
  size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-';
  if ((peek(l, 0) != 'e' && peek(l, 0) != 'E') || !is_digit(peek(l, 1 + sign))) return false;
  l->next += 1 + sign;
  take_while(l, is_digit);
  return true;
}

static void take_decimal(pz_caffe_lexer *l) {
  bool real = false;
  take_while(l, is_digit);
  if (peek(l, 0) == '.') {
    real = true;
    l->next++;
    take_while(l, is_digit);
  }
  real |= take_exponent(l);
  if (peek(l, 0) == 'f' || peek(l, 0) == 'F') {
    real = true;
    l->next++;
  }
  l->token.kind = real ? PZ_TOKEN_FLOAT : PZ_TOKEN_INTEGER;
}

static pz_status lex_number(pz_caffe_lexer *l) {
  l->token.kind = PZ_TOKEN_INTEGER;
  if (peek(l, 0) == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X') && is_hex(peek(l, 2))) {
    l->next += 2;
    take_while(l, is_hex);
  } else take_decimal(l);
  if (is_name(peek(l, 0)) || peek(l, 0) == '.') {
    size_t size = (size_t)(l->next - l->token.text) + 1;
    return pz_caffe_fail_at(l, &l->token, "bad number '%.*s...'", (int)(size < 60 ? size : 60),
                            l->token.text);
  }
  return PZ_OK;
}

static pz_status lex_symbol(pz_caffe_lexer *l) {
  char c = *l->next++;
  if (c && strchr("{}<>[]:;,-./", c)) return PZ_OK;
  if (c > 0x20 && c < 0x7f) return pz_caffe_fail_at(l, &l->token, "unexpected character '%c'", c);
  return pz_caffe_fail_at(l, &l->token, "unexpected byte 0x%02x: is this a prototxt?", (unsigned)(uint8_t)c);
}

static pz_status lex(pz_caffe_lexer *l, pz_caffe_token_kind kind, pz_status (*rest)(pz_caffe_lexer *)) {
  l->token.kind = kind;
  PZ_TRY(rest(l));
  l->token.size = (size_t)(l->next - l->token.text);
  return PZ_OK;
}

static pz_status lex_name(pz_caffe_lexer *l) {
  take_while(l, is_name);
  return PZ_OK;
}

pz_status pz_caffe_lexer_next(pz_caffe_lexer *l) {
  skip_blanks(l);
  l->token = (pz_caffe_token){PZ_TOKEN_END, l->next, 0, l->line, (int32_t)(l->next - l->line_begin) + 1};
  if (l->next >= l->end) return PZ_OK;
  char c = *l->next;
  if (is_letter(c)) return lex(l, PZ_TOKEN_NAME, lex_name);
  if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) return lex(l, l->token.kind, lex_number);
  if (c == '"' || c == '\'') return lex(l, PZ_TOKEN_STRING, lex_string);
  return lex(l, PZ_TOKEN_SYMBOL, lex_symbol);
}

pz_status pz_caffe_lexer_begin(pz_caffe_lexer *lexer, const char *file, const char *data, size_t size,
                               pz_error *err) {
  bool marked = size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3); /* UTF-8's byte order mark */
  if (marked) data += 3, size -= 3;
  *lexer = (pz_caffe_lexer){
      .file = file, .next = data, .end = data + size, .line_begin = data, .line = 1, .err = err};
  return pz_caffe_lexer_next(lexer);
}
