/* detection_output.c: detections of a single-shot detector, by the definition. Rows of the result are the list of what is kept so far: of an image those of
 * all classes in the order of their scores, until it is done. What falls out of the list, or comes too late for it, cannot suppress what the
 * list will hold, for later candidates of its class are no better. */
#include "reference/ops.h"
#include <math.h>
#include <string.h>

enum { ROW = 7 };

typedef struct detector {
  const pz_attr_detection_output *a;
  const double *loc, *conf, *priors; /* of the image */
  int64_t n;                         /* priors */
  double *rows;
  int64_t used;
} detector;

static bool comes_before(double a, int64_t i, double b, int64_t k) { return a > b || (!(a < b) && i < k); }

/* The candidate behind `last` (-1: the first one), in the order of scores, then priors; -1: there is none. */
static int64_t next_candidate(const detector *d, int64_t c, int64_t last) {
  int64_t best = -1;
  for (int64_t p = 0; p < d->n; p++) {
    const double v = d->conf[p * d->a->classes + c];
    if (!(v > (double)d->a->confidence)) continue;
    if (last >= 0 && !comes_before(d->conf[last * d->a->classes + c], last, v, p)) continue;
    if (best < 0 || comes_before(v, p, d->conf[best * d->a->classes + c], best)) best = p;
  }
  return best;
}

static void decode(const detector *d, int64_t c, int64_t p, double box[4]) {
  const double *prior = d->priors + 4 * p, *variance = prior + 4 * d->n,
               *loc = d->loc + 4 * (d->a->per_class ? p * d->a->classes + c : p);
  double v[4];
  for (int i = 0; i < 4; i++) v[i] = loc[i] * (d->a->coded ? 1 : variance[i]);
  for (int i = 0; i < 4 && d->a->corners; i++) box[i] = prior[i] + v[i];
  for (int i = 0; i < 2 && !d->a->corners; i++) {
    const double size = prior[2 + i] - prior[i], middle = v[i] * size + (prior[i] + prior[2 + i]) / 2;
    box[i] = middle - exp(v[2 + i]) * size / 2;
    box[2 + i] = middle + exp(v[2 + i]) * size / 2;
  }
}

static double area(const double *a) { return a[2] < a[0] || a[3] < a[1] ? 0 : (a[2] - a[0]) * (a[3] - a[1]); }

static double overlap(const double *a, const double *b) {
  const double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  return w > 0 && h > 0 ? w * h / (area(a) + area(b) - w * h) : 0;
}

static bool is_suppressed(const detector *d, int64_t c, const double *box) {
  for (int64_t i = 0; i < d->used; i++) {
    const double *row = d->rows + i * ROW;
    if (row[1] == (double)c && !(overlap(box, row + 3) <= (double)d->a->overlap)) return true;
  }
  return false;
}

/* Behind all that are as good. False: there is no room for it. */
static bool insert(detector *d, const double row[ROW]) {
  int64_t at = d->used;
  while (at > 0 && d->rows[(at - 1) * ROW + 2] < row[2]) at--;
  if (at == d->a->keep) return false;
  if (d->used < d->a->keep) d->used++;
  memmove(d->rows + (at + 1) * ROW, d->rows + at * ROW, (size_t)(d->used - 1 - at) * ROW * sizeof *row);
  memcpy(d->rows + at * ROW, row, ROW * sizeof *row);
  return true;
}

static void detect_class(detector *d, int64_t image, int64_t c) {
  int64_t tried = 0;
  for (int64_t p = next_candidate(d, c, -1); p >= 0 && (d->a->top_k < 0 || tried < d->a->top_k); tried++) {
    double row[ROW] = {(double)image, (double)c, d->conf[p * d->a->classes + c]};
    decode(d, c, p, row + 3);
    if (!is_suppressed(d, c, row + 3) && !insert(d, row)) return;
    p = next_candidate(d, c, p);
  }
}

/* By class, and within one as they are. */
static void sort_by_class(detector *d) {
  for (int64_t i = 1; i < d->used; i++)
    for (int64_t k = i; k > 0 && d->rows[(k - 1) * ROW + 1] > d->rows[k * ROW + 1]; k--) {
      double row[ROW];
      memcpy(row, d->rows + k * ROW, sizeof row);
      memcpy(d->rows + k * ROW, d->rows + (k - 1) * ROW, sizeof row);
      memcpy(d->rows + (k - 1) * ROW, row, sizeof row);
    }
}

void pz_reference_DETECTION_OUTPUT(const pz_reference_call *call) {
  const pz_attr_detection_output *a = &call->node->attr.detection_output;
  const pz_shape *conf = reference_in_shape(call, 1);
  const int64_t images = conf->dim[0], n = pz_shape_elements(conf) / images / a->classes;
  for (int64_t image = 0; image < images && !pz_reference_stops(call); image++) {
    detector d = {.a = a,
                  .loc = call->in[0] + image * n * 4 * (a->per_class ? a->classes : 1),
                  .conf = call->in[1] + image * n * a->classes,
                  .priors = call->in[2],
                  .n = n,
                  .rows = call->out[0] + image * a->keep * ROW};
    for (int64_t i = 0; i < (int64_t)a->keep * ROW; i++) d.rows[i] = i % ROW ? 0 : -1;
    for (int64_t c = 0; c < a->classes; c++)
      if (c != a->background) detect_class(&d, image, c);
    sort_by_class(&d);
  }
}
