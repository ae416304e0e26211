/* bench_machine: what one core allows, for the bounds of doc/notes/2026-11-28-winograd.md. Prints vector multiply-adds a nanosecond, from
 * registers alone and with the loads of a product's inner loop (2 blocks of channels by 8 points, operands in level 1), and
 * GB/s of reading, writing and writing past the caches, by the size of what is gone through. With AMX (-march=native says so)
 * also what products and stores of tiles take (doc/notes/2026-11-28-convolutions.md). Last what a cache line takes to the next core and back: several
 * times as long where the two do not share a level 3, among which hosts of virtual machines move them. Best of many. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "kernels/testing.h"
#include "kernels/vec.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 2, POINTS = 8, STEPS = 16, CHAINS = 16, ROUNDS = 1000, TRIES = 300 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile float sink;

static double registers(void) {
  double best = 1e18;
  for (int try = 0; try < TRIES; try++) {
    pz_v acc[CHAINS], x = pz_v_set1(0.5f);
    PZ_UNROLL for (int i = 0; i < CHAINS; i++) acc[i] = pz_v_set1((float)i);
    const double start = now();
    for (int r = 0; r < ROUNDS; r++) {
      PZ_UNROLL for (int i = 0; i < CHAINS; i++) acc[i] = pz_v_fma(acc[i], x, x);
      PZ_UNROLL for (int i = 0; i < CHAINS; i++) PZ_V_PIN(acc[i]);
    }
    const double took = now() - start;
    PZ_UNROLL for (int i = 1; i < CHAINS; i++) acc[0] = acc[0] + acc[i];
    sink = acc[0][0];
    if (took < best) best = took;
  }
  return ROUNDS * CHAINS / best;
}

static double product(const float *in, const float *weights) {
  double best = 1e18;
  for (int try = 0; try < TRIES; try++) {
    pz_v acc[BLOCKS * POINTS];
    PZ_UNROLL for (int i = 0; i < BLOCKS * POINTS; i++) acc[i] = pz_v_zero();
    const double start = now();
    for (int r = 0; r < ROUNDS; r++) {
      PZ_UNROLL for (int c = 0; c < STEPS; c++) {
        pz_v held[BLOCKS];
        PZ_UNROLL for (int k = 0; k < BLOCKS; k++) {
          held[k] = pz_v_load(weights + (c * BLOCKS + k) * PZ_S);
          PZ_V_PIN(held[k]);
        }
        PZ_UNROLL for (int p = 0; p < POINTS; p++) {
          pz_v x = pz_v_broadcast(in + p * STEPS + c);
          PZ_V_PIN(x);
          PZ_UNROLL for (int k = 0; k < BLOCKS; k++) acc[p * BLOCKS + k] =
              pz_v_fma(held[k], x, acc[p * BLOCKS + k]);
        }
        PZ_UNROLL for (int i = 0; i < BLOCKS * POINTS; i++) PZ_V_PIN(acc[i]);
      }
    }
    const double took = now() - start;
    PZ_UNROLL for (int i = 1; i < BLOCKS * POINTS; i++) acc[0] = acc[0] + acc[i];
    sink = acc[0][0];
    if (took < best) best = took;
  }
  return (double)ROUNDS * STEPS * BLOCKS * POINTS / best;
}

static __attribute__((noinline)) void go_through(int kind, float *p, size_t floats) {
  pz_v sum[4] = {pz_v_zero(), pz_v_zero(), pz_v_zero(), pz_v_zero()};
  for (size_t i = 0; i < floats; i += 4 * PZ_S) PZ_UNROLL for (size_t k = 0; k < 4; k++) {
      if (kind == 0) sum[k] = sum[k] + pz_v_load(p + i + k * PZ_S);
      if (kind == 1) pz_v_store(p + i + k * PZ_S, sum[k]);
      if (kind == 2) pz_v_stream(p + i + k * PZ_S, sum[k]);
    }
  sum[0] = sum[0] + sum[1] + (sum[2] + sum[3]);
  sink = sum[0][0];
}

static double gigabytes(int kind, float *p, size_t bytes) {
  const int times = (int)(((size_t)256 << 20) / bytes) + 1;
  double best = 1e18;
  for (int try = 0; try < 5; try++) {
    const double start = now();
    for (int i = 0; i < times; i++) go_through(kind, p, bytes / sizeof *p);
    const double took = (now() - start) / times;
    if (took < best) best = took;
  }
  return (double)bytes / best;
}

#if (defined(__AMX_BF16__) || defined(__AMXBF16__)) && PZ_S == 16
#include "kernels/isa/amx.h"

/* Products, and loads, of a step; steps of a group; tiles that are gone through, in level 1. */
enum { LOADS = 4, GROUP = 81, OPERANDS = 16 };

