/* scale.h: out = x*gamma + beta; batch normalisation and bias are lowered to it.
 *
 * pz_scale: gamma and beta are constants of a channel, packed: a float for each lane of each block, aligned to the vector;
 * either may be absent (has_gamma, has_beta; its pointer is not used).
 * pz_scale_by: gamma and beta are computed tensors, broadcast over the dimensions in which their view's stride is 0.
 * Their view has the sizes of x or anything in broadcast dimensions (sizes are not used), c = 0 where absent, and is
 *   NCHWc (block S), one vector for each point, or
 *   of block 1: element (n, c, d, h, w) at n*stride_n + c*stride_c + d*stride_d + h*stride_h + w*stride_w, at any
 *   address. With stride_c = 0 it is one number for all channels (a splat for each point); else S numbers are gathered one
 *   by one, once for each row where stride_w = 0, and otherwise for each point (a scalar loop: convert gamma to the
 *   NCHWc layout first where that matters).
 *
 * Layouts: `in` and `out` NCHWc, same sizes, any strides; out may be in (same pointer and strides) but overlaps neither
 * gamma nor beta. Reads and writes the inside; padding lanes of `out` become zero. One fused multiply-add where the
 * instruction set has it: error 2^-24 of the result (else of the product and of the result). Unit of work: a row. */
#ifndef PZ_KERNELS_POINTWISE_SCALE_H
#define PZ_KERNELS_POINTWISE_SCALE_H

#include "kernels/rows.h"
#include "kernels/vec.h"

#define PZ_SCALE_FIELDS(ONE, MANY)                                                                           \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, has_gamma)                                                                                        \
  ONE(int, has_beta)
typedef struct pz_scale_shape {
  PZ_SCALE_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_scale_shape;

#define PZ_SCALE_BY_FIELDS(ONE, MANY)                                                                        \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(view, gamma)                                                                                           \
  ONE(view, beta)
typedef struct pz_scale_by_shape {
  PZ_SCALE_BY_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_scale_by_shape;

PZ_INLINE pz_v pz_scale_point(int has_gamma, int has_beta, pz_v x, pz_v gamma, pz_v beta) {
  if (!has_gamma) return has_beta ? x + beta : x;
  return has_beta ? pz_v_fma(x, gamma, beta) : x * gamma;
}

PZ_INLINE void pz_scale(const pz_scale_shape s, const float *in, const float *gamma, const float *beta,
                        float *out, int32_t worker, int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + pz_row_offset(&s.out, row);
    int32_t channels = pz_block_channels(&s.out, row.b);
    pz_v factor = s.has_gamma ? pz_v_load(gamma + row.b * PZ_S) : pz_v_zero();
    pz_v term = s.has_beta ? pz_v_load(beta + row.b * PZ_S) : pz_v_zero();
    for (int32_t w = 0; w < s.out.w; ++w) {
      pz_v x = pz_scale_point(s.has_gamma, s.has_beta, pz_v_load(from + w * s.in.stride_w), factor, term);
      pz_v_store(to + w * s.out.stride_w, pz_v_first(x, channels));
    }
  }
}

/* The first element of gamma or beta that a row needs. */
PZ_INLINE const float *pz_scale_by_row(const pz_view *v, const float *p, pz_row row) {
  int64_t c = v->block == PZ_S ? row.b : (int64_t)row.b * PZ_S;
  return p + row.n * v->stride_n + c * v->stride_c + row.d * v->stride_d + row.h * v->stride_h;
}

PZ_INLINE pz_v pz_scale_by_load(const pz_view *v, const float *p, int32_t channels) {
  if (v->block == PZ_S) return pz_v_load(p);
  if (v->stride_c == 0) return pz_v_set1(*p);
  pz_v x = pz_v_zero();
  for (int32_t i = 0; i < channels; ++i) x[i] = p[i * v->stride_c];
  return x;
}

PZ_INLINE void pz_scale_by(const pz_scale_by_shape s, const float *in, const float *gamma, const float *beta,
                           float *out, int32_t worker, int32_t workers) {
  const int has_gamma = s.gamma.c > 0, has_beta = s.beta.c > 0;
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    const float *by = has_gamma ? pz_scale_by_row(&s.gamma, gamma, row) : in;
    const float *plus = has_beta ? pz_scale_by_row(&s.beta, beta, row) : in;
    float *to = out + pz_row_offset(&s.out, row);
    int32_t channels = pz_block_channels(&s.out, row.b);
    pz_v factor = has_gamma ? pz_scale_by_load(&s.gamma, by, channels) : pz_v_zero();
    pz_v term = has_beta ? pz_scale_by_load(&s.beta, plus, channels) : pz_v_zero();
    for (int32_t w = 0; w < s.out.w; ++w) {
      if (has_gamma && s.gamma.stride_w)
        factor = pz_scale_by_load(&s.gamma, by + w * s.gamma.stride_w, channels);
      if (has_beta && s.beta.stride_w) term = pz_scale_by_load(&s.beta, plus + w * s.beta.stride_w, channels);
      pz_v x = pz_scale_point(has_gamma, has_beta, pz_v_load(from + w * s.in.stride_w), factor, term);
      pz_v_store(to + w * s.out.stride_w, pz_v_first(x, channels));
    }
  }
}

#endif
