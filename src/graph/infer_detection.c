/* infer_detection.c: the end of detectors. */
#include "graph/internal.h"

#define MOST_PRIORS (INT64_C(1) << 24) /* floats hold their numbers */

static pz_status check_attributes(const pz_node *node, pz_error *err) {
  const pz_attr_detection_output *a = &node->attr.detection_output;
  PZ_TRY(pz_infer_finite(node, "overlap", a->overlap, err));
  if (a->confidence != a->confidence) return pz_fail_node(err, node, "confidence is not a number");
  if (a->classes < 1) return pz_fail_node(err, node, "classes %d: must be at least 1", (int)a->classes);
  if (a->background < -1 || a->background >= a->classes)
    return pz_fail_node(err, node, "background %d: expected one of its %d classes, or -1", (int)a->background,
                        (int)a->classes);
  if (a->overlap < 0 || a->overlap > 1)
    return pz_fail_node(err, node, "overlap %g: expected 0 to 1", (double)a->overlap);
  if (a->top_k < -1 || a->top_k == 0)
    return pz_fail_node(err, node, "top_k %d: expected at least 1, or -1 for all", (int)a->top_k);
  return a->keep < 1 ? pz_fail_node(err, node, "keep %d: must be at least 1", (int)a->keep) : PZ_OK;
}

pz_status pz_infer_DETECTION_OUTPUT(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_detection_output *a = &node->attr.detection_output;
  const pz_shape *loc = &pz_in(g, node, 0)->shape, *conf = &pz_in(g, node, 1)->shape,
                 *priors = &pz_in(g, node, 2)->shape;
  PZ_TRY(check_attributes(node, err));
  if (loc->rank < 2 || conf->rank < 2 || loc->dim[0] != conf->dim[0])
    return pz_fail_node(err, node, "its locations are %s, its confidences %s: expected as many images",
                        PZ_SHAPE(loc), PZ_SHAPE(conf));
  const int64_t images = conf->dim[0], each = pz_shape_elements(conf) / images, n = each / a->classes,
                boxes = a->per_class ? each : n;
  if (each % a->classes || n > MOST_PRIORS)
    return pz_fail_node(err, node, "its confidences %s are not of %d classes", PZ_SHAPE(conf),
                        (int)a->classes);
  if (pz_shape_elements(loc) / images != 4 * boxes)
    return pz_fail_node(err, node,
                        "its locations %s are not 4 for each of %lld boxes, which its confidences are of",
                        PZ_SHAPE(loc), (long long)boxes);
  const int64_t values = pz_shape_elements(priors);
  if (values != 8 * n && !(a->coded && values == 4 * n))
    return pz_fail_node(err, node, "its priors %s are not 4 numbers and 4 variances for each of %lld boxes",
                        PZ_SHAPE(priors), (long long)n);
  *out = (pz_shape){4, {1, 1, images * a->keep, 7}};
  return PZ_OK;
}

/* ---- non_max_suppression ---- */

static pz_status check_thresholds(const pz_node *node, pz_error *err) {
  const pz_attr_non_max_suppression *a = &node->attr.non_max_suppression;
  if (a->most < 1) return pz_fail_node(err, node, "most %d: must be at least 1", (int)a->most);
  if (!(a->overlap >= 0 && a->overlap <= 1))
    return pz_fail_node(err, node, "overlap %g: expected 0 to 1", (double)a->overlap);
  return a->score != a->score ? pz_fail_node(err, node, "score is not a number") : PZ_OK;
}

pz_status pz_infer_NON_MAX_SUPPRESSION(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *boxes = &pz_in(g, node, 0)->shape, *scores = &pz_in(g, node, 1)->shape;
  PZ_TRY(check_thresholds(node, err));
  if (boxes->rank != 3 || boxes->dim[2] != 4)
    return pz_fail_node(err, node, "its boxes are %s, expected images x boxes x 4", PZ_SHAPE(boxes));
  if (scores->rank != 3 || scores->dim[0] != boxes->dim[0] || scores->dim[2] != boxes->dim[1])
    return pz_fail_node(
        err, node, "its scores are %s, expected %lld x classes x %lld for its boxes, which are %s",
        PZ_SHAPE(scores), (long long)boxes->dim[0], (long long)boxes->dim[1], PZ_SHAPE(boxes));
  for (int32_t i = 0; i < 3; i++)
    if (scores->dim[i] > MOST_PRIORS)
      return pz_fail_node(err, node, "its scores %s have more than 2^24 entries in a dimension",
                          PZ_SHAPE(scores));
  const int64_t most = node->attr.non_max_suppression.most, each = scores->dim[2];
  *out = (pz_shape){2, {scores->dim[0] * scores->dim[1], 3}}; /* 2^48 at most */
  if (!pz_mul_i64(out->dim[0], most < each ? most : each, &out->dim[0])) out->dim[0] = INT64_MAX;
  return PZ_OK;
}

pz_status pz_infer_GATHER_ROWS(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape, *index = &pz_in(g, node, 1)->shape;
  if (x->rank < 1) return pz_fail_node(err, node, "its input is a single number: it has no rows");
  if (x->dim[0] > MOST_PRIORS)
    return pz_fail_node(err, node, "its input %s has more than 2^24 rows", PZ_SHAPE(x));
  if (index->rank + x->rank - 1 > PZ_MAX_RANK)
    return pz_fail_node(err, node, "its result would have %d dimensions", (int)(index->rank + x->rank - 1));
  *out = *index;
  for (int32_t d = 1; d < x->rank; d++) out->dim[out->rank++] = x->dim[d];
  return PZ_OK;
}
