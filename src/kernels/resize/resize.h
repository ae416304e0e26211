/* resize.h: linear interpolation along d, h and w, one to three of them (ONNX Resize, mode linear).
 *
 * Layouts: `in` and `out` NCHWc, any strides, same n and c; they may not overlap. Reads the inside of `in`, writes
 * the inside of `out`. Padding lanes are interpolated as they are: zero stays zero.
 *
 * For the output position o of an axis the planner gives two positions of the input and their weights, so that
 * coordinates, borders and rounding are its affair alone: `tables` holds for each axis, d, h, w, four arrays of the
 * output's size: lo, hi (int32 bits), weight_lo, weight_hi. Where weight_hi is 0, hi is not looked at. Then
 *   out[d][h][w] = sum over i, j, k in {lo, hi} of weight_d(i) * weight_h(j) * weight_w(k) * in[i][j][k],
 * separably: up to four rows of the input are added up, each times the weights of d and h, and the sum is
 * interpolated along w. All weights are at most 1: relative error at most 6 * 2^-24 of the sum of magnitudes.
 * doubles: along w the image is doubled with half-pixel centres: out[2w-1] = 3/4 x[w-1] + 1/4 x[w], out[2w] = 1/4
 * x[w-1] + 3/4 x[w], the first and the last point copied; the table of w is not looked at, and a row is made in
 * registers, twice as fast as by tables (doc/notes/2026-11-21-memory-bound-kernels.md). Else `scratch` holds a sum of rows:
 * pz_resize_scratch floats, a worker's own, aligned to the vector. stream: `out` is written past the caches (for
 * results that the caches cannot hold). Unit of work: a row of `out`. Nearest neighbours are pz_gather_points's
 * (kernels/gather/points.h). */
#ifndef PZ_KERNELS_RESIZE_RESIZE_H
#define PZ_KERNELS_RESIZE_RESIZE_H

#include "kernels/rows.h"
#include "kernels/vec.h"

#define PZ_RESIZE_LINEAR_FIELDS(ONE, MANY)                                                                   \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, stream)                                                                                           \
  ONE(int, doubles)
