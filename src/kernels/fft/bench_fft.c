/* bench_fft: times the three stages of a convolution by Fourier transforms, batch after batch, as generated code has them. The shape
 * is constant: -DCHANNELS=32 -DSIZE=48 -DDEPTH=48 -DK=5 -DKD=5 -DT=16 -DTD=16 -DBATCH=12 (kernel and tile along h and w; along d).
 * Prints the times of the fastest of some rounds in microseconds a tile, effective GFLOP/s (those of the direct sum), and the
 * relative L2 error against sums in double precision. */
#include "kernels/conv_direct/pack.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/pack.h"
#include "kernels/testing.h"

#ifndef CHANNELS
#define CHANNELS 32
#endif
#ifndef SIZE
#define SIZE 48
#endif
#ifndef DEPTH
#define DEPTH SIZE
#endif
#ifndef K
#define K 5
#endif
#ifndef KD
#define KD K
#endif
#ifndef T
#define T 16
#endif
#ifndef TD
#define TD (KD > 1 ? T : 1)
#endif
#ifndef KB
#define KB (PZ_S == 16 && CHANNELS > 16 ? 2 : 1)
#endif
#ifndef RW
#define RW (PZ_S == 16 && KB == 1 ? 12 : 6)
#endif
#ifndef BATCH
#define BATCH 12
#endif
#define PAD  (K / 2)
#define WIDE (SIZE + 2 * PAD)
#define DEEP (DEPTH + KD / 2 * 2)
#define VIEW                                                                                                 \
  {                                                                                                          \
    1, CHANNELS, DEPTH, SIZE, SIZE, PZ_S, {KD / 2, PAD, PAD}, {KD / 2, PAD, PAD}, 0,                         \
        (int64_t)PZ_S *WIDE *WIDE *DEEP, PZ_S *WIDE *WIDE, PZ_S *WIDE, PZ_S                                  \
  }

static const pz_fft_shape shape = {.conv = {.in = VIEW,
                                            .out = VIEW,
                                            .kernel = {KD, K, K},
                                            .stride = {1, 1, 1},
                                            .dilation = {1, 1, 1},
                                            .pad = {KD / 2, PAD, PAD},
                                            .groups = 1,
                                            .phases = 1,
                                            .act = PZ_K_ACT_RELU,
                                            .has_bias = 1,
                                            .stream = (int64_t)CHANNELS * DEPTH * SIZE * SIZE * 4 > 24 << 20,
                                            .kb = KB,
                                            .rw = RW},
                                   .size = {TD, T, T},
                                   .batch = BATCH};

_Static_assert(BATCH % RW == 0, "BATCH must be a multiple of RW");

typedef struct operands {
  float *in, *weights, *bias, *out, *scratch;
} operands;

static int32_t count_of(int64_t batch) {
  const int64_t left = pz_fft_all_tiles(&shape) - batch * BATCH;
  return left < BATCH ? (int32_t)left : BATCH;
}
__attribute__((noinline)) static void input(const operands *o, int64_t batch) {
  const pz_fft_shape s = shape;
  pz_fft_load(&s, o->weights, batch * BATCH, count_of(batch), o->in, o->scratch,
              o->scratch + pz_fft_work(&s) + pz_fft_slot(&s));
}
__attribute__((noinline)) static void multiply(const operands *o, int64_t batch) {
  const pz_fft_shape s = shape;
  pz_fft_multiply(&s, count_of(batch), o->weights + pz_fft_twiddle_floats(&s), o->scratch + pz_fft_work(&s));
}
__attribute__((noinline)) static void output(const operands *o, int64_t batch) {
  const pz_fft_shape s = shape;
  const pz_conv_epilogue e = {o->bias, NULL, NULL, NULL, o->out, NULL};
  pz_fft_store(&s, o->weights, batch * BATCH, count_of(batch), o->scratch + pz_fft_work(&s), o->scratch, &e);
}

