/* fft.h: convolution by Fourier transforms, batch after batch of tiles: transform the inputs of all tiles of a batch, multiply
 * each frequency by its weights, transform back with bias, Base and activation.
 *
 * Contract: shape.h; weights packed by pack.h; bias, residual_scale, slope padded with zeros to whole blocks; in, out, residual of
 * block S, residual may be the very storage of out. Reads `in` only as far as the direct convolution would: what a tile at
 * the edge would read beyond is zero. Writes the inside of out; padding lanes become zero. A value that is not finite
 * reaches all outputs of its tile. scratch: pz_fft_scratch floats of this worker's own. The unit of work is a batch; a tile's
 * sums do not depend on the others of its batch, so any number of workers gives the same bits.
 * Error: doc/algorithm-fft.md. */
#ifndef PZ_KERNELS_FFT_FFT_H
#define PZ_KERNELS_FFT_FFT_H

#include "kernels/conv/epilogue.h"
#include "kernels/fft/transform.h"
#include "kernels/norm/moments.h"

/* Where a tile lies: image, first output along each axis; how many inputs and outputs it has there. */
typedef struct pz_fft_tile {
  int32_t n, at[3], inputs[3], outputs[3];
} pz_fft_tile;

PZ_INLINE int64_t pz_fft_tile_along(const pz_fft_shape *s, pz_fft_tile *t, int32_t axis, int32_t length,
                                    int64_t index) {
  const int32_t m = pz_fft_outputs(s, axis), tiles = pz_fft_tiles(s, axis);
  t->at[axis] = (int32_t)(index % tiles) * m;
  t->outputs[axis] = length - t->at[axis] < m ? length - t->at[axis] : m;
  t->inputs[axis] = t->outputs[axis] + s->conv.kernel[axis] - 1;
  return index / tiles;
}

PZ_INLINE pz_fft_tile pz_fft_tile_at(const pz_fft_shape *s, int64_t index) {
  pz_fft_tile t = {0};
  index = pz_fft_tile_along(s, &t, 2, s->conv.out.w, index);
  index = pz_fft_tile_along(s, &t, 1, s->conv.out.h, index);
  t.n = (int32_t)pz_fft_tile_along(s, &t, 0, s->conv.out.d, index);
  return t;
}

/* Of the tile's plane d, row h, in a block of channels. */
PZ_INLINE int64_t pz_fft_place(const pz_view *v, const pz_fft_tile *t, int32_t block, int32_t d, int32_t h) {
  return t->n * v->stride_n + block * v->stride_c + (t->at[0] + d) * v->stride_d +
         (t->at[1] + h) * v->stride_h + t->at[2] * v->stride_w;
}

/* ---- inputs ---- */

/* A plane of a tile that is cut off, filled up with zeros. */
PZ_INLINE void pz_fft_fill(const pz_fft_shape *s, const pz_fft_tile *t, int32_t d, const float *in,
                           float *plane) {
  const pz_view *v = &s->conv.in;
  PZ_ROLL for (int32_t h = 0; h < s->size[1]; ++h) PZ_ROLL for (int32_t w = 0; w < s->size[2]; ++w) {
    const int there = d < t->inputs[0] && h < t->inputs[1] && w < t->inputs[2];
    pz_v_store(plane + h * pz_fft_row(s) + w * PZ_S,
               there ? pz_v_load(in + h * v->stride_h + w * v->stride_w) : pz_v_zero());
  }
}

/* Plane d of a tile of one block, along w into `plane` and along h to `to`, of which only place and imaginary count: frequency k
 * along w goes k * next floats further. */
