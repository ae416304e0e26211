/* Casts between all types and layouts, against arithmetic in double and against the elements' definitions: exact, but for a scale
 * whose product with a number is rounded once (relative 6e-8). Every half and every bfloat16 goes through once. */
#include "kernels/cast/cast.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define NUMBER(name, number, bytes, least, greatest) number,
static const int32_t types[] = {PZ_CAST_TYPES(NUMBER)};
enum { ROUNDS = 600, TYPES = sizeof types / sizeof *types };

static bool is_integer(int32_t type) {
  return type != PZ_CAST_F32 && type != PZ_CAST_F16 && type != PZ_CAST_BF16;
}
static bool is_wide(int32_t type) { return is_integer(type) && pz_cast_bytes(type) == 4; }

/* ---- elements by their definition ---- */

/* IEEE 754: so many bits of exponent and mantissa. */
static double of_bits(uint32_t h, int exponent_bits, int mantissa_bits) {
  const int mantissa = (int)(h & ((1u << mantissa_bits) - 1)),
            exponent = (int)(h >> mantissa_bits & ((1u << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
  const double sign = h >> (exponent_bits + mantissa_bits) ? -1 : 1;
  if (exponent == last) return mantissa ? (double)NAN : sign * INFINITY;
  if (!exponent) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

static double value_at(const char *p, int32_t type) {
  union {
    float f;
    int32_t i32;
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
  } e;
  memcpy(&e, p, (size_t)pz_cast_bytes(type));
  switch (type) {
  case PZ_CAST_F32: return (double)e.f;
  case PZ_CAST_U8: return e.u8;
  case PZ_CAST_I8: return e.i8;
  case PZ_CAST_U16: return e.u16;
  case PZ_CAST_I16: return e.i16;
  case PZ_CAST_I32: return e.i32;
  case PZ_CAST_F16: return of_bits(e.u16, 5, 10);
  case PZ_CAST_BF16: return of_bits(e.u16, 8, 7);
  }
  fail_msg("type %d has no definition here", type);
  return 0;
}

/* The greatest finite element and the least integer, and the distance between the elements around x. */
static double greatest_of(int32_t type) {
  switch (type) {
  case PZ_CAST_U8: return 255;
  case PZ_CAST_I8: return 127;
  case PZ_CAST_U16: return 65535;
  case PZ_CAST_I16: return 32767;
  case PZ_CAST_I32: return 2147483647;
  case PZ_CAST_F16: return 65504;
  case PZ_CAST_BF16: return 0x1.fep127;
  default: return 0x1.fffffep127;
  }
}
static double least_of(int32_t type) {
  return type == PZ_CAST_U8 || type == PZ_CAST_U16 ? 0 : -greatest_of(type) - 1;
}
static double unit_of(int32_t type, double x) {
  if (is_integer(type)) return 1;
  const int bits = type == PZ_CAST_F16    ? 11
                   : type == PZ_CAST_BF16 ? 8
                                          : 24,
            least = type == PZ_CAST_F16 ? -14 : -126;
  const int exponent = x == 0 || ilogb(x) < least ? least : ilogb(x);
  return ldexp(1, exponent - bits + 1);
}

static double nearest(double x, int32_t type) {
  if (isnan(x)) return is_integer(type) ? 0 : (double)NAN;
  if (isinf(x) && !is_integer(type)) return x;
  const double unit = isinf(x) ? 1 : unit_of(type, x), y = isinf(x) ? x : nearbyint(x / unit) * unit;
  if (is_integer(type)) return fmin(fmax(y, least_of(type)), greatest_of(type));
  return fabs(y) > greatest_of(type) ? copysign(INFINITY, x) : y;
}

static bool same_number(double a, double b) {
  return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* ---- one vector: all 16-bit elements, and numbers between them ---- */

static void all_elements(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; ++t) {
    const int32_t type = types[t], bytes = pz_cast_bytes(type);
    for (int32_t first = 0; bytes < 4 && first < (bytes == 1 ? 256 : 65536); first += PZ_S) {
      char in[4 * PZ_S], back[4 * PZ_S];
      float got[PZ_S];
      for (int32_t i = 0; i < PZ_S; ++i) {
        const uint16_t bits = (uint16_t)(first + i);
        memcpy(in + i * bytes, &bits, (size_t)bytes);
      }
      const pz_v x = pz_cast_load(in, type, 1, 0, PZ_S, 1);
      memcpy(got, &x, sizeof got);
      pz_cast_store(back, x, type, 1, 0, PZ_S, 1);
      for (int32_t i = 0; i < PZ_S; ++i) {
        const double want = value_at(in + i * bytes, type);
        if (!same_number((double)got[i], want))
          fail_msg("type %d, element %x: %a", type, first + i, (double)got[i]);
        if (!same_number(value_at(back + i * bytes, type), want))
          fail_msg("type %d, element %x does not come back", type, first + i);
      }
    }
  }
}

/* Around the ends, around 2^24, from where floats lie further apart than integers, and anywhere: the nearest float, of two the even
 * one, and that as an element again: 2^31 itself is none. */
static void wide_elements(void **state) {
  (void)state;
  static const uint32_t middles[] = {0, 1u << 22, 1u << 24, 1u << 30, 1u << 31, 0u - (1u << 24), 0xdeadbeef};
  for (int t = 0; t < TYPES; ++t)
    for (int round = 0; round < 4000 && is_wide(types[t]); ++round) {
      const uint32_t middle = middles[round % 7], step = round % 7 == 6 ? 2654435761u : 1;
      int32_t in[PZ_S], back[PZ_S];
      float got[PZ_S];
      for (int i = 0; i < PZ_S; ++i)
        in[i] = (int32_t)(middle + step * (uint32_t)(round / 7 * PZ_S + i - 200));
      const pz_v x = pz_cast_load((const char *)in, types[t], 1, 0, PZ_S, 1);
      memcpy(got, &x, sizeof got);
      pz_cast_store((char *)back, x, types[t], 1, 0, PZ_S, 1);
      for (int i = 0; i < PZ_S; ++i) {
        const double want = nearest(value_at((const char *)&in[i], types[t]), PZ_CAST_F32);
        if ((double)got[i] != want) fail_msg("type %d, element %d: %a", types[t], in[i], (double)got[i]);
        if (value_at((const char *)&back[i], types[t]) != fmin(want, greatest_of(types[t])))
          fail_msg("type %d, element %d becomes %d", types[t], in[i], back[i]);
      }
    }
}

static float random_number(pz_test_random *r, int32_t type) {
  static const float ends[] = {
      0,        -0.f,       NAN,         INFINITY,       -INFINITY,       0.5f,
      1.5f,     2.5f,       -0.5f,       254.5f,         255.5f,          65519,
      65520,    65535.5f,   -32768.5f,   0x1p-25f,       0x1.8p-24f,      0x1.ffp127f,
      -1e30f,   4194304.5f, -4194305.5f, 8388606.5f,     -8388607.5f,     8388609,
      16777215, 0x1p31f,    -0x1p31f,    0x1.fffffep30f, -0x1.fffffep30f, -0x1.000002p31f,
      0x1p32f};
  const int kind = pz_test_int(r, 0, 3);
  if (kind == 0) return ends[pz_test_int(r, 0, sizeof ends / sizeof *ends - 1)];
  if (kind == 1 && is_integer(type)) return (float)pz_test_int(r, -200, 70000) * 0.5f;
  if (kind == 2) return ldexpf(pz_test_float(r, -2, 2), pz_test_int(r, -28, is_wide(type) ? 33 : 20));
  return pz_test_float(r, -300, 300);
}

static void numbers(void **state) {
  (void)state;
  pz_test_random r = {91};
  for (int round = 0; round < 40000; ++round) {
    const int32_t type = types[round % TYPES];
    float in[PZ_S];
    char out[4 * PZ_S];
    pz_v x;
    for (int32_t i = 0; i < PZ_S; ++i) in[i] = random_number(&r, type);
    memcpy(&x, in, sizeof x);
    pz_cast_store(out, x, type, 1, 0, PZ_S, 1);
    for (int32_t i = 0; i < PZ_S; ++i) {
      const double got = value_at(out + i * pz_cast_bytes(type), type), want = nearest((double)in[i], type);
      if (!(isnan(got) ? isnan(want) : got == want))
        fail_msg("type %d: %a becomes %a, not %a", type, (double)in[i], got, want);
    }
  }
}

/* ---- tensors ---- */

/* Storage of another type: as many bytes, flush with a guard page, poisoned. */
typedef struct typed {
  pz_view view;
  int32_t type;
  pz_test_memory memory;
  char *begin, *at; /* of all elements, of element (0,0,0,0,0) */
  int64_t elements;
} typed;

static typed make(pz_test_random *r, int32_t type, int32_t block, const int32_t size[5]) {
  const pz_test_tensor shape = pz_test_tensor_random(r, block, size[0], size[1], size[2], size[3], size[4]);
  typed t = {.view = shape.view, .type = type, .elements = shape.memory.floats};
  const bool low = pz_test_int(r, 0, 1);
  const int64_t bytes = t.elements * pz_cast_bytes(type), floats = (bytes + 3) / 4;
  t.memory = pz_test_alloc(floats, low);
  memset(t.memory.data, 0xee, (size_t)floats * 4);
  t.begin = (char *)t.memory.data + (low ? 0 : floats * 4 - bytes);
  if (block > 1) t.begin = (char *)t.memory.data;
  t.at = t.begin + (shape.at - shape.memory.data) * pz_cast_bytes(type);
  pz_test_tensor copy = shape;
  pz_test_tensor_free(&copy);
  return t;
}
static char *typed_at(const typed *t, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  const pz_view *v = &t->view;
  return t->at + (n * v->stride_n + c / v->block * v->stride_c + d * v->stride_d + h * v->stride_h +
                  w * v->stride_w + c % v->block) *
                     pz_cast_bytes(t->type);
}

static void random_element(pz_test_random *r, char *p, int32_t type) {
  const float f = random_number(r, type);
  const uint32_t bits = pz_test_next(r);
  if (type == PZ_CAST_F32) memcpy(p, &f, 4);
  else memcpy(p, &bits, (size_t)pz_cast_bytes(type));
}

/* Writes nothing but the inside and, of blocks, their lanes. */
static void check_untouched(const typed *t) {
  const int32_t bytes = pz_cast_bytes(t->type), lanes = pz_test_lanes(&t->view);
  char *inside = calloc((size_t)t->elements + 1, 1);
  PZ_TEST_EACH(t->view, 0, lanes) inside[(typed_at(t, n, c, d, h, w) - t->begin) / bytes] = 1;
  for (int64_t i = 0; i < t->elements * bytes; ++i)
    if (!inside[i / bytes]) assert_int_equal((unsigned char)t->begin[i], 0xee);
  free(inside);
}

static void check(pz_cast_shape *s, const typed *in, const typed *out) {
  PZ_TEST_EACH(out->view, 0, out->view.c) {
    const double element = value_at(typed_at(in, n, c, d, h, w), s->from);
    const double x = is_integer(s->from) ? (double)((float)(element - s->in_zero) * s->in_scale) : element;
    const double scaled = is_integer(s->to) ? (double)((float)x / s->out_scale) : x;
    const double want =
        is_integer(s->to)
            ? fmin(fmax(isnan(x) ? s->out_zero : nearbyint(scaled) + s->out_zero, least_of(s->to)),
                   greatest_of(s->to))
            : nearest(x, s->to);
    const double got = value_at(typed_at(out, n, c, d, h, w), s->to);
    if (!(isnan(got) ? isnan(want) : got == want))
      fail_msg("%d to %d, (%d,%d,%d,%d,%d) of %d points: %a becomes %a, not %a", s->from, s->to, n, c, d, h,
               w, out->view.w, x, got, want);
  }
  const int32_t lanes = pz_test_lanes(&out->view);
  PZ_TEST_EACH(out->view, 0, lanes)
  if (c >= out->view.c) assert_true(value_at(typed_at(out, n, c, d, h, w), s->to) == 0);
  check_untouched(out);
}

/* Parts of vectors, whose last element is the last one in front of a guard page; the other lanes are of zero bytes. */
static void part(int32_t type, int32_t count) {
  const int32_t bytes = pz_cast_bytes(type), all = count * bytes;
  pz_test_memory memory = pz_test_alloc((all + 3) / 4, false);
  char *at = (char *)(memory.data + memory.floats) - all, wanted[4 * PZ_S];
  float got[PZ_S];
  for (int32_t i = 0; i < all; ++i) at[i] = wanted[i] = (char)(i % bytes + 1);
  const pz_v x = pz_cast_load(at, type, 1, 0, count, 0);
  memcpy(got, &x, sizeof got);
  memset(at, 0xee, (size_t)all);
  pz_cast_store(at, x, type, 1, 0, count, 0);
  for (int32_t i = 0; i < PZ_S; ++i) {
    const double number = i < count ? nearest(value_at(wanted + i * bytes, type), PZ_CAST_F32) : 0;
    if ((double)got[i] != number) fail_msg("type %d, %d of %d: %a", type, i, count, (double)got[i]);
    if (i < count) assert_true(value_at(at + i * bytes, type) == number);
  }
  pz_test_free(&memory);
}

static void parts(void **state) {
  (void)state;
  for (int t = 0; t < TYPES; ++t)
    for (int32_t count = 1; count < PZ_S; ++count) part(types[t], count);
}

static int32_t zero_point(pz_test_random *r, int32_t type) {
  return is_wide(type) ? 0 : pz_test_int(r, 0, 100);
}

static void tensors(void **state) {
  (void)state;
  pz_test_random r = {92};
  for (int round = 0; round < ROUNDS; ++round) {
    const int32_t size[5] = {pz_test_int(&r, 1, 2), pz_test_int(&r, 1, 2 * PZ_S + 1), pz_test_int(&r, 1, 3),
                             pz_test_int(&r, 1, 4), pz_test_int(&r, 1, 3 * PZ_S)};
    pz_cast_shape s = {.from = types[pz_test_int(&r, 0, TYPES - 1)],
                       .to = types[pz_test_int(&r, 0, TYPES - 1)],
                       .in_scale = 1,
                       .out_scale = 1};
    const int layouts = pz_test_int(&r, 0, 2); /* NCHW; from NCHWc; to NCHWc: those are of floats */
    if (layouts == 1) s.from = PZ_CAST_F32;
    if (layouts == 2) s.to = PZ_CAST_F32;
    if (is_integer(s.from) && round % 2) s.in_scale = 0.37f, s.in_zero = zero_point(&r, s.from);
    if (is_integer(s.to) && round % 3) s.out_scale = 0.25f, s.out_zero = zero_point(&r, s.to);
    typed in = make(&r, s.from, layouts == 1 ? PZ_S : 1, size),
          out = make(&r, s.to, layouts == 2 ? PZ_S : 1, size);
    s.in = in.view, s.out = out.view;
    PZ_TEST_EACH(in.view, 0, in.view.c) random_element(&r, typed_at(&in, n, c, d, h, w), s.from);
    bool same;
    PZ_TEST_WORKERS(same, out.memory, pz_cast(s, in.at, out.at, worker, workers));
    assert_true(same);
    check(&s, &in, &out);
    pz_test_free(&in.memory), pz_test_free(&out.memory);
  }
}

#ifdef __SSE__
static unsigned float_mode(void) { return __builtin_ia32_stmxcsr(); }
static void set_float_mode(unsigned mode) { __builtin_ia32_ldmxcsr(mode); }
enum { FLUSHES = 0x8040 };
#elif defined(__aarch64__)
static unsigned float_mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return (unsigned)mode;
}
static void set_float_mode(unsigned mode) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode)); }
enum { FLUSHES = 1 << 24 };
#endif

/* Workers take denormal floats for zeros: halves stay what they are. */
static void flushed(void **state) {
  (void)state;
#if defined(__SSE__) || defined(__aarch64__)
  const unsigned before = float_mode();
  set_float_mode(before | FLUSHES);
  uint16_t h[PZ_S], back[PZ_S];
  float x[PZ_S];
  for (int i = 0; i < PZ_S; ++i) h[i] = (uint16_t)(1 + 37 * i);
  const pz_v v = pz_cast_load((const char *)h, PZ_CAST_F16, 1, 0, PZ_S, 1);
  pz_cast_store((char *)back, v, PZ_CAST_F16, 1, 0, PZ_S, 1);
  memcpy(x, &v, sizeof x);
  set_float_mode(before);
  for (int i = 0; i < PZ_S; ++i) {
    assert_true((double)x[i] == of_bits(h[i], 5, 10));
    assert_int_equal(back[i], h[i]);
  }
#endif
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_elements), cmocka_unit_test(wide_elements),
                                     cmocka_unit_test(numbers),      cmocka_unit_test(tensors),
                                     cmocka_unit_test(parts),        cmocka_unit_test(flushed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
