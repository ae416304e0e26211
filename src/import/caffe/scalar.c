/* scalar.c: numbers, booleans, enumerations and strings of protobuf's text format. */
#include "import/caffe/parser.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef pz_status (*scalar_reader)(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to);

static bool take_minus(pz_caffe_parser *p, pz_status *status) {
  bool minus = pz_caffe_token_is(&p->lexer.token, '-');
  *status = minus ? pz_caffe_lexer_next(&p->lexer) : PZ_OK;
  return minus;
}

/* ---- integers ---- */

static int digit_value(char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; }

/* The value of an integer token; false when it has a digit that its base has not, or does not fit. */
static bool magnitude(const pz_caffe_token *t, uint64_t *value) {
  bool hex = t->size > 2 && (t->text[1] | 0x20) == 'x', octal = !hex && t->size > 1 && t->text[0] == '0';
  uint64_t base = hex ? 16 : octal ? 8 : 10;
  *value = 0;
  for (size_t i = hex ? 2 : 0; i < t->size; i++) {
    uint64_t digit = (uint64_t)digit_value(t->text[i]);
    if (digit >= base || __builtin_mul_overflow(*value, base, value) ||
        __builtin_add_overflow(*value, digit, value))
      return false;
  }
  return true;
}

/* An integer in low .. high, low being at most 0. */
static pz_status read_integer(pz_caffe_parser *p, const char *field, int64_t low, uint64_t high,
                              uint64_t *value) {
  pz_caffe_token first = p->lexer.token;
  pz_status status;
  bool minus = take_minus(p, &status);
  PZ_TRY(status);
  if (p->lexer.token.kind != PZ_TOKEN_INTEGER) return pz_caffe_fail_expected(&p->lexer, "an integer");
  bool fits = magnitude(&p->lexer.token, value);
  fits = fits && *value <= (minus ? UINT64_C(0) - (uint64_t)low : high);
  if (!fits)
    return pz_caffe_fail_at(&p->lexer, &first, "%s: %s%.*s is out of range, %lld to %llu are allowed", field,
                            minus ? "-" : "", (int)(p->lexer.token.size < 40 ? p->lexer.token.size : 40),
                            p->lexer.token.text, (long long)low, (unsigned long long)high);
  if (minus) *value = UINT64_C(0) - *value;
  return pz_caffe_lexer_next(&p->lexer);
}

static pz_status read_int32(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  uint64_t value = 0;
  PZ_TRY(read_integer(p, field->name, INT32_MIN, INT32_MAX, &value));
  *(int32_t *)to = (int32_t)(int64_t)value;
  return PZ_OK;
}

static pz_status read_uint32(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  uint64_t value = 0;
  PZ_TRY(read_integer(p, field->name, 0, UINT32_MAX, &value));
  *(uint32_t *)to = (uint32_t)value;
  return PZ_OK;
}

static pz_status read_int64(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  uint64_t value = 0;
  PZ_TRY(read_integer(p, field->name, INT64_MIN, INT64_MAX, &value));
  *(int64_t *)to = (int64_t)value;
  return PZ_OK;
}

/* ---- floats ---- */

static bool name_is(const pz_caffe_token *t, const char *a, const char *b) {
  char lower[9];
  if (t->kind != PZ_TOKEN_NAME || t->size >= sizeof lower) return false;
  for (size_t i = 0; i < t->size; i++) lower[i] = (char)(t->text[i] | 0x20);
  lower[t->size] = 0;
  return !strcmp(lower, a) || !strcmp(lower, b);
}

/* Decimal digits with point, exponent and f; hexadecimal and octal as integers. */
static bool number_value(pz_caffe_parser *p, const pz_caffe_token *t, double *value) {
  uint64_t integer;
  bool based = t->kind == PZ_TOKEN_INTEGER && t->size > 1 && t->text[0] == '0';
  if (based && magnitude(t, &integer)) {
    *value = (double)integer;
    return true;
  }
  char digits[128];
  if (based || t->size >= sizeof digits) return false;
  memcpy(digits, t->text, t->size);
  digits[t->size] = 0;
  *value = strtod_l(digits, NULL, p->c_locale);
  return isfinite(*value) && isfinite((float)*value);
}

