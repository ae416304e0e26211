/* test_normed.h: layers whose input a kernel normalises as it reads it. */
#ifndef PZ_KERNELS_NORM_TEST_NORMED_H
#define PZ_KERNELS_NORM_TEST_NORMED_H

#include "kernels/conv/test_frame.h"
#include "kernels/norm/shape.h"
#include "kernels/test_activation.h"

/* A kernel normalises as it reads, with what is set here: what it is given is not known but inside, and lies far from zero; the input becomes what comes
 * of it. raw: as the input lies; factors: those of norm/normed.h. */
typedef struct test_normed {
  int32_t *act;
  float *alpha;
  pz_test_memory *raw, *factors;
} test_normed;
PZ_TEST_INLINE void test_norm_input(test_layer *l, const test_normed *to, pz_test_random *r) {
  static const int acts[3] = {PZ_K_ACT_NONE, PZ_K_ACT_RELU, PZ_K_ACT_ELU};
  const pz_view *v = &l->o.in.view;
  const int32_t blocks = pz_blocks(v);
  *to->act = acts[pz_test_int(r, 0, 2)], *to->alpha = 0.25f;
  *to->raw = pz_test_alloc(l->o.in.memory.floats, false);
  *to->factors = pz_test_alloc(pz_norm_factor_floats(v), false);
  memset(to->factors->data, 0, (size_t)to->factors->floats * 4);
  for (int32_t n = 0; n < v->n; ++n)
    for (int32_t c = 0; c < v->c; ++c) {
      float *at = to->factors->data + ((int64_t)n * blocks + c / PZ_S) * PZ_NORM_VECTORS * PZ_S + c % PZ_S;
      at[PZ_NORM_CENTER * PZ_S] = pz_test_float(r, -8, 8);
      at[PZ_NORM_FACTOR * PZ_S] = pz_test_float(r, 0.2f, 0.7f);
      at[PZ_NORM_TERM * PZ_S] = pz_test_float(r, -0.3f, 0.3f);
    }
  PZ_TEST_EACH(*v, 0, blocks * PZ_S) {
    float *x = pz_test_at(&l->o.in, n, c, d, h, w), *raw = to->raw->data + (x - l->o.in.memory.data);
    const float *at =
        to->factors->data + ((int64_t)n * blocks + c / PZ_S) * PZ_NORM_VECTORS * PZ_S + c % PZ_S;
    *raw = c < v->c ? *x + at[PZ_NORM_CENTER * PZ_S] : 0;
    if (c < v->c)
      *x = (float)pz_test_activate(*to->act, 0.25, 0, 0,
                                   fma((double)(*raw - at[PZ_NORM_CENTER * PZ_S]),
                                       (double)at[PZ_NORM_FACTOR * PZ_S], (double)at[PZ_NORM_TERM * PZ_S]));
  }
}

#endif
