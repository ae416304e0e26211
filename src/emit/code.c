#include "emit/code.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/inert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the text has arrived, as a C compiler reads it. */
typedef enum place { IN_CODE, IN_STRING, IN_COMMENT } place;

struct pz_code {
  pz_text text;
  place place;
  char before;       /* the byte before the next one, or 0 where that one does not matter any more */
  bool escaped;      /* in a string, behind a backslash */
  const char *wrong; /* the first thing that must not be written; NULL: none */
};

pz_code *pz_code_new(void) { return calloc(1, sizeof(pz_code)); }

void pz_code_free(pz_code *code) {
  if (code) pz_text_free(&code->text);
  free(code);
}

static void refuse(pz_code *code, const char *why) {
  if (!code->wrong) code->wrong = why;
}

/* ---- reading as C does ---- */

static void read_string(pz_code *code, char c) {
  if (c == '\n') refuse(code, "a string that does not end in its line");
  if (c == '"' && !code->escaped) code->place = IN_CODE;
  code->escaped = c == '\\' && !code->escaped;
}

/* What ends or begins a comment is no half of another one. */
static void turn(pz_code *code, place to) {
  code->place = to;
  code->before = 0;
}

static void read_comment(pz_code *code, char before, char c) {
  if (before == '/' && c == '*') refuse(code, "a comment in a comment");
  if (before == '*' && c == '/') turn(code, IN_CODE);
}

static void read_code(pz_code *code, char before, char c) {
  if (before == '/' && c == '/') refuse(code, "a comment to the end of a line");
  if (c == '\'' || c == '\\') refuse(code, "a quote or a backslash outside of strings");
  if (c == '"') code->place = IN_STRING;
  if (before == '/' && c == '*') turn(code, IN_COMMENT);
}

static void read_byte(pz_code *code, char c) {
  const char before = code->before;
  if (c != '\n' && (c < 0x20 || c > 0x7E)) refuse(code, "a byte that is no printable ASCII");
  if (before == '?' && c == '?') refuse(code, "a trigraph");
  if (before == '\\' && c == '\n') refuse(code, "a line that ends with a backslash");
  code->before = c;
  if (code->place == IN_STRING) read_string(code, c);
  else if (code->place == IN_COMMENT) read_comment(code, before, c);
  else read_code(code, before, c);
}

static void add(pz_code *code, const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) read_byte(code, bytes[i]);
  pz_text_append_bytes(&code->text, bytes, n);
}

/* ---- values ---- */

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_word(const char *s) {
  const size_t n = strlen(s);
  for (size_t i = 0; i < n; i++)
    if (!is_letter(s[i]) && !strchr("./-", s[i])) return false;
  return n && is_letter(s[0]) && is_letter(s[n - 1]) && !strstr(s, "//");
}

static bool are_constants(const char *s) {
  for (; *s; s++)
    if (!is_letter(*s) && !strchr(" .,=+-{}()[]\"", *s)) return false;
  return true;
}

static void print_value(pz_code *code, const pz_code_value *v, pz_text *out) {
  const char *text = v->of.text;
  if (v->kind == PZ_CODE_INTEGER) pz_text_printf(out, "%" PRId64, v->of.integer);
  else if (v->kind == PZ_CODE_REAL) {
    if (!isfinite(v->of.real)) refuse(code, "a number that is not finite");
    pz_text_printf(out, "%.0f", v->of.real);
  } else if (!text) refuse(code, "a text that is not there");
  else if (v->kind == PZ_CODE_NAME) {
    if (code->place == IN_CODE) refuse(code, "a name outside of comments and strings");
    (code->place == IN_COMMENT ? pz_inert_c_comment : pz_inert_c_string)(out, text);
  } else {
    if (v->kind == PZ_CODE_WORD && !is_word(text)) refuse(code, "a word that is none");
    if (v->kind == PZ_CODE_CONSTANTS && !are_constants(text)) refuse(code, "constants that are none");
    pz_text_append(out, text);
  }
}

/* What is of the model ends where it began: as a comment, a string, or code. */
static void put_value(pz_code *code, const pz_code_value *v) {
  pz_text out = {0};
  const place begun = code->place;
  print_value(code, v, &out);
  code->text.failed |= out.failed;
  if (out.data) add(code, out.data, out.size);
  if (v->kind != PZ_CODE_LITERAL && code->place != begun)
    refuse(code, "a value that begins or ends a comment or a string");
  pz_text_free(&out);
}

void pz_code_put_(pz_code *code, const char *literal, const pz_code_value *values, int32_t n) {
  if (!code) return;
  int32_t used = 0;
  for (const char *s = literal; *s; s++) {
    const size_t plain = strcspn(s, "$");
    add(code, s, plain);
    s += plain;
    if (!*s) break;
    if (used == n) refuse(code, "a hole without a value");
    else put_value(code, &values[used++]);
  }
  if (used != n) refuse(code, "a value without a hole");
}

pz_code_value pz_code_int_(int64_t value) {
  return (pz_code_value){.kind = PZ_CODE_INTEGER, .of.integer = value};
}
pz_code_value pz_code_real_(double value) { return (pz_code_value){.kind = PZ_CODE_REAL, .of.real = value}; }
pz_code_value pz_code_same_(pz_code_value value) { return value; }
pz_code_value pz_code_name(const char *name) {
  return (pz_code_value){.kind = PZ_CODE_NAME, .of.text = name};
}
pz_code_value pz_code_word(const char *word) {
  return (pz_code_value){.kind = PZ_CODE_WORD, .of.text = word};
}
pz_code_value pz_code_constants(const char *constants) {
  return (pz_code_value){.kind = PZ_CODE_CONSTANTS, .of.text = constants};
}
pz_code_value pz_code_literal_(const char *literal) {
  return (pz_code_value){.kind = PZ_CODE_LITERAL, .of.text = literal};
}

/* ---- the end ---- */

static pz_status check(pz_code *code, const char *what, pz_error *err) {
  if (!code || code->text.failed)
    return pz_fail_memory(err, "the generated source", code ? code->text.capacity : sizeof *code);
  if (code->place != IN_CODE) refuse(code, "a comment or a string that does not end");
  if (!code->wrong) return PZ_OK;
  return pz_fail(
      err, PZ_ERROR_RUN,
      "%s: the generated C would have %s, and is not compiled: a mistake of pznet, please report it", what,
      code->wrong);
}

pz_status pz_code_digest(pz_code *code, char *digits, pz_error *err) {
  PZ_TRY(check(code, "a kernel", err));
  pz_digest_text(code->text.data ? code->text.data : "", code->text.size, digits);
  return PZ_OK;
}

static pz_status write_checked(pz_code *code, const char *path, pz_error *err) {
  if (!path) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(check(code, path, err));
  return pz_file_write_quick(path, code->text.data ? code->text.data : "", code->text.size, err);
}

pz_status pz_code_write(pz_code *code, const char *path, pz_error *err) {
  const pz_status status = write_checked(code, path, err);
  pz_code_free(code);
  return status;
}
