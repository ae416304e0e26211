/* infer_detection.c: the end of single-shot detectors. */
#include "graph/internal.h"

#define MOST_PRIORS (INT64_C(1) << 24)

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
