/* code.h: C that is being generated. Nothing that a model's author wrote can stand in it but as the inside of a comment or of a string.
 *
 *   pz_code_put(code, "  {\"$\", $},\n", pz_code_name(tensor->name), tensor->shape.rank);
 *
 * The text is a literal of the generator: the macro takes no other. Each $ is a hole for a value: a number as it is, or
 *
 *   pz_code_name       any bytes. The hole is in a comment or in a string, and the place decides how they are written (base/inert.h)
 *   pz_code_word       an identifier or the path of a header: letters, digits and _ . / - between letters, digits and _
 *   pz_code_constants  what the planner computed for a kernel: numbers, identifiers, braces, brackets
 *   pz_code_choice     one of two literals
 *
 * A `const char *` in a hole does not compile. What is no word, no constants or has no place makes pz_code_write fail, as does anything but
 * printable ASCII in lines, a trigraph, a comment or a string inside another, and a value that begins or ends one. */
#ifndef PZ_EMIT_CODE_H
#define PZ_EMIT_CODE_H

#include "base/status.h"
#include <stddef.h>

typedef struct pz_code pz_code;

/* A value of a hole; made by what is below alone. */
typedef struct pz_code_value {
  enum { PZ_CODE_INTEGER, PZ_CODE_REAL, PZ_CODE_LITERAL, PZ_CODE_NAME, PZ_CODE_WORD, PZ_CODE_CONSTANTS } kind;
  union {
    int64_t integer;
    double real;
    const char *text;
  } of;
} pz_code_value;

pz_code_value pz_code_name(const char *name);
pz_code_value pz_code_word(const char *word);
pz_code_value pz_code_constants(const char *constants);
pz_code_value pz_code_literal_(const char *literal);
#define pz_code_choice(condition, yes, no) pz_code_literal_((condition) ? "" yes "" : "" no "")

/* NULL: out of memory, and then all that is put is dropped and pz_code_write says so. */
pz_code *pz_code_new(void);
void pz_code_free(pz_code *code);

void pz_code_put_(pz_code *code, const char *literal, const pz_code_value *values, int32_t n);
#define pz_code_add(code, literal) pz_code_put_((code), "" literal "", NULL, 0)
#define pz_code_put(code, literal, ...)                                                                      \
  pz_code_put_(                                                                                              \
      (code), "" literal "",                                                                                 \
      (const pz_code_value[]){PZ_CODE_EACH(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(__VA_ARGS__)},        \
      PZ_CODE_EACH_COUNT(__VA_ARGS__, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1))

/* Both check all that was put. The digest is SHA-256 in hexadecimal (65 bytes). */
pz_status pz_code_digest(pz_code *code, char *digits, pz_error *err);
/* Frees the code. */
pz_status pz_code_write(pz_code *code, const char *path, pz_error *err);

/* ---- how values reach pz_code_put_ ---- */

pz_code_value pz_code_int_(int64_t value);
pz_code_value pz_code_real_(double value);
pz_code_value pz_code_same_(pz_code_value value);
#define PZ_CODE_VALUE(x)                                                                                     \
  _Generic((x), int                                                                                          \
           : pz_code_int_, long                                                                              \
           : pz_code_int_, long long                                                                         \
           : pz_code_int_, double                                                                            \
           : pz_code_real_, pz_code_value                                                                    \
           : pz_code_same_)(x)
#define PZ_CODE_EACH_COUNT(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, n, ...) n
#define PZ_CODE_EACH(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, n, ...)       PZ_CODE_EACH_##n
#define PZ_CODE_EACH_1(a)                                                   PZ_CODE_VALUE(a)
#define PZ_CODE_EACH_2(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_1(__VA_ARGS__)
#define PZ_CODE_EACH_3(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_2(__VA_ARGS__)
#define PZ_CODE_EACH_4(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_3(__VA_ARGS__)
#define PZ_CODE_EACH_5(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_4(__VA_ARGS__)
#define PZ_CODE_EACH_6(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_5(__VA_ARGS__)
#define PZ_CODE_EACH_7(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_6(__VA_ARGS__)
#define PZ_CODE_EACH_8(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_7(__VA_ARGS__)
#define PZ_CODE_EACH_9(a, ...)                                              PZ_CODE_VALUE(a), PZ_CODE_EACH_8(__VA_ARGS__)
#define PZ_CODE_EACH_10(a, ...)                                             PZ_CODE_VALUE(a), PZ_CODE_EACH_9(__VA_ARGS__)

#endif
