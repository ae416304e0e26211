/* detection.c: what single-shot detectors have (SSD, Liu et al. 2016): Normalize, PriorBox, DetectionOutput. Names, numbers and what they do are those of SSD's
 * branch of Caffe. */
#include "import/caffe/net.h"

#include <float.h>
#include <math.h>

/* ---- Normalize: x / sqrt(sum of x^2 + eps), times a scale; sums over channels, or over all of an image ---- */

static pz_status add_norm(pz_caffe *c, const Caffe__NormalizeParameter *p, pz_tensor_id *norm) {
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  pz_node square = pz_node_new(PZ_OP_POWER), sum = pz_node_new(PZ_OP_REDUCE), root = pz_node_new(PZ_OP_POWER);
  pz_tensor_id id = c->in[0];
  square.attr.power.power = 2;
  sum.attr.reduce.kind = PZ_REDUCE_SUM;
  for (int32_t i = 1; i < (p->across_spatial ? x->rank : 2); i++) sum.attr.reduce.axis[i] = true;
  root.attr.power = (pz_attr_power){.power = -0.5f, .scale = 1, .shift = p->eps};
  PZ_TRY(pz_caffe_emit_part(c, &square, "square", 1, &id, &id));
  PZ_TRY(pz_caffe_emit_part(c, &sum, "sum", 1, &id, &id));
  return pz_caffe_emit_part(c, &root, "norm", 1, &id, norm);
}

pz_status pz_caffe_layer_normalize(pz_caffe *c) {
  static const Caffe__NormalizeParameter none = CAFFE__NORMALIZE_PARAMETER__INIT;
  const Caffe__NormalizeParameter *p = c->p->norm_param ? c->p->norm_param : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  if (x->rank < 2) return pz_caffe_fail(c, "its bottom has no channels: expected at least N x C");
  if (!(p->eps >= 0) || !isfinite(p->eps))
    return pz_caffe_fail(c, "eps: %g, expected 0 or more", (double)p->eps);
  pz_caffe_weight weight = {0, "scale", {1, {x->dim[1]}}, p->scale_filler, 1, false};
  if (p->channel_shared) weight.shape = (pz_shape){0};
  pz_node product = pz_node_new(PZ_OP_ELTWISE), scale = pz_node_new(PZ_OP_SCALE);
  pz_tensor_id in[2] = {c->in[0]};
  PZ_TRY(pz_caffe_expect_blobs(c, 1));
  PZ_TRY(add_norm(c, p, &in[1]));
  product.attr.eltwise.kind = PZ_ELT_PROD;
  PZ_TRY(pz_caffe_emit_part(c, &product, "product", 2, in, &in[0]));
  PZ_TRY(pz_caffe_add_weight(c, &weight, &weight.shape, &in[1]));
  if (p->channel_shared) scale.attr.scale.axis = 0;
  return pz_caffe_emit(c, &scale, 2, in, 1);
}

/* ---- PriorBox: a constant, of the sizes of its bottoms ---- */

enum { MOST_RATIOS = 64, MOST_SIZES = 64 };

typedef struct priors {
  const Caffe__PriorBoxParameter *p;
  int64_t columns, rows;
  float width, height, step_x, step_y; /* of the image, between boxes */
  float ratio[MOST_RATIOS];
  int32_t ratios;
  float variance[4];
  float *to;
} priors;

static pz_status add_ratio(pz_caffe *c, priors *b, float ratio) {
  if (!(ratio > 0) || !isfinite(ratio))
    return pz_caffe_fail(c, "aspect_ratio: %g, expected a positive number", (double)ratio);
  if (b->ratios == MOST_RATIOS) return pz_caffe_fail(c, "has more than %d aspect ratios", MOST_RATIOS);
  b->ratio[b->ratios++] = ratio;
  return PZ_OK;
}

static bool has_ratio(const priors *b, float ratio) {
  for (int32_t i = 0; i < b->ratios; i++)
    if (fabsf(ratio - b->ratio[i]) < 1e-6f) return true;
  return fabsf(ratio - 1) < 1e-6f;
}

static pz_status read_ratios(pz_caffe *c, priors *b) {
  for (size_t i = 0; i < b->p->n_aspect_ratio; i++) {
    if (has_ratio(b, b->p->aspect_ratio[i])) continue;
    PZ_TRY(add_ratio(c, b, b->p->aspect_ratio[i]));
    if (b->p->flip) PZ_TRY(add_ratio(c, b, 1 / b->p->aspect_ratio[i]));
  }
  return PZ_OK;
}

