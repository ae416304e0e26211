/* First layers by winograd_1d_w.h: a line for each kernel, F(m), number of channels and width (conv/bench_first.h). */
#include "kernels/conv/bench_first.h"
#include "kernels/winograd_1d/pack_w.h"
#include "kernels/winograd_1d/winograd_1d_w.h"

typedef pz_bench_first_operands operands;

#define SHAPE(KD, R, M, K, W, KB, RW, ACT)                                                                   \
  { .conv = PZ_BENCH_FIRST(KD, R, K, W, ACT), .m = M, .kb = KB, .rw = RW }

#define ONE(NAME, ACT, KD, R, M, K, W, KB, RW)                                                               \
  static __attribute__((noinline)) void NAME##_##KD##_##M##_##K##_##KB##_##RW(const operands *o) {           \
    const pz_winograd_1d_w_shape s = SHAPE(KD, R, M, K, W, KB, RW, ACT);                                     \
    pz_winograd_1d_w(s, o->in, o->packed, o->bias, NULL, NULL, NULL, o->out, NULL, o->scratch, 0, 1);        \
  }
#define CASE(...) ONE(elu, PZ_K_ACT_ELU, __VA_ARGS__) ONE(none, PZ_K_ACT_NONE, __VA_ARGS__)
#define ROW(KD, R, M, K, W, KB, RW)                                                                          \
  {                                                                                                          \
    SHAPE(KD, R, M, K, W, KB, RW, PZ_K_ACT_NONE), elu_##KD##_##M##_##K##_##KB##_##RW,                        \
        none_##KD##_##M##_##K##_##KB##_##RW                                                                  \
  }

/* Kernel, m, channels, width; blocks and tiles at a time for 32 registers, or 16. */
#if PZ_V_REGISTERS == 32
#define ALL(X)                                                                                               \
  X(3, 3, 2, 32, 64, 2, 3)                                                                                   \
  X(3, 3, 4, 32, 64, 2, 2)                                                                                   \
  X(3, 3, 6, 32, 64, 1, 3)                                                                                   \
  X(3, 3, 4, 64, 106, 2, 2)                                                                                  \
  X(3, 3, 4, 64, 106, 1, 4)                                                                                  \
  X(3, 3, 4, 64, 106, 4, 1)                                                                                  \
  X(3, 3, 6, 64, 106, 1, 3)                                                                                  \
  X(1, 5, 2, 28, 160, 2, 2)                                                                                  \
  X(1, 5, 4, 28, 160, 1, 3) X(1, 5, 4, 28, 160, 1, 2) X(1, 5, 4, 28, 160, 2, 1) X(1, 5, 6, 28, 160, 1, 2)
#else
#define ALL(X)                                                                                               \
  X(3, 3, 2, 32, 64, 1, 3) X(3, 3, 4, 32, 64, 1, 2) X(3, 3, 6, 32, 64, 1, 1) X(1, 5, 4, 28, 160, 1, 1)
#endif
ALL(CASE)
#define ROW_OF(...) ROW(__VA_ARGS__),
static const struct row {
  pz_winograd_1d_w_shape s;
  void (*elu)(const operands *), (*none)(const operands *);
} rows[] = {ALL(ROW_OF)};

static void pack(const void *shape, const float *weights, float *packed) {
  pz_winograd_1d_w_pack(shape, weights, packed);
}

static void bench(const struct row *row) {
  const pz_winograd_1d_w_shape *s = &row->s;
  const pz_conv_direct_shape *c = &s->conv;
  printf("F(%d) of %dx%dx%d, %d channels, width %d, %d blocks x %d tiles: ", s->m, c->kernel[0], c->kernel[1],
         c->kernel[2], c->out.c, c->out.w, s->kb, s->rw);
  pz_bench_first(&(pz_bench_first_layer){s, c, pz_winograd_1d_w_weight_floats(s), pz_winograd_1d_w_scratch(s),
                                         pack, row->elu, row->none});
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) bench(rows + i);
  return 0;
}
