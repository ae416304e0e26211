/* bench_direct [--threads N] [--repeats N] [NAME]: the direct convolution in per cent of the multiply-add peak, which a
 * loop on registers alone measures in the same run, alternating. Prints a row for each instance whose name contains
 * NAME: schedule; GFLOP/s and peak, medians of the runs; per cent, the median of the pairs; the best run's per cent of
 * the best peak. Lanes that pad the last block of out channels do not count: 28 channels in blocks of 8 can reach 87.5%. */
#include "kernels/conv/instance.h"
#include "kernels/conv_direct/direct.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/conv_dot/dot.h"
#include "kernels/testing.h"

#include <pthread.h>

#include "instances.h"

enum { CHAINS = 12, MOST_THREADS = 64, MOST_REPEATS = 101 };

/* Independent sums on registers alone. Products of 2 multiply-adds x S lanes x CHAINS for each turn. */
static __attribute__((noinline)) float multiply_adds(int64_t turns) {
  pz_v sum[CHAINS], x = pz_v_set1(1e-3f), y = pz_v_set1(1e-3f);
  PZ_V_PIN(x);
  PZ_V_PIN(y);
  PZ_UNROLL for (int i = 0; i < CHAINS; ++i) sum[i] = pz_v_zero();
  PZ_ROLL for (int64_t t = 0; t < turns; ++t) {
    PZ_UNROLL for (int i = 0; i < CHAINS; ++i) {
      sum[i] = pz_v_fma(x, y, sum[i]);
      PZ_V_PIN(sum[i]);
    }
  }
  pz_v all = sum[0];
  PZ_UNROLL for (int i = 1; i < CHAINS; ++i) all += sum[i];
  return pz_v_sum(all);
}

typedef struct task {
  const conv_instance *instance; /* NULL: the peak */
  conv_operands operands;
  int64_t turns;
  int32_t worker, workers;
  pthread_barrier_t *barrier;
  double seconds;
} task;

/* One thread is timed by its own processor time, so that other processes disturb less. */
static double seconds(int32_t workers) {
  struct timespec t;
  clock_gettime(workers == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *arg) {
  task *j = arg;
  pthread_barrier_wait(j->barrier);
  double start = seconds(j->workers);
  for (int64_t t = 0; j->instance && t < j->turns; ++t) j->instance->run(&j->operands, j->worker, j->workers);
  volatile float sink = j->instance ? 0 : multiply_adds(j->turns);
  (void)sink;
  pthread_barrier_wait(j->barrier);
  j->seconds = seconds(j->workers) - start;
  return NULL;
}

/* Seconds that all workers together take. */
static double timed(const task *like) {
  task tasks[MOST_THREADS];
  pthread_t threads[MOST_THREADS];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)like->workers);
  for (int32_t w = 0; w < like->workers; ++w) {
    tasks[w] = *like, tasks[w].worker = w, tasks[w].barrier = &barrier;
    if (w && pthread_create(&threads[w], NULL, work, &tasks[w])) exit(1);
  }
  work(&tasks[0]);
  for (int32_t w = 1; w < like->workers; ++w) pthread_join(threads[w], NULL);
  pthread_barrier_destroy(&barrier);
  return tasks[0].seconds;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double median(double *values, int32_t count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return values[count / 2];
}

/* In huge pages, as the runtime's arena. */
static float *filled(int64_t floats) {
  const size_t page = 2 << 20, bytes = ((size_t)floats * 4 + page - 1) / page * page;
  float *p = aligned_alloc(page, bytes);
  if (!p) exit(1);
  (void)madvise(p, bytes, MADV_HUGEPAGE);
  for (int64_t i = 0; i < floats; ++i) p[i] = (float)(i % 7) - 3;
  return p;
}

static double flops(const pz_conv_direct_shape *s) {
  return 2.0 * s->out.n * s->out.d * s->out.h * s->out.w * s->out.c * s->phases * s->in.c / s->groups *
         pz_conv_taps(s);
}

static void bench(const conv_instance *t, int32_t threads, int32_t repeats) {
  const pz_conv_direct_shape *s = &t->shape;
  float *in = filled(t->room[CONV_IN].floats), *out = filled(t->room[CONV_OUT].floats);
  float *weights = filled(pz_conv_direct_weight_floats(s) + pz_conv_dot_weight_floats(s)),
        *bias = filled(s->out.c + 16);
  task conv = {.instance = t, .turns = 1, .workers = threads};
  conv.operands = (conv_operands){.in = in + t->room[CONV_IN].origin,
                                  .weights = weights,
                                  .bias = bias,
                                  .out = out + t->room[CONV_OUT].origin};
  conv.turns = (int64_t)(5e8 * threads / flops(s)) + 1;
  task peak = {.turns = 20000000 / CHAINS, .workers = threads};
  double peaks[MOST_REPEATS], speeds[MOST_REPEATS], ratios[MOST_REPEATS], best = 0, best_peak = 0;
  timed(&conv);
  for (int32_t i = 0; i < repeats; ++i) {
    peaks[i] = 2e-9 * CHAINS * PZ_S * (double)peak.turns * threads / timed(&peak);
    speeds[i] = 1e-9 * flops(s) * (double)conv.turns / timed(&conv);
    ratios[i] = 100 * speeds[i] / peaks[i];
    if (speeds[i] > best) best = speeds[i];
    if (peaks[i] > best_peak) best_peak = peaks[i];
  }
  double speed = median(speeds, repeats), top = median(peaks, repeats), ratio = median(ratios, repeats);
  printf("%-20s %dx%-2d rh %d chunk %-3d %7.1f of %6.1f  %5.1f%%  best %5.1f%%\n", t->name, s->kb, s->rw,
         s->rh, s->c_chunk, speed, top, ratio, 100 * best / best_peak);
  fflush(stdout);
  free(in), free(out), free(weights), free(bias);
}

int main(int argc, char **argv) {
  int32_t threads = 1, repeats = 15;
  const char *name = "";
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--threads") && i + 1 < argc) threads = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--repeats") && i + 1 < argc) repeats = atoi(argv[++i]);
    else name = argv[i];
  }
  if (threads < 1 || threads > MOST_THREADS || repeats < 1 || repeats > MOST_REPEATS) return 2;
  if (!pz_test_cpu()) return 77;
  printf("S %d, %d thread(s), GFLOP/s, medians of %d alternating runs\n", PZ_S, threads, repeats);
  for (size_t i = 0; i < sizeof instances / sizeof *instances; ++i)
    if (strstr(instances[i].name, name)) bench(&instances[i], threads, repeats);
  return 0;
}
