/* bench_first.h: what the benchmarks of first layers share: nanoseconds a row of results, the fastest of 20 runs on one thread, with and
 * without ELU, inputs and results near; and the relative L2 error against double precision, of the sum itself in floats too. Uniformly
 * random values in [-1, 1]. */
#ifndef PZ_KERNELS_CONV_BENCH_FIRST_H
#define PZ_KERNELS_CONV_BENCH_FIRST_H

#include "kernels/bench.h"
#include "kernels/conv/test_expected.h"

enum { PZ_BENCH_FIRST_RUNS = 20, PZ_BENCH_FIRST_D = 4, PZ_BENCH_FIRST_H = 8 };

/* One NCHW channel in, with its border along height and width, to K channels of 4 x 8 x W: kernel KD x R x R. */
#define PZ_BENCH_FIRST_PLANE(R, W) ((int64_t)(PZ_BENCH_FIRST_H + (R)-1) * ((W) + (R)-1))
#define PZ_BENCH_FIRST(KD, R, K, W, ACT)                                                                     \
  {                                                                                                          \
    .in = {1,                                                                                                \
           1,                                                                                                \
           PZ_BENCH_FIRST_D,                                                                                 \
           PZ_BENCH_FIRST_H,                                                                                 \
           W,                                                                                                \
           1,                                                                                                \
           {0},                                                                                              \
           {0},                                                                                              \
           PZ_BENCH_FIRST_PLANE(R, W) * (PZ_BENCH_FIRST_D + (KD)-1),                                         \
           PZ_BENCH_FIRST_PLANE(R, W) * (PZ_BENCH_FIRST_D + (KD)-1),                                         \
           PZ_BENCH_FIRST_PLANE(R, W),                                                                       \
           (W) + (R)-1,                                                                                      \
           1},                                                                                               \
    .out = PZ_BENCH_VIEW(PZ_S, 1, K, PZ_BENCH_FIRST_D, PZ_BENCH_FIRST_H, W), .kernel = {KD, R, R},           \
    .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .pad = {(KD) / 2, (R) / 2, (R) / 2}, .groups = 1,            \
    .phases = 1, .act = ACT, .alpha = 1, .has_bias = 1                                                       \
  }

typedef struct pz_bench_first_operands {
  const float *in, *packed, *bias;
  float *out, *scratch;
} pz_bench_first_operands;

/* A layer: its shape (`shape`, of the kernel's own kind, of which conv is part), and how it is packed and run. */
typedef struct pz_bench_first_layer {
  const void *shape;
  const pz_conv_direct_shape *conv;
  int64_t weight_floats, scratch_floats;
  void (*pack)(const void *shape, const float *weights, float *packed);
  void (*elu)(const pz_bench_first_operands *), (*none)(const pz_bench_first_operands *);
} pz_bench_first_layer;

/* The sum in floats, one tap after the other. */
static inline float pz_bench_first_sum(const pz_conv_direct_shape *s, const pz_test_tensor *in,
                                       const float *weights, int32_t d, int32_t h, int32_t w) {
  float sum = 0;
  for (int32_t t = 0; t < pz_conv_taps(s); ++t)
    sum = fmaf(weights[t],
               *pz_test_at(in, 0, 0, d + t / (s->kernel[1] * s->kernel[2]) - s->pad[0],
                           h + t / s->kernel[2] % s->kernel[1] - s->pad[1], w + t % s->kernel[2] - s->pad[2]),
               sum);
  return sum;
}

/* Prints the end of a line. */
static inline void pz_bench_first(const pz_bench_first_layer *l) {
  const pz_conv_direct_shape *c = l->conv;
  const int64_t taps = pz_conv_taps(c), rows = PZ_BENCH_FIRST_D * PZ_BENCH_FIRST_H;
  pz_test_random r = {.state = 3};
  float *weights = pz_bench_alloc(c->out.c * taps), *packed = pz_bench_alloc(l->weight_floats),
        *stored = pz_bench_alloc(c->in.stride_n), *bias = pz_bench_alloc(c->out.c + PZ_S),
        *out = pz_bench_alloc(c->out.stride_n), *scratch = pz_bench_alloc(l->scratch_floats);
  for (int64_t i = 0; i < c->out.c * taps; ++i) weights[i] = pz_test_float(&r, -1, 1);
  for (int64_t i = 0; i < c->in.stride_n; ++i) stored[i] = pz_test_float(&r, -1, 1);
  memset(bias, 0, (size_t)(c->out.c + PZ_S) * sizeof *bias);
  memset(packed, 0, (size_t)l->weight_floats * sizeof *packed);
  l->pack(l->shape, weights, packed);
  const pz_test_tensor in = {.view = c->in,
                             .at = stored + c->pad[0] * c->in.stride_d + c->pad[1] * c->in.stride_h +
                                   c->pad[2]},
                       results = {.view = c->out, .at = out};
  const pz_bench_first_operands o = {in.at, packed, bias, out, scratch};
  const double elu = PZ_BENCH_FASTEST(PZ_BENCH_FIRST_RUNS, l->elu(&o)),
               none = PZ_BENCH_FASTEST(PZ_BENCH_FIRST_RUNS, l->none(&o));
  pz_conv_direct_shape bare = *c; /* what is around the inputs is random too: inputs without padding */
  bare.in.d += c->kernel[0] - 1, bare.in.h += c->kernel[1] - 1, bare.in.w += c->kernel[2] - 1;
  memset(bare.pad, 0, sizeof bare.pad);
  const pz_test_tensor all = {.view = c->in, .at = stored};
  double *want = pz_test_conv_expected(
             &bare, false,
             &(pz_test_conv){
                 .in = all, .out = results, .weights = weights, .bias = bias, .scale = bias, .slope = bias},
             NULL),
         *at = want;
  double wrong = 0, plain = 0, size = 0;
  PZ_TEST_EACH(results.view, 0, results.view.c) {
    const double got = (double)*pz_test_at(&results, n, c, d, h, w) - *at,
                 sum = (double)pz_bench_first_sum(l->conv, &in, weights + c * taps, d, h, w) - *at;
    wrong += got * got, plain += sum * sum, size += *at * *at, ++at;
  }
  printf("with ELU %5.0f ns a row, without %5.0f; error %.1e, the sum itself %.1e\n",
         elu * 1e9 / (double)rows, none * 1e9 / (double)rows, sqrt(wrong / size), sqrt(plain / size));
  free(want), free(weights), free(packed), free(stored), free(bias), free(out), free(scratch);
}

#endif
