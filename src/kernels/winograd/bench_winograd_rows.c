/* First layers by rows.h: nanoseconds a row of results, the fastest of 20 runs on one thread, with and without
 * ELU; and the relative L2 error against double precision, of the sum itself in floats too. */
#include "kernels/bench.h"
#include "kernels/conv/test_expected.h"
#include "kernels/winograd/pack_rows.h"
#include "kernels/winograd/rows.h"

enum { RUNS = 20, D = 4, H = 8 };

typedef struct operands {
  const float *in, *packed, *bias;
  float *out, *scratch;
} operands;

#define PLANE(W, R) ((int64_t)(H + (R)-1) * ((W) + (R)-1))
#define SHAPE(KD, R, M, K, W, KB, RW, ACT)                                                                   \
  {                                                                                                          \
    .conv = {.in = {1,                                                                                       \
                    1,                                                                                       \
                    D,                                                                                       \
                    H,                                                                                       \
                    W,                                                                                       \
                    1,                                                                                       \
                    {0},                                                                                     \
                    {0},                                                                                     \
                    PLANE(W, R) * (D + (KD)-1),                                                              \
                    PLANE(W, R) * (D + (KD)-1),                                                              \
                    PLANE(W, R),                                                                             \
                    (W) + (R)-1,                                                                             \
                    1},                                                                                      \
             .out = PZ_BENCH_VIEW(PZ_S, 1, K, D, H, W),                                                      \
             .kernel = {KD, R, R},                                                                           \
             .stride = {1, 1, 1},                                                                            \
             .dilation = {1, 1, 1},                                                                          \
             .pad = {(KD) / 2, (R) / 2, (R) / 2},                                                            \
             .groups = 1,                                                                                    \
             .phases = 1,                                                                                    \
             .act = ACT,                                                                                     \
             .alpha = 1,                                                                                     \
             .has_bias = 1},                                                                                 \
    .m = M, .kb = KB, .rw = RW                                                                               \
  }

#define CASE(KD, R, M, K, W, KB, RW)                                                                         \
  static __attribute__((noinline)) void elu_##KD##_##M##_##K##_##KB##_##RW(const operands *o) {              \
    const pz_winograd_rows_shape s = SHAPE(KD, R, M, K, W, KB, RW, PZ_K_ACT_ELU);                            \
    pz_winograd_rows(s, o->in, o->packed, o->bias, NULL, NULL, NULL, o->out, o->scratch, 0, 1);              \
  }                                                                                                          \
  static __attribute__((noinline)) void none_##KD##_##M##_##K##_##KB##_##RW(const operands *o) {             \
    const pz_winograd_rows_shape s = SHAPE(KD, R, M, K, W, KB, RW, PZ_K_ACT_NONE);                           \
    pz_winograd_rows(s, o->in, o->packed, o->bias, NULL, NULL, NULL, o->out, o->scratch, 0, 1);              \
  }
#define ROW(KD, R, M, K, W, KB, RW)                                                                          \
  {                                                                                                          \
    SHAPE(KD, R, M, K, W, KB, RW, PZ_K_ACT_NONE), elu_##KD##_##M##_##K##_##KB##_##RW,                        \
        none_##KD##_##M##_##K##_##KB##_##RW                                                                  \
  }

/* Kernel, m, maps, width; blocks and tiles at a time for 32 registers, or 16. */
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
  pz_winograd_rows_shape s;
  void (*elu)(const operands *), (*none)(const operands *);
} rows[] = {ALL(ROW_OF)};

static double fastest(void (*run)(const operands *), const operands *o) {
  return PZ_BENCH_FASTEST(RUNS, run(o)) * 1e9 / (D * H);
}

/* The sum in floats, one tap after the other. */
static float plain_sum(const pz_conv_direct_shape *s, const pz_test_tensor *in, const float *weights,
                       int32_t d, int32_t h, int32_t w) {
  float sum = 0;
  for (int32_t t = 0; t < pz_conv_taps(s); ++t)
    sum = fmaf(weights[t],
               *pz_test_at(in, 0, 0, d + t / (s->kernel[1] * s->kernel[2]) - s->pad[0],
                           h + t / s->kernel[2] % s->kernel[1] - s->pad[1], w + t % s->kernel[2] - s->pad[2]),
               sum);
  return sum;
}

static void bench(const struct row *row) {
  const pz_winograd_rows_shape *s = &row->s;
  const pz_conv_direct_shape *c = &s->conv;
  const int64_t taps = pz_conv_taps(c), floats = pz_winograd_rows_weight_floats(s);
  pz_test_random r = {.state = 3};
  float *weights = pz_bench_alloc(c->out.c * taps), *packed = pz_bench_alloc(floats),
        *stored = pz_bench_alloc(c->in.stride_n), *bias = pz_bench_alloc(c->out.c + PZ_S),
        *out = pz_bench_alloc(c->out.stride_n), *scratch = pz_bench_alloc(pz_winograd_rows_scratch(s));
  for (int64_t i = 0; i < c->out.c * taps; ++i) weights[i] = pz_test_float(&r, -1, 1);
  for (int64_t i = 0; i < c->in.stride_n; ++i) stored[i] = pz_test_float(&r, -1, 1);
  memset(bias, 0, (size_t)(c->out.c + PZ_S) * sizeof *bias);
  memset(packed, 0, (size_t)floats * sizeof *packed);
  pz_winograd_rows_pack(s, weights, packed);
  const pz_test_tensor in = {.view = c->in,
                             .at = stored + c->pad[0] * c->in.stride_d + c->pad[1] * c->in.stride_h +
                                   c->pad[2]},
                       results = {.view = c->out, .at = out};
  const operands o = {.in = in.at, .packed = packed, .bias = bias, .out = out, .scratch = scratch};
  const double elu = fastest(row->elu, &o), none = fastest(row->none, &o);
  double *want = pz_test_conv_expected(
             c,
             &(pz_test_conv){
                 .in = in, .out = results, .weights = weights, .bias = bias, .scale = bias, .slope = bias}),
         *at = want;
  double wrong = 0, plain = 0, size = 0;
  PZ_TEST_EACH(results.view, 0, results.view.c) {
    const double got = (double)*pz_test_at(&results, n, c, d, h, w) - *at,
                 sum = (double)plain_sum(&s->conv, &in, weights + c * taps, d, h, w) - *at;
    wrong += got * got, plain += sum * sum, size += *at * *at, ++at;
  }
  printf("F(%d) of %dx%dx%d, %d maps, width %d, %d blocks x %d tiles: with ELU %5.0f ns a row, without "
         "%5.0f; error %.1e, the sum itself %.1e\n",
         s->m, c->kernel[0], c->kernel[1], c->kernel[2], c->out.c, c->out.w, s->kb, s->rw, elu, none,
         sqrt(wrong / size), sqrt(plain / size));
  free(want), free(weights), free(packed), free(stored), free(bias), free(out), free(scratch);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) bench(rows + i);
  return 0;
}
