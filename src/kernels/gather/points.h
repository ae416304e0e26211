/* points.h: an image put together from points of another: nearest-neighbour resize, padding (constant, edge,
 * reflected, periodic) and steps, along n, d, h, w.
 *
 * Layouts: `in` and `out` NCHWc, any strides, same c; they may not overlap. out[n][c][d][h][w] =
 * in[i][c][j][k][l], or `value` where one of the four is negative: i, j, k, l are tables of the planner, int32 bits,
 * for n, d, h, w one behind the other in `tables`, as long as `out` is. fills: some are negative. Reads those points
 * of the inside of `in`, writes the inside of `out`; padding lanes of points that are filled become zero, the others
 * are copied as they are. stream: `out` is written past the caches. Unit of work: a row of `out`. Exact. */
#ifndef PZ_KERNELS_GATHER_POINTS_H
#define PZ_KERNELS_GATHER_POINTS_H

#include "kernels/rows.h"
#include "kernels/vec.h"

#define PZ_GATHER_POINTS_FIELDS(ONE, MANY)                                                                   \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, stream)                                                                                           \
  ONE(int, fills)                                                                                            \
  ONE(float, value)
typedef struct pz_gather_points_shape {
  PZ_GATHER_POINTS_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_gather_points_shape;

PZ_INLINE int32_t pz_gather_index(const float *table, int64_t i) {
  int32_t at;
  memcpy(&at, table + i, sizeof at);
  return at;
}

PZ_INLINE void pz_gather_put(const pz_gather_points_shape *s, float *out, pz_v x) {
  if (s->stream) pz_v_stream(out, x);
  else pz_v_store(out, x);
}

PZ_INLINE void pz_gather_row(const pz_gather_points_shape *s, const float *in, const float *table, pz_v fill,
                             float *out) {
  for (int32_t w = 0; w < s->out.w; ++w) {
    const int64_t at = pz_gather_index(table, w);
    pz_gather_put(s, out + w * s->out.stride_w,
                  s->fills && at < 0 ? fill : pz_v_load(in + at * s->in.stride_w));
  }
}

PZ_INLINE void pz_gather_points(const pz_gather_points_shape s, const float *in, const float *tables,
                                float *out, int32_t worker, int32_t workers) {
  const float *table_d = tables + s.out.n, *table_h = table_d + s.out.d, *table_w = table_h + s.out.h;
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const int32_t n = pz_gather_index(tables, row.n), d = pz_gather_index(table_d, row.d),
                  h = pz_gather_index(table_h, row.h);
    const pz_v fill = pz_v_first(pz_v_set1(s.value), pz_block_channels(&s.out, row.b));
    float *to = out + pz_row_offset(&s.out, row);
    if (s.fills && (n | d | h) < 0)
      for (int32_t w = 0; w < s.out.w; ++w) pz_gather_put(&s, to + w * s.out.stride_w, fill);
    else pz_gather_row(&s, in + pz_row_offset(&s.in, (pz_row){n, row.b, d, h}), table_w, fill, to);
  }
  if (s.stream) pz_v_stream_end();
}

#endif
