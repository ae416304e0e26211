/* argmax.h: the index along one dimension of the greatest value, as a whole number in a float; of equal ones the first, or the
 * last; NaN counts as greatest. The dimension becomes 1.
 *
 * Layouts: `in` and `out` NCHWc, any strides, sizes of out as those of in but for `axis` (0 .. 4: n, c, d, h, w), where it is 1;
 * they do not overlap. Padding lanes of `in` are not looked at; those of `out` become zero, and where the axis is the channels so do
 * all lanes but the first. pz_argmax_u8, over channels alone: `out` plain, of bytes, stride_w 1, at any address; of 256 channels at most. Over channels S points are worked on together, transposed in registers. Unit of work: a row of out. */
#ifndef PZ_KERNELS_REDUCTION_ARGMAX_H
#define PZ_KERNELS_REDUCTION_ARGMAX_H

#include "kernels/copy/transpose.h"
#include "kernels/rows.h"
#include "kernels/vec.h"

#define PZ_ARGMAX_FIELDS(ONE, MANY)                                                                          \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, axis)                                                                                             \
  ONE(int, last)
typedef struct pz_argmax_shape {
  PZ_ARGMAX_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_argmax_shape;
typedef pz_argmax_shape pz_argmax_u8_shape;

/* The greatest value so far and its index. */
typedef struct pz_argmax_best {
  pz_v value, index;
} pz_argmax_best;

PZ_INLINE void pz_argmax_try(int32_t last, pz_argmax_best *best, pz_v x, int32_t index) {
  pz_vi known = (pz_vi)(best->value == best->value), nan = (pz_vi)(x != x);
  pz_vi better = (pz_vi)(last ? x >= best->value : x > best->value) | (nan & known);
  if (last) better |= nan;
  best->value = pz_v_select(better, x, best->value);
  best->index = pz_v_select(better, pz_v_set1((float)index), best->index);
}

PZ_INLINE void pz_argmax_load(const pz_argmax_shape *s, const float *in, int32_t points, pz_v tile[PZ_S]) {
  PZ_UNROLL for (int i = 0; i < PZ_S; ++i) tile[i] =
      i < points ? pz_v_load(in + i * s->in.stride_w) : pz_v_zero();
  pz_transpose(tile);
}

/* `points` (at most S) points from `in` on, over all channels. */
PZ_INLINE pz_v pz_argmax_over_maps(const pz_argmax_shape *s, const float *in, int32_t points) {
  pz_v tile[PZ_S];
  pz_argmax_best best = {pz_v_zero(), pz_v_zero()};
  PZ_ROLL for (int32_t b = 0; b < pz_blocks(&s->in); ++b) {
    pz_argmax_load(s, in + b * s->in.stride_c, points, tile);
    if (b == 0) best = (pz_argmax_best){tile[0], pz_v_zero()};
    PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) if (i < pz_block_channels(&s->in, b))
        pz_argmax_try(s->last, &best, tile[i], b * PZ_S + i);
  }
  return best.index;
}

PZ_INLINE void pz_argmax_channels(const pz_argmax_shape *s, const float *in, float *out, int32_t points) {
  pz_v tile[PZ_S];
  tile[0] = pz_argmax_over_maps(s, in, points);
  PZ_UNROLL for (int i = 1; i < PZ_S; ++i) tile[i] = pz_v_zero();
  pz_transpose(tile);
  PZ_UNROLL for (int i = 0; i < PZ_S; ++i) if (i < points) pz_v_store(out + i * s->out.stride_w, tile[i]);
}

PZ_INLINE void pz_argmax(const pz_argmax_shape s, const float *in, float *out, int32_t worker,
                         int32_t workers) {
  const int64_t steps[5] = {s.in.stride_n, 0, s.in.stride_d, s.in.stride_h, s.in.stride_w};
  const int32_t sizes[5] = {s.in.n, s.in.c, s.in.d, s.in.h, s.in.w};
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + pz_row_offset(&s.out, row);
    for (int32_t w = 0; s.axis == 1 && w < s.out.w; w += PZ_S)
      pz_argmax_channels(&s, from + w * s.in.stride_w, to + w * s.out.stride_w,
                         s.out.w - w < PZ_S ? s.out.w - w : PZ_S);
    for (int32_t w = 0; s.axis != 1 && w < s.out.w; ++w) {
      const float *p = from + w * s.in.stride_w;
      pz_argmax_best best = {pz_v_load(p), pz_v_zero()};
      for (int32_t i = 1; i < sizes[s.axis]; ++i)
        pz_argmax_try(s.last, &best, pz_v_load(p + i * steps[s.axis]), i);
      pz_v_store(to + w * s.out.stride_w, pz_v_first(best.index, pz_block_channels(&s.out, row.b)));
    }
  }
}

PZ_INLINE void pz_argmax_u8(const pz_argmax_u8_shape s, const float *in, uint8_t *out, int32_t worker,
                            int32_t workers) {
  typedef uint8_t bytes __attribute__((vector_size(PZ_S)));
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    uint8_t *to = out + pz_row_offset(&s.out, row);
    for (int32_t w = 0; w < s.out.w; w += PZ_S) {
      const int32_t points = s.out.w - w < PZ_S ? s.out.w - w : PZ_S;
      const pz_v index = pz_argmax_over_maps(&s, from + w * s.in.stride_w, points);
      const bytes b = __builtin_convertvector(__builtin_convertvector(index, pz_vi), bytes);
      memcpy(to + w, &b, (size_t)points);
    }
  }
}

#endif