static pz_status read_float(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  pz_caffe_token first = p->lexer.token;
  pz_status status;
  double value = 0;
  bool minus = take_minus(p, &status);
  PZ_TRY(status);
  const pz_caffe_token *t = &p->lexer.token;
  if (name_is(t, "inf", "infinity")) value = INFINITY;
  else if (name_is(t, "nan", "nan")) value = NAN;
  else if (t->kind != PZ_TOKEN_INTEGER && t->kind != PZ_TOKEN_FLOAT)
    return pz_caffe_fail_expected(&p->lexer, "a number");
  else if (!number_value(p, t, &value))
    return pz_caffe_fail_at(&p->lexer, &first, "%s: '%.*s' does not fit a 32-bit float", field->name,
                            (int)(t->size < 60 ? t->size : 60), t->text);
  *(float *)to = (float)(minus ? -value : value);
  return pz_caffe_lexer_next(&p->lexer);
}

/* ---- booleans and enumerations ---- */

static pz_status read_bool(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  static const char *const words[2][5] = {{"false", "False", "f", "0", "0x0"},
                                          {"true", "True", "t", "1", "0x1"}};
  for (int value = 0; value < 2; value++)
    for (int i = 0; i < 5; i++)
      if (p->lexer.token.kind != PZ_TOKEN_STRING && pz_caffe_token_equals(&p->lexer.token, words[value][i])) {
        *(protobuf_c_boolean *)to = value;
        return pz_caffe_lexer_next(&p->lexer);
      }
  (void)field;
  return pz_caffe_fail_expected(&p->lexer, "true or false");
}

static const ProtobufCEnumValue *enum_by_name(const ProtobufCEnumDescriptor *e, const pz_caffe_token *t) {
  for (unsigned i = 0; i < e->n_values; i++)
    if (pz_caffe_token_equals(t, e->values[i].name)) return &e->values[i];
  return NULL;
}