/* In huge pages, as the runtime's arena. */
static float *room(int64_t floats) {
  const size_t bytes = ((size_t)floats * 4 + (2 << 20) - 1) >> 21 << 21;
  float *p = aligned_alloc(2 << 20, bytes);
  static uint32_t random = 12345;
  if (!p) exit(1);
  (void)madvise(p, bytes, MADV_HUGEPAGE);
  for (int64_t i = 0; i < floats; ++i)
    random = random * 1664525 + 1013904223, p[i] = (float)(int32_t)random * 0x1p-31f;
  return p;
}
static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Relative L2 error of `samples` outputs against sums in double precision. */
static double error_of(const operands *o, const float *plain, int32_t samples) {
  const pz_view *v = &shape.conv.in;
  double wrong = 0, norm = 0;
  uint32_t random = 1;
  for (int32_t i = 0; i < samples; ++i) {
    int32_t at[4];
    const int32_t most[4] = {CHANNELS, DEPTH, SIZE, SIZE};
    for (int a = 0; a < 4; ++a)
      random = random * 1664525 + 1013904223, at[a] = (int32_t)((random >> 8) % (uint32_t)most[a]);
    double sum = (double)o->bias[at[0]];
    for (int32_t m = 0; m < CHANNELS; ++m)
      for (int32_t t = 0; t < KD * K * K; ++t)
        sum +=
            (double)plain[((int64_t)at[0] * CHANNELS + m) * KD * K * K + t] *
            (double)o->in[m / PZ_S * v->stride_c + (at[1] + t / (K * K) - KD / 2) * v->stride_d +
                          (at[2] + t / K % K - PAD) * v->stride_h + (at[3] + t % K - PAD) * PZ_S + m % PZ_S];
    sum = sum > 0 ? sum : 0;
    const double got = (double)o->out[at[0] / PZ_S * v->stride_c + at[1] * v->stride_d + at[2] * v->stride_h +
                                      at[3] * PZ_S + at[0] % PZ_S];
    wrong += (got - sum) * (got - sum), norm += sum * sum;
  }
  return sqrt(wrong / norm);
}

int main(int argc, char **argv) {
  static void (*const stages[3])(const operands *, int64_t) = {input, multiply, output};
  const int64_t tiles = pz_fft_all_tiles(&shape), batches = (tiles + BATCH - 1) / BATCH,
                rounds = argc > 1 ? atoi(argv[1]) : 5, blocks = pz_fft_blocks(CHANNELS, PZ_S);
  const int64_t inside = (KD / 2 * WIDE * WIDE + PAD * WIDE + PAD) * PZ_S;
  operands o = {.in = room(blocks * shape.conv.in.stride_c) + inside,
                .out = room(blocks * shape.conv.out.stride_c) + inside,
                .weights = room(pz_fft_weight_floats(&shape)),
                .bias = room(CHANNELS + PZ_S),
                .scratch = room(pz_fft_scratch(&shape))};
  float *plain = room((int64_t)CHANNELS * CHANNELS * KD * K * K);
  double *work = malloc((size_t)pz_fft_pack_doubles(&shape) * sizeof *work);
  memset(o.weights, 0, (size_t)pz_fft_weight_floats(&shape) * sizeof *plain);
  pz_fft_pack(&shape, plain, work, o.weights);
  pz_fft(shape, o.in, o.weights, o.bias, NULL, NULL, NULL, o.out, NULL, o.scratch, 0, 1);
  const double error = error_of(&o, plain, 2000);
  double at[3], total = 0, *times = malloc((size_t)rounds * 3 * sizeof *times);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int i = 0; i < 3; ++i) times[i * rounds + r] = 0;
    for (int64_t b = 0; b < batches; ++b)
      for (int i = 0; i < 3; ++i) {
        const double start = pz_test_seconds();
        stages[i](&o, b);
        times[i * rounds + r] += pz_test_seconds() - start;
      }
  }
  for (int i = 0; i < 3; ++i) {
    qsort(times + i * rounds, (size_t)rounds, sizeof *times, compare);
    at[i] = times[i * rounds], total += at[i];
  }
  const double products = 4.0 * pz_fft_frequencies(&shape) * CHANNELS * (double)blocks * (double)tiles;
  const double flops = 2.0 * CHANNELS * CHANNELS * KD * K * K * DEPTH * SIZE * SIZE;
  printf(
      "%dx%dx%d, %d channels, %dx%dx%d: tiles of %dx%dx%d, %lld in batches of %d: input %.1f, products %.1f "
      "(%.2f vector "
      "products a ns), output %.1f us a tile; %.2f ms, %.0f GFLOP/s effective, error %.1e; weights %.1f, "
      "scratch %.1f MB\n",
      KD, K, K, CHANNELS, DEPTH, SIZE, SIZE, TD, T, T, (long long)tiles, BATCH, 1e6 * at[0] / (double)tiles,
      1e6 * at[1] / (double)tiles, 1e-9 * products / at[1], 1e6 * at[2] / (double)tiles, 1e3 * total,
      1e-9 * flops / total, error, 4e-6 * (double)pz_fft_weight_floats(&shape),
      4e-6 * (double)pz_fft_scratch(&shape));
  return 0;
}
