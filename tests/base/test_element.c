/* Numbers and elements one by one are what networks make of vectors of them (kernels/cast, whose own test knows the definitions). */
#include "base/element.h"
#include "kernels/cast/element.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const pz_dtype types[] = {PZ_F32, PZ_F16, PZ_BF16, PZ_U8, PZ_I8, PZ_U16, PZ_I16};
enum { TYPES = sizeof types / sizeof *types };

static bool is_integer(pz_dtype type) { return pz_dtype_kind(type) == 'u' || pz_dtype_kind(type) == 'i'; }

static pz_element with_scale(pz_dtype type, bool scaled) {
  return scaled && is_integer(type) ? (pz_element){type, 0.3f, 20} : (pz_element){type, 1, 0};
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
    check(with_scale(types[round % TYPES], round / TYPES % 2), x);
  }
}

static void elements(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; t++)
    for (int32_t first = 0; first < 65536 && types[t] != PZ_F32; first += PZ_S) {
      uint16_t in[PZ_S];
      uint8_t bytes[PZ_S];
      float x[PZ_S];
      const bool small = pz_dtype_bytes(types[t]) == 1;
      for (int i = 0; i < PZ_S; i++) in[i] = (uint16_t)(first + i), bytes[i] = (uint8_t)(first + i);
      pz_elements_to(with_scale(types[t], false), small ? (void *)bytes : in, PZ_S, x);
      check(with_scale(types[t], false), x);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(elements)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
