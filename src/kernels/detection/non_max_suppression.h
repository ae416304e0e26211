/* non_max_suppression.h: of each class the boxes of the greatest scores that do not overlap a better one (ONNX's NonMaxSuppression).
 *
 * Layouts: boxes [images][n][4], scores [images][classes][n], out [images * classes * most][3], all dense; any address. scratch: a
 * worker's, of pz_suppression_scratch floats: scores and boxes of a class, and as int32 numbers of boxes. kept [images][classes][most] and counts [images][classes] are the arena's.
 * pz_suppression_select: unit of work: a class of an image. pz_suppression_rows, after all: the same.
 *
 * A box is two opposite corners in any order or, with `centre`, its middle and its sizes. Of equal scores the lower box comes first, and a NaN is no
 * candidate. Intersection over union is computed in single precision and in the order of ONNX Runtime, so that bounds that are met exactly are decided
 * alike; it is 0 where a box has no area. A candidate is compared with S boxes that are kept at a time. */
#ifndef PZ_KERNELS_DETECTION_NON_MAX_SUPPRESSION_H
#define PZ_KERNELS_DETECTION_NON_MAX_SUPPRESSION_H

#include "kernels/detection/detection_output.h"

#define PZ_SUPPRESSION_SELECT_FIELDS(ONE, MANY)                                                              \
  ONE(int, images)                                                                                           \
  ONE(int, classes)                                                                                          \
  ONE(int, n)    /* boxes */                                                                                 \
  ONE(int, most) /* at most n */                                                                             \
  ONE(int, centre)                                                                                           \
  ONE(float, overlap)                                                                                        \
  ONE(float, score)
typedef struct pz_suppression_select_shape {
  PZ_SUPPRESSION_SELECT_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_suppression_select_shape;
typedef pz_suppression_select_shape pz_suppression_rows_shape;

/* Boxes that are kept, a vector of each of these for every S boxes: ends along both axes, and the area. */
enum { PZ_SUPPRESSION_PARTS = 5 };

/* For any S up to 16: who plans does not know it. */
PZ_INLINE int64_t pz_suppression_scratch(const pz_suppression_select_shape *s) {
  return 2 * (int64_t)s->n + ((int64_t)s->most + 15) / 16 * 16 * PZ_SUPPRESSION_PARTS;
}

/* A heap of all candidates whose best one is the first. Returns how many there are. */
PZ_INLINE void pz_suppression_sink(float *score, int32_t *order, int32_t n, int32_t at, float v, int32_t o) {
  for (int32_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && pz_detection_before(score[child + 1], order[child + 1], score[child], order[child]))
      ++child;
    if (!pz_detection_before(score[child], order[child], v, o)) break;
    score[at] = score[child], order[at] = order[child];
  }
  score[at] = v, order[at] = o;
}

PZ_INLINE int32_t pz_suppression_heap(const pz_suppression_select_shape *s, const float *scores, float *score,
                                      int32_t *order) {
  const int all = s->score < -__FLT_MAX__;
  int32_t n = 0;
  for (int32_t i = 0; i < s->n; ++i) {
    const float v = scores[i];
    if (all ? v == v : v > s->score) score[n] = v, order[n++] = i;
  }
  for (int32_t i = n / 2 - 1; i >= 0; --i) pz_suppression_sink(score, order, n, i, score[i], order[i]);
  return n;
}

/* Lower and upper ends along the first axis and the second, and the area. */
PZ_INLINE void pz_suppression_box(const pz_suppression_select_shape *s, const float *box,
                                  float part[PZ_SUPPRESSION_PARTS]) {
  for (int i = 0; i < 2; ++i) {
    const float near = box[i], far = box[2 + i], half = far / 2;
    part[2 * i] = s->centre ? near - half : near < far ? near : far;
    part[2 * i + 1] = s->centre ? near + half : near < far ? far : near;
  }
  part[4] = (part[3] - part[2]) * (part[1] - part[0]);
}

