/* detection_output.h: the end of a single-shot detector (SSD, Liu et al. 2016; Caffe's DetectionOutput): boxes are decoded from priors, of each class the
 * best candidates are taken, those that overlap a better one are suppressed, and the best of all classes are the result.
 *
 * Layouts: loc [images][priors][1 or classes][4], conf [images][priors][classes], priors [2][priors][4] or, coded, [priors][4], out
 * [images][keep][7], all dense; any address. scores, order [images][classes][most], boxes [images][classes][most][4] and counts [images][2][classes] are
 * the arena's.
 * pz_detection_select: unit of work: a class of an image. pz_detection_merge, after all: an image.
 *
 * A box is xmin, ymin, xmax, ymax. Of equal scores the lower prior comes first, and of classes the lower one. A candidate's score is greater than
 * `confidence`: a NaN is none. The overlap is the intersection over the union, 0 where they do not meet. */
#ifndef PZ_KERNELS_DETECTION_DETECTION_OUTPUT_H
#define PZ_KERNELS_DETECTION_DETECTION_OUTPUT_H

#include "kernels/elementary.h"
#include "kernels/fields.h"
#include "kernels/vec.h"
#include "kernels/view.h"

#define PZ_DETECTION_SELECT_FIELDS(ONE, MANY)                                                                \
  ONE(int, images)                                                                                           \
  ONE(int, priors)                                                                                           \
  ONE(int, classes)                                                                                          \
  ONE(int, background)                                                                                       \
  ONE(int, most)                                                                                             \
  ONE(int, keep)                                                                                             \
  ONE(int, per_class)                                                                                        \
  ONE(int, coded)                                                                                            \
  ONE(int, corners)                                                                                          \
  ONE(float, overlap)                                                                                        \
  ONE(float, confidence)
typedef struct pz_detection_select_shape {
  PZ_DETECTION_SELECT_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_detection_select_shape;
typedef pz_detection_select_shape pz_detection_merge_shape;

/* Whether candidate a with index i comes before b with k. */
PZ_INLINE int pz_detection_before(float a, int32_t i, float b, int32_t k) {
  return a > b || (!(a < b) && i < k);
}

/* A heap whose first entry comes after all others: puts an entry at `at` or below. */
PZ_INLINE void pz_detection_sink(float *score, int32_t *order, int32_t n, int32_t at, float s, int32_t o) {
  for (int32_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && pz_detection_before(score[child], order[child], score[child + 1], order[child + 1]))
      ++child;
    if (!pz_detection_before(s, o, score[child], order[child])) break;
    score[at] = score[child], order[at] = order[child];
  }
  score[at] = s, order[at] = o;
}

/* The best `most` of a class, the best first. Returns how many there are. */
PZ_INLINE int32_t pz_detection_best(const pz_detection_select_shape *s, const float *conf, float *score,
                                    int32_t *order) {
  int32_t n = 0;
  for (int32_t p = 0; p < s->priors; ++p) {
    const float v = conf[(int64_t)p * s->classes];
    if (!(v > s->confidence)) continue;
    if (n < s->most) {
      score[n] = v, order[n] = p;
      if (++n == s->most)
        for (int32_t i = n / 2 - 1; i >= 0; --i) pz_detection_sink(score, order, n, i, score[i], order[i]);
    } else if (v > score[0]) { /* equal ones come later, and after it */
      pz_detection_sink(score, order, n, 0, v, p);
    }
  }
  for (int32_t i = n / 2 - 1; n < s->most && i >= 0; --i)
    pz_detection_sink(score, order, n, i, score[i], order[i]);
  for (int32_t last = n - 1; last > 0; --last) {
    const float v = score[last];
    const int32_t o = order[last];
    score[last] = score[0], order[last] = order[0];
    pz_detection_sink(score, order, last, 0, v, o);
  }
  return n;
}

PZ_INLINE float pz_detection_exp(float x) { return pz_v_exp(pz_v_set1(x))[0]; }

PZ_INLINE void pz_detection_decode(const pz_detection_select_shape *s, const float *loc, const float *priors,
                                   int32_t p, float *box) {
  const float *prior = priors + (int64_t)p * 4;
  const float ones[4] = {1, 1, 1, 1}, *variance = s->coded ? ones : prior + (int64_t)s->priors * 4;
  if (s->corners) {
    for (int i = 0; i < 4; ++i) box[i] = prior[i] + variance[i] * loc[i];
    return;
  }
  for (int i = 0; i < 2; ++i) {
    const float size = prior[2 + i] - prior[i], centre = (prior[i] + prior[2 + i]) / 2;
    const float middle = variance[i] * loc[i] * size + centre,
                half = pz_detection_exp(variance[2 + i] * loc[2 + i]) * size / 2;
    box[i] = middle - half, box[2 + i] = middle + half;
  }
}

