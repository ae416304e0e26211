/* Networks that take or give no floats: a volume of that type is handed on as it is, and integers are written as they are. */
#include "fixture.h"
#include "formats/convert.h"

#include <stdlib.h>
#include <string.h>

enum { Z = 7, Y = 9, X = 11, VOXELS = Z * Y * X };

typedef struct scene {
  fx_folder folder;
  char in[600], floats[600], out[600], other[600];
} scene;

static scene make_scene(void) {
  scene s = {.folder = fx_enter()};
  snprintf(s.in, sizeof s.in, "%s", fx_path(&s.folder, "in.npy"));
  snprintf(s.floats, sizeof s.floats, "%s", fx_path(&s.folder, "floats.npy"));
  snprintf(s.out, sizeof s.out, "%s", fx_path(&s.folder, "out.npy"));
  snprintf(s.other, sizeof s.other, "%s", fx_path(&s.folder, "other.npy"));
  return s;
}

/* A volume of the type, and the numbers that its elements stand for. */
static void save(const scene *s, pz_element element, int32_t channels, uint64_t seed) {
  const pz_volume_info info = fx_info(element.type, channels, Z, Y, X),
                       floats = fx_info(PZ_F32, channels, Z, Y, X);
  void *data = fx_content(&info, seed);
  float *numbers = malloc((size_t)channels * VOXELS * 4);
  pz_elements_to(element, data, channels * VOXELS, numbers);
  fx_save(s->in, &info, data);
  fx_save(s->floats, &floats, numbers);
  free(data), free(numbers);
}

static void assert_same(const scene *s, pz_dtype dtype) {
  pz_volume_info a, b;
  void *x = fx_load(s->out, &a), *y = fx_load(s->other, &b);
  assert_int_equal(a.dtype, dtype);
  assert_int_equal(b.dtype, dtype);
  assert_int_equal(a.channels, b.channels);
  assert_memory_equal(a.shape, b.shape, sizeof a.shape);
  assert_memory_equal(x, y, (size_t)(a.channels * pz_volume_plane_bytes(&a) * a.shape[0]));
  free(x), free(y);
}

static void must(pz_status status, const pz_error *err) {
  if (status != PZ_OK) fail_msg("%s", err->message);
}

/* The same network, once with the numbers of the elements, once with the elements. */
static void compare(const scene *s, pz_element taken, const pz_infer_options *options) {
  static const int64_t in[3] = {5, 6, 7}, out[3] = {3, 4, 5};
  fx_net net;
  pz_error err = {0};
  pz_infer_options o = *options;
  save(s, taken, 2, 11);
  fx_net_make(&net, FX_BOX, 2, 2, in, out);
  o.normalize = PZ_NORMALIZE_NONE;
  must(fx_infer(&net, s->floats, s->other, &o, NULL, &err), &err);
  net.function.taken = taken;
  o.normalize = options->normalize;
  must(fx_infer(&net, s->in, s->out, &o, NULL, &err), &err);
}

static void elements_are_handed_on(void **state) {
  (void)state;
  static const pz_element elements[] = {{PZ_U8, 1, 0},        {PZ_U8, 0.25f, 3}, {PZ_I16, 0.5f, -100},
                                        {PZ_U16, 1, 0},       {PZ_F16, 1, 0},    {PZ_I32, 1, 0},
                                        {PZ_I32, 0x1p-30f, 0}};
  scene s = make_scene();
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    for (int border = 0; border < 2; border++)
      for (int flips = 0; flips < 2; flips++) {
        const pz_infer_options o = {.overlap = {1, 2, 0},
                                    .blend = PZ_BLEND_GAUSSIAN,
                                    .border = border ? PZ_BORDER_ZERO : PZ_BORDER_MIRROR,
                                    .nan = PZ_NAN_PROPAGATE,
                                    .mirror_axes = flips ? PZ_MIRROR_ALL : 0};
        compare(&s, elements[i], &o);
        assert_same(&s, PZ_F32);
      }
  fx_leave(&s.folder);
}

/* Values that the network's own elements are: what comes out is what went in, blended or not. */
static void integers_are_written_as_they_are(void **state) {
  (void)state;
  static const pz_element elements[] = {
      {PZ_U8, 0.125f, 5}, {PZ_I8, 0.5f, 0}, {PZ_I16, 2, 7}, {PZ_U16, 0.25f, 900}};
  static const int64_t patch[3] = {3, 4, 5};
  scene s = make_scene();
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    fx_net net;
    pz_error err = {0};
    save(&s, elements[i], 3, 5 + i);
    fx_net_make(&net, FX_IDENTITY, 3, 3, patch, patch);
    net.function.taken = net.function.given = elements[i];
    const pz_infer_options o = {
        .overlap = {1, 1, 2}, .blend = PZ_BLEND_BUMP, .mirror_axes = i % 2 ? PZ_MIRROR_ALL : 0};
    must(fx_infer(&net, s.in, s.out, &o, NULL, &err), &err);
    snprintf(s.other, sizeof s.other, "%s", s.in);
    assert_same(&s, elements[i].type);
  }
  fx_leave(&s.folder);
}

