/* lanes.h: moving channels between NCHWc tensors by a number that is not a multiple of the block: concatenation and
 * slicing of odd numbers of channels.
 *
 * Layouts: all NCHWc, any strides. `out` may not overlap an input.
 *   pz_concat:      out channels o_i .. o_i + in[i].c = in[i], o_i the channels of the inputs before it; their sum is out.c.
 *   pz_slice_channels:  out channels 0 .. out.c = in channels first .. first + out.c.
 * Reads the inside of the inputs (lanes behind an input's last channel are ignored, so an input may be a slice that ends
 * inside a block), writes the inside of `out`; each block of `out` is written by one worker from all of its sources,
 * so no two workers share a vector. Padding lanes of `out` become zero. Unit of work: a row of `out`. Exact.
 *
 * A block of `out` takes its lanes from two neighbouring blocks of an input, shifted by a number of lanes that is the
 * same for all blocks of this input: one two-source shuffle with constant indices. Lanes outside of the input are
 * zero, so the parts of several inputs are joined by a bitwise or. */
#ifndef PZ_KERNELS_COPY_LANES_H
#define PZ_KERNELS_COPY_LANES_H

#include "kernels/copy/shift.h"
#include "kernels/rows.h"

enum { PZ_CONCAT_INPUTS = 8 };

#define PZ_CONCAT_FIELDS(ONE, MANY)                                                                          \
  MANY(view, in, PZ_CONCAT_INPUTS)                                                                           \
  ONE(view, out)                                                                                             \
  ONE(int, inputs)
typedef struct pz_concat_shape {
  PZ_CONCAT_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_concat_shape;

#define PZ_SLICE_CHANNELS_FIELDS(ONE, MANY)                                                                  \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, first)
typedef struct pz_slice_channels_shape {
  PZ_SLICE_CHANNELS_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_slice_channels_shape;

/* One row of a block of `out` from blocks `low` and `high` of an input, of which channels_low and channels_high lanes count. */
typedef struct pz_lanes_row {
  const float *low, *high;
  float *out;
  int32_t channels_low, channels_high, w;
  int64_t stride_in, stride_out;
} pz_lanes_row;

/* join: or with what `out` holds. */
PZ_INLINE void pz_lanes_row_move(const pz_lanes_row row, int32_t shift, int join) {
#define PZ_LANES_CASE(r)                                                                                     \
  case r:                                                                                                    \
    for (int32_t w = 0; w < row.w; ++w) {                                                                    \
      pz_v low = pz_v_first(pz_v_load(row.low + w * row.stride_in), row.channels_low);                       \
      pz_v high = pz_v_first(pz_v_load(row.high + w * row.stride_in), row.channels_high);                    \
      pz_v x = PZ_SHIFT(low, high, r);                                                                       \
      float *out = row.out + w * row.stride_out;                                                             \
      pz_v_store(out, join ? pz_v_from_bits(pz_v_bits(x) | pz_v_bits(pz_v_load(out))) : x);                  \
    }                                                                                                        \
    break;
  switch (shift) { PZ_SHIFTS(PZ_LANES_CASE) }
#undef PZ_LANES_CASE
}

/* How many of block b's lanes lie among the first `channels` channels; 0 for blocks that do not exist. */
PZ_INLINE int32_t pz_lanes_count(int32_t b, int32_t channels) {
  int32_t rest = channels - b * PZ_S;
  return b < 0 || rest <= 0 ? 0 : rest < PZ_S ? rest : PZ_S;
}

/* A row of `out` from an input (`in`: its row in block 0) whose channel `base` goes to lane 0. -S < base < channels. */
PZ_INLINE void pz_lanes_from(const pz_view *v, const float *in, int32_t base, int32_t channels,
                             const pz_view *to, float *out, int join) {
  int32_t low = (base + PZ_S) / PZ_S - 1, shift = base - low * PZ_S;
  pz_lanes_row row = {.out = out, .w = to->w, .stride_in = v->stride_w, .stride_out = to->stride_w};
  row.channels_low = pz_lanes_count(low, channels),
  row.channels_high = shift ? pz_lanes_count(low + 1, channels) : 0;
  row.low =
      in + (row.channels_low ? low : low + 1) * v->stride_c; /* a block that exists; its lanes do not count */
  row.high = in + (row.channels_high ? low + 1 : low) * v->stride_c;
  pz_lanes_row_move(row, shift, join);
}

PZ_INLINE void pz_concat(const pz_concat_shape s, const float *const *in, float *out, int32_t worker,
                         int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    float *to = out + pz_row_offset(&s.out, row);
    int32_t base = row.b * PZ_S;
    for (int32_t i = 0, join = 0; i < s.inputs; base -= s.in[i].c, ++i) {
      if (base <= -PZ_S || base >= s.in[i].c) continue;
      const float *from = in[i] + pz_row_offset(&s.in[i], (pz_row){row.n, 0, row.d, row.h});
      pz_lanes_from(&s.in[i], from, base, s.in[i].c, &s.out, to, join);
      join = 1;
    }
  }
}

PZ_INLINE void pz_slice_channels(const pz_slice_channels_shape s, const float *in, float *out, int32_t worker,
                                 int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, (pz_row){row.n, 0, row.d, row.h});
    pz_lanes_from(&s.in, from, row.b * PZ_S + s.first, s.first + s.out.c, &s.out,
                  out + pz_row_offset(&s.out, row), 0);
  }
}

#endif
