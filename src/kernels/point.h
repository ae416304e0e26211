/* point.h: what a view holds of one block of channels at one point, as a vector: channels-last (view.h) or not. */
#ifndef PZ_KERNELS_POINT_H
#define PZ_KERNELS_POINT_H

#include "kernels/vec.h"

/* Channels of block b. */
PZ_INLINE int32_t pz_point_channels(const pz_view *v, int32_t b) {
  const int32_t rest = v->c - b * PZ_S;
  return rest < PZ_S ? rest : PZ_S;
}

/* p: the point in block b. Of a channels-last view lanes behind the last channel are zero, and are not stored. */
PZ_INLINE pz_v pz_point_load(const pz_view *v, int32_t b, const float *p) {
  return v->channels_last ? pz_v_load_lanes(p, 0, pz_point_channels(v, b)) : pz_v_load(p);
}
PZ_INLINE void pz_point_store(const pz_view *v, int32_t b, float *p, pz_v x) {
  if (v->channels_last) pz_v_store_lanes(p, x, 0, pz_point_channels(v, b));
  else pz_v_store(p, x);
}

#endif
