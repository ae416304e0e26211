/* axes.c: a NCHW tensor's dimensions as axes with strides. */
#include "plan/axes.h"

void pz_nd_strides(const pz_shape *shape, const pz_view *view, int64_t stride[PZ_MAX_RANK]) {
  const int64_t of5[5] = {view->stride_n, view->stride_c, view->stride_d, view->stride_h, view->stride_w};
  int64_t product = 1;
  for (int i = shape->rank - 1; i >= 0; product *= shape->dim[i], i--)
    stride[i] = shape->rank > 5 ? product : of5[pz_axis5(shape->rank, i)];
}

static void put(pz_axes *a, int32_t at, int64_t size, int64_t in, int64_t out) {
  a->size[at] = size, a->in[at] = in, a->out[at] = out;
}

static void sort(pz_axes *a) {
  for (int32_t i = 1; i < a->n; i++)
    for (int32_t k = i; k > 0 && a->out[k - 1] < a->out[k]; k--) {
      const int64_t size = a->size[k], in = a->in[k], out = a->out[k];
      put(a, k, a->size[k - 1], a->in[k - 1], a->out[k - 1]);
      put(a, k - 1, size, in, out);
    }
}

void pz_axes_simplify(pz_axes *a) {
  int32_t n = 0, kept = 0;
  for (int32_t i = 0; i < a->n; i++)
    if (a->size[i] > 1) put(a, n++, a->size[i], a->in[i], a->out[i]);
  a->n = n;
  sort(a);
  for (int32_t i = 0; i < n; i++) {
    const int64_t size = a->size[i];
    if (kept && a->in[kept - 1] == size * a->in[i] && a->out[kept - 1] == size * a->out[i] &&
        a->size[kept - 1] * size <= PZ_MAX_DIM)
      put(a, kept - 1, a->size[kept - 1] * size, a->in[i], a->out[i]);
    else put(a, kept++, size, a->in[i], a->out[i]);
  }
  if (!kept) put(a, kept++, 1, 1, 1);
  a->n = kept;
}

bool pz_passes_caches(const pz_target *target, const pz_view *v) {
  return 4 * v->n * pz_block_count(v->c, v->block) * v->block * v->d * v->h * v->w > target->caches.l3 / 2;
}

pz_view pz_dense_view(const pz_shape *shape) {
  const pz_shape5 s = pz_shape_as5(shape);
  return (pz_view){.n = (int32_t)s.n,
                   .c = (int32_t)s.c,
                   .d = (int32_t)s.s[0],
                   .h = (int32_t)s.s[1],
                   .w = (int32_t)s.s[2],
                   .block = 1,
                   .stride_n = s.c * s.s[0] * s.s[1] * s.s[2],
                   .stride_c = s.s[0] * s.s[1] * s.s[2],
                   .stride_d = s.s[1] * s.s[2],
                   .stride_h = s.s[2],
                   .stride_w = 1};
}
