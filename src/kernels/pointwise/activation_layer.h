/* activation_layer.h: out = activation(x), for activations that stand alone (those behind a convolution are fused into
 * it, PZnet 3.4).
 *
 * Layouts: `in` and `out` NCHWc, same sizes, any strides; out may be in (same pointer and strides). `slope` (PReLU
 * alone; else NULL): packed, a float for each lane of each block, aligned to the vector. Reads and writes the inside;
 * padding lanes of `out` become zero. Formulas and error: kernels/activation.h, kernels/vec.h. NaN gives NaN. Unit of
 * work: a row. */
#ifndef PZ_KERNELS_POINTWISE_ACTIVATION_LAYER_H
#define PZ_KERNELS_POINTWISE_ACTIVATION_LAYER_H

#include "kernels/activation.h"
#include "kernels/rows.h"

#define PZ_ACTIVATION_LAYER_FIELDS(ONE, MANY)                                                                \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, kind) /* pz_k_act */                                                                              \
  ONE(float, alpha)                                                                                          \
  ONE(float, beta)
typedef struct pz_activation_layer_shape {
  PZ_ACTIVATION_LAYER_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_activation_layer_shape;

PZ_INLINE void pz_activation_layer(const pz_activation_layer_shape s, const float *in, const float *slope,
                                   float *out, int32_t worker, int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + pz_row_offset(&s.out, row);
    int32_t channels = pz_block_channels(&s.out, row.b);
    pz_v slopes = s.kind == PZ_K_ACT_PRELU ? pz_v_load(slope + row.b * PZ_S) : pz_v_zero();
    for (int32_t w = 0; w < s.out.w; ++w) {
      pz_v x = pz_activate(s.kind, s.alpha, s.beta, slopes, pz_v_load(from + w * s.in.stride_w));
      pz_v_store(to + w * s.out.stride_w, pz_v_first(x, channels));
    }
  }
}

#endif
