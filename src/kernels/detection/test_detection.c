/* Against the definition with whole lists, to the bit: scores and boxes are multiples of small powers of two, and boxes of corners are exact. Boxes of centre and
 * size round a few times: 2e-6 of (1 + |want|), with scores that differ and no overlap near the bound. */
#include "kernels/detection/detection_output.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 300, MOST_PRIORS = 40, MOST_CLASSES = 5 };

typedef struct entry {
  double score, box[4];
  int32_t class, prior, dropped;
} entry;

static void decode(const pz_detection_select_shape *s, const float *loc, const float *priors, int32_t p,
                   double box[4]) {
  const float *prior = priors + 4 * p, *variance = prior + 4 * s->priors;
  double v[4];
  for (int i = 0; i < 4; i++) v[i] = (double)loc[i] * (s->coded ? 1 : (double)variance[i]);
  for (int i = 0; i < 4; i++) box[i] = (double)prior[i] + v[i];
  if (s->corners) return;
  for (int i = 0; i < 2; i++) {
    const double size = (double)prior[2 + i] - (double)prior[i];
    const double middle = v[i] * size + ((double)prior[i] + (double)prior[2 + i]) / 2;
    box[i] = middle - exp(v[2 + i]) * size / 2, box[2 + i] = middle + exp(v[2 + i]) * size / 2;
  }
}

static double area(const double *a) { return a[2] < a[0] || a[3] < a[1] ? 0 : (a[2] - a[0]) * (a[3] - a[1]); }
static double overlap(const double *a, const double *b) {
  const double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
  return w > 0 && h > 0 ? w * h / (area(a) + area(b) - w * h) : 0;
}

static int by_score(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
  if (x->class != y->class) return x->class < y->class ? -1 : 1;
  return x->prior < y->prior ? -1 : 1;
}
static int by_class(const void *a, const void *b) {
  const entry *x = a, *y = b;
  return x->class != y->class ? (x->class < y->class ? -1 : 1) : by_score(a, b);
}

/* The candidates of a class, in order; those that are suppressed are dropped. */
static int32_t list_class(const pz_detection_select_shape *s, const float *loc, const float *conf,
                          const float *priors, int32_t c, entry *list) {
  int32_t n = 0;
  for (int32_t p = 0; p < s->priors; p++) {
    const float v = conf[p * s->classes + c];
    if (!(v > s->confidence)) continue;
    list[n] = (entry){.score = (double)v, .class = c, .prior = p};
    decode(s, loc + 4 * (s->per_class ? p * s->classes + c : p), priors, p, list[n++].box);
  }
  qsort(list, (size_t)n, sizeof *list, by_score);
  if (n > s->most) n = s->most;
  int32_t kept = 0;
  for (int32_t i = 0; i < n; i++) {
    bool free = true;
    for (int32_t k = 0; k < kept; k++) free = free && overlap(list[i].box, list[k].box) <= (double)s->overlap;
    if (free) list[kept++] = list[i];
  }
  return kept;
}

static int32_t expected(const pz_detection_select_shape *s, const float *loc, const float *conf,
                        const float *priors, entry *list) {
  int32_t n = 0;
  for (int32_t c = 0; c < s->classes; c++)
    if (c != s->background) n += list_class(s, loc, conf, priors, c, list + n);
  qsort(list, (size_t)n, sizeof *list, by_score);
  if (n > s->keep) n = s->keep;
  qsort(list, (size_t)n, sizeof *list, by_class);
  return n;
}

static void run(const pz_detection_select_shape *s, const float *loc, const float *conf, const float *priors,
                float *out, int32_t workers) {
  const size_t lists = (size_t)(s->images * s->classes), n = lists * (size_t)s->most;
  float *scores = malloc(n * sizeof *scores), *boxes = malloc(4 * n * sizeof *boxes);
  int32_t *order = malloc(n * sizeof *order), *counts = malloc(2 * lists * sizeof *counts);
  for (int32_t w = 0; w < workers; w++)
    pz_detection_select(*s, loc, conf, priors, scores, order, boxes, counts, w, workers);
  for (int32_t w = 0; w < workers; w++) pz_detection_merge(*s, scores, boxes, counts, out, w, workers);
  free(scores), free(boxes), free(order), free(counts);
}