/* Whether a box overlaps one of the S at `kept` by too much. Lanes without a box have the area 0. */
PZ_INLINE int pz_suppression_meets(const pz_suppression_select_shape *s, const float *part,
                                   const float *kept) {
  pz_v side[2];
  for (int i = 0; i < 2; ++i) {
    const pz_v low = pz_v_loadu(kept + 2 * i * PZ_S), high = pz_v_loadu(kept + (2 * i + 1) * PZ_S);
    side[i] = pz_v_min(high, pz_v_set1(part[2 * i + 1])) - pz_v_max(low, pz_v_set1(part[2 * i]));
  }
  const pz_v zero = pz_v_zero(), both = side[1] * side[0], area = pz_v_loadu(kept + 4 * PZ_S),
             all = pz_v_set1(part[4]) + area - both;
  const pz_vi is = (pz_vi)(side[0] > zero) & (pz_vi)(side[1] > zero) & (pz_vi)(both > zero) &
                   (pz_vi)(area > zero) & (pz_vi)(pz_v_set1(part[4]) > zero) &
                   (pz_vi)(both / all > pz_v_set1(s->overlap));
  return pz_v_sum(pz_v_select(is, pz_v_set1(1), zero)) > 0;
}

/* What is kept: numbers of boxes to `to`. Returns how many. */
PZ_INLINE int32_t pz_suppression_keep(const pz_suppression_select_shape *s, const float *boxes, int32_t n,
                                      float *score, int32_t *order, float *kept, int32_t *to) {
  int32_t used = 0;
  for (; n > 0 && used < s->most; --n) {
    const int32_t best = order[0];
    float part[PZ_SUPPRESSION_PARTS];
    int meets = 0;
    if (n > 1) pz_suppression_sink(score, order, n - 1, 0, score[n - 1], order[n - 1]);
    pz_suppression_box(s, boxes + (int64_t)best * 4, part);
    for (int32_t i = 0; i < used && !meets; i += PZ_S)
      meets = pz_suppression_meets(s, part, kept + (int64_t)i * PZ_SUPPRESSION_PARTS);
    if (meets) continue;
    float *at = kept + (int64_t)(used / PZ_S * PZ_S) * PZ_SUPPRESSION_PARTS;
    if (used % PZ_S == 0) memset(at, 0, PZ_S * PZ_SUPPRESSION_PARTS * sizeof *at);
    for (int i = 0; i < PZ_SUPPRESSION_PARTS; ++i) at[i * PZ_S + used % PZ_S] = part[i];
    to[used++] = best;
  }
  return used;
}

PZ_INLINE void pz_suppression_select(const pz_suppression_select_shape s, const float *boxes,
                                     const float *scores, float *scratch, int32_t *kept, int32_t *counts,
                                     int32_t worker, int32_t workers) {
  int32_t *order = (int32_t *)(void *)scratch;
  float *score = scratch + s.n;
  int64_t begin, end;
  pz_share((int64_t)s.images * s.classes, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int32_t n = pz_suppression_heap(&s, scores + i * s.n, score, order);
    counts[i] = pz_suppression_keep(&s, boxes + i / s.classes * s.n * 4, n, score, order, score + s.n,
                                    kept + i * s.most);
  }
}

/* A list goes behind those before it. What is left of `out` is shared as the lists are. */
PZ_INLINE void pz_suppression_rows(const pz_suppression_rows_shape s, const int32_t *kept,
                                   const int32_t *counts, float *out, int32_t worker, int32_t workers) {
  const int64_t lists = (int64_t)s.images * s.classes;
  int64_t begin, end, used = 0, at = 0;
  pz_share(lists, worker, workers, &begin, &end);
  for (int64_t i = 0; i < lists; ++i) {
    if (i == begin) at = used;
    used += counts[i];
  }
  for (int64_t i = begin; i < end; ++i)
    for (int32_t k = 0; k < counts[i]; ++k, ++at) {
      float *row = out + at * 3;
      row[0] = (float)(i / s.classes), row[1] = (float)(i % s.classes), row[2] = (float)kept[i * s.most + k];
    }
  pz_share(lists * s.most - used, worker, workers, &begin, &end);
  for (int64_t i = 3 * (used + begin); i < 3 * (used + end); ++i) out[i] = -1;
}

#endif