PZ_INLINE float pz_detection_area(const float *a) {
  return a[2] < a[0] || a[3] < a[1] ? 0 : (a[2] - a[0]) * (a[3] - a[1]);
}

PZ_INLINE float pz_detection_overlap(const float *a, const float *b) {
  const float w = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]),
              h = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);
  if (!(w > 0) || !(h > 0)) return 0;
  return w * h / (pz_detection_area(a) + pz_detection_area(b) - w * h);
}

/* Non-maximum suppression: what is kept moves to the front. */
PZ_INLINE int32_t pz_detection_suppress(const pz_detection_select_shape *s, const float *loc,
                                        const float *priors, int32_t n, float *score, int32_t *order,
                                        float *box) {
  const int64_t step = s->per_class ? 4 * (int64_t)s->classes : 4;
  int32_t kept = 0;
  for (int32_t i = 0; i < n && kept < s->keep; ++i) {
    float *now = box + (int64_t)kept * 4;
    int32_t k = 0;
    pz_detection_decode(s, loc + order[i] * step, priors, order[i], now);
    while (k < kept && pz_detection_overlap(now, box + (int64_t)k * 4) <= s->overlap) ++k;
    if (k == kept) score[kept] = score[i], order[kept++] = order[i];
  }
  return kept;
}

PZ_INLINE void pz_detection_select(const pz_detection_select_shape s, const float *loc, const float *conf,
                                   const float *priors, float *scores, int32_t *order, float *boxes,
                                   int32_t *counts, int32_t worker, int32_t workers) {
  int64_t begin, end;
  pz_share((int64_t)s.images * s.classes, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / s.classes, c = i % s.classes;
    const float *locations =
        loc + (image * s.priors * (s.per_class ? s.classes : 1) + (s.per_class ? c : 0)) * 4;
    int32_t *count = counts + (2 * image) * s.classes + c, n = 0;
    if (c != s.background)
      n = pz_detection_best(&s, conf + image * s.priors * s.classes + c, scores + i * s.most,
                            order + i * s.most);
    *count = pz_detection_suppress(&s, locations, priors, n, scores + i * s.most, order + i * s.most,
                                   boxes + i * s.most * 4);
  }
}

/* How many of each class are among the best of all: their lists are sorted. Returns how many in all. */
PZ_INLINE int32_t pz_detection_share_out(const pz_detection_select_shape *s, const float *score,
                                         const int32_t *count, int32_t *taken) {
  int32_t all = 0;
  for (int32_t c = 0; c < s->classes; ++c) taken[c] = 0;
  for (; all < s->keep; ++all) {
    int32_t best = -1;
    for (int32_t c = 0; c < s->classes; ++c)
      if (taken[c] < count[c] &&
          (best < 0 || score[(int64_t)c * s->most + taken[c]] > score[(int64_t)best * s->most + taken[best]]))
        best = c;
    if (best < 0) break;
    ++taken[best];
  }
  return all;
}

PZ_INLINE void pz_detection_merge(const pz_detection_merge_shape s, const float *scores, const float *boxes,
                                  int32_t *counts, float *out, int32_t worker, int32_t workers) {
  int64_t begin, end;
  pz_share(s.images, worker, workers, &begin, &end);
  for (int64_t image = begin; image < end; ++image) {
    const float *score = scores + image * s.classes * s.most, *box = boxes + image * s.classes * s.most * 4;
    int32_t *count = counts + 2 * image * s.classes, *taken = count + s.classes;
    float *row = out + image * s.keep * 7, *last = row + (int64_t)s.keep * 7;
    pz_detection_share_out(&s, score, count, taken);
    for (int32_t c = 0; c < s.classes; ++c)
      for (int32_t k = 0; k < taken[c]; ++k, row += 7) {
        const int64_t at = (int64_t)c * s.most + k;
        row[0] = (float)image, row[1] = (float)c, row[2] = score[at];
        for (int i = 0; i < 4; ++i) row[3 + i] = box[at * 4 + i];
      }
    for (; row < last; row += 7) {
      row[0] = -1;
      for (int i = 1; i < 7; ++i) row[i] = 0;
    }
  }
}

#endif