/* Nanoseconds of a group of products, LOADS a step with as many loads: 2 tiles by 2. `often`: steps after which a tile that is not
 * needed is stored; 0: the sums are not stored either. */
static double group(const float *p, float *to, int often) {
  double best = 1e18;
  for (int try = 0; try < TRIES; try++) {
    const double start = now();
    for (int r = 0; r < ROUNDS / 10; r++) {
      pz_tiles_zero_sums();
      for (int i = 0; i < GROUP; i++) {
        const float *at = p + i * LOADS % OPERANDS * PZ_TILE_FLOATS;
        PZ_TILE_LOAD(4, at);
        PZ_TILE_LOAD(6, at + PZ_TILE_FLOATS);
        PZ_TILE_MULTIPLY(0, 4, 6);
        PZ_TILE_LOAD(7, at + 2 * PZ_TILE_FLOATS);
        PZ_TILE_MULTIPLY(1, 4, 7);
        PZ_TILE_LOAD(5, at + 3 * PZ_TILE_FLOATS);
        PZ_TILE_MULTIPLY(2, 5, 6);
        PZ_TILE_MULTIPLY(3, 5, 7);
        if (often && (i + 1) % often == 0) PZ_TILE_STORE(6, to + 4 * PZ_TILE_FLOATS);
      }
      if (!often) continue;
      pz_tiles_store_sums(to);
    }
    const double took = (now() - start) / (ROUNDS / 10);
    if (took < best) best = took;
  }
  return best;
}

/* p: zero. */
static void tiles(float *p) {
  const int products = GROUP * LOADS;
  float *to = p + OPERANDS * PZ_TILE_FLOATS;
  pz_test_random r = {.state = 1};
  if (!pz_test_amx()) return;
  pz_tiles_begin(16);
  const double zeros = group(p, to, 0) / products;
  uint16_t *halves = (uint16_t *)p;
  for (int i = 0; i < 2 * OPERANDS * PZ_TILE_FLOATS; i++) {
    const float x = pz_test_float(&r, -1, 1);
    memcpy(halves + i, (const char *)&x + 2, 2);
  }
  const double random = group(p, to, 0);
  printf("a product of tiles with a load: %.2f ns of zeros, %.2f of random values\n", zeros,
         random / products);
  printf(
      "four stores after %d products: %.0f ns; where another tile is stored after every 96: %.0f with it\n",
      products, group(p, to, products) - random, group(p, to, 96 / LOADS) - random);
  pz_tiles_end();
}
#else
static void tiles(float *p) { (void)p; }
#endif

/* ---- between cores ---- */

enum { BACK, THERE, OVER };

static _Alignas(128) atomic_int place;

/* Sends each line back. */
static void *reflect(void *unused) {
  for (int at; (at = atomic_load(&place)) != OVER;)
    if (at == THERE) atomic_store(&place, BACK);
  return unused;
}

/* Starts it on the core behind this one. False: there is no other, or it is not to be used. */
static int start_reflecting(pthread_t *thread) {
  const int here = sched_getcpu(), core = (int)((here + 1) % sysconf(_SC_NPROCESSORS_ONLN));
  pthread_attr_t attributes;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (core == here || pthread_attr_init(&attributes)) return 0;
  const int started = !pthread_attr_setaffinity_np(&attributes, sizeof set, &set) &&
                      !pthread_create(thread, &attributes, reflect, NULL);
  pthread_attr_destroy(&attributes);
  return started;
}

static void round_trips(void) {
  pthread_t other;
  double best = 1e18;
  if (!start_reflecting(&other)) return;
  for (int try = 0; try < 8; try++) {
    const double start = now();
    for (int r = 0; r < ROUNDS; r++) {
      atomic_store(&place, THERE);
      while (atomic_load(&place) != BACK) continue;
    }
    const double took = (now() - start) / ROUNDS;
    if (took < best) best = took;
  }
  atomic_store(&place, OVER);
  pthread_join(other, NULL);
  printf("a line to the next core and back: %.0f ns\n", best);
}

int main(void) {
  const size_t most = (size_t)64 << 20;
  float *p = aligned_alloc((size_t)2 << 20, most);
  if (!p) return 1;
  (void)madvise(p, most, MADV_HUGEPAGE); /* as the runtime's memory */
  memset(p, 0, most);
  printf("multiply-adds of %d lanes a ns: %.2f from registers, %.2f in a product\n", PZ_S, registers(),
         product(p, p + 4096));
  tiles(p);
  printf("KiB: GB/s read, written, written past the caches\n");
  for (size_t bytes = 16 << 10; bytes <= most; bytes *= 4)
    printf("%zu: %.0f, %.0f, %.0f\n", bytes >> 10, gigabytes(0, p, bytes), gigabytes(1, p, bytes),
           gigabytes(2, p, bytes));
  round_trips();
  free(p);
  return 0;
}