PZ_INLINE void pz_fft_plane_forward(const pz_fft_shape *s, const float *twiddles, const pz_fft_tile *t,
                                    int32_t d, const float *in, float *plane, pz_fft_to to, int64_t next) {
  const int64_t row = pz_fft_row(s);
  int64_t stride_h = s->conv.in.stride_h, stride_w = s->conv.in.stride_w;
  if (d >= t->inputs[0] || t->inputs[1] < s->size[1] || t->inputs[2] < s->size[2]) {
    pz_fft_fill(s, t, d, in, plane);
    in = plane, stride_h = row, stride_w = PZ_S;
  }
  PZ_ROLL for (int32_t h = 0; h < s->size[1]; h += 2)
      pz_fft_two_rows(s->size[2], twiddles + 2 * (s->size[0] + s->size[1]),
                      (pz_fft_from){in + h * stride_h, stride_w, stride_h}, plane + h * row, row);
  PZ_ROLL for (int32_t k = 0; k < pz_fft_half(s); ++k, to.at += next)
      pz_fft_line(s->size[1], twiddles + 2 * s->size[0], (pz_fft_from){plane + k * 2 * PZ_S, row, PZ_S}, to);
}

/* One tile of one block of channels into its places of all slots. `in`: its first input. */
PZ_INLINE void pz_fft_forward(const pz_fft_shape *s, const float *twiddles, const pz_fft_tile *t,
                              const float *in, float *work, float *slots) {
  const int32_t deep = s->size[0] > 1, half = pz_fft_half(s);
  const int64_t slot = pz_fft_slot(s), imaginary = pz_fft_imaginary(s), plane = pz_fft_plane(s);
  PZ_ROLL for (int32_t d = 0; d < s->size[0]; ++d) {
    float *here = work + d * plane;
    const pz_fft_to to = deep ? (pz_fft_to){here, pz_fft_row(s), PZ_S, s->size[1]}
                              : (pz_fft_to){slots, half * slot, imaginary, s->size[1]};
    pz_fft_plane_forward(s, twiddles, t, d, in + d * s->conv.in.stride_d, here, to, deep ? 2 * PZ_S : slot);
  }
  if (!deep) return;
  PZ_ROLL for (int32_t i = 0; i < s->size[1] * half; ++i)
      pz_fft_line(s->size[0], twiddles, (pz_fft_from){work + i * 2 * PZ_S, plane, PZ_S},
                  (pz_fft_to){slots + i * s->size[0] * slot, slot, imaginary, s->size[0]});
}

/* ---- products ---- */

#define PZ_FFT_ACCUMULATORS 16 /* complex ones */

/* One channel: x times w, for kb blocks of weights and rw tiles. Accumulator i is that of block i % kb, tile i / kb. Pinned as in
 * conv_direct/direct.h, for the same reasons. */
PZ_INLINE void pz_fft_step(int32_t kb, int32_t rw, int64_t imaginary, const float *in, const float *weights,
                           pz_v *re, pz_v *im) {
  pz_v wr[PZ_FFT_ACCUMULATORS], wi[PZ_FFT_ACCUMULATORS];
  PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
    wr[k] = pz_v_load(weights + 2 * k * PZ_S), wi[k] = pz_v_load(weights + (2 * k + 1) * PZ_S);
    PZ_V_PIN(wr[k]);
    PZ_V_PIN(wi[k]);
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) {
    pz_v x = pz_v_factor(in + i / kb * PZ_S);

    re[i] = pz_v_fma_factor(wr[i % kb], x, re[i]);
    im[i] = pz_v_fma_factor(wi[i % kb], x, im[i]);
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) {
    pz_v y = pz_v_factor(in + imaginary + i / kb * PZ_S);

    re[i] = pz_v_fma_factor(-wi[i % kb], y, re[i]);
    im[i] = pz_v_fma_factor(wr[i % kb], y, im[i]);
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) {
    PZ_V_PIN(re[i]);
    PZ_V_PIN(im[i]);
  }
  PZ_MEMORY_PIN();
}

PZ_INLINE void pz_fft_multiply_tile(const pz_fft_shape *s, int32_t kb, const float *in, const float *weights,
                                    float *out) {
  const int32_t rw = s->conv.rw;
  const int64_t imaginary = pz_fft_imaginary(s), block = pz_fft_block_step(s);
  pz_v re[PZ_FFT_ACCUMULATORS], im[PZ_FFT_ACCUMULATORS];
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) re[i] = im[i] = pz_v_zero();
  PZ_ROLL for (int32_t left = s->conv.in.c; left > 0; left -= PZ_S, in += block) {
    const float *x = in, *end = in + (left < PZ_S ? left : PZ_S);
    PZ_ROLL for (; x != end; ++x, weights += 2 * kb * PZ_S) {
      PZ_POINTER_PIN(x);
      PZ_POINTER_PIN(weights);
      pz_fft_step(kb, rw, imaginary, x, weights, re, im);
    }
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) {
    float *at = out + i % kb * block + i / kb * PZ_S;
    pz_v_store(at, re[i]), pz_v_store(at + imaginary, im[i]);
  }
}

