/* bench_bf16x2: times the convolution by products of bf16x2 as generated code has it, on one core, and compares some
 * results with sums in double precision: uniformly random values, bias, ELU. The shape is constant: -DCHANNELS=32 -DDEPTH=64
 * -DHEIGHT=64 -DWIDTH=64 -DKD=3 (kernel KD x 3 x 3) -DM=1; -DBY_ROW=0 -DROWS=8: strips whose slots are planes. Prints the median over runs,
 * effective GFLOP/s (the arithmetic of the sum), and the relative L2 error. */
#include "kernels/conv_bf16x2/bf16x2.h"
#include "kernels/conv_bf16x2/pack.h"

#include "kernels/bench.h"

#include <sys/mman.h>

#ifndef CHANNELS
#define CHANNELS 32
#endif
#ifndef DEPTH
#define DEPTH 64
#endif
#ifndef HEIGHT
#define HEIGHT 64
#endif
#ifndef WIDTH
#define WIDTH 64
#endif
#ifndef KD
#define KD 3
#endif
#ifndef M
#define M 1
#endif
#ifndef BY_ROW
#define BY_ROW (M > 1 || KD == 1)
#endif
#ifndef ROWS
#define ROWS (BY_ROW ? HEIGHT : 8)
#endif
#ifndef STEP
#define STEP ((WIDTH + 15) / 16 % 2 ? 2 : 1)
#endif
#ifndef SLOTS
#define SLOTS (BY_ROW ? STEP + 3 : M == 1 ? KD : 1)
#endif
#ifndef FEW
#define FEW (BY_ROW && CHANNELS % 32 > 0 && CHANNELS % 32 <= PZ_BF16X2_NARROW)
#endif
#define BLOCKS ((CHANNELS + 15) / 16)
#define DEEP   (DEPTH + KD - 1)
#define HIGH   (HEIGHT + 2)
#define WIDE   (WIDTH + 2)

enum { RUNS = 31, CHECKED = 3000 };

static const pz_conv_bf16x2_shape shape = {
    .conv = {.in = PZ_BENCH_VIEW(16, 1, CHANNELS, DEEP, HIGH, WIDE),
             .out = PZ_BENCH_VIEW(16, 1, CHANNELS, DEPTH, HEIGHT, WIDTH),
             .kernel = {KD, 3, 3},
             .stride = {1, 1, 1},
             .dilation = {1, 1, 1},
             .pad = {KD / 2, 1, 1},
             .groups = 1,
             .phases = 1,
             .act = PZ_K_ACT_ELU,
             .alpha = 1,
             .has_bias = 1},
    .m = M,
    .rows = ROWS,
    .planes = BY_ROW ? M : (DEPTH + M - 1) / M * M,
    .by_row = BY_ROW,
    .step = STEP,
    .slots = SLOTS,
    .narrow_in = FEW,
    .narrow_out = FEW,
    .chunks = 1};

PZ_INLINE pz_conv_bf16x2_shape shape_of(const int64_t *sizes) { return (void)sizes, shape; }
PZ_CONV_BF16X2_FUNCTIONS(shape_of)

/* In huge pages, where there are any, as a network's memory. */
static float *memory(int64_t floats) {
  const size_t huge = 2 << 20, bytes = (size_t)floats * 4 + 2 * huge;
  char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  madvise(p, bytes, MADV_HUGEPAGE);
  return (float *)(p + huge - (uintptr_t)p % huge);
}

typedef struct layer {
  float *in, *weights, *packed, *bias, *out, *scratch; /* in: its first value; weights: [K, C, KD, 3, 3] */
} layer;

static __attribute__((noinline)) void run(const layer *l) {
  pz_conv_bf16x2(shape, shape_of_functions, NULL, l->in, NULL, (const uint16_t *)l->packed, l->bias, NULL,
                 NULL, NULL, l->out, NULL, l->scratch, 0, 1);
}

static layer new_layer(pz_test_random *r) {
  const pz_view *in = &shape.conv.in;
  const int64_t weights = (int64_t)CHANNELS * CHANNELS * KD * 9;
  layer l = {.in = memory(in->stride_n) + shape.conv.pad[0] * in->stride_d + in->stride_h + in->stride_w,
             .weights = memory(weights),
             .packed = memory(pz_bf16x2_weight_pairs(&shape)),
             .bias = memory(BLOCKS * 16),
             .out = memory(shape.conv.out.stride_n),
             .scratch = memory(pz_bf16x2_scratch(&shape))};
  for (int32_t c = 0; c < CHANNELS; ++c)
    for (int32_t d = 0; d < DEPTH; ++d)
      for (int32_t h = 0; h < HEIGHT; ++h)
        for (int32_t w = 0; w < WIDTH; ++w)
          l.in[c / 16 * in->stride_c + d * in->stride_d + h * in->stride_h + w * 16 + c % 16] =
              pz_test_float(r, -1, 1);
  for (int64_t i = 0; i < weights; ++i) l.weights[i] = pz_test_float(r, -1, 1);
  for (int32_t i = 0; i < CHANNELS; ++i) l.bias[i] = pz_test_float(r, -1, 1);
  pz_bf16x2_pack(&shape, l.weights, (pz_bf16_pair *)l.packed);
  return l;
}

static double wanted(const layer *l, int32_t k, int32_t d, int32_t h, int32_t w) {
  const pz_view *in = &shape.conv.in;
  const float *weight = l->weights + (int64_t)k * CHANNELS * KD * 9;
  double sum = (double)l->bias[k];
  for (int32_t c = 0; c < CHANNELS; ++c)
    for (int32_t i = 0; i < KD * 9; ++i)
      sum += (double)*weight++ *
             (double)l->in[c / 16 * in->stride_c + c % 16 + (d + i / 9 - KD / 2) * in->stride_d +
                           (h + i / 3 % 3 - 1) * in->stride_h + (w + i % 3 - 1) * 16];
  return sum > 0 ? sum : expm1(sum);
}

static double error_of(const layer *l, pz_test_random *r) {
  const pz_view *out = &shape.conv.out;
  double error = 0, norm = 0;
  for (int i = 0; i < CHECKED; ++i) {
    const int32_t k = pz_test_int(r, 0, CHANNELS - 1), d = pz_test_int(r, 0, DEPTH - 1),
                  h = pz_test_int(r, 0, HEIGHT - 1), w = pz_test_int(r, 0, WIDTH - 1);
    const double want = wanted(l, k, d, h, w),
                 got = (double)l->out[k / 16 * out->stride_c + k % 16 + d * out->stride_d +
                                      h * out->stride_h + w * 16];
    error += (got - want) * (got - want), norm += want * want;
  }
  return sqrt(error / norm);
}

static int by_size(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  pz_test_random r = {.state = 7};
  const layer l = new_layer(&r);
  double seconds[RUNS];
  run(&l);
  const double error = error_of(&l, &r), flops = 2.0 * DEPTH * HEIGHT * WIDTH * CHANNELS * CHANNELS * KD * 9;
  for (int i = 0; i < RUNS; ++i) {
    const double start = pz_test_seconds();
    run(&l);
    seconds[i] = pz_test_seconds() - start;
  }
  qsort(seconds, RUNS, sizeof *seconds, by_size);
  printf("%dx3x3 m %d, %d channels, %dx%dx%d, %s: %.2f ms, %.0f GFLOP/s, relative error %.2g\n", KD, M,
         CHANNELS, DEPTH, HEIGHT, WIDTH, BY_ROW ? "by row" : "by plane", 1e3 * seconds[RUNS / 2],
         1e-9 * flops / seconds[RUNS / 2], error);
  return 0;
}