/* Caffe takes whole numbers of the sizes. */
static pz_status check_sizes(pz_caffe *c, const Caffe__PriorBoxParameter *p) {
  const size_t n = p->n_min_size;
  if (!n || n > MOST_SIZES) return pz_caffe_fail(c, "has %zu min_size, expected 1 to %d", n, MOST_SIZES);
  if (p->n_max_size && p->n_max_size != n)
    return pz_caffe_fail(c, "has %zu max_size, expected as many as min_size, or none", p->n_max_size);
  for (size_t i = 0; i < n; i++) {
    if (!(p->min_size[i] > 0) || p->min_size[i] > 1e6f)
      return pz_caffe_fail(c, "min_size: %g, expected a positive size in pixels", (double)p->min_size[i]);
    if (p->n_max_size && (!(p->max_size[i] > p->min_size[i]) || p->max_size[i] > 1e6f))
      return pz_caffe_fail(c, "max_size: %g, expected more than its min_size, %g", (double)p->max_size[i],
                           (double)p->min_size[i]);
  }
  return PZ_OK;
}

static pz_status read_image(pz_caffe *c, priors *b) {
  const Caffe__PriorBoxParameter *p = b->p;
  const pz_shape *image = pz_caffe_in_shape(c, 1);
  const bool both = p->has_img_h && p->has_img_w;
  if (p->has_img_h != p->has_img_w || (both && p->has_img_size))
    return pz_caffe_fail(c, "give img_size, or img_h and img_w, or none of them");
  b->width = (float)(both ? p->img_w : p->has_img_size ? p->img_size : image->dim[3]);
  b->height = (float)(both ? p->img_h : p->has_img_size ? p->img_size : image->dim[2]);
  if (p->has_step_h != p->has_step_w || (p->has_step_h && p->has_step))
    return pz_caffe_fail(c, "give step, or step_h and step_w, or none of them");
  b->step_x = p->has_step_w ? p->step_w : p->has_step ? p->step : b->width / (float)b->columns;
  b->step_y = p->has_step_h ? p->step_h : p->has_step ? p->step : b->height / (float)b->rows;
  if (!(b->width > 0) || !(b->height > 0)) return pz_caffe_fail(c, "the image's size is 0");
  if (!(b->step_x > 0) || !(b->step_y > 0) || !isfinite(b->step_x) || !isfinite(b->step_y))
    return pz_caffe_fail(c, "step: expected a positive number of pixels");
  return isfinite(p->offset) ? PZ_OK : pz_caffe_fail(c, "offset: expected a number");
}

static pz_status read_variances(pz_caffe *c, priors *b) {
  const size_t n = b->p->n_variance;
  if (n > 1 && n != 4) return pz_caffe_fail(c, "has %zu variance, expected 1 or 4", n);
  for (size_t i = 0; i < 4; i++) {
    b->variance[i] = n == 4 ? b->p->variance[i] : n ? b->p->variance[0] : 0.1f;
    if (!(b->variance[i] > 0))
      return pz_caffe_fail(c, "variance: %g, expected a positive number", (double)b->variance[i]);
  }
  return PZ_OK;
}

static void put(priors *b, float x, float y, float width, float height) {
  const double box[4] = {((double)x - (double)width / 2) / (double)b->width,
                         ((double)y - (double)height / 2) / (double)b->height,
                         ((double)x + (double)width / 2) / (double)b->width,
                         ((double)y + (double)height / 2) / (double)b->height};
  for (int i = 0; i < 4; i++) *b->to++ = (float)(b->p->clip ? fmin(fmax(box[i], 0), 1) : box[i]);
}

/* Those of one point: of each size a square, a greater one where there is a max_size, and the ratios. */
static void put_point(priors *b, float x, float y) {
  for (size_t i = 0; i < b->p->n_min_size; i++) {
    const float least = truncf(b->p->min_size[i]);
    const float mean =
        b->p->n_max_size ? (float)sqrt((double)least * (double)truncf(b->p->max_size[i])) : least;
    put(b, x, y, least, least);
    if (b->p->n_max_size) put(b, x, y, mean, mean);
    for (int32_t r = 0; r < b->ratios; r++) {
      const double root = sqrt((double)b->ratio[r]);
      put(b, x, y, (float)((double)mean * root), (float)((double)mean / root));
    }
  }
}

static void put_all(priors *b, int64_t values) {
  float *variances = b->to + values;
  for (int64_t y = 0; y < b->rows; y++)
    for (int64_t x = 0; x < b->columns; x++)
      put_point(b, ((float)x + b->p->offset) * b->step_x, ((float)y + b->p->offset) * b->step_y);
  for (int64_t i = 0; i < values; i++) variances[i] = b->variance[i % 4];
}

