/* non_max_suppression.c: the definition. What is kept of a class is the end of the list of the result so far. */
#include "reference/ops.h"
#include <math.h>

enum { ROW = 3 };

typedef struct suppressor {
  const pz_attr_non_max_suppression *a;
  const double *boxes, *score; /* of the image; of the class */
  int64_t n;                   /* boxes */
  double *kept;                /* rows of the class */
  int64_t used;
} suppressor;

static bool comes_before(double a, int64_t i, double b, int64_t k) { return a > b || (!(a < b) && i < k); }

static bool is_candidate(const suppressor *s, double score) {
  return isinf(s->a->score) && s->a->score < 0 ? !isnan(score) : score > (double)s->a->score;
}

/* The candidate behind `last` (-1: the first one), in the order of scores, then boxes; -1: there is none. */
static int64_t next_candidate(const suppressor *s, int64_t last) {
  int64_t best = -1;
  for (int64_t i = 0; i < s->n; i++) {
    if (!is_candidate(s, s->score[i])) continue;
    if (last >= 0 && !comes_before(s->score[last], last, s->score[i], i)) continue;
    if (best < 0 || comes_before(s->score[i], i, s->score[best], best)) best = i;
  }
  return best;
}

/* The lower and the upper end along axis 0 or 1. */
static void ends_of(const suppressor *s, int64_t box, int axis, double end[2]) {
  const double *b = s->boxes + 4 * box, near = b[axis], far = b[2 + axis];
  end[0] = s->a->centre ? near - far / 2 : near < far ? near : far;
  end[1] = s->a->centre ? near + far / 2 : near < far ? far : near;
}

static double overlap(const suppressor *s, int64_t p, int64_t q) {
  double both = 1, a = 1, b = 1;
  for (int axis = 0; axis < 2; axis++) {
    double x[2], y[2];
    ends_of(s, p, axis, x);
    ends_of(s, q, axis, y);
    both *= fmax(fmin(x[1], y[1]) - fmax(x[0], y[0]), 0);
    a *= x[1] - x[0];
    b *= y[1] - y[0];
  }
  return both > 0 && a > 0 && b > 0 ? both / (a + b - both) : 0;
}

static bool is_suppressed(const suppressor *s, int64_t box) {
  for (int64_t i = 0; i < s->used; i++)
    if (overlap(s, box, (int64_t)s->kept[i * ROW + 2]) > (double)s->a->overlap) return true;
  return false;
}

static void select_boxes(suppressor *s, int64_t image, int64_t class) {
  for (int64_t i = next_candidate(s, -1); i >= 0 && s->used < s->a->most; i = next_candidate(s, i)) {
    if (is_suppressed(s, i)) continue;
    double *row = s->kept + s->used++ * ROW;
    row[0] = (double)image, row[1] = (double)class, row[2] = (double)i;
  }
}

void pz_reference_NON_MAX_SUPPRESSION(const pz_reference_call *call) {
  const pz_shape *scores = reference_in_shape(call, 1);
  const int64_t classes = scores->dim[1], n = scores->dim[2], rows = reference_out_shape(call, 0)->dim[0];
  int64_t used = 0;
  for (int64_t i = 0; i < scores->dim[0] * classes && !pz_reference_stops(call); i++) {
    suppressor s = {.a = &call->node->attr.non_max_suppression,
                    .boxes = call->in[0] + i / classes * n * 4,
                    .score = call->in[1] + i * n,
                    .n = n,
                    .kept = call->out[0] + used * ROW};
    select_boxes(&s, i / classes, i % classes);
    used += s.used;
  }
  for (int64_t i = used * ROW; i < rows * ROW; i++) call->out[0][i] = -1;
}
