/* depth_to_space.h: channels to positions of blocks, and back (depth to space, pixel shuffle; graph.h), from NCHWc
 * tensors to NCHWc ones.
 *
 * Layouts: `in` and `out` NCHWc, any strides; they may not overlap. The one of more channels is called deep, the other
 * wide: deep channels = B * wide channels, B = block[0]*block[1]*block[2]. inverse: `in` is wide. Channel m of the deep tensor
 * and position p of the block belong to channel c of the wide one:
 *   columns_first   m = c*B + p, B a power of two, at most 16: S channels of the wide tensor are B vectors of the deep
 * one, of
 *                   which every B-th lane is wanted; log2(B) stages of B two-source shuffles put them apart
 *   otherwise       m = p*(wide channels) + c, the wide channels a multiple of S: vectors are copied
 * Reads the inside of `in`, writes the inside of `out`, zero in padding lanes; those of `in` are not looked at. Unit
 * of work: a row of the deep tensor, for S channels of the wide one. Exact. */
#ifndef PZ_KERNELS_SHUFFLE_DEPTH_TO_SPACE_H
#define PZ_KERNELS_SHUFFLE_DEPTH_TO_SPACE_H

#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

enum { PZ_DEPTH_TO_SPACE_MOST = 16 };

#define PZ_DEPTH_TO_SPACE_FIELDS(ONE, MANY)                                                                  \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  MANY(int, block, 3)                                                                                        \
  ONE(int, columns_first)                                                                                    \
  ONE(int, inverse)
