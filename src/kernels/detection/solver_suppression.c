/* solver_suppression.c: boxes of the greatest scores that do not overlap. */
#include "kernels/detection/non_max_suppression.h"
#include "plan/solver.h"

enum { BOXES, SCORES };

static pz_suppression_select_shape shape_of(const pz_query *q) {
  const pz_attr_non_max_suppression *a = &q->problem->attr.non_max_suppression;
  const pz_shape *scores = &q->problem->in[SCORES].shape;
  const int64_t n = scores->dim[2];
  return (pz_suppression_select_shape){.images = (int32_t)scores->dim[0],
                                       .classes = (int32_t)scores->dim[1],
                                       .n = (int32_t)n,
                                       .most = a->most < n ? a->most : (int32_t)n,
                                       .centre = a->centre,
                                       .overlap = a->overlap,
                                       .score = a->score};
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_suppression_select_shape s = shape_of(q);
  const char *const header = "kernels/detection/non_max_suppression.h";
  const int64_t lists = (int64_t)s.images * s.classes;
  const pz_pointer scratch = pz_add_scratch(b, PZ_F32, pz_suppression_scratch(&s));
  pz_pointer kept, counts;
  PZ_TRY(pz_add_buffer(b, PZ_I32, lists * s.most, &kept, err));
  PZ_TRY(pz_add_buffer(b, PZ_I32, lists, &counts, err));
  const pz_arg select[] = {{.name = "boxes", .at = placed->in[BOXES].at},
                           {.name = "scores", .at = placed->in[SCORES].at},
                           {.name = "scratch", .written = true, .at = scratch},
                           {.name = "kept", .written = true, .at = kept, .type = PZ_I32},
                           {.name = "counts", .written = true, .at = counts, .type = PZ_I32}};
  const pz_arg rows[] = {{.name = "kept", .at = kept, .type = PZ_I32},
                         {.name = "counts", .at = counts, .type = PZ_I32},
                         {.name = "out", .written = true, .at = placed->out[0].at}};
  pz_text first = {0}, second = {0};
  pz_text_suppression_select(&first, &s), pz_text_suppression_select(&second, &s);
  const pz_status status = pz_add_call(b, header, "pz_suppression_select", &first, select, 5, err);
  if (status != PZ_OK) {
    pz_text_free(&second);
    return status;
  }
  PZ_TRY(pz_add_call(b, header, "pz_suppression_rows", &second, rows, 3, err));
  pz_call_after_all(b);
  return PZ_OK;
}

const pz_solver pz_solver_non_max_suppression = {.name = "best of each class that do not overlap",
                                                 .op = PZ_OP_NON_MAX_SUPPRESSION,
                                                 .in = PZ_NCHW,
                                                 .out = PZ_NCHW,
                                                 .emit = build};
