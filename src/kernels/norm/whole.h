/* whole.h: which normalisations are done group by group (pz_group_norm_whole). Plain C, for the compiler half. */
#ifndef PZ_KERNELS_NORM_WHOLE_H
#define PZ_KERNELS_NORM_WHOLE_H

#include "kernels/norm/shape.h"

/* A worker's share of the second-level cache, so that a span is read from memory once. */
#define PZ_NORM_WHOLE_BYTES (256 << 10)
/* So many spans keep workers busy; a tensor smaller than this is done before they have met. */
#define PZ_NORM_MANY_SPANS  8
#define PZ_NORM_SMALL_BYTES (64 << 10)

/* A worker does whole groups, without statistics of the whole tensor before. Strides and border of v do not matter. */
PZ_INLINE int pz_norm_is_whole(const pz_view *v, int32_t groups) {
  const int64_t span = pz_norm_span(v, groups);
  const double bytes = (double)span * v->d * v->h * v->w * v->block * 4,
               spans = span ? (double)v->n * pz_blocks(v) / span : 0;
  return span && bytes <= PZ_NORM_WHOLE_BYTES &&
         (spans >= PZ_NORM_MANY_SPANS || spans * bytes <= PZ_NORM_SMALL_BYTES);
}

#endif
