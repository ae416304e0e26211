/* testing.h: what the kernels' tests share: tensors behind guard pages, random fill, checks. Only for tests and
 * benchmarks. Storage is mapped between two pages without access, and flush with one of them; what a kernel is not to
 * touch holds a NaN with a known pattern (poison), so reading it shows in the result and writing it in
 * pz_test_untouched. Checks print what is wrong and return false. */
#ifndef PZ_KERNELS_TESTING_H
#define PZ_KERNELS_TESTING_H

#include "kernels/view.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PZ_TEST_POISON 0x7fc1deadu
#define PZ_TEST_INLINE static inline __attribute__((unused))

/* ---- random numbers (xorshift64*, Vigna 2016) ---- */

typedef struct pz_test_random {
  uint64_t state; /* not zero */
} pz_test_random;

PZ_TEST_INLINE uint32_t pz_test_next(pz_test_random *r) {
  r->state ^= r->state >> 12, r->state ^= r->state << 25, r->state ^= r->state >> 27;
  return (uint32_t)((r->state * 2685821657736338717ull) >> 32);
}
/* Uniform in lo..hi, both included. */
PZ_TEST_INLINE int32_t pz_test_int(pz_test_random *r, int32_t lo, int32_t hi) {
  return lo + (int32_t)(pz_test_next(r) % (uint32_t)(hi - lo + 1));
}
PZ_TEST_INLINE float pz_test_float(pz_test_random *r, float lo, float hi) {
  return lo + (hi - lo) * (float)(pz_test_next(r) >> 8) * 0x1p-24f;
}

/* ---- memory behind guard pages ---- */

typedef struct pz_test_memory {
  float *data;
  int64_t floats;
  void *map;
  size_t bytes;
} pz_test_memory;

PZ_TEST_INLINE void pz_test_poison(float *at, int64_t floats) {
  const uint32_t poison = PZ_TEST_POISON;
  for (int64_t i = 0; i < floats; ++i) memcpy(at + i, &poison, 4);
}

/* Poisoned floats that end right in front of a guard page, or begin right behind one where `low`. The caller:
 * pz_test_free. Exits when there is no memory: a test cannot go on. */
PZ_TEST_INLINE pz_test_memory pz_test_alloc(int64_t floats, bool low) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), body = ((size_t)floats * 4 + page - 1) / page * page;
  pz_test_memory m = {.floats = floats, .bytes = body + 2 * page};
  m.map = mmap(NULL, m.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m.map == MAP_FAILED || mprotect(m.map, page, PROT_NONE) ||
      mprotect((char *)m.map + page + body, page, PROT_NONE)) {
    perror("testing.h: mmap");
    exit(1);
  }
  m.data = (float *)((char *)m.map + page + (low ? 0 : body - (size_t)floats * 4));
  pz_test_poison(m.data, floats);
  return m;
}
PZ_TEST_INLINE void pz_test_free(pz_test_memory *m) { munmap(m->map, m->bytes); }

/* Values in [-1, 1], not behind guard pages. The caller: free. */
PZ_TEST_INLINE float *pz_test_floats(pz_test_random *r, int64_t n) {
  float *p = malloc((size_t)n * sizeof *p + 1);
  if (!p) {
    perror("testing.h: malloc");
    exit(1);
  }
  for (int64_t i = 0; i < n; ++i) p[i] = pz_test_float(r, -1, 1);
  return p;
}

/* A value for each channel, padded with zeros to whole blocks, right in front of a guard page. */
PZ_TEST_INLINE pz_test_memory pz_test_vector(const float *values, int32_t channels, int32_t block) {
  pz_test_memory m = pz_test_alloc((channels + block - 1) / block * block, false);
  for (int64_t i = 0; i < m.floats; ++i) m.data[i] = i < channels ? values[i] : 0.0f;
  return m;
}

/* A random value for each channel, NaN behind the last one. */
PZ_TEST_INLINE pz_test_memory pz_test_channel_vector(pz_test_random *r, int32_t block, int32_t channels) {
  pz_test_memory m = pz_test_alloc((channels + block - 1) / block * block, false);
  for (int32_t i = 0; i < channels; ++i) m.data[i] = pz_test_float(r, -2, 2);
  return m;
}