typedef struct pz_resize_linear_shape {
  PZ_RESIZE_LINEAR_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_resize_linear_shape;

static inline int64_t pz_resize_scratch(const pz_view *in) { return (int64_t)in->w * in->block; }

typedef struct pz_resize_taps {
  int32_t lo, hi;
  float weight_lo, weight_hi;
} pz_resize_taps;

PZ_INLINE pz_resize_taps pz_resize_at(const float *table, int32_t size, int32_t i) {
  pz_resize_taps t = {.weight_lo = table[2 * (int64_t)size + i], .weight_hi = table[3 * (int64_t)size + i]};
  memcpy(&t.lo, table + i, sizeof t.lo);
  memcpy(&t.hi, table + size + i, sizeof t.hi);
  return t;
}

/* Up to four rows of the input and what they are multiplied with before they are added up. */
typedef struct pz_resize_rows {
  const float *row[4];
  pz_v weight[4];
  int32_t count; /* 1: as it is; 2, 4 */
} pz_resize_rows;

PZ_INLINE pz_v pz_resize_mix(const pz_resize_rows *r, int32_t count, int64_t at) {
  pz_v x = pz_v_load(r->row[0] + at);
  if (count == 1) return x;
  x = pz_v_fma(pz_v_load(r->row[1] + at), r->weight[1], x * r->weight[0]);
  if (count == 2) return x;
  x = pz_v_fma(pz_v_load(r->row[2] + at), r->weight[2], x);
  return pz_v_fma(pz_v_load(r->row[3] + at), r->weight[3], x);
}

PZ_INLINE void pz_resize_put(const pz_resize_linear_shape *s, float *out, pz_v x) {
  if (s->stream) pz_v_stream(out, x);
  else pz_v_store(out, x);
}

/* Between x and its neighbour y. A weight of 0 is no product, so that infinities stay where they are. */
PZ_INLINE pz_v pz_resize_between(pz_v x, pz_v y, float weight_x, float weight_y) {
  return pz_v_fma(y, pz_v_set1(weight_y), x * pz_v_set1(weight_x));
}

/* Any positions along w; rows that are combined are so in scratch. */
PZ_INLINE void pz_resize_row(const pz_resize_linear_shape *s, const pz_resize_rows *r, int32_t count,
                             const float *table, float *scratch, float *out) {
  const float *row = count == 1 ? r->row[0] : scratch;
  const int64_t stride = count == 1 ? s->in.stride_w : PZ_S;
  for (int32_t w = 0; w < s->in.w && count > 1; ++w)
    pz_v_store(scratch + (int64_t)w * PZ_S, pz_resize_mix(r, count, w * s->in.stride_w));
  for (int32_t w = 0; w < s->out.w; ++w) {
    const pz_resize_taps t = pz_resize_at(table, s->out.w, w);
    pz_v x = pz_v_load(row + t.lo * stride);
    if (t.weight_hi != 0.0f)
      x = pz_resize_between(x, pz_v_load(row + t.hi * stride), t.weight_lo, t.weight_hi);
    pz_resize_put(s, out + w * s->out.stride_w, x);
  }
}

/* The common case, whole in registers. */
PZ_INLINE void pz_resize_doubled(const pz_resize_linear_shape *s, const pz_resize_rows *r, int32_t count,
                                 float *out) {
  pz_v x = pz_resize_mix(r, count, 0);
  pz_resize_put(s, out, x);
  for (int32_t w = 1; w < s->in.w; ++w) {
    const pz_v y = pz_resize_mix(r, count, w * s->in.stride_w);
    pz_resize_put(s, out + (2 * w - 1) * s->out.stride_w, pz_resize_between(x, y, 0.75f, 0.25f));
    pz_resize_put(s, out + 2 * w * s->out.stride_w, pz_resize_between(x, y, 0.25f, 0.75f));
    x = y;
  }
  pz_resize_put(s, out + (s->out.w - 1) * s->out.stride_w, x);
}

/* The rows of the input, of which `corner` is the first, that a row of `out` is between. */
PZ_INLINE pz_resize_rows pz_resize_rows_of(const pz_view *in, const float *corner, pz_resize_taps d,
                                           pz_resize_taps h) {
  const int along_d = d.weight_hi != 0.0f, along_h = h.weight_hi != 0.0f;
  const float *lo = corner + d.lo * in->stride_d, *hi = corner + d.hi * in->stride_d;
  pz_resize_rows r = {.row = {lo + h.lo * in->stride_h}, .count = 1};
  if (along_d && along_h) {
    r.row[1] = lo + h.hi * in->stride_h, r.row[2] = hi + h.lo * in->stride_h,
    r.row[3] = hi + h.hi * in->stride_h;
    r.weight[0] = pz_v_set1(d.weight_lo * h.weight_lo), r.weight[1] = pz_v_set1(d.weight_lo * h.weight_hi);
    r.weight[2] = pz_v_set1(d.weight_hi * h.weight_lo), r.weight[3] = pz_v_set1(d.weight_hi * h.weight_hi);
    r.count = 4;
  } else if (along_d || along_h) {
    r.row[1] = along_d ? hi + h.lo * in->stride_h : lo + h.hi * in->stride_h;
    r.weight[0] = pz_v_set1(along_d ? d.weight_lo : h.weight_lo);
    r.weight[1] = pz_v_set1(along_d ? d.weight_hi : h.weight_hi);
    r.count = 2;
  }
  return r;
}

/* count: r->count as a constant. */
PZ_INLINE void pz_resize_line(const pz_resize_linear_shape *s, const pz_resize_rows *r, int32_t count,
                              const float *table, float *scratch, float *out) {
  if (s->doubles) pz_resize_doubled(s, r, count, out);
  else pz_resize_row(s, r, count, table, scratch, out);
}

PZ_INLINE void pz_resize_linear(const pz_resize_linear_shape s, const float *in, const float *tables,
                                float *scratch, float *out, int32_t worker, int32_t workers) {
  const float *table_h = tables + 4 * (int64_t)s.out.d, *table_w = table_h + 4 * (int64_t)s.out.h;
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const pz_resize_taps d = pz_resize_at(tables, s.out.d, row.d), h = pz_resize_at(table_h, s.out.h, row.h);
    const pz_resize_rows r =
        pz_resize_rows_of(&s.in, in + row.n * s.in.stride_n + row.b * s.in.stride_c, d, h);
    float *to = out + pz_row_offset(&s.out, row);
    if (r.count == 4) pz_resize_line(&s, &r, 4, table_w, scratch, to);
    else if (r.count == 2) pz_resize_line(&s, &r, 2, table_w, scratch, to);
    else pz_resize_line(&s, &r, 1, table_w, scratch, to);
  }
  if (s.stream) pz_v_stream_end();
}

#endif