typedef struct pz_depth_to_space_shape {
  PZ_DEPTH_TO_SPACE_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_depth_to_space_shape;

#define PZ_EVEN(l)     (2 * (l))
#define PZ_ODD(l)      (2 * (l) + 1)
#define PZ_ZIP_LOW(l)  ((l) / 2 + (l) % 2 * PZ_S)
#define PZ_ZIP_HIGH(l) (PZ_S / 2 + (l) / 2 + (l) % 2 * PZ_S)

/* n vectors as one row of n*S lanes, n a power of two: vector i gets every n-th lane, from lane p on, the bits of i
 * being those of p in reverse. */
PZ_INLINE void pz_lanes_apart(pz_v *v, int n) {
  pz_v x[PZ_DEPTH_TO_SPACE_MOST];
  PZ_UNROLL
  for (int length = n; length > 1; length /= 2) {
    PZ_UNROLL
    for (int i = 0; i < n; ++i) x[i] = v[i];
    PZ_UNROLL
    for (int i = 0; i < n / 2; ++i) {
      const int group = 2 * i / length * length, at = i % (length / 2);
      v[group + at] = __builtin_shufflevector(x[2 * i], x[2 * i + 1], PZ_LANES(PZ_EVEN));
      v[group + length / 2 + at] = __builtin_shufflevector(x[2 * i], x[2 * i + 1], PZ_LANES(PZ_ODD));
    }
  }
}

/* The inverse of pz_lanes_apart. */
PZ_INLINE void pz_lanes_together(pz_v *v, int n) {
  pz_v x[PZ_DEPTH_TO_SPACE_MOST];
  PZ_UNROLL
  for (int length = 2; length <= n; length *= 2) {
    PZ_UNROLL
    for (int i = 0; i < n; ++i) x[i] = v[i];
    PZ_UNROLL
    for (int i = 0; i < n / 2; ++i) {
      const int group = 2 * i / length * length, at = i % (length / 2);
      const pz_v even = x[group + at], odd = x[group + length / 2 + at];
      v[2 * i] = __builtin_shufflevector(even, odd, PZ_LANES(PZ_ZIP_LOW));
      v[2 * i + 1] = __builtin_shufflevector(even, odd, PZ_LANES(PZ_ZIP_HIGH));
    }
  }
}

/* The bits of i < n in reverse. */
PZ_INLINE int pz_lanes_reverse(int i, int n) {
  int reverse = 0;
  for (int bit = 1; bit < n; bit *= 2, i /= 2) reverse = 2 * reverse + i % 2;
  return reverse;
}

/* Position p of a block, in floats from its first one. */
PZ_INLINE int64_t pz_depth_to_space_at(const pz_depth_to_space_shape *s, const pz_view *wide, int p) {
  const int32_t k = p % s->block[2], j = p / s->block[2] % s->block[1], i = p / s->block[2] / s->block[1];
  return i * wide->stride_d + j * wide->stride_h + k * wide->stride_w;
}

/* Block b of the wide tensor; n is B, as a constant. `deep`: the row's first point in block b*B. */
PZ_INLINE void pz_depth_to_space_columns(const pz_depth_to_space_shape *s, const pz_view *deep, int32_t b,
                                         const float *in, float *out, int n) {
  const pz_view *wide = s->inverse ? &s->in : &s->out;
  const int32_t left = pz_blocks(deep) - b * n, channels = pz_block_channels(wide, b);
  const int64_t step = s->block[2] * wide->stride_w;
  pz_v v[PZ_DEPTH_TO_SPACE_MOST];
  for (int32_t w = 0; w < deep->w; ++w) {
    if (s->inverse) {
      PZ_UNROLL
      for (int i = 0; i < n; ++i)
        v[i] = pz_v_first(pz_v_load(in + pz_depth_to_space_at(s, wide, pz_lanes_reverse(i, n)) + w * step),
                          channels);
      pz_lanes_together(v, n);
      PZ_UNROLL
      for (int i = 0; i < n; ++i)
        if (i < left) pz_v_store(out + i * deep->stride_c + w * deep->stride_w, v[i]);
    } else {
      PZ_UNROLL
      for (int i = 0; i < n; ++i)
        v[i] = i < left ? pz_v_load(in + i * deep->stride_c + w * deep->stride_w) : pz_v_zero();
      pz_lanes_apart(v, n);
      PZ_UNROLL
      for (int i = 0; i < n; ++i)
        pz_v_store(out + pz_depth_to_space_at(s, wide, pz_lanes_reverse(i, n)) + w * step,
                   pz_v_first(v[i], channels));
    }
  }
}

/* Block b of the wide tensor as it lies in the deep one, `blocks` blocks apart. */
PZ_INLINE void pz_depth_to_space_copy(const pz_depth_to_space_shape *s, const pz_view *deep, const float *in,
                                      float *out) {
  const pz_view *wide = s->inverse ? &s->in : &s->out;
  const int64_t step = s->block[2] * wide->stride_w, apart = pz_blocks(wide) * deep->stride_c;
  for (int p = 0; p < s->block[0] * s->block[1] * s->block[2]; ++p) {
    const int64_t at = pz_depth_to_space_at(s, wide, p);
    for (int32_t w = 0; w < deep->w; ++w) {
      const int64_t here = at + w * step, there = p * apart + w * deep->stride_w;
      if (s->inverse) pz_v_store(out + there, pz_v_load(in + here));
      else pz_v_store(out + here, pz_v_load(in + there));
    }
  }
}

PZ_INLINE void pz_depth_to_space(const pz_depth_to_space_shape s, const float *in, float *out, int32_t worker,
                                 int32_t workers) {
  const pz_view *deep = s.inverse ? &s.out : &s.in, *wide = s.inverse ? &s.in : &s.out;
  const int n = s.block[0] * s.block[1] * s.block[2];
  pz_view rows = *deep;
  rows.c = wide->c;
  PZ_EACH_ROW(&rows, row, worker, workers) {
    const int64_t at_deep =
        pz_row_offset(deep, (pz_row){row.n, s.columns_first ? row.b * n : row.b, row.d, row.h});
    const int64_t at_wide =
        pz_row_offset(wide, (pz_row){row.n, row.b, row.d * s.block[0], row.h * s.block[1]});
    const float *from = in + (s.inverse ? at_wide : at_deep);
    float *to = out + (s.inverse ? at_deep : at_wide);
    if (!s.columns_first) pz_depth_to_space_copy(&s, deep, from, to);
    else if (n == 1) pz_depth_to_space_columns(&s, deep, row.b, from, to, 1);
    else if (n == 2) pz_depth_to_space_columns(&s, deep, row.b, from, to, 2);
    else if (n == 4) pz_depth_to_space_columns(&s, deep, row.b, from, to, 4);
    else if (n == 8) pz_depth_to_space_columns(&s, deep, row.b, from, to, 8);
    else if (n == 16) pz_depth_to_space_columns(&s, deep, row.b, from, to, 16);
  }
}

#endif
