/* First layers by bf16x3.h (AMX): a line for each kernel, number of terms, of channels and width (conv/bench_first.h). */
#include "kernels/conv/bench_first.h"
#include "kernels/conv_bf16x3/bf16x3.h"
#include "kernels/conv_bf16x3/pack.h"

typedef pz_bench_first_operands operands;

#define SHAPE(KD, R, TERMS, K, W, ACT)                                                                       \
  { .conv = PZ_BENCH_FIRST(KD, R, K, W, ACT), .terms = TERMS, .rows = PZ_BENCH_FIRST_H }
#define ONE(NAME, ACT, KD, R, TERMS, K, W)                                                                   \
  static const pz_conv_bf16x3_shape NAME##_shape_##KD##_##TERMS##_##K = SHAPE(KD, R, TERMS, K, W, ACT);      \
  static __attribute__((noinline)) void NAME##_##KD##_##TERMS##_##K(const operands *o) {                     \
    pz_conv_bf16x3(NAME##_shape_##KD##_##TERMS##_##K, o->in, (const uint16_t *)o->packed, o->bias, NULL,     \
                   NULL, NULL, o->out, o->scratch, 0, 1);                                                    \
  }
#define CASE(...) ONE(elu, PZ_K_ACT_ELU, __VA_ARGS__) ONE(none, PZ_K_ACT_NONE, __VA_ARGS__)

/* Residual's, Symmetric's and Original's. */
#define ALL(X)                                                                                               \
  X(1, 5, 3, 28, 160)                                                                                        \
  X(1, 5, 2, 28, 160) X(3, 3, 3, 32, 64) X(3, 3, 2, 32, 64) X(3, 3, 3, 64, 108) X(3, 3, 2, 64, 108)
ALL(CASE)

static void pack(const void *shape, const float *weights, float *packed) {
  pz_bf16x3_pack(shape, weights, (pz_bf16_pair *)packed);
}

static void bench(const pz_conv_bf16x3_shape *s, void (*elu)(const operands *),
                  void (*none)(const operands *)) {
  const pz_conv_direct_shape *c = &s->conv;
  printf("%d terms of %dx%dx%d, %d channels, width %d: ", s->terms, c->kernel[0], c->kernel[1], c->kernel[2],
         c->out.c, c->out.w);
  pz_bench_first(
      &(pz_bench_first_layer){s, c, pz_bf16x3_weight_pairs(s), pz_bf16x3_scratch(s), pack, elu, none});
}

int main(void) {
  if (!pz_test_cpu()) return 77;
#define BENCH(KD, R, TERMS, K, W)                                                                            \
  bench(&none_shape_##KD##_##TERMS##_##K, elu_##KD##_##TERMS##_##K, none_##KD##_##TERMS##_##K);
  ALL(BENCH)
  return 0;
}
