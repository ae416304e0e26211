/* What is outside of the volume, element by element, a value or the nearest inside; in place and not. */
#include "kernels/testing.h"
#include "kernels/volume_border/volume_border.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Half the volume's size, up (ceil) or down, then twice that; or as it is. */
static void random_axis(pz_test_random *r, pz_volume_border_shape *s, int32_t axis) {
  const int32_t kind = pz_test_int(r, 0, 3), at = axis * PZ_VOLUME_BORDER_RULES;
  s->bounded[axis] = kind > 0, s->num[axis] = s->den[axis] = 1;
  s->first[axis] = pz_test_int(r, -4, 4);
  if (kind < 2) return;
  s->num[axis] = kind == 2 ? 2 : 1, s->rules[axis] = kind - 1;
  s->mul[at] = 1, s->add[at] = pz_test_int(r, 0, 1), s->div[at] = 2;
  s->mul[at + 1] = 2, s->div[at + 1] = 1;
}

static int64_t size_of(const pz_volume_border_shape *s, int32_t axis, int64_t volume) {
  const int32_t at = axis * PZ_VOLUME_BORDER_RULES;
  if (!s->rules[axis]) return volume;
  volume = (volume + s->add[at]) / 2;
  return s->rules[axis] == 2 ? 2 * volume : volume;
}

static bool is_inside(const pz_volume_border_shape *s, const float *place, int32_t axis, int64_t i) {
  const int64_t e = (int64_t)place[axis] / s->num[axis] + s->first[axis] + i;
  return !s->bounded[axis] || (e >= 0 && e < size_of(s, axis, (int64_t)place[3 + axis]));
}

static int32_t nearest(const pz_volume_border_shape *s, const float *place, int32_t axis, int32_t i,
                       int32_t size) {
  for (int32_t far = 0; far < size; ++far) {
    if (i - far >= 0 && is_inside(s, place, axis, i - far)) return i - far;
    if (i + far < size && is_inside(s, place, axis, i + far)) return i + far;
  }
  return -1;
}

/* Of a point outside. */
static double beyond(const pz_volume_border_shape *s, const float *place, const pz_test_tensor *in, int32_t n,
                     int32_t c, const int32_t at[3]) {
  const int32_t size[3] = {in->view.d, in->view.h, in->view.w};
  int32_t from[3];
  bool any = true;
  for (int i = 0; i < 3; ++i) from[i] = nearest(s, place, i, at[i], size[i]), any = any && from[i] >= 0;
  const int32_t *p = any ? from : at;
  return s->edge ? (double)*pz_test_at(in, n, c, p[0], p[1], p[2]) : (double)s->value;
}

static void test_outside(void **state) {
  (void)state;
  pz_test_random r = {5};
  for (int round = 0; round < 300; ++round) {
    bool same;
    const int32_t n = pz_test_int(&r, 1, 2), c = pz_test_int(&r, 1, 2 * PZ_S + 1), d = pz_test_int(&r, 1, 5),
                  h = pz_test_int(&r, 1, 6), w = pz_test_int(&r, 1, 9);
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, n, c, d, h, w),
                   out = pz_test_tensor_random(&r, PZ_S, n, c, d, h, w);
    const bool in_place = pz_test_int(&r, 0, 1);
    pz_volume_border_shape s = {.value = pz_test_int(&r, 0, 1) ? 0 : -INFINITY,
                                .edge = pz_test_int(&r, 0, 1)};
    float place[6];
    for (int i = 0; i < 3; ++i) {
      random_axis(&r, &s, i);
      place[i] = (float)(2 * pz_test_int(&r, -2, 3)), place[3 + i] = (float)pz_test_int(&r, 1, 12);
    }
    pz_test_fill(&in, &r, -1, 1);
    pz_test_tensor *to = in_place ? &in : &out;
    double *want = pz_test_doubles(&in.view);
    PZ_TEST_EACH(in.view, 0, in.view.c) {
      const bool inside =
          is_inside(&s, place, 0, d) && is_inside(&s, place, 1, h) && is_inside(&s, place, 2, w);
      want[((((int64_t)n * in.view.c + c) * in.view.d + d) * in.view.h + h) * in.view.w + w] =
          inside ? (double)*pz_test_at(&in, n, c, d, h, w)
                 : beyond(&s, place, &in, n, c, (const int32_t[3]){d, h, w});
    }
    s.in = in.view, s.out = to->view;
    PZ_TEST_WORKERS(same, to->memory, pz_volume_border(s, in.at, place, to->at, worker, workers));
    assert_true(same && pz_test_equal(to, want, 0.0) && (in_place || pz_test_untouched(&out, false)));
    free(want);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_outside)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