/* ---- tensors ---- */

typedef struct pz_test_tensor {
  pz_view view;
  float *at; /* element (0,0,0,0,0): what a kernel is given */
  pz_test_memory memory;
} pz_test_tensor;

static inline int32_t pz_test_blocks(const pz_view *v) { return (v->c + v->block - 1) / v->block; }
/* Of a point, padding lanes among them. */
PZ_TEST_INLINE int32_t pz_test_lanes(const pz_view *v) {
  return v->channels_last ? v->c : pz_test_blocks(v) * v->block;
}

/* A view of the given sizes, without border, and strides of dense storage. */
PZ_TEST_INLINE pz_view pz_test_dense(int32_t block, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  pz_view v = {.n = n, .c = c, .d = d, .h = h, .w = w, .block = block};
  v.stride_w = block, v.stride_h = v.stride_w * w, v.stride_d = v.stride_h * h, v.stride_c = v.stride_d * d;
  v.stride_n = v.stride_c * pz_test_blocks(&v);
  return v;
}

/* Storage for a view: lo[] and hi[] are whole blocks, or lanes where it is channels-last, and spatial points (blocks, d, h, w) that lie around the
 * view beyond its border, as in a crop or a slice. Sets the strides; all of it is poisoned. */
PZ_TEST_INLINE pz_test_tensor pz_test_store(pz_view v, const int32_t lo[4], const int32_t hi[4], bool low) {
  int64_t size[3] = {v.d, v.h, v.w};
  for (int i = 0; i < 3; ++i) size[i] += v.border_lo[i] + v.border_hi[i] + lo[i + 1] + hi[i + 1];
  int64_t blocks = pz_test_blocks(&v) + lo[0] + hi[0];
  v.stride_w = v.channels_last ? lo[0] + v.c + hi[0] : v.block;
  v.stride_h = v.stride_w * size[2], v.stride_d = v.stride_h * size[1];
  v.stride_c = v.stride_d * size[0], v.stride_n = v.stride_c * (v.channels_last ? 1 : blocks);
  if (v.channels_last) v.stride_c = v.block;
  pz_test_tensor t = {.view = v, .memory = pz_test_alloc(v.stride_n * v.n, low)};
  t.at = t.memory.data + lo[0] * (v.channels_last ? 1 : v.stride_c) + (v.border_lo[0] + lo[1]) * v.stride_d +
         (v.border_lo[1] + lo[2]) * v.stride_h + (v.border_lo[2] + lo[3]) * v.stride_w;
  return t;
}

/* Dense storage without border. */
PZ_TEST_INLINE pz_test_tensor pz_test_tensor_dense(int32_t block, int32_t n, int32_t c, int32_t d, int32_t h,
                                                   int32_t w) {
  const int32_t none[4] = {0};
  return pz_test_store(pz_test_dense(block, n, c, d, h, w), none, none, false);
}

/* A tensor of the given view's sizes whose border and surroundings are random: dense, bordered, a crop, a slice of channels. */
PZ_TEST_INLINE pz_test_tensor pz_test_tensor_around(pz_test_random *r, pz_view v) {
  int32_t lo[4] = {0}, hi[4] = {0}, kind = pz_test_int(r, 0, 3);
  for (int i = 0; i < 3 && (kind & 1); ++i)
    v.border_lo[i] = pz_test_int(r, 0, 2), v.border_hi[i] = pz_test_int(r, 0, 2);
  for (int i = 0; i < 4 && (kind & 2); ++i) lo[i] = pz_test_int(r, 0, 2), hi[i] = pz_test_int(r, 0, 2);
  return pz_test_store(v, lo, hi, pz_test_int(r, 0, 1));
}
PZ_TEST_INLINE pz_test_tensor pz_test_tensor_random(pz_test_random *r, int32_t block, int32_t n, int32_t c,
                                                    int32_t d, int32_t h, int32_t w) {
  return pz_test_tensor_around(r, pz_test_dense(block, n, c, d, h, w));
}
/* The same in blocks of vectors, or channels-last. */
PZ_TEST_INLINE pz_test_tensor pz_test_tensor_channels_last(pz_test_random *r, int32_t block, int32_t n,
                                                           int32_t c, int32_t d, int32_t h, int32_t w) {
  pz_view v = pz_test_dense(block, n, c, d, h, w);
  v.channels_last = pz_test_int(r, 0, 1);
  return pz_test_tensor_around(r, v);
}
PZ_TEST_INLINE void pz_test_tensor_free(pz_test_tensor *t) { pz_test_free(&t->memory); }

