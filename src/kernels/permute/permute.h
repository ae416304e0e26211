/* permute.h: dimension i of `out` is dimension order[i] of `in`, dimensions being n, c, d, h, w.
 *
 * Layouts: both plain (block 1) with stride_w 1, other strides as they come, any address; they may not overlap. Reads
 * the inside of `in`, writes the inside of `out`. Where the last dimension stays, rows are copied. Else S x S tiles of
 * the two dimensions that are contiguous on either side are transposed in registers, along w of `out`, so that each
 * cache line of `out` is finished while it is in cache. Unit of work: a row of `out`, or S rows of it. Exact.
 * A reshape of a dense plain tensor needs no kernel: it is a view. */
#ifndef PZ_KERNELS_PERMUTE_PERMUTE_H
#define PZ_KERNELS_PERMUTE_PERMUTE_H

#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

typedef struct pz_permute_shape {
  pz_view in, out;
  int32_t order[5];
} pz_permute_shape;

/* Sizes of `out`, strides of `out` and of `in`, all in the order of the dimensions of `out`. */
typedef struct pz_permute_axes {
  int32_t size[5];
  int64_t in[5], out[5];
} pz_permute_axes;

PZ_INLINE pz_permute_axes pz_permute_plan(const pz_permute_shape *s) {
  const int64_t strides[5] = {s->in.stride_n, s->in.stride_c, s->in.stride_d, s->in.stride_h, s->in.stride_w};
  pz_permute_axes a = {
      {s->out.n, s->out.c, s->out.d, s->out.h, s->out.w},
      {0},
      {s->out.stride_n, s->out.stride_c, s->out.stride_d, s->out.stride_h, s->out.stride_w},
  };
  for (int i = 0; i < 5; ++i) a.in[i] = strides[s->order[i]];
  return a;
}

PZ_INLINE void pz_permute_copy(const pz_permute_axes *a, const float *in, float *out, int32_t worker,
                               int32_t workers) {
  int64_t begin, end;
  pz_share((int64_t)a->size[0] * a->size[1] * a->size[2] * a->size[3], worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    int64_t rest = i, from = 0, to = 0;
    for (int axis = 3; axis >= 0; rest /= a->size[axis], --axis)
      from += rest % a->size[axis] * a->in[axis], to += rest % a->size[axis] * a->out[axis];
    memcpy(out + to, in + from, (size_t)a->size[4] * sizeof *in);
  }
}

/* `across` points along the input's last dimension (stride_out apart in `out`), `along` points of a row of `out`
 * (stride_in apart in `in`); each at most S. whole: both are S. */
PZ_INLINE void pz_permute_tile(const float *in, float *out, int64_t stride_in, int64_t stride_out,
                               int32_t across, int32_t along, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) {
    const float *p = in + i * stride_in;
    tile[i] = whole ? pz_v_loadu(p) : i < along ? pz_load_some(p, across) : pz_v_zero();
  }
  pz_transpose(tile);
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i)
    if (whole) pz_v_storeu(out + i * stride_out, tile[i]);
    else if (i < across) pz_store_some(out + i * stride_out, tile[i], along);
}

/* across: the dimension of `out` that is the input's last one, not 4. */
PZ_INLINE void pz_permute_transpose(const pz_permute_axes *a, int across, const float *in, float *out,
                                    int32_t worker, int32_t workers) {
  int64_t begin, end, units = 1;
  int32_t counts[4];
  for (int i = 0; i < 4; ++i) {
    counts[i] = i == across ? (a->size[i] + PZ_S - 1) / PZ_S : a->size[i];
    units *= counts[i];
  }
  pz_share(units, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    int64_t rest = i, from = 0, to = 0, first = 0;
    for (int axis = 3; axis >= 0; rest /= counts[axis], --axis) {
      int64_t at = rest % counts[axis] * (axis == across ? PZ_S : 1);
      if (axis == across) first = at;
      from += at * a->in[axis], to += at * a->out[axis];
    }
    int32_t lanes = a->size[across] - first < PZ_S ? (int32_t)(a->size[across] - first) : PZ_S;
    for (int32_t w = 0; w < a->size[4]; w += PZ_S) {
      int32_t along = a->size[4] - w < PZ_S ? a->size[4] - w : PZ_S;
      if (lanes == PZ_S && along == PZ_S)
        pz_permute_tile(in + from + w * a->in[4], out + to + w, a->in[4], a->out[across], PZ_S, PZ_S, 1);
      else pz_permute_tile(in + from + w * a->in[4], out + to + w, a->in[4], a->out[across], lanes, along, 0);
    }
  }
}

PZ_INLINE void pz_permute(const pz_permute_shape s, const float *in, float *out, int32_t worker,
                          int32_t workers) {
  const pz_permute_axes a = pz_permute_plan(&s);
  int across = 0;
  while (s.order[across] != 4) ++across;
  if (across == 4) pz_permute_copy(&a, in, out, worker, workers);
  else pz_permute_transpose(&a, across, in, out, worker, workers);
}

#endif
