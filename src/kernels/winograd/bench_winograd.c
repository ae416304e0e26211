/* bench_winograd: times the three stages of minimal filtering, batch after batch, as generated code has them. The shape is
 * constant: -DCHANNELS=32 -DSIZE=48 -DM0=4 -DM1=4 -DM2=4 -DBATCH=12 -DKD=3 (the others 3). Prints, for each stage, what one
 * batch in fifty is below in nanoseconds a tile, and cycles' worth of products at peak to compare with. */
#include "kernels/testing.h"
#include "kernels/winograd/pack.h"
#include "kernels/winograd/winograd.h"

#include <sys/mman.h>
#include <time.h>

#ifndef CHANNELS
#define CHANNELS 32
#endif
#ifndef CHANNELS_OUT
#define CHANNELS_OUT CHANNELS
#endif
#ifndef SIZE
#define SIZE 48
#endif
#ifndef M0
#define M0 4
#endif
#ifndef M1
#define M1 4
#endif
#ifndef M2
#define M2 4
#endif
#ifndef BATCH
#define BATCH 12
#endif
#ifndef KD
#define KD 3
#endif
#ifndef KB
#define KB 2
#endif
#ifndef RW
#define RW (PZ_S == 16 ? 12 : 6)
#endif
#ifndef DEPTH
#define DEPTH SIZE
#endif
#ifndef ON_USE
#define ON_USE (CHANNELS >= 64)
#endif
#ifndef FAR
#define FAR ON_USE
#endif
#ifndef APART
#define APART 0
#endif
#ifndef NEAR
#define NEAR 0
#endif
#ifndef AHEAD
#define AHEAD 0
#endif
#ifndef HELD
#define HELD 0
#endif
#ifndef FOURS
#define FOURS 0
#endif
#ifndef RELU
#define RELU 0 /* 1: inputs of one sign */
#endif
#ifndef SLICED
#define SLICED 0
#endif
#ifndef PAIRS
#define PAIRS 0
#endif
#define WIDE (SIZE + 2)
#define DEEP (DEPTH + 2)

static const pz_winograd_shape shape = {
    .conv = {.in = {1,
                    CHANNELS,
                    SIZE,
                    SIZE,
                    SIZE,
                    PZ_S,
                    {KD / 2, 1, 1},
                    {KD / 2, 1, 1},
                    0,
                    (int64_t)PZ_S *WIDE *WIDE *WIDE,
                    PZ_S *WIDE *WIDE,
                    PZ_S *WIDE,
                    PZ_S},
             .out = {1,
                     CHANNELS_OUT,
                     SIZE,
                     SIZE,
                     SIZE,
                     PZ_S,
                     {1, 1, 1},
                     {1, 1, 1},
                     0,
                     (int64_t)PZ_S *WIDE *WIDE *WIDE,
                     PZ_S *WIDE *WIDE,
                     PZ_S *WIDE,
                     PZ_S},
             .kernel = {KD, 3, 3},
             .stride = {1, 1, 1},
             .dilation = {1, 1, 1},
             .pad = {KD / 2, 1, 1},
             .groups = 1,
             .phases = 1,
             .act = PZ_K_ACT_ELU,
             .alpha = 1,
             .has_bias = 1,
             .stream = (int64_t)CHANNELS_OUT * DEPTH * SIZE * SIZE * 4 > 24 << 20},
    .product =
        {.in = {1, CHANNELS, 1, 1, BATCH, PZ_S, {0}, {0}, 0, BATCH *PZ_S, BATCH *PZ_S, BATCH *PZ_S, PZ_S, 0},
         .out = {1,
                 FOURS ? CHANNELS_OUT / PZ_S *PZ_S : CHANNELS_OUT,
                 1,
                 1,
                 BATCH,
                 PZ_S,
                 {0},
                 {0},
                 0,
                 BATCH *PZ_S,
                 BATCH *PZ_S,
                 BATCH *PZ_S,
                 PZ_S,
                 0},
         .kernel = {1, 1, 1},
         .stride = {1, 1, 1},
         .dilation = {1, 1, 1},
         .groups = 1,
         .phases = 1,
         .kb = KB,
         .rw = RW,
         .rh = 1,
         .c_chunk = 64},
    .m = {KD > 1 ? M0 : 1, M1, M2},
    .on_use = ON_USE,
    .far = FAR,
    .near = NEAR,
    .ahead = AHEAD,
    .apart = APART,
    .held = HELD,
    .fours = FOURS,
    .sliced = SLICED,
    .inner_pairs = PAIRS};

PZ_WINOGRAD_FUNCTIONS(shape)

#define BATCHES (pz_winograd_all_tiles(&shape) / BATCH)

typedef struct operands {
  float *in, *weights, *taken, *bias, *out, *scratch;
} operands;

__attribute__((noinline)) static void input(const operands *o, int64_t batch) {
  const pz_winograd_shape s = shape;
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  pz_winograd_load(&s, z, batch * BATCH, BATCH, o->taken, (pz_winograd_source){o->in, NULL}, o->scratch);
}
__attribute__((noinline)) static void multiply(const operands *o, int64_t batch) {
  const pz_winograd_shape s = shape;
  const pz_winograd_ahead next = {.in = o->in,
                                  .tile = (batch + 1) * BATCH,
                                  .end = batch + 1 < BATCHES ? (batch + 2) * BATCH : (batch + 1) * BATCH};
  if (SLICED)
    pz_winograd_multiply_bands(&s, pz_winograd_sizes_of(&s), batch * BATCH, BATCH, o->weights, o->taken, next,
                               o->scratch);
  else pz_winograd_multiply(&s, pz_winograd_sizes_of(&s), o->weights, o->taken, next, o->scratch);
}
__attribute__((noinline)) static void output(const operands *o, int64_t batch) {
  const pz_winograd_shape s = shape;
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  const pz_conv_epilogue e = {o->bias, NULL, NULL, NULL, o->out, NULL};
  pz_winograd_store(&s, z, batch * BATCH, BATCH, o->scratch, &e, NULL, NULL);
}

