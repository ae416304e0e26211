/* view.h: a tensor in memory as kernels see it: constants, so that the C compiler specialises.
 *
 * NCHWc layout (PZnet 2.2): N x ceil(C/S) x D x H x W x S, S = PZ_S floats, the vector width; or NCHW layout
 * (block 1): N x C x D x H x W; strides may have another order (src/plan/inplace_conv.c). A pointer that goes with a view points
 * at element (0,0,0,0,0); the zero border around the spatial dimensions lies before and behind it, and what lies behind a row, a
 * plane or a block is in front of the next one (src/place/storage.c). Strides in floats, so
 * that a crop, a slice of channels at a multiple of the block, and every s-th point are views too.
 *
 * Channels-last layout: N x D x H x W x V, V >= C, the channels of a point side by side: NCHWc, with stride_c = S and stride_w = V, but
 * lanes behind the last channel are nobody's: they are neither read nor written (kernels/point.h), and vectors lie anywhere.
 *
 * Invariants of every stored tensor:
 *  - lanes of the last block behind the last channel ("padding lanes") are zero, where there are any;
 *  - the border is zero. Kernels write the inside; pz_border_zero (kernels/copy/border.h) writes the border,
 *    called by the generated code in the same step.
 * NCHWc tensors that own their memory are aligned to 64 bytes; every view's element is aligned to the vector, if it is not channels-last.
 */
#ifndef PZ_KERNELS_VIEW_H
#define PZ_KERNELS_VIEW_H

#include "kernels/fields.h"

#include <stdint.h>

/* n, c, d, h, w: sizes without border; c counts channels, not blocks; c = 0: there is no such tensor.
 * border_lo, border_hi: d, h, w: stored zero border that this view's step is to write. */
#define PZ_VIEW_FIELDS(ONE, MANY)                                                                            \
  ONE(size, n)                                                                                               \
  ONE(int, c)                                                                                                \
  ONE(size, d)                                                                                               \
  ONE(size, h)                                                                                               \
  ONE(int, w)                                                                                                \
  ONE(int, block) /* PZ_S or 1 */                                                                            \
  MANY(size, border_lo, 3)                                                                                   \
  MANY(size, border_hi, 3)                                                                                   \
  ONE(span, stride_n)                                                                                        \
  ONE(span, stride_c) /* from block to block */                                                              \
  ONE(span, stride_d)                                                                                        \
  ONE(long, stride_h)                                                                                        \
  ONE(long, stride_w) /* usually block */                                                                    \
  ONE(int, channels_last)
typedef struct pz_view {
  PZ_VIEW_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_view;
#define PZ_FIELD_view       pz_view
#define PZ_FIELD_sized_view pz_view

/* Splits `total` units of work into `workers` runs whose lengths differ by at most one. */
static inline void pz_share(int64_t total, int32_t worker, int32_t workers, int64_t *begin, int64_t *end) {
  *begin = total * worker / workers;
  *end = total * (worker + 1) / workers;
}

/* A build with sanitizers says `static inline` instead: instrumented copies of every tile take minutes to compile. */
#ifndef PZ_INLINE
#define PZ_INLINE static inline __attribute__((always_inline))
#endif

#endif
