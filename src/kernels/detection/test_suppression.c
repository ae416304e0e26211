/* Against the definition with sorted lists, to the bit: coordinates are multiples of 1/8 below 32, so that sides, areas and their sums are exact in
 * single precision, and both divide once. Scores are few, so that many are equal; bounds are met exactly, since a quarter, a half and 1 are among the
 * overlaps. */
#include "kernels/detection/non_max_suppression.h"
#include "kernels/gather/gather_rows.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 400, MOST_BOXES = 70 };

typedef struct entry {
  double score;
  int32_t box;
} entry;

static int by_score(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
  return x->box < y->box ? -1 : 1;
}

/* xmin, ymin, xmax, ymax */
static void corners(const pz_suppression_select_shape *s, const float *box, double to[4]) {
  for (int i = 0; i < 2; i++) {
    const double a = (double)box[i], b = (double)box[2 + i];
    to[i] = s->centre ? a - b / 2 : fmin(a, b);
    to[2 + i] = s->centre ? a + b / 2 : fmax(a, b);
  }
}

static double area(const double *a) { return a[2] > a[0] && a[3] > a[1] ? (a[2] - a[0]) * (a[3] - a[1]) : 0; }

static bool overlaps(const pz_suppression_select_shape *s, const float *a, const float *b) {
  double p[4], q[4];
  corners(s, a, p), corners(s, b, q);
  const double w = fmin(p[2], q[2]) - fmax(p[0], q[0]), h = fmin(p[3], q[3]) - fmax(p[1], q[1]);
  if (!(w > 0 && h > 0 && area(p) > 0 && area(q) > 0)) return false;
  return (float)(w * h) / (float)(area(p) + area(q) - w * h) > s->overlap;
}

/* Numbers of the boxes of a class. */
static int32_t expected(const pz_suppression_select_shape *s, const float *boxes, const float *scores,
                        int32_t *kept) {
  entry list[MOST_BOXES];
  int32_t n = 0, used = 0;
  for (int32_t i = 0; i < s->n; i++)
    if (isinf(s->score) ? !isnan(scores[i]) : scores[i] > s->score) list[n++] = (entry){(double)scores[i], i};
  qsort(list, (size_t)n, sizeof *list, by_score);
  for (int32_t i = 0; i < n && used < s->most; i++) {
    bool free = true;
    for (int32_t k = 0; k < used; k++)
      free = free && !overlaps(s, boxes + 4 * list[i].box, boxes + 4 * kept[k]);
    if (free) kept[used++] = list[i].box;
  }
  return used;
}

static void run(const pz_suppression_select_shape *s, const float *boxes, const float *scores, float *out,
                int32_t workers) {
  const int32_t lists = s->images * s->classes;
  int32_t *kept = malloc((size_t)(lists * s->most) * sizeof *kept),
          *counts = malloc((size_t)lists * sizeof *counts);
  pz_test_memory scratch = pz_test_alloc(pz_suppression_scratch(s), false);
  for (int32_t w = 0; w < workers; w++)
    pz_suppression_select(*s, boxes, scores, scratch.data, kept, counts, w, workers);
  for (int32_t w = 0; w < workers; w++) pz_suppression_rows(*s, kept, counts, out, w, workers);
  pz_test_free(&scratch);
  free(kept), free(counts);
}

static void fill(pz_test_random *r, const pz_suppression_select_shape *s, float *boxes, float *scores,
                 int round) {
  for (int32_t i = 0; i < s->images * s->n * 4; i++) boxes[i] = (float)pz_test_int(r, 0, 80) / 8;
  for (int32_t i = 0; i < s->images * s->n; i++) {
    if (i && pz_test_int(r, 0, 3) == 0) memcpy(boxes + 4 * i, boxes + 4 * i - 4, 4 * sizeof *boxes);
    if (pz_test_int(r, 0, 5) == 0) boxes[4 * i + 2] = s->centre ? 0 : boxes[4 * i]; /* no area */
    if (s->centre && pz_test_int(r, 0, 5) == 0) boxes[4 * i + 3] = -boxes[4 * i + 3];
  }
  for (int32_t i = 0; i < s->images * s->classes * s->n; i++) scores[i] = (float)pz_test_int(r, 0, 12) / 16;
  if (round % 3) return;
  scores[pz_test_int(r, 0, s->n - 1)] = NAN;
  scores[pz_test_int(r, 0, s->n - 1)] = -INFINITY;
  boxes[pz_test_int(r, 0, 4 * s->n - 1)] = NAN;
}

