/* axes.h: a NCHW tensor's dimensions as axes with strides, for kernels that take any number of them. */
#ifndef PZ_PLAN_AXES_H
#define PZ_PLAN_AXES_H

#include "plan/solver.h"

/* Sizes, and strides in the input and in the output, in any order. */
typedef struct pz_axes {
  int32_t n;
  int64_t size[PZ_MAX_RANK], in[PZ_MAX_RANK], out[PZ_MAX_RANK];
} pz_axes;

/* Dimension `axis` of a tensor of that rank (at most 5), as an index in n, c, d, h, w. */
static inline int pz_axis5(int rank, int axis) { return axis < 2 ? axis : 5 - (rank - axis); }

/* The strides of the dimensions of a tensor that lies NCHW in `view`; of more than five dimensions it is one dense
 * row. */
void pz_nd_strides(const pz_shape *shape, const pz_view *view, int64_t stride[PZ_MAX_RANK]);
/* Puts the axes in the order of `out`, the last is contiguous there; leaves out those of one element; joins
 * neighbours that are one run on either side. One axis at least is left. */
void pz_axes_simplify(pz_axes *axes);
/* A tensor that lies NCHW and dense, without a border. */
pz_view pz_dense_view(const pz_shape *shape);
/* The tensor is too large for its reader to find it in the caches: it is written past them. */
bool pz_passes_caches(const pz_target *target, const pz_view *out);

#endif
