/* test_norm_stats.h: statistics that a kernel has collected beside the moments of what it has made, in double precision: mean and
 * deviation within 5e-7 of the deviation, as moments.h promises. */
#ifndef PZ_KERNELS_NORM_TEST_GATHERED_H
#define PZ_KERNELS_NORM_TEST_GATHERED_H

#include "kernels/norm/moments.h"
#include "kernels/testing.h"

PZ_TEST_INLINE bool pz_test_moments(const float *norm_stats, int64_t units, int32_t lane, double count,
                                    double mean, double squares) {
  pz_norm_lanes all = pz_norm_load(norm_stats);
  for (int64_t i = 1; i < units; ++i) {
    const pz_norm_lanes unit = pz_norm_load(norm_stats + i * PZ_NORM_RECORD);
    pz_norm_join_lanes(&all, &unit);
  }
  const pz_norm_moments got = pz_norm_of_lanes(&all, lane, lane + 1);
  const double deviation = sqrt(squares / count), most = 5e-7 * deviation + 1e-12 * fabs(mean);
  const bool good = got.count == count && fabs(got.mean - mean) <= most &&
                    fabs(sqrt(got.squares / count) - deviation) <= most;
  if (!good)
    fprintf(stderr, "moments: %g points, mean %.9g, deviation %.9g; expected %g, %.9g, %.9g\n", got.count,
            got.mean, sqrt(got.squares / count), count, mean, deviation);
  return good;
}

/* Of each channel of each sample of `t`, whose statistics have `units` units a block; *phases* of points lie side by side along w. */
PZ_TEST_INLINE bool pz_test_norm_stats(const pz_test_tensor *t, const float *norm_stats, int64_t units,
                                       int32_t phases) {
  const pz_view *v = &t->view;
  bool good = true;
  for (int32_t n = 0; n < v->n; ++n)
    for (int32_t c = 0; c < v->c; ++c) {
      const double count = (double)v->d * v->h * v->w * phases;
      double mean = 0, squares = 0;
      for (int pass = 0; pass < 2; ++pass) {
        double sum = 0;
        for (int32_t i = 0; i < v->d * v->h * v->w * phases; ++i) {
          const int32_t at = i / phases;
          const float *x = pz_test_at(t, n, c, at / v->w / v->h, at / v->w % v->h, at % v->w);
          const double value = (double)x[i % phases * (v->stride_w / phases)] - mean;
          sum += pass ? value * value : value;
        }
        *(pass ? &squares : &mean) = pass ? sum : sum / count;
      }
      const int64_t block = (int64_t)n * pz_test_blocks(v) + c / PZ_S;
      good &=
          pz_test_moments(norm_stats + block * units * PZ_NORM_RECORD, units, c % PZ_S, count, mean, squares);
    }
  return good;
}

#endif