/* In huge pages, as the runtime's memory is. */
static float *room(int64_t floats) {
  const size_t huge = (size_t)2 << 20, bytes = ((size_t)floats * 4 + huge - 1) / huge * huge;
  float *p = aligned_alloc(huge, bytes);
  (void)madvise(p, bytes, MADV_HUGEPAGE);
  static uint32_t random = 12345;
  for (int64_t i = 0; i < floats; ++i)
    random = random * 1664525 + 1013904223, p[i] = (float)(int32_t)random * 0x1p-31f;
  return p;
}
static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Relative L2 error of `samples` outputs against sums in double precision. */
static double error_of(const operands *o, const float *plain, int32_t samples) {
  const pz_conv_direct_shape *c = &shape.conv;
  double wrong = 0, size = 0;
  uint32_t random = 1;
  for (int32_t i = 0; i < samples; ++i) {
    int32_t at[4];
    const int32_t most[4] = {CHANNELS_OUT, DEPTH, SIZE, SIZE};
    for (int a = 0; a < 4; ++a)
      random = random * 1664525 + 1013904223, at[a] = (int32_t)((random >> 8) % (uint32_t)most[a]);
    double sum = (double)o->bias[at[0]];
    for (int32_t m = 0; m < CHANNELS; ++m)
      for (int32_t t = 0; t < KD * 9; ++t)
        sum +=
            (double)plain[((int64_t)at[0] * CHANNELS + m) * KD * 9 + t] *
            (double)o->in[m / PZ_S * c->in.stride_c + (at[1] + t / 9 - KD / 2) * c->in.stride_d +
                          (at[2] + t / 3 % 3 - 1) * c->in.stride_h + (at[3] + t % 3 - 1) * PZ_S + m % PZ_S];
    sum = sum > 0 ? sum : expm1(sum);
    const double got = (double)o->out[at[0] / PZ_S * c->out.stride_c + at[1] * c->out.stride_d +
                                      at[2] * c->out.stride_h + at[3] * PZ_S + at[0] % PZ_S];
    wrong += (got - sum) * (got - sum), size += sum * sum;
  }
  return sqrt(wrong / size);
}

int main(int argc, char **argv) {
  static void (*const stages[3])(const operands *, int64_t) = {input, multiply, output};
  const int64_t batches = BATCHES, rounds = argc > 1 ? atoi(argv[1]) : 5;
  const int64_t blocks = pz_winograd_blocks(CHANNELS, PZ_S),
                blocks_out = pz_winograd_blocks(CHANNELS_OUT, PZ_S);
  operands o = {.in = room(blocks * shape.conv.in.stride_c),
                .out = room(blocks_out * shape.conv.out.stride_c),
                .weights = room(pz_winograd_weight_floats(&shape)),
                .taken = room(pz_winograd_taken_floats(&shape) + 1),
                .bias = room(CHANNELS_OUT + PZ_S),
                .scratch = room(pz_winograd_scratch(&shape))};
  for (int64_t i = 0; RELU && i < blocks * shape.conv.in.stride_c; ++i) o.in[i] = o.in[i] > 0 ? o.in[i] : 0;
  const int64_t inside = ((KD / 2) * WIDE * WIDE + WIDE + 1) * PZ_S;
  o.in += inside, o.out += (WIDE * WIDE + WIDE + 1) * PZ_S;
  float *plain = room((int64_t)CHANNELS * CHANNELS_OUT * KD * 9);
  memset(o.weights, 0, (size_t)pz_winograd_weight_floats(&shape) * sizeof *plain);
  pz_winograd_pack(&shape, plain, o.weights);
  memset(o.taken, 0, (size_t)pz_winograd_taken_floats(&shape) * sizeof *plain);
  pz_winograd_pack_taken(&shape, plain, o.taken);
  pz_winograd(shape, shape_functions, o.in, NULL, o.weights, o.taken, o.bias, NULL, NULL, NULL, o.out, NULL,
              NULL, o.scratch, 0, 1);
  const double error = error_of(&o, plain, 4000);
  double *times[3];
  for (int i = 0; i < 3; ++i) times[i] = malloc((size_t)(batches * rounds) * sizeof **times);
  for (int64_t r = 0; r < rounds; ++r)
    for (int64_t b = 0; b < batches; ++b)
      for (int i = 0; i < 3; ++i) {
        const double start = now();
        stages[i](&o, b);
        times[i][r * batches + b] = now() - start;
      }
  const double macs = (double)pz_winograd_points(&shape) * CHANNELS * (double)blocks_out;
  double total = 0, at[3];
  for (int i = 0; i < 3; ++i) {
    qsort(times[i], (size_t)(batches * rounds), sizeof **times, compare);
    at[i] = times[i][batches * rounds / 50] / BATCH;
    total += at[i];
  }
  const double flops = 2.0 * CHANNELS * CHANNELS_OUT * KD * 9 * shape.m[0] * M1 * M2;
  printf("F(%d,%d,%d) %d channels, batch %d: input %.0f, products %.0f (%.0f vector products, %.2f a ns), "
         "output "
         "%.0f ns a tile; %.0f GFLOP/s effective, error %.1e\n",
         shape.m[0], M1, M2, CHANNELS, BATCH, at[0], at[1], macs, macs / at[1], at[2], flops / total, error);
  return 0;
}