/* Channel c may run into the padding lanes; spatial positions may be in the border. */
static inline float *pz_test_at(const pz_test_tensor *t, int32_t n, int32_t c, int32_t d, int32_t h,
                                int32_t w) {
  const pz_view *v = &t->view;
  return t->at + n * v->stride_n + c / v->block * v->stride_c + d * v->stride_d + h * v->stride_h +
         w * v->stride_w + c % v->block;
}

/* Calls for every (n, c, d, h, w) of the view; `grow` 1 includes the border; c runs to `channels`. */
#define PZ_TEST_EACH(v, grow, channels)                                                                      \
  for (int32_t n = 0; n < (v).n; ++n)                                                                        \
    for (int32_t c = 0; c < (channels); ++c)                                                                 \
      for (int32_t d = -(grow) * (v).border_lo[0]; d < (v).d + (grow) * (v).border_hi[0]; ++d)               \
        for (int32_t h = -(grow) * (v).border_lo[1]; h < (v).h + (grow) * (v).border_hi[1]; ++h)             \
          for (int32_t w = -(grow) * (v).border_lo[2]; w < (v).w + (grow) * (v).border_hi[2]; ++w)

/* Random values in the channels; padding lanes and border zero. */
PZ_TEST_INLINE void pz_test_fill(const pz_test_tensor *t, pz_test_random *r, float lo, float hi) {
  int32_t lanes = pz_test_lanes(&t->view);
  PZ_TEST_EACH(t->view, 1, lanes) {
    bool inside =
        c < t->view.c && d >= 0 && d < t->view.d && h >= 0 && h < t->view.h && w >= 0 && w < t->view.w;
    *pz_test_at(t, n, c, d, h, w) = inside ? pz_test_float(r, lo, hi) : 0.0f;
  }
}

/* Other channels' values behind the last channel, as in a slice that ends inside a block. */
PZ_TEST_INLINE void pz_test_poison_padding(const pz_test_tensor *t) {
  int32_t lanes = pz_test_lanes(&t->view);
  PZ_TEST_EACH(t->view, 0, lanes) {
    if (c >= t->view.c) pz_test_poison(pz_test_at(t, n, c, d, h, w), 1);
  }
}

/* Everything but the inside of the view (and its border where with_border) still holds poison. */
PZ_TEST_INLINE bool pz_test_untouched(const pz_test_tensor *t, bool with_border) {
  unsigned char *inside = calloc((size_t)t->memory.floats, 1);
  if (!inside) exit(1);
  int32_t lanes = pz_test_lanes(&t->view);
  PZ_TEST_EACH(t->view, with_border, lanes) inside[pz_test_at(t, n, c, d, h, w) - t->memory.data] = 1;
  int64_t bad = 0;
  for (int64_t i = 0; i < t->memory.floats; ++i) {
    uint32_t bits;
    memcpy(&bits, t->memory.data + i, 4);
    bad += !inside[i] && bits != PZ_TEST_POISON;
  }
  free(inside);
  if (bad) fprintf(stderr, "%lld floats outside of the view were written\n", (long long)bad);
  return bad == 0;
}

/* The padding lanes of the inside are zero. */
PZ_TEST_INLINE bool pz_test_padding_zero(const pz_test_tensor *t) {
  int32_t lanes = pz_test_lanes(&t->view);
  int64_t bad = 0;
  PZ_TEST_EACH(t->view, 0, lanes) bad += c >= t->view.c && *pz_test_at(t, n, c, d, h, w) != 0.0f;
  if (bad) fprintf(stderr, "%lld padding lanes are not zero\n", (long long)bad);
  return bad == 0;
}

/* |got - want| <= tolerance*(1 + |want|), and NaN and infinity where wanted and only there. */
PZ_TEST_INLINE bool pz_test_near(float got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  if (isinf(want)) return isinf(got) && (got > 0) == (want > 0);
  return fabs((double)got - want) <= tolerance * (1.0 + fabs(want));
}