pz_status pz_caffe_layer_prior_box(pz_caffe *c) {
  static const Caffe__PriorBoxParameter none = CAFFE__PRIOR_BOX_PARAMETER__INIT;
  priors b = {.p = c->p->prior_box_param ? c->p->prior_box_param : &none};
  const pz_shape *x = pz_caffe_in_shape(c, 0), *image = pz_caffe_in_shape(c, 1);
  if (x->rank != 4 || image->rank != 4)
    return pz_caffe_fail(c, "expected bottoms of 4 dimensions, N x C x H x W");
  b.rows = x->dim[2], b.columns = x->dim[3];
  PZ_TRY(check_sizes(c, b.p));
  PZ_TRY(read_ratios(c, &b));
  PZ_TRY(read_image(c, &b));
  PZ_TRY(read_variances(c, &b));
  const int64_t each = (int64_t)b.p->n_min_size * (1 + (b.p->n_max_size > 0) + b.ratios);
  int64_t values;
  if (!pz_mul_i64(b.rows * b.columns, 4 * each, &values) || values > PZ_MAX_DIM)
    return pz_caffe_fail(c, "has too many boxes");
  const char *name = pz_caffe_tensor_name(c, "priors");
  if (!name) return pz_fail_memory(c->err, "a name", 0);
  pz_tensor_id id;
  PZ_TRY(pz_graph_add_constant(c->graph, name, &(pz_shape){3, {1, 2, values}}, NULL, &id, c->err));
  b.to = pz_graph_constant_data(c->graph, id);
  put_all(&b, values);
  pz_node node = pz_node_new(PZ_OP_IDENTITY);
  return pz_caffe_emit(c, &node, 1, &id, 1);
}

/* ---- DetectionOutput ---- */

static pz_status read_detection(pz_caffe *c, const Caffe__DetectionOutputParameter *p,
                                pz_attr_detection_output *a) {
  static const Caffe__NonMaximumSuppressionParameter none = CAFFE__NON_MAXIMUM_SUPPRESSION_PARAMETER__INIT;
  const Caffe__NonMaximumSuppressionParameter *nms = p->nms_param ? p->nms_param : &none;
  if (nms->eta < 1 || nms->eta > 1)
    return pz_caffe_fail(c, "eta: %g is not supported, only 1", (double)nms->eta);
  if (p->code_type == CAFFE__PRIOR_BOX_PARAMETER__CODE_TYPE__CORNER_SIZE)
    return pz_caffe_fail(c, "code_type: CORNER_SIZE is not supported, only CORNER and CENTER_SIZE");
  if (!(nms->nms_threshold >= 0 && nms->nms_threshold <= 1))
    return pz_caffe_fail(c, "nms_threshold: %g, expected 0 to 1", (double)nms->nms_threshold);
  if (isnan(p->confidence_threshold)) return pz_caffe_fail(c, "confidence_threshold: nan, expected a number");
  PZ_TRY(pz_caffe_int32(c, "num_classes", p->num_classes, 1, &a->classes));
  a->background =
      p->background_label_id >= 0 && p->background_label_id < a->classes ? p->background_label_id : -1;
  a->top_k = nms->has_top_k && nms->top_k > 0 ? nms->top_k : -1;
  a->per_class = !p->share_location;
  a->coded = p->variance_encoded_in_target;
  a->corners = p->code_type == CAFFE__PRIOR_BOX_PARAMETER__CODE_TYPE__CORNER;
  a->overlap = nms->nms_threshold;
  a->confidence = p->has_confidence_threshold ? p->confidence_threshold : -FLT_MAX;
  if (p->keep_top_k < -1 || p->keep_top_k == 0)
    return pz_caffe_fail(c, "keep_top_k: %d, expected at least 1, or -1 for all", (int)p->keep_top_k);
  const pz_shape *conf = pz_caffe_in_shape(c, 1);
  const int64_t all = conf->rank > 0 ? pz_shape_elements(conf) / conf->dim[0] : 1;
  return pz_caffe_int32(c, "keep_top_k", p->keep_top_k > 0 ? p->keep_top_k : all, 1, &a->keep);
}

pz_status pz_caffe_layer_detection_output(pz_caffe *c) {
  static const Caffe__DetectionOutputParameter none = CAFFE__DETECTION_OUTPUT_PARAMETER__INIT;
  pz_node node = pz_node_new(PZ_OP_DETECTION_OUTPUT);
  PZ_TRY(read_detection(c, c->p->detection_output_param ? c->p->detection_output_param : &none,
                        &node.attr.detection_output));
  return pz_caffe_emit_simple(c, &node);
}
