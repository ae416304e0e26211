/* solver.c: detections of a single-shot detector. */
#include "kernels/detection/detection_output.h"
#include "plan/solver.h"

enum { LOC, CONF, PRIORS };

static pz_detection_select_shape shape_of(const pz_query *q) {
  const pz_attr_detection_output *a = &q->problem->attr.detection_output;
  const pz_shape *conf = &q->problem->in[CONF].shape;
  const int64_t images = conf->dim[0], priors = pz_shape_elements(conf) / images / a->classes;
  return (pz_detection_select_shape){.images = (int32_t)images,
                                     .priors = (int32_t)priors,
                                     .classes = a->classes,
                                     .background = a->background,
                                     .most = a->top_k < 0 || a->top_k > priors ? (int32_t)priors : a->top_k,
                                     .keep = a->keep,
                                     .per_class = a->per_class,
                                     .coded = a->coded,
                                     .corners = a->corners,
                                     .overlap = a->overlap,
                                     .confidence = a->confidence};
}

typedef struct buffers {
  pz_pointer scores, order, boxes, counts;
} buffers;

static pz_status add_buffers(const pz_detection_select_shape *s, pz_builder *b, buffers *to, pz_error *err) {
  const int64_t lists = (int64_t)s->images * s->classes, n = lists * s->most;
  PZ_TRY(pz_add_buffer(b, PZ_F32, n, &to->scores, err));
  PZ_TRY(pz_add_buffer(b, PZ_I32, n, &to->order, err));
  PZ_TRY(pz_add_buffer(b, PZ_F32, 4 * n, &to->boxes, err));
  return pz_add_buffer(b, PZ_I32, 2 * lists, &to->counts, err);
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_detection_select_shape s = shape_of(q);
  const char *const header = "kernels/detection/detection_output.h";
  buffers at;
  PZ_TRY(add_buffers(&s, b, &at, err));
  const pz_arg select[] = {{.name = "loc", .at = placed->in[LOC].at},
                           {.name = "conf", .at = placed->in[CONF].at},
                           {.name = "priors", .at = placed->in[PRIORS].at},
                           {.name = "scores", .written = true, .at = at.scores},
                           {.name = "order", .written = true, .at = at.order, .type = PZ_I32},
                           {.name = "boxes", .written = true, .at = at.boxes},
                           {.name = "counts", .written = true, .at = at.counts, .type = PZ_I32}};
  const pz_arg merge[] = {{.name = "scores", .at = at.scores},
                          {.name = "boxes", .at = at.boxes},
                          {.name = "counts", .written = true, .at = at.counts, .type = PZ_I32},
                          {.name = "out", .written = true, .at = placed->out[0].at}};
  pz_text first = {0}, second = {0};
  pz_text_detection_select(&first, &s), pz_text_detection_select(&second, &s);
  const pz_status status = pz_add_call(b, header, "pz_detection_select", &first, select, 7, err);
  if (status != PZ_OK) {
    pz_text_free(&second);
    return status;
  }
  PZ_TRY(pz_add_call(b, header, "pz_detection_merge", &second, merge, 4, err));
  pz_call_after_all(b);
  return PZ_OK;
}

const pz_solver pz_solver_detection_output = {.name = "best of each class, suppressed where they overlap",
                                              .op = PZ_OP_DETECTION_OUTPUT,
                                              .in = PZ_NCHW,
                                              .out = PZ_NCHW,
                                              .emit = build};