/* Compares a tensor with want[], dense N,C,D,H,W doubles; also that nothing else was written and padding is zero. */
PZ_TEST_INLINE bool pz_test_equal(const pz_test_tensor *t, const double *want, double tolerance) {
  const pz_view *v = &t->view;
  PZ_TEST_EACH(*v, 0, v->c) {
    float got = *pz_test_at(t, n, c, d, h, w);
    double expected = want[((((int64_t)n * v->c + c) * v->d + d) * v->h + h) * v->w + w];
    if (!pz_test_near(got, expected, tolerance)) {
      fprintf(stderr, "(%d,%d,%d,%d,%d) of %dx%dx%dx%dx%d: got %.9g, want %.9g\n", n, c, d, h, w, v->n, v->c,
              v->d, v->h, v->w, (double)got, expected);
      return false;
    }
  }
  return pz_test_padding_zero(t);
}

/* Room for the expected values of a view, N,C,D,H,W. The caller: free. */
PZ_TEST_INLINE double *pz_test_doubles(const pz_view *v) {
  double *p = calloc((size_t)v->n * (size_t)v->c * (size_t)v->d * (size_t)v->h * (size_t)v->w + 1, sizeof *p);
  if (!p) exit(1);
  return p;
}

PZ_TEST_INLINE float *pz_test_snapshot(const pz_test_memory *m) {
  float *copy = malloc((size_t)m->floats * 4 + 4);
  if (!copy) exit(1);
  return memcpy(copy, m->data, (size_t)m->floats * 4);
}

/* Runs a call that uses `worker` and `workers` with 1, 2 and 3 workers, and with `many`, each time from the same contents of the
 * output's memory (a pz_test_memory), and sets `same` to whether all bits were equal. */
#define PZ_TEST_WORKERS(same, output, ...) PZ_TEST_MANY_WORKERS(same, output, 3, __VA_ARGS__)
#define PZ_TEST_MANY_WORKERS(same, output, many, ...)                                                        \
  do {                                                                                                       \
    float *before_ = pz_test_snapshot(&(output)), *first_ = NULL;                                            \
    size_t bytes_ = (size_t)(output).floats * 4;                                                             \
    (same) = true;                                                                                           \
    for (int32_t workers = 1; workers <= (many);                                                             \
         workers += workers < 3 || workers == (many) ? 1 : (many)-3) {                                       \
      memcpy((output).data, before_, bytes_);                                                                \
      for (int32_t worker = workers - 1; worker >= 0; --worker) { __VA_ARGS__; }                             \
      if (!first_) first_ = pz_test_snapshot(&(output));                                                     \
      if (memcmp(first_, (output).data, bytes_)) (same) = false;                                             \
    }                                                                                                        \
    if (!(same)) fprintf(stderr, "%s:%d: workers disagree\n", __FILE__, __LINE__);                           \
    free(before_);                                                                                           \
    free(first_);                                                                                            \
  } while (0)

#if defined(__AMX_BF16__) || defined(__AMXBF16__) /* gcc's name, clang 14's */
#include <cpuid.h>
#include <sys/syscall.h>
PZ_TEST_INLINE bool pz_test_amx(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & 1u << 22) && /* AMX-BF16; Linux looks at tiles */
         !syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* XFEATURE_XTILEDATA */);
}
#endif

/* Whether this CPU has what this file was compiled for; tests begin with: if (!pz_test_cpu()) return 77; */
PZ_TEST_INLINE bool pz_test_cpu(void) {
  bool has = true;
#if defined(__SSE4_2__)
  has = has && __builtin_cpu_supports("sse4.2");
#endif
#if defined(__AVX2__)
  has = has && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#if defined(__AVX512F__)
  has = has && __builtin_cpu_supports("avx512f");
#endif
#if defined(__AVX512BW__)
  has = has && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl");
#endif
#if defined(__AMX_BF16__) || defined(__AMXBF16__)
  has = has && pz_test_amx();
#endif
  if (!has) fprintf(stderr, "skipped: this CPU has not the instructions of this test\n");
  return has;
}

/* Seconds of a monotonic clock, for benchmarks. */
PZ_TEST_INLINE double pz_test_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