static void check(pz_test_random *r, const pz_suppression_select_shape *s, int round) {
  const int32_t lists = s->images * s->classes, rows = lists * s->most;
  pz_test_memory boxes = pz_test_alloc(s->images * s->n * 4, round % 2),
                 scores = pz_test_alloc(lists * s->n, round % 3 == 0),
                 out = pz_test_alloc(rows * 3, round % 5 == 0), again = pz_test_alloc(rows * 3, false);
  const float *row = out.data;
  int32_t kept[MOST_BOXES], used = 0;
  fill(r, s, boxes.data, scores.data, round);
  run(s, boxes.data, scores.data, out.data, 1);
  run(s, boxes.data, scores.data, again.data, pz_test_int(r, 2, 7));
  assert_memory_equal(out.data, again.data, (size_t)(rows * 3) * sizeof(float));
  for (int32_t i = 0; i < lists; i++) {
    const int32_t n = expected(s, boxes.data + i / s->classes * s->n * 4, scores.data + i * s->n, kept);
    for (int32_t k = 0; k < n; k++, row += 3)
      assert_true(row[0] == (float)(i / s->classes) && row[1] == (float)(i % s->classes) &&
                  row[2] == (float)kept[k]);
    used += n;
  }
  for (int32_t i = 3 * used; i < 3 * rows; i++) assert_true(out.data[i] == -1);
  pz_test_free(&boxes), pz_test_free(&scores), pz_test_free(&out), pz_test_free(&again);
}

static void test_non_max_suppression(void **state) {
  (void)state;
  static const float overlaps_at[] = {0, 0.25f, 0.5f, 0.37f, 1}, scores_at[] = {0, 0.25f, 0.75f, 2};
  pz_test_random r = {59};
  for (int round = 0; round < ROUNDS; ++round) {
    const int32_t n = pz_test_int(&r, 1, MOST_BOXES);
    check(&r,
          &(pz_suppression_select_shape){.images = pz_test_int(&r, 1, 3),
                                         .classes = pz_test_int(&r, 1, 4),
                                         .n = n,
                                         .most = pz_test_int(&r, 1, n),
                                         .centre = pz_test_int(&r, 0, 1),
                                         .overlap = overlaps_at[pz_test_int(&r, 0, 4)],
                                         .score = pz_test_int(&r, 0, 1) ? scores_at[pz_test_int(&r, 0, 3)]
                                                                        : -INFINITY},
          round);
  }
}

/* Rows that there are, and numbers that are none. */
static void test_gather_rows(void **state) {
  (void)state;
  pz_test_random r = {61};
  for (int round = 0; round < 50; ++round) {
    const pz_gather_rows_shape s = {.rows = pz_test_int(&r, 1, 9),
                                    .each = pz_test_int(&r, 1, 40),
                                    .n = pz_test_int(&r, 1, 20),
                                    .fill = -1};
    pz_test_memory in = pz_test_alloc(s.rows * s.each, round % 2), index = pz_test_alloc(s.n, round % 3 == 0),
                   out = pz_test_alloc(s.n * s.each, round % 2);
    for (int64_t i = 0; i < s.rows * s.each; ++i) in.data[i] = (float)i;
    for (int64_t i = 0; i < s.n; ++i) index.data[i] = (float)pz_test_int(&r, -2, s.rows + 1);
    if (round % 4 == 0) index.data[0] = NAN;
    if (round % 4 == 1) index.data[0] = INFINITY;
    const int32_t workers = pz_test_int(&r, 1, 5);
    for (int32_t w = 0; w < workers; w++) pz_gather_rows(s, in.data, index.data, out.data, w, workers);
    for (int64_t i = 0; i < s.n; ++i)
      for (int64_t k = 0; k < s.each; ++k) {
        const bool there = index.data[i] >= 0 && index.data[i] <= (float)(s.rows - 1);
        assert_true(out.data[i * s.each + k] == (there ? index.data[i] * (float)s.each + (float)k : -1));
      }
    pz_test_free(&in), pz_test_free(&index), pz_test_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_non_max_suppression),
                                     cmocka_unit_test(test_gather_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
