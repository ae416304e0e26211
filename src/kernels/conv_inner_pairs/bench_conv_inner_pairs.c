/* Deconvolutions of 2x2x2 onto a sum, by direct.h and in inner pairs in turn: the fastest of 20 runs each on one thread, and the relative L2
 * error of 4000 results against double precision, of random inputs and of those through a ReLU. (doc/notes/2026-11-28-winograd.md) */
#include "kernels/bench.h"
#include "kernels/conv_inner_pairs/conv_inner_pairs.h"
#include "kernels/conv_inner_pairs/pack.h"
#include "kernels/deconv/deconv.h"

enum { RUNS = 20, SAMPLES = 4000, BLOCKS_OF_A_PASS = 8 };

typedef struct operands {
  const float *in, *direct, *packed, *taken, *bias;
  float *out, *scratch;
} operands;

/* As the planner makes it of 2x2x2 with stride 2: one product of 8 phases. Points of results lie 2 apart. */
#define BLOCKS(C) (((C) + PZ_S - 1) / PZ_S)
#define RESULTS(K, N)                                                                                        \
  {                                                                                                          \
    1, K, N, N, N, PZ_S, {0}, {0}, (int64_t)BLOCKS(K) * 8 * (N) * (N) * (N)*PZ_S,                            \
        (int64_t)8 * (N) * (N) * (N)*PZ_S, (int64_t)8 * (N) * (N)*PZ_S, (int64_t)4 * (N)*PZ_S, 2 * PZ_S, 0   \
  }
#define SHAPE(C, K, N, RW)                                                                                   \
  {                                                                                                          \
    .in = PZ_BENCH_VIEW(PZ_S, 1, C, N, N, N), .out = RESULTS(K, N), .residual = RESULTS(K, N),               \
    .kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 1, .phases = 8,               \
    .phases_h = 2, .phases_d = 2, .has_bias = 1, .kb = 2, .rw = RW, .rh = 1,                                 \
    .c_chunk = BLOCKS(C) < BLOCKS_OF_A_PASS ? BLOCKS(C) : BLOCKS_OF_A_PASS                                   \
  }
#ifndef HELD
#define HELD 0
#endif
#define POINTS (PZ_V_REGISTERS == 32 ? HELD ? 10 : 12 : 4)

#define CASE(C, K, N)                                                                                        \
  static __attribute__((noinline)) void direct_##C##_##K##_##N(const operands *o) {                          \
    const pz_conv_direct_shape s = SHAPE(C, K, N, POINTS < N ? POINTS : N);                                  \
    pz_conv_direct(s, o->in, o->direct, o->bias, o->out, NULL, NULL, o->out, NULL, 0, 1);                    \
  }                                                                                                          \
  static __attribute__((noinline)) void paired_##C##_##K##_##N(const operands *o) {                          \
    const pz_conv_inner_pairs_shape s = {SHAPE(C, K, N, POINTS), HELD};                                      \
    pz_conv_inner_pairs(s, o->in, o->packed, o->taken, o->bias, o->out, NULL, NULL, o->out, o->scratch, 0,   \
                        1);                                                                                  \
  }
CASE(64, 32, 16)
CASE(64, 32, 32)
CASE(128, 64, 16)
CASE(256, 128, 8)
CASE(512, 512, 6)
CASE(512, 512, 5)

#define ROW(C, K, N)                                                                                         \
  { SHAPE(C, K, N, POINTS), direct_##C##_##K##_##N, paired_##C##_##K##_##N }
static const struct row {
  pz_conv_direct_shape s;
  void (*direct)(const operands *), (*paired)(const operands *);
} rows[] = {ROW(64, 32, 16),  ROW(64, 32, 32),  ROW(128, 64, 16),
            ROW(256, 128, 8), ROW(512, 512, 6), ROW(512, 512, 5)};

static double fastest(void (*run)(const operands *), const operands *o) {
  return PZ_BENCH_FASTEST(RUNS, run(o)) * 1e6;
}

/* Of results at random, onto zeros. weights: [phases, K, C]. */
static double error_of(const pz_conv_direct_shape *s, const operands *o, const float *weights,
                       void (*run)(const operands *)) {
  pz_test_random r = {.state = 5};
  double wrong = 0, size = 0;
  memset(o->out, 0, (size_t)s->out.stride_n * sizeof *o->out);
  run(o);
  for (int i = 0; i < SAMPLES; ++i) {
    const int32_t phase = pz_test_int(&r, 0, 7), k = pz_test_int(&r, 0, s->out.c - 1),
                  d = pz_test_int(&r, 0, s->in.d - 1), h = pz_test_int(&r, 0, s->in.h - 1),
                  w = pz_test_int(&r, 0, s->in.w - 1);
    double sum = (double)o->bias[k];
    for (int32_t c = 0; c < s->in.c; ++c)
      sum +=
          (double)weights[((int64_t)phase * s->out.c + k) * s->in.c + c] *
          (double)o
              ->in[c / PZ_S * s->in.stride_c + d * s->in.stride_d + h * s->in.stride_h + w * PZ_S + c % PZ_S];
    const double got =
        (double)o->out[pz_conv_block_offset(s, &s->out, k / PZ_S * 8 + phase) + d * s->out.stride_d +
                       h * s->out.stride_h + w * s->out.stride_w + k % PZ_S];
    wrong += (got - sum) * (got - sum), size += sum * sum;
  }
  return sqrt(wrong / size);
}

static void bench(const struct row *row) {
  const pz_conv_inner_pairs_shape s = {row->s, HELD};
  const pz_conv_direct_shape *c = &s.conv;
  const int64_t floats = pz_conv_direct_weight_floats(c), inputs = c->in.stride_n;
  pz_test_random r = {.state = 3};
  float *weights = pz_bench_alloc(floats), *in = pz_bench_alloc(inputs), *direct = pz_bench_alloc(floats),
        *packed = pz_bench_alloc(floats), *taken = pz_bench_alloc(pz_conv_inner_pairs_taken_floats(&s));
  for (int64_t i = 0; i < floats; ++i) weights[i] = pz_test_float(&r, -0.05f, 0.05f);
  for (int64_t i = 0; i < inputs; ++i) in[i] = pz_test_float(&r, -1, 1);
  pz_conv_direct_pack(c, weights, direct);
  pz_conv_inner_pairs_pack(&s, weights, packed, taken);
  const operands o = {.in = in,
                      .direct = direct,
                      .packed = packed,
                      .taken = taken,
                      .bias = pz_bench_alloc(c->out.c),
                      .out = pz_bench_alloc(c->out.stride_n),
                      .scratch = pz_bench_alloc(pz_conv_inner_pairs_scratch(&s))};
  memset((void *)(uintptr_t)o.bias, 0, (size_t)c->out.c * sizeof *o.bias);
  printf("%3d to %3d channels, %2d^3: ", c->in.c, c->out.c, c->in.d);
  printf("direct %6.0f us, inner pairs %6.0f; ", fastest(row->direct, &o), fastest(row->paired, &o));
  printf("error %.1e, %.1e; ", error_of(c, &o, weights, row->direct), error_of(c, &o, weights, row->paired));
  for (int64_t i = 0; i < inputs; ++i) in[i] = in[i] > 0 ? in[i] : 0;
  printf("through ReLU %.1e, %.1e\n", error_of(c, &o, weights, row->direct),
         error_of(c, &o, weights, row->paired));
  free(weights), free(in), free(direct), free(packed), free(taken);
  free((void *)(uintptr_t)o.bias), free(o.out), free(o.scratch);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) bench(rows + i);
  return 0;
}