/* "A, B or C", cut where it would be too long. */
static void list_names(const ProtobufCEnumDescriptor *e, char *out, size_t size) {
  size_t used = 0;
  out[0] = 0;
  for (unsigned i = 0; i < e->n_values && used < size - 64; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", e->values[i].name);
  if (used >= size - 64) snprintf(out + used, size - used, ", ...");
}

static pz_status fail_enum(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field,
                           const pz_caffe_token *at) {
  char names[320];
  list_names(field->descriptor, names, sizeof names);
  return pz_caffe_fail_at(&p->lexer, at, "%s: unknown value '%.*s', known are %s", field->name,
                          (int)(at->size < 60 ? at->size : 60), at->text, names);
}

static pz_status read_enum(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  const ProtobufCEnumDescriptor *e = field->descriptor;
  pz_caffe_token first = p->lexer.token;
  if (first.kind == PZ_TOKEN_NAME) {
    const ProtobufCEnumValue *value = enum_by_name(e, &first);
    if (!value) return fail_enum(p, field, &first);
    *(int *)to = value->value;
    return pz_caffe_lexer_next(&p->lexer);
  }
  if (first.kind != PZ_TOKEN_INTEGER && !pz_caffe_token_is(&first, '-'))
    return pz_caffe_fail_expected(&p->lexer, "a name");
  int32_t number = 0;
  PZ_TRY(read_int32(p, field, &number));
  if (!protobuf_c_enum_descriptor_get_value(e, number)) return fail_enum(p, field, &first);
  *(int *)to = number;
  return PZ_OK;
}

/* ---- strings ---- */

/* At most `most` digits of a base at *s; the number of digits. */
static int take_digits(const char **s, const char *end, int base, int most, uint32_t *value) {
  int n = 0;
  *value = 0;
  for (; n < most && *s < end; n++, ++*s) {
    char c = **s, lower = (char)(c | 0x20);
    bool digit = (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f');
    if (!digit || digit_value(c) >= base) break;
    *value = *value * (uint32_t)base + (uint32_t)digit_value(c);
  }
  return n;
}

static char *put_utf8(char *out, uint32_t code) {
  int extra = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const uint8_t lead[4] = {0, 0xc0, 0xe0, 0xf0};
  *out++ = (char)(lead[extra] | code >> (6 * extra));
  while (extra--) *out++ = (char)(0x80 | (code >> (6 * extra) & 0x3f));
  return out;
}

static char simple_escape(char c) {
  static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
  const char *at = strchr(from, c);
  return c && at ? to[at - from] : 0;
}

/* The escape behind a backslash at *s; NULL where there is no such escape. A result is never longer than its escape. */
static char *undo_escape(const char **s, const char *end, char *out) {
  uint32_t value;
  if (take_digits(s, end, 8, 3, &value)) return value <= 0xff ? (*out = (char)value, out + 1) : NULL;
  char c = *(*s)++;
  if (c == 'x' || c == 'X') return take_digits(s, end, 16, 2, &value) ? (*out = (char)value, out + 1) : NULL;
  if (c == 'u' || c == 'U') {
    int digits = c == 'u' ? 4 : 8;
    bool ok = take_digits(s, end, 16, digits, &value) == digits && value <= 0x10ffff && value >> 11 != 0x1b;
    return ok ? put_utf8(out, value) : NULL;
  }
  *out = simple_escape(c);
  return *out ? out + 1 : NULL;
}

/* One token's characters to `out`; NULL where an escape is wrong. */
static char *undo_string(const pz_caffe_token *t, char *out) {
  const char *s = t->text + 1, *end = t->text + t->size - 1;
  while (out && s < end) {
    if (*s != '\\') *out++ = *s++;
    else {
      s++;
      out = undo_escape(&s, end, out);
    }
  }
  return out;
}

static bool grow_string(pz_caffe_parser *p, char **text, size_t used, size_t *room, size_t more) {
  if (used + more < *room) return true;
  *room = 2 * *room + more + 1;
  char *moved = PZ_NEW(p->arena, char, *room);
  if (moved && used) memcpy(moved, *text, used);
  *text = moved;
  return moved != NULL;
}

#define MAX_TEXT 65536 /* of names and all else; as in ONNX models */
/* Neighbouring strings are one. */
static pz_status read_string(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  pz_caffe_lexer *l = &p->lexer;
  char *text = NULL;
  size_t used = 0, room = 0;
  if (l->token.kind != PZ_TOKEN_STRING) return pz_caffe_fail_expected(l, "a string in quotes");
  for (; l->token.kind == PZ_TOKEN_STRING;) {
    if (!grow_string(p, &text, used, &room, l->token.size)) return pz_fail_memory(l->err, field->name, room);
    char *end = undo_string(&l->token, text + used);
    if (!end) return pz_caffe_fail_at(l, &l->token, "%s: bad escape in the string", field->name);
    if ((size_t)(end - text) > MAX_TEXT)
      return pz_caffe_fail_at(l, &l->token, "%s: a string of more than 65536 bytes", field->name);
    if (memchr(text + used, 0, (size_t)(end - text) - used))
      return pz_caffe_fail_at(l, &l->token, "%s: a NUL character in the string", field->name);
    used = (size_t)(end - text);
    PZ_TRY(pz_caffe_lexer_next(l));
  }
  text[used] = 0;
  *(char **)to = text;
  return PZ_OK;
}

/* ---- the table; types that the schema does not use have no row ---- */

static const struct {
  size_t size;
  scalar_reader read;
} scalars[] = {
    [PROTOBUF_C_TYPE_INT32] = {sizeof(int32_t), read_int32},
    [PROTOBUF_C_TYPE_INT64] = {sizeof(int64_t), read_int64},
    [PROTOBUF_C_TYPE_UINT32] = {sizeof(uint32_t), read_uint32},
    [PROTOBUF_C_TYPE_FLOAT] = {sizeof(float), read_float},
    [PROTOBUF_C_TYPE_BOOL] = {sizeof(protobuf_c_boolean), read_bool},
    [PROTOBUF_C_TYPE_ENUM] = {sizeof(int), read_enum},
    [PROTOBUF_C_TYPE_STRING] = {sizeof(char *), read_string},
    [PROTOBUF_C_TYPE_MESSAGE] = {sizeof(void *), NULL},
};

size_t pz_caffe_value_size(ProtobufCType type) {
  return (size_t)type < sizeof scalars / sizeof *scalars ? scalars[type].size : 0;
}

pz_status pz_caffe_parse_scalar(pz_caffe_parser *p, const ProtobufCFieldDescriptor *field, void *to) {
  return scalars[field->type].read(p, field, to);
}