static void check_rows(const pz_detection_select_shape *s, int32_t image, const entry *list, int32_t n,
                       const float *row) {
  for (int32_t i = 0; i < s->keep; i++, row += 7) {
    assert_true(row[0] == (i < n ? (float)image : -1));
    for (int k = 1; k < 7 && i >= n; k++) assert_true(row[k] == 0);
    if (i >= n) continue;
    assert_true(row[1] == (float)list[i].class && (double)row[2] == list[i].score);
    for (int k = 0; k < 4; k++) assert_true(pz_test_near(row[3 + k], list[i].box[k], s->corners ? 0 : 2e-6));
  }
}

/* Multiples of 1/16, or anything. */
static void fill(pz_test_random *r, float *data, int64_t n, bool exact, float low, float high) {
  for (int64_t i = 0; i < n; ++i)
    data[i] = exact ? (float)pz_test_int(r, (int32_t)(16 * low), (int32_t)(16 * high)) / 16
                    : pz_test_float(r, low, high);
}

static void check(pz_test_random *r, const pz_detection_select_shape *s, int round) {
  const int64_t boxes = s->per_class ? s->priors * s->classes : s->priors;
  pz_test_memory loc = pz_test_alloc(s->images * boxes * 4, round % 2),
                 conf = pz_test_alloc(s->images * s->priors * s->classes, round % 3 == 0),
                 priors = pz_test_alloc(s->priors * (s->coded ? 4 : 8), false),
                 out = pz_test_alloc(s->images * s->keep * 7, round % 5 == 0),
                 again = pz_test_alloc(s->images * s->keep * 7, false);
  static entry list[MOST_PRIORS * MOST_CLASSES];
  fill(r, loc.data, s->images * boxes * 4, s->corners, -1, 1);
  fill(r, conf.data, s->images * s->priors * s->classes, s->corners, 0, 1);
  if (round % 4 == 0) conf.data[pz_test_int(r, 0, s->priors * s->classes - 1)] = NAN;
  for (int32_t p = 0; p < s->priors; p++)
    for (int i = 0; i < 4; i++)
      priors.data[4 * p + i] =
          (float)pz_test_int(r, 0, 32) / 16 + (float)(i / 2 * pz_test_int(r, 8, 32)) / 16;
  for (int64_t i = 4 * s->priors; i < s->priors * (s->coded ? 4 : 8); i++)
    priors.data[i] = i % 4 < 2 ? 0.5f : 0.25f;
  run(s, loc.data, conf.data, priors.data, out.data, 1);
  run(s, loc.data, conf.data, priors.data, again.data, pz_test_int(r, 2, 7));
  assert_memory_equal(out.data, again.data, (size_t)(s->images * s->keep * 7) * sizeof(float));
  for (int32_t i = 0; i < s->images; i++) {
    const int32_t n =
        expected(s, loc.data + i * boxes * 4, conf.data + i * s->priors * s->classes, priors.data, list);
    check_rows(s, i, list, n, out.data + i * s->keep * 7);
  }
  pz_test_free(&loc), pz_test_free(&conf), pz_test_free(&priors), pz_test_free(&out), pz_test_free(&again);
}

static void test_detection_output(void **state) {
  (void)state;
  pz_test_random r = {53};
  for (int round = 0; round < ROUNDS; ++round) {
    const int32_t priors = pz_test_int(&r, 1, MOST_PRIORS), classes = pz_test_int(&r, 1, MOST_CLASSES);
    check(&r,
          &(pz_detection_select_shape){.images = pz_test_int(&r, 1, 3),
                                       .priors = priors,
                                       .classes = classes,
                                       .background = pz_test_int(&r, -1, classes - 1),
                                       .most = pz_test_int(&r, 1, priors),
                                       .keep = pz_test_int(&r, 1, 30),
                                       .per_class = pz_test_int(&r, 0, 1),
                                       .coded = pz_test_int(&r, 0, 1),
                                       .corners = pz_test_int(&r, 0, 2) > 0,
                                       .overlap = 0.37f,
                                       .confidence = pz_test_int(&r, 0, 1) ? 0.25f : -1},
          round);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_detection_output)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
