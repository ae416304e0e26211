/* permute.h: the axes of a NCHW tensor in another order.
 *
 * Layouts: plain, up to 8 axes, in the order of `out`: their sizes, strides in `out` and in `in`, out[last] = 1; any
 * address; they may not overlap. `across`: the axis along which `in` is contiguous (in[across] = 1), the last one
 * where rows stay rows; where there is none, any other than the last. Reads those elements of `in`, writes those of
 * `out`.
 *
 * Rows that stay rows are copied. Else S x S tiles of the last axis and of `across` are transposed in registers, so
 * that each cache line is used whole on either side while it is in the first-level cache. Where one of the two is
 * shorter than half a vector (the colours of an image, the blocks of depth-to-space), or in[across] is not 1, a loop
 * moves single elements, a scalar one, the shorter axis inside, at a third of the speed of tiles
 * (doc/notes/2026-11-21-memory-bound-kernels.md). Exact. A reshape of a dense NCHW tensor needs no kernel: it is a view. */
#ifndef PZ_KERNELS_PERMUTE_PERMUTE_H
#define PZ_KERNELS_PERMUTE_PERMUTE_H

#include "kernels/copy/transpose.h"

enum { PZ_PERMUTE_AXES = 8, PZ_PERMUTE_CHUNK = 8 * PZ_S };

#define PZ_PERMUTE_FIELDS(ONE, MANY)                                                                         \
  ONE(int, axes)                                                                                             \
  ONE(int, across)                                                                                           \
  MANY(int, size, PZ_PERMUTE_AXES)                                                                           \
  MANY(long, in, PZ_PERMUTE_AXES)                                                                            \
  MANY(long, out, PZ_PERMUTE_AXES)
typedef struct pz_permute_shape {
  PZ_PERMUTE_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_permute_shape;

/* Where piece `index` of the tensor begins, `step` elements of each axis making a piece. */
typedef struct pz_permute_place {
  int64_t in, out;
  int32_t at[PZ_PERMUTE_AXES];
} pz_permute_place;

PZ_INLINE int64_t pz_permute_pieces(const pz_permute_shape *s, const int32_t step[PZ_PERMUTE_AXES]) {
  int64_t pieces = 1;
  for (int32_t a = 0; a < s->axes; ++a) pieces *= ((int64_t)s->size[a] + step[a] - 1) / step[a];
  return pieces;
}

/* `across` runs fastest: neighbouring pieces share the cache lines of the input. */
PZ_INLINE pz_permute_place pz_permute_piece(const pz_permute_shape *s, const int32_t step[PZ_PERMUTE_AXES],
                                            int64_t index) {
  pz_permute_place p = {0};
  for (int32_t i = s->axes; i >= 0; --i) { /* `across`, then the others from the last */
    const int32_t a = i == s->axes ? s->across : i;
    if (i == s->across) continue;
    const int64_t pieces = ((int64_t)s->size[a] + step[a] - 1) / step[a];
    p.at[a] = (int32_t)(index % pieces * step[a]);
    p.in += p.at[a] * s->in[a], p.out += p.at[a] * s->out[a];
    index /= pieces;
  }
  return p;
}

/* `across` elements along that axis, `along` along the last one; each at most S. whole: both are S. */
PZ_INLINE void pz_permute_tile(const pz_permute_shape *s, const float *in, float *out, int32_t across,
                               int32_t along, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) {
    const float *p = in + i * s->in[s->axes - 1];
    tile[i] = whole ? pz_v_loadu(p) : i < along ? pz_load_some(p, across) : pz_v_zero();
  }
  pz_transpose(tile);
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i)
    if (whole) pz_v_storeu(out + i * s->out[s->across], tile[i]);
    else if (i < across) pz_store_some(out + i * s->out[s->across], tile[i], along);
}

PZ_INLINE int32_t pz_permute_least(int32_t a, int32_t b) { return a < b ? a : b; }

PZ_INLINE void pz_permute_tiles(const pz_permute_shape *s, const float *in, float *out, pz_permute_place p) {
  const int32_t last = s->axes - 1, across = pz_permute_least(s->size[s->across] - p.at[s->across], PZ_S);
  const int32_t points = pz_permute_least(s->size[last] - p.at[last], PZ_PERMUTE_CHUNK);
  in += p.in, out += p.out;
  for (int32_t i = 0; i < points; i += PZ_S) {
    const int32_t along = pz_permute_least(points - i, PZ_S);
    if (along == PZ_S && across == PZ_S) pz_permute_tile(s, in + i * s->in[last], out + i, PZ_S, PZ_S, 1);
    else pz_permute_tile(s, in + i * s->in[last], out + i, across, along, 0);
  }
}

/* The elements of `across` from p on, `count` of them, and all of the last axis. */
PZ_INLINE void pz_permute_elements(const pz_permute_shape *s, const float *restrict in, float *restrict out,
                                   pz_permute_place p, int32_t count) {
  const int32_t last = s->axes - 1, a = s->across;
  in += p.in, out += p.out;
  if (s->size[a] >= s->size[last]) {
    for (int32_t i = 0; i < count; ++i)
      for (int32_t j = 0; j < s->size[last]; ++j) out[i * s->out[a] + j] = in[i * s->in[a] + j * s->in[last]];
  } else {
    for (int32_t j = 0; j < s->size[last]; ++j)
      for (int32_t i = 0; i < count; ++i) out[i * s->out[a] + j] = in[i * s->in[a] + j * s->in[last]];
  }
}

/* Rows from p on along the axis before the last, `count` of them. */
PZ_INLINE void pz_permute_rows(const pz_permute_shape *s, const float *in, float *out, pz_permute_place p,
                               int32_t count) {
  const int32_t last = s->axes - 1;
  in += p.in, out += p.out;
  for (int32_t i = 0; i < count; ++i) {
    memcpy(out, in, (size_t)s->size[last] * sizeof *in);
    if (last) in += s->in[last - 1], out += s->out[last - 1];
  }
}

PZ_INLINE void pz_permute(const pz_permute_shape s, const float *in, float *out, int32_t worker,
                          int32_t workers) {
  const int32_t last = s.axes - 1, rows = s.across == last, a = rows && last ? last - 1 : s.across;
  const int tiles = !rows && s.in[a] == 1 && s.size[a] >= PZ_S / 2 && s.size[last] >= PZ_S / 2;
  int32_t step[PZ_PERMUTE_AXES];
  int64_t begin, end;
  for (int32_t i = 0; i < PZ_PERMUTE_AXES; ++i) step[i] = 1;
  step[a] = tiles ? PZ_S : PZ_PERMUTE_CHUNK;
  step[last] = tiles ? PZ_PERMUTE_CHUNK : s.size[last];
  pz_share(pz_permute_pieces(&s, step), worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const pz_permute_place p = pz_permute_piece(&s, step, i);
    const int32_t count = pz_permute_least(s.size[a] - p.at[a], step[a]);
    if (tiles) pz_permute_tiles(&s, in, out, p);
    else if (rows) pz_permute_rows(&s, in, out, p, last ? count : 1);
    else pz_permute_elements(&s, in, out, p, count);
  }
}

#endif
