/* Numbers and elements one by one are what networks make of vectors of them (kernels/cast, whose own test knows the definitions). */
#include "base/element.h"
#include "kernels/cast/element.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static pz_element with_scale(pz_dtype type, bool scaled) {
  if (!scaled || !pz_dtype_is_integer(type)) return (pz_element){type, 1, 0};
  return (pz_element){type, 0.3f, pz_dtype_bytes(type) > 2 ? 0 : 20};
}

/* The round-th of the types that tensors may have, again and again. */
static pz_dtype type_of(int round) {
  pz_dtype all[PZ_DTYPES];
  int n = 0;
  for (int i = 0; i < PZ_DTYPES; i++)
    if (pz_type_of_tensors((pz_dtype)i)) all[n++] = (pz_dtype)i;
  return all[round % n];
}

/* S numbers there, and what comes of them back. */
static void check(pz_element e, const float *x) {
  char one[4 * PZ_S + 1], many[4 * PZ_S];
  float back[PZ_S], of_vector[PZ_S];
  pz_v v;
  memcpy(&v, x, sizeof v);
  pz_elements_from(e, x, PZ_S, one + 1); /* at any address */
  pz_cast_store(many, v, (int32_t)e.type, e.scale, e.zero_point, PZ_S, 1);
  assert_memory_equal(one + 1, many, (size_t)(PZ_S * pz_dtype_bytes(e.type)));
  pz_elements_to(e, one + 1, PZ_S, back);
  v = pz_cast_load(many, (int32_t)e.type, e.scale, e.zero_point, PZ_S, 1);
  memcpy(of_vector, &v, sizeof v);
  assert_memory_equal(back, of_vector, sizeof back);
}

static void numbers(void **state) {
  (void)state;
  uint32_t seed = 1;
  for (int round = 0; round < 200000; round++) {
    float x[PZ_S];
    for (int i = 0; i < PZ_S; i++) {
      uint32_t bits = seed = seed * 1664525u + 1013904223u;
      if (round % 3 == 0)
        bits = (bits & 0x807fffff) | (100u + (bits >> 24) % 48) << 23; /* around 1, and halves' ends */
      memcpy(&x[i], &bits, 4);
      if (round % 3 == 1) x[i] = (float)((int32_t)bits >> 14) * 0.5f; /* halves of integers */
    }
    check(with_scale(type_of(round), round / PZ_DTYPES % 2), x);
  }
}

static void elements(void **state) {
  (void)state;
  for (int t = 0; t < PZ_DTYPES; t++)
    for (uint32_t first = 0; first < 65536 && type_of(t) != PZ_F32; first += PZ_S) {
      char in[4 * PZ_S];
      float x[PZ_S];
      const int64_t bytes = pz_dtype_bytes(type_of(t));
      for (uint32_t i = 0; i < PZ_S; i++) {
        const uint32_t bits = (first + i) * (bytes > 2 ? 2654435761u : 1);
        memcpy(in + i * (size_t)bytes, &bits, (size_t)bytes);
      }
      pz_elements_to(with_scale(type_of(t), false), in, PZ_S, x);
      check(with_scale(type_of(t), false), x);
    }
}

/* Not-a-number is no number, too. */
static void scales(void **state) {
  (void)state;
  static const struct {
    pz_element element;
    bool sound;
  } rows[] = {
      {{PZ_F32, 1, 0}, true},        {{PZ_F32, 2, 0}, false},     {{PZ_F16, 1, 1}, false},
      {{PZ_BF16, 1, 0}, true},       {{PZ_F64, 1, 0}, true},      {{PZ_BOOL, 0.5f, 0}, false},
      {{PZ_U8, 0.5f, 255}, true},    {{PZ_U8, 0.5f, 256}, false}, {{PZ_U8, 1, -1}, false},
      {{PZ_I8, 3, -128}, true},      {{PZ_I8, 3, -129}, false},   {{PZ_I8, 3, 128}, false},
      {{PZ_I16, 1, -32768}, true},   {{PZ_U16, 1, 65535}, true},  {{PZ_U16, 1, 65536}, false},
      {{PZ_I32, 0.5f, 0}, true},     {{PZ_I32, 0.5f, 1}, false},  {{PZ_I64, 0.5f, 0}, true},
      {{PZ_U32, 1, -1}, false},      {{PZ_U8, 0, 0}, false},      {{PZ_U8, -1, 0}, false},
      {{PZ_U8, INFINITY, 0}, false}, {{PZ_U8, NAN, 0}, false},    {{(pz_dtype)PZ_DTYPES, 1, 0}, false},
      {{(pz_dtype)-1, 1, 0}, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (pz_element_sound(rows[i].element) != rows[i].sound) fail_msg("row %d", (int)i);
}

/* PZ_TENSOR_TYPES_IN_WORDS names the types of tensors and no others. */
static void words(void **state) {
  (void)state;
  static const char text[] = PZ_TENSOR_TYPES_IN_WORDS;
  for (int t = 0; t < PZ_DTYPES; t++) {
    const char *name = pz_dtype_name((pz_dtype)t);
    bool named = false;
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
      named |= (at == text || at[-1] == ' ') && !isalnum((unsigned char)at[strlen(name)]);
    if (named != pz_type_of_tensors((pz_dtype)t))
      fail_msg("%s is %sin '%s'", name, named ? "" : "not ", text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(elements),
                                     cmocka_unit_test(scales), cmocka_unit_test(words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