/* `count` groups of kb out blocks, the first `tiles` tiles of the batch; returns where the next weights are. */
PZ_INLINE const float *pz_fft_multiply_groups(const pz_fft_shape *s, int32_t kb, int32_t count, int32_t tiles,
                                              const float *in, const float *weights, float *out) {
  PZ_ROLL for (int32_t g = 0; g < count; ++g, out += kb * pz_fft_block_step(s)) {
    PZ_ROLL for (int32_t i = 0; i < tiles; i += s->conv.rw)
        pz_fft_multiply_tile(s, kb, in + i * PZ_S, weights, out + i * PZ_S);
    weights += (int64_t)2 * kb * PZ_S * s->conv.in.c;
  }
  return weights;
}

/* Products of slot f+1 into slot f. */
PZ_INLINE void pz_fft_multiply(const pz_fft_shape *s, int32_t tiles, const float *weights, float *slots) {
  const pz_conv_split outer = pz_conv_outer_groups(&s->conv);
  const int64_t slot = pz_fft_slot(s);
  PZ_ROLL for (int32_t f = 0; f < pz_fft_frequencies(s); ++f, slots += slot) {
    weights = pz_fft_multiply_groups(s, outer.size, outer.large, tiles, slots + slot, weights, slots);
    if (outer.large < outer.count)
      weights = pz_fft_multiply_groups(s, outer.size - 1, outer.count - outer.large, tiles, slots + slot,
                                       weights, slots + outer.large * outer.size * pz_fft_block_step(s));
  }
}

/* ---- outputs ---- */

/* Rows h and h+1 of plane d of the tile. from: their frequencies. */
PZ_INLINE void pz_fft_two_rows_out(const pz_fft_shape *s, const float *twiddles, const pz_fft_tile *t,
                                   int32_t block, int32_t d, int32_t h, const float *from,
                                   const pz_conv_epilogue *e) {
  const pz_conv_direct_shape *c = &s->conv;
  pz_v rows[2 * PZ_FFT_MOST];
  pz_fft_two_rows_back(s->size[2], twiddles, from, pz_fft_row(s), rows);
  for (int32_t y = 0; y < 2 && h + y < t->outputs[1]; ++y) {
    const int64_t out = pz_fft_place(&c->out, t, block, d, h + y),
                  residual = pz_fft_place(&c->residual, t, block, d, h + y);
    PZ_ROLL for (int32_t w = 0; w < t->outputs[2]; ++w) pz_conv_store_sum(
        c, e, block, out + w * c->out.stride_w, residual + w * c->residual.stride_w, rows[2 * w + y]);
  }
}

/* One tile of one block of channels from its places of all slots. */
PZ_INLINE void pz_fft_back(const pz_fft_shape *s, const float *twiddles, const pz_fft_tile *t, int32_t block,
                           const float *slots, float *work, const pz_conv_epilogue *e) {
  const int32_t deep = s->size[0] > 1, half = pz_fft_half(s);
  const int64_t slot = pz_fft_slot(s), imaginary = pz_fft_imaginary(s), plane = pz_fft_plane(s);
  const int64_t row = pz_fft_row(s);
  const int32_t rows = t->outputs[1] + t->outputs[1] % 2;
  if (deep)
    PZ_ROLL for (int32_t i = 0; i < s->size[1] * half; ++i) pz_fft_line(
        s->size[0], twiddles, (pz_fft_from){slots + i * s->size[0] * slot + imaginary, slot, -imaginary},
        (pz_fft_to){work + (2 * i + 1) * PZ_S, plane, -PZ_S, t->outputs[0]});
  PZ_ROLL for (int32_t d = 0; d < t->outputs[0]; ++d) {
    float *here = work + d * plane;
    PZ_ROLL for (int32_t k = 0; k < half; ++k) {
      float *at = here + (2 * k + 1) * PZ_S;
      const pz_fft_from from = deep ? (pz_fft_from){at, row, -PZ_S}
                                    : (pz_fft_from){slots + k * slot + imaginary, half * slot, -imaginary};
      pz_fft_line(s->size[1], twiddles + 2 * s->size[0], from, (pz_fft_to){at, row, -PZ_S, rows});
    }
    PZ_ROLL for (int32_t h = 0; h < rows; h += 2)
        pz_fft_two_rows_out(s, twiddles + 2 * (s->size[0] + s->size[1]), t, block, d, h, here + h * row, e);
  }
}