static void other_results_are_of_the_numbers(void **state) {
  (void)state;
  static const pz_element bytes = {PZ_U8, 0.01f, 100};
  static const int64_t patch[3] = {3, 4, 5};
  static const struct {
    pz_store store;
    pz_apply apply;
  } rows[] = {{PZ_STORE_U8, PZ_APPLY_NOTHING},
              {PZ_STORE_ARGMAX, PZ_APPLY_NOTHING},
              {PZ_STORE_THRESHOLD, PZ_APPLY_NOTHING},
              {PZ_STORE_F32, PZ_APPLY_SIGMOID},
              {PZ_STORE_U8, PZ_APPLY_SOFTMAX}};
  scene s = make_scene();
  save(&s, bytes, 2, 3);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fx_net net;
    pz_error err = {0};
    pz_infer_options o = {
        .store = rows[i].store, .apply = rows[i].apply, .threshold = 0.3f, .overlap = {1, 0, 1}};
    fx_net_make(&net, FX_IDENTITY, 2, 2, patch, patch);
    must(fx_infer(&net, s.floats, s.other, &o, NULL, &err), &err);
    net.function.taken = net.function.given = bytes;
    must(fx_infer(&net, s.in, s.out, &o, NULL, &err), &err);
    assert_same(&s, rows[i].store == PZ_STORE_F32 ? PZ_F32 : PZ_U8);
  }
  fx_leave(&s.folder);
}

/* Labels: whole patches alone. */
static void labels_have_no_mean(void **state) {
  (void)state;
  static const pz_element labels = {PZ_U8, 1, 0};
  scene s = make_scene();
  pz_error err = {0};
  fx_net net;
  save(&s, labels, 1, 3);
  fx_net_make(&net, FX_IDENTITY, 1, 1, (int64_t[]){Z, 3, X}, (int64_t[]){Z, 3, X});
  net.function.taken = net.function.given = labels;
  must(fx_infer(&net, s.in, s.out, &(pz_infer_options)PZ_INFER_OPTIONS, NULL, &err), &err);
  snprintf(s.other, sizeof s.other, "%s", s.in);
  assert_same(&s, PZ_U8);
  const pz_infer_options flipped = {.mirror_axes = PZ_MIRROR_ALL}, overlapping = {.overlap = {0, 1, 0}};
  assert_int_equal(fx_infer(&net, s.in, s.out, &flipped, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "whole numbers (u8), as labels are"));
  err = (pz_error){0};
  assert_int_equal(fx_infer(&net, s.in, s.out, &overlapping, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "use a volume that whole patches fill"));
  fx_net_make(&net, FX_IDENTITY, 1, 1, (int64_t[]){Z, 4, X},
              (int64_t[]){Z, 4, X}); /* the last one is moved */
  net.function.taken = net.function.given = labels;
  assert_int_equal(fx_infer(&net, s.in, s.out, &(pz_infer_options)PZ_INFER_OPTIONS, NULL, &err),
                   PZ_ERROR_INPUT);
  fx_leave(&s.folder);
}

static void others_are_refused(void **state) {
  (void)state;
  static const int64_t patch[3] = {3, 4, 5};
  static const pz_element bytes = {PZ_U8, 0.5f, 0};
  scene s = make_scene();
  pz_error err = {0};
  fx_net net;
  save(&s, bytes, 1, 3);
  fx_net_make(&net, FX_IDENTITY, 1, 1, patch, patch);
  net.function.taken = bytes;
  pz_infer_options o = PZ_INFER_OPTIONS;
  assert_int_equal(fx_infer(&net, s.floats, s.out, &o, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "floats.npy: is f32, the network takes u8"));
  for (int i = 0; i < 2; i++) {
    err = (pz_error){0};
    o.normalize = i ? PZ_NORMALIZE_ZSCORE : PZ_NORMALIZE_UNIT;
    assert_int_equal(fx_infer(&net, s.in, s.out, &o, NULL, &err), PZ_ERROR_USAGE);
    assert_non_null(strstr(err.message, "the network takes u8 as it is"));
  }
  o.normalize = PZ_NORMALIZE_NONE;
  must(fx_infer(&net, s.in, s.out, &o, NULL, &err), &err);
  fx_leave(&s.folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_handed_on),
      cmocka_unit_test(integers_are_written_as_they_are),
      cmocka_unit_test(other_results_are_of_the_numbers),
      cmocka_unit_test(labels_have_no_mean),
      cmocka_unit_test(others_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