/* ---- batches ---- */

PZ_INLINE void pz_fft_load(const pz_fft_shape *s, const float *twiddles, int64_t first, int32_t count,
                           const float *in, float *work, float *slots) {
  const int32_t *pad = s->conv.pad;
  in -= pad[0] * s->conv.in.stride_d + pad[1] * s->conv.in.stride_h + pad[2] * s->conv.in.stride_w;
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_fft_tile t = pz_fft_tile_at(s, first + k);
    PZ_ROLL for (int32_t b = 0; b < pz_fft_blocks(s->conv.in.c, PZ_S); ++b)
        pz_fft_forward(s, twiddles, &t, in + pz_fft_place(&s->conv.in, &t, b, 0, 0), work,
                       slots + b * pz_fft_block_step(s) + k * PZ_S);
  }
}

/* The moments of a tile's results in a block, which are near. */
PZ_INLINE void pz_fft_collect(const pz_fft_shape *s, const pz_fft_tile *t, int32_t block, const float *out,
                              float *record) {
  const pz_view *v = &s->conv.out;
  pz_norm_collect_box(v, out + pz_fft_place(v, t, block, 0, 0), t->outputs[0], t->outputs[1], t->outputs[2],
                      record);
}

/* records: of moments in block 0, or NULL. */
PZ_INLINE void pz_fft_store(const pz_fft_shape *s, const float *twiddles, int64_t first, int32_t count,
                            const float *slots, float *work, const pz_conv_epilogue *e, float *records) {
  const int64_t record = (int64_t)s->conv.stats_units * PZ_NORM_RECORD;
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_fft_tile t = pz_fft_tile_at(s, first + k);
    PZ_ROLL for (int32_t b = 0; b < pz_fft_blocks(s->conv.out.c, PZ_S); ++b) {
      pz_fft_back(s, twiddles, &t, b, slots + b * pz_fft_block_step(s) + k * PZ_S, work, e);
      if (s->conv.stats_units) pz_fft_collect(s, &t, b, e->out, records + b * record);
    }
  }
}

PZ_INLINE void pz_fft(const pz_fft_shape s, const float *in, const float *weights, const float *bias,
                      const float *residual, const float *residual_scale, const float *slope, float *out,
                      float *norm_stats, float *scratch, int32_t worker, int32_t workers) {
  const int64_t run = pz_fft_run(&s), batches = pz_fft_batches(&s);
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, NULL};
  float *slots = scratch + pz_fft_work(&s);
  int64_t begin, end;
  pz_share(pz_fft_all_tiles(&s) / run * batches, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i % batches * s.batch, first = i / batches * run + at;
    const int32_t count = run - at < s.batch ? (int32_t)(run - at) : s.batch;
    float *records = s.conv.stats_units ? pz_norm_begin_records(norm_stats, &s.conv.out, s.conv.stats_units,
                                                                i / batches, i % batches)
                                        : NULL;
    pz_fft_load(&s, weights, first, count, in, scratch, slots + pz_fft_slot(&s));
    pz_fft_multiply(&s, count, weights + pz_fft_twiddle_floats(&s), slots);
    pz_fft_store(&s, weights, first, count, slots, scratch, &epilogue, records);
  }
  if (s.conv.stream) pz_v_stream_end();
}

#endif
